r"""Steps: is each equation of the working right, and then the final answer?

    >>> import rewards
    >>> text = "4 + 3 = 7, 90 + 7 = 98. The answer is 98."
    >>> rewards.score(text, {"type": "steps", "answer": "97"}).steps
    ((9, 1.0), (22, 0.0), (41, 0.0))

The value is that of the `math` verifier, for the final answer alone: no step lifts it. What is
added is `Score.steps`, for process supervision of arithmetic: where each equation "a = b (= c)"
between numbers ends, with 1 if it is true and 0 if not; at the end of the text the value. All is
exact: 10/3 = 3.33 is false, and 10/3 ≈ 3.33 is no equation.

A step must not pay for itself. So these are none:

- what says nothing: 7 = 7, 3 + 4 = 4 + 3, 7 + 0 = 7;
- what was said before, in whatever order: 3 + 4 = 7, 4 + 3 = 7, 7 - 4 = 3;
- true equations whose result is not used later on, in another step or as the answer; each use pays
  for one derivation;
- what comes after `max_steps` of them.

Where it is not certain that a formula begins and ends where its numbers do (there is a variable, a
unit of one letter, a word such as "half"), it is none: to miss one costs less than to misread it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from rewards.completion import Completion
from rewards.registry import verifier
from rewards.score import Score
from rewards.verifiers.math import MathSpec, math
from rewards.verifiers.math.evaluate import Evaluator
from rewards.verifiers.math.parse import parse
from rewards.verifiers.math.terms import Apply, Group, Number, Term, TooLarge, Unreadable
from rewards.verifiers.math.tokens import plain

__all__ = ["StepsSpec", "steps"]

MAX_EQUATIONS = 64
"""Equations that are looked at; no honest working of what one line answers has more."""
MAX_CHARS = 200
"""Of an equation."""


class StepsSpec(MathSpec):
    """What a right final answer is, as for `math`; the steps before it are judged by themselves."""

    type: Literal["steps"] = "steps"  # type: ignore[assignment]
    max_steps: Annotated[int, Field(ge=1, le=MAX_EQUATIONS)] = 16
    """Most steps that are scored besides the final answer."""


@verifier(name="steps", spec=StepsSpec, runs="thread", timeout_s=2.0)
def steps(completion: Completion, spec: StepsSpec) -> Score:
    """Judge the final answer, and each equation on the way to it."""
    score: Score = math(completion, spec)
    if score.value is None:
        return score
    text = completion.text
    body = len(text.rstrip())  # an equation that ends there is the answer
    equations = [e for e in _equations(text) if e.end < body]
    counted = _counted(equations, str(score.evidence.get("answer", "")))[: spec.max_steps]
    right = sum(equation.right for equation in counted)
    return score.replace(
        steps=(*((e.end, float(e.right)) for e in counted), (len(text), score.value)),
        reason=f"{score.reason}; {right} of {len(counted)} steps are right",
        evidence={**score.evidence, "equations": [[e.text, e.right] for e in counted]},
    )


class _Side(NamedTuple):
    """One side of an equation."""

    value: Fraction
    literals: tuple[Fraction, ...]
    """The numbers written in it."""
    results: tuple[Fraction, ...]
    """Values of all its parts: the numbers, and what was worked out from them."""


class _Equation(NamedTuple):
    """Sides that are claimed to be equal, and where the last one ends in the text."""

    text: str
    end: int
    sides: tuple[_Side, ...]

    @property
    def right(self) -> bool:
        return len({side.value for side in self.sides}) == 1

    @property
    def literals(self) -> tuple[Fraction, ...]:
        """All numbers, sorted: a restatement has the same."""
        return tuple(sorted(x for side in self.sides for x in side.literals))

    @property
    def says_something(self) -> bool:
        """Whether it calculates, and not with 0 and 1 alone or the same on each side."""
        if all(side.literals == (side.value,) for side in self.sides):
            return False
        idle = all({side.value} <= {*side.literals} <= {side.value, 0, 1} for side in self.sides)
        same = len({tuple(sorted(side.literals)) for side in self.sides}) == 1
        return not (self.right and (idle or same))


def _counted(equations: list[_Equation], answer: str) -> list[_Equation]:
    """Return the equations that are steps, in order."""
    new = {e.literals: e for e in reversed(equations) if e.says_something}  # the first of equals
    wanted = Counter(_numbers(answer))
    kept: list[_Equation] = []
    for equation in sorted(new.values(), key=lambda e: -e.end):
        value = equation.sides[0].value
        if equation.right:
            if not wanted[value]:
                continue
            wanted[value] -= 1
        wanted.update(x for s in equation.sides for x in s.results if x != s.value)
        kept.append(equation)
    return kept[::-1]


def _numbers(answer: str) -> list[Fraction]:
    """Return what an answer states: its value, or the numbers in it."""
    if side := _read(answer):
        return [side.value]
    return [Fraction(number) for number in _NUMBER.findall(answer[:MAX_CHARS])]


def _read(text: str) -> _Side | None:
    """Work arithmetic out; None for what is none, or costs too much."""
    if len(text) > MAX_CHARS:
        return None
    evaluator = Evaluator()  # bounds the work for all parts together
    try:
        terms = list(_parts(parse(plain(text))))
        values = [evaluator.form(term).constant for term in terms]
    except (Unreadable, TooLarge, RecursionError):
        return None
    if values[0] is None:
        return None
    literals = tuple(term.value for term in terms if isinstance(term, Number))
    return _Side(values[0], literals, tuple(v for v in values if v is not None))


def _parts(term: Term) -> Iterator[Term]:
    """Yield a term and all that it is made of; brackets around one term are left out."""
    match term:
        case Group(items=(inner,)):
            yield from _parts(inner)
        case Apply(args=args):
            yield term
            for arg in args:
                yield from _parts(arg)
        case _:
            yield term


# ---- where equations are ------------------------------------------------------------------------

_NUMBER = re.compile(r"-?\d{1,99}(?:\.\d{1,99})?", re.ASCII)
# Fences, emphasis, boxes and the marks of lists: blanked out, so that offsets stay.
_MARKUP = re.compile(
    r"\\?\$|\\[()\[\],;!]|\\(?:left|right|boxed)(?![A-Za-z])|(?<![\d)])\*\*|\*\*(?![\d(])"
    r"|^[ \t]*+(?:[-+*•]|\(?\d{1,2}[.)])[ \t]",
    re.MULTILINE | re.ASCII,
)
_RUN = re.compile(
    r"(?:[\d+\-*/^(){}=×÷·−²³√ \t]|(?<=\d)\.(?=\d)|(?<=\d),(?=\d{3}(?!\d))"
    r"|\\(?:[dt]?frac|sqrt|cdot|times|div)(?![A-Za-z]))+",
    re.ASCII,
)
_SIDE = re.compile(r"[^=\s](?:[^=]*[^=\s])?")
_OPENS = re.compile(r"[\d({√]|\\[dt]?frac|\\sqrt")
# What may stand before and after a formula: nothing, punctuation, or a word that is no operation.
_EDGE = r"[\n=:;,?<>\"'`&→⇒]"
_WORD = (
    r"(?!(?:of|and|or|plus|minus|times|by|over|than|twice|double|half|triple|mod|modulo|remainder"
    r"|divided|percent|negative|to|from|per|more|less)(?![^\W\d_]))[^\W\d_]{2,}"
)
_MACRO = r"\\(?:q?quad|implies|Rightarrow|text|mathrm|\\)"
_BEFORE = re.compile(rf"(?:\A|{_EDGE}|[.!]|{_MACRO})\s*\Z")
_BEFORE_WORD = re.compile(rf"(?<![\w\\]){_WORD}\s+\Z")
_AFTER = re.compile(rf"\s*(?:\Z|{_EDGE}|\.(?!\.)|{_MACRO})|\s+{_WORD}")
_WINDOW = 30


def _equations(text: str) -> Iterator[_Equation]:
    """Find equations between numbers, in linear time."""
    bare = _MARKUP.sub(lambda mark: " " * len(mark[0]), text)
    runs = (run for run in _RUN.finditer(bare) if "=" in run[0] and len(run[0]) <= MAX_CHARS)
    for run in islice(runs, MAX_EQUATIONS):
        spans = [side.span() for side in _SIDE.finditer(bare, *run.span())]
        if spans and not _begins(bare, *spans[0]):
            del spans[0]
        if spans and not _AFTER.match(bare[spans[-1][1] : spans[-1][1] + _WINDOW]):
            del spans[-1]
        if len(spans) > 1:
            sides = [_read(side) for side in _unwrapped([bare[a:b] for a, b in spans])]
            shown = text[spans[0][0] : spans[-1][1]]
            if None not in sides:
                yield _Equation(shown, spans[-1][1], tuple(filter(None, sides)))


def _begins(text: str, start: int, end: int) -> bool:
    """Whether the formula there has no more to the left than that."""
    before = text[max(0, start - _WINDOW) : start]
    if _BEFORE.search(before):
        return True
    return bool(_OPENS.match(text, start, end) and _BEFORE_WORD.search(before))


def _unwrapped(sides: list[str]) -> list[str]:
    """Take off the brackets around a whole equation."""
    first, last = sides[0], sides[-1]
    if first.startswith("(") and first.count("(") > first.count(")"):
        sides = [first[1:], *sides[1:]]
    if last.endswith(")") and last.count(")") > last.count("("):
        sides = [*sides[:-1], last[:-1]]
    return sides
