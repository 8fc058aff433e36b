"""Length: a penalty that grows from a budget on, and is bounded.

    value = -min(max_penalty, slope * max(0, n - budget))

The linear part is the "soft overlong punishment" of DAPO (arXiv 2503.14476, eq. 13) with a slope
in place of its fixed interval. Being bounded below 1 it cannot make a right answer worth less than
a wrong one.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rewards.completion import Completion
from rewards.registry import verifier
from rewards.score import Score, Verdict
from rewards.spec import Spec

__all__ = ["LengthSpec", "length"]


class LengthSpec(Spec):
    """How long a completion may be, and what more costs."""

    type: Literal["length"] = "length"
    budget: Annotated[int, Field(ge=0)]
    """Length up to which nothing is subtracted."""
    slope: Annotated[float, Field(gt=0)] = 0.001
    """What every unit above the budget costs."""
    unit: Literal["tokens", "words", "chars"] = "tokens"
    """What is counted; tokens are the policy's own, which only the caller can count."""
    max_penalty: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """The most that is ever subtracted."""

    @property
    def value_range(self) -> tuple[float, float]:
        """From the full penalty to none."""
        return -self.max_penalty, 0.0


@verifier(name="length", spec=LengthSpec, role="shaping")
def length(completion: Completion, spec: LengthSpec) -> Score:
    """Subtract for what is longer than the budget.

    Unjudged when tokens are to be counted and the caller did not say how many there are: a wrong
    guess would train the policy on a wrong number.
    """
    count = _count(completion, spec.unit)
    if count is None:
        return Score.unjudged(
            "length in tokens is known to the caller alone: pass num_tokens,"
            " or use unit 'words' or 'chars'",
            code="num_tokens_missing",
        )
    facts = {"length": count, "budget": spec.budget, "unit": spec.unit}
    over = count - spec.budget
    if over <= 0:
        return Score(0.0, Verdict.CORRECT, f"{count} {spec.unit}, within budget", evidence=facts)
    penalty = min(spec.max_penalty, spec.slope * over)
    reason = f"{count} {spec.unit}, {over} over the budget of {spec.budget}"
    return Score(-penalty, Verdict.PARTIAL, reason, evidence=facts)


def _count(completion: Completion, unit: str) -> int | None:
    if unit == "tokens":
        return completion.num_tokens
    return len(completion.text.split()) if unit == "words" else len(completion.text)
