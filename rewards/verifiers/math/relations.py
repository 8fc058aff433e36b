"""Equations and inequalities."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import pairwise

from rewards.verifiers.math import numeric
from rewards.verifiers.math.algebra import Algebra
from rewards.verifiers.math.forms import PI_FORM, UNIT, Form, rational, symbol
from rewards.verifiers.math.realsets import as_interval
from rewards.verifiers.math.scalars import Scalars
from rewards.verifiers.math.sides import (
    is_infinite,
    is_label,
    is_positive_infinity,
    label_key,
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
from rewards.verifiers.math.units import GENERIC, Unit, comparable
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
            return self._member(term.sides[0], self.value(term.sides[1]))
        if operators == {"notin"} and len(term.sides) == 2:
            excluded = self._as_set(self.value(term.sides[1]))
            return RealSet(self.line.complement(excluded).intervals, name_of(term))
        if operators == {"mod"}:
            return self._congruence(term)
        if operators <= {"<", ">", "<=", ">=", "!="}:
            return self._inequality(term)
        raise Unreadable(f"a relation by {term.operators[0]!r}")

    def _member(self, left: Term, inside: Value) -> Value:
        r"""Read `x \in S` as what S is."""
        if not _names(left) and not (isinstance(left, Symbol) and not left.name):
            raise Unreadable("membership of what is no unknown")
        if isinstance(inside, Listing) and inside.left in ("(", "["):
            inside = as_interval(inside, self.line) or inside
        return self._renamed(inside, named(left)[0])

    def _equation(self, term: Relation) -> Value:
        left, *others = term.sides
        if isinstance(left, Symbol) and left.name == "":  # "= 5"
            return self.value(others[-1])
        if len(others) == 1 and not _names(left) and named(others[0])[0]:
            left, others = others[0], [left]  # "3 = t"
        if isinstance(left, Group) and left.left == "(" and len(left.items) > 1:
            return self._named_tuple(left, self.value(others[-1]))
        structured = isinstance(others[0], Group | Matrix) or _is_ratio(others[0])
        if len(others) == 1 and structured and (_names(left) or _is_ratio(left)):
            return self._renamed(self.value(others[0]), named(left)[0])
        if len(others) == 1 and named(left)[0]:
            return self._named_value(left, others[0])
        values = [self._plain_scalar(side) for side in (others if _names(left) else term.sides)]
        self._must_agree(values)
        last = values[-1]
        if is_label(left) and not last.form.symbols():
            return replace(last, name=label_key(left))
        if self._is_quantity(left) and not last.form.symbols():
            return last
        if named(left)[0]:
            best = values[0] if last.unit is None and values[0].unit else last
            return (
                self._renamed(best, named(left)[0])
                if _is_shown(best)
                else self._definition(left, term.sides[-1], *named(left))
            )
        unknown_sides = [v for v in values if v.form.symbols()]
        if len(term.sides) > 2 and any(
            self.algebra.difference(a.form, b.form) for a, b in pairwise(unknown_sides)
        ):
            raise Unreadable("a chain of equations that is still to be solved")
        exact = next((v for v in values if v.places is None), last)
        if last.places is not None and last.unit is None and not exact.form.symbols():
            last = exact  # of 14/3 = 4.6667 the fraction counts
        if len(values) > 1 and not any(self.algebra.difference(v.form, last.form) for v in values):
            return last
        if len(term.sides) == 2 and any(v.form.symbols() for v in values):
            sides = [self.evaluator.form(side) for side in term.sides]
            return Equation((sides[0], sides[1]))
        return last

    def _named_tuple(self, left: Group, value: Value) -> Value:
        """Read `(p, q) = (7, 4)`."""
        names = tuple(named(i)[0] for i in left.items)
        if isinstance(value, Listing) and len(value.items) == len(names) and all(names):
            return Listing(value.items, value.left, value.right, names)
        return value

    def _named_value(self, left: Term, right: Term) -> Value:
        value = self.value(right)
        name, argument = named(left)
        if isinstance(value, Scalar) and not _is_shown(value):
            return self._definition(left, right, name, argument)
        return self._renamed(value, name)

    def quantities(self, term: Term) -> list[Value]:
        """Read `m + n = 42` as 42 too: it may say what the sum is that was asked for."""
        match term:
            case Relation(("=",), (Apply("+" | "*", args), right)) if not self.gold:
                if len({a.name for a in args if isinstance(a, Symbol)}) < len(args):
                    return []
                value = self._plain_scalar(right)
                return [] if value.form.symbols() else [value]
        return []

    def _is_quantity(self, term: Term) -> bool:
        r"""Whether a left side says what is asked for: `\\sin\\theta`, `m + n`, `\\gcd(a, b)`."""
        match term:
            case Apply("abs", _) if self.gold:
                return False
            case Apply(head, _):
                return head in QUANTITIES or head.startswith("call ")
            case Group("[", "]", (inner,)):  # [ABC] is an area
                return is_label(inner)
        return False

    def _definition(self, left: Term, right: Term, name: str, argument: str) -> Equation:
        body = self.evaluator.form(right, {argument: symbol("#")}) if argument else None
        return Equation((self._side(left), self.evaluator.form(right)), name, body, right)

    def _renamed(self, value: Value, name: str) -> Value:
        if isinstance(value, Scalar | Family):
            return replace(value, name=name)
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
        """Refuse "3 = 2", and "3 = x = 2": constants that are set equal and are not.

        Raises:
            Unreadable: If an equation of constants is false.
        """
        constants = [v for v in values if not v.form.symbols()]
        for a, b in pairwise(constants):
            x, y = self._in_numbers(a, b)
            if self.algebra.difference(x.form, y.form) and not rounds_to(x, y):
                raise Unreadable(f"it says that {a} = {b}")

    def _in_numbers(self, a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
        """Return two values without their units, if these allow a comparison."""
        if a.unit is None and b.unit is None:
            return a, b
        units = [v.unit for v in (a, b)]
        pure = [u is None or u.dimension in ((), (("angle", 1),)) for u in units]
        if all(pure):
            return self._pure(a), self._pure(b)
        if None in units:  # "2 + 3 = 5 cm"
            return replace(a, unit=None), replace(b, unit=None)
        if not comparable(units[0] or GENERIC, units[1] or GENERIC):
            raise Unreadable("an equation of different units")
        return self._pure(a), self._pure(b)

    def _pure(self, value: Scalar) -> Scalar:
        if value.unit is None:
            return value
        factor = rational(value.unit.factor)
        if value.unit.pi:
            factor = self.algebra.multiply(factor, PI_FORM)
        percent = value.unit.dimension == () and value.places is not None
        places = (value.places or 0) + 2 if percent else value.places if factor == UNIT else None
        form = self.algebra.multiply(value.form, factor)
        if places is None and value.places is not None:  # 63.4 degrees: known to half a digit
            return replace(value, form=form, unit=None, slack=factor)
        return replace(value, form=form, unit=None, places=places)

    def _approximation(self, term: Relation) -> Value:
        r"""Read `\\sqrt{3}/3 \\approx 0.577`: the exact side counts, and the other must agree."""
        sides = [s for s in term.sides if not (isinstance(s, Symbol) and s.name == "")]
        if len(sides) > 1 and _names(sides[0]):
            sides = sides[1:]
        values = [self._plain_scalar(side) for side in sides]
        best = next((v for v in values if v.places is None), values[0])
        for other in values:
            if other is not best and not rounds_to(*self._in_numbers(best, other)):
                raise Unreadable(f"{other} is not about {best}")
        return best if best.unit else replace(best, unit=_dimensioned(values[-1].unit))

    def _congruence(self, term: Relation) -> Value:
        r"""Read `x \\equiv 3 \\pmod 7` as the family 3 + 7k."""
        left, *residues, modulus = term.sides
        if not isinstance(left, Symbol) or len(residues) != 1:
            raise Unreadable("a congruence that is still to be solved")
        step = self.evaluator.form(modulus)
        items = residues[0].items if isinstance(residues[0], Group) else residues
        pairs = tuple((self.evaluator.form(item), step) for item in items)
        return Family(pairs, name=left.name)

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
                if is_positive_infinity(sides[k + 1] if unknown(left) == name else sides[k]) != (
                    op[0] == "<"
                ):
                    raise Unreadable("a bound at the wrong infinity")
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


def _names(left: Term) -> bool:
    return bool(named(left)[0]) or is_label(left)


def _is_ratio(term: Term) -> bool:
    return isinstance(term, Apply) and term.head == ":"


def _is_shown(value: Scalar) -> bool:
    """Whether a value has more to it than its form."""
    return bool(value.unit or value.base) or value.places is not None


def _dimensioned(unit: Unit | None) -> Unit | None:
    """Return the unit that counts for both sides of an approximation; no percent, no angle."""
    return None if unit is None or unit.dimension in ((), (("angle", 1),)) else unit


QUANTITIES = frozenset(
    ["sin", "cos", "tan", "cot", "sec", "csc", "gcd", "lcm", "max", "min", "det", "abs", "sum",
     "prod", "int", "lim", "log", "ln", "exp", "arg", "binom", "factorial", "mod"]
)  # fmt: skip
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}


def _oriented(operator: str, form: Form, algebra: Algebra) -> tuple[str, Form]:
    """Write every comparison as `form < 0`, `form <= 0` or `form != 0`."""
    if operator[0] == ">":
        return _FLIPPED[operator], algebra.negate(form)
    return operator, form
