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

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb, gcd, isqrt, lcm
from typing import Any, NamedTuple

from rewards.verifiers.math.terms import TooLarge, Unreadable

MAX_BITS = 2**16
"""Of an integer that is worked out; larger powers stay powers."""
MAX_TERMS = 400
"""Of a polynomial that is multiplied out; larger powers stay powers."""
FUEL = 60_000
"""Products of terms that one reading may take. Counted, not timed: no verdict depends on load."""

Exponent = int | Fraction


class Undefined(Unreadable):
    """A division by zero and its kin: the text has no value."""


class Atom:
    """What polynomials are made of; `kind` and `key` say which, `payload` what is inside."""

    __slots__ = ("_hash", "key", "kind", "payload")

    def __init__(self, kind: str, key: str, payload: Any = None) -> None:
        """Kinds: n integer, x variable, pi, U = e^(i pi), E exponential, P root of a polynomial."""
        self.kind, self.key, self.payload = kind, key, payload
        self._hash = hash((kind, key))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and (self.kind, self.key) == (other.kind, other.key)

    def __lt__(self, other: Atom) -> bool:
        return (self.kind, self.key) < (other.kind, other.key)

    def __str__(self) -> str:
        match self.kind:
            case "E":
                return f"exp({self.key})" if self.key != "1" else "e"
            case "P":
                return f"({self.key})"
            case "ln" | "abs":
                return f"{self.kind}({self.key})"
        return self.key


Monomial = tuple[tuple[Atom, Exponent], ...]
Polynomial = dict[Monomial, Fraction]

ONE: Polynomial = {(): Fraction(1)}
PI, UNITY = Atom("pi", "pi"), Atom("U", "U")
HALF = Fraction(1, 2)


class Form(NamedTuple):
    """A quotient of polynomials; the denominator is 1 unless it has several terms."""

    num: Polynomial
    den: Polynomial

    @property
    def constant(self) -> Fraction | None:
        """The value, if this is a rational number."""
        if self.den == ONE and len(self.num) <= 1:
            return self.num.get((), None if self.num else Fraction(0))
        return None

    def atoms(self) -> set[Atom]:
        """Return all atoms in it, those inside of others included."""
        found: set[Atom] = set()
        for poly in (self.num, self.den):
            _collect(poly, found)
        return found

    def symbols(self) -> frozenset[str]:
        """Return the names of its variables and unknown functions."""
        return frozenset(a.key for a in self.atoms() if a.kind in ("x", "call"))

    def unknowns(self) -> frozenset[str]:
        """Return the variables and unknown functions that are not inside of a function."""
        atoms = (a for poly in (self.num, self.den) for mono in poly for a, _ in mono)
        return frozenset(a.key for a in atoms if a.kind in ("x", "call"))

    def __str__(self) -> str:
        top = _shown(self.num)
        if self.den == ONE:
            return top
        return f"({top})/({_shown(self.den)})"


def _collect(poly: Polynomial, found: set[Atom]) -> None:
    for mono in poly:
        for atom, _ in mono:
            if atom not in found:
                found.add(atom)
                _collect_payload(atom.payload, found)


def _collect_payload(payload: Any, found: set[Atom]) -> None:
    if isinstance(payload, Form):
        _collect(payload.num, found)
        _collect(payload.den, found)
    elif isinstance(payload, Atom):
        _collect({((payload, 1),): Fraction(1)}, found)
    elif isinstance(payload, tuple):
        for part in payload:
            _collect_payload(part[0] if isinstance(part, tuple) and not isinstance(part, Form) else part, found)


def _shown(poly: Polynomial) -> str:
    if not poly:
        return "0"
    pieces = []
    for mono, coefficient in sorted(poly.items(), key=lambda item: _order(item[0]), reverse=True):
        sign = "-" if coefficient < 0 else "+"
        factors = [_power_shown(atom, exponent) for atom, exponent in mono]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, number_shown(abs(coefficient)))
        pieces.append(f"{sign} {'*'.join(factors)}")
    text = " ".join(pieces)
    return text[2:] if text[0] == "+" else "-" + text[2:]


