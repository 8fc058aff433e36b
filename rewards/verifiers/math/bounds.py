r"""Bounds that hold before anything is parsed, so that no answer costs more than it can be worth.

How large the numbers and how long the expansions behind a formula are is estimated from its tokens
alone: `9^{9^9}`, `(9999!)^{9999}` and `(x+y+z)^{999}` are refused unread. The estimate takes no
notice of what cancels, and nothing for the value of an unknown.
"""

from __future__ import annotations

import re
from math import comb, log2
from typing import NamedTuple

from rewards.verifiers.math.exact import MAX_CHARS, MAX_DIGITS, plain

MAX_NESTING, MAX_TOKENS = 12, 1000
"""The time of math-verify's grammar doubles with every few brackets."""
MAX_POWER, MAX_FACTORIAL = 4096, 2000
"""The largest exponent, and the largest number before a `!`; olympiads love the current year."""
MAX_BITS = 2**15
"""Of a number worked out: 2025^{2025} fits."""
MAX_TERMS = 200
"""Of a polynomial multiplied out: (x+1)^{100} fits, (x+y+z)^{20} does not."""
MAX_DIVIDED = 500
"""The degree of what is divided by a polynomial."""
MAX_CHOSEN = 30
"""The largest k in a binomial of an unknown over k, a polynomial of degree k."""


def bounds_complaint(text: str) -> str | None:
    """Say which bound `text` breaks, if it breaks one."""
    if len(text) > MAX_CHARS:
        return f"the answer has more than {MAX_CHARS} characters"
    if re.search(rf"\d{{{MAX_DIGITS + 1}}}", text):
        return f"the answer has a number of more than {MAX_DIGITS} digits"
    depth = deepest = 0
    for char in text:
        depth += (char in "{([") - (char in "})]")
        deepest = max(deepest, depth)
    if deepest > MAX_NESTING:
        return f"the answer is nested deeper than {MAX_NESTING}"
    reader = _Reader(text)
    if reader.size > MAX_TOKENS:
        return f"the answer has more than {MAX_TOKENS} numbers, letters and signs"
    try:
        reader.read()
    except _TooLarge as error:
        return f"the answer asks for {error}"
    return None


class _TooLarge(Exception):
    pass


class _Size(NamedTuple):
    """Of a formula: of its numbers, and of what it is multiplied out."""

    bits: float = 0.0
    value: float = 0.0
    """The logarithm to base 2 of its magnitude; unknowns count 1."""
    terms: int = 1
    degree: float = 0.0
    names: frozenset[str] = frozenset()


def _checked(bits: float, value: float, terms: int, degree: float, names: frozenset[str]) -> _Size:
    # a polynomial in v unknowns of degree d has at most this many terms, however it is written
    if terms > MAX_TERMS and degree < MAX_POWER:
        terms = min(terms, comb(int(degree) + len(names), len(names)))
    if bits > MAX_BITS:
        raise _TooLarge(f"a number of more than {MAX_BITS} bits")
    if terms > MAX_TERMS:
        raise _TooLarge(f"a polynomial of more than {MAX_TERMS} terms")
    return _Size(bits, value, terms if names else 1, degree, names)


def _add(a: _Size, b: _Size) -> _Size:
    larger, smaller = max(a.value, b.value), min(a.value, b.value)
    value = larger + log2(1 + 2 ** max(smaller - larger, -60))
    # what is added stays as it was written: its terms are bounded by its characters
    terms = a.terms + b.terms if a.names or b.names else 1
    return _Size(a.bits + b.bits, value, terms, max(a.degree, b.degree), a.names | b.names)


def _multiply(a: _Size, b: _Size) -> _Size:
    terms, degree, names = a.terms * b.terms, a.degree + b.degree, a.names | b.names
    return _checked(a.bits + b.bits, a.value + b.value, terms, degree, names)


def _divide(a: _Size, b: _Size, *, below_one: bool) -> _Size:
    if b.terms > 1 and max(a.degree, b.degree) > MAX_DIVIDED:
        raise _TooLarge(f"a division of polynomials beyond degree {MAX_DIVIDED}")
    return _multiply(a, b)._replace(value=a.value + (b.bits if below_one else 0))


def _raise(base: _Size, exponent: _Size) -> _Size:
    n = 2 ** min(exponent.value, 64)
    unknown = not base.bits and base.terms == 1
    if n > MAX_POWER + 0.5 and not (unknown and exponent.names):
        raise _TooLarge(f"a power beyond {MAX_POWER}")
    times = 1 if exponent.names else int(n)  # nobody multiplies out (x+y)^n
    terms = comb(times + base.terms - 1, base.terms - 1) if base.terms > 1 else 1
    names = base.names | exponent.names
    return _checked(base.bits * n, max(1, base.value) * n, terms, base.degree * times, names)


