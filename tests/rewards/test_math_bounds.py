from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewards
from rewards.verifiers.math.bounds import bounds_complaint


@pytest.mark.parametrize(
    "answer",
    [
        "7" * 5000,
        "7" * 300,
        "x" * 1001,
        "(" * 13 + "4" + ")" * 13,
        "x+" * 3000 + "4",
        # towers
        "9^{9^{9}}",
        "9^{9^{9^9}}",
        "9^9^9^9",
        "9**9**9**9",
        "9^{9^9+x-x}",
        r"\frac19^{9^{99}}",
        "^".join("9" * 400),
        "x^{9^9}",
        # powers
        "2^{99999}",
        "2^{(9^9)}",
        r"2^{\frac{1}{0.0000000001}}",
        "2^{1/10^{-10}}",
        "((10^{1000})^{1000})^{1000}",
        "1.0000001^{99999}",
        # factorials and their kin
        "2001!",
        "99999!",
        "((10!)!)!",
        "(9999!)^{9999}",
        "(999!)^{999}",
        "3!!!!",
        r"\Gamma(10000000)",
        r"\binom{100000}{50000}",
        r"\binom{x}{300}",
        r"\binom" * 300 + "2",
        # polynomials
        "(x+1)^{1000}",
        "(x+y+z)^{999}",
        "(x+y+z+w+1)^{50}",
        "((x+1)^{50}+1)^{50}",
        r"(1+\sqrt2)^{999}",
        r"\frac{x^{4000}-1}{x-1}",
    ],
    ids=lambda answer: answer[:30],
)
def test_an_answer_that_only_costs_time_is_refused(answer: str) -> None:
    assert bounds_complaint(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "3^{2025}",
        "2025^{2025}",
        "1/1800!",
        "10^{-400}",
        r"\frac{1}{2^{1006}}",
        "x^{2023}+x+1",
        "(x+1)^{100}",
        "(1+x+x^2)^{50}",
        "(x^2+y^2)^2",
        "(a+b)(b+c)(c+a)",
        "".join(f"(x+{n})" for n in range(30)),
        r"(1+\sqrt{2})^{100}",
        r"\binom{2000}{1000}",
        r"\binom{10^6}{2}",
        r"\binom{n}{k}",
        "3!!",
        "n!",
        "2^{n^2+n}",
        "2^{2^{n}}",
        r"e^{-\frac{E}{1.38\times10^{-23}T}}",
        r"\sum_{k=1}^{2023} k^2",
        r"6.022 \times 10^{23}",
        r"1+\cfrac{1}{1+\cfrac{1}{1+\cfrac{1}{1+\cfrac{1}{x}}}}",
        r"\begin{pmatrix} a+b & c \\ d & e^{2} \end{pmatrix}",
        "]0, 1[",
    ],
    ids=lambda answer: answer[:30],
)
def test_an_answer_of_a_usual_size_is_not(answer: str) -> None:
    assert bounds_complaint(answer) is None


def test_an_answer_beyond_the_bounds_is_a_limit_and_worth_nothing() -> None:
    score = rewards.score(r"\boxed{(x+y+z)^{999}}", {"type": "math", "answer": "4"})
    assert (score.verdict, score.value) == ("limit", 0.0)


@given(st.text(alphabet=r"\{}[]()^_=<>+-*/!,;.$%0189xyπ∞² fracbinom", max_size=200))
def test_every_text_has_a_size(text: str) -> None:
    complaint = bounds_complaint(text)
    assert complaint is None or complaint.startswith("the answer")
