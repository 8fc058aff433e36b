"""Levels 1 and 2 of the code task: a sentence and the chain of integer operations it asks for.

Sentence and program come from the same table, so the pair is right by construction and the family
is large enough that held-out programs compute functions which no training program computes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

HEADER = "Write a function f(x) that "


@dataclass(frozen=True)
class Operation:
    """One arithmetic step: how English says it and how Python does."""

    phrases: tuple[str, ...]
    """Verb phrases with the places ``{it}`` (the value so far) and, where it has one, ``{k}``."""
    code: str
    """The expression, with the places ``{x}`` and ``{k}``."""

    @property
    def takes_constant(self) -> bool:
        """Whether the step has a constant."""
        return "{k}" in self.code


OPERATIONS = (
    Operation(("adds {k} to {it}", "increases {it} by {k}"), "{x} + {k}"),
    Operation(("subtracts {k} from {it}", "decreases {it} by {k}"), "{x} - {k}"),
    Operation(("multiplies {it} by {k}", "makes {it} {k} times as large"), "{x} * {k}"),
    Operation(("divides {it} by {k} rounding down",), "{x} // {k}"),
    Operation(("takes the remainder of {it} divided by {k}",), "{x} % {k}"),
    Operation(("subtracts {it} from {k}",), "{k} - {x}"),
    Operation(("takes the larger of {it} and {k}",), "max({x}, {k})"),
    Operation(("takes the smaller of {it} and {k}",), "min({x}, {k})"),
    Operation(("squares {it}", "multiplies {it} by itself"), "{x} * {x}"),
    Operation(("doubles {it}",), "{x} * 2"),
    Operation(("negates {it}",), "-{x}"),
    Operation(("takes the absolute value of {it}",), "abs({x})"),
)

CONDITIONS = (
    ("{it} is greater than {k}", "x > {k}"),
    ("{it} is less than {k}", "x < {k}"),
    ("{it} is even", "x % 2 == 0"),
    ("{it} is odd", "x % 2 == 1"),
    ("{it} is divisible by {k}", "x % {k} == 0"),
    ("{it} is negative", "x < 0"),
)


@dataclass(frozen=True)
class Step:
    """An operation with its constant and the phrase chosen for it."""

    operation: Operation
    phrase: str
    k: int

    def say(self, it: str) -> str:
        """The step in English, acting on ``it``."""
        return self.phrase.format(it=it, k=self.k)

    def write(self) -> str:
        """The step as a Python expression of x."""
        return self.operation.code.format(x="x", k=self.k)


@dataclass(frozen=True)
class Problem:
    """A sentence, the source that answers it, and how arguments for it look."""

    prompt: str
    source: str
    arguments: tuple[tuple[object, ...], ...]
    """Candidate argument lists; the hidden tests are chosen among them."""


# Small integers first, in no order: among equally telling arguments the first is taken.
INTEGERS = tuple((x,) for x in (
    3, -4, 10, 0, 7, -9, 1, 12, -2, 5, 8, -7, 2, 11, -1, 6, 9, -5, 4, -3, -8, -6, -10,
    13, -11, 25, -30, 38, -47, 61, 100,
))  # fmt: skip


def draw_step(rng: random.Random, largest: int) -> Step:
    """Draw one step with a constant from 2 to ``largest``."""
    operation = rng.choice(OPERATIONS)
    return Step(operation, rng.choice(operation.phrases), rng.randint(2, largest))


def draw_chain(rng: random.Random, lengths: tuple[int, ...], largest: int = 9) -> Problem:
    """Draw a chain of steps: every step but the last assigns x, the last returns."""
    steps = [draw_step(rng, largest) for _ in range(rng.choice(lengths))]
    clauses = [step.say("the result" if i else "x") for i, step in enumerate(steps)]
    lines = [f"x = {step.write()}" for step in steps[:-1]] + [f"return {steps[-1].write()}"]
    body = "".join(f"    {line}\n" for line in lines)
    return Problem(f"{HEADER}{' and then '.join(clauses)}.", f"def f(x):\n{body}", INTEGERS)


def draw_conditional(rng: random.Random) -> Problem:
    """Draw a program that does one of two steps, depending on x."""
    said, written = rng.choice(CONDITIONS)
    k = rng.randint(2, 9)
    yes, no = draw_step(rng, 20), draw_step(rng, 20)
    prompt = (
        f"{HEADER}{yes.say('x')} if {said.format(it='x', k=k)} "
        f"and otherwise {no.say('x')}, and returns the result."
    )
    source = (
        f"def f(x):\n    if {written.format(k=k)}:\n"
        f"        return {yes.write()}\n    return {no.write()}\n"
    )
    return Problem(prompt, source, INTEGERS)


def draw_level_1(rng: random.Random) -> Problem:
    """One or, mostly, two steps with constants of one digit: what the tiny model can learn."""
    return draw_chain(rng, (1, 2, 2, 2, 2, 2, 2, 2))


def draw_level_2(rng: random.Random) -> Problem:
    """Three steps with larger constants, or a condition."""
    return draw_conditional(rng) if rng.random() < 0.5 else draw_chain(rng, (3,), largest=30)
