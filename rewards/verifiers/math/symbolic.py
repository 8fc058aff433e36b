r"""The second opinion: sympy, for formulas that agree to many digits without a proof.

To be imported inside a killable worker only, for sympy bounds neither its time nor its memory. What
reaches it are canonical forms, built up by constructors: no text of a model is ever parsed here
(sympy's own parsers end in `eval`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy

from rewards.verifiers.math.forms import Atom, Form, Polynomial


def prove(obligations: Sequence[tuple[Form, Form]]) -> bool | None:
    """Whether all pairs are equal: True when proved, False when refuted, None when neither."""
    verdicts = [_attempt(a, b) for a, b in obligations]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _attempt(a: Form, b: Form) -> bool | None:
    """Try with real unknowns, then with positive ones: negative numbers were tried in digits."""
    try:
        gap = _quotient(a) - _quotient(b)
        verdict = _is_zero(gap)
        if verdict is not None or not gap.free_symbols or gap.has(sympy.Abs):
            return verdict
        positive = {name: sympy.Symbol(name.name, positive=True) for name in gap.free_symbols}
        return _is_zero(gap.subs(positive)) or None
    except (ArithmeticError, AttributeError, NotImplementedError, TypeError, ValueError):
        return None  # sympy gave up on what it was given: no proof


def _is_zero(gap: Any) -> bool | None:
    if gap.has(sympy.zoo, sympy.nan, sympy.oo):
        return False
    for simplify in (sympy.expand, sympy.sqrtdenest, sympy.simplify):
        gap = simplify(gap.doit())
        if gap == 0:
            return True
        if gap.is_zero is False or gap in (sympy.oo, -sympy.oo, sympy.zoo, sympy.nan):
            return False
    if _is_constantly_zero(gap):
        return True
    # proves that algebraic numbers are zero by their minimal polynomial
    verdict = gap.equals(0)
    return None if verdict is None else bool(verdict) if gap.is_number else (verdict or None)


def _is_constantly_zero(gap: Any) -> bool:
    """Whether a function of one unknown has no slope, and is exactly zero at some point."""
    if len(gap.free_symbols) != 1 or not gap.has(sympy.asin, sympy.atan):
        return False
    (name,) = gap.free_symbols
    positive = sympy.Symbol("x", positive=True)
    slope = gap.subs(name, positive).diff(positive)
    return sympy.simplify(slope) == 0 and any(
        sympy.simplify(gap.subs(name, point)) == 0 for point in (0, 1, sympy.Rational(1, 2))
    )


def _quotient(form: Form) -> Any:
    return _sum(form.num) / _sum(form.den)


def _sum(poly: Polynomial) -> Any:
    terms = []
    for mono, coefficient in poly.items():
        factors = [sympy.Rational(coefficient.numerator, coefficient.denominator)]
        factors += [_power(atom, Fraction(exponent)) for atom, exponent in mono]
        terms.append(sympy.Mul(*factors))
    return sympy.Add(*terms)


def _power(atom: Atom, exponent: Fraction) -> Any:
    power = sympy.Rational(exponent.numerator, exponent.denominator)
    match atom.kind:
        case "n":
            return sympy.Integer(atom.payload) ** power
        case "pi":
            return sympy.pi**power
        case "oo":
            return sympy.oo**power
        case "U":
            return sympy.cos(sympy.pi * power) + sympy.I * sympy.sin(sympy.pi * power)
        case "x":
            return sympy.Symbol(atom.key, real=True) ** power
        case "E":
            inside = atom.payload
            whole = _quotient(inside) if isinstance(inside, Form) else _sum({inside: Fraction(1)})
            return sympy.exp(whole * power)
        case "P":
            return _quotient(atom.payload) ** power
        case "abs":
            return sympy.Abs(_quotient(atom.payload)) ** power
        case "ln":
            return sympy.log(_power(atom.payload, Fraction(1))) ** power
    return _call(atom) ** power


def _calculus(name: str, parts: tuple[Form, ...]) -> Any:
    """Return a sum, product, integral or limit over its last part, worked out."""
    bound = _quotient(parts[-1])
    whole = True if name in ("sum", "prod") else None
    variable = sympy.Symbol(bound.name, real=True, integer=whole)
    body, *ends = (_quotient(part).subs(bound, variable) for part in parts[:-1])
    match name:
        case "sum":
            return sympy.summation(body, (variable, *ends))
        case "prod":
            return sympy.product(body, (variable, *ends))
        case "int":
            return sympy.integrate(body, (variable, *ends))
    if ends[0] in (sympy.oo, -sympy.oo):
        return sympy.limit(body, variable, ends[0])
    return sympy.limit(body, variable, ends[0], "+-")


def _call(atom: Atom) -> Any:
    name = atom.key.partition("(")[0]
    if name in ("sum", "prod", "int", "lim"):
        return _calculus(name, atom.payload)
    known = {
        "arcsin": sympy.asin,
        "arctan": sympy.atan,
        "factorial": sympy.factorial,
        "floor": sympy.floor,
        "ceil": sympy.ceiling,
        "max": sympy.Max,
        "min": sympy.Min,
        "gcd": sympy.gcd,
        "lcm": sympy.lcm,
        "mod": sympy.Mod,
    }
    if name in known and atom.payload:
        return known[name](*(_quotient(arg) for arg in atom.payload))
    return sympy.Symbol(atom.key, real=True)
