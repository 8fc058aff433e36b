"""The labelled cases: cheats that must not be paid more than they earned, and honest programs.

CODE_CASES names another file of cases to judge besides the bundled one.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.cases_code import Case, fence, read_cases, score_case

BUNDLED = Path(__file__).parents[1] / "data" / "code_cases.jsonl"
GIVEN = os.environ.get("CODE_CASES")
CASES = read_cases(BUNDLED) + (read_cases(Path(GIVEN)) if GIVEN else [])


@pytest.mark.parametrize("case", [c for c in CASES if not c.policy], ids=lambda case: case.id)
def test_a_case_is_judged_as_it_is_labelled(case: Case) -> None:
    assert case.complaint(score_case(case)) == ""


@pytest.mark.parametrize("case", [c for c in CASES if c.policy], ids=lambda case: case.id)
def test_a_case_of_policy_is_judged_at_all(case: Case) -> None:
    assert score_case(case).value is not None


def test_a_fence_is_longer_than_any_in_the_code() -> None:
    assert fence("x = '````'").startswith("`````python\n")
