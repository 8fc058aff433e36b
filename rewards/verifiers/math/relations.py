"""Equations and inequalities."""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise

from rewards.verifiers.math import numeric
from rewards.verifiers.math.algebra import Algebra
from rewards.verifiers.math.forms import Form, rational, symbol
from rewards.verifiers.math.scalars import Scalars
from rewards.verifiers.math.sides import (
    is_infinite,
    is_label,
    name_of,
    named,
    rounds_to,
    unknown,
)
from rewards.verifiers.math.terms import (
    Apply,
    Group,
    Matrix,
    Relation,
    Symbol,
    Term,
    Unreadable,
)
from rewards.verifiers.math.values import (
    Comparison,
    Equation,
    Family,
    Interval,
    Listing,
    RealSet,
    Scalar,
    Value,
)


class Relations(Scalars):
    """Turns relations into values."""

    @abstractmethod
    def _as_set(self, value: Value) -> RealSet: ...

    def _relation(self, term: Relation) -> Value:
        operators = set(term.operators)
        if operators <= {"="}:
            return self._equation(term)
        if operators <= {"=", "~"}:
            return self._approximation(term)
        if operators == {"in"} and len(term.sides) == 2:
            inside = self.value(term.sides[1])
            return (
                RealSet(inside.intervals, name_of(term)) if isinstance(inside, RealSet) else inside
            )
        if operators == {"notin"} and len(term.sides) == 2:
            excluded = self._as_set(self.value(term.sides[1]))
            return RealSet(self.line.complement(excluded).intervals, name_of(term))
        if operators == {"mod"}:
            return self._congruence(term)
        if operators <= {"<", ">", "<=", ">=", "!="}:
            return self._inequality(term)
        raise Unreadable(f"a relation by {term.operators[0]!r}")

    def _equation(self, term: Relation) -> Value:
        left, *others = term.sides
        name, argument = named(left)
        if len(others) == 1 and not name and not is_label(left) and named(others[0])[0]:
            left, others = others[0], [left]  # "3 = t"
            name, argument = named(left)
        if len(others) == 1 and not name and is_label(left) and not is_label(others[0]):
            return self.value(others[0])
        if name == "" and isinstance(left, Symbol) and left.name == "":  # "= 5"
            return self.value(others[-1])
        if isinstance(left, Group) and left.left == "(" and len(left.items) > 1:
            value = self.value(others[-1])
            names = tuple(named(i)[0] for i in left.items)
            if isinstance(value, Listing) and len(value.items) == len(names):
                return Listing(value.items, value.left, value.right, names)
            return value
        if name and len(others) == 1:
            value = self.value(others[0])
            if not isinstance(value, Scalar):
                return self._renamed(value, name)
            if value.unit or value.places is not None or value.base:
                return self._renamed(value, name)
            return self._definition(left, others[0], name, argument)
        if isinstance(others[-1], Group | Matrix) and name:
            return self.value(others[-1])
        start = 1 if name else 0
        values = [self._plain_scalar(side) for side in term.sides[start:]]
        self._must_agree(values)
        if len(term.sides) == 2 and any(v.form.symbols() for v in values):
            return Equation((values[0].form, values[1].form))
        if name:
            best = values[0] if values[-1].unit is None and values[0].unit else values[-1]
            if best.unit or best.places is not None:
                return best
            return self._definition(left, term.sides[-1], name, argument)
        return values[-1]

    def _definition(self, left: Term, right: Term, name: str, argument: str) -> Equation:
        body = self.evaluator.form(right, {argument: symbol("#")}) if argument else None
        return Equation((self._side(left), self.evaluator.form(right)), name, body)

    def _renamed(self, value: Value, name: str) -> Value:
        if isinstance(value, Listing) and not value.names and not value.left:
            return Listing(value.items, "", "", (name,) * len(value.items))
        if isinstance(value, RealSet):
            return RealSet(value.intervals, name)
        return value

    def _side(self, term: Term) -> Form:
        try:
            return self.evaluator.form(term)
        except Unreadable:
            return rational(0)

    def _plain_scalar(self, term: Term) -> Scalar:
        value = self._scalar(term)
        if not isinstance(value, Scalar):
            raise Unreadable("a chain of equalities of what is no single value")
        return value

    def _must_agree(self, values: list[Scalar]) -> None:
        """Refuse "3 = 2": constants that are set equal and are not.

        Raises:
            Unreadable: If an equation of constants is false.
        """
        for a, b in pairwise(values):
            if a.form.symbols() or b.form.symbols() or a.unit or b.unit:
                continue
            if self.algebra.difference(a.form, b.form) and not rounds_to(a, b):
                raise Unreadable(f"the false equation {a} = {b}")

    def _approximation(self, term: Relation) -> Value:
        r"""Read `\sqrt{3}/3 \approx 0.577`: the exact side counts, and the other must agree."""
        sides = [s for s in term.sides if not (isinstance(s, Symbol) and s.name == "")]
        if len(sides) > 1 and named(sides[0])[0]:
            sides = sides[1:]
        values = [self._plain_scalar(side) for side in sides]
        exact = [v for v in values if v.places is None] or values
        best = exact[0]
        for other in values:
            if other is not best and not rounds_to(best, other) and not best.unit:
                raise Unreadable(f"{other} is not about {best}")
        if len(values) > 1 and best.places is None:
            last = values[-1]
            return Scalar(
                best.form, best.unit or last.unit, claim=last.form, claim_places=last.places
            )
        return best

    def _congruence(self, term: Relation) -> Value:
        r"""Read `x \\equiv 3 \\pmod 7` as the family 3 + 7k."""
        _, *residues, modulus = term.sides
        step = self.evaluator.form(modulus)
        items = residues[0].items if isinstance(residues[0], Group) else residues
        return Family(tuple((self.evaluator.form(item), step) for item in items))

    # ---- inequalities ------------------------------------------------------------------------

    def _inequality(self, term: Relation) -> Value:
        sides, operators = term.sides, term.operators
        if isinstance(sides[0], Symbol) and sides[0].name == "":  # "> 12"
            return self._half_line(operators[0], self.evaluator.form(sides[1]), "")
        if any(isinstance(side, Apply) and side.head == "abs" for side in sides):
            return self._absolute_bounds(term)
        unknowns = {unknown(side) for side in sides} - {""}
        forms = [None if is_infinite(side) else self.evaluator.form(side) for side in sides]
        names = {name for f in forms if f is not None for name in f.unknowns()}
        if len(names) == 1 and len(unknowns) == 1 and (name := next(iter(names))) in unknowns:
            bounds = self._solve_bounds(sides, operators, forms, name)
            if bounds is not None:
                return bounds
        parts: list[tuple[str, Form]] = []
        for k, operator in enumerate(operators):
            left, right = forms[k], forms[k + 1]
            if left is None or right is None:
                continue
            parts.append(_oriented(operator, self.algebra.subtract(left, right), self.algebra))
        if len(names) == 1 and parts:
            name = next(iter(names))
            solved = [self._linear(part, name) for part in parts]
            known = [s for s in solved if s is not None]
            if len(known) == len(parts):
                return RealSet(self.line.intersection(*known).intervals, name)
        return Comparison(tuple(parts))

    def _solve_bounds(
        self,
        sides: tuple[Term, ...],
        operators: tuple[str, ...],
        forms: list[Form | None],
        name: str,
    ) -> RealSet | None:
        sets: list[RealSet] = []
        for k, operator in enumerate(operators):
            left, right = sides[k], sides[k + 1]
            if unknown(left) == name:
                bound, op = forms[k + 1], operator
            elif unknown(right) == name:
                bound, op = forms[k], _FLIPPED[operator]
            else:
                return None
            if bound is None:
                continue
            if bound.symbols():
                return None
            sets.append(self._half_line(op, bound, name))
        if not sets:
            return RealSet((Interval(None, None),), name)
        return RealSet(self.line.intersection(*sets).intervals, name)

    def _absolute_bounds(self, term: Relation) -> Value:
        """Read |x| < 2 as -2 < x < 2, and |x| > 2 as its complement."""
        sets: list[RealSet] = []
        for k, operator in enumerate(term.operators):
            left, right = term.sides[k], term.sides[k + 1]
            if isinstance(right, Apply) and right.head == "abs":
                left, right, operator = right, left, _FLIPPED[operator]
            if not (isinstance(left, Apply) and left.head == "abs"):
                raise Unreadable("an inequality of absolute values")
            inside = left.args[0]
            closed = "=" if operator in ("<=", ">") else ""
            between = self._relation(
                Relation(("<" + closed, "<" + closed), (Apply("neg", (right,)), inside, right))
            )
            if not isinstance(between, RealSet):
                return Comparison(((operator, self._gap(left, right)),))
            name = between.name
            sets.append(between if operator[0] == "<" else self.line.complement(between))
        return RealSet(self.line.intersection(*sets).intervals, name)

    def _gap(self, left: Term, right: Term) -> Form:
        return self.algebra.subtract(self.evaluator.form(left), self.evaluator.form(right))

    def _half_line(self, operator: str, bound: Form, name: str) -> RealSet:
        if operator == "!=":
            outside = self.line.complement(self.line.points([bound]))
            return RealSet(outside.intervals, name)
        closed = operator in ("<=", ">=")
        if operator[0] == "<":
            return RealSet((Interval(None, bound, (False, closed)),), name)
        return RealSet((Interval(bound, None, (closed, False)),), name)

    def _linear(self, part: tuple[str, Form], name: str) -> RealSet | None:
        """Solve `a x + b < 0` for x."""
        operator, form = part
        if form.den != rational(1).den:
            return None
        slope, rest = {}, {}
        for mono, coefficient in form.num.items():
            held = {a.key: e for a, e in mono if a.kind == "x"}
            if not held:
                rest[mono] = coefficient
            elif held == {name: 1}:
                slope[tuple(p for p in mono if p[0].kind != "x")] = coefficient
            else:
                return None
        if not slope:
            return None
        top, low = Form(rest, form.den), Form(slope, form.den)
        sign = numeric.sign(low)
        if not sign or low.symbols() or top.symbols():
            return None
        bound = self.algebra.negate(self.algebra.divide(top, low))
        return self._half_line(operator if sign > 0 else _FLIPPED[operator], bound, name)


_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}


def _oriented(operator: str, form: Form, algebra: Algebra) -> tuple[str, Form]:
    """Write every comparison as `form < 0`, `form <= 0` or `form != 0`."""
    if operator[0] == ">":
        return _FLIPPED[operator], algebra.negate(form)
    return operator, form
