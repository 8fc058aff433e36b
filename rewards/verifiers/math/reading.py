"""From a text to what it may mean: words, a choice, a moment, or mathematics of some type."""

from __future__ import annotations

import re
from fractions import Fraction

from rewards.verifiers.math.algebra import (
    PI_FORM,
    Algebra,
    Form,
    rational,
    surely_nonzero,
)
from rewards.verifiers.math.clock import read_moment
from rewards.verifiers.math.evaluate import INFINITY, Evaluator, branches
from rewards.verifiers.math.parse import parse, scaled
from rewards.verifiers.math.realsets import Line
from rewards.verifiers.math.terms import (
    Apply,
    Builder,
    Group,
    Matrix,
    Measured,
    Number,
    Relation,
    Symbol,
    Term,
    TooLarge,
    Unreadable,
)
from rewards.verifiers.math.tokens import MAX_CHARS, plain
from rewards.verifiers.math.units import Unit, comparable
from rewards.verifiers.math.values import (
    EMPTY,
    Comparison,
    Equation,
    Family,
    Grid,
    Interval,
    Listing,
    Option,
    Proportion,
    Prose,
    Reading,
    RealSet,
    Scalar,
    Value,
)
from rewards.verifiers.math.words import means_empty, normal_text, read_number_words

_TEXT = re.compile(r"\\(?:text|mbox|textrm|textbf|textit|mathrm|mathbf|bf|rm)\s*\{([^{}]*)\}")
_OPTION = re.compile(
    r"(?:(?:option|choice|answer)\s*)?(?:\(\s*([A-Za-z])\s*\)|([A-Z])\s*[.):]|([A-Z]))(?:[\s.:)]+(.*))?",
    re.IGNORECASE | re.DOTALL,
)
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:,\d{3})+(?!\d)")
_LETTER_UNIT = re.compile(r"[\w})](?:\\[ ,;:!]|\s|~)+(?:\\[a-z]+\{)?[A-Za-z](?![A-Za-z])")
_FOR_ALL = re.compile(r",?\s*(?:\\text\s*\{\s*)?\b(?:for (?:all|any|every|each|some)|where)\b.*$", re.DOTALL)
_LABELLED = re.compile(r"([A-Za-z][A-Za-z ]*[A-Za-z](?: ?\d{1,2})?)\s*[:=]\s*(.+)", re.DOTALL)
_DECIMAL_COMMA = re.compile(r"(?<![\d,.])(\d+),(\d+)(?![\d,.])")
_NO_DECIMAL = re.compile(r"[(\[{]|\b(?:and|or)\b")
_INTEGER_CLAUSE = re.compile(
    r"(?:,|;|\\quad|\\text\s*\{|\()?\s*(?:(?:where|for|with)\s*)?(?:all|any|some|every|each)?\s*"
    r"(?:(?:integers?|integer values of|whole numbers?)\s*\}?\s*\$?\s*([a-zA-Z])\$?"
    r"|\$?([a-zA-Z])\$?\s*(?:\\text\s*\{)?\s*(?:is|are|=)?\s*(?:an|any)\s*(?:arbitrary\s*)?integers?\s*\}?"
    r"|\$?([a-zA-Z])\s*(?:\\in|∈)\s*(?:\\mathbb\s*\{?\s*Z\s*\}?|Z(?![a-zA-Z])|\\Z(?![a-zA-Z])|ℤ)\$?)"
    r"\s*[).}]?\s*$"
)
_DOUBT = re.compile(
    r"(?i)\b(?:or|and|not|is|isn't|wrong|incorrect|maybe|but|either)\b|\([a-z]\)|\b[A-Z]\)"
)
_AND = re.compile(r",? and |[,;]")
_INFINITELY_MANY = re.compile(r"(?i)(?:there are )?infinite(?:ly many)?(?: [a-z]+)?\.?")
_LETTERS = frozenset("integers rationals reals naturals complexes".split())


def read(text: str) -> Reading:
    """Return all that a text may mean; never raises for what it holds."""
    bare = plain(text)
    reading = Reading(bare)
    if len(bare) > MAX_CHARS:
        reading.complaint, reading.too_large = f"it has more than {MAX_CHARS} characters", True
        return reading
    words = _words(bare)
    reading.values += _as_words(bare, words)
    try:
        reading.values += _as_mathematics(bare)
    except TooLarge as error:
        reading.complaint, reading.too_large = str(error), True
    except (Unreadable, RecursionError) as error:
        reading.complaint = str(error)
        if not reading.values and words and _is_prose(words):
            reading.values.append(Prose(normal_text(bare)))
    return reading


