"""Weighted sums of verifiers, with roles and gates.

`value` is the sum of weight x value, not normalised; `outcome` is the product of the outcomes of
the parts whose role is "outcome"; `steps` are those of all parts, and the last of them takes what
the whole is worth beyond the parts that have steps. A part that could not be judged leaves the
whole unjudged: half a reward is a wrong reward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rewards.errors import SpecError
from rewards.score import Score, Verdict
from rewards.spec import CompiledSpec, Part


def combine(parts: Sequence[Part], scores: Mapping[str, Score]) -> Score:
    """Sum the scores of a composition's parts (by name) into one."""
    lost = [name for name, score in scores.items() if not score.judged]
    if lost:
        reason = "; ".join(f"{name}: {scores[name].reason}" for name in lost)
        return Score.unjudged(f"unjudged part: {reason}").replace(parts=dict(scores))
    shut = [p.name for p in parts if p.spec.gate and scores[p.name].value == 0]
    total = 0.0 if shut else math.fsum(p.spec.weight * _value(scores[p.name]) for p in parts)
    reason = "; ".join(f"{name}: {score.reason or score.verdict}" for name, score in scores.items())
    if shut:
        reason = f"gate {', '.join(shut)} is shut; {reason}"
    verdict, outcome = _verdict(parts, scores), _outcome(parts, scores)
    steps = tuple((end, 0.0) for end, _ in _steps(scores, 0.0)) if shut else _steps(scores, total)
    return Score(total, verdict, reason, outcome, dict(scores), steps=steps)


def settle_role(part: Part, score: Score) -> Score:
    """Make `outcome` say what the part's role says: correctness, or nothing.

    A value outside the spec's range is the verifier's failure: the bounds of shaping rest on it.
    """
    low, high = part.spec.value_range
    if score.judged and not low - 1e-9 <= _value(score) <= high + 1e-9:
        return Score.unjudged(
            f"verifier {part.verifier.name!r} gave {score.value:g}, outside of {low:g} to {high:g};"
            " its spec's value_range says what it can give",
            code="value_range",
        )
    if part.role == "shaping":
        return score.replace(outcome=None)
    if score.judged and score.outcome is None:
        return score.replace(outcome=min(max(_value(score), 0.0), 1.0))
    return score


def check_bounds(spec: CompiledSpec) -> None:
    """Refuse a composition whose shaping could lift a wrong answer above a right one.

    Raises:
        SpecError: If the range of the shaping parts exceeds the weight of the outcome parts, or a
            gate is on a penalty.
    """
    for part in spec.parts:
        if part.spec.gate and part.spec.value_range[1] <= 0:
            raise SpecError(
                f"{part.name} cannot be a gate: a gate shuts at value 0, which is the best that it"
                " gives; remove 'gate'"
            )
    if not (spec.composed and spec.has_outcome):
        return
    earned = math.fsum(p.spec.weight for p in spec.parts if p.role == "outcome")
    shaped = 0.0
    for part in spec.parts:
        if part.role == "shaping":
            low, high = part.spec.value_range
            shaped += abs(part.spec.weight) * (high - low)
    if shaped > earned + 1e-9:
        names = ", ".join(p.name for p in spec.parts if p.role == "shaping")
        raise SpecError(
            f"shaping ({names}) moves the reward by up to {shaped:g}, more than the {earned:g} that"
            " a right answer earns: a wrong answer could be paid more than a right one;"
            " lower the weights of the shaping parts, or give one the role 'outcome'"
        )


def _value(score: Score) -> float:
    assert score.value is not None
    return score.value


def _steps(scores: Mapping[str, Score], total: float) -> tuple[tuple[int, float], ...]:
    stepwise = [score for score in scores.values() if score.steps]
    if not stepwise:
        return ()
    *steps, (end, last) = sorted(step for score in stepwise for step in score.steps)
    return (*steps, (end, last + total - math.fsum(map(_value, stepwise))))


def _outcome(parts: Sequence[Part], scores: Mapping[str, Score]) -> float | None:
    outcomes = [scores[p.name].outcome for p in parts if p.role == "outcome"]
    known = [outcome for outcome in outcomes if outcome is not None]
    return math.prod(known) if known else None


def _verdict(parts: Sequence[Part], scores: Mapping[str, Score]) -> Verdict:
    """Take the verdict of the outcome parts (of all parts, where there are none)."""
    speaking = [p for p in parts if p.role == "outcome"] or list(parts)
    verdicts = [scores[p.name].verdict for p in speaking]
    if all(v is Verdict.CORRECT for v in verdicts):
        return Verdict.CORRECT
    if Verdict.CORRECT not in verdicts and Verdict.PARTIAL not in verdicts:
        return verdicts[0]
    wrong = [v for v in verdicts if v not in (Verdict.CORRECT, Verdict.PARTIAL)]
    return wrong[0] if wrong else Verdict.PARTIAL
