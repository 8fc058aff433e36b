"""Canonical forms: quotients of polynomials in atoms, and how they are shown."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

Exponent = int | Fraction


class Atom:
    """What polynomials are made of; `kind` and `key` say which, `payload` what is inside."""

    __slots__ = ("_hash", "key", "kind", "payload")

    def __init__(self, kind: str, key: str, payload: Any = None) -> None:
        """Kinds: n integer, x variable, pi, U = e^(i pi), E exponential, P root of a polynomial."""
        self.kind, self.key, self.payload = kind, key, payload
        self._hash = hash((kind, key))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Atom], tuple[str, str, Any]]:
        return Atom, (self.kind, self.key, self.payload)  # hashes differ between processes

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
        return frozenset(a.key for a in self.atoms() if is_unknown(a))

    def unknowns(self) -> frozenset[str]:
        """Return the variables and unknown functions that are not inside of a function."""
        atoms = (a for poly in (self.num, self.den) for mono in poly for a, _ in mono)
        return frozenset(a.key for a in atoms if a.kind in ("x", "call"))

    def __str__(self) -> str:
        top = shown(self.num)
        if self.den == ONE:
            return top
        return f"({top})/({shown(self.den)})"


_words = str.split
_KNOWN_FUNCTIONS = frozenset(
    _words("arcsin arctan factorial floor ceil max min gcd lcm mod sgn sum prod int lim")
)


def is_unknown(atom: Atom) -> bool:
    """Whether an atom is a variable that is not bound, or a function that is not known."""
    if atom.kind == "call":
        return atom.key.partition("(")[0] not in _KNOWN_FUNCTIONS
    return atom.kind == "x" and not atom.key.startswith("#")


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
            _collect_payload(
                part[0] if isinstance(part, tuple) and not isinstance(part, Form) else part, found
            )


def shown(poly: Polynomial) -> str:
    """Return a polynomial as text; equal ones give equal texts."""
    if not poly:
        return "0"
    pieces = []
    for mono, coefficient in sorted(poly.items(), key=lambda item: order(item[0]), reverse=True):
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
    shown = number_shown(Fraction(exponent))
    shown = shown if shown.isdigit() else f"({shown})"
    return f"{atom}^{shown}"


def order(mono: Monomial) -> tuple[Any, ...]:
    """Return what monomials are sorted by."""
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
