"""The command `grpo-run`.

Exit codes: 0 done, 1 the run had to stop (one line says why), 2 a mistake in what was asked for
(one line says which, and nothing was written), 130 stopped by Ctrl-C with a checkpoint saved.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from rewards._guard import check_packages
from rewards.errors import ConfigurationError, RewardsError, did_you_mean, missing_extra
from rewards.machinery import machinery
from trainer.config import Config, apply_settings, read_toml, to_toml
from trainer.launch import is_launched, launch
from trainer.run_folder import check_free

if TYPE_CHECKING:
    from trainer.tasks import Task

DESCRIPTION = """Train a language model by GRPO on rewards that are verified.

Examples:
  grpo-run --task code                            the bundled task and tiny model, minutes on a CPU
  grpo-run --task code --dry-run                  what that would run, without running it
  grpo-run --task gsm8k --data train.jsonl --model Qwen/Qwen2.5-0.5B-Instruct
  grpo-run --config run.toml --steps 200          settings from a file; flags win
  grpo-run --gpus 8 --config run.toml             a rank a GPU; torchrun starts them as well
  grpo-run --resume --output-dir outputs/RUN      go on from the latest checkpoint

Settings come from: defaults < the task's own (for the model they name) < --config < flags. The run
folder gets config.toml, metrics.jsonl, samples.jsonl, report.html and checkpoints/. Ctrl-C saves a
checkpoint.
"""


class StoppedError(RewardsError, RuntimeError):
    """The machine ended the run: its disk or its memory is full."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        check_packages()
        config, task = resolve(args)
        if config.dry_run:
            _print_plan(config, task)
            return 0
        if config.gpus > 1 and not is_launched():
            return launch(args, config.gpus, device=config.device)
        return _train(config, task)
    except RewardsError as error:
        _complain(str(error))
        return 2 if _is_users_mistake(error) else 1
    except KeyboardInterrupt:
        _complain("stopped at once; nothing was saved since the last checkpoint")
        # Python waits for the threads that judge before it exits; without workers they end.
        machinery().close()
        return 130


def resolve(args: Sequence[str]) -> tuple[Config, Task]:
    """Turn flags, file and task into the settings of a run, and load the task.

    Raises:
        RewardsError: If any of them is no good.
        SystemExit: After printing the help that was asked for.
    """
    from trainer.tasks import load_task

    flags = parse_flags(args, Config())
    source = _settings_file(flags)
    settings = read_toml(source) if source else {}
    draft = parse_flags(args, _apply(Config(), settings, source))
    task = load_task(
        draft.task,
        data=Path(draft.data) if draft.data else None,
        eval_data=Path(draft.eval_data) if draft.eval_data else None,
        level=draft.level,
        seed=draft.seed,
    )
    # A learning rate for a million parameters destroys a billion: they suit the model they name.
    suited = task.settings if task.settings.get("model") in (None, draft.model) else {}
    base = apply_settings(Config(), suited, f"settings of task {task.name!r}")
    config = parse_flags(args, _apply(base, settings, source))
    if config.resume and not flags.output_dir and source:
        # The folder may have been moved since its config.toml was written.
        config = replace(config, output_dir=str(source.parent))
    if not config.output_dir:
        config = replace(config, output_dir=_default_folder(config))
    config.validate()
    if not is_launched():  # or another rank may have made the folder already
        check_free(config)
    return config, task


def _settings_file(flags: Config) -> Path | None:
    """Return the file with settings: --config, or that of the run to resume."""
    if flags.config:
        return Path(flags.config)
    if not flags.resume:
        return None
    if not flags.output_dir:
        raise ConfigurationError("--resume needs --output-dir RUN, the folder of the run to go on")
    check_free(flags)
    return Path(flags.output_dir) / "config.toml"


def _apply(base: Config, settings: Mapping[str, Any], source: Path | None) -> Config:
    return apply_settings(base, settings, str(source))


