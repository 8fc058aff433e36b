"""What is learned in equal time, against TRL's GRPOTrainer: held-out pass@1 of the bundled tasks.

    python -m bench.learn --trl-python TRL/bin/python [--budget-s 120] [--picture learn.svg]

where TRL is an environment made with

    python -m venv TRL && TRL/bin/pip install -c constraints-cpu.txt trl==1.16.0 -e '.[sandbox]'

Both sides train the bundled tiny model on the same prompts, with the task's own prompts a step,
completions a prompt, length, beta, peak learning rate and warm-up, judged by the same verifiers;
the learning rate stays at its peak, since nobody knows how many steps the time allows. TRL gets all
completions of a step as one batch, which is its fastest on a model of this size, and no gradient
checkpointing. The clock runs from the moment the model is loaded to the end of the step in which
the time is up. Both models are then evaluated by the same command, `grpo-run --steps 0`: held-out
prompts, temperature 1.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.machine import heading
from bench.sides import ROOT, Job, Outcome, measure
from trainer.tasks import load_task
from trainer.tiny import TINY_PATH

SIDES = ("ours", "trl")
OPTIONS: dict[str, dict[str, Any]] = {"ours": {}, "trl": {"gradient_checkpointing": False}}
SHARED = (
    "prompts_per_step",
    "group_size",
    "max_new_tokens",
    "learning_rate",
    "beta",
    "warmup_steps",
)
"""Settings of a task that hold on both sides."""

ALWAYS = 10**6
"""More steps than any budget allows."""


@dataclass(frozen=True)
class Result:
    """One run of a side, and how good its model is."""

    task: str
    seed: int
    side: str
    outcome: Outcome
    end: float


def main(argv: Sequence[str] | None = None) -> int:
    args = _parse(argv)
    print(heading("torch", "transformers"))
    print(f"{'task':<5} {'seed':>4} {'side':<5} {'steps':>6} {'s/step':>7} {'start':>7} {'end':>7}")
    results = []
    for task in args.tasks:
        start = evaluate(str(TINY_PATH), task, args)
        found = [_learn(task, seed, side, start, args) for seed in args.seeds for side in SIDES]
        _summarise(task, found)
        results += found
    if args.picture:
        draw(results, args.picture)
        print(f"picture: {args.picture}")
    return 0


def _parse(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--trl-python", default=sys.executable, help="interpreter that has TRL")
    parser.add_argument("--tasks", nargs="+", default=["code", "math"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--budget-s", type=float, default=120.0, help="training time of each run")
    parser.add_argument("--rollout", default="hf", choices=("hf", "vllm"), help="what ours samples")
    parser.add_argument("--eval-prompts", type=int, default=200)
    parser.add_argument("--eval-samples", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1, help="of the passes; judges have theirs")
    parser.add_argument("--picture", type=Path, help="write the rewards over time to this file")
    return parser.parse_args(argv)


def _learn(task: str, seed: int, side: str, start: float, args: Namespace) -> Result:
    """Train on one side, evaluate its model, and print a line."""
    with tempfile.TemporaryDirectory() as place:
        job = _job(task, seed, side, str(Path(place) / side), args)
        outcome = measure(side, job, args.trl_python if side == "trl" else sys.executable)
        result = Result(task, seed, side, outcome, evaluate(outcome.weights, task, args))
    print(
        f"{task:<5} {seed:>4} {side:<5} {len(outcome.ends_s):>6}"
        f" {outcome.ends_s[-1] / len(outcome.ends_s):>7.2f}"
        f" {start:>7.3f} {result.end:>7.3f}",
        flush=True,
    )
    return result


def _job(task: str, seed: int, side: str, folder: str, args: Namespace) -> Job:
    loaded = load_task(task, seed=seed)
    return Job(
        folder=folder,
        model=str(TINY_PATH),
        rows=[asdict(row) for row in loaded.train],
        steps=ALWAYS,
        budget_s=args.budget_s,
        seed=seed,
        threads=args.threads,
        options=OPTIONS[side] | ({"rollout": args.rollout} if side == "ours" else {}),
        **{name: loaded.settings[name] for name in SHARED},
    )


def evaluate(model: str, task: str, args: Namespace) -> float:
    """Return the held-out pass@1 of a model folder, as `grpo-run` measures it."""
    tokens = load_task(task).settings["max_new_tokens"]
    with tempfile.TemporaryDirectory() as place:
        flags = {
            "task": task,
            "model": model,
            "steps": 0,
            "max-new-tokens": tokens,
            "eval-prompts": args.eval_prompts,
            "eval-samples": args.eval_samples,
            "rollout": "hf",
            "beta": 0,
            "output-dir": f"{place}/run",
        }
        command = [sys.executable, "-m", "trainer.cli"]
        command += [text for name, value in flags.items() for text in (f"--{name}", str(value))]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        row = json.loads((Path(place) / "run" / "metrics.jsonl").read_text().splitlines()[0])
    return float(row["eval/pass@1"])


def _summarise(task: str, results: Sequence[Result]) -> None:
    for side in SIDES:
        ends = [result.end for result in results if result.side == side]
        print(f"{task:<5} mean {side:<5} {statistics.mean(ends):>38.3f}")


def draw(results: Sequence[Result], path: Path) -> None:
    """Draw the training reward over the seconds, and the pass@1 that it came to."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "assay-rl"
    import matplotlib.pyplot as plt

    tasks = list(dict.fromkeys(result.task for result in results))
    figure, panels = plt.subplots(
        1, len(tasks), figsize=(4.5 * len(tasks), 3.2), layout="constrained", squeeze=False
    )
    for axes, task in zip(panels[0], tasks, strict=True):
        for side, color in zip(SIDES, ("#1f6feb", "#d4730b"), strict=True):
            runs = [r for r in results if (r.task, r.side) == (task, side)]
            for run in runs:
                seconds, label = run.outcome.ends_s, side if run is runs[0] else None
                axes.plot(seconds, run.outcome.rewards, color=color, alpha=0.5, label=label)
                axes.plot(seconds[-1], run.end, color=color, marker="o")
        axes.set(xlabel="seconds", ylabel="reward; dots: held-out pass@1", ylim=(0, 1), title=task)
        axes.grid(alpha=0.25)
        axes.legend(loc="lower right", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())
