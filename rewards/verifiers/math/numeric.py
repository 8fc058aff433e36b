"""Digits of canonical forms: enough to tell two values apart, never enough to call them equal."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from rewards.verifiers.math.forms import UNITY, Atom, Form, Polynomial
from rewards.verifiers.math.terms import TooLarge

DIGITS = 60
NOISE = 45
"""Digits, of the largest term of a sum, below which a result may be rounding alone."""
MAX_MAGNITUDE_BITS = 64
"""Of an argument whose exponential is still taken."""
MAX_ARGUMENT = 10_000
"""Of a factorial or a floor at one of the points."""
POINTS = 4
"""Where unknowns are tried: within (0, 1), (1, 3), (-3, 0) and (-1, 0)."""

_local = threading.local()


class NoDigits(Exception):
    """There is no number to be had: a pole, an unknown, a branch that real numbers do not have."""


class OutOfRange(NoDigits):
    """The number is too large or too small to work with."""


def _context() -> Any:
    # one for each thread: a context holds the precision, and the one that mpmath exports is shared
    if not hasattr(_local, "mp"):
        from mpmath import MPContext  # at first use: importing rewards stays quick

        _local.mp = MPContext()
        _local.mp.dps = DIGITS
    return _local.mp


class Digits:
    """Evaluates forms at one point."""

    def __init__(self, point: int = 0, *, real: bool = False) -> None:
        """Choose a point, and whether a root of a negative number ends the evaluation."""
        self._mp, self._point, self._real = _context(), point, real

    def form(self, form: Form) -> Any:
        """Return the value as an mpmath complex number.

        Raises:
            NoDigits: If there is none.
        """
        low, scale = self.polynomial(form.den)
        if self.is_noise(low, scale):
            raise NoDigits("a pole")
        return self.polynomial(form.num)[0] / low

    def polynomial(self, poly: Polynomial) -> tuple[Any, Any]:
        """Return the value of a polynomial, and the size of its largest term.

        Raises:
            NoDigits: If there is none.
        """
        try:
            terms = [self._term(mono, coefficient) for mono, coefficient in poly.items()]
        except (ValueError, ArithmeticError) as error:
            raise NoDigits(str(error)) from error
        return self._mp.fsum(terms), max((abs(term) for term in terms), default=self._mp.mpf(0))

    def is_noise(self, value: Any, scale: Any) -> bool:
        """Whether a sum is so small beside its terms that it may be zero."""
        return bool(abs(value) <= scale * self._mp.mpf(10) ** -NOISE)

    def _term(self, mono: Any, coefficient: Fraction) -> Any:
        value = self._mp.mpc(self._mp.mpf(coefficient.numerator) / coefficient.denominator)
        for atom, exponent in mono:
            value *= self._power(atom, exponent)
        return value

    def _power(self, atom: Atom, exponent: int | Fraction) -> Any:
        mp = self._mp
        if atom is UNITY or atom.kind == "U":
            return mp.expjpi(mp.mpf(Fraction(exponent).numerator) / Fraction(exponent).denominator)
        if atom.kind == "E":
            return self._exponential(atom, exponent)
        base = self._atom(atom)
        if isinstance(exponent, int):
            if abs(exponent).bit_length() > 40:
                raise OutOfRange("an exponent out of range")
            return base**exponent
        n, d = exponent.numerator, exponent.denominator
        if base.imag == 0 and base.real < 0:
            if d % 2:  # odd roots of negative numbers are real
                return mp.mpc(-((-base.real) ** (mp.mpf(1) / d))) ** n
            if self._real:
                raise NoDigits("an even root of a negative number")
        return base ** (mp.mpf(n) / d)

    def _atom(self, atom: Atom) -> Any:
        value = self._value(atom)
        # an imaginary part that is noise must not choose the branch of a root
        return self._mp.mpc(value.real) if self.is_noise(value.imag, abs(value)) else value

    def _value(self, atom: Atom) -> Any:
        mp = self._mp
        match atom.kind:
            case "n":
                return mp.mpc(atom.payload)
            case "pi":
                return mp.mpc(mp.pi)
            case "x":
                return mp.mpc(self._value_of(atom.key))
            case "E":
                return self._exponential(atom, 1)
            case "P":
                return self.form(atom.payload)
            case "abs":
                return mp.mpc(abs(self.form(atom.payload)))
            case "ln":
                inside = self._atom(atom.payload)
                if self._real and inside.real < 0 and inside.imag == 0:
                    raise NoDigits("the logarithm of a negative number")
                return mp.log(inside)
            case "call":
                return self._call(atom)
        raise NoDigits(f"no value for {atom}")

    def _exponential(self, atom: Atom, exponent: int | Fraction) -> Any:
        if isinstance(atom.payload, Form):
            inside = self.form(atom.payload)
        else:
            inside = self._term(atom.payload, Fraction(1))
        inside *= self._mp.mpf(Fraction(exponent).numerator) / Fraction(exponent).denominator
        if abs(inside) > 2**MAX_MAGNITUDE_BITS:
            raise OutOfRange("an exponential out of range")
        return self._mp.exp(inside)

    def _value_of(self, key: str) -> Any:
        """Return a number that depends on the name alone, never on the hash seed."""
        mp = self._mp
        part = mp.mpf(zlib.crc32(key.encode("utf-8", "surrogatepass")) % 99991 + 1) / 100003
        inner = part * 3 / 5 + mp.mpf(1) / 7
        return (inner, 1 + 2 * part, -3 * part, -inner)[self._point]

    def _call(self, atom: Atom) -> Any:
        mp, name = self._mp, atom.key.partition("(")[0]
        if name in ("arcsin", "arctan"):
            inside = self.form(atom.payload[0])
            if self._real and name == "arcsin" and abs(inside.real) > 1:
                raise NoDigits("an arcsine out of range")
            return mp.mpc(mp.asin(inside) if name == "arcsin" else mp.atan(inside))
        if name in _NO_DIGITS:
            raise NoDigits(f"no digits for {name}")
        if name in _REAL:
            inside = [self.form(part) for part in atom.payload]
            if any(x.imag or abs(x) > MAX_ARGUMENT for x in inside):
                raise NoDigits(f"no digits for {name} of such a number")
            return mp.mpc(_REAL[name](mp, *(x.real for x in inside)))
        return mp.mpc(self._value_of(atom.key))


_words = str.split
_NO_DIGITS = frozenset(_words("sum prod int lim mod gcd lcm sgn"))
_REAL: dict[str, Callable[..., Any]] = {
    "factorial": lambda mp, x: mp.gamma(x + 1),
    "floor": lambda mp, x: mp.floor(x),
    "ceil": lambda mp, x: mp.ceil(x),
    "max": lambda _, *xs: max(xs),
    "min": lambda _, *xs: min(xs),
}


def nonzero(poly: Polynomial, *, unknowns: bool, imaginary: bool) -> bool | None:
    """Whether a polynomial is not zero for certain, at one of the points where it is defined.

    Returns:
        None where it is defined at none of the points.

    Raises:
        TooLarge: If its digits are out of range.
    """
    verdict: bool | None = None
    for point in range(POINTS if unknowns else 1):
        digits = Digits(point, real=unknowns and not imaginary)
        try:
            value, scale = digits.polynomial(poly)
        except OutOfRange as error:
            raise TooLarge(f"it has {error}") from error
        except NoDigits:
            continue
        if not digits.is_noise(value, scale):
            return True
        verdict = False
    return verdict


def _real_constant(form: Form) -> Any | None:
    """Return the value of a constant that is real, None for others."""
    digits = Digits()
    try:
        low, low_scale = digits.polynomial(form.den)
        top, scale = digits.polynomial(form.num)
    except NoDigits:
        return None
    if digits.is_noise(low, low_scale) or not form.num:
        return None
    value = top / low
    if digits.is_noise(value.imag * abs(low), scale):
        return value.real
    return None


def sign(form: Form) -> int:
    """Return 1 or -1 for a real constant that is clearly not zero, else 0."""
    if (rational := form.constant) is not None:
        return (rational > 0) - (rational < 0)
    if form.symbols() or (value := _real_constant(form)) is None:
        return 0
    digits = Digits()
    top, scale = digits.polynomial(form.num)
    return 0 if digits.is_noise(top, scale) else (1 if value > 0 else -1)


def between_integers(form: Form) -> Fraction | None:
    """Return a rational with the same floor and ceiling as an irrational constant."""
    value = None if form.symbols() else _real_constant(form)
    mp = _context()
    if value is None or abs(value) > mp.mpf(10) ** 20:
        return None
    whole = mp.floor(value)
    if not mp.mpf(10) ** -25 < value - whole < 1 - mp.mpf(10) ** -25:
        return None
    return Fraction(int(whole)) + Fraction(1, 2)


def rounded(form: Form, places: int) -> Fraction | None:
    """Return a real constant rounded half up to so many decimals (negative: to tens...)."""
    value = form.constant
    if value is None:
        real = None if form.symbols() else _real_constant(form)
        mp = _context()
        if real is None or abs(real) > mp.mpf(10) ** 40:
            return None
        value = Fraction(int(mp.nint(real * mp.mpf(10) ** 50)), 10**50)
    step = Fraction(10) ** -places
    steps = abs(value) / step + Fraction(1, 2)
    return (steps.numerator // steps.denominator) * step * (1 if value >= 0 else -1)
