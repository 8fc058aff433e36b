"""Decide whether an answer is the gold answer, type by type, exactly.

Each rule either proves equality, or proves a difference, or leaves an *obligation*: two formulas that
agree to many digits without a proof. An answer is right only if a second opinion settles all of its
obligations; digits alone never make one right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from rewards.verifiers.math import numeric
from rewards.verifiers.math.algebra import (
    UNITY,
    Algebra,
    Atom,
    Form,
    Monomial,
    Polynomial,
    rational,
    surely_nonzero,
)
from rewards.verifiers.math.clock import Moment, same_moment
from rewards.verifiers.math.policy import Policy
from rewards.verifiers.math.reading import as_interval, as_set, read
from rewards.verifiers.math.realsets import Line
from rewards.verifiers.math.terms import Unreadable
from rewards.verifiers.math.units import GENERIC, Unit, comparable
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

ROUNDED_DIGITS = 3
"""Significant digits from which a decimal gold is taken to have been rounded."""
DOUBLE_DIGITS = 15
"""Significant digits from which a decimal answer is taken for the exact value it rounds."""
MAX_FAMILY = 64


class Decision(NamedTuple):
    """Whether the answer is right, by which rule, and why, and what is still to be proved."""

    right: bool
    rule: str
    reason: str = ""
    obligations: tuple[tuple[Form, Form], ...] = ()


@dataclass(frozen=True)
class Rules:
    """What the spec says about the comparison."""

    tolerance: Fraction | None = None
    absolute: Fraction | None = None
    ordered: bool | None = None
    policy: Policy = field(default_factory=Policy)


def decide(gold: Reading, answer: Reading, rules: Rules) -> Decision:
    """Compare all that the gold answer may mean with all that the answer may mean."""
    first: Decision | None = None
    for left in gold.values:
        for right in answer.values:
            comparer = Comparer(rules)
            try:
                same, rule = comparer.same(left, right)
            except Unreadable as error:
                same, rule = False, f"undecided: {error}"
            decision = Decision(same, rule, "", tuple(comparer.obligations) if same else ())
            if same and not decision.obligations:
                return decision
            if first is None or (same and not first.right) or first.rule == "type":
                first = decision
    return first or Decision(False, "unreadable", answer.complaint or "it is not understood")


class Comparer:
    """Compares two values under the rules; one a pair, for it counts the work."""

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
        unknowns = any(atom.kind in ("x", "call") for atom in atoms)
        if numeric.nonzero(gap, unknowns=unknowns, imaginary=UNITY in atoms):
            return False
        self.obligations.append((a, b))
        return True

    def same(self, gold: Value, answer: Value) -> tuple[bool, str]:
        """Return whether two values are the same, and the rule that says so."""
        rule = _RULES.get((type(gold), type(answer)))
        if rule is None and isinstance(answer, Listing) and len(answer.items) == 1:
            return self.same(gold, answer.items[0])
        if rule is None and isinstance(gold, Listing) and len(gold.items) == 1:
            return self.same(gold.items[0], answer)
        if rule is None:
            return False, "type"
        return rule(self, gold, answer)

    # ---- numbers and formulas ----------------------------------------------------------------

    def scalars(self, gold: Scalar, answer: Scalar) -> tuple[bool, str]:
        """Compare two numbers or formulas under the policies for units, percent and rounding."""
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
            pi = self.algebra.power(_PI, rational(turn))
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
        if pure:
            factor = rational(unit.factor)
            if unit.pi:
                factor = self.algebra.multiply(factor, _PI)
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
        if not self.policy.missing_unit:
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
        if self.policy.rounded_gold and _is_rounded(gold) and gold.places is not None:
            more = answer.places is None or answer.places > gold.places
            if more and numeric.rounded(b, gold.places) == a.constant and b.constant != 0:
                return True, "rounded gold"
        if self.policy.double_precision and answer.places is not None and gold.places is None:
            enough = answer.digits >= DOUBLE_DIGITS
            if enough and _close(a, b, answer):
                return True, "double precision"
        if gold.places is not None and gold.digits >= DOUBLE_DIGITS and answer.places is None:
            if self.policy.double_precision and _close(b, a, gold):
                return True, "double precision"
        if self.policy.constant and self._same_up_to_constant(a, b):
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

    def _same_up_to_constant(self, a: Form, b: Form) -> bool:
        """Compare antiderivatives, whose constant may go by any name."""
        left, right = _constant_of_integration(a, "CcK"), _constant_of_integration(b, "CcKk")
        if left is None or right is None:
            return False
        rest_a, rest_b = (self._without(f, c) for f, c in ((a, left), (b, right)))
        return bool(rest_a.symbols()) and not self.algebra.difference(rest_a, rest_b)

    def _without(self, form: Form, atom: Atom) -> Form:
        return Form({m: c for m, c in form.num.items() if m != ((atom, 1),)}, form.den)

    # ---- equations ---------------------------------------------------------------------------

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
        left, right = gold.sides[1], answer.sides[1]
        if self.scalars(Scalar(left), Scalar(right))[0]:
            return True
        if gold.argument and answer.argument and gold.argument != answer.argument:
            mapping = {answer.argument: gold.argument}
            if gold.argument not in right.symbols():
                return self.equal(left, self.algebra.renamed(right, mapping))
        return False

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
        if isinstance(gold, Scalar) and answer.name in gold.form.symbols() and gold.form != answer.sides[1]:
            return False, "type"
        same, rule = self.same(gold, Scalar(answer.sides[1]))
        return same, "named value" if same else rule

    def equation_of_value(self, gold: Equation, answer: Value) -> tuple[bool, str]:
        """Compare "x = value" with a value."""
        if not gold.name or not self.policy.bare_value:
            return False, "type"
        same, rule = self.same(Scalar(gold.sides[1]), answer)
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
        p, q = (Equation((f, rational(0))) for f in (a, b))
        if a.den != b.den:
            return self.equal(a, b)
        before = len(self.obligations)
        ratio = self._proportional(self._cleared(p), self._cleared(q))
        if ratio is not None and (operator == "!=" or numeric.sign(ratio) > 0):
            return True
        del self.obligations[before:]
        return False

    # ---- lists, sets, intervals --------------------------------------------------------------

    def listings(self, gold: Listing, answer: Listing) -> tuple[bool, str]:
        """Compare lists: tuples in order, sets and bare lists in any."""
        if intervals := self._as_intervals(gold, answer):
            return intervals
        if not self._brackets_agree(gold, answer):
            return False, "brackets"
        if gold.names and answer.names and set(gold.names) != set(answer.names):
            if len(set(gold.names)) == len(set(answer.names)) == 1 and not (
                _lone(gold.names) and _lone(answer.names)
            ):
                return False, "name"
            if len(set(gold.names)) > 1 and len(set(answer.names)) > 1:
                return False, "name"
        if _distinct(gold.names) and _distinct(answer.names):
            return self._by_name(gold, answer), "named values"
        ordered = self.rules.ordered
        if ordered is None:
            ordered = gold.left in _ORDERED and len(gold.items) > 1 or (
                answer.left in _ORDERED and not gold.left and not gold.names
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
        if len(gold.items) == len(answer.items) == 2 and gold.left in "([" and answer.left in "([":
            if gold.left and answer.left:
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
        listing = gold if isinstance(gold, Listing) else answer
        if isinstance(listing, Listing) and listing.left in ("(", "["):
            if as_interval(listing, self.line) is None:
                return False, "type"
        return self.sets(gold, answer)

    def families(self, gold: Family, answer: Family) -> tuple[bool, str]:
        """Compare periodic families as sets."""
        if gold.domain != answer.domain:
            return False, "family"
        if gold.domain != "integers":
            return set(map(str, gold.pairs)) == set(map(str, answer.pairs)), "family"
        if (gold.unit is None) != (answer.unit is None):
            gold, answer = (self._in_radians(f) for f in (gold, answer))
        return self._covers(gold, answer) and self._covers(answer, gold), "family"

    def _in_radians(self, family: Family) -> Family:
        if family.unit is None:
            return family
        turn = self.algebra.multiply(rational(family.unit.factor), _PI)
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
                cycle = cycle * period.numerator // _gcd(cycle, period.numerator)
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

    # ---- the rest ----------------------------------------------------------------------------

    def grids(self, gold: Grid, answer: Grid) -> tuple[bool, str]:
        """Compare matrices cell by cell."""
        shapes = [(len(g.rows), len(g.rows[0])) for g in (gold, answer)]
        if shapes[0] != shapes[1]:
            return False, "matrix"
        pairs = [p for rows in zip(gold.rows, answer.rows, strict=True) for p in zip(*rows, strict=True)]
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
        return len(rows) == len(listing.items) and all(
            isinstance(b, Listing) and len(b.items) == len(a.items)
            and all(self._quietly(x, y) for x, y in zip(a.items, b.items, strict=True))
            for a, b in zip(wanted.items, listing.items, strict=True)
            if isinstance(a, Listing)
        ) and all(isinstance(b, Listing) for b in listing.items)

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


_PI = Form({((Atom("pi", "pi"), 1),): Fraction(1)}, rational(1).den)
_ORDERED = frozenset("([<")


def _moved(places: int | None, unit: Unit) -> int | None:
    """Return the decimals of a percentage that was divided by 100."""
    return places + 2 if places is not None and unit.factor == Fraction(1, 100) else None


def _plain_percentage(value: Fraction | None) -> bool:
    """Whether a gold answer may have lost its percent sign: 28 or 12.5, but no 0.28 and no 31/9."""
    if value is None or abs(value) < 1:
        return False
    denominator = value.denominator
    return 10**6 % denominator == 0


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def _is_angle(unit: Unit) -> bool:
    return unit.dimension == (("angle", 1),)


def _is_rounded(gold: Scalar) -> bool:
    return gold.places is not None and gold.places > 0 and gold.digits >= ROUNDED_DIGITS


def _close(exact: Form, decimal: Form, literal: Scalar) -> bool:
    """Whether a decimal of many digits is an exact value rounded or cut off, as doubles are."""
    if literal.places is None or decimal.constant is None:
        return False
    # the last digit of a double that was computed rather than read is often wrong
    rounded = numeric.rounded(exact, literal.places)
    if rounded is None:
        return False
    off = Fraction(10) ** -literal.places * 10 ** max(1, literal.digits - DOUBLE_DIGITS)
    return abs(rounded - decimal.constant) <= off


def _constant_of_integration(form: Form, letters: str) -> Atom | None:
    """Return the atom of a lone `+ C`."""
    if form.den != rational(1).den:
        return None
    held = [mono[0][0] for mono, c in form.num.items() if len(mono) == 1 and mono[0][1] == 1 and c == 1]
    named = [a for a in held if a.kind == "x" and a.key.partition("_")[0] in letters]
    if len(named) != 1:
        return None
    uses = sum(named[0] in dict(mono) for mono in form.num)
    return named[0] if uses == 1 else None


def _both_define(gold: Equation, answer: Equation) -> bool:
    """Whether "y = ..." and "f(x) = ..." define the same thing."""
    one = {gold.name, answer.name}
    return "y" in one and bool(gold.argument or answer.argument) and len(one - {"y"}) <= 1


def _explicit(equation: Equation) -> bool:
    return bool(equation.sides[1].symbols())


def _unknown_part(mono: Monomial) -> Monomial:
    return tuple((a, e) for a, e in mono if a.kind not in ("n", "pi", "U"))


def _weight(mono: Monomial) -> tuple[object, ...]:
    return (sum(abs(e) for _, e in mono), tuple((a.kind, a.key, e) for a, e in mono))


def _coefficient(poly: Polynomial, head: Monomial) -> Polynomial:
    kept = {}
    for mono, value in poly.items():
        if _unknown_part(mono) == head:
            kept[tuple((a, e) for a, e in mono if a.kind in ("n", "pi", "U"))] = value
    return kept


def _bracket_kind(listing: Listing) -> str:
    if listing.left == "[" and len(listing.items) != 2:
        return ""
    return {"[": "(", "<": "(", "]": "("}.get(listing.left, listing.left)


def _distinct(names: tuple[str, ...]) -> bool:
    return len(names) > 1 and len(set(names)) == len(names) and all(names)


def _lone(names: tuple[str, ...]) -> bool:
    return not names or names[0] == ""


Rule = Callable[[Comparer, "Value", "Value"], tuple[bool, str]]
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
}  # type: ignore[assignment]