def _words(bare: str) -> str:
    return " ".join(_TEXT.sub(r" \1 ", bare).replace("$", "").replace("\\ ", " ").split())


def _as_words(bare: str, words: str) -> list[Value]:
    """Return the readings that need no parser."""
    found: list[Value] = []
    if means_empty(words):
        return [EMPTY, Prose(normal_text(bare))]
    if _INFINITELY_MANY.fullmatch(words):
        return [Scalar(INFINITY), Prose(normal_text(bare))]
    if (moment := read_moment(words)) is not None:
        found.append(moment)
    if (number := read_number_words(words)) is not None:
        found.append(Scalar(rational(number)))
    if option := _OPTION.fullmatch(words):
        letter = next(filter(None, option.groups()[:3]))
        marked = not option[3] or words.strip() != letter or "\\text" in bare
        doubtful = option[4] and (not option[1] and not option[2] or _DOUBT.search(option[4]))
        if not doubtful:
            found.append(Option(letter if option[3] else letter.upper(), option[4] or "", marked))
    if _is_prose(words) and (len(words) > 1 or "\\" in bare):
        found.append(Prose(normal_text(bare)))
        parts = [part for part in _AND.split(words) if part.strip()]
        if 1 < len(parts) <= 20 and all(map(_is_prose, parts)):
            found.append(Listing(tuple(Prose(normal_text(part)) for part in parts)))
    return found


def _is_prose(words: str) -> bool:
    """Whether a text is a word or a sentence rather than a formula."""
    letters = sum(c.isalpha() or c in " '-,." for c in words)
    longest = max((len(w) for w in re.findall(r"[^\W\d_]+", words)), default=0)
    return letters > 0.7 * len(words) and longest >= 2 and "\\" not in words and "=" not in words


def _as_mathematics(bare: str) -> list[Value]:
    bare = _with_clause(bare)
    bare = _FOR_ALL.sub("", bare) or bare
    modes = [(True, True)]
    if _GROUPED.search(bare):
        modes.append((False, True))
    if _LETTER_UNIT.search(bare):
        modes += [(grouping, False) for grouping, _ in modes]
    found: list[Value] = []
    error: Unreadable | None = None
    texts = [bare]
    if bare.count(",") == 1 and not _NO_DECIMAL.search(bare) and _DECIMAL_COMMA.search(bare):
        texts.append(_DECIMAL_COMMA.sub(r"\1.\2", bare))
    for text in texts:
        for grouping, letter_units in modes:
            try:
                term = parse(text, grouping=grouping, letter_units=letter_units)
                for log_base in (None, 10):
                    reader = _Reader(log_base)
                    value = reader.value(term)
                    found += [v for v in (value, *reader.families(value)) if v not in found]
                    if not reader.evaluator.bare_log:
                        break
            except Unreadable as problem:
                error = problem
    if not found and error:
        return _loosened(bare, error)
    return found


def _loosened(bare: str, error: Unreadable) -> list[Value]:
    """Read a text without the labels of its values.

    Raises:
        Unreadable: The given error, if that does not help.
    """
    pieces = [piece for piece in _AND.split(_words(bare)) if piece.strip()]
    labelled = [_LABELLED.fullmatch(piece.strip()) for piece in pieces]
    if not pieces or len(pieces) > 20 or not all(labelled):
        raise error
    values = [_as_mathematics(match[2])[0] for match in labelled if match]
    names = tuple(match[1].casefold() for match in labelled if match)
    return values if len(values) == 1 else [Listing(tuple(values), names=names)]


def _with_clause(bare: str) -> str:
    r"""Write "for any integer k" as `, k \in \mathbb{Z}`."""
    if not (match := _INTEGER_CLAUSE.search(bare)):
        return bare
    name = next(filter(None, match.groups()))
    return rf"{bare[: match.start()].rstrip(' ,;(')}, {name} \in \integers"


