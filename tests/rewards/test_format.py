from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewards
from rewards import SpecError

SPEC: dict[str, Any] = {"type": "format", "tags": ["think", "answer"]}


@pytest.mark.parametrize(
    "text",
    [
        "<think>a</think><answer>b</answer>",
        "Sure. <think>\na\n</think>\nso\n<answer>\nb\n</answer> Done.",
        "<think>a < b and <i>c</i></think><answer>b</answer>",
    ],
)
def test_tags_side_by_side_in_order_are_worth_one(text: str) -> None:
    assert rewards.score(text, SPEC).value == 1.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a b", "no <think>"),
        ("<think>a</think>", "no <answer>"),
        ("<think>a<answer>b</answer>", "no </think>"),
        ("<think>a</think><answer>b", "no </answer>"),
        ("<think>a</think><think>c</think><answer>b</answer>", "<think> appears 2 times"),
        ("<think>a</think></think><answer>b</answer>", "</think> appears 2 times"),
        ("<answer>b</answer><think>a</think>", "<answer> comes before"),
        ("<think>a<answer>b</answer></think>", "<answer> comes before"),
        ("<think>a<answer></think>b</answer>", "<answer> comes before"),
        ("</think>a<think><answer>b</answer>", "</think> comes before <think>"),
        ("<think> \n</think><answer>b</answer>", "<think> is empty"),
        ("<think>a</think><answer></answer>", "<answer> is empty"),
        ("<Think>a</Think><answer>b</answer>", "no <think>"),
    ],
)
def test_a_broken_format_is_worth_nothing_and_says_why(text: str, reason: str) -> None:
    score = rewards.score(text, SPEC)
    assert score.value == 0.0
    assert reason in score.reason


def test_the_failing_tag_is_in_the_evidence() -> None:
    assert rewards.score("<think>a</think>", SPEC).evidence["tag"] == "answer"


def test_a_tag_that_the_prompt_opened_counts() -> None:
    text = "a</think><answer>b</answer>"
    assert rewards.score(text, SPEC, prompt="2+2? <think>\n").value == 1.0


def test_a_tag_that_the_prompt_opened_may_be_repeated_at_the_start() -> None:
    text = "<think>a</think><answer>b</answer>"
    assert rewards.score(text, SPEC, prompt="2+2? <think>\n").value == 1.0


def test_a_tag_that_the_prompt_only_mentions_does_not_count() -> None:
    text = "a</think><answer>b</answer>"
    assert rewards.score(text, SPEC, prompt="Write <think> first.").value == 0.0


def test_format_is_shaping() -> None:
    assert rewards.score("<a>x</a>", {"type": "format", "tags": ["a"]}).outcome is None


@pytest.mark.parametrize("tags", [[], ["<think>"], ["a", "a"], [""], ["a b"]])
def test_bad_tags_are_refused(tags: list[str]) -> None:
    with pytest.raises(SpecError, match="tags"):
        rewards.compile_spec({"type": "format", "tags": tags})


pieces = st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", "x", " "])


@given(st.lists(pieces, max_size=9).map("".join))
def test_exactly_the_pattern_is_accepted(text: str) -> None:
    held = r"(?:x| )*x(?:x| )*"
    pattern = rf"(?:x| )*<think>{held}</think>(?:x| )*<answer>{held}</answer>(?:x| )*"
    wanted = re.fullmatch(pattern, text) is not None
    assert (rewards.score(text, SPEC).value == 1.0) == wanted
