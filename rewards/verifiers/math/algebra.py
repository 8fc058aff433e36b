r"""Exact arithmetic on formulas: a canonical form in which equal values are the same object.

A `Form` is a quotient of two polynomials with rational coefficients in *atoms*: variables, pi,
roots of integers, logarithms, exponentials. Atoms carry rational exponents, and are chosen so that
they are independent of one another as far as is known:

- integers are split into primes, so that `\sqrt{8}` is 2 times the prime 2 to the power 1/2;
- `e^{a+b}` is split by the monomials of its exponent, sines and cosines are exponentials of `i x`
  (Euler), so that trigonometric identities are identities of polynomials;
- `i` is `e^{i \pi / 2}`, and roots of unity of order 24 are written in roots of 2 and 3;
- `\ln` is split by prime factors, powers and products.

Thus two formulas are equal if the difference of their cross products has no terms left: a proof, no
approximation. If terms are left and all atoms are independent for certain, they differ: a proof as
well. What remains open is for `numeric` and for the second opinion.

Variables stand for real numbers: two formulas are equal if they agree wherever both are defined.
So `\sqrt{x^2}` is `|x|`, and `\sqrt{xy}` equals `\sqrt{x}\sqrt{y}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb, gcd, lcm

from rewards.verifiers.math.forms import (
    HALF,
    IMAGINARY,
    ONE,
    PI,
    UNIT,
    UNITY,
    ZERO,
    Atom,
    Exponent,
    Form,
    Monomial,
    Polynomial,
    atom_form,
    order,
    shown,
)
from rewards.verifiers.math.integers import factors
from rewards.verifiers.math.terms import TooLarge, Unreadable

MAX_BITS = 2**16
"""Of an integer that is worked out; larger powers stay powers."""
MAX_TERMS = 400
"""Of a polynomial that is multiplied out; larger powers stay powers."""
MAX_KEY = 2000
"""Characters of a function's argument."""
FUEL = 60_000
"""Products of terms that one reading may take. Counted, not timed: no verdict depends on load."""


class Undefined(Unreadable):
    """A division by zero and its kin: the text has no value."""


