"""Theorems about numbers that computing decides, and about terms that equations connect."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from making.theorems import Theorem, tactics

MAX_NUMBER = 400
"""Of a term's value: nothing here is decided by long computing."""


# ---- closed arithmetic ---------------------------------------------------------------------------


def draw_arithmetic(rng: random.Random) -> Theorem:
    """A true statement about natural numbers that computing decides."""
    kind = rng.choice([_draw_equation, _draw_order, _draw_solution, _draw_pair, _draw_difference])
    return kind(rng)


@dataclass(frozen=True)
class Value:
    """An expression, the symbol it was last put together with, and its value."""

    text: str
    symbol: str
    number: int

    def inside(self, symbol: str) -> str:
        """Write it as a part of an expression with this symbol."""
        loose = {"+": "-", "-": "+-", "*": "+-*"}[symbol]
        return f"({self.text})" if self.symbol in loose and self.symbol else self.text


def _draw_value(rng: random.Random, depth: int = 2) -> Value:
    while True:
        value = _draw_any_value(rng, depth)
        if 0 <= value.number <= MAX_NUMBER:  # natural numbers have nothing below 0
            return value


def _draw_any_value(rng: random.Random, depth: int) -> Value:
    if depth == 0:
        number = rng.randint(2, 19)
        return Value(str(number), "", number)
    if rng.random() < 0.15:
        base, exponent = rng.randint(2, 5), rng.randint(2, 4)
        return Value(f"{base} ^ {exponent}", "^", base**exponent)
    left, right = _draw_value(rng, depth - 1), _draw_value(rng, rng.randrange(depth))
    symbol = rng.choice("++**-")
    a, b = left.number, right.number
    number = {"+": a + b, "*": a * b, "-": a - b}[symbol]
    return Value(f"{left.inside(symbol)} {symbol} {right.inside(symbol)}", symbol, number)


def _draw_equation(rng: random.Random) -> Theorem:
    left, factor = _draw_value(rng), rng.randint(3, 9)
    right = str(left.number)
    if left.number > factor and rng.random() < 0.6:
        right = f"{factor} * {left.number // factor} + {left.number % factor}"
    return Theorem("", f"{left.text} = {right}", rng.choice(["rfl", "by decide"]))


def _draw_order(rng: random.Random) -> Theorem:
    low, high = sorted((_draw_value(rng), _draw_value(rng)), key=lambda value: value.number)
    symbol = "≤" if low.number == high.number else rng.choice("<≤")
    return Theorem("", f"{low.text} {symbol} {high.text}", "by decide")


def _draw_difference(rng: random.Random) -> Theorem:
    left, right = _draw_value(rng), _draw_value(rng)
    symbol = "=" if left.number == right.number else "≠"
    return Theorem("", f"{left.text} {symbol} {right.text}", "by decide")


def _draw_solution(rng: random.Random) -> Theorem:
    x, a, b, bound = rng.randint(2, 20), rng.randint(2, 12), rng.randint(1, 40), rng.randint(1, 9)
    equation, proof = f"{a} * x + {b} = {a * x + b}", "rfl"
    if rng.random() < 0.5:
        equation, proof = f"x < {x + bound} ∧ {equation}", "by decide"
    return Theorem("", f"∃ x, {equation}", f"⟨{x}, {proof}⟩")


def _draw_pair(rng: random.Random) -> Theorem:
    parts = [rng.choice([_draw_order, _draw_difference])(rng).claim for _ in range(2)]
    return Theorem("", " ∧ ".join(parts), "by decide")


# ---- chains of equations -------------------------------------------------------------------------

CONSTANTS = "abcd"
FUNCTIONS = {"f": 1, "g": 1, "m": 2}
"""Names of functions, and how many arguments each takes."""


@dataclass(frozen=True)
class Term:
    """A constant, or a function of terms."""

    name: str
    parts: tuple[Term, ...] = ()

    def __str__(self) -> str:
        """Write it as Lean does."""
        return " ".join(
            [self.name, *(f"({part})" if part.parts else part.name for part in self.parts)]
        )

    def places(self) -> list[tuple[Callable[[Term], Term], Term]]:
        """Return each term that stands in this one, with what puts another in its place."""
        found: list[tuple[Callable[[Term], Term], Term]] = [(lambda new: new, self)]
        for at, part in enumerate(self.parts):
            found += [(partial(self._put, at, put), inner) for put, inner in part.places()]
        return found

    def _put(self, at: int, put: Callable[[Term], Term], new: Term) -> Term:
        return Term(self.name, (*self.parts[:at], put(new), *self.parts[at + 1 :]))


def draw_chain(rng: random.Random) -> Theorem:
    """Two terms that equations between their parts make equal, step by step."""
    while True:
        terms, equations, reasons = [_draw_term(rng, rng.randint(2, 3))], [], []
        for number in range(1, rng.randint(2, 4) + 1):
            put, old = rng.choice(terms[-1].places())
            new = _draw_term(rng, rng.randint(0, 1))
            forward = rng.random() < 0.5
            equations.append((old, new) if forward else (new, old))
            name, context = f"h{number}{'' if forward else '.symm'}", put(Term("x"))
            reasons.append(
                name if context == Term("x") else f"congrArg (fun x => {context}) {name}"
            )
            terms.append(put(new))
        pairs = {frozenset(pair) for pair in equations}
        says_something = len(pairs) == len(equations) and all(len(pair) == 2 for pair in pairs)
        if says_something and len(set(terms)) == len(terms):  # no equation twice, no way back
            return _to_theorem(terms, equations, reasons)


def _to_theorem(
    terms: list[Term], equations: list[tuple[Term, Term]], reasons: list[str]
) -> Theorem:
    """Write the theorem, with names in the order of their first appearance."""
    steps = [f"calc {terms[0]} = {terms[1]} := {reasons[0]}"]
    steps += [f"  _ = {term} := {why}" for term, why in zip(terms[2:], reasons[1:], strict=True)]
    facts = [f"(h{at} : {left} = {right})" for at, (left, right) in enumerate(equations, 1)]
    parts = [*facts, f"{terms[0]} = {terms[-1]}", *steps]
    words = list(dict.fromkeys(re.findall(r"\b[abcdfg]\b", " ".join(parts))))
    constants = [word for word in words if word in CONSTANTS]
    functions = [word for word in words if word in "fg"]
    names = dict(zip(constants + functions, [*CONSTANTS[: len(constants)], *"fg"], strict=False))
    parts = [re.sub(r"\b[abcdfg]\b", lambda word: names[word[0]], part) for part in parts]
    binders = [
        "(α : Type)",
        *([f"({' '.join('fg'[: len(functions)])} : α → α)"] if functions else []),
        *(["(m : α → α → α)"] if re.search(r"\bm\b", " ".join(parts)) else []),
        f"({' '.join(CONSTANTS[: len(constants)])} : α)",
        *parts[: len(facts)],
    ]
    return Theorem(" ".join(binders), parts[len(facts)], tactics(parts[len(facts) + 1 :]))


def _draw_term(rng: random.Random, depth: int) -> Term:
    if depth == 0:
        return Term(rng.choice(CONSTANTS))
    name = rng.choice(list(FUNCTIONS))
    parts = [_draw_term(rng, depth - 1)]
    parts += [_draw_term(rng, rng.randint(0, 1)) for _ in range(FUNCTIONS[name] - 1)]
    return Term(name, tuple(parts))
