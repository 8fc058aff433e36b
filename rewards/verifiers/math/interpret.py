"""From a syntax tree to a value of some type."""

from __future__ import annotations

import re

from rewards.verifiers.math.branches import branches
from rewards.verifiers.math.evaluate import INFINITY
from rewards.verifiers.math.forms import ONE, PI, PI_FORM, Atom, Form, rational, symbol
from rewards.verifiers.math.realsets import as_set
from rewards.verifiers.math.relations import Relations
from rewards.verifiers.math.sides import (
    is_infinite,
    name_of,
    without_degrees,
)
from rewards.verifiers.math.terms import (
    Apply,
    Builder,
    Group,
    Matrix,
    Measured,
    Relation,
    Symbol,
    Term,
    Unreadable,
)
from rewards.verifiers.math.units import Unit
from rewards.verifiers.math.values import (
    EMPTY,
    Comparison,
    Equation,
    Family,
    Grid,
    Interval,
    Listing,
    Proportion,
    Prose,
    RealSet,
    Scalar,
    Value,
)

_SUBSCRIPT = re.compile(r"_\{?\d\}?$")
_NUMBER_SETS = frozenset(["integers", "rationals", "reals", "naturals", "complexes"])


def _is_condition(term: Term) -> bool:
    r"""Whether a statement only says where another one holds: `x > 0`, `n \in \mathbb{N}`."""
    if not isinstance(term, Relation):
        return False
    if set(term.operators) == {"in"}:
        return isinstance(term.sides[1], Symbol)
    return set(term.operators) <= {"<", ">", "<=", ">=", "!="}


def _name_within(value: Value) -> str:
    """Return the unknown that a condition is about."""
    if isinstance(value, RealSet | Equation):
        return value.name
    if isinstance(value, Listing) and len(set(value.names)) == 1:
        return value.names[0]
    raise Unreadable("a condition on more than one unknown")


