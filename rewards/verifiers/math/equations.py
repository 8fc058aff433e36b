"""Whether two equations or inequalities say the same."""

from __future__ import annotations

from fractions import Fraction

from rewards.verifiers.math import numeric
from rewards.verifiers.math.forms import (
    Atom,
    Form,
    Monomial,
    Polynomial,
    rational,
)
from rewards.verifiers.math.numbers import Numbers
from rewards.verifiers.math.values import (
    Comparison,
    Equation,
    Scalar,
    Value,
)


class Equations(Numbers):
    """Compares equations up to a factor, definitions by what they define."""

    def equations(self, gold: Equation, answer: Equation) -> tuple[bool, str]:
        """Compare two equations: definitions by their right sides, all others up to a factor."""
        if gold.name and answer.name:
            if gold.name != answer.name and not _both_define(gold, answer):
                return self.up_to_factor(gold, answer) if _explicit(gold) else (False, "name")
            if self.equal_definitions(gold, answer):
                return True, "definition"
        return self.up_to_factor(gold, answer)

    def equal_definitions(self, gold: Equation, answer: Equation) -> bool:
        """Compare what two equations define, whatever their argument is called."""
        if gold.body is not None and answer.body is not None:
            return self.equal(gold.body, answer.body)
        pair = (Scalar(e.sides[1], term=e.term) for e in (gold, answer))
        return self.scalars(*pair)[0]

    def up_to_factor(self, gold: Equation, answer: Equation) -> tuple[bool, str]:
        """Compare `left - right` of two equations up to a factor that is a constant."""
        p, q = (self._cleared(e) for e in (gold, answer))
        if not p or not q:
            return not p and not q, "equation"
        return self._proportional(p, q) is not None, "equation"

    def _cleared(self, equation: Equation) -> Polynomial:
        gap = self.algebra.difference(*equation.sides)
        lowest: dict[Atom, int | Fraction] = {}
        for mono in gap:
            for atom, exponent in mono:
                if atom.kind in ("x", "call") and exponent < lowest.get(atom, 0):
                    lowest[atom] = exponent
        if not lowest:
            return gap
        factor = self.algebra.product(Fraction(1), {a: -e for a, e in lowest.items()})
        return self.algebra.multiply(Form(gap, factor.den), factor).num

    def _proportional(self, p: Polynomial, q: Polynomial) -> Form | None:
        """Return q / p if it is constant, else None."""
        head = max((_unknown_part(m) for m in p), key=_weight)
        top, low = (_coefficient(poly, head) for poly in (q, p))
        if not top:
            return None
        one = rational(1).den
        left = self.algebra.multiply(Form(q, one), Form(low, one))
        right = self.algebra.multiply(Form(p, one), Form(top, one))
        if not self.equal(left, right):
            return None
        return self.algebra.divide(Form(top, one), Form(low, one))

    def value_of_equation(self, gold: Value, answer: Equation) -> tuple[bool, str]:
        """Compare a value with "x = value"."""
        if not answer.name or not self.policy.bare_value:
            return False, "type"
        if (
            isinstance(gold, Scalar)
            and answer.name in gold.form.symbols()
            and gold.form != answer.sides[1]
        ):
            return False, "type"
        if isinstance(gold, Scalar) and gold.name not in ("", answer.name):
            return False, "name"
        same, rule = self.same(
            gold,
            Scalar(
                answer.sides[1],
                term=answer.term,
                name=gold.name if isinstance(gold, Scalar) else "",
            ),
        )
        return same, "named value" if same else rule

    def equation_of_value(self, gold: Equation, answer: Value) -> tuple[bool, str]:
        """Compare "x = value" with a value."""
        if not gold.name or not self.policy.bare_value:
            return False, "type"
        name = answer.name if isinstance(answer, Scalar) else ""
        if name not in ("", gold.name):
            return False, "name"
        same, rule = self.same(Scalar(gold.sides[1], term=gold.term, name=name), answer)
        return same, "named value" if same else rule

    def comparisons(self, gold: Comparison, answer: Comparison) -> tuple[bool, str]:
        """Compare inequalities up to positive factors."""
        if len(gold.parts) != len(answer.parts):
            return False, "inequality"
        rest = list(answer.parts)
        for operator, form in gold.parts:
            for k, (other, candidate) in enumerate(rest):
                if operator == other and self._same_sign(form, candidate, operator):
                    del rest[k]
                    break
            else:
                return False, "inequality"
        return True, "inequality"

    def _same_sign(self, a: Form, b: Form, operator: str) -> bool:
        if not a.num or not b.num:
            return not a.num and not b.num
        if a.den != b.den:
            return self.equal(a, b)
        before = len(self.obligations)
        ratio = self._proportional(a.num, b.num)  # nothing is cleared: its sign is unknown
        if ratio is not None and (operator == "!=" or numeric.sign(ratio) > 0):
            return True
        del self.obligations[before:]
        return False


def _both_define(gold: Equation, answer: Equation) -> bool:
    """Whether "y = ..." and "f(x) = ...", or "P(x) = ..." and "p(x) = ...", define the same."""
    if gold.body is not None and answer.body is not None:
        return gold.name.casefold() == answer.name.casefold()
    one = {gold.name, answer.name}
    return "y" in one and (gold.body or answer.body) is not None


def _explicit(equation: Equation) -> bool:
    return bool(equation.sides[1].symbols())


def _unknown_part(mono: Monomial) -> Monomial:
    return tuple((a, e) for a, e in mono if a.kind not in ("n", "pi", "U"))


def _weight(mono: Monomial) -> tuple[object, ...]:
    return (sum(max(e, -e) for _, e in mono), tuple((a.kind, a.key, e) for a, e in mono))


def _coefficient(poly: Polynomial, head: Monomial) -> Polynomial:
    kept = {}
    for mono, value in poly.items():
        if _unknown_part(mono) == head:
            kept[tuple((a, e) for a, e in mono if a.kind in ("n", "pi", "U"))] = value
    return kept
