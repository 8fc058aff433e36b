r"""Mathematics: is the final answer the gold answer?

    >>> import rewards
    >>> rewards.score(r"so \boxed{\frac12}", {"type": "math", "answer": "0.5"}).value
    1.0

Plain numbers are decided exactly; all else has math-verify's opinion, inside a killable worker.
No text of a model is ever evaluated, and importing this package imports no sympy.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema

from rewards.completion import Completion
from rewards.errors import SpecError
from rewards.machinery import machinery
from rewards.registry import verifier
from rewards.score import Score, Verdict
from rewards.spec import Spec
from rewards.verifiers.math.bounds import bounds_complaint
from rewards.verifiers.math.compare import compare, is_words
from rewards.verifiers.math.exact import plain, quantity
from rewards.verifiers.math.extract import Missing, extract, unbox
from rewards.workers import WorkerError

__all__ = ["MathSpec", "math"]

TIMEOUT_S = 3.0


def _text(answer: object) -> object:
    is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
    return repr(answer) if is_number else answer


class MathSpec(Spec):
    r"""What a right final answer is.

    The gold answer is a number, text, or LaTeX with or without `$`, e.g. "1/2", "\\frac{1}{2}",
    "x = 3", "(-\\infty, 4)", "Monday", "(B)".
    """

    type: Literal["math"] = "math"
    answer: Annotated[str, BeforeValidator(_text), WithJsonSchema({"type": ["string", "number"]})]
    """The gold answer; a number is read as its decimal form."""

    @property
    def gold(self) -> str:
        r"""The gold answer itself, should it have been given inside a `\boxed`."""
        return unbox(self.answer)

    def check(self) -> None:
        """Refuse a gold answer that nothing here can read.

        Raises:
            SpecError: If it is empty, beyond the bounds, or not understood.
        """
        if not plain(self.gold):
            raise SpecError("math spec: 'answer' is empty; give the gold answer")
        if complaint := bounds_complaint(self.gold) or _unreadable(self.gold):
            raise SpecError(
                f"math spec: cannot use the gold answer {self.answer!r:.80}: {complaint}"
            )


def _unreadable(gold: str) -> str | None:
    if quantity(gold) or is_words(gold):
        return None
    try:
        complaint: str | None = (
            machinery()
            .workers()
            .call("rewards.verifiers.math.symbolic:parse_gold", gold, timeout_s=TIMEOUT_S)
        )
    except WorkerError:
        # The machine failed, not the spec: scoring meets the same failure and says "unjudged".
        return None
    return complaint


@verifier(name="math", spec=MathSpec, runs="worker", timeout_s=TIMEOUT_S)
def math(completion: Completion, spec: MathSpec) -> Score:
    """Extract the final answer and compare it with the gold answer."""
    if completion.reasoning_open:
        return Score.malformed("the reasoning never ended", code="unfinished_think")
    found = extract(completion.answer_text)
    if isinstance(found, Missing):
        return Score.malformed(found.reason, code=found.code)
    if completion.truncated and found.source in ("sentence", "last_line"):
        # cut off, "the answer is 12" may have been going to be "123"; a tag or a brace closes
        return Score.malformed("cut off before the answer was finished", code="unfinished_answer")
    shown = {"extracted": found.text[:500], "source": found.source}
    if complaint := bounds_complaint(found.text):
        return Score(0.0, Verdict.LIMIT, complaint, evidence={**shown, "code": "too_large"})
    right, rule, reason, gold, answer = compare(spec.gold, found.text)
    forms = {**shown, "rule": rule, "gold": gold[:500], "answer": answer[:500]}
    return Score.correct(reason, **forms) if right else Score.incorrect(reason, **forms)
