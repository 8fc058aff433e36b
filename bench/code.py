"""Judge labelled cases and public references, and time the sandbox: every number of the README.

    python -m bench.code [--cases CASES.jsonl ...] [--backends docker bubblewrap]

For each back end: which labelled cases (cheats and honest programs; the bundled ones and the files
given) are judged otherwise than labelled; for HumanEval and MBPP how many references score 1.0, how
many of the same with the first returned value changed score below 1, how many are judged without
sharing a process with their tests, and tests a second; then what `python -m bench.sandbox` prints.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

import rewards
import sandbox
from bench import cases_code
from bench import sandbox as sandbox_bench
from bench.machine import heading
from bench.mutate import change_returns
from trainer.tasks import Row
from trainer.tasks.public import read_humaneval, read_mbpp

DATA = Path(__file__).parents[1] / "tests" / "data"


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", nargs="*", type=Path, default=[], help="more labelled cases")
    parser.add_argument("--backends", nargs="+", default=["docker", "bubblewrap"])
    args = parser.parse_args(argv)
    print(heading("pydantic", "docker"))
    wrong = 0
    for backend in args.backends:
        with sandbox.open_sandbox(backend) as box:
            print(f"--- {backend}", flush=True)
            rewards.configure(sandbox=box, cache=0)
            for path in (DATA / "code_cases.jsonl", *args.cases):
                print(f"{path.name}:", flush=True)
                wrong += cases_code.report(cases_code.read_cases(path))
            for name, read in (("HumanEval", read_humaneval), ("MBPP", read_mbpp)):
                report(name, read(DATA / f"{name.lower()}.jsonl"))
        sandbox_bench.main(["--backend", backend])
    return int(wrong > 0)


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
        f" {tests} tests, {tests / elapsed_s:.0f} a second",
        flush=True,
    )
    for row, score in zip(rows, scores, strict=True):
        if score.value != 1.0:
            print(f"  {row.id}: {score.value}: {score.reason}")
    for (row, _), score in zip(wrong, broken, strict=True):
        if score.value is None or score.value >= 1.0:
            print(f"  {row.id} changed: {score.value}: {score.reason}")


if __name__ == "__main__":
    sys.exit(main())
