"""The labelled cases: cheats that must not be paid more than they earned, and honest programs.

CODE_CASES names another file of cases to judge besides the bundled one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import rewards
import sandbox
from bench.cases_code import Case, fence, read_cases, score_case

BUNDLED = Path(__file__).parents[1] / "data" / "code_cases.jsonl"
GIVEN = os.environ.get("CODE_CASES")
CASES = read_cases(BUNDLED) + (read_cases(Path(GIVEN)) if GIVEN else [])


@pytest.fixture(
    scope="module",
    autouse=True,
    params=[pytest.param("docker", marks=pytest.mark.docker), "bubblewrap"],
)
def _back_end(request: pytest.FixtureRequest) -> Iterator[None]:
    try:
        opened = sandbox.open_sandbox(request.param, slots=2)
    except sandbox.SandboxError as error:
        if os.environ.get("CI"):  # which promises an engine and the image
            raise
        pytest.skip(str(error))
    with opened:
        rewards.configure(sandbox=opened, cache=0)
        yield
        rewards.configure(sandbox="auto", cache=4096)


@pytest.mark.parametrize("case", [c for c in CASES if not c.policy], ids=lambda case: case.id)
def test_a_case_is_judged_as_it_is_labelled(case: Case) -> None:
    assert case.complaint(score_case(case)) == ""


@pytest.mark.parametrize("case", [c for c in CASES if c.policy], ids=lambda case: case.id)
def test_a_case_of_policy_is_judged_at_all(case: Case) -> None:
    assert score_case(case).value is not None


def test_a_fence_is_longer_than_any_in_the_code() -> None:
    assert fence("x = '````'").startswith("`````python\n")
