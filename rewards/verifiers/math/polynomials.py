"""Parts of polynomials: contents, phases, and which roots may be split."""

from __future__ import annotations

from fractions import Fraction
from math import comb, gcd, lcm

from rewards.verifiers.math.forms import (
    UNITY,
    Atom,
    Exponent,
    Form,
    Monomial,
    Polynomial,
    atom_form,
    order,
)
from rewards.verifiers.math.terms import TooLarge

MAX_BITS = 2**16
"""Of an integer that is worked out; larger powers stay powers."""
MAX_TERMS = 400
"""Of a polynomial that is multiplied out; larger powers stay powers."""

_SIGNED = frozenset(["x", "ln", "call", "P"])


def bits(poly: Polynomial) -> int:
    """Return the size of the largest coefficient, numerator and denominator together."""
    return max(
        (c.numerator.bit_length() + c.denominator.bit_length() for c in poly.values()), default=0
    )


def tidy(exponent: Exponent) -> Exponent:
    """Return an exponent as an int where it is whole."""
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        return exponent.numerator
    return exponent


def in_order(poly: Polynomial) -> Polynomial:
    """Return a polynomial with the atoms of each monomial in their order."""
    return {tuple(sorted(mono, key=lambda pair: pair[0])): c for mono, c in poly.items()}


def scaled(poly: Polynomial, factor: Fraction) -> Polynomial:
    """Return a polynomial times a number."""
    return {mono: coefficient * factor for mono, coefficient in poly.items()}


def check_size(value: Fraction) -> None:
    """Refuse a coefficient beyond the bounds.

    Raises:
        TooLarge: If it is too large.
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4 * MAX_BITS:
        raise TooLarge(f"it has a number of more than {4 * MAX_BITS} bits")


def expandable(poly: Polynomial, n: int) -> bool:
    """Whether a power is short enough to be multiplied out."""
    return n == 1 or (n <= MAX_TERMS and comb(n + len(poly) - 1, len(poly) - 1) <= MAX_TERMS)


def reduce_integer(
    coefficient: Fraction, integer: int, exponent: Exponent
) -> tuple[Fraction, Exponent]:
    """Move whole powers of an integer into the coefficient."""
    whole = int(exponent // 1)
    if not whole or abs(whole) * integer.bit_length() > MAX_BITS:
        return coefficient, exponent
    return coefficient * Fraction(integer) ** whole, tidy(exponent - whole)


def nonnegative(atom: Atom, exponent: Exponent, power: Fraction) -> Atom:
    r"""Return the atom to use for (atom ** exponent) ** power: `\sqrt{x^2}` is `|x|`."""
    if power.denominator == 1 or atom.kind not in _SIGNED:
        return atom
    even = Fraction(exponent).numerator % 2 == 0
    result = Fraction(exponent) * power
    if even and (result.numerator % 2 or result.denominator % 2 == 0):
        return absolute_atom(atom.payload if atom.kind == "P" else atom_form(atom))
    return atom


def absolute_atom(inside: Form) -> Atom:
    """Return the absolute value of a form with content 1, the same for -inside."""
    if inside.num[max(inside.num, key=order)] < 0:
        inside = Form(scaled(inside.num, Fraction(-1)), inside.den)
    return Atom("abs", str(inside), inside)


def is_constant(atom: Atom) -> bool:
    """Whether an atom is a constant of unknown sign."""
    return atom.kind in _SIGNED and not atom_form(atom).symbols()


def is_signed(power: tuple[Atom, Exponent]) -> bool:
    """Whether a power is of something that may be negative."""
    return power[0].kind in _SIGNED


def primitive(poly: Polynomial) -> tuple[Fraction, Monomial, Polynomial]:
    """Split off the positive content and the common monomial: poly = content * common * rest."""
    values = list(poly.values())
    content = Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))
    common = dict(next(iter(poly)))
    for mono in poly:
        here = dict(mono)
        common = {a: min(e, here[a]) for a, e in common.items() if a in here}
    common = {a: e for a, e in common.items() if a.kind != "U" and not turns((a, e))}
    shared = tuple(sorted(common.items(), key=lambda pair: pair[0]))
    rest: Polynomial = {}
    for mono, value in poly.items():
        left = [(a, tidy(e - common.get(a, 0))) for a, e in mono]
        rest[tuple((a, e) for a, e in left if e)] = value / content
    return content, shared, rest


def turns(power: tuple[Atom, Exponent]) -> bool:
    """Whether an atom turns around zero as its unknowns grow, so that its roots are not unique."""
    atom, _ = power
    if atom.kind != "E":
        return False
    inside = atom.payload
    atoms = inside.atoms() if isinstance(inside, Form) else {a for a, _ in inside}
    return UNITY in atoms


def phase(coefficient: Fraction, mono: Monomial) -> Fraction:
    """Return the argument of a product of positive atoms and roots of unity, in half turns."""
    turned = (Fraction(dict(mono).get(UNITY, 0)) + (coefficient < 0)) % 2
    return turned if turned <= 1 else turned - 2


def prime(number: int) -> Atom:
    """Return the atom of an integer."""
    return Atom("n", str(number), number)


def ln_atom(atom: Atom) -> Atom:
    """Return the logarithm of an atom."""
    return Atom("ln", str(atom), atom)
