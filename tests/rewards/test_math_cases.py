"""The labelled cases, and what is made of them by breaking them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import rewards
from bench.hostile import mutations
from rewards import SpecError

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "math_cases.jsonl").read_text().splitlines()
]
FAILING: dict[str, str] = {}
"""Cases that are judged wrongly, and why: none."""


def case_of(row: dict[str, object]) -> object:
    marks = [pytest.mark.xfail(reason=FAILING[row["id"]])] if row["id"] in FAILING else []
    return pytest.param(row, id=str(row["id"]), marks=marks)


@pytest.mark.parametrize("row", [case_of(row) for row in CASES])
def test_a_labelled_case_is_judged_as_it_is_labelled(row: dict[str, str]) -> None:
    score = rewards.score(row["answer"], {"type": "math", "answer": row["gold"]})
    assert score.value == float(row["equivalent"]), score.reason


def test_all_cases_are_judged_alike_from_sixteen_threads_at_once() -> None:
    def judge(row: dict[str, str]) -> tuple[float | None, float]:
        started = time.thread_time()
        value = rewards.score(row["answer"], {"type": "math", "answer": row["gold"]}).value
        return value, time.thread_time() - started

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(judge, CASES * 3))
    assert [value for value, _ in results] == [float(r["equivalent"]) for r in CASES * 3]
    assert max(cpu_s for _, cpu_s in results) < 1.0


def test_no_verdict_depends_on_the_hash_seed() -> None:
    program = (
        "import json, sys, rewards\n"
        "rows = [json.loads(line) for line in open(sys.argv[1])]\n"
        "specs = [{'type': 'math', 'answer': row['gold']} for row in rows]\n"
        "scores = rewards.score_batch([row['answer'] for row in rows], specs)\n"
        "print([(s.value, s.evidence.get('rule'), s.evidence.get('answer')) for s in scores])\n"
    )
    path = Path(__file__).parents[1] / "data" / "math_cases.jsonl"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, str(path)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_a_thousand_broken_cases_raise_nothing_and_cost_little() -> None:
    pairs = list(mutations(CASES, 1000, seed=11))
    for gold, completion in pairs:
        try:
            rewards.compile_spec({"type": "math", "answer": gold})
        except SpecError:
            continue
        started = time.process_time()
        score = rewards.score(completion, {"type": "math", "answer": gold})
        assert score.value in (0.0, 1.0, None)
        assert time.process_time() - started < 1.0