class _Reader:
    """Turns one syntax tree into a value."""

    def __init__(self, log_base: int | None = None) -> None:
        self.algebra = Algebra()
        self.evaluator = Evaluator(self.algebra, log_base=log_base)
        self.line = Line(self.algebra)

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
                return Grid(
                    tuple(tuple(rational(int(i == j)) for j in range(n)) for i in range(n))
                )
        return self._scalar(term)

    # ---- matrices ----------------------------------------------------------------------------

    def _has_matrix(self, term: Term) -> bool:
        return isinstance(term, Apply) and any(
            isinstance(a, Matrix) and a.style != "vmatrix" or self._has_matrix(a) for a in term.args
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
            total = Grid(
                tuple(tuple(map(self.algebra.add, a, b)) for a, b in pairs)
            )
        return total

    # ---- single values -----------------------------------------------------------------------

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
            case Apply("compound" | "+", args) if any(isinstance(a, Measured) for a in args):
                return self._compound(args)
            case Apply("base", (_, Number(radix))):
                return Scalar(self.evaluator.form(term), base=int(radix))
        form = self.evaluator.form(term)
        literal = _literal(term)
        if literal is None:
            return Scalar(form)
        return Scalar(form, None, literal.places, literal.digits)

    def _compound(self, args: tuple[Term, ...]) -> Value:
        """Add up "5 ft 3 in"; the result is in the first unit."""
        parts = [self._scalar(arg) for arg in args]
        units = [p.unit for p in parts if isinstance(p, Scalar) and p.unit is not None]
        first = units[0]
        if len(units) < len(parts) or not all(comparable(first, u) for u in units):
            raise Unreadable("quantities of different units in one sum")
        total = rational(0)
        for part in parts:
            assert isinstance(part, Scalar)
            assert part.unit is not None
            ratio = rational(part.unit.factor / first.factor)
            total = self.algebra.add(total, self.algebra.multiply(part.form, ratio))
        return Scalar(total, first)

    # ---- lists -------------------------------------------------------------------------------

    def _group(self, term: Group) -> Value:
        if term.left == "" and (family := self._family(term)):
            return family
        if term.left == "":
            return self._statements(term)
        if len(term.items) == 1 and term.left == "(":
            return self.value(term.items[0])
        if term.left == "(" and len(choices := list(branches(term))) > 1:  # (±1, 0)
            return Listing(tuple(self.value(choice) for choice in choices))
        if term.left == "(" and all(isinstance(i, Relation) for i in term.items):
            return self._statements(Group("", "", term.items, term.joiner))
        brackets = term.left + term.right
        if brackets in ("(]", "[)", "][", "](", "]]") or (
            len(term.items) == 2 and any(map(_is_infinite, term.items))
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
        return None if _is_infinite(term) else form

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
            name = _name_of(item)
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

    # ---- relations ---------------------------------------------------------------------------

    def _relation(self, term: Relation) -> Value:
        operators = set(term.operators)
        if operators <= {"="}:
            return self._equation(term)
        if operators <= {"=", "~"}:
            return self._approximation(term)
        if operators == {"in"} and len(term.sides) == 2:
            inside = self.value(term.sides[1])
            return RealSet(inside.intervals, _name_of(term)) if isinstance(inside, RealSet) else inside
        if operators == {"notin"} and len(term.sides) == 2:
            excluded = self._as_set(self.value(term.sides[1]))
            return RealSet(self.line.complement(excluded).intervals, _name_of(term))
        if operators == {"mod"}:
            return self._congruence(term)
        if operators <= {"<", ">", "<=", ">=", "!="}:
            return self._inequality(term)
        raise Unreadable(f"a relation by {term.operators[0]!r}")

    def _equation(self, term: Relation) -> Value:
        left, *others = term.sides
        name, argument = _named(left)
        if len(others) == 1 and not name and not _is_label(left) and _named(others[0])[0]:
            left, others = others[0], [left]  # "3 = t"
            name, argument = _named(left)
        if len(others) == 1 and not name and _is_label(left) and not _is_label(others[0]):
            return self.value(others[0])
        if name == "" and isinstance(left, Symbol) and left.name == "":  # "= 5"
            return self.value(others[-1])
        if isinstance(left, Group) and left.left == "(" and len(left.items) > 1:
            value = self.value(others[-1])
            names = tuple(_named(i)[0] for i in left.items)
            if isinstance(value, Listing) and len(value.items) == len(names):
                return Listing(value.items, value.left, value.right, names)
            return value
        if name and len(others) == 1:
            value = self.value(others[0])
            if not isinstance(value, Scalar):
                return self._renamed(value, name)
            if value.unit or value.places is not None or value.base:
                return self._renamed(value, name)
            return Equation((self._side(left), value.form), name, argument)
        if isinstance(others[-1], Group | Matrix) and name:
            return self.value(others[-1])
        start = 1 if name else 0
        values = [self._plain_scalar(side) for side in term.sides[start:]]
        self._must_agree(values)
        if len(term.sides) == 2:
            return Equation((values[0].form, values[1].form))
        if name:
            best = values[0] if values[-1].unit is None and values[0].unit else values[-1]
            if best.unit or best.places is not None:
                return best
            return Equation((self._side(left), best.form), name, argument)
        return values[-1]

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
        for a, b in zip(values, values[1:], strict=False):
            if a.form.symbols() or b.form.symbols() or a.unit or b.unit:
                continue
            gap = self.algebra.difference(a.form, b.form)
            if gap and (surely_nonzero(gap) or not _rounds_to(a, b)):
                if not _rounds_to(a, b):
                    raise Unreadable(f"the false equation {a} = {b}")

    def _approximation(self, term: Relation) -> Value:
        r"""Read `\sqrt{3}/3 \approx 0.577`: the exact side counts, and the other must agree."""
        sides = [s for s in term.sides if not (isinstance(s, Symbol) and s.name == "")]
        if len(sides) > 1 and _named(sides[0])[0]:
            sides = sides[1:]
        values = [self._plain_scalar(side) for side in sides]
        exact = [v for v in values if v.places is None] or values
        best = exact[0]
        for other in values:
            if other is not best and not _rounds_to(best, other) and not best.unit:
                raise Unreadable(f"{other} is not about {best}")
        if len(values) > 1 and best.places is None:
            last = values[-1]
            return Scalar(best.form, best.unit or last.unit, claim=last.form, claim_places=last.places)
        return best

    def _congruence(self, term: Relation) -> Value:
        r"""Read `x \\equiv 3 \\pmod 7` as the family 3 + 7k."""
        _, *residues, modulus = term.sides
        step = self.evaluator.form(modulus)
        items = residues[0].items if isinstance(residues[0], Group) else residues
        return Family(tuple((self.evaluator.form(item), step) for item in items))

    def _inequality(self, term: Relation) -> Value:
        sides, operators = term.sides, term.operators
        if isinstance(sides[0], Symbol) and sides[0].name == "":  # "> 12"
            return self._half_line(operators[0], self.evaluator.form(sides[1]), "")
        if any(isinstance(side, Apply) and side.head == "abs" for side in sides):
            return self._absolute_bounds(term)
        unknowns = {_unknown(side) for side in sides} - {""}
        forms = [None if _is_infinite(side) else self.evaluator.form(side) for side in sides]
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
        self, sides: tuple[Term, ...], operators: tuple[str, ...], forms: list[Form | None], name: str
    ) -> RealSet | None:
        sets: list[RealSet] = []
        for k, operator in enumerate(operators):
            left, right = sides[k], sides[k + 1]
            if _unknown(left) == name:
                bound, op = forms[k + 1], operator
            elif _unknown(right) == name:
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
            held = dict((a.key, e) for a, e in mono if a.kind == "x")
            if not held:
                rest[mono] = coefficient
            elif held == {name: 1}:
                slope[tuple(p for p in mono if p[0].kind != "x")] = coefficient
            else:
                return None
        if not slope:
            return None
        top, low = Form(rest, form.den), Form(slope, form.den)
        from rewards.verifiers.math import numeric

        sign = numeric.sign(low)
        if not sign or low.symbols() or top.symbols():
            return None
        bound = self.algebra.negate(self.algebra.divide(top, low))
        return self._half_line(operator if sign > 0 else _FLIPPED[operator], bound, name)

    # ---- sets --------------------------------------------------------------------------------

    def _named_set(self, name: str) -> Value:
        if name == "\\emptyset":
            return EMPTY
        bare = name.lstrip("\\")
        if bare == "reals":
            return RealSet((Interval(None, None),))
        if bare in ("reals+", "reals_+", "reals>0"):
            return RealSet((Interval(rational(0), None),))
        if bare in _LETTERS:
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
        term, degrees = _without_degrees(term)
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


_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}


