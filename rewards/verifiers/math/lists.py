"""Whether two lists, sets, intervals, families or matrices are the same."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd

from rewards.verifiers.math.forms import (
    ONE,
    PI_FORM,
    Atom,
    Form,
    rational,
)
from rewards.verifiers.math.numbers import Numbers
from rewards.verifiers.math.realsets import as_interval, as_set
from rewards.verifiers.math.values import (
    Equation,
    Family,
    Grid,
    Listing,
    RealSet,
    Scalar,
    Value,
)

_ORDERED = frozenset("([<")
MAX_FAMILY = 64


class Lists(Numbers):
    """Compares whatever has members."""

    def listings(self, gold: Listing, answer: Listing) -> tuple[bool, str]:
        """Compare lists: tuples in order, sets and bare lists in any."""
        if intervals := self._as_intervals(gold, answer):
            return intervals
        if not self._brackets_agree(gold, answer):
            return False, "brackets"
        if any(gold.names) and any(answer.names) and set(gold.names) != set(answer.names):
            return False, "name"
        if _distinct(answer.names) and not gold.names and gold.left in _ORDERED:
            answer = _alphabetical(answer)
        if _distinct(gold.names) and _distinct(answer.names):
            return self._by_name(gold, answer), "named values"
        ordered = self.rules.ordered
        if ordered is None:
            either = gold.left in _ORDERED or answer.left in _ORDERED
            bare = not gold.left and not answer.left
            ordered = (either and not (gold.is_set or answer.is_set)) or (
                bare and _distinct(gold.names) and not answer.names
            )
        if ordered:
            if len(gold.items) != len(answer.items):
                return False, "tuple"
            pairs = zip(gold.items, answer.items, strict=True)
            return all(self._quietly(x, y) for x, y in pairs), "tuple"
        return self._same_members(gold.items, answer.items), "set"

    def _as_intervals(self, gold: Listing, answer: Listing) -> tuple[bool, str] | None:
        """Tell [1, 2] from (1, 2), which may be intervals."""
        mixed = (gold.left, gold.right) != (answer.left, answer.right)
        if not mixed or "[" not in (gold.left, answer.left):
            return None
        both = gold.left and answer.left and gold.left in "([" and answer.left in "(["
        if both and len(gold.items) == len(answer.items) == 2:
            return False, "brackets"
        return None

    def _brackets_agree(self, gold: Listing, answer: Listing) -> bool:
        kinds = [_bracket_kind(listing) for listing in (gold, answer)]
        if "" in kinds:
            return self.policy.brackets or kinds == ["", ""]
        return kinds[0] == kinds[1]

    def _by_name(self, gold: Listing, answer: Listing) -> bool:
        given = dict(zip(answer.names, answer.items, strict=True))
        pairs = zip(gold.names, gold.items, strict=True)
        return len(given) == len(gold.names) and all(
            name in given and self._quietly(item, given[name]) for name, item in pairs
        )

    def _same_members(self, gold: Sequence[Value], answer: Sequence[Value]) -> bool:
        """Match two collections as sets, the plainly equal ones first."""
        golds, answers = (self._unique(items) for items in (gold, answer))
        if len(golds) != len(answers) or len(golds) > 200:
            return False
        left = list(answers)
        for item in golds:
            before = len(self.obligations)
            for k, candidate in enumerate(left):
                if self._quietly(item, candidate):
                    del left[k]
                    break
                del self.obligations[before:]
            else:
                return False
        return True

    def _unique(self, items: Sequence[Value]) -> list[Value]:
        found: dict[str, Value] = {}
        for item in items:
            found.setdefault(f"{type(item).__name__} {item}", item)
        return list(found.values())

    def _quietly(self, gold: Value, answer: Value) -> bool:
        return self.same(gold, answer)[0]

    def sets(self, gold: Value, answer: Value) -> tuple[bool, str]:
        """Compare sets of real numbers, of whatever spelling."""
        a, b = as_set(gold, self.line), as_set(answer, self.line)
        names = {v.name for v in (gold, answer) if isinstance(v, RealSet)} - {""}
        if len(names) > 1:
            return False, "name"
        return self.line.same(a, b, self.equal), "interval"

    def pair_and_set(self, gold: Value, answer: Value) -> tuple[bool, str]:
        """Compare a set with a list that may be an interval or a finite set."""
        listings = [v for v in (gold, answer) if isinstance(v, Listing) and v.left in ("(", "[")]
        if any(as_interval(listing, self.line) is None for listing in listings):
            return False, "type"
        return self.sets(gold, answer)

    def families(self, gold: Family, answer: Family) -> tuple[bool, str]:
        """Compare periodic families as sets."""
        if gold.domain != answer.domain or (gold.letter == answer.letter == "n"):
            return False, "family"  # a formula in n is a formula in n
        if gold.name and answer.name and gold.name != answer.name:
            return False, "name"
        if gold.domain != "integers":
            return set(map(str, gold.pairs)) == set(map(str, answer.pairs)), "family"
        if (gold.unit is None) != (answer.unit is None):
            gold, answer = (self._in_radians(f) for f in (gold, answer))
        return self._covers(gold, answer) and self._covers(answer, gold), "family"

    def family_and_formula(self, gold: Family, answer: Scalar | Equation) -> bool:
        """Compare a family with "3k + 1", whose one unknown must be an integer."""
        form = answer.form if isinstance(answer, Scalar) else answer.sides[1]
        letters = form.symbols() & {"k", "n", "m", "t"}
        if len(form.symbols()) != 1 or not letters or form.den != ONE or gold.unit:
            return False
        atom = Atom("x", next(iter(letters)))
        step = {
            tuple(p for p in m if p[0] != atom): c for m, c in form.num.items() if (atom, 1) in m
        }
        base = {m: c for m, c in form.num.items() if atom not in dict(m)}
        if not step or len(step) + len(base) != len(form.num):
            return False
        return self.families(gold, Family(((Form(base, ONE), Form(step, ONE)),)))[0]

    def _in_radians(self, family: Family) -> Family:
        if family.unit is None:
            return family
        turn = self.algebra.multiply(rational(family.unit.factor), PI_FORM)
        pairs = tuple(
            (self.algebra.multiply(base, turn), self.algebra.multiply(step, turn))
            for base, step in family.pairs
        )
        return Family(pairs)

    def _covers(self, big: Family, small: Family) -> bool:
        """Whether every member of `small` is one of `big`."""
        for base, step in small.pairs:
            periods = [self._ratio(other, step) for _, other in big.pairs]
            known = [p for p in periods if p is not None]
            if not known:
                return False
            cycle = 1
            for period in known:  # members of `small` before the pattern repeats
                cycle = cycle * period.numerator // gcd(cycle, period.numerator)
            if cycle > MAX_FAMILY:
                return False
            for k in range(cycle):
                shift = self.algebra.multiply(step, rational(k))
                member = self.algebra.add(base, shift)
                if not any(self._belongs(member, pair) for pair in big.pairs):
                    return False
        return True

    def _ratio(self, a: Form, b: Form) -> Fraction | None:
        ratio = self.algebra.divide(a, b).constant
        return None if ratio is None else abs(ratio)

    def _belongs(self, member: Form, pair: tuple[Form, Form]) -> bool:
        base, step = pair
        times = self.algebra.divide(self.algebra.subtract(member, base), step).constant
        return times is not None and times.denominator == 1

    def grids(self, gold: Grid, answer: Grid) -> tuple[bool, str]:
        """Compare matrices cell by cell."""
        shapes = [(len(g.rows), len(g.rows[0])) for g in (gold, answer)]
        if shapes[0] != shapes[1]:
            return False, "matrix"
        pairs = [
            p for rows in zip(gold.rows, answer.rows, strict=True) for p in zip(*rows, strict=True)
        ]
        return all(self.equal(a, b) for a, b in pairs), "matrix"

    def grid_and_listing(self, gold: Value, answer: Value) -> tuple[bool, str]:
        """Compare a column or row with a tuple."""
        grid, listing = (gold, answer) if isinstance(gold, Grid) else (answer, gold)
        assert isinstance(grid, Grid)
        assert isinstance(listing, Listing)
        if _bracket_kind(listing) == "{" or min(len(grid.rows), len(grid.rows[0])) > 1:
            return self._nested_rows(grid, listing), "matrix"
        cells = [cell for row in grid.rows for cell in row]
        items = [i.form for i in listing.items if isinstance(i, Scalar)]
        if len(items) != len(listing.items) or len(items) != len(cells):
            return False, "matrix"
        return all(self.equal(a, b) for a, b in zip(cells, items, strict=True)), "matrix"

    def _nested_rows(self, grid: Grid, listing: Listing) -> bool:
        rows = [tuple(map(Scalar, row)) for row in grid.rows]
        wanted = Listing(tuple(Listing(row, "[", "]") for row in rows), "[", "]")
        return (
            len(rows) == len(listing.items)
            and all(
                isinstance(b, Listing)
                and len(b.items) == len(a.items)
                and all(self._quietly(x, y) for x, y in zip(a.items, b.items, strict=True))
                for a, b in zip(wanted.items, listing.items, strict=True)
                if isinstance(a, Listing)
            )
            and all(isinstance(b, Listing) for b in listing.items)
        )


def _bracket_kind(listing: Listing) -> str:
    if listing.left == "[" and len(listing.items) != 2:
        return ""
    return {"[": "(", "<": "(", "]": "("}.get(listing.left, listing.left)


def _distinct(names: tuple[str, ...]) -> bool:
    return len(names) > 1 and len(set(names)) == len(names) and all(names)


def _alphabetical(listing: Listing) -> Listing:
    """Order "y = 3, x = 2" as (x, y), if single letters name the values."""
    if any(len(name) > 1 for name in listing.names):
        return listing
    pairs = sorted(zip(listing.names, listing.items, strict=True), key=lambda pair: pair[0])
    names, items = zip(*pairs, strict=True)
    return Listing(items, listing.left, listing.right, names)
