"""The functions that can be worked out exactly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction

from rewards.verifiers.math import numeric
from rewards.verifiers.math.algebra import Algebra, Undefined
from rewards.verifiers.math.forms import (
    HALF,
    IMAGINARY,
    ONE,
    PI_FORM,
    UNIT,
    UNITY,
    ZERO,
    Atom,
    Exponent,
    Form,
    Polynomial,
    atom_form,
    order,
    rational,
)
from rewards.verifiers.math.polynomials import absolute_atom
from rewards.verifiers.math.terms import TooLarge, Unreadable

MAX_FACTORIAL = 5000


class Functions(ABC):
    """Applies functions to canonical forms; what has no exact value stays an atom."""

    algebra: Algebra
    log_base: int | None
    bare_log: bool

    @abstractmethod
    def _opaque(self, head: str, keys: list[str], payload: tuple[Form, ...] = ()) -> Form: ...

    def nonzero(self, x: Form) -> Form:
        """Return a denominator, unless it is a constant that is zero as far as digits go.

        Raises:
            Undefined: If it is.
        """
        if (
            len(x.num) > 1
            and not x.symbols()
            and not numeric.nonzero(x.num, unknowns=False, imaginary=True)
        ):
            raise Undefined("it divides by zero")
        return x

    def _sum(self, *args: Form) -> Form:
        total = args[0]
        for term in args[1:]:
            total = self.algebra.add(total, term)
        return total

    def _root(self, radicand: Form, degree: Form | None = None) -> Form:
        n = Fraction(2) if degree is None else degree.constant
        if n is None:
            return self.algebra.power(radicand, self.algebra.invert(degree or UNIT))
        if n == 0:
            raise Undefined("it takes a zeroth root")
        return self.algebra.rational_power(radicand, 1 / n)

    def _absolute(self, x: Form) -> Form:
        if (value := x.constant) is not None:
            return rational(abs(value))
        sign = numeric.sign(x)
        if sign:
            return x if sign > 0 else self.algebra.negate(x)
        if x.den != ONE:
            parts = (Form(x.num, ONE), Form(x.den, ONE))
            return self.algebra.divide(*(self._absolute(part) for part in parts))
        if len(x.num) == 1:
            ((mono, coefficient),) = x.num.items()
            result = rational(abs(coefficient))
            for atom, exponent in mono:
                result = self.algebra.multiply(result, self._size(atom, exponent))
            return result
        if UNITY in x.atoms() and self._conjugate(x) != x:
            return self._modulus(x)
        content = abs(x.num[max(x.num, key=order)])
        inside = self.algebra.multiply(x, rational(1 / content))
        return self.algebra.multiply(rational(content), atom_form(absolute_atom(inside)))

    def _size(self, atom: Atom, exponent: Exponent) -> Form:
        """Return the absolute value of a power of an atom."""
        if atom == UNITY or _is_turn(atom):
            return UNIT
        if UNITY in atom_form(atom).atoms():
            if atom.kind != "P":
                raise Unreadable("the absolute value of an unknown")
            return self.algebra.rational_power(self._absolute(atom.payload), Fraction(exponent))
        signed = atom.kind in ("x", "call", "ln")
        return atom_form(absolute_atom(atom_form(atom)) if signed else atom, exponent)

    def _modulus(self, z: Form) -> Form:
        a = self.algebra
        square = a.multiply(z, self._conjugate(z))
        return a.rational_power(square, HALF)

    def _conjugate(self, z: Form) -> Form:
        """Return the complex conjugate; variables are real, and so is what does not mention i."""
        return self.algebra.divide(self._flipped(z.num), self._flipped(z.den))

    def _flipped(self, poly: Polynomial) -> Form:
        total = ZERO
        for mono, coefficient in poly.items():
            exponents: dict[Atom, Exponent] = {}
            for atom, exponent in mono:
                within = atom.kind != "U" and UNITY in atom_form(atom).atoms()
                if within and not _is_turn(atom):
                    raise Unreadable("the conjugate of an unknown")
                exponents[atom] = -exponent if within or atom.kind == "U" else exponent
            total = self.algebra.add(total, self.algebra.product(coefficient, exponents))
        return total

    def _log(self, x: Form, base: Form | None = None) -> Form:
        if base is None:
            self.bare_log = True
            if self.log_base is None:
                return self.algebra.ln(x)
            base = rational(self.log_base)
        if numeric.sign(base) < 0:
            raise Undefined("a logarithm to a negative base")
        return self.algebra.divide(self.algebra.ln(x), self.algebra.ln(base))

    def _exp_i(self, x: Form) -> Form:
        return self.algebra.exp(self.algebra.multiply(IMAGINARY, x))

    def _sin(self, x: Form) -> Form:
        a, turn = self.algebra, self._exp_i(x)
        return a.divide(a.subtract(turn, a.invert(turn)), a.multiply(rational(2), IMAGINARY))

    def _cos(self, x: Form) -> Form:
        a, turn = self.algebra, self._exp_i(x)
        return a.multiply(rational(HALF), a.add(turn, a.invert(turn)))

    def _sinh(self, x: Form) -> Form:
        a, e = self.algebra, self.algebra.exp(x)
        return a.multiply(rational(HALF), a.subtract(e, a.invert(e)))

    def _cosh(self, x: Form) -> Form:
        a, e = self.algebra, self.algebra.exp(x)
        return a.multiply(rational(HALF), a.add(e, a.invert(e)))

    def _tan(self, x: Form) -> Form:
        return self.algebra.divide(self._sin(x), self._cos(x))

    def _arc(self, name: str, x: Form) -> Form:
        """Return an inverse trigonometric function: a known angle, else an atom; all are odd."""
        direct = self._sin if name == "arcsin" else self._tan
        for twelfths in range(-6, 7):
            angle = self.algebra.multiply(rational(Fraction(twelfths, 12)), PI_FORM)
            if name == "arctan" and abs(twelfths) == 6:
                continue
            if not x.symbols() and not self.algebra.difference(direct(angle), x):
                return angle
        if x.num and x.num[max(x.num, key=order)] < 0:
            return self.algebra.negate(self._arc(name, self.algebra.negate(x)))
        if name == "arctan" and (value := x.constant) is not None and value > 1:
            quarter = self.algebra.multiply(rational(HALF), PI_FORM)
            return self.algebra.subtract(quarter, self._arc(name, rational(1 / value)))
        return self._opaque(name, [str(x)], (x,))

    def _arccos(self, x: Form) -> Form:
        quarter = self.algebra.multiply(rational(HALF), PI_FORM)
        return self.algebra.subtract(quarter, self._arc("arcsin", x))

    def _arccot(self, x: Form) -> Form:
        quarter = self.algebra.multiply(rational(HALF), PI_FORM)
        return self.algebra.subtract(quarter, self._arc("arctan", x))

    def _area(self, x: Form, sign: Form) -> Form:
        root = self._root(self.algebra.add(self.algebra.multiply(x, x), sign))
        return self.algebra.ln(self.algebra.add(x, root))

    def _half_ln(self, top: Form, low: Form) -> Form:
        return self.algebra.multiply(rational(HALF), self.algebra.ln(self.algebra.divide(top, low)))

    def _factorial(self, x: Form) -> Form:
        value = x.constant
        if value is not None:
            if value.denominator != 1 or value < 0:
                raise Undefined("the factorial of what is no natural number")
            if value > MAX_FACTORIAL:
                raise TooLarge(f"it is a factorial beyond {MAX_FACTORIAL}!")
            return rational(math.factorial(int(value)))
        shift = x.num.get((), Fraction(0)) if x.den == ONE else Fraction(0)
        if shift.denominator != 1 or not 0 < abs(shift) <= 20:
            return self._opaque("factorial", [str(x)], (x,))
        base = self.algebra.subtract(x, rational(shift))
        result = self._opaque("factorial", [str(base)], (base,))
        for k in range(1, abs(int(shift)) + 1):
            step = self.algebra.add(base, rational(k if shift > 0 else 1 - k))
            join = self.algebra.multiply if shift > 0 else self.algebra.divide
            result = join(result, step)
        return result

    def _binom(self, n: Form, k: Form) -> Form:
        low, top = k.constant, n.constant
        if low is not None and low.denominator == 1 and 0 <= low <= 60:
            if top is not None and top.denominator == 1 and top >= 0:
                if top.numerator.bit_length() * low > 2**16:
                    raise TooLarge("it is a huge binomial coefficient")
                return rational(math.comb(int(top), int(low)))
            result = UNIT
            for j in range(int(low)):
                step = self.algebra.subtract(n, rational(j))
                result = self.algebra.multiply(result, step, rational(Fraction(1, j + 1)))
            return result
        if top is not None and low is not None:
            if top.denominator != 1 or low.denominator != 1:
                raise Undefined("a binomial coefficient of fractions")
            if max(abs(top), abs(low)) > MAX_FACTORIAL:
                raise TooLarge("it is a huge binomial coefficient")
            return rational(math.comb(int(top), int(low)) if 0 <= low <= top else 0)
        rest = self._factorial(self.algebra.subtract(n, k))
        below = self.algebra.multiply(self._factorial(k), rest)
        return self.algebra.divide(self._factorial(n), below)

    def _whole(self, name: str, *args: Form) -> Form:
        """Apply a function of rational constants, or keep it as an atom."""
        values = [x.constant for x in args]
        if name in ("floor", "ceil") and values == [None] and not args[0].symbols():
            values = [numeric.between_integers(args[0])]
        known = [v for v in values if v is not None]
        if len(known) < len(values) or not known:
            return self._opaque(
                name, sorted(map(str, args)) if name != "mod" else [*map(str, args)], args
            )
        if name in ("gcd", "lcm", "mod") and any(v.denominator != 1 for v in known):
            raise Undefined(f"the {name} of what is no integer")
        if name == "mod" and known[-1] == 0:
            raise Undefined("it divides by zero")
        return rational(Fraction(_WHOLE[name](known)))

    def _base(self, value: Form, _radix: Form) -> Form:
        return value


_WHOLE: dict[str, Callable[[list[Fraction]], Fraction | int]] = {
    "floor": lambda v: math.floor(v[0]),
    "ceil": lambda v: math.ceil(v[0]),
    "gcd": lambda v: math.gcd(*(int(x) for x in v)),
    "lcm": lambda v: math.lcm(*(int(x) for x in v)),
    "max": max,
    "min": min,
    "mod": lambda v: v[0] % v[-1],
    "sgn": lambda v: (v[0] > 0) - (v[0] < 0),
}


def _is_turn(atom: Atom) -> bool:
    """Whether it is e to an imaginary power, all else in which is real."""
    power = atom.payload
    return atom.kind == "E" and not isinstance(power, Form) and dict(power).get(UNITY) == HALF


def _inverse_of(name: str) -> Callable[..., Form]:
    def operation(e: Functions, x: Form) -> Form:
        return e.algebra.invert(OPERATIONS[name](e, x))

    return operation


OPERATIONS: dict[str, Callable[..., Form]] = {
    "+": Functions._sum,
    "compound": Functions._sum,
    "neg": lambda e, x: e.algebra.negate(x),
    "*": lambda e, *xs: e.algebra.multiply(*xs),
    "/": lambda e, x, y: e.algebra.divide(x, e.nonzero(y)),
    "inverse": lambda e, x: e.algebra.invert(e.nonzero(x)),
    "^": lambda e, x, y: e.algebra.power(x, y),
    "sqrt": Functions._root,
    "cbrt": lambda e, x: e.algebra.rational_power(x, Fraction(1, 3)),
    "abs": Functions._absolute,
    "conjugate": Functions._conjugate,
    "exp": lambda e, x: e.algebra.exp(x),
    "ln": lambda e, x: e.algebra.ln(x),
    "lg": lambda e, x: e.algebra.divide(e.algebra.ln(x), e.algebra.ln(rational(10))),
    "log": Functions._log,
    "sin": Functions._sin,
    "cos": Functions._cos,
    "tan": Functions._tan,
    "sec": _inverse_of("cos"),
    "csc": _inverse_of("sin"),
    "cot": lambda e, x: e.algebra.divide(e._cos(x), e._sin(x)),
    "sinh": Functions._sinh,
    "cosh": Functions._cosh,
    "tanh": lambda e, x: e.algebra.divide(e._sinh(x), e._cosh(x)),
    "arcsin": lambda e, x: e._arc("arcsin", x),
    "arctan": lambda e, x: e._arc("arctan", x),
    "arccos": Functions._arccos,
    "arccot": Functions._arccot,
    "arcsec": lambda e, x: e._arccos(e.algebra.invert(x)),
    "arccsc": lambda e, x: e._arc("arcsin", e.algebra.invert(x)),
    "arcsinh": lambda e, x: e._area(x, UNIT),
    "arccosh": lambda e, x: e._area(x, e.algebra.negate(UNIT)),
    "arctanh": lambda e, x: e._half_ln(e.algebra.add(UNIT, x), e.algebra.subtract(UNIT, x)),
    "cis": lambda e, x: e._exp_i(x),
    "factorial": Functions._factorial,
    "binom": Functions._binom,
    "base": Functions._base,
    ":": lambda e, x, y: e.algebra.divide(x, y),
    **{name: (lambda e, *xs, _n=name: e._whole(_n, *xs)) for name in _WHOLE},
}
