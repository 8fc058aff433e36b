"""Make the bundled tiny model: ``python -m making.tiny --out trainer/tiny/model``.

It is fitted on noisy demonstrations of the first level of both bundled tasks, training rows only.
The same command with as many threads (OMP_NUM_THREADS) on the same machine gives the same weights;
the bundled ones were made with one thread.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from transformers import LlamaForCausalLM, PreTrainedTokenizerBase

from making.tiny.demonstrations import Demonstration, encode_rows
from making.tiny.fit import Recipe, fit
from making.tiny.model import MAX_LENGTH, build_model
from making.tiny.tokenizer import build_tokenizer
from trainer.tasks import load_task

LEVEL = 1

SHARES = {"code": 1, "math": 3}
"""How often each demonstration counts: sums are harder to learn than sentences."""


def main() -> None:
    """Fit the model and save it in the layout of Hugging Face."""
    args = _parse_args()
    recipe = Recipe(**{f.name: getattr(args, f.name) for f in fields(Recipe)})
    rows = {name: load_task(name, level=LEVEL).train for name in SHARES}
    texts = [text for name in rows for row in rows[name] for text in (row.prompt, row.gold)]
    tokenizer = build_tokenizer(map(str, texts), MAX_LENGTH)
    demonstrations = [
        demonstration
        for name, share in SHARES.items()
        for demonstration in share * encode_rows(tokenizer, rows[name])
    ]
    model = build_model(tokenizer, recipe.seed)
    print(f"{model.num_parameters():,} parameters, {len(tokenizer)} tokens")
    _fit_with_progress(model, tokenizer, demonstrations, recipe)
    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    print(f"saved to {args.out}; how able it is: grpo-run --task code --model {args.out}")


def _fit_with_progress(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerBase,
    demonstrations: list[Demonstration],
    recipe: Recipe,
) -> None:
    columns = (TextColumn("loss {task.fields[loss]:.3f}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("fit", total=recipe.batches, loss=float("nan"))
        fit(
            model,
            tokenizer,
            demonstrations,
            recipe,
            lambda batch, loss: progress.update(bar, completed=batch, loss=loss),
        )


def _parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m making.tiny",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    for f in fields(Recipe):
        flag = "--" + f.name.replace("_", "-")
        default = getattr(Recipe(), f.name)
        help_text = f"{f.metadata['help']} (default {default})"
        parser.add_argument(flag, type=type(default), default=default, help=help_text)
    return parser.parse_args()


if __name__ == "__main__":
    main()