def _oriented(operator: str, form: Form, algebra: Algebra) -> tuple[str, Form]:
    """Write every comparison as `form < 0`, `form <= 0` or `form != 0`."""
    if operator[0] == ">":
        return _FLIPPED[operator], algebra.negate(form)
    return operator, form


def _is_infinite(term: Term) -> bool:
    match term:
        case Symbol("infty"):
            return True
        case Apply("neg" | "+", (inner,)):
            return _is_infinite(inner)
    return False


def _named(term: Term) -> tuple[str, str]:
    """Return the name and the argument of a left side such as `y`, `f(x)` or `angle ABC`."""
    match term:
        case Symbol(name) if name not in ("", "pi", "infty", "i") and not name.startswith("\\"):
            return name, ""
        case Apply(head, (Symbol(argument),)) if head.startswith("call "):
            return head[5:], argument
        case Apply(head, args) if head.startswith("call "):
            return f"{head[5:]}({args})", ""  # a value of the function, as in f(1) = 2
        case Apply("*", (Symbol(name), Group("(", ")", (Symbol(argument),)))):
            return name, argument
        case Apply("*", (Symbol(name), Group("(", ")", args))) if name.isupper():
            return f"{name}({args})", ""
        case Measured(Symbol(name), _):
            return name, ""
        case Apply("*", args) if all(isinstance(a, Symbol) for a in args) and all(
            a.name.isupper() for a in args if isinstance(a, Symbol)
        ):
            return "".join(a.name for a in args if isinstance(a, Symbol)), ""  # AB = 5
    return "", ""