class Interpreter(Relations):
    """Turns one syntax tree into a value; one for each reading, for it counts the work."""

    def value(self, term: Term) -> Value:
        """Return what a term stands for.

        Raises:
            Unreadable: If it is of no known type.
            TooLarge: If it takes too much work.
        """
        match term:
            case Group():
                return self._group(term)
            case Relation():
                return self._relation(term)
            case Builder(element, condition):
                return self._builder(element, condition)
            case Matrix() if term.style != "vmatrix":
                return Grid(tuple(tuple(map(self.evaluator.form, row)) for row in term.rows))
            case Apply("cup" | "cap" | "setminus" as head, (left, right)):
                return self._set_operation(head, left, right)
            case Apply("+", (left, Apply("neg", (Group("{") as right,)))):
                return self._set_operation("setminus", left, right)
            case Apply("*" | "neg" | "+" | "/", _) if self._has_matrix(term):
                return self._matrix(term)
            case Apply(":", parts):
                return Proportion(tuple(map(self.evaluator.form, parts)))
            case Symbol(name) if name.startswith("\\"):
                return self._named_set(name)
            case Symbol("I_2" | "I_3" | "I_4" as name):
                n = int(name[-1])
                return Grid(tuple(tuple(rational(int(i == j)) for j in range(n)) for i in range(n)))
        return self._scalar(term)

    # ---- lists -------------------------------------------------------------------------------

    def _group(self, term: Group) -> Value:
        if term.left == "" and (family := self._family(term)):
            return family
        if term.left == "":
            return self._statements(term)
        if not term.items:
            if term.left == "{":
                return EMPTY
            raise Unreadable("brackets that hold nothing")
        if len(term.items) == 1 and (term.left == "(" or isinstance(term.items[0], Matrix)):
            return self.value(term.items[0])
        if term.left == "(" and len(choices := list(branches(term))) > 1:  # (±1, 0)
            return Listing(tuple(self.value(choice) for choice in choices))
        if term.left == "(" and all(isinstance(i, Relation) for i in term.items):
            return self._statements(Group("", "", term.items, term.joiner))
        brackets = term.left + term.right
        if brackets in ("(]", "[)", "][", "](", "]]") or (
            len(term.items) == 2 and any(map(is_infinite, term.items))
        ):
            return self._interval(term)
        items = self._flattened(term) if term.left == "{" else [self.value(i) for i in term.items]
        return Listing(tuple(items), term.left, term.right)

    def _flattened(self, term: Group) -> list[Value]:
        items: list[Value] = []
        for item in term.items:
            value = self.value(item)
            spread = isinstance(value, Listing) and not value.left
            items += value.items if spread and isinstance(value, Listing) else (value,)
        return items

    def _interval(self, term: Group) -> RealSet:
        if len(term.items) != 2:
            raise Unreadable("an interval with other than two ends")
        left, right = term.left == "[", term.right == "]"
        low = self._end(term.items[0], -1, closed=left)
        high = self._end(term.items[1], 1, closed=right)
        return self.line.interval(low, high, (left, right))

    def _end(self, term: Term, sign: int, *, closed: bool) -> Form | None:
        form = self.evaluator.form(term)
        if not is_infinite(term):
            return form
        if (form == INFINITY) != (sign > 0) or (closed and not self.gold):
            raise Unreadable("an interval that ends at the wrong infinity, or holds it")
        return None

    def _statements(self, term: Group) -> Value:
        if not term.items:
            raise Unreadable("nothing")
        relations = [i for i in term.items if isinstance(i, Relation)]
        main, *conditions = term.items
        if conditions and all(map(_is_condition, conditions)) and not _is_condition(main):
            value = self.value(main)
            domains = all(c.operators == ("in",) for c in conditions if isinstance(c, Relation))
            if domains or isinstance(value, Scalar | Equation):
                return value
        if not relations:
            return self._listed(term)
        if any(r.operators[0] not in ("=", "in", "~") for r in relations):
            return self._bounds(term)
        return self._solutions(term)

    def _listed(self, term: Group) -> Value:
        values = self._flattened(term)
        if term.joiner == "and" and all(isinstance(i, Measured) for i in term.items):
            try:
                return self._compound(term.items)  # 3 hours and 20 minutes
            except Unreadable:
                return Listing(tuple(values))
        if any(isinstance(v, RealSet) for v in values) and term.joiner == "or":
            return self.line.union(*(self._as_set(v) for v in values))
        return Listing(tuple(values)) if len(values) > 1 else values[0]

    def _bounds(self, term: Group) -> Value:
        values = [self._bound(self.value(item)) for item in term.items]
        sets = [v for v in values if isinstance(v, RealSet)]
        if len(sets) == len(values) and len({s.name for s in sets}) == 1:
            join = self.line.union if term.joiner == "or" else self.line.intersection
            return RealSet(join(*sets).intervals, sets[0].name)
        if all(isinstance(v, RealSet | Comparison) for v in values) and term.joiner != "or":
            return Comparison(tuple(p for v in values for p in self._as_parts(v)))
        return Listing(tuple(values))

    def _bound(self, value: Value) -> Value:
        """Read the "a = 2" of "a < -3 or a = 2" as a set of one."""
        if isinstance(value, Equation) and value.name and not value.sides[1].symbols():
            return RealSet(self.line.points([value.sides[1]]).intervals, value.name)
        return value

    def _as_parts(self, value: Value) -> list[tuple[str, Form]]:
        if isinstance(value, Comparison):
            return list(value.parts)
        if not isinstance(value, RealSet) or len(value.intervals) != 1 or not value.name:
            raise Unreadable("bounds of different unknowns")
        (interval,), unknown = value.intervals, symbol(value.name)
        parts = []
        for bound, closed, sign in zip(interval.bounds, interval.closed, (-1, 1), strict=True):
            if bound is not None:
                gap = self.algebra.subtract(unknown, bound)
                parts.append(("<=" if closed else "<", self.algebra.multiply(gap, rational(sign))))
        return parts

    def _solutions(self, term: Group) -> Value:
        """Read "x = 1, x = 2" as values of x, "x = 1, y = 2" as a pair, repeated or not."""
        pairs: list[tuple[str, Value]] = []
        for item in term.items:
            value = self.value(item)
            name = name_of(item)
            if not name and pairs and not isinstance(item, Relation):
                name = pairs[-1][0]  # "a = 5, -7, -12"
            if isinstance(value, Equation):
                value = self._solved(value) if name else value
            if isinstance(value, Listing) and not value.left and name:
                pairs += [(name, inner) for inner in value.items]
            else:
                pairs.append((name, value))
        names = [name for name, _ in pairs]
        values = [value for _, value in pairs]
        distinct = list(dict.fromkeys(names))
        if len({_SUBSCRIPT.sub("", name) for name in names}) == 1:  # x_1 = 2, x_2 = 3
            names = [_SUBSCRIPT.sub("", name) for name in names]
            return Listing(tuple(values), names=tuple(names))
        if not all(names) or len(distinct) == 1:
            return Listing(tuple(values), names=tuple(names))
        if term.joiner == "or":
            raise Unreadable("values of different unknowns joined by or")
        n = len(distinct)
        if names == distinct * (len(names) // n):
            rows = [tuple(values[k : k + n]) for k in range(0, len(values), n)]
            tuples = [Listing(row, "(", ")", tuple(distinct)) for row in rows]
            return tuples[0] if len(tuples) == 1 else Listing(tuple(tuples))
        return Listing(tuple(values), names=tuple(names))

    def _solved(self, equation: Equation) -> Value:
        return Scalar(equation.sides[1]) if equation.name else equation

    # ---- sets --------------------------------------------------------------------------------

    def _named_set(self, name: str) -> Value:
        if name == "\\emptyset":
            return EMPTY
        bare = name.lstrip("\\")
        if bare == "reals":
            return RealSet((Interval(None, None),))
        if bare in ("reals+", "reals_+", "reals>0"):
            return RealSet((Interval(rational(0), None),))
        if re.sub(r"[^a-z].*", "", bare) in _NUMBER_SETS:
            return Prose(bare)
        raise Unreadable(f"the set {bare}")

    def _builder(self, element: Term, condition: Term) -> Value:
        r"""Read `\\{x \\mid x > 2\\}`, and `\\{2k \\mid k \\in \\mathbb{Z}\\}`."""
        if (family := self._family(Group("", "", (element, condition)))) is not None:
            return family
        if isinstance(element, Relation):
            match element:
                case Relation(("in",), (name, Symbol("\\reals"))):
                    element = name
                case _:
                    raise Unreadable("a set of other than real numbers")
        value = self.value(condition)
        if not isinstance(element, Symbol) or element.name not in ("", _name_within(value)):
            raise Unreadable("a set of what its condition does not speak of")
        return RealSet(value.intervals) if isinstance(value, RealSet) else value

    def _set_operation(self, head: str, left: Term, right: Term) -> Value:
        a, b = self.value(left), self.value(right)
        finite = [isinstance(v, Listing) and v.is_set for v in (a, b)]
        if head == "cup" and all(finite):
            assert isinstance(a, Listing)
            assert isinstance(b, Listing)
            return Listing(a.items + b.items, "{", "}")
        x, y = self._as_set(a), self._as_set(b)
        match head:
            case "cup":
                return self.line.union(x, y)
            case "cap":
                return self.line.intersection(x, y)
        return self.line.intersection(x, self.line.complement(y))

    def _as_set(self, value: Value) -> RealSet:
        return as_set(value, self.line)

    # ---- families ----------------------------------------------------------------------------

    def _family(self, term: Group) -> Family | None:
        r"""Read `x = a + k b, k \in \mathbb{Z}`."""
        *heads, last = term.items
        match last:
            case Relation(("in",), (Symbol(name), Symbol(domain))) if "integers" in domain or (
                "naturals" in domain
            ):
                pass
            case _:
                return None
        if not heads:
            return None
        pairs: list[tuple[Form, Form]] = []
        unit: Unit | None = None
        for head in heads:
            if isinstance(head, Relation) and set(head.operators) <= {"="}:
                if len(head.sides) != 2 or not isinstance(head.sides[0], Symbol):
                    raise Unreadable("a family of solutions of an equation")
                head = head.sides[-1]
            items = head.items if isinstance(head, Group) and head.left in ("", "{") else (head,)
            for item in items:
                for choice in branches(item):
                    found, unit_here = self._progressions(choice, name)
                    unit = unit or unit_here
                    pairs += found
        return Family(tuple(pairs), unit, domain.lstrip("\\"))

    def families(self, value: Value) -> list[Family]:
        r"""Read `k\\pi` as a family although nothing says that k is an integer."""
        items = value.items if isinstance(value, Listing) and value.left in ("", "{") else (value,)
        forms = [
            v.form if isinstance(v, Scalar) else v.sides[1]
            for v in items
            if isinstance(v, Scalar) or (isinstance(v, Equation) and v.body is None and v.name)
        ]
        letters = {name for form in forms for name in form.symbols()}
        pairs = [pair for form in forms if (pair := self._periodic(form)) is not None]
        if not 0 < len(pairs) == len(items) or len(letters) != 1:
            return []
        return [Family(tuple(pairs), letter=letters.pop())]

    def _periodic(self, form: Form) -> tuple[Form, Form] | None:
        names = form.symbols() & {"k", "n", "m"}
        if len(names) != 1 or len(form.symbols()) != 1 or form.den != ONE:
            return None
        (name,) = names
        step = {m: c for m, c in form.num.items() if any(a.key == name for a, _ in m)}
        if step.keys() != {((PI, 1), (Atom("x", name), 1))}:
            return None
        base = Form({m: c for m, c in form.num.items() if m not in step}, ONE)
        return base, self.algebra.multiply(rational(sum(step.values())), PI_FORM)

    def _progressions(self, term: Term, name: str) -> tuple[list[tuple[Form, Form]], Unit | None]:
        r"""Return (base, step) of a formula in an integer, two of them for `(-1)^n`."""
        term, unit = without_degrees(term)
        if name not in self.evaluator.form(term).symbols():
            raise Unreadable("a family without its parameter")
        values = [self.evaluator.form(term, {name: rational(k)}) for k in range(6)]
        for period in (1, 2):
            steps = [
                self.algebra.subtract(b, a) for a, b in zip(values, values[period:], strict=False)
            ]
            regular = all(
                not self.algebra.difference(a, b)
                for a, b in zip(steps, steps[period:], strict=False)
            )
            if regular and steps[0].num:
                return list(zip(values[:period], steps[:period], strict=True)), unit
        raise Unreadable("a family that is no arithmetic progression")
