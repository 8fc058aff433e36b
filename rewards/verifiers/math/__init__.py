r"""Mathematics: is the final answer the gold answer?

    >>> import rewards
    >>> rewards.score(r"so \boxed{\frac12}", {"type": "math", "answer": "0.5"}).value
    1.0

`extract` finds the answer, `reading` types it, `compare` decides by exact arithmetic. Only formulas
that agree to many digits without a proof go on to sympy, inside a killable worker. No text of a
model is ever evaluated, and importing this package imports no sympy.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from rewards.completion import Completion
from rewards.errors import SpecError
from rewards.machinery import machinery
from rewards.registry import verifier
from rewards.score import Score, Verdict
from rewards.spec import Spec
from rewards.verifiers.math.compare import Decision, decide
from rewards.verifiers.math.extract import Missing, extract, unbox
from rewards.verifiers.math.numbers import Rules
from rewards.verifiers.math.policy import Policy
from rewards.verifiers.math.reading import read
from rewards.verifiers.math.tokens import MAX_CHARS, plain
from rewards.verifiers.math.values import KINDS, Reading
from rewards.workers import WorkerTimeout

__all__ = ["MathSpec", "Policy", "math"]

TIMEOUT_S = 0.8
"""CPU seconds of a second opinion."""

Kind = Literal[
    "auto", "number", "expression", "interval", "set", "tuple", "matrix", "equation", "inequality",
    "choice", "text", "date",
]  # fmt: skip


def _text(answer: object) -> object:
    is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
    return repr(answer) if is_number else answer


Gold = Annotated[str, BeforeValidator(_text), WithJsonSchema({"type": ["string", "number"]})]


class MathSpec(Spec):
    r"""What a right final answer is.

    The gold answer is a number, text, or LaTeX with or without `$`, e.g. "1/2", "\\frac{1}{2}",
    "x = 3", "(-\\infty, 4)", "Monday", "(B)".
    """

    type: Literal["math"] = "math"
    answer: Gold
    """The gold answer; a number is read as its decimal form."""
    alternatives: tuple[Gold, ...] = ()
    """Further answers that are right as well."""
    kind: Kind = "auto"
    """What the gold answer is, where its text alone would leave that open."""
    units: str | None = None
    """The unit of a gold answer that is a bare number."""
    tolerance: float | None = Field(default=None, ge=0, lt=1)
    """Relative distance from the gold answer that is still right; none by default."""
    ordered: bool | None = None
    """Whether order matters in lists; by default in (1, 2), and not in {1, 2} or "1, 2"."""
    extract: Literal["auto", "boxed", "answer_tag", "last_line"] = "auto"
    """Where the answer must stand."""
    policy: Policy = Policy()
    """Conventions that can be switched off."""

    @cached_property
    def golds(self) -> tuple[Reading, ...]:
        """All accepted answers, read once."""
        return tuple(self._read(answer) for answer in (self.answer, *self.alternatives))

    @cached_property
    def rules(self) -> Rules:
        """How answers are compared."""
        tolerance = None if self.tolerance is None else Fraction(str(self.tolerance))
        return Rules(tolerance, None, self.ordered, self.policy)

    def _read(self, answer: str) -> Reading:
        text = unbox(answer)
        reading = read(f"{text} {self.units}" if self.units else text, gold=True)
        if self.kind != "auto":
            kept = [v for v in reading.values if isinstance(v, KINDS[self.kind])]
            reading = Reading(reading.text, kept, reading.complaint or f"it is no {self.kind}")
        return reading

    def check(self) -> None:
        """Refuse a gold answer that nothing here can read.

        Raises:
            SpecError: If one is empty, beyond the bounds, or not understood.
        """
        for answer, reading in zip((self.answer, *self.alternatives), self.golds, strict=True):
            if not reading.text:
                raise SpecError("math spec: 'answer' is empty; give the gold answer")
            if not reading.values:
                raise SpecError(
                    f"math spec: cannot use the gold answer {answer!r:.80}: {reading.complaint}"
                )


@verifier(name="math", spec=MathSpec, runs="thread", timeout_s=TIMEOUT_S)
def math(completion: Completion, spec: MathSpec) -> Score:
    """Extract the final answer and compare it with the gold answer."""
    if completion.reasoning_open:
        return Score.malformed("the reasoning never ended", code="unfinished_think")
    found = extract(completion.answer_text, spec.extract)
    if isinstance(found, Missing):
        return Score.malformed(found.reason, code=found.code)
    if completion.truncated and found.source not in ("answer_tag", "boxed"):
        # cut off, "the answer is 12" may have been going to be "123"; a tag or a brace closes
        return Score.malformed("cut off before the answer was finished", code="unfinished_answer")
    shown = {"extracted": found.text[:500], "source": found.source}
    bare = plain(found.text[:MAX_CHARS])
    if len(found.text) <= MAX_CHARS and (identical := _identical(spec, bare)):
        return _judged(identical, Decision(True, "identical"), bare, shown)
    answer = read(found.text)
    if answer.too_large and not answer.values:
        reason = f"the answer is too large: {answer.complaint}"
        return Score(0.0, Verdict.LIMIT, reason, evidence={**shown, "code": "too_large"})
    decisions = [(gold, decide(gold, answer, spec.rules)) for gold in spec.golds]
    # a proof before what agrees without one
    decisions.sort(key=lambda pair: (not pair[1].right, bool(pair[1].obligations)))
    gold, decision = decisions[0]
    if decision.right and decision.obligations:
        return _second_opinion(gold, decision, answer, shown)
    return _judged(gold, decision, str(answer), shown)


def _asks_for_more(decision: Decision) -> bool:
    """Whether the answer holds functions that the gold answer does not."""
    gold, answer = (
        {
            atom.key.partition("(")[0]
            for pair in decision.obligations
            for atom in pair[k].atoms()
            if atom.kind in ("call", "abs", "P", "ln", "E")
        }
        for k in (0, 1)
    )
    return bool(answer - gold)


def _identical(spec: MathSpec, bare: str) -> Reading | None:
    return next((gold for gold in spec.golds if gold.text == bare), None)


def _judged(gold: Reading, decision: Decision, answer: str, shown: dict[str, str]) -> Score:
    forms = {**shown, "rule": decision.rule, "gold": str(gold)[:500], "answer": answer[:500]}
    relation = "equals" if decision.right else "does not equal"
    reason = f"{shown['extracted']:.80} {relation} {gold.text:.80} ({decision.rule})"
    if decision.reason:
        reason = f"{shown['extracted']:.80}: {decision.reason} ({decision.rule})"
    return Score.correct(reason, **forms) if decision.right else Score.incorrect(reason, **forms)


def _second_opinion(
    gold: Reading, decision: Decision, answer: Reading, shown: dict[str, str]
) -> Score:
    try:
        proved = (
            machinery()
            .workers()
            .call(
                "rewards.verifiers.math.symbolic:prove", decision.obligations, timeout_s=TIMEOUT_S
            )
        )
    except WorkerTimeout:
        if _asks_for_more(decision):  # the answer was to be a value, and is a task
            reason = f"the answer could not be worked out within {TIMEOUT_S:g} s"
            return Score(0.0, Verdict.TIMEOUT, reason, evidence={**shown, "code": "timeout"})
        return Score.unjudged(
            f"equal to many digits, but no proof within {TIMEOUT_S:g} s", code="timeout", **shown
        )
    reason = "" if proved is not None else "it agrees to many digits, but no proof was found"
    verdict = decision._replace(right=proved is True, rule="symbolic", reason=reason)
    return _judged(gold, verdict, str(answer), shown)
