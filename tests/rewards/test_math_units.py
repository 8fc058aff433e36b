from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.verifiers.math.units import (
    GENERIC,
    comparable,
    convert,
    cut_multiplier,
    is_unit_symbol,
    read_multiplier,
    read_unit,
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cm", "cm"),
        (r"\text{ cm}^2", "cm^2"),
        (r"\mbox{ inches}^2", "in^2"),
        (r"\text{in}^{3}", "in^3"),
        ("m ^ 2", "m^2"),
        ("m²", "m^2"),
        ("cm2", "cm^2"),
        (r"\mathrm{~kg} \mathrm{~m} / \mathrm{s}", "kg m s^-1"),
        ("{~m} / {s}", "m s^-1"),
        ("km/h", "km h^-1"),
        (r"\frac{\text{km}}{\text{h}}", "km h^-1"),
        (" meters per second squared", "m s^-2"),
        ("m/s/s", "m s^-1 s^-1"),
        ("square meters", "m^2"),
        ("sq. ft.", "ft^2"),
        ("cubic centimeters", "cm^3"),
        ("s⁻¹", "s^-1"),
        (r" / \mathrm{cm}^{3}", "cm^-3"),
        ("(m/s)", "m s^-1"),
        ("W/m^2 K", "W m^-2 K^-1"),
        ("J/(kg·K)", "J kg^-1 K^-1"),
        (r"\mathrm{kcal} \mathrm{m}^{-2} \mathrm{yr}^{-1}", "kcal m^-2 yr^-1"),
        (r"\mu \mathrm{m}", "μm"),
        ("µm", "μm"),  # the micro sign
        (r"\mathrm{k}\Omega", "kΩ"),
        (r"\AA", "Å"),
        (r"^\circ", "°"),
        (r"^{\prime \prime}", "''"),
        (r"{ }^{\circ} \mathrm{C}", "°C"),
        ("degrees Fahrenheit", "°F"),
        (r"\$", "$"),
        ("US dollars", "$"),
        (r"\%", "%"),
        ("per cent", "%"),
        ("light-years", "ly"),
        ("KG", "kg"),
        ("Gyr", "Gyr"),
        ("people", "person"),
        ("red marbles", "red marble"),
        ("kJ / bomb", "kJ bomb^-1"),
        ("dollar per bushel", "$ bushel^-1"),
        ("apples a day", "apple day^-1"),
        ("years old", "yr"),
        ("[F]", "F"),
    ],
)
def test_a_unit_is_read_in_every_dress(text: str, name: str) -> None:
    unit = read_unit(text)
    assert unit is not None
    assert unit.name == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "or more",
        "or 7",
        "is wrong",
        "wrong",
        "maybe",
        "not apples",
        "more apples",
        "approximately hours",
        "in the set",
        "in dollars",
        "hours and 30 minutes",
        "million",
        "dozen eggs",
        "sin",
        "x",
        "abc",
        "xyz",
        "ABCD",
        r"\alpha",
        r"\pi",
        "times x",
        "p.m.",
        "o'clock",
        "m-1",
        "m^22",
        "((m",
        "(m/s)^2",
        "m/(s/kg)",
        "kg/(m s) A",
        "apples (red)",
        "m)",
        "m/",
        "m//s",
        "cm}",
        "square",
        "apples of",
        "J / s m^{-2}",  # which side of the slash?
        "см",  # Cyrillic
        "m" * 300,
        "m " * 60,
    ],
)
def test_what_is_no_unit_is_not_read(text: str) -> None:
    assert read_unit(text) is None


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        ("2", "hours", "minutes", "120"),
        ("1", "day", "s", "86400"),
        ("36", "km/h", "m/s", "10"),
        ("1", "mi", "m", "1609.344"),
        ("1", "lb", "kg", "0.45359237"),
        ("1", "gallon", "quarts", "4"),
        ("2", "cups", "pint", "1"),
        ("1", "m^2", "cm^2", "10000"),
        ("1", "L", "cm^3", "1000"),
        ("1", "eV", "J", "1.602176634e-19"),
        ("1", "kcal", "J", "4184"),
        ("1", "kWh", "MJ", "3.6"),
        ("1", "erg", "J", "1e-7"),
        ("1", "N m", "J", "1"),
        ("10", r"\AA", "nm", "1"),
        ("1", "degree", "arcseconds", "3600"),
        ("100", "°C", "°F", "212"),
        ("0", "°C", "K", "273.15"),
        ("75", "cents", r"\$", "0.75"),
        ("24", "months", "years", "2"),
        ("1", "Gyr", "years", "1e9"),
        ("8", "bits/s", "B/s", "1"),
        ("60", "rpm", "revolutions/s", "1"),
        ("5", "pounds", "£", "5"),
        ("1", "M", "mol/L", "1"),
    ],
)
def test_conversion_is_exact(value: str, source: str, target: str, expected: str) -> None:
    old, new = read_unit(source), read_unit(target)
    assert old is not None
    assert new is not None
    assert convert(Fraction(value), old, new) == Fraction(expected)
    assert convert(Fraction(expected), new, old) == Fraction(value)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("cm", "mm", True),
        ("cm", "cm^2", False),
        ("m", "s", False),
        (r"\$", "€", False),
        ("apples", "oranges", False),
        ("apples", "red apples", True),
        ("atoms/m", "m^{-1}", True),
        ("apples", "cm", False),
        ("rad/s", "s^{-1}", True),
        ("degrees", "radians", True),
        ("degrees", "units", False),
        ("years", "days", False),
        ("pc", "ly", False),
        ("pounds", "£", True),
        ("lb", "£", False),
    ],
)
def test_only_equal_dimensions_compare(one: str, other: str, expected: bool) -> None:
    a, b = read_unit(one), read_unit(other)
    assert a is not None
    assert b is not None
    assert comparable(a, b) is comparable(b, a) is expected


