from __future__ import annotations

import math
import pickle
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewards
from rewards import Score, SpecError


class FixedSpec(rewards.Spec):
    """Gives the value that it holds; None is unjudged."""

    type: Literal["fixed", "fixed_style"] = "fixed"
    value: float | None = None


@rewards.verifier(name="fixed", spec=FixedSpec)
def fixed(completion: rewards.Completion, spec: FixedSpec) -> Score:
    if spec.value is None:
        return Score.unjudged("no value")
    return Score.fraction(spec.value)


@rewards.verifier(name="fixed_style", spec=FixedSpec, role="shaping")
def fixed_style(completion: rewards.Completion, spec: FixedSpec) -> Score:
    return Score.unjudged("no value") if spec.value is None else Score.fraction(spec.value)


def outcome(value: float | None, **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "value": value, **more}


def style(value: float | None, **more: Any) -> dict[str, Any]:
    return {"type": "fixed_style", "value": value, **more}


def test_a_lone_spec_has_no_parts() -> None:
    assert rewards.score("x", outcome(1.0)).parts == {}


def test_a_list_of_one_has_one_part() -> None:
    assert list(rewards.score("x", [outcome(1.0)]).parts) == ["fixed"]


def test_weights_multiply_and_values_add() -> None:
    assert rewards.score("x", [outcome(1.0, weight=2), style(0.5, weight=0.4)]).value == 2.2


def test_a_negative_weight_subtracts() -> None:
    assert rewards.score("x", [outcome(1.0), style(1.0, weight=-0.5)]).value == 0.5


def test_shaping_is_not_in_the_outcome() -> None:
    assert rewards.score("x", [outcome(1.0), style(0.0, weight=0.5)]).outcome == 1.0


def test_shaping_alone_has_no_outcome() -> None:
    assert rewards.score("x", [style(1.0)]).outcome is None


def test_a_lone_shaping_verifier_has_no_outcome() -> None:
    assert rewards.score("x", style(1.0)).outcome is None


def test_outcomes_multiply() -> None:
    assert rewards.score("x", [outcome(0.5), outcome(0.5)]).outcome == 0.25


def test_a_role_can_be_overridden() -> None:
    assert rewards.score("x", [style(1.0, role="outcome")]).outcome == 1.0


def test_a_shut_gate_makes_the_total_zero() -> None:
    assert rewards.score("x", [outcome(1.0), style(0.0, gate=True)]).value == 0.0


def test_an_open_gate_changes_nothing() -> None:
    assert rewards.score("x", [outcome(1.0), style(1.0, gate=True, weight=0.5)]).value == 1.5


def test_a_shut_gate_is_named() -> None:
    score = rewards.score("x", [outcome(1.0), style(0.0, gate=True, name="door")])
    assert "gate door is shut" in score.reason


@pytest.mark.parametrize("weight", [1.5, -1.5])
def test_shaping_that_outweighs_the_outcome_is_refused(weight: float) -> None:
    with pytest.raises(SpecError, match="wrong answer could be paid more"):
        rewards.score("x", [outcome(1.0), style(1.0, weight=weight)])


def test_a_penalty_cannot_be_a_gate() -> None:
    with pytest.raises(SpecError, match="length cannot be a gate"):
        rewards.score("x", [outcome(1.0), {"type": "length", "budget": 9, "gate": True}])


def test_length_and_format_may_be_added_at_their_defaults() -> None:
    parts = [{"type": "math", "answer": 4}, {"type": "length", "budget": 9, "unit": "words"}]
    assert rewards.score("4", parts).value == 1.0


def test_the_verdict_is_that_of_the_outcome() -> None:
    assert rewards.score("x", [style(0.0, weight=0.5), outcome(1.0)]).verdict == "correct"


def test_half_of_two_outcomes_is_not_correct() -> None:
    assert rewards.score("x", [outcome(1.0), outcome(0.0)]).verdict == "incorrect"


values = st.sampled_from([0.0, 0.25, 0.5, 1.0])
parts_lists = st.lists(
    st.one_of(
        st.builds(outcome, st.none() | values, weight=st.sampled_from([1.0, 2.0])),
        st.builds(
            style, st.none() | values, weight=st.sampled_from([0.1, -0.1]), gate=st.booleans()
        ),
    ),
    min_size=1,
    max_size=4,
)


@given(parts_lists)
def test_any_unjudged_part_leaves_the_whole_unjudged(parts: list[dict[str, Any]]) -> None:
    lost = any(part["value"] is None for part in parts)
    assert (rewards.score("x", parts).value is None) == lost


@given(parts_lists)
def test_the_value_is_the_weighted_sum_behind_the_gates(parts: list[dict[str, Any]]) -> None:
    score = rewards.score("x", parts)
    if score.value is not None:
        shut = any(p.get("gate") and p["value"] == 0 for p in parts)
        total = math.fsum(p["weight"] * p["value"] for p in parts)
        assert score.value == (0.0 if shut else pytest.approx(total))


@given(parts_lists)
def test_the_outcome_reads_outcome_parts_only(parts: list[dict[str, Any]]) -> None:
    score = rewards.score("x", parts)
    if score.value is not None:
        known = [p["value"] for p in parts if p["type"] == "fixed"]
        assert score.outcome == (math.prod(known) if known else None)


@given(parts_lists)
def test_a_composed_score_survives_json_and_pickle(parts: list[dict[str, Any]]) -> None:
    score = rewards.score("x", parts)
    assert Score.from_json(score.to_json()) == score == pickle.loads(pickle.dumps(score))


@given(parts_lists)
def test_every_part_is_there_in_order(parts: list[dict[str, Any]]) -> None:
    scores = list(rewards.score("x", parts).parts.values())
    assert [s.value for s in scores] == [p["value"] for p in parts]