def _unknown(term: Term) -> str:
    """Return the unknown that a side of an inequality is: `x` or `f(x)`."""
    match term:
        case Symbol(name) if _named(term)[0]:
            return name
        case Apply(head, (Symbol(argument),)) if head.startswith("call "):
            return f"{head[5:]}({argument})"
    return ""


def _is_label(term: Term) -> bool:
    r"""Whether a left side names a quantity: `|CD|`, `\\frac{PO}{QO}`, `S_{ABC}:S`, `AB`."""
    match term:
        case Symbol(name):
            return name[:1].isupper() or name.startswith("overline ")
        case Apply("*" | "/" | ":" | "abs" | "inverse", args):
            return all(map(_is_label, args))
        case Measured(value, _):
            return _is_label(value)
    return False


def _name_of(term: Term) -> str:
    return _named(term.sides[0])[0] if isinstance(term, Relation) else ""


def _literal(term: Term) -> Number | None:
    """Return the decimal literal that a term is: signed, or times a power of ten."""
    match term:
        case Number(_, places) if places is not None:
            return term
        case Apply("neg", (inner,)):
            return _literal(inner)
        case Apply("*", (Number() as number, Apply("^", (Number(Fraction(numerator=10, denominator=1), None), power)))):
            exponent = _small_integer(power)
            if number.places is not None and exponent is not None:
                return scaled(number, exponent)
    return None


def _small_integer(term: Term) -> int | None:
    match term:
        case Number(value, None) if value.denominator == 1 and abs(value) < 5000:
            return int(value)
        case Apply("neg", (inner,)) if (value := _small_integer(inner)) is not None:
            return -value
        case Group(_, _, (inner,)):
            return _small_integer(inner)
    return None


def _rounds_to(exact: Scalar, decimal: Scalar) -> bool:
    """Whether a decimal is the other value, rounded or cut off where it ends."""
    from rewards.verifiers.math import numeric

    for value, shown in ((exact, decimal), (decimal, exact)):
        if shown.places is None or shown.form.constant is None:
            continue
        for places in (shown.places,):
            rounded = numeric.rounded(value.form, places)
            step = Fraction(10) ** -places
            if rounded is not None and abs(rounded - shown.form.constant) <= step:
                return True
    return False


def _without_degrees(term: Term) -> tuple[Term, Unit | None]:
    """Drop the degree signs of "45° + 180° k" and return their unit."""
    match term:
        case Measured(value, unit) if unit.dimension == (("angle", 1),) and unit.pi:
            return value, unit
        case Apply("neg" | "+" | "*" as head, args):
            parts = [_without_degrees(arg) for arg in args]
            unit = next((u for _, u in parts if u is not None), None)
            return Apply(head, tuple(p for p, _ in parts)), unit
    return term, None
