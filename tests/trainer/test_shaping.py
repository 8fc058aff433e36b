from __future__ import annotations

import itertools
from typing import Any

import pytest

from trainer.config import Config
from trainer.shaping import length_penalty

KINDS = ("budget", "overlong", "cosine")


def cost(kind: Any, tokens: int, correctness: float = 1.0, **settings: Any) -> float:
    defaults = {"length_budget": 100, "length_buffer": 20, "length_weight": 0.5}
    return length_penalty(
        tokens, correctness, Config(length_penalty=kind, **{**defaults, **settings})
    )


@pytest.mark.parametrize(
    ("kind", "tokens", "correctness", "expected"),
    [
        ("none", 1000, 1.0, 0.0),
        ("budget", 100, 1.0, 0.0),
        ("budget", 110, 1.0, 0.25),
        ("budget", 120, 0.0, 0.5),
        ("budget", 121, 1.0, 0.5),
        ("overlong", 80, 1.0, 0.0),
        ("overlong", 90, 0.0, 0.25),
        ("overlong", 100, 1.0, 0.5),
        ("overlong", 101, 1.0, 0.5),
        ("cosine", 0, 1.0, 0.0),
        ("cosine", 50, 1.0, 0.25),
        ("cosine", 25, 1.0, 0.25 - 0.25 * 0.5**0.5),
        ("cosine", 100, 1.0, 0.5),
        ("cosine", 0, 0.0, 0.5),
        ("cosine", 25, 0.0, 0.25 + 0.25 * 0.5**0.5),
        ("cosine", 100, 0.0, 0.5),
        ("cosine", 101, 0.0, 0.5),
        ("cosine", 25, 0.5, 0.25),
    ],
)
def test_penalty_of_a_length(kind: str, tokens: int, correctness: float, expected: float) -> None:
    assert cost(kind, tokens, correctness) == pytest.approx(expected, abs=1e-12)


def test_cosine_forgives_a_wrong_answer_that_thought_until_just_before_the_budget() -> None:
    assert cost("cosine", 99, 0.0) < 0.001


@pytest.mark.parametrize("kind", ["budget", "overlong"])
def test_longer_never_costs_less(kind: str) -> None:
    costs = [cost(kind, tokens) for tokens in range(200)]
    assert costs == sorted(costs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [0.01, 0.5, 0.999])
def test_no_wrong_answer_beats_a_right_one(kind: str, weight: float) -> None:
    lengths = range(0, 130, 5)
    right = min(1 - cost(kind, n, 1.0, length_weight=weight) for n in lengths)
    wrong = max(0 - cost(kind, n, 0.0, length_weight=weight) for n in lengths)
    assert right > wrong


@pytest.mark.parametrize("kind", KINDS)
def test_verl_5216_no_length_and_no_budget_gives_nan(kind: str) -> None:
    for tokens, budget, buffer in itertools.product((0, 1, 2, 10**6), (1, 2, 50), (1, 2, 10**6)):
        got = cost(kind, tokens, 0.5, length_budget=budget, length_buffer=buffer)
        assert 0 <= got <= 0.5  # false for NaN


@pytest.mark.parametrize("kind", ["budget", "overlong"])
def test_an_empty_completion_costs_nothing_even_if_the_buffer_exceeds_the_budget(
    kind: str,
) -> None:
    assert cost(kind, 0, length_buffer=1000) == 0.0


@pytest.mark.parametrize("value", [-0.5, 1.5])
def test_a_value_outside_0_to_1_counts_as_the_nearer_end(value: float) -> None:
    nearer = min(1.0, max(0.0, value))
    assert cost("cosine", 25, value) == cost("cosine", 25, nearer)
