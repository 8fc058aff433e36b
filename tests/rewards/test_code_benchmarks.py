"""Reference solutions score 1.0, and the same with other return values score below."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import rewards
from bench.mutate import change_returns
from trainer.tasks import Row
from trainer.tasks.public import read_humaneval, read_mbpp

DATA = Path(__file__).parents[1] / "data"
Reader = Callable[[Path], list[Row]]
SETS = [("humaneval", read_humaneval, 164), ("mbpp", read_mbpp, 974)]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "read", "count"), SETS)
def test_every_reference_solution_scores_one(name: str, read: Reader, count: int) -> None:
    rows = read(DATA / f"{name}.jsonl")
    # Some references are slow (MBPP 123 adds up the divisors of every number below 10,000).
    specs = [{**row.spec, "limits": {"cpu_s": 30}} for row in rows]
    scores = rewards.score_batch([row.gold or "" for row in rows], specs)
    failed = {row.id: s.reason for row, s in zip(rows, scores, strict=True) if s.value != 1.0}
    assert (len(rows), failed) == (count, {})


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "read", "count"), SETS)
def test_changed_return_values_score_below_one(name: str, read: Reader, count: int) -> None:
    rows = read(DATA / f"{name}.jsonl")
    changed = [(row, text) for row in rows if (text := change_returns(row.gold or ""))]
    scores = rewards.score_batch([text for _, text in changed], [row.spec for row, _ in changed])
    paid = {
        row.id: s.reason
        for (row, _), s in zip(changed, scores, strict=True)
        if s.value is None or s.value >= 1.0
    }
    assert len(changed) > 0.9 * count
    assert paid == {}
