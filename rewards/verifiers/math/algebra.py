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

from rewards.verifiers.math import numeric
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
from rewards.verifiers.math.polynomials import (
    MAX_BITS,
    absolute_atom,
    expandable,
    in_order,
    is_constant,
    is_signed,
    ln_atom,
    nonnegative,
    phase,
    prime,
    primitive,
    scaled,
    tidy,
    turns,
)
from rewards.verifiers.math.ring import Ring
from rewards.verifiers.math.terms import TooLarge, Unreadable


class Undefined(Unreadable):
    """A division by zero and its kin: the text has no value."""


class Algebra(Ring):
    """The operations, and the fuel that one reading may burn."""

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
            num, den = scaled(num, 1 / leading), scaled(den, 1 / leading)
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
        return Form(scaled(a.num, Fraction(-1)), a.den)

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
        return self.cleared(self._plus(left, scaled(right, Fraction(-1))))

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
        if base.den == ONE:
            return self._poly_power(base.num, exponent)
        if exponent.denominator > 1 and self._is_negative(base):
            # roots of a top and a bottom, one of them negative, might make -i of i
            return self.multiply(
                self._turn(exponent), self.rational_power(self.negate(base), exponent)
            )
        top = self._poly_power(base.num, exponent)
        return self.divide(top, self._poly_power(base.den, exponent))

    def _poly_power(self, poly: Polynomial, exponent: Fraction) -> Form:
        if len(poly) == 1:
            ((mono, coefficient),) = poly.items()
            return self._term_power(coefficient, mono, exponent)
        whole = exponent.denominator == 1
        if whole and expandable(poly, int(exponent)):
            return Form(self._whole_power(poly, int(exponent)), ONE)
        if not whole and self._is_negative(Form(poly, ONE)):
            positive = self._poly_power(scaled(poly, Fraction(-1)), exponent)
            return self.multiply(self._turn(exponent), positive)
        content, common, rest = primitive(poly)
        if not whole and exponent.denominator % 2 and rest[max(rest, key=order)] < 0:
            content, rest = -content, scaled(rest, Fraction(-1))
        outer = self._term_power(content, common, exponent)
        return self.multiply(outer, self._root_of(rest, exponent))

    @staticmethod
    def _is_negative(base: Form) -> bool:
        return not base.symbols() and numeric.sign(base) < 0

    def _turn(self, exponent: Fraction) -> Form:
        """Return (-1) ** exponent; odd roots are real."""
        angle = exponent if exponent.denominator % 2 == 0 else exponent.numerator
        return Form(self._term(Fraction(1), {UNITY: angle}), ONE)

    def _term_power(self, coefficient: Fraction, mono: Monomial, exponent: Fraction) -> Form:
        if exponent.denominator == 1:
            return self._whole_term_power(coefficient, mono, int(exponent))
        if any(map(turns, mono)):
            return self._root_of({mono: coefficient}, exponent)
        if coefficient < 0 and exponent.denominator % 2 == 0 and any(map(is_signed, mono)):
            # no i before it is known that -x is negative
            rest = self._root_of({mono: Fraction(-1)}, exponent)
            return self.multiply(self._term_power(-coefficient, (), exponent), rest)
        powers: dict[Atom, Exponent] = {}
        for atom, e in mono:
            if atom != UNITY:
                target = nonnegative(atom, e, exponent)
                powers[target] = powers.get(target, 0) + e * exponent
        angle = phase(coefficient, mono)
        if angle == 1 and exponent.denominator % 2:
            angle = Fraction(0 if exponent.numerator % 2 == 0 else 1) / exponent
        powers[UNITY] = angle * exponent
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
        for number, count in factors(value):
            integer = prime(number)
            powers[integer] = powers.get(integer, 0) + count * exponent

    def _root_of(self, poly: Polynomial, exponent: Fraction) -> Form:
        """Return a root that is not taken, as an atom."""
        inner = Form(poly, ONE)
        atom = self.atom("P", str(inner), inner)
        return Form(self._term(Fraction(1), {atom: tidy(exponent)}), ONE)

    # ---- exponentials and logarithms ---------------------------------------------------------

    def exp(self, a: Form) -> Form:
        """Return e ** a, split by the monomials of a."""
        if not a.num:
            return UNIT
        if a.den != ONE:
            content, common, rest = primitive(a.num)
            inner = Form(self._times(rest, {common: Fraction(1)}), a.den)
            exponential = self.atom("E", str(inner), inner)
            return Form(self._term(Fraction(1), {exponential: tidy(content)}), ONE)
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
        content, common, rest = primitive(a.num)
        if len(rest) == 1 and next(iter(rest.values())) < 0 and any(map(is_signed, common)):
            common, rest = (), {common: Fraction(-1)}  # ln(-x) is no ln x + i pi if x < 0
        total: Polynomial = {((ln_atom(prime(p)), 1),): Fraction(n) for p, n in factors(content)}
        for atom, exponent in common:
            real = atom.kind == "E" and not isinstance(atom.payload, Form)
            if exponent % 2 == 0 and is_constant(atom):  # ln c^2 = 2 ln |c|
                atom = absolute_atom(atom.payload if atom.kind == "P" else atom_form(atom))
            inside = atom.payload if real else ((ln_atom(atom), 1),)
            total = self._plus(total, {inside: Fraction(exponent)})
        mono, coefficient = next(iter(rest.items()))
        if len(rest) > 1 or any(turns(power) or is_signed(power) for power in mono):
            inner = Form(rest, ONE)
            root = self.atom("P", str(inner), inner)
            total = self._plus(total, {((ln_atom(root), 1),): Fraction(1)})
        elif angle := phase(coefficient, mono):
            total = self._plus(total, in_order({((UNITY, HALF), (PI, 1)): angle}))
        return Form(in_order(total), ONE)
