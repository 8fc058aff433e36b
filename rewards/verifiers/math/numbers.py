"""Whether two numbers or formulas are equal: proved, disproved, or left as an obligation."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations

from rewards.verifiers.math import numeric
from rewards.verifiers.math.algebra import Algebra
from rewards.verifiers.math.evaluate import Evaluator
from rewards.verifiers.math.forms import (
    ONE,
    PI_FORM,
    UNITY,
    Atom,
    Form,
    is_unknown,
    rational,
    surely_nonzero,
    symbol,
)
from rewards.verifiers.math.policy import Policy
from rewards.verifiers.math.realsets import Line
from rewards.verifiers.math.units import GENERIC, Unit, comparable
from rewards.verifiers.math.values import (
    Scalar,
    Value,
)

ROUNDED_DIGITS = 3
"""Significant digits from which a decimal gold is taken to have been rounded."""
DOUBLE_DIGITS = 15
"""Significant digits from which a decimal answer is taken for the exact value it rounds."""


@dataclass(frozen=True)
class Rules:
    """What the spec says about the comparison."""

    tolerance: Fraction | None = None
    absolute: Fraction | None = None
    ordered: bool | None = None
    policy: Policy = field(default_factory=Policy)


class Numbers(ABC):
    """Compares scalars under the rules; the other types are compared in the subclasses."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.policy = rules, rules.policy
        self.algebra = Algebra()
        self.line = Line(self.algebra)
        self.obligations: list[tuple[Form, Form]] = []

    def equal(self, a: Form, b: Form) -> bool:
        """Whether two formulas are equal: proved, or left as an obligation."""
        gap = self.algebra.difference(a, b)
        if not gap:
            return True
        if surely_nonzero(gap):
            return False
        atoms = a.atoms() | b.atoms()
        unknowns = any(map(is_unknown, atoms))
        differ = numeric.nonzero(gap, unknowns=unknowns, imaginary=UNITY in atoms)
        # real nowhere, and no sum or limit that sympy might know: nothing speaks for it
        if differ or (differ is None and not any(map(is_calculus, atoms))):
            return False
        self.obligations.append((a, b))
        return True

    @abstractmethod
    def same(self, gold: Value, answer: Value) -> tuple[bool, str]:
        """Return whether two values are the same, and the rule that says so."""

    def scalars(self, gold: Scalar, answer: Scalar) -> tuple[bool, str]:
        """Compare two numbers or formulas under the policies for units, percent and rounding."""
        if gold.name != answer.name:
            if gold.name and answer.name:
                return False, "name"
            if not self.policy.bare_value:
                return False, "named value"
        left, right = (None if u == GENERIC else u for u in (gold.unit, answer.unit))
        if left is not None and right is not None:
            if not comparable(left, right):
                return False, "unit"
            return self.numbers(gold, self._converted(answer, right, left))
        if left is None and right is None:
            return self.numbers(gold, answer)
        unit = left or right
        assert unit is not None
        return self._one_unit(gold, answer, unit, on_gold=left is not None)

    def _converted(self, answer: Scalar, unit: Unit, target: Unit) -> Scalar:
        if unit == target:
            return answer
        factor = rational(unit.factor / target.factor)
        turn = unit.pi - target.pi
        if turn:
            pi = self.algebra.power(PI_FORM, rational(turn))
            factor = self.algebra.multiply(factor, pi)
        shifted = self.algebra.multiply(answer.form, factor)
        offset = (unit.offset - target.offset) / target.factor
        return replace(answer, form=self.algebra.add(shifted, rational(offset)), places=None)

    def _one_unit(
        self, gold: Scalar, answer: Scalar, unit: Unit, *, on_gold: bool
    ) -> tuple[bool, str]:
        """Compare where only one side has a unit, which may have been left out or worked in."""
        if not (unit.dimension == () or self.policy.missing_unit or _is_angle(unit)):
            return False, "unit"
        pure = unit.dimension == () or _is_angle(unit)
        plain = unit.dimension != () or unit.name == "%"  # no km/m, no arcminutes
        plain = plain and (not _is_angle(unit) or unit.factor in (1, Fraction(1, 180)))
        if pure:
            factor = rational(unit.factor)
            if unit.pi:
                factor = self.algebra.multiply(factor, PI_FORM)
            measured = gold if on_gold else answer
            worked = replace(
                measured,
                form=self.algebra.multiply(measured.form, factor),
                places=_moved(measured.places, unit),
                unit=None,
            )
            pair = (worked, answer) if on_gold else (gold, worked)
            if self.numbers(*pair)[0]:
                return True, "unit worked in"
        if unit.dimension == () and not self.policy.percent:
            return False, "percent"
        if unit.dimension == () and not _plain_percentage(gold.form.constant):
            return False, "percent"  # 0.5 % is not 0.5
        if not self.policy.missing_unit or not plain:
            return False, "unit"
        same, rule = self.numbers(gold, answer)
        return same, "unit left out" if same else rule

    def numbers(self, gold: Scalar, answer: Scalar) -> tuple[bool, str]:
        """Compare without units."""
        a, b = gold.form, answer.form
        if self.equal(a, b):
            return True, "number" if b.constant is not None else "exact"
        if self._within_tolerance(a, b):
            return True, "tolerance"
        if self.policy.rounded_gold and _rounds_to_gold(gold, answer):
            return True, "rounded gold"
        if self.policy.double_precision and (_is_double_of(a, answer) or _is_double_of(b, gold)):
            return True, "double precision"
        if self.policy.constant and self._same_up_to_constants(gold, answer):
            return True, "constant of integration"
        both = a.constant is not None and b.constant is not None
        return False, "number" if both else "exact"

    def _within_tolerance(self, a: Form, b: Form) -> bool:
        if self.rules.tolerance is None and self.rules.absolute is None:
            return False
        x, y = (numeric.rounded(form, 40) for form in (a, b))
        if x is None or y is None:
            return False
        gap = abs(x - y)
        relative, absolute = self.rules.tolerance, self.rules.absolute
        return (relative is not None and gap <= relative * abs(x)) or (
            absolute is not None and gap <= absolute
        )

    def _same_up_to_constants(self, gold: Scalar, answer: Scalar) -> bool:
        """Compare solutions whose constants of integration may go by other names."""
        ours = sorted(name for name in gold.form.symbols() if _CONSTANT.fullmatch(name))
        others = gold.form.symbols() - set(ours)
        theirs = sorted(name for name in answer.form.symbols() - others if _FREE.fullmatch(name))
        if not 0 < len(ours) == len(theirs) <= 4 or not others or answer.term is None:
            return False
        for order in permutations(ours):
            pairs = list(zip(theirs, order, strict=True))
            if not all(_may_stand_for(old, new) for old, new in pairs):
                continue
            names = {old: symbol(new) for old, new in pairs}
            renamed = Evaluator(self.algebra).form(answer.term, names)
            gap = self.algebra.subtract(gold.form, renamed)
            if not gap.num or (len(ours) == 1 and self._only_shifted(gold.form, gap, ours[0])):
                return True
        return False

    def _only_shifted(self, form: Form, gap: Form, constant: str) -> bool:
        """Whether `+ C` makes up for what two antiderivatives differ by."""
        atom = Atom("x", constant)
        uses = [mono for mono in form.num if atom in dict(mono)]
        return form.den == ONE and uses == [((atom, 1),)] and not gap.symbols()