def _default_folder(config: Config) -> str:
    model = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(config.model).name)
    return f"outputs/{config.task}-{model}-{time.strftime('%Y%m%d-%H%M%S')}"


def parse_flags(args: Sequence[str], default: Config) -> Config:
    """Parse flags on top of `default`.

    Raises:
        ConfigurationError: What is wrong, in one line; tyro itself prints a box.
        SystemExit: After --help.
    """
    captured = io.StringIO()
    try:
        with contextlib.redirect_stderr(captured):
            return tyro.cli(
                Config, args=list(args), default=default, prog="grpo-run", description=DESCRIPTION
            )
    except SystemExit as stop:
        if not stop.code:
            raise
    raise ConfigurationError(_first_complaint(captured.getvalue()) + "; see grpo-run --help")


def _first_complaint(box: str) -> str:
    """Take what tyro says is wrong out of its box, with the nearest flag if it is a typo."""
    lines = [line.strip("│ ").strip() for line in box.splitlines()]
    body = [line for line in lines if line and not line.startswith(("╭", "╰"))]
    end = next((i for i, line in enumerate(body) if set(line) == {"─"}), len(body))
    complaint = " ".join(body[:end]) or "the flags make no sense"
    unknown = re.search(r"Unrecognized options: (--[\w-]+)", complaint)
    if unknown:
        flags = [f"--{name.replace('_', '-')}" for name in Config.__dataclass_fields__]
        hint = did_you_mean(unknown[1], flags)
        return f"unknown flag {unknown[1]}" + (f".{hint}" if hint else "")
    return complaint.rstrip(".")


def _print_plan(config: Config, task: Task) -> None:
    """Print what would be run, after every check that needs no weights."""
    _prepare()
    from trainer.memory import plan_memory
    from trainer.model import (
        count_parameters,
        load_model_config,
        load_tokenizer,
        longest_sequence,
    )
    from trainer.preflight import check_task, describe_plan
    from trainer.prompts import encode_prompts

    checked = check_task(config, task)
    model_config = load_model_config(config.model)
    prompts = encode_prompts(
        load_tokenizer(config.model),
        [*checked.train, *checked.eval],
        max_new_tokens=config.max_new_tokens,
        max_length=longest_sequence(model_config),
    )
    memory = plan_memory(config, model_config, longest_prompt=max(len(p.ids) for p in prompts))
    model = (
        f"{config.model}: {model_config.model_type}, {count_parameters(model_config):,} parameters"
    )
    lines = [f"# {name + ':':<12} {text}" for name, text in describe_plan(config, task, model)]
    lines += ["#", *(f"# {line}" for line in memory.lines())]
    sys.stdout.write("\n".join([*lines, "", to_toml(config)]))


def _train(config: Config, task: Task) -> int:
    _prepare()
    import torch

    from trainer.loop import train
    from trainer.report import open_reporter

    try:
        result = train(config, task, open_reporter())
    except torch.OutOfMemoryError as error:
        raise StoppedError(
            f"the GPU's memory is full ({str(error).split('. ')[0]}); lower rollout_batch_size if "
            "it was while sampling, micro_batch_tokens if it was in the update, or max_new_tokens"
        ) from error
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise StoppedError(
            f"the run cannot go on:{where} {error.strerror or error}; mend it, then go on from the "
            f"last checkpoint: grpo-run --resume --output-dir {config.output_dir}"
        ) from error
    if not result.interrupted:
        return 0
    _complain(
        f"stopped after step {result.step}; go on with: "
        f"grpo-run --resume --output-dir {result.folder}"
    )
    return 130


def _prepare() -> None:
    """Refuse to start without what training needs; show warnings of ours and errors of others."""
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
        import transformers
    except ImportError:
        raise missing_extra("grpo-run", "train") from None

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it warns of every retry


def _is_users_mistake(error: RewardsError) -> bool:
    return not isinstance(error, RuntimeError)


def _complain(message: str) -> None:
    sys.stderr.write(f"grpo-run: {' '.join(message.split())}\n")


if __name__ == "__main__":
    sys.exit(main())
