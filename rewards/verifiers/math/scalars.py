"""Single values: numbers and formulas with their units, matrices, and sums of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

from rewards.verifiers.math.algebra import Algebra
from rewards.verifiers.math.branches import branches
from rewards.verifiers.math.evaluate import Evaluator
from rewards.verifiers.math.forms import Form, rational
from rewards.verifiers.math.realsets import Line
from rewards.verifiers.math.sides import literal
from rewards.verifiers.math.terms import (
    Apply,
    Matrix,
    Measured,
    Number,
    Term,
    Unreadable,
)
from rewards.verifiers.math.units import comparable
from rewards.verifiers.math.values import (
    Grid,
    Listing,
    Scalar,
    Value,
)


class Scalars(ABC):
    """Turns terms into single values; what turns them into others is in the subclasses."""

    def __init__(self, log_base: int | None = None, *, gold: bool = False) -> None:
        self.gold = gold
        self.algebra = Algebra()
        self.evaluator = Evaluator(self.algebra, log_base=log_base)
        self.line = Line(self.algebra)

    @abstractmethod
    def value(self, term: Term) -> Value:
        """Return what a term stands for."""

    def _scalar(self, term: Term) -> Value:
        choices = list(branches(term))
        if len(choices) > 1:
            return Listing(tuple(self._scalar(choice) for choice in choices))
        match term:
            case Measured(value, unit):
                inner = self._scalar(value)
                if isinstance(inner, Scalar) and inner.unit is None:
                    return Scalar(inner.form, unit, inner.places, inner.digits)
                if isinstance(inner, Scalar) and inner.unit == unit:  # "$5 dollars"
                    return inner
                if isinstance(inner, Scalar):
                    raise Unreadable("two units in a row")
            case Apply("neg", (Measured(value, unit),)):
                return self._scalar(Measured(Apply("neg", (value,)), unit))
            case Apply("compound" | "+" as head, args) if any(map(_is_measured, args)):
                return self._compound(args, sums=head == "+")
            case Apply("base", (_, Number(radix))):
                return Scalar(self.evaluator.form(term), base=int(radix))
        form = self.evaluator.form(term)
        number = literal(term)
        if number is None:
            return Scalar(form, term=term)
        return Scalar(form, None, number.places, number.digits)

    def _compound(self, args: tuple[Term, ...], *, sums: bool = False) -> Value:
        """Add up "5 ft 3 in"; the result is in the first unit."""
        parts = [self._scalar(arg) for arg in args]
        units = [p.unit for p in parts if isinstance(p, Scalar) and p.unit is not None]
        first = units[0]
        if all(u.dimension == (("angle", 1),) for u in units) and len(units) < len(parts):
            return Scalar(self.evaluator.form(Apply("+", args)))
        last = args[-1]
        if len(units) == 1 and isinstance(last, Measured):  # 18 + 2 pi cm
            return self._scalar(Measured(Apply("+", (*args[:-1], last.value)), last.unit))
        if len(units) < len(parts) or not all(comparable(first, u) for u in units):
            raise Unreadable("quantities of different units in one sum")
        if any(a.factor <= b.factor for a, b in pairwise(units)) and not sums:
            raise Unreadable("quantities in a row that are no sum")
        total = rational(0)
        for part in parts:
            assert isinstance(part, Scalar)
            assert part.unit is not None
            ratio = rational(part.unit.factor / first.factor)
            total = self.algebra.add(total, self.algebra.multiply(part.form, ratio))
        return Scalar(total, first)

    # ---- matrices ----------------------------------------------------------------------------

    def _has_matrix(self, term: Term) -> bool:
        return isinstance(term, Apply) and any(
            (isinstance(a, Matrix) and a.style != "vmatrix") or self._has_matrix(a)
            for a in term.args
        )

    def _matrix(self, term: Term) -> Grid:
        """Work out sums and multiples of matrices."""
        match term:
            case Matrix():
                return Grid(tuple(tuple(map(self.evaluator.form, row)) for row in term.rows))
            case Apply("neg", (inner,)):
                return self._scaled(self._matrix(inner), rational(-1))
            case Apply("/", (top, low)) if self._has_matrix(top) or isinstance(top, Matrix):
                factor = self.algebra.invert(self.evaluator.form(low))
                return self._scaled(self._matrix(top), factor)
            case Apply("*", args):
                grids = [a for a in args if isinstance(a, Matrix) or self._has_matrix(a)]
                if len(grids) == 1:
                    rest = [self.evaluator.form(a) for a in args if a is not grids[0]]
                    return self._scaled(self._matrix(grids[0]), self.algebra.multiply(*rest))
            case Apply("+", args):
                grids_ = [self._matrix(a) for a in args]
                if len({(len(g.rows), len(g.rows[0])) for g in grids_}) == 1:
                    return self._added(grids_)
        raise Unreadable("a product of matrices")

    def _scaled(self, grid: Grid, factor: Form) -> Grid:
        rows = (tuple(self.algebra.multiply(c, factor) for c in row) for row in grid.rows)
        return Grid(tuple(rows))

    def _added(self, grids: list[Grid]) -> Grid:
        total = grids[0]
        for grid in grids[1:]:
            pairs = zip(total.rows, grid.rows, strict=True)
            total = Grid(tuple(tuple(map(self.algebra.add, a, b)) for a, b in pairs))
        return total


def _is_measured(term: Term) -> bool:
    return isinstance(term, Measured) or (
        isinstance(term, Apply) and term.head == "neg" and isinstance(term.args[0], Measured)
    )
