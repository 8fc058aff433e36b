from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards import Completion, ConfigurationError


def test_text_is_a_completion() -> None:
    assert Completion.of("hi").text == "hi"


def test_a_completion_is_kept_as_it_is() -> None:
    completion = Completion("hi", num_tokens=3)
    assert Completion.of(completion) is completion


def test_facts_given_besides_a_completion_are_not_lost() -> None:
    completion = Completion.of(Completion("hi", prompt="Q"), num_tokens=3)
    assert completion == Completion("hi", num_tokens=3, prompt="Q")


def test_the_last_assistant_message_is_the_completion() -> None:
    messages = [
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "and?"},
        {"role": "assistant", "content": "last"},
    ]
    assert Completion.of(messages).text == "last"


def test_parts_of_a_message_are_joined() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert Completion.of({"role": "assistant", "content": content}).text == "ab"


@pytest.mark.parametrize("source", [7, None, [], ["a", "b"]])
def test_other_shapes_are_the_users_mistake(source: object) -> None:
    with pytest.raises(ConfigurationError, match="text or chat messages"):
        Completion.of(source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("plain", "plain"),
        ("<think>no</think>yes", "yes"),
        ("no</think>yes", "yes"),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("<think>never ended", ""),
        ("<think>a</think>b<think>again", ""),
    ],
)
def test_the_answer_is_what_follows_the_reasoning(text: str, answer: str) -> None:
    assert Completion(text).answer_text == answer


def test_reasoning_that_the_prompt_opened_is_open() -> None:
    assert Completion("I wonder", prompt="Q: 1+1?\n<think>\n").reasoning_open


def test_reasoning_that_the_prompt_opened_can_be_closed() -> None:
    assert Completion("hm</think>2", prompt="Q: 1+1?\n<think>\n").answer_text == "2"


def test_a_chat_prompts_last_message_opens_the_reasoning() -> None:
    prompt = [{"role": "assistant", "content": "<think>"}]
    assert Completion.of("hm", prompt=prompt).reasoning_open


def test_code_blocks_keep_language_text_and_order() -> None:
    blocks = Completion("```python\na = 1\n```\nthen\n~~~\nb\n~~~").code_blocks
    assert [(b.language, b.text, b.closed) for b in blocks] == [
        ("python", "a = 1\n", True),
        ("", "b\n", True),
    ]


def test_an_unclosed_block_says_so() -> None:
    (block,) = Completion("```py\na = 1").code_blocks
    assert not block.closed


def test_code_in_the_reasoning_is_not_a_block() -> None:
    assert Completion("<think>```\nx\n```</think>none").code_blocks == ()


def test_an_indented_fence_is_dedented() -> None:
    (block,) = Completion("1. here:\n   ```py\n   if x:\n       y\n   ```").code_blocks
    assert block.text == "if x:\n    y\n"


marks = st.sampled_from(
    ["<think>", "</think>", "```", "~~~", "\n", " ", "x", "\\boxed{", "\x00", "é"]
)


@given(st.lists(st.one_of(marks, st.text(max_size=5))).map("".join))
def test_no_text_makes_a_view_raise(text: str) -> None:
    completion = Completion(text)
    assert completion.answer_text in text
    assert all(isinstance(block.text, str) for block in completion.code_blocks)


@pytest.mark.parametrize("unit", ["```\n", "<think>", "</think>", " ", "~~~`", "` "])
def test_views_take_linear_time(unit: str) -> None:
    started = time.process_time()
    completion = Completion(unit * (500_000 // len(unit)))
    assert isinstance(completion.answer_text, str)
    assert isinstance(completion.code_blocks, tuple)
    assert time.process_time() - started < 3
