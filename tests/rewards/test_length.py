from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewards
from rewards import SpecError
from rewards.verifiers.length import LengthSpec


def spec(**more: Any) -> dict[str, Any]:
    return {"type": "length", "budget": 10, "slope": 0.1, "max_penalty": 0.5, **more}


@pytest.mark.parametrize(
    ("tokens", "value"), [(0, 0.0), (10, 0.0), (11, -0.1), (13, -0.3), (15, -0.5), (10_000, -0.5)]
)
def test_the_penalty_grows_from_the_budget_to_its_bound(tokens: int, value: float) -> None:
    assert rewards.score("x", spec(), num_tokens=tokens).value == pytest.approx(value)


@pytest.mark.parametrize(("unit", "count"), [("words", 3), ("chars", 11)])
def test_words_and_characters_can_be_counted(unit: str, count: int) -> None:
    assert rewards.score("one two six", spec(unit=unit)).evidence["length"] == count


def test_the_reasoning_counts() -> None:
    assert rewards.score("<think>a b</think> c", spec(unit="words")).evidence["length"] == 3


def test_tokens_that_nobody_counted_are_unjudged() -> None:
    score = rewards.score("x", spec())
    assert score.value is None
    assert "num_tokens" in score.reason


def test_no_penalty_is_not_minus_zero() -> None:
    value = rewards.score("x", spec(), num_tokens=3).value
    assert math.copysign(1, value if value is not None else -1) == 1


@pytest.mark.parametrize(("tokens", "verdict"), [(10, "correct"), (11, "partial")])
def test_the_verdict_says_if_the_budget_was_kept(tokens: int, verdict: str) -> None:
    assert rewards.score("x", spec(), num_tokens=tokens).verdict == verdict


def test_length_is_shaping() -> None:
    assert rewards.score("x", spec(), num_tokens=99).outcome is None


@pytest.mark.parametrize(
    "bad",
    [
        {"max_penalty": 1.0},
        {"max_penalty": 0},
        {"slope": 0},
        {"slope": -0.1},
        {"budget": -1},
        {"unit": "pages"},
    ],
)
def test_settings_that_make_no_sense_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=next(iter(bad))):
        rewards.compile_spec(spec(**bad))


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.floats(1e-9, 10),
    st.floats(0.01, 0.99),
)
def test_the_value_stays_in_its_range_and_falls(
    tokens: int, budget: int, slope: float, max_penalty: float
) -> None:
    raw = spec(budget=budget, slope=slope, max_penalty=max_penalty)
    low, high = LengthSpec.model_validate(raw).value_range
    one, more = (rewards.score("x", raw, num_tokens=n).value for n in (tokens, tokens + 1))
    assert one is not None
    assert more is not None
    assert low <= more <= one <= high
