"""What a step costs on GPUs: seconds by phase, tokens per second per GPU, peak memory.

    python -m bench.gpu --gpus 8 [--model FOLDER] [flags of grpo-run]
    python -m bench.gpu --device cpu --model tiny --prompts 4 --max-new-tokens 48    to see it run

Starts `grpo-run` on the bundled math task and reads its metrics. The sizes are those that NeMo-RL
holds to 25 s a step on one node of eight H100, with this model: 32 prompts x 16 completions of at
most 512 tokens. Medians over the steps, the first one aside. Flags that this command does not know
go to `grpo-run`.
"""

from __future__ import annotations

import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from bench.machine import heading

MODEL = "Qwen/Qwen2.5-Math-1.5B-Instruct"


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=MODEL, help=f"default: {MODEL}")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--group-size", type=int, default=16)
    parser.add_argument("--max-new-tokens", type=int, default=512)
    parser.add_argument("--steps", type=int, default=10)
    args, flags = parser.parse_known_args(argv)
    sizes = {
        "task": "math",
        "model": args.model,
        "device": args.device,
        "gpus": args.gpus,
        "steps": args.steps + 1,
        "prompts-per-step": args.prompts,
        "group-size": args.group_size,
        "max-new-tokens": args.max_new_tokens,
        "eval-prompts": 0,
        "save-every": 0,
    }
    command = [sys.executable, "-m", "trainer.cli"]
    command += [text for name, value in sizes.items() for text in (f"--{name}", str(value))]
    if args.device.startswith("cuda") and (missing := _missing(args.gpus)):
        print(f"{missing}; on a machine with {args.gpus} this would run:", file=sys.stderr)
        print(shlex.join([*command, *flags]), file=sys.stderr)
        return 2
    print(heading("torch", "transformers", "vllm"), shlex.join([*command[3:], *flags]), sep="\n")
    report(_run([*command, *flags])[1:], args.gpus)
    return 0


def _missing(gpus: int) -> str:
    """Say what of the machine is missing, if anything."""
    import torch

    found = torch.cuda.device_count()
    return "" if found >= gpus else f"{gpus} GPUs are needed and {found} are here"


def _run(command: Sequence[str]) -> list[dict[str, float]]:
    """Run the command, and return the metrics of its steps."""
    with tempfile.TemporaryDirectory() as place:
        output = Path(place) / "run"
        subprocess.run([*command, "--output-dir", str(output)], check=True)
        lines = (output / "metrics.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["step"]]


def report(rows: Sequence[dict[str, float]], gpus: int) -> None:
    """Print the median of everything that is measured in seconds, tokens and bytes."""

    def median(name: str) -> float:
        return statistics.median(row[name] for row in rows if name in row)

    for name in sorted({name for row in rows for name in row if name.startswith("time/")}):
        print(f"{name:<28} {median(name):>10.3f} s")
    print(f"{'tokens_per_s per GPU':<28} {median('tokens_per_s') / gpus:>10.0f}")
    for name in sorted({name for row in rows for name in row if name.startswith("memory/")}):
        print(f"{name:<28} {max(row[name] for row in rows if name in row):>10.1f}")


if __name__ == "__main__":
    sys.exit(main())
