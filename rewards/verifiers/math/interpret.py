"""From a syntax tree to a value of some type."""

from __future__ import annotations

from fractions import Fraction

from rewards.verifiers.math.branches import branches
from rewards.verifiers.math.forms import PI_FORM, Form, rational
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

_NUMBER_SETS = frozenset(["integers", "rationals", "reals", "naturals", "complexes"])


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
        if len(term.items) == 1 and term.left == "(":
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
        low, high = (self._end(item) for item in term.items)
        left = term.left == "["
        right = term.right == "]"
        return self.line.interval(low, high, (left, right))

    def _end(self, term: Term) -> Form | None:
        form = self.evaluator.form(term)
        return None if is_infinite(term) else form

    def _statements(self, term: Group) -> Value:
        relations = [i for i in term.items if isinstance(i, Relation)]
        if not relations:
            values = self._flattened(term)
            return Listing(tuple(values)) if len(values) > 1 else values[0]
        if any(r.operators[0] not in ("=", "in", "~") for r in relations):
            return self._bounds(term)
        return self._solutions(term)

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

    def _as_parts(self, value: Value) -> tuple[tuple[str, Form], ...]:
        if isinstance(value, Comparison):
            return value.parts
        raise Unreadable("bounds of different unknowns")

    def _solutions(self, term: Group) -> Value:
        """Read "x = 1, x = 2" as values of x, "x = 1, y = 2" as a pair, repeated or not."""
        named: list[tuple[str, Value]] = []
        for item in term.items:
            value = self.value(item)
            name = name_of(item)
            if not name and named and not isinstance(item, Relation):
                name = named[-1][0]  # "a = 5, -7, -12"
            if isinstance(value, Equation):
                value = self._solved(value) if name else value
            if isinstance(value, Listing) and not value.left and name:
                named += [(name, inner) for inner in value.items]
            else:
                named.append((name, value))
        names = [name for name, _ in named]
        values = [value for _, value in named]
        distinct = list(dict.fromkeys(names))
        if not all(names) or len(distinct) == 1:
            return Listing(tuple(values), names=tuple(names))
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
        if bare in _NUMBER_SETS:
            return Prose(bare)
        raise Unreadable(f"the set {bare}")

    def _builder(self, element: Term, condition: Term) -> Value:
        value = self.value(condition)
        if isinstance(value, RealSet):
            return RealSet(value.intervals, "")
        if isinstance(element, Relation) and isinstance(value, RealSet | Listing):
            return value
        return value

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
        pairs: list[tuple[Form, Form]] = []
        unit: Unit | None = None
        for head in heads:
            if isinstance(head, Relation) and set(head.operators) <= {"="}:
                head = head.sides[-1]
            items = head.items if isinstance(head, Group) and head.left in ("", "{") else (head,)
            for item in items:
                for choice in branches(item):
                    base, step, unit_here = self._progression(choice, name)
                    unit = unit or unit_here
                    pairs.append((base, step))
        return Family(tuple(pairs), unit, domain.lstrip("\\"))

    def families(self, value: Value) -> list[Family]:
        r"""Read `k\\pi` as a family although nothing says that k is an integer."""
        items = value.items if isinstance(value, Listing) and value.left in ("", "{") else (value,)
        forms = [
            v.form if isinstance(v, Scalar) else v.sides[1]
            for v in items
            if isinstance(v, Scalar | Equation)
        ]
        pairs = [pair for form in forms if (pair := self._periodic(form)) is not None]
        return [Family(tuple(pairs))] if 0 < len(pairs) == len(items) else []

    def _periodic(self, form: Form) -> tuple[Form, Form] | None:
        names = form.symbols() & {"k", "n", "m"}
        if len(names) != 1 or len(form.symbols()) != 1 or form.den != rational(1).den:
            return None
        (name,) = names
        step = {m: c for m, c in form.num.items() if any(a.key == name for a, _ in m)}
        base = Form({m: c for m, c in form.num.items() if m not in step}, form.den)
        ((mono, coefficient),) = step.items() if len(step) == 1 else ((((), Fraction(0))),)
        if sorted((a.key, e) for a, e in mono) != sorted([(name, 1), ("pi", 1)]):
            return None
        return base, self.algebra.multiply(rational(coefficient), PI_FORM)

    def _progression(self, term: Term, name: str) -> tuple[Form, Form, Unit | None]:
        unit: Unit | None = None
        term, degrees = without_degrees(term)
        form = self.evaluator.form(term)
        if degrees is not None:
            unit = degrees
        zero = self.evaluator.form(term, {name: rational(0)})
        one = self.evaluator.form(term, {name: rational(1)})
        two = self.evaluator.form(term, {name: rational(2)})
        step = self.algebra.subtract(one, zero)
        if self.algebra.difference(self.algebra.subtract(two, one), step):
            raise Unreadable("a family that is no arithmetic progression")
        if name not in form.symbols() or not step.num:
            raise Unreadable("a family without its parameter")
        return zero, step, unit