def _factorial(base: _Size) -> _Size:
    n = 2 ** min(base.value, 64)
    if n > MAX_FACTORIAL + 0.5:  # a logarithm gives it back not quite whole
        raise _TooLarge(f"a factorial beyond {MAX_FACTORIAL}!")
    bits = n * log2(n)
    return base._replace(bits=bits, value=bits)


def _choose(top: _Size, low: _Size) -> _Size:
    n, k = (2 ** min(size.value, 64) for size in (top, low))
    bits = min(n, k * top.value)
    if top.names and k > MAX_CHOSEN + 0.5:
        raise _TooLarge(f"a binomial over more than {MAX_CHOSEN} with an unknown")
    return _checked(bits, bits, 1, k, top.names | low.names)


_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\.\d+|\*\*|\S")
_SHORT_FRACTION = re.compile(r"\\frac ?(\d) ?(\d)")
_OPENING, _CLOSING = frozenset(["{", "(", "[", r"\{"]), frozenset(["}", ")", "]", r"\}"])
_RAISED = frozenset(["^", "**"])
_FRACTIONS = frozenset([r"\frac", r"\dfrac", r"\tfrac", r"\cfrac"])
_BINOMIALS = frozenset([r"\binom", r"\dbinom", r"\tbinom"])
_PRODUCTS = frozenset(["*", r"\times", r"\cdot", "|", r"\ ", ":", "'", "."])
_QUOTIENTS = frozenset(["/", r"\div"])
_SUMS = frozenset(["+", "-", ",", ";", "=", "<", ">", "&", r"\\", r"\pm", r"\mp", r"\le", r"\ge"])


class _Reader:
    """Adds up a formula's size by recursive descent; text that is no formula has some size too."""

    def __init__(self, text: str) -> None:
        tidy = _SHORT_FRACTION.sub(r"\\frac{\1}{\2}", plain(text))
        self._tokens: list[str] = [*_TOKEN.findall(tidy), ""]
        self._at = self._depth = 0

    @property
    def size(self) -> int:
        return len(self._tokens)

    def read(self) -> None:
        while self._next:
            self._sum()
            self._take()  # a bracket that nothing opened, as in "]0, 1["

    @property
    def _next(self) -> str:
        return self._tokens[self._at]

    def _take(self) -> str:
        token = self._next
        self._at += bool(token)
        return token

    def _sum(self) -> _Size:
        total: _Size | None = None
        product = _Size()
        while self._next and self._next not in _CLOSING:
            if self._next in _SUMS:
                self._take()
                total = _add(total, product) if total else product
                product = _Size()
            elif self._next in _PRODUCTS:
                self._take()
            elif self._next in _QUOTIENTS:
                self._take()
                start = self._at
                product = _divide(product, self._power(), below_one=self._is_odd(start))
            else:
                product = _multiply(product, self._power())
        return _add(total, product) if total else product

    def _power(self) -> _Size:
        self._depth += 1
        if self._depth > 2 * MAX_NESTING:
            raise _TooLarge("a tower of powers")
        size = self._atom()
        while self._next in _RAISED or self._next in ("!", "_"):
            token = self._take()
            if token == "!":
                size = _factorial(size)
            elif token == "_":
                self._atom()
            else:
                while self._next in ("+", "-"):
                    self._take()
                size = _raise(size, self._power())
        self._depth -= 1
        return size

    def _atom(self) -> _Size:
        token = self._take()
        if token in _OPENING:
            inside = self._sum()
            self._take()
            return inside
        if token in _FRACTIONS:
            top, start = self._argument(), self._at
            return _divide(top, self._argument(), below_one=self._is_odd(start))
        if token in _BINOMIALS:
            return _choose(self._argument(), self._argument())
        if token == r"\Gamma":
            return _factorial(self._argument())
        if token.strip(".")[:1].isdecimal():
            return _number(token)
        named = token.isalpha() or (token[:1] == "\\" and token[1:].isalpha())
        return _Size(degree=1, names=frozenset([token])) if named else _Size()

    def _argument(self) -> _Size:
        self._depth += 1
        if self._depth > 2 * MAX_NESTING:
            raise _TooLarge("a tower of powers")
        size = self._atom()
        self._depth -= 1
        return size

    def _is_odd(self, start: int) -> bool:
        """Whether what was read since `start` may be below one, so that dividing by it enlarges."""
        return any(not (t.isalnum() or t in "{()}") for t in self._tokens[start : self._at])


def _number(token: str) -> _Size:
    whole, _, decimals = token.partition(".")
    rounded_up = int(whole or 0) + bool(decimals)
    bits = log2(max(2, int(whole + decimals), 10 ** len(decimals)))
    return _Size(bits=bits, value=log2(max(1, rounded_up)))
