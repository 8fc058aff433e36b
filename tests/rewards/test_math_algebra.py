from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, sub
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import MPContext

from rewards.verifiers.math import numeric
from rewards.verifiers.math.algebra import Algebra, Undefined
from rewards.verifiers.math.evaluate import Evaluator
from rewards.verifiers.math.forms import Form, rational
from rewards.verifiers.math.integers import factors, integer_root
from rewards.verifiers.math.parse import parse
from rewards.verifiers.math.terms import TooLarge


def form(text: str) -> Form:
    return Evaluator().form(parse(text))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2/6", "1/3"),
        (r"\sqrt{8}", "2*2^(1/2)"),
        (r"\sqrt[3]{-8}", "-2"),
        (r"\sqrt{-4}", "2*i"),
        (r"\frac{6}{\sqrt{3}}", "2*3^(1/2)"),
        (r"2^{x+1}", "2*exp(ln(2)*x)"),
        (r"e^{\ln 5}", "5"),
        (r"\ln 8", "3*ln(2)"),
        (r"\sqrt{x^2}", "abs(x)"),
        (r"(\sqrt{x})^2", "x"),
        (r"\sqrt[3]{x^3}", "x"),
        (r"|{-3x}|", "3*abs(x)"),
        (r"|x|^2", "x^2"),
        (r"\sqrt{4x+4}", "2*(x + 1)^(1/2)"),
        (r"(\sqrt{x+1})^2", "x + 1"),
        (r"e^{i\pi/3}", "1/2*i*3^(1/2) + 1/2"),
        (r"i^3", "-i"),
        (r"(n+1)!/n!", "n + 1"),
        (r"\arcsin(-x)", "-arcsin(x)"),
        (r"\arctan\sqrt3", "1/3*pi"),
        ("2^{10^{10}}", "2^10000000000"),
    ],
)
def test_equal_values_have_one_form(text: str, canonical: str) -> None:
    shown, expected = form(text), form(canonical) if "(" not in canonical else None
    assert str(shown) == canonical or (expected is not None and shown == expected)


@pytest.mark.parametrize(
    "text", ["1/0", r"\frac{1}{x-x}", "0^0", "0^{-1}", r"\ln 0", r"\infty-\infty"]
)
def test_what_has_no_value_is_undefined(text: str) -> None:
    with pytest.raises(Undefined):
        form(text)


@pytest.mark.parametrize(
    "text", ["9^{9^{9^9}}", "100000!", r"\sum_{k=1}^{10^9} k", r"\binom{10^9}{5000}"]
)
def test_what_is_too_much_work_is_refused(text: str) -> None:
    with pytest.raises(TooLarge):
        form(text)


def test_fuel_is_counted_and_not_timed() -> None:
    with pytest.raises(TooLarge):
        Evaluator(Algebra(fuel=50)).form(parse("(x+1)^{40}"))


def test_forms_travel_between_processes_with_other_hash_seeds() -> None:
    made = form(r"\sqrt{x+1} + \sin x")
    assert pickle.loads(pickle.dumps(made)) == made
    atom = next(iter(made.atoms()))
    assert atom.__reduce__() == (type(atom), (atom.kind, atom.key, atom.payload))


@given(st.integers(1, 10**12))
def test_factors_multiply_to_the_number(number: int) -> None:
    product = 1
    for prime, count in factors(Fraction(number)):
        product *= prime**count
    assert product == number


@given(st.integers(0, 10**30), st.integers(2, 7))
def test_an_integer_root_is_the_largest(number: int, n: int) -> None:
    root = integer_root(number, n)
    assert root**n <= number < (root + 1) ** n


mp = MPContext()
mp.dps = 60  # with 15 digits, the root of what cancels to 1e-16 would not pass for 0
Valued = tuple[str, Any]
"""A text, and the value that it has by mpmath."""