def _may_stand_for(answer: str, gold: str) -> bool:
    """Whether a constant may be called so: a lone small c is one only beside a capital C."""
    return gold != "c" or answer in ("c", "C")


_CONSTANT = re.compile(r"C(?:_\d)?|c(?:_\d)?|K(?:_\d)?")
_FREE = re.compile(r"[ABCDKackA](?:_\d)?")


def is_calculus(atom: Atom) -> bool:
    """Whether an atom stands for a sum, product, limit or integral that was not worked out."""
    head = atom.key.partition("(")[0]
    return atom.kind == "call" and head in ("sum", "prod", "int", "lim")


def _moved(places: int | None, unit: Unit) -> int | None:
    """Return the decimals of a percentage that was divided by 100."""
    return places + 2 if places is not None and unit.factor == Fraction(1, 100) else None


def _plain_percentage(value: Fraction | None) -> bool:
    """Whether a gold answer may have lost its percent sign: 28 or 12.5, but no 0.28 and no 31/9."""
    if value is None or abs(value) < 1:
        return False
    denominator = value.denominator
    return 10**6 % denominator == 0


def _is_angle(unit: Unit) -> bool:
    return unit.dimension == (("angle", 1),)


def _rounds_to_gold(gold: Scalar, answer: Scalar) -> bool:
    """Whether a gold answer that seems rounded is what the answer rounds to."""
    places = gold.places
    if places is None or places <= 0 or gold.digits < ROUNDED_DIGITS or not answer.form.num:
        return False
    more = answer.places is None or answer.places > places
    return more and numeric.rounded(answer.form, places) == gold.form.constant


def _is_double_of(exact: Form, literal: Scalar) -> bool:
    """Whether a decimal of many digits is an exact value rounded or cut off, as doubles are."""
    value = literal.form.constant
    if literal.places is None or literal.digits < DOUBLE_DIGITS or value is None:
        return False
    fraction = exact.constant
    if fraction is not None and 10**40 % fraction.denominator == 0:
        return False  # it could have been written out
    # the last digit of a double that was computed rather than read is often wrong
    rounded = numeric.rounded(exact, literal.places)
    if rounded is None:
        return False
    # a double has 15 to 17 digits; what has more claims them all
    wrong = literal.digits - DOUBLE_DIGITS if literal.digits <= DOUBLE_DIGITS + 2 else 0
    slack = wrong - literal.places
    return bool(abs(rounded - value) <= Fraction(10) ** slack)
