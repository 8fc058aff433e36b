from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.verifiers.math.words import means_empty, normal_text, read_number_words


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("zero", "0"),
        ("Five", "5"),
        ("nineteen", "19"),
        ("twenty-one", "21"),
        (r"\text{twenty one}.", "21"),
        ("one hundred and five", "105"),
        ("a hundred", "100"),
        ("twelve hundred", "1200"),
        ("one thousand and one", "1001"),
        ("two thousand three hundred forty-five", "2345"),
        ("two million three hundred thousand", "2300000"),
        ("negative seven", "-7"),
        ("minus two", "-2"),
        ("a dozen", "12"),
        ("two dozen", "24"),
        ("half", "1/2"),
        ("a half", "1/2"),
        ("one half", "1/2"),
        ("half a million", "500000"),
        ("three quarters", "3/4"),
        ("two-thirds", "2/3"),
        ("a third", "1/3"),
        ("three hundredths", "3/100"),
        ("two and a half", "5/2"),
        ("one and three quarters", "7/4"),
        ("minus one half", "-1/2"),
        ("three point one four", "3.14"),
        ("zero point zero five", "0.05"),
    ],
)
def test_number_words(text: str, value: str) -> None:
    assert read_number_words(text) == Fraction(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "and",
        "third",
        "quarter",
        "hundred",
        "seven or eight",
        "five apples",
        "not five",
        "one two",
        "ten one",
        "twenty eleven",
        "twenty-first",
        "one thirds",
        "two third",
        "zero halves",
        "one hundred and",
        "five point",
        "one point twelve",
        "one thousand two million",
        "minus minus two",
        "minus",
        "7",
        "оne",  # a Cyrillic o
        "one " * 41,
        "one" * 2000,
    ],
)
def test_what_is_no_number_in_words(text: str) -> None:
    assert read_number_words(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Yes.", r"\text{yes}"),
        ("The Eiffel Tower", "eiffel tower"),
        ("odd $n$", r"\text{odd } n"),
        ("well-known", "well known"),
        ("“Paris”", "paris!"),
        (r"$\text{(C)}$", "(c)"),
        ("**east**", "East"),
        ("isn’t", "isn't"),
        ("ﬁve", "five"),
    ],
)
def test_dress_does_not_matter(one: str, other: str) -> None:
    assert normal_text(one) == normal_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x", "х"),  # Latin and Cyrillic
        ("apple", "apples"),
        ("-5", "5"),
        ("5!", "5"),
        ("n!", "n"),
        ("f'", "f"),
        ("0.333...", "0.333"),
        (r"\{0\}", "0"),
        ("yes", "no"),
        ("yes", "not yes"),
    ],
)
def test_content_matters(one: str, other: str) -> None:
    assert normal_text(one) != normal_text(other)


@pytest.mark.parametrize(
    "text",
    [
        "no solution",
        r"\text{No solutions}.",
        "no real solutions",
        "There are no solutions",
        "The equation has no real roots",
        "no such integer exists",
        "No solution exists.",
        "no values of x",
        "none",
        "the empty set",
        r"\emptyset",
        r"\varnothing",
        "∅",
        r"\{\}",
    ],
)
def test_the_empty_set_in_words(text: str) -> None:
    assert means_empty(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "0",
        r"\{0\}",
        "does not exist",
        "undefined",
        "none of the above",
        "no answer",
        "no solution or 5",
        "one solution",
        "no solution except 2",
    ],
)
def test_what_is_not_the_empty_set(text: str) -> None:
    assert not means_empty(text)


_PIECES = st.sampled_from(
    [
        "one ",
        "twenty-",
        "hundred ",
        "thousand ",
        "and ",
        "a ",
        "half ",
        "thirds",
        "point ",
        "dozen",
        "minus ",
        "zero ",
        "million ",
        "no ",
        "solution ",
        *r"{}\$.-!? ",
    ]
)


@given(st.text() | st.lists(_PIECES, max_size=45).map("".join))
def test_no_text_raises(text: str) -> None:
    read_number_words(text)
    means_empty(text)
    assert isinstance(normal_text(text), str)