def joined(sign: str) -> Callable[[tuple[Valued, Valued]], Valued]:
    operation = {"+": add, "-": sub, "*": mul, "/": lambda a, b: a / b if b else mp.nan}[sign]
    return lambda pair: (
        f"({pair[0][0]}{sign}{pair[1][0]})",
        operation(pair[0][1], pair[1][1]),
    )


def applied(pattern: str, function: Callable[..., object]) -> Callable[[Valued], Valued]:
    return lambda inner: (pattern.replace("#", inner[0]), function(inner[1]))


numbers: st.SearchStrategy[Valued] = st.recursive(
    st.one_of(
        st.integers(1, 9).map(lambda n: (str(n), mp.mpf(n))),
        st.just((r"\pi", mp.pi())),
        st.just((r"\sqrt{2}", mp.sqrt(2))),
        st.just(("e", mp.e())),
    ),
    lambda inner: st.one_of(
        *(st.tuples(inner, inner).map(joined(sign)) for sign in "+-*/"),
        inner.map(applied(r"\sqrt{#}", mp.sqrt)),
        inner.map(applied(r"\cos(#)", mp.cos)),
        inner.map(applied("(#)^3", lambda x: x**3)),
        inner.map(applied(r"\lvert{#}\rvert", abs)),
        inner.map(applied(r"\ln({#}^2)", lambda x: mp.log(x**2) if x else mp.nan)),
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(numbers)
def test_the_canonical_form_has_the_value_of_the_text(valued: Valued) -> None:
    text, expected = valued
    assume(mp.isfinite(expected) and abs(expected) < 1e12)
    try:
        ours = numeric.Digits().form(form(text))
    except (Undefined, TooLarge, numeric.NoDigits):
        return
    assert abs(ours - expected) <= 1e-9 * max(1, abs(expected))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (r"\sqrt{1-\sqrt2}", r"i\sqrt{\sqrt2-1}"),
        (r"(1-\sqrt2)^{3/2}", r"-i(\sqrt2-1)^{3/2}"),
        (r"\sqrt[3]{1-\sqrt2}", r"-\sqrt[3]{\sqrt2-1}"),
        (r"(1-\sqrt2)^{2/3}", r"(\sqrt2-1)^{2/3}"),
        (r"\sqrt{\frac{1}{1-\sqrt2}}", r"\frac{i}{\sqrt{\sqrt2-1}}"),
        (r"\lvert\sqrt{1-\sqrt2}\rvert", r"\sqrt{\sqrt2-1}"),
        (r"\lvert\sqrt{\cos 2}\rvert", r"\sqrt{-\cos 2}"),
        (r"\lvert\sqrt{1+i}\rvert", r"\sqrt[4]{2}"),
        (r"\lvert e^{ix}y\rvert", r"\lvert y\rvert"),
    ],
)
def test_roots_of_what_is_negative_and_sizes_of_what_is_complex(a: str, b: str) -> None:
    assert form(a) == form(b)


polynomials = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=4
).map(lambda terms: " + ".join(f"({c})x^{{{a}}}y^{{{b}}}" for c, a, b in terms))


@given(polynomials, polynomials, polynomials)
def test_the_laws_of_arithmetic_hold(a: str, b: str, c: str) -> None:
    left, right = form(f"({a})(({b}) + ({c}))"), form(f"({b})({a}) + ({c})({a})")
    assert left == right
    assert form(f"({a}) - ({a})") == rational(0)


@pytest.mark.parametrize(
    ("a", "b", "different"),
    [
        (r"\sqrt{2}", "1.41421356237", True),
        (r"\sin 1", r"\sin 2", True),
        ("x", r"\sqrt{x^2}", True),
        (r"\sqrt{3+2\sqrt2}", r"1+\sqrt2", False),
        (r"10^{40}\sqrt{2}+10^{-9}", r"10^{40}\sqrt{2}", True),
    ],
)
def test_digits_tell_values_apart_but_never_together(a: str, b: str, different: bool) -> None:
    gap = Algebra().difference(form(a), form(b))
    assert numeric.nonzero(gap, unknowns="x" in a + b, imaginary=False) is different