def number_shown(value: Fraction) -> str:
    """Return a number as text; Python prints no integer of more than 4,300 digits."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 8192:
        bits = value.numerator.bit_length() - value.denominator.bit_length()
        return f"<about 2^{bits}, {hash(value):x}>"
    return str(value)


def _power_shown(atom: Atom, exponent: Exponent) -> str:
    if atom.kind == "U":
        return "i" if exponent == HALF else f"e^(i*pi*{exponent})"
    if exponent == 1:
        return str(atom)
    shown = str(exponent) if isinstance(exponent, int) and exponent >= 0 else f"({exponent})"
    return f"{atom}^{shown}"


def _order(mono: Monomial) -> tuple[Any, ...]:
    degree = sum((e for a, e in mono if a.kind == "x"), start=Fraction(0))
    return (degree, tuple((a.kind, a.key, e) for a, e in mono))


def rational(value: Fraction | int) -> Form:
    """Return a rational number."""
    return Form({(): Fraction(value)} if value else {}, ONE)


def symbol(name: str) -> Form:
    """Return a variable."""
    return atom_form(Atom("x", name))


def atom_form(atom: Atom, exponent: Exponent = 1) -> Form:
    """Return an atom to a power that needs no reduction."""
    return Form({((atom, exponent),): Fraction(1)}, ONE)


ZERO, UNIT = rational(0), rational(1)
IMAGINARY = atom_form(UNITY, HALF)
PI_FORM = atom_form(PI)


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
        self.spend(len(a) * len(b))
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
        leading = den[max(den, key=_order)]
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

    def renamed(self, form: Form, names: Mapping[str, str]) -> Form:
        """Return a form with its variables called otherwise."""
        num, den = (self._renamed(poly, names) for poly in (form.num, form.den))
        return self.divide(num, den)

    def _renamed(self, poly: Polynomial, names: Mapping[str, str]) -> Form:
        total = ZERO
        for mono, coefficient in poly.items():
            part = rational(coefficient)
            for atom, exponent in mono:
                part = self.multiply(part, self._renamed_power(atom, exponent, names))
            total = self.add(total, part)
        return total

    def _renamed_power(self, atom: Atom, exponent: Exponent, names: Mapping[str, str]) -> Form:
        power = Fraction(exponent)
        inner = atom.payload
        match atom.kind:
            case "x":
                return atom_form(Atom("x", names.get(atom.key, atom.key)), exponent)
            case "E":
                whole = inner if isinstance(inner, Form) else Form({inner: Fraction(1)}, ONE)
                return self.exp(self.multiply(self.renamed(whole, names), rational(power)))
            case "ln":
                return self.rational_power(
                    self.ln(self._renamed_power(inner, 1, names)), power
                )
            case "P":
                return self.rational_power(self.renamed(inner, names), power)
            case "abs":
                renamed = self.renamed(inner, names)
                return atom_form(Atom("abs", str(renamed), renamed), exponent)
            case "call" if isinstance(inner, tuple) and inner:
                args = tuple(self.renamed(part, names) for part in inner)
                key = f"{atom.key.partition('(')[0]}({', '.join(map(str, args))})"
                return atom_form(Atom("call", key, args), exponent)
        return Form(self._term(Fraction(1), {atom: exponent}), ONE)

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
        if any(a.kind == "n" and abs(e) >= 1 for mono in exponent.num for a, e in mono):
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
        if not whole and exponent.denominator % 2 and rest[max(rest, key=_order)] < 0:
            content, rest = -content, _scaled(rest, Fraction(-1))
        outer = self._term_power(content, common, exponent)
        inner = Form(rest, ONE)
        root = self._term(Fraction(1), {Atom("P", str(inner), inner): _tidy(exponent)})
        return self.multiply(outer, Form(root, ONE))

    def _term_power(self, coefficient: Fraction, mono: Monomial, exponent: Fraction) -> Form:
        powers: dict[Atom, Exponent] = {}
        for atom, e in mono:
            target = _nonnegative(atom, e, exponent)
            powers[target] = powers.get(target, 0) + e * exponent
        if exponent.denominator == 1:
            n = int(exponent)
            size = coefficient.numerator.bit_length() + coefficient.denominator.bit_length()
            if abs(coefficient) == 1 or size * n <= MAX_BITS:
                return Form(self._term(coefficient**n, powers), ONE)
        sign = Fraction(1)
        if coefficient < 0:
            if exponent.denominator % 2:
                sign = Fraction(-1 if exponent.numerator % 2 else 1)
            else:
                powers[UNITY] = powers.get(UNITY, 0) + exponent
        for prime, count in factors(abs(coefficient)):
            integer = Atom("n", str(prime), prime)
            powers[integer] = powers.get(integer, 0) + count * exponent
        return Form(self._term(sign, powers), ONE)

    # ---- exponentials and logarithms ---------------------------------------------------------

    def exp(self, a: Form) -> Form:
        """Return e ** a, split by the monomials of a."""
        if a.den != ONE:
            content, common, rest = _primitive(a.num)
            inner = Form(self._times(rest, {common: Fraction(1)}), a.den)
            return Form(self._term(Fraction(1), {Atom("E", str(inner), inner): _tidy(content)}), ONE)
        powers: dict[Atom, Exponent] = {}
        for mono, coefficient in a.num.items():
            atom = _exponential(mono)
            powers[atom] = powers.get(atom, 0) + coefficient
        return Form(self._term(Fraction(1), powers), ONE)

    def ln(self, a: Form) -> Form:
        """Return the principal natural logarithm, split by factors and powers.

        Raises:
            Undefined: If a is zero.
        """
        if not a.num:
            raise Undefined("it takes the logarithm of zero")
        if a.den != ONE:
            return self.subtract(self.ln(Form(a.num, ONE)), self.ln(Form(a.den, ONE)))
        total: Polynomial = {}
        content, common, rest = _primitive(a.num)
        if len(a.num) == 1 and (constant := next(iter(rest.values()))) < 0:
            content, rest = content * -constant, ONE
            total = self._plus(total, {((UNITY, HALF), (PI, 1)): Fraction(1)})
        for prime, count in factors(content):
            integer = Atom("n", str(prime), prime)
            total = self._plus(total, {((_ln_atom(integer), 1),): Fraction(count)})
        for atom, exponent in common:
            total = self._plus(total, self._ln_of(atom, Fraction(exponent)))
        if len(rest) > 1:
            inner = Form(rest, ONE)
            root = Atom("P", str(inner), inner)
            total = self._plus(total, {((_ln_atom(root), 1),): Fraction(1)})
        return Form(_sorted(total), ONE)

    def _ln_of(self, atom: Atom, exponent: Fraction) -> Polynomial:
        if atom.kind == "E" and not isinstance(atom.payload, Form):
            return {atom.payload: exponent}
        if atom.kind == "U":
            return _sorted({((UNITY, HALF), (PI, 1)): exponent})
        return {((_ln_atom(atom), 1),): exponent}


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
    if power.denominator == 1 or atom.kind not in ("x", "ln", "call"):
        return atom
    even = Fraction(exponent).numerator % 2 == 0
    result = Fraction(exponent) * power
    if even and (result.numerator % 2 or result.denominator % 2 == 0):
        inner = atom_form(atom)
        return Atom("abs", str(inner), inner)
    return atom


def _primitive(poly: Polynomial) -> tuple[Fraction, Monomial, Polynomial]:
    """Split off the positive content and the common monomial: poly = content * common * rest."""
    values = list(poly.values())
    content = Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))
    common = dict(next(iter(poly)))
    for mono in poly:
        here = dict(mono)
        common = {a: min(e, here[a]) for a, e in common.items() if a in here}
    common = {a: e for a, e in common.items() if a.kind != "U" or len(poly) == 1}
    shared = tuple(sorted(common.items(), key=lambda pair: pair[0]))
    rest: Polynomial = {}
    for mono, value in poly.items():
        left = [(a, _tidy(e - common.get(a, 0))) for a, e in mono]
        rest[tuple((a, e) for a, e in left if e)] = value / content
    return content, shared, rest


def _exponential(mono: Monomial) -> Atom:
    """Return the atom that is e to a monomial with coefficient 1."""
    if len(mono) == 1:
        atom, exponent = mono[0]
        if atom.kind == "ln" and exponent == 1:
            inside: Atom = atom.payload
            return inside
    if len(mono) == 2 and dict(mono) == {PI: 1, UNITY: HALF}:
        return UNITY
    return Atom("E", _shown({mono: Fraction(1)}), mono)


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


_PRIMES = [p for p in range(2, 1000) if all(p % q for q in range(2, isqrt(p) + 1))]


def factors(value: Fraction) -> Iterable[tuple[int, int]]:
    """Yield (prime, exponent) of a positive rational; a large cofactor may stay in one piece."""
    for number, sign in ((value.numerator, 1), (value.denominator, -1)):
        # only small ones are remembered: what is remembered must not add up
        small = number.bit_length() <= 64
        for prime, count in (_factor_small if small else _factor_integer)(number):
            yield prime, sign * count


def _factor_integer(number: int) -> tuple[tuple[int, int], ...]:
    found = []
    for prime in _PRIMES:
        if number == 1:
            break
        count = 0
        while number % prime == 0:
            number //= prime
            count += 1
        if count:
            found.append((prime, count))
        if prime * prime > number:
            break
    if number > 1:
        found.append(_perfect_power(number))
    return tuple(found)


_factor_small = lru_cache(maxsize=4096)(_factor_integer)


def _perfect_power(number: int) -> tuple[int, int]:
    for n in (2, 3, 5, 7):
        root = integer_root(number, n)
        if root**n == number:
            base, count = _perfect_power(root)
            return base, n * count
    return number, 1


def integer_root(number: int, n: int) -> int:
    """Return the largest integer whose n-th power is at most `number`, by Newton's method."""
    if number < 2:
        return number
    if n == 2:
        return isqrt(number)
    guess = 1 << -(-number.bit_length() // n)
    while True:
        step = ((n - 1) * guess + number // guess ** (n - 1)) // n
        if step >= guess:
            return guess
        guess = step


INDEPENDENT = frozenset(["n", "x", "pi", "U"])


def surely_nonzero(poly: Polynomial) -> bool:
    """Whether a polynomial that has terms left is known not to be zero.

    Products of roots of distinct primes are independent over the rationals (Besicovitch 1940), pi
    is transcendental, and i separates real from imaginary.
    """
    return bool(poly) and all(
        atom.kind in INDEPENDENT
        and (atom.kind != "U" or exponent == HALF)
        and (atom.kind != "n" or atom.payload < 1_000_000)
        for mono in poly
        for atom, exponent in mono
    )
