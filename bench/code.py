"""Score the reference solutions of HumanEval and MBPP, and time the sandbox.

    python -m bench.code

For each data set: how many references score 1.0, how many of the same with the first returned value
changed score below 1, how many are judged without sharing a process with their tests, and tests a
second. Then milliseconds a job, against starting a Python process for each.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import rewards
import sandbox
from bench.machine import heading
from bench.mutate import change_returns
from trainer.tasks import Row
from trainer.tasks.public import read_humaneval, read_mbpp

DATA = Path(__file__).parents[1] / "tests" / "data"


def main() -> int:
    print(heading("pydantic"))
    rewards.configure(cache=0)
    for name, read in (("HumanEval", read_humaneval), ("MBPP", read_mbpp)):
        report(name, read(DATA / f"{name.lower()}.jsonl"))
    time_jobs()
    return 0


def report(name: str, rows: list[Row]) -> None:
    """Print the figures of one data set."""
    started = time.perf_counter()
    scores = rewards.score_batch([row.gold or "" for row in rows], [row.spec for row in rows])
    elapsed_s = time.perf_counter() - started
    right = sum(score.value == 1.0 for score in scores)
    apart = sum(score.evidence.get("isolation") == "separate" for score in scores)
    tests = sum(score.evidence.get("num_tests", 0) for score in scores)
    wrong = [(row, changed) for row in rows if (changed := change_returns(row.gold or ""))]
    broken = rewards.score_batch([text for _, text in wrong], [row.spec for row, _ in wrong])
    below = sum(score.value is not None and score.value < 1.0 for score in broken)
    print(
        f"{name}: {right} of {len(rows)} references score 1.0 ({apart} apart from their tests),"
        f" {below} of {len(broken)} changed ones below;"
        f" {tests} tests, {tests / elapsed_s:.0f} a second"
    )
    for row, score in zip(rows, scores, strict=True):
        if score.value != 1.0:
            print(f"  {row.id}: {score.value}: {score.reason}")
    for (row, _), score in zip(wrong, broken, strict=True):
        if score.value is None or score.value >= 1.0:
            print(f"  {row.id} changed: {score.value}: {score.reason}")


def time_jobs(repeats: int = 100) -> None:
    """Print the median time of an empty job, and of an empty Python process."""
    with sandbox.open_sandbox(slots=1) as box:
        job = sandbox.Job(b"pass")
        warm_ms = median_ms(lambda: box.run(job), repeats)
    command = [sys.executable, "-I", "-c", "pass"]
    cold_ms = median_ms(lambda: subprocess.run(command, check=True), repeats // 2)
    print(
        f"an empty job: {warm_ms:.1f} ms in the {box.name} sandbox,"
        f" {cold_ms:.1f} ms as a plain Python process ({cold_ms / warm_ms:.1f} times)"
    )


def median_ms(call: Callable[[], object], repeats: int) -> float:
    """Return the median of several timings, after a warm-up."""
    call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