class Algebra:
    """The operations, and the fuel that one reading may burn."""

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

    # ---- polynomials -------------------------------------------------------------------------

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
        bits = _bits(a) + _bits(b)
        if bits > 8 * MAX_BITS:
            raise TooLarge(f"it has numbers of more than {4 * MAX_BITS} bits")
        self.spend(len(a) * len(b) * (1 + bits // 1024))
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
            exponent = _tidy(raw)
            if atom.kind == "n":
                coefficient, exponent = _reduce_integer(coefficient, atom.payload, exponent)
            elif atom.kind == "U":
                exponent = _tidy(exponent % 2)
                if exponent >= 1:
                    coefficient, exponent = -coefficient, _tidy(exponent - 1)
                if exponent not in (0, HALF) and (12 * exponent) % 1 == 0:
                    expanded.append(_root_of_unity(int(12 * exponent)))
                    continue
            elif atom.kind in ("P", "abs") and exponent >= 1:
                exponent = self._expand(atom, exponent, expanded)
            if exponent:
                kept.append((atom, exponent))
        _check_size(coefficient)
        poly = {tuple(sorted(kept, key=lambda pair: (pair[0].kind, pair[0].key))): coefficient}
        for factor in expanded:
            poly = self._times(poly, factor)
        return poly

    def _expand(self, atom: Atom, exponent: Exponent, expanded: list[Polynomial]) -> Exponent:
        whole = exponent // 1 if atom.kind == "P" else exponent // 2 * 2
        inside: Form = atom.payload
        if whole and _expandable(inside.num, int(whole)):
            power = self._whole_power(inside.num, int(whole))
            expanded.append(power)
            return _tidy(exponent - whole)
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

    # ---- forms -------------------------------------------------------------------------------

    def form(self, num: Polynomial, den: Polynomial = ONE) -> Form:
        """Return a quotient in its usual shape.

        Raises:
            Undefined: If the denominator is zero.
        """
        if not den:
            raise Undefined("it divides by zero")
        if len(den) == 1:
            if den == ONE:
                return Form(num, ONE)
            ((mono, coefficient),) = den.items()
            inverse = self._term(1 / coefficient, {a: -e for a, e in mono})
            if len(inverse) == 1:
                return Form(self._times(num, inverse), ONE)
        leading = den[max(den, key=order)]
        if leading != 1:
            num, den = _scaled(num, 1 / leading), _scaled(den, 1 / leading)
        return Form(num, den)

    def product(self, coefficient: Fraction, exponents: Mapping[Atom, Exponent]) -> Form:
        """Return a product of powers of atoms."""
        return Form(self._term(coefficient, exponents), ONE)

    def add(self, a: Form, b: Form) -> Form:
        """Return a + b."""
        if a.den == b.den:
            return self.form(self._plus(a.num, b.num), a.den)
        top = self._plus(self._times(a.num, b.den), self._times(b.num, a.den))
        return self.form(top, self._times(a.den, b.den))

    def negate(self, a: Form) -> Form:
        """Return -a."""
        return Form(_scaled(a.num, Fraction(-1)), a.den)

    def subtract(self, a: Form, b: Form) -> Form:
        """Return a - b."""
        return self.add(a, self.negate(b))

    def multiply(self, *forms: Form) -> Form:
        """Return the product."""
        result = UNIT
        for form in forms:
            num, den = self._times(result.num, form.num), self._times(result.den, form.den)
            result = self.form(num, den)
        return result

    def invert(self, a: Form) -> Form:
        """Return 1 / a.

        Raises:
            Undefined: If a is zero.
        """
        return self.form(a.den, a.num)

    def divide(self, a: Form, b: Form) -> Form:
        """Return a / b."""
        return self.multiply(a, self.invert(b))

    def difference(self, a: Form, b: Form) -> Polynomial:
        """Return a polynomial that is empty only if a and b are equal."""
        left, right = self._times(a.num, b.den), self._times(b.num, a.den)
        return self.cleared(self._plus(left, _scaled(right, Fraction(-1))))

    def cleared(self, poly: Polynomial) -> Polynomial:
        """Multiply by what makes no root of a polynomial stand in a denominator."""
        lowest: dict[Atom, Exponent] = {}
        for mono in poly:
            for atom, exponent in mono:
                if atom.kind in ("P", "abs") and exponent < lowest.get(atom, 0):
                    lowest[atom] = exponent
        if not lowest:
            return poly
        factor = {tuple(sorted((a, -e) for a, e in lowest.items())): Fraction(1)}
        return self._times(poly, factor)

    # ---- powers ------------------------------------------------------------------------------

    def power(self, base: Form, exponent: Form) -> Form:
        """Return base ** exponent.

        Raises:
            Undefined: For 0 to a power that is not positive.
        """
        value = exponent.constant
        if value is not None:
            return self.rational_power(base, value)
        if not base.num:
            raise Undefined("it raises zero to an unknown power")
        if any(a.kind == "n" and not -1 < e < 1 for mono in exponent.num for a, e in mono):
            raise TooLarge("it is a tower of powers")
        return self.exp(self.multiply(exponent, self.ln(base)))

    def rational_power(self, base: Form, exponent: Fraction) -> Form:
        """Return base to a rational power; odd roots of negative numbers are real."""
        if not base.num:
            if exponent <= 0:
                raise Undefined("it raises zero to a power that is not positive")
            return ZERO
        if exponent == 1:
            return base
        if exponent.denominator == 1 and exponent < 0:
            return self.invert(self.rational_power(base, -exponent))
        top = self._poly_power(base.num, exponent)
        if base.den == ONE:
            return top
        return self.divide(top, self._poly_power(base.den, exponent))

    def _poly_power(self, poly: Polynomial, exponent: Fraction) -> Form:
        if len(poly) == 1:
            ((mono, coefficient),) = poly.items()
            return self._term_power(coefficient, mono, exponent)
        whole = exponent.denominator == 1
        if whole and _expandable(poly, int(exponent)):
            return Form(self._whole_power(poly, int(exponent)), ONE)
        content, common, rest = _primitive(poly)
        if not whole and exponent.denominator % 2 and rest[max(rest, key=order)] < 0:
            content, rest = -content, _scaled(rest, Fraction(-1))
        outer = self._term_power(content, common, exponent)
        return self.multiply(outer, self._root_of(rest, exponent))

    def _term_power(self, coefficient: Fraction, mono: Monomial, exponent: Fraction) -> Form:
        if exponent.denominator == 1:
            return self._whole_term_power(coefficient, mono, int(exponent))
        if any(map(_turns, mono)):
            return self._root_of({mono: coefficient}, exponent)
        if coefficient < 0 and exponent.denominator % 2 == 0 and any(map(_is_signed, mono)):
            # no i before it is known that -x is negative
            rest = self._root_of({mono: Fraction(-1)}, exponent)
            return self.multiply(self._term_power(-coefficient, (), exponent), rest)
        powers: dict[Atom, Exponent] = {}
        for atom, e in mono:
            if atom != UNITY:
                target = _nonnegative(atom, e, exponent)
                powers[target] = powers.get(target, 0) + e * exponent
        phase = _phase(coefficient, mono)
        if phase == 1 and exponent.denominator % 2:
            phase = Fraction(0 if exponent.numerator % 2 == 0 else 1) / exponent
        powers[UNITY] = phase * exponent
        self._split(abs(coefficient), exponent, powers)
        return Form(self._term(Fraction(1), powers), ONE)

    def _whole_term_power(self, coefficient: Fraction, mono: Monomial, n: int) -> Form:
        powers: dict[Atom, Exponent] = {atom: e * n for atom, e in mono}
        size = coefficient.numerator.bit_length() + coefficient.denominator.bit_length()
        if abs(coefficient) == 1 or size * n <= MAX_BITS:
            return Form(self._term(coefficient**n, powers), ONE)
        self._split(abs(coefficient), Fraction(n), powers)
        return Form(self._term(Fraction(-1 if coefficient < 0 and n % 2 else 1), powers), ONE)

    def _split(self, value: Fraction, exponent: Fraction, powers: dict[Atom, Exponent]) -> None:
        for prime, count in factors(value):
            integer = _prime(prime)
            powers[integer] = powers.get(integer, 0) + count * exponent

    def _root_of(self, poly: Polynomial, exponent: Fraction) -> Form:
        """Return a root that is not taken, as an atom."""
        inner = Form(poly, ONE)
        atom = self.atom("P", str(inner), inner)
        return Form(self._term(Fraction(1), {atom: _tidy(exponent)}), ONE)

    # ---- exponentials and logarithms ---------------------------------------------------------

    def exp(self, a: Form) -> Form:
        """Return e ** a, split by the monomials of a."""
        if not a.num:
            return UNIT
        if a.den != ONE:
            content, common, rest = _primitive(a.num)
            inner = Form(self._times(rest, {common: Fraction(1)}), a.den)
            exponential = self.atom("E", str(inner), inner)
            return Form(self._term(Fraction(1), {exponential: _tidy(content)}), ONE)
        powers: dict[Atom, Exponent] = {}
        turns = UNIT
        for mono, coefficient in a.num.items():
            if coefficient.denominator == 1 and (turned := self._by_inverse(mono)) is not None:
                turns = self.multiply(turns, self.rational_power(turned, coefficient))
                continue
            atom = self._exponential(mono)
            powers[atom] = powers.get(atom, 0) + coefficient
        return self.multiply(Form(self._term(Fraction(1), powers), ONE), turns)

    def _by_inverse(self, mono: Monomial) -> Form | None:
        r"""Return `e^{i \\arcsin x}` and `e^{i \\arctan x}` without functions."""
        parts = dict(mono)
        angles = [a for a in parts if a.key.startswith(("arcsin(", "arctan(")) and parts[a] == 1]
        if len(mono) != 2 or parts.get(UNITY) != HALF or not angles:
            return None
        x = angles[0].payload[0]
        square, i_x = self.multiply(x, x), self.multiply(IMAGINARY, x)
        if angles[0].key.startswith("arcsin("):
            cosine = self.rational_power(self.subtract(UNIT, square), HALF)
            return self.add(cosine, i_x)
        length = self.rational_power(self.add(UNIT, square), HALF)
        return self.divide(self.add(UNIT, i_x), length)

    def _exponential(self, mono: Monomial) -> Atom:
        """Return the atom that is e to a monomial with coefficient 1."""
        if len(mono) == 1:
            atom, exponent = mono[0]
            if atom.kind == "ln" and exponent == 1:
                inside: Atom = atom.payload
                return inside
        if len(mono) == 2 and dict(mono) == {PI: 1, UNITY: HALF}:
            return UNITY
        return self.atom("E", shown({mono: Fraction(1)}), mono)

    def ln(self, a: Form) -> Form:
        """Return the principal natural logarithm, split by factors and powers.

        Raises:
            Undefined: If a is zero.
        """
        if not a.num:
            raise Undefined("it takes the logarithm of zero")
        if a.den != ONE:
            return self.subtract(self.ln(Form(a.num, ONE)), self.ln(Form(a.den, ONE)))
        content, common, rest = _primitive(a.num)
        if len(rest) == 1 and next(iter(rest.values())) < 0 and any(map(_is_signed, common)):
            common, rest = (), {common: Fraction(-1)}  # ln(-x) is no ln x + i pi if x < 0
        total: Polynomial = {((_ln_atom(_prime(p)), 1),): Fraction(n) for p, n in factors(content)}
        for atom, exponent in common:
            real = atom.kind == "E" and not isinstance(atom.payload, Form)
            if exponent % 2 == 0 and _is_constant(atom):  # ln c^2 = 2 ln |c|
                atom = absolute_atom(atom.payload if atom.kind == "P" else atom_form(atom))
            inside = atom.payload if real else ((_ln_atom(atom), 1),)
            total = self._plus(total, {inside: Fraction(exponent)})
        mono, coefficient = next(iter(rest.items()))
        if len(rest) > 1 or any(_turns(power) or _is_signed(power) for power in mono):
            inner = Form(rest, ONE)
            root = self.atom("P", str(inner), inner)
            total = self._plus(total, {((_ln_atom(root), 1),): Fraction(1)})
        elif phase := _phase(coefficient, mono):
            total = self._plus(total, _sorted({((UNITY, HALF), (PI, 1)): phase}))
        return Form(_sorted(total), ONE)


def _bits(poly: Polynomial) -> int:
    return max(
        (c.numerator.bit_length() + c.denominator.bit_length() for c in poly.values()), default=0
    )


def _tidy(exponent: Exponent) -> Exponent:
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        return exponent.numerator
    return exponent


def _sorted(poly: Polynomial) -> Polynomial:
    return {tuple(sorted(mono, key=lambda pair: pair[0])): c for mono, c in poly.items()}


def _scaled(poly: Polynomial, factor: Fraction) -> Polynomial:
    return {mono: coefficient * factor for mono, coefficient in poly.items()}


def _check_size(value: Fraction) -> None:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4 * MAX_BITS:
        raise TooLarge(f"it has a number of more than {4 * MAX_BITS} bits")


def _expandable(poly: Polynomial, n: int) -> bool:
    return n == 1 or (n <= MAX_TERMS and comb(n + len(poly) - 1, len(poly) - 1) <= MAX_TERMS)


def _reduce_integer(
    coefficient: Fraction, integer: int, exponent: Exponent
) -> tuple[Fraction, Exponent]:
    whole = int(exponent // 1)
    if not whole or abs(whole) * integer.bit_length() > MAX_BITS:
        return coefficient, exponent
    return coefficient * Fraction(integer) ** whole, _tidy(exponent - whole)


def _nonnegative(atom: Atom, exponent: Exponent, power: Fraction) -> Atom:
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
        inside = Form(_scaled(inside.num, Fraction(-1)), inside.den)
    return Atom("abs", str(inside), inside)


_SIGNED = frozenset(["x", "ln", "call", "P"])


def _is_constant(atom: Atom) -> bool:
    return atom.kind in _SIGNED and not atom_form(atom).symbols()


def _is_signed(power: tuple[Atom, Exponent]) -> bool:
    return power[0].kind in _SIGNED


def _primitive(poly: Polynomial) -> tuple[Fraction, Monomial, Polynomial]:
    """Split off the positive content and the common monomial: poly = content * common * rest."""
    values = list(poly.values())
    content = Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))
    common = dict(next(iter(poly)))
    for mono in poly:
        here = dict(mono)
        common = {a: min(e, here[a]) for a, e in common.items() if a in here}
    common = {a: e for a, e in common.items() if a.kind != "U" and not _turns((a, e))}
    shared = tuple(sorted(common.items(), key=lambda pair: pair[0]))
    rest: Polynomial = {}
    for mono, value in poly.items():
        left = [(a, _tidy(e - common.get(a, 0))) for a, e in mono]
        rest[tuple((a, e) for a, e in left if e)] = value / content
    return content, shared, rest


def _turns(power: tuple[Atom, Exponent]) -> bool:
    """Whether an atom turns around zero as its unknowns grow, so that its roots are not unique."""
    atom, _ = power
    if atom.kind != "E":
        return False
    inside = atom.payload
    atoms = inside.atoms() if isinstance(inside, Form) else {a for a, _ in inside}
    return UNITY in atoms


def _phase(coefficient: Fraction, mono: Monomial) -> Fraction:
    """Return the argument of a product of positive atoms and roots of unity, in half turns."""
    turned = (Fraction(dict(mono).get(UNITY, 0)) + (coefficient < 0)) % 2
    return turned if turned <= 1 else turned - 2


def _prime(number: int) -> Atom:
    return Atom("n", str(number), number)


def _ln_atom(atom: Atom) -> Atom:
    return Atom("ln", str(atom), atom)


@lru_cache(maxsize=16)
def _root_of_unity(twelfths: int) -> Polynomial:
    """Return e^(i pi k/12) by roots of 2 and 3."""
    two, three = Atom("n", "2", 2), Atom("n", "3", 3)
    i: Monomial = ((UNITY, HALF),)
    third: Polynomial = {(): HALF, (*i, (three, HALF)): HALF}
    fourth: Polynomial = {((two, HALF),): HALF, (*i, (two, HALF)): HALF}
    algebra = Algebra()
    # k = 4 s + 3 t modulo 24
    s, t = twelfths % 3, (twelfths - 4 * (twelfths % 3)) // 3 % 8
    power = algebra._times(
        algebra._whole_power(_sorted(third), s), algebra._whole_power(_sorted(fourth), t)
    )
    return power
