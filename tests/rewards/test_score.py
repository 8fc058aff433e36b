from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards import Score, Verdict

plain_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
finite = st.floats(-10, 10)


@st.composite
def scores(draw: st.DrawFn, depth: int = 1) -> Score:
    value = draw(st.none() | finite)
    judged = [v for v in Verdict if v is not Verdict.UNJUDGED]
    verdict = Verdict.UNJUDGED if value is None else draw(st.sampled_from(judged))
    parts = (
        st.dictionaries(st.text(max_size=4), scores(depth - 1), max_size=2)
        if depth
        else st.just({})
    )
    return Score(
        value,
        verdict,
        draw(st.text(max_size=10)),
        draw(st.none() | st.floats(0, 1)),
        draw(parts),
        draw(st.dictionaries(st.text(max_size=4), plain_data, max_size=3)),
        tuple(draw(st.lists(st.tuples(st.integers(0, 99), finite), max_size=3))),
    )


@given(scores())
def test_json_round_trips(score: Score) -> None:
    assert Score.from_json(score.to_json()) == score


@given(scores())
def test_pickling_round_trips(score: Score) -> None:
    assert pickle.loads(pickle.dumps(score)) == score


def test_zero_is_judged() -> None:
    assert Score.incorrect("no").judged


def test_zero_is_written() -> None:
    assert Score.incorrect("no").to_dict()["value"] == 0.0


def test_an_outcome_of_zero_survives_the_round_trip() -> None:
    score = Score(0.0, Verdict.INCORRECT, outcome=0.0)
    assert Score.from_json(score.to_json()).outcome == 0.0


def test_unjudged_has_no_value() -> None:
    assert Score.unjudged("sandbox down").value is None


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(None, "correct"), (0.0, "unjudged"), (math.nan, "correct"), (math.inf, "correct")],
)
def test_contradictions_are_refused(value: float | None, verdict: Any) -> None:
    with pytest.raises(ValueError, match="value"):
        Score(value, verdict)


@pytest.mark.parametrize("outcome", [-0.1, 1.1, math.nan])
def test_an_outcome_outside_zero_to_one_is_refused(outcome: float) -> None:
    with pytest.raises(ValueError, match="outcome"):
        Score(1.0, Verdict.CORRECT, outcome=outcome)


@pytest.mark.parametrize(
    ("value", "verdict"), [(1.0, "correct"), (0.5, "partial"), (0.0, "incorrect")]
)
def test_a_fractions_verdict_follows_its_value(value: float, verdict: str) -> None:
    assert Score.fraction(value).verdict == verdict


def test_a_score_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Score.correct().value = 0.0  # type: ignore[misc]


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        Score.from_dict({"value": 1.0, "verdict": "correct", "colour": "red"})