def test_an_answer_may_leave_out_what_the_gold_divides_by_but_not_add_it() -> None:
    full, short = read_unit("dollars per bushel"), read_unit("dollars")
    assert full is not None
    assert short is not None
    assert comparable(full, short)
    assert not comparable(short, full)


def test_a_degree_is_pi_by_180_of_a_radian() -> None:
    degree, radian = read_unit("degrees"), read_unit("radians")
    assert degree is not None
    assert radian is not None
    assert (degree.factor, degree.pi, degree.dimension) == (Fraction(1, 180), 1, radian.dimension)
    assert convert(Fraction(180), degree, radian) is None


@pytest.mark.parametrize("text", ["units", "square units", "units^2", "ways", "times", "in total"])
def test_words_for_any_unit_are_generic(text: str) -> None:
    assert read_unit(text) == GENERIC


@pytest.mark.parametrize(("lower", "upper"), [("m", "M"), ("mm", "Mm"), ("mpc", "Mpc")])
def test_case_matters_for_symbols(lower: str, upper: str) -> None:
    assert read_unit(lower) != read_unit(upper)


def test_case_does_not_matter_for_words() -> None:
    assert read_unit("Meters") == read_unit("METERS") == read_unit("metres")


def test_a_noun_has_one_dimension_in_singular_and_plural() -> None:
    assert read_unit("apple") == read_unit("apples")
    assert read_unit("boxes") == read_unit("box")


@pytest.mark.parametrize(
    ("text", "value"),
    [("million", 10**6), (r"\text{ billion}", 10**9), ("Dozen", 12), ("hundred thousand", 10**5)],
)
def test_multipliers(text: str, value: int) -> None:
    assert read_multiplier(text) == value


@pytest.mark.parametrize("text", ["", "cm", "million dollars", "thousands", "one"])
def test_what_is_no_multiplier(text: str) -> None:
    assert read_multiplier(text) is None


def test_a_multiplier_is_cut_from_the_unit() -> None:
    assert cut_multiplier(r"\text{ million dollars}") == (10**6, "dollars")
    assert cut_multiplier(r"\text{ cm}") == (1, r"\text{ cm}")


def test_symbols_are_told_from_words() -> None:
    assert is_unit_symbol("cm")
    assert not is_unit_symbol("meters")
    assert not is_unit_symbol("CM")


_PIECES = st.sampled_from(
    [
        *r"{}()[]/^*'°μ$%.- ",
        "m",
        "per ",
        "of ",
        "a ",
        "sq ",
        "in ",
        "^{2}",
        "^-1",
        r"\text{",
        "C",
        r"\frac{",
        r"\mathrm{~",
        r"\mu",
        r"\circ",
        "apples ",
        "squared",
        "million ",
    ]
)


@given(st.text() | st.lists(_PIECES, max_size=30).map("".join))
def test_no_text_raises(text: str) -> None:
    unit = read_unit(text)
    assert cut_multiplier(text)[0] >= 1
    read_multiplier(text)
    assert unit is None or comparable(unit, unit)
