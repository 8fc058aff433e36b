from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.verifiers.math.reading import read
from rewards.verifiers.math.tokens import plain


@pytest.mark.parametrize(
    ("text", "types", "shown"),
    [
        ("1,234", "Scalar Listing", "1234"),
        ("5 m", "Scalar Scalar", "5 m"),
        ("5m", "Scalar", "5*m"),
        ("3:45", "Moment Proportion", None),
        ("(1, 2)", "Listing", "(1, 2)"),
        ("[0, 1)", "RealSet", "[0, 1)"),
        ("x = 3", "Equation", "x = 3"),
        ("x < 3", "RealSet", "(-oo, 3)"),
        ("x < y", "Comparison", "-y + x < 0"),
        (r"\{x \mid 0 < x \le 1\}", "RealSet", "(0, 1]"),
        (r"1 \pm \sqrt2", "Listing", "2^(1/2) + 1, -2^(1/2) + 1"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "Grid", "[1, 2; 3, 4]"),
        (r"k\pi, k \in \mathbb{Z}", "Family", "0 + k*(pi)"),
        ("2:3", "Proportion", "2:3"),
        ("(B) 12", "Option Scalar", "(B) 12"),
        (r"\text{no solution}", "RealSet Prose", "{}"),
        ("abc", "Prose", "abc"),
        ("five", "Scalar Prose", "5"),
    ],
)
def test_a_text_means(text: str, types: str, shown: str | None) -> None:
    reading = read(text)
    assert " ".join(type(value).__name__ for value in reading.values) == types
    assert shown is None or str(reading) == shown


@pytest.mark.parametrize(
    "text",
    [
        "2 3",
        "5 +",
        "(1, 2",
        "= =",
        "1/0",
        "3 = 2",
        "a ? b",
        r"\frac{1}",
        "[1, 2, 3)",
    ],
)
def test_what_is_not_understood_says_why(text: str) -> None:
    reading = read(text)
    assert not reading.values
    assert reading.complaint


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("$5$", "5"),
        ("$$ 5 $$.", "5"),
        (r"\(5\)", "5"),
        ("**5**", "5"),
        ("`5`", "5"),
        (r"\, 5 \,", "5"),
        ("５", "5"),
        ("x²", "x^2"),
        ("10⁻³", "10^{-3}"),
        ("1, 2, ...", "1, 2, ..."),
    ],
)
def test_what_carries_no_meaning_is_removed(text: str, bare: str) -> None:
    assert plain(text) == bare


@given(st.text(max_size=80))
def test_reading_never_raises(text: str) -> None:
    reading = read(text)
    assert reading.values or reading.complaint or not reading.text


@given(st.text(alphabet=r"\{}[]()^_=<>+-*/!,;.$%01xyπ∞√acdfrsqtinpm|&:~ ", max_size=80))
def test_reading_never_raises_on_what_resembles_mathematics(text: str) -> None:
    read(text)


@pytest.mark.parametrize(
    "unit",
    ["(", ")", "{", r"\frac", r"\sqrt{", "^", "_", "1,", "x+", "=", "<", "!", r"\pm ", "|", " ",
     "$", r"\text{a}", r"\begin{pmatrix}", "&", r"\\", ":", r"\cup", "²", "and ", "5 cm ", "1 ",
     "a ", "no ", "m ", "(<", r"\text{1", "~", "for all x ", r"\sin ", "ﷺ", "\\ ", "\n"],
)  # fmt: skip
def test_reading_costs_little_whatever_is_repeated(unit: str) -> None:
    started = time.process_time()
    read((unit * 4096)[:4096])
    assert time.process_time() - started < 0.5
