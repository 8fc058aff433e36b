from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.verifiers.math.exact import plain, quantity, squashed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", "7"),
        ("-7", "-7"),
        ("+7", "7"),
        ("−7", "-7"),
        ("007", "7"),
        ("7.", "7"),
        (".5", "1/2"),
        ("0.25", "1/4"),
        ("1,234,567.5", "2469135/2"),
        (r"1{,}234", "1234"),
        (r"1\,234", "1234"),
        ("1 234", "1234"),
        ("3{,}74", "187/50"),
        ("1/2", "1/2"),
        ("-1/2", "-1/2"),
        (r"\frac{1}{2}", "1/2"),
        (r"\dfrac12", "1/2"),
        (r"\frac{-1}{2}", "-1/2"),
        (r"2\frac{3}{5}", "13/5"),
        ("2 3/5", "13/5"),
        ("-2 3/5", "-13/5"),
        ("50%", "1/2"),
        (r"50\%", "1/2"),
        (r"50 \text{ percent}", "1/2"),
        (r"\$5.50", "11/2"),
        (r"2.5 \times 10^{3}", "2500"),
        ("10^{-2}", "1/100"),
        ("1e3", "1000"),
        (r"0.\overline{36}", "4/11"),
        (r"1.2\overline{3}", "37/30"),
        ("$7$", "7"),
        ("**7**", "7"),
        (r"72^\circ", "72"),
        ("14 apples", "14"),
    ],
)
def test_a_plain_number_is_read_exactly(text: str, value: str) -> None:
    read = quantity(text)
    assert read is not None
    assert read.value == Fraction(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1, 2",
        "2x",
        "1/0",
        r"\frac{1}{0}",
        "1 or 2",
        "2 or more",
        "12 million",
        "1,23",
        "1.2.3",
        "--1",
        "3!",
        r"2\frac{7}{5}",
        "5_8",
        "1e99999",
        r"2\pi",
        "9" * 5000,
    ],
)
def test_what_is_not_a_plain_number_is_left_to_others(text: str) -> None:
    assert quantity(text) is None


@given(st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**4))
def test_every_fraction_equals_itself_in_every_notation(value: Fraction) -> None:
    sign = "-" if value < 0 else ""
    top, low = abs(value.numerator), value.denominator
    for text in (
        f"{sign}{top}/{low}",
        rf"{sign}\frac{{{top}}}{{{low}}}",
        f"${sign} {top} / {low}$",
    ):
        read = quantity(text)
        assert read is not None
        assert read.value == value


@given(st.integers(-(10**30), 10**30))
def test_grouped_digits_are_the_number(value: int) -> None:
    read = quantity(f"{value:,}")
    assert read is not None
    assert read.value == value


@pytest.mark.parametrize("ending", [".", "...", ". .", ".\n.", " . "])
def test_full_stops_at_the_end_carry_no_meaning(ending: str) -> None:
    assert plain("7" + ending) == "7"


@given(st.text(max_size=200))
def test_normalising_never_raises_and_is_stable(text: str) -> None:
    quantity(text)
    assert squashed(text) == squashed(text)
    assert isinstance(plain(text), str)
