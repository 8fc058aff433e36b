"""Sets of real numbers: intervals, bounds and finite sets brought to one form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key

from rewards.verifiers.math import numeric
from rewards.verifiers.math.algebra import Algebra
from rewards.verifiers.math.forms import Form, surely_nonzero
from rewards.verifiers.math.terms import TooLarge, Unreadable
from rewards.verifiers.math.values import Interval, Listing, RealSet, Scalar, Value

MAX_INTERVALS = 64


class Line:
    """The real line: orders endpoints exactly, and combines sets of them."""

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra

    def order(self, a: Form, b: Form) -> int:
        """Return -1, 0 or 1 as a is below, equal to or above b.

        Raises:
            Unreadable: If an unknown decides.
        """
        gap = self._algebra.subtract(a, b)
        if not gap.num:
            return 0
        if sign := numeric.sign(gap):
            return sign
        if not gap.symbols() and not surely_nonzero(self._algebra.difference(a, b)):
            return 0  # equal to 45 digits; no two endpoints of one answer are that close
        raise Unreadable("bounds whose order is unknown")

    def interval(self, low: Form | None, high: Form | None, closed: tuple[bool, bool]) -> RealSet:
        """Return one interval; empty if its bounds are reversed."""
        if low is not None and high is not None:
            if low.symbols() or high.symbols():
                return RealSet((Interval(low, high, closed),))
            order = self.order(low, high)
            if order > 0 or (order == 0 and not all(closed)):
                raise Unreadable("an interval whose bounds are reversed")
        closed = (closed[0] and low is not None, closed[1] and high is not None)
        return RealSet((Interval(low, high, closed),))

    def points(self, values: Iterable[Form]) -> RealSet:
        """Return a finite set."""
        return self.union(RealSet(tuple(Interval(v, v, (True, True)) for v in values)))

    def union(self, *sets: RealSet) -> RealSet:
        """Return the union, merged."""
        intervals = [i for s in sets for i in s.intervals]
        if len(intervals) > MAX_INTERVALS:
            raise TooLarge(f"it is a union of more than {MAX_INTERVALS} intervals")
        if len(intervals) < 2:
            return RealSet(tuple(intervals))
        intervals.sort(key=cmp_to_key(self._by_low))
        merged = [intervals[0]]
        for interval in intervals[1:]:
            if self._touches(merged[-1], interval):
                merged[-1] = self._joined(merged[-1], interval)
            else:
                merged.append(interval)
        return RealSet(tuple(merged))

    def complement(self, reals: RealSet) -> RealSet:
        """Return all real numbers that are not in it."""
        pieces: list[Interval] = []
        low: Form | None = None
        closed, open_left = False, True
        for interval in self.union(reals).intervals:
            if interval.low is not None:
                right = not interval.closed[0]
                if open_left:
                    pieces.append(Interval(None, interval.low, (False, right)))
                elif low is not None:
                    pieces += self.interval(low, interval.low, (closed, right)).intervals
            low, closed, open_left = interval.high, not interval.closed[1], False
            if low is None:
                return RealSet(tuple(pieces))
        pieces.append(Interval(low, None, (closed and low is not None, False)))
        return RealSet(tuple(pieces))

    def intersection(self, *sets: RealSet) -> RealSet:
        """Return the intersection, by De Morgan."""
        if len(sets) == 1:
            return sets[0]
        return self.complement(self.union(*(self.complement(s) for s in sets)))

    def same(self, a: RealSet, b: RealSet, equal: Callable[[Form, Form], bool]) -> bool:
        """Whether two sets are equal, given how endpoints are compared."""
        if len(a.intervals) != len(b.intervals):
            return False
        return all(
            x.closed == y.closed and _both(x.low, y.low, equal) and _both(x.high, y.high, equal)
            for x, y in zip(a.intervals, b.intervals, strict=True)
        )

    def _by_low(self, a: Interval, b: Interval) -> int:
        if a.low is None or b.low is None:
            return (a.low is not None) - (b.low is not None)
        return self.order(a.low, b.low) or b.closed[0] - a.closed[0]

    def _touches(self, a: Interval, b: Interval) -> bool:
        if a.high is None or b.low is None:
            return True
        order = self.order(a.high, b.low)
        return order > 0 or (order == 0 and (a.closed[1] or b.closed[0]))

    def _joined(self, a: Interval, b: Interval) -> Interval:
        if a.high is None or b.high is None:
            return Interval(a.low, None, (a.closed[0], False))
        order = self.order(a.high, b.high)
        closed = a.closed[1] or b.closed[1] if order == 0 else (a if order > 0 else b).closed[1]
        return Interval(a.low, a.high if order >= 0 else b.high, (a.closed[0], closed))


def _both(a: Form | None, b: Form | None, equal: Callable[[Form, Form], bool]) -> bool:
    if a is None or b is None:
        return a is b
    return equal(a, b)


def as_set(value: Value, line: Line) -> RealSet:
    """Return a value as a set of real numbers.

    Raises:
        Unreadable: If it is none.
    """
    if isinstance(value, RealSet):
        return value
    if isinstance(value, Scalar) and value.unit is None:
        return line.points([value.form])
    if isinstance(value, Listing) and (interval := as_interval(value, line)) is not None:
        return interval
    if isinstance(value, Listing) and value.left in ("{", ""):
        forms = [v.form for v in value.items if isinstance(v, Scalar)]
        if len(forms) == len(value.items):
            return line.points(forms)
    raise Unreadable("what is no set of real numbers")


def as_interval(value: Listing, line: Line) -> RealSet | None:
    """Return a pair in round or square brackets as an interval, None for any other list."""
    if value.left not in ("(", "[") or value.right not in (")", "]") or len(value.items) != 2:
        return None
    low, high = value.items
    if not (isinstance(low, Scalar) and isinstance(high, Scalar)) or low.unit or high.unit:
        return None
    return line.interval(low.form, high.form, (value.left == "[", value.right == "]"))
