"""Decide whether an answer is the gold answer, type by type, exactly.

Each rule either proves equality, or proves a difference, or leaves an *obligation*: two formulas
that agree to many digits without a proof. An answer is right only if a second opinion settles all
of its obligations; digits alone never make one right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rewards.verifiers.math.clock import Moment, same_moment
from rewards.verifiers.math.equations import Equations
from rewards.verifiers.math.forms import (
    Form,
)
from rewards.verifiers.math.lists import Lists
from rewards.verifiers.math.numbers import Rules
from rewards.verifiers.math.reading import read
from rewards.verifiers.math.terms import TooLarge, Unreadable
from rewards.verifiers.math.values import (
    Comparison,
    Equation,
    Family,
    Grid,
    Listing,
    Option,
    Proportion,
    Prose,
    Reading,
    RealSet,
    Scalar,
    Value,
)


class Decision(NamedTuple):
    """Whether the answer is right, by which rule, and why, and what is still to be proved."""

    right: bool
    rule: str
    reason: str = ""
    obligations: tuple[tuple[Form, Form], ...] = ()


def decide(gold: Reading, answer: Reading, rules: Rules) -> Decision:
    """Compare all that the gold answer may mean with all that the answer may mean."""
    first: Decision | None = None
    golds, answers = gold.values, answer.values
    if _is_moment(golds):  # 2:30 and 2020-03-04 are no calculations
        bare = isinstance(golds[0], Moment) and golds[0].kind == "time" and golds[0].half is None
        if bare and any(isinstance(v, Proportion) and v in golds for v in answers):
            return Decision(True, "ratio")
        golds = golds[:1]
    for left in golds:
        for right in answers:
            comparer = Comparer(rules)
            try:
                same, rule = comparer.same(left, right)
            except Unreadable as error:
                same, rule = False, f"undecided: {error}"
            except TooLarge as error:
                same, rule = False, f"too large: {error}"
            decision = Decision(same, rule, "", tuple(comparer.obligations) if same else ())
            if same and not decision.obligations:
                return decision
            if first is None or (same and not first.right) or first.rule == "type":
                first = decision
    return first or Decision(False, "unreadable", answer.complaint or "it is not understood")


def _is_moment(values: list[Value]) -> bool:
    return bool(values) and isinstance(values[0], Moment)


class Comparer(Lists, Equations):
    """Compares two values under the rules; one a pair, for it counts the work."""

    def same(self, gold: Value, answer: Value) -> tuple[bool, str]:
        """Return whether two values are the same, and the rule that says so."""
        rule = _RULES.get((type(gold), type(answer)))
        if isinstance(gold, Family) and isinstance(answer, Scalar | Equation):
            explicit = not gold.letter and (isinstance(answer, Scalar) or bool(answer.name))
            return explicit and self.family_and_formula(gold, answer), "family"
        if rule is None and isinstance(answer, Listing) and len(answer.items) == 1:
            return self.same(gold, answer.items[0])
        if isinstance(gold, Scalar) and isinstance(answer, Listing) and not answer.left:
            # "3/4 or 0.75": one value said twice
            said = [isinstance(i, Scalar) and self.scalars(gold, i)[0] for i in answer.items]
            return len(said) > 1 and all(said) and not any(answer.names), "said twice"
        if rule is None and isinstance(gold, Listing) and len(gold.items) == 1:
            return self.same(gold.items[0], answer)
        if rule is None:
            return False, "type"
        return rule(self, gold, answer)

    def proportions(self, gold: Proportion, answer: Proportion) -> tuple[bool, str]:
        """Compare ratios up to a common factor."""
        if len(gold.parts) != len(answer.parts) or not gold.parts[0].num or not answer.parts[0].num:
            return False, "ratio"
        a, b = gold.parts[0], answer.parts[0]
        return all(
            self.equal(self.algebra.multiply(x, b), self.algebra.multiply(y, a))
            for x, y in zip(gold.parts, answer.parts, strict=True)
        ), "ratio"

    def proportion_and_scalar(self, gold: Value, answer: Value) -> tuple[bool, str]:
        """Compare "1:2" with 1/2."""
        ratio, scalar = (gold, answer) if isinstance(gold, Proportion) else (answer, gold)
        assert isinstance(ratio, Proportion)
        assert isinstance(scalar, Scalar)
        if len(ratio.parts) != 2 or scalar.unit is not None:
            return False, "ratio"
        quotient = Scalar(self.algebra.divide(*ratio.parts))
        pair = (quotient, scalar) if ratio is gold else (scalar, quotient)
        return self.numbers(*pair)[0], "ratio"

    def options(self, gold: Option, answer: Option) -> tuple[bool, str]:
        """Compare the letters of a choice."""
        same = gold.letter == answer.letter or (
            answer.marked and gold.letter == answer.letter.upper() and gold.letter <= "J"
        )
        if same and gold.rest and answer.rest:
            same = decide(read(gold.rest), read(answer.rest), self.rules).right
        return same, "choice"

    def option_and_value(self, gold: Value, answer: Value) -> tuple[bool, str]:
        """Compare "(C) 12" with 12."""
        option, value = (gold, answer) if isinstance(gold, Option) else (answer, gold)
        assert isinstance(option, Option)
        if not option.rest:
            return False, "type"
        inner = Reading("", [value])
        pair = (read(option.rest), inner) if option is gold else (inner, read(option.rest))
        return decide(*pair, self.rules).right, "choice by value"

    def prose(self, gold: Prose, answer: Prose) -> tuple[bool, str]:
        """Compare words."""
        return gold.text == answer.text, "text"

    def moments(self, gold: Moment, answer: Moment) -> tuple[bool, str]:
        """Compare dates and times of day."""
        return same_moment(gold, answer), "moment"


Rule = Callable[[Comparer, Any, Any], tuple[bool, str]]


_RULES: dict[tuple[type, type], Rule] = {
    (Scalar, Scalar): Comparer.scalars,
    (Equation, Equation): Comparer.equations,
    (Scalar, Equation): Comparer.value_of_equation,
    (Listing, Equation): Comparer.value_of_equation,
    (Equation, Scalar): Comparer.equation_of_value,
    (Equation, Listing): Comparer.equation_of_value,
    (Comparison, Comparison): Comparer.comparisons,
    (Listing, Listing): Comparer.listings,
    (RealSet, RealSet): Comparer.sets,
    (RealSet, Listing): Comparer.pair_and_set,
    (Listing, RealSet): Comparer.pair_and_set,
    (RealSet, Scalar): Comparer.sets,
    (Family, Family): Comparer.families,
    (Grid, Grid): Comparer.grids,
    (Grid, Listing): Comparer.grid_and_listing,
    (Listing, Grid): Comparer.grid_and_listing,
    (Proportion, Proportion): Comparer.proportions,
    (Proportion, Scalar): Comparer.proportion_and_scalar,
    (Scalar, Proportion): Comparer.proportion_and_scalar,
    (Option, Option): Comparer.options,
    **{(Option, kind): Comparer.option_and_value for kind in (Scalar, Prose, Listing, Equation)},
    **{(kind, Option): Comparer.option_and_value for kind in (Scalar, Prose, Listing, Equation)},
    (Prose, Prose): Comparer.prose,
    (Moment, Moment): Comparer.moments,
}
