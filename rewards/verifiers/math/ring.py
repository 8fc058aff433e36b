"""Arithmetic on polynomials in atoms, with each atom kept in its canonical range."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from rewards.verifiers.math.forms import (
    HALF,
    ONE,
    UNITY,
    Atom,
    Exponent,
    Form,
    Monomial,
    Polynomial,
)
from rewards.verifiers.math.polynomials import (
    MAX_BITS,
    MAX_TERMS,
    bits,
    check_size,
    expandable,
    in_order,
    reduce_integer,
    tidy,
)
from rewards.verifiers.math.terms import TooLarge

MAX_KEY = 2000
"""Characters of a function's argument."""
FUEL = 60_000
"""Products of terms that one reading may take. Counted, not timed: no verdict depends on load."""


class Ring:
    """Adds and multiplies polynomials, and counts the work."""

    def __init__(self, fuel: int = FUEL) -> None:
        self._fuel = fuel

    def spend(self, amount: int) -> None:
        """Count work.

        Raises:
            TooLarge: When the fuel is used up.
        """
        self._fuel -= amount
        if self._fuel < 0:
            raise TooLarge("it takes too many steps to work out")

    def atom(self, kind: str, key: str, payload: object) -> Atom:
        """Return an atom; long ones cost fuel, for each level of functions may double their keys.

        Raises:
            TooLarge: If its key is too long.
        """
        self.spend(len(key) // 16)
        if len(key) > MAX_KEY:
            raise TooLarge(f"it has a part of more than {MAX_KEY} characters")
        return Atom(kind, key, payload)

    def _plus(self, a: Polynomial, b: Polynomial) -> Polynomial:
        self.spend(len(b))
        total = dict(a)
        for mono, coefficient in b.items():
            if value := total.get(mono, 0) + coefficient:
                total[mono] = Fraction(value)
            else:
                del total[mono]
        return total

    def _times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if a is ONE:
            return b
        if b is ONE:
            return a
        size = bits(a) + bits(b)
        if size > 8 * MAX_BITS:
            raise TooLarge(f"it has numbers of more than {4 * MAX_BITS} bits")
        self.spend(len(a) * len(b) * (1 + size // 1024))
        total: Polynomial = {}
        for left, c in a.items():
            for right, d in b.items():
                for mono, value in self._joined(c * d, left, right).items():
                    if summed := total.get(mono, 0) + value:
                        total[mono] = Fraction(summed)
                    else:
                        total.pop(mono, None)
        if len(total) > 4 * MAX_TERMS:
            raise TooLarge(f"it is a polynomial of more than {4 * MAX_TERMS} terms")
        return total

    def _joined(self, coefficient: Fraction, a: Monomial, b: Monomial) -> Polynomial:
        if not a or not b:
            return {a or b: coefficient}
        exponents: dict[Atom, Exponent] = dict(a)
        for atom, exponent in b:
            exponents[atom] = exponents.get(atom, 0) + exponent
        return self._term(coefficient, exponents)

    def _term(self, coefficient: Fraction, exponents: Mapping[Atom, Exponent]) -> Polynomial:
        """Return a product of powers of atoms with each of them in its canonical range."""
        self.spend(len(exponents))
        kept: list[tuple[Atom, Exponent]] = []
        expanded: list[Polynomial] = []
        for atom, raw in exponents.items():
            exponent = tidy(raw)
            if atom.kind == "n":
                coefficient, exponent = reduce_integer(coefficient, atom.payload, exponent)
            elif atom.kind == "U":
                exponent = tidy(exponent % 2)
                if exponent >= 1:
                    coefficient, exponent = -coefficient, tidy(exponent - 1)
                if exponent not in (0, HALF) and (12 * exponent) % 1 == 0:
                    expanded.append(_root_of_unity(int(12 * exponent)))
                    continue
            elif atom.kind in ("P", "abs") and exponent >= 1:
                exponent = self._expand(atom, exponent, expanded)
            if exponent:
                kept.append((atom, exponent))
        check_size(coefficient)
        poly = {tuple(sorted(kept, key=lambda pair: (pair[0].kind, pair[0].key))): coefficient}
        for factor in expanded:
            poly = self._times(poly, factor)
        return poly

    def _expand(self, atom: Atom, exponent: Exponent, expanded: list[Polynomial]) -> Exponent:
        whole = exponent // 1 if atom.kind == "P" else exponent // 2 * 2
        inside: Form = atom.payload
        if whole and expandable(inside.num, int(whole)):
            power = self._whole_power(inside.num, int(whole))
            expanded.append(power)
            return tidy(exponent - whole)
        return exponent

    def _whole_power(self, base: Polynomial, n: int) -> Polynomial:
        result = ONE
        while n:
            if n & 1:
                result = self._times(result, base)
            n >>= 1
            if n:
                base = self._times(base, base)
        return result


@lru_cache(maxsize=16)
def _root_of_unity(twelfths: int) -> Polynomial:
    """Return e^(i pi k/12) by roots of 2 and 3."""
    two, three = Atom("n", "2", 2), Atom("n", "3", 3)
    i: Monomial = ((UNITY, HALF),)
    third: Polynomial = {(): HALF, (*i, (three, HALF)): HALF}
    fourth: Polynomial = {((two, HALF),): HALF, (*i, (two, HALF)): HALF}
    ring = Ring()
    # k = 4 s + 3 t modulo 24
    s, t = twelfths % 3, (twelfths - 4 * (twelfths % 3)) // 3 % 8
    power = ring._times(
        ring._whole_power(in_order(third), s), ring._whole_power(in_order(fourth), t)
    )
    return power
