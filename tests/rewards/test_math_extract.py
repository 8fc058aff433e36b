from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.verifiers.math.extract import Answer, Missing, extract


@pytest.mark.parametrize(
    ("text", "answer", "source"),
    [
        (r"so \boxed{7}", "7", "boxed"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}", "boxed"),
        (r"\boxed{1} no, \boxed{2}", "2", "boxed"),
        (r"\boxed{\boxed{7}}", "7", "boxed"),
        (r"\fbox{7}", "7", "boxed"),
        (r"$\boxed 7$", "7", "boxed"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}", "boxed"),
        ("<answer> 7 </answer>", "7", "answer_tag"),
        (r"<answer>so \boxed{7}</answer>", "7", "answer_tag"),
        ("<answer>The answer is 7.</answer>", "7", "answer_tag"),
        ("<answer>6</answer> or <answer>7</answer>", "7", "answer_tag"),
        ("Thus the answer is 7.", "7", "sentence"),
        ("The final answer is: $x = 7$.", "x = 7", "sentence"),
        ("**Answer:** 3.5", "3.5", "sentence"),
        ("**Final Answer**:\n7", "7", "sentence"),
        ("answer is 6\nwait\nThe answer is 7", "7", "sentence"),
        ("6 + 1 is 7\n#### 7", "7", "sentence"),
        ("7", "7", "last_line"),
        ("I added them.\n\n1,234", "1,234", "last_line"),
    ],
)
def test_the_answer_is_found(text: str, answer: str, source: str) -> None:
    assert extract(text) == Answer(answer, source)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no_answer"),
        ("It has two sides.\nThe perimeter is 7", "no_answer"),
        (r"\boxed{}", "empty_answer"),
        (r"\boxed{ $ $ }", "empty_answer"),
        (r"\boxed{7", "unfinished_answer"),
        (r"\boxed{6} hm, \boxed{7", "unfinished_answer"),
        ("<answer>7", "unfinished_answer"),
        ("<answer></answer>", "empty_answer"),
    ],
)
def test_what_is_missing_is_said(text: str, code: str) -> None:
    found = extract(text)
    assert isinstance(found, Missing)
    assert found.code == code


snippets = st.sampled_from(
    [
        r"\boxed",
        r"\boxed{",
        "{",
        "}",
        "<answer>",
        "</answer>",
        "answer is",
        "####",
        "$",
        r"\(",
        "\\",
    ]
)


@given(st.lists(st.one_of(snippets, st.text(max_size=4), st.integers().map(str))).map("".join))
def test_extraction_never_raises(text: str) -> None:
    found = extract(text)
    assert isinstance(found, Answer | Missing)
    assert not isinstance(found, Answer) or found.text in text


DEGENERATE = [
    r"\boxed{",
    r"\boxed",
    r"\boxed 7",
    r"\boxed{}",
    "<answer>",
    "<answer></answer>",
    "answer ",
    "answer is ",
    "final answer is ",
    "####",
    "# ",
    "$",
    "$ ",
    "$x",
    "$`",
    r"\(",
    r"\(x",
    r"\(x\)",
    r"\[",
    "\\",
    " ",
    ".",
    ". ",
    "^ ",
    "{",
    "1 ",
    "1.",
    "\n",
    "*",
]
AROUND = [
    ("", ""),
    ("the answer is ", ""),
    (r"\boxed{", "}"),
    ("<answer>", "</answer>"),
    ("the answer is $", "$"),
]


def _cost(text: str) -> float:
    started = time.process_time()
    extract(text)
    return time.process_time() - started


@pytest.mark.parametrize("around", AROUND, ids=lambda pair: pair[0] or "bare")
@pytest.mark.parametrize("unit", DEGENERATE)
def test_extraction_takes_linear_time(unit: str, around: tuple[str, str]) -> None:
    def cost(size: int) -> float:
        return _cost(around[0] + unit * (size // len(unit)) + around[1])

    cost(1000)
    base = max(cost(10_000) for _ in range(3))
    # tenfold text costs tenfold time; a quadratic search would take a hundred times as long
    middle = cost(100_000)
    assert middle < max(0.002, base) * 40
    assert cost(1_000_000) < max(0.005, middle) * 40


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"The answer is \(x = 7\).", "x = 7"),
        (r"The answer is \(\frac{1}{2}\), so", r"\frac{1}{2}"),
        (r"The answer is \[\sqrt{2}\]", r"\sqrt{2}"),
        (r"The answer is $$7$$.", "7"),
        (r"The answer is $1$ or $2$.", "$1$ or $2$"),
    ],
)
def test_a_sentences_one_formula_is_its_value(text: str, answer: str) -> None:
    assert extract(text) == Answer(answer, "sentence")
