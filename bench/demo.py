"""Run the demo for several seeds: does the tiny model learn, how far, how fast?

    python -m bench.demo                 seeds 0, 1 and 2, as `make demo` runs it
    python -m bench.demo --picture docs/demo.svg

Prints a row a seed. The bounds are those of the README: under 5 minutes of training, eval/pass@1
(temperature 1, at least 100 held-out prompts x 4 samples) up by at least 0.3 and above 0.75 at the
end. Exit status 1 if a seed misses one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.machine import heading

LEAST_GAIN, LEAST_END, MOST_S = 0.3, 0.75, 300.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--task", default="code", help="the bundled task (default: code)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--picture", type=Path, help="write the curves of all seeds to this file")
    args, flags = parser.parse_known_args()
    print(heading("torch", "transformers"))
    print(
        f"{'seed':>4} {'start':>7} {'end':>7} {'gain':>7} {'steps':>6} {'train s':>8} {'all s':>7}"
    )
    runs = []
    for seed in args.seeds:
        run = measure(args.task, seed, flags)
        runs.append(run)
        print(
            f"{seed:>4} {run['start']:>7.3f} {run['end']:>7.3f} {run['end'] - run['start']:>7.3f}"
            f" {run['steps']:>6} {run['train_s']:>8.1f} {run['all_s']:>7.1f}",
            flush=True,
        )
    if args.picture:
        draw(runs, args.picture, args.task)
        print(f"picture: {args.picture}")
    return int(any(misses(run) for run in runs))


def measure(task: str, seed: int, flags: list[str]) -> dict[str, Any]:
    """Run one seed in a process of its own and read its metrics."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        command = [sys.executable, "-m", "trainer.cli", "--task", task, "--seed", str(seed)]
        started = time.perf_counter()
        subprocess.run(
            [*command, "--output-dir", str(output), *flags], check=True, stdout=subprocess.DEVNULL
        )
        all_s = time.perf_counter() - started
        lines = (output / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    evals = [(row["step"], row["eval/pass@1"]) for row in rows if "eval/pass@1" in row]
    return {
        "seed": seed,
        "start": evals[0][1],
        "end": evals[-1][1],
        "steps": rows[-1]["step"],
        "train_s": sum(row.get("time/step_s", 0.0) for row in rows),
        "all_s": all_s,
        "evals": evals,
        "rewards": [(row["step"], row["reward/mean"]) for row in rows if "reward/mean" in row],
    }


def misses(run: dict[str, Any]) -> bool:
    """Whether a run is outside the bounds."""
    gain = run["end"] - run["start"]
    return gain < LEAST_GAIN or run["end"] <= LEAST_END or run["all_s"] >= MOST_S


def draw(runs: list[dict[str, Any]], path: Path, task: str) -> None:
    """Draw reward and eval of all seeds over the steps."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "assay-rl"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for run, color in zip(runs, ("#1f6feb", "#d4730b", "#1a7f37", "#8250df"), strict=False):
        axes.plot(*zip(*run["rewards"], strict=True), color=color, alpha=0.35, linewidth=1)
        axes.plot(
            *zip(*run["evals"], strict=True),
            color=color,
            marker="o",
            linewidth=2,
            label=f"held-out pass@1, seed {run['seed']}",
        )
    axes.set(xlabel="step", ylabel="reward, pass@1", ylim=(0, 1), title=f"grpo-run --task {task}")
    axes.grid(alpha=0.25)
    axes.legend(loc="lower right", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())
