"""Work a syntax tree out to its canonical form, exactly.

What has no exact value here (an integral, a limit, an unknown function) becomes an opaque atom,
equal to itself alone, unless a second opinion knows more.
"""

from __future__ import annotations

from rewards.verifiers.math.algebra import Algebra, Undefined
from rewards.verifiers.math.forms import (
    IMAGINARY,
    PI_FORM,
    UNIT,
    ZERO,
    Atom,
    Form,
    atom_form,
    rational,
    symbol,
)
from rewards.verifiers.math.functions import OPERATIONS, Functions
from rewards.verifiers.math.terms import (
    Apply,
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

MAX_ADDENDS = 1000
"""Of a sum or product that is written out."""

INFINITY = atom_form(Atom("oo", "oo"))


class Evaluator(Functions):
    """Works out terms; one for each reading, for it counts the work."""

    def __init__(self, algebra: Algebra | None = None, *, log_base: int | None = None) -> None:
        r"""Make one.

        Args:
            algebra: Whose fuel to burn.
            log_base: What `\\log` without a base means; None for the natural logarithm.
        """
        self.algebra = algebra or Algebra()
        self.log_base = log_base
        self.bare_log = False

    def form(self, term: Term, names: dict[str, Form] | None = None) -> Form:
        """Return the canonical form of a term.

        Args:
            term: Arithmetic; relations, lists and matrices raise.
            names: Values of bound variables.

        Raises:
            Unreadable: If it is no single value.
            TooLarge: If it takes too much work.
        """
        names = names or {}
        match term:
            case Number():
                return rational(term.value)
            case Symbol():
                return self._symbol(term.name, names)
            case Measured():
                return self._measured(term, names)
            case Group() if len(term.items) == 1 and term.left + term.right in ("()", "[]", ""):
                return self.form(term.items[0], names)
            case Matrix() if term.style == "vmatrix":
                return self._determinant([[self.form(c, names) for c in row] for row in term.rows])
            case Apply():
                return self._apply(term, names)
        raise Unreadable("it is not a single value")

    def _symbol(self, name: str, names: dict[str, Form]) -> Form:
        if name in names:
            return names[name]
        match name:
            case "e":
                return self.algebra.exp(UNIT)
            case "i":
                return IMAGINARY
            case "pi":
                return PI_FORM
            case "infty":
                return INFINITY
            case "":
                raise Unreadable("a side is missing")
        if name.startswith("\\"):
            raise Unreadable(f"{name} is no number")
        return symbol(name)

    def _measured(self, term: Measured, names: dict[str, Form]) -> Form:
        if term.unit.dimension not in ((("angle", 1),), ()):
            raise Unreadable(f"the unit {term.unit.name!r} within a formula")
        factor = rational(term.unit.factor)
        if term.unit.pi:
            factor = self.algebra.multiply(factor, PI_FORM)
        return self.algebra.multiply(self.form(term.value, names), factor)

    def _apply(self, term: Apply, names: dict[str, Form]) -> Form:
        self.algebra.spend(1)
        if term.head in ("sum", "prod"):
            return self._series(term, names)
        if term.head in ("lim", "int"):
            return self._calculus(term, names)
        if term.head in ("pm", "mp"):
            raise Unreadable("plus-minus where one value is meant")
        args = [self.form(a, names) for a in term.args]
        if any(_infinite(a) for a in args):
            return self._with_infinity(term.head, args)
        if term.head.startswith("call "):
            return self._opaque(term.head[5:], [str(a) for a in args], tuple(args))
        if (operation := OPERATIONS.get(term.head)) is None:
            raise Unreadable(f"{term.head!r} where a value is meant")
        try:
            return operation(self, *args)
        except TypeError as error:
            if "positional argument" in str(error):
                raise Unreadable(f"{term.head} of {len(args)} values") from None
            raise

    def _with_infinity(self, head: str, args: list[Form]) -> Form:
        a = self.algebra
        if head == "neg":
            return a.negate(args[0])
        if head == "*" and len(args) == 2 and (factor := args[0].constant):
            return INFINITY if factor > 0 else a.negate(INFINITY)
        if head == "+" and sum(_infinite(x) for x in args) == 1:
            return next(x for x in args if _infinite(x))
        raise Undefined("it calculates with infinity")

    def _opaque(self, head: str, keys: list[str], payload: tuple[Form, ...] = ()) -> Form:
        return atom_form(Atom("call", f"{head}({', '.join(keys)})", payload))

    def _calculus(self, term: Apply, names: dict[str, Form]) -> Form:
        """Keep a limit or an integral, with a "#" name for its variable, for the second opinion."""
        bound = symbol(f"#{len(names)}")
        if term.head == "lim":
            match term.args[1]:
                case Relation(("to",), (Symbol(name), target)):
                    end = self.form(target, names)
                case _:
                    raise Unreadable("a limit without its point")
            parts: tuple[Form, ...] = (self.form(term.args[0], {**names, name: bound}), end, bound)
        else:
            body = self.form(term.args[0], {**names, **{f"d{v}": symbol(f"d{v}") for v in "xyzt"}})
            differential = [n for n in body.symbols() if len(n) == 2 and n[0] == "d"]
            if len(differential) != 1 or Symbol("") in term.args[1:]:
                raise Unreadable("an integral without bounds or variable")
            name = differential[0]
            body = self.form(term.args[0], {**names, name: UNIT, name[1]: bound})
            parts = (body, *(self.form(end, names) for end in term.args[1:]), bound)
        return self._opaque(term.head, list(map(str, parts)), parts)

    def _series(self, term: Apply, names: dict[str, Form]) -> Form:
        body, low, high = term.args
        match low:
            case Relation(("=",), (Symbol(index), start)):
                first, last = self.form(start, names), self.form(high, names)
            case _:
                raise Unreadable(f"a {term.head} without its range")
        if first.constant is None or last.constant is None:
            bound = symbol(f"#{len(names)}")  # a name of its own for each level
            parts = (self.form(body, {**names, index: bound}), first, last, bound)
            return self._opaque(term.head, list(map(str, parts)), parts)
        if first.constant.denominator != 1 or last.constant.denominator != 1:
            raise Unreadable(f"a {term.head} whose range is no range of integers")
        if last.constant - first.constant > MAX_ADDENDS:
            raise TooLarge(f"it is a {term.head} of more than {MAX_ADDENDS} terms")
        join = self.algebra.add if term.head == "sum" else self.algebra.multiply
        total = ZERO if term.head == "sum" else UNIT
        for n in range(int(first.constant), int(last.constant) + 1):
            total = join(total, self.form(body, {**names, index: rational(n)}))
        return total

    def _determinant(self, rows: list[list[Form]]) -> Form:
        a = self.algebra
        if len(rows) != len(rows[0]) or len(rows) > 6:
            raise Unreadable("a determinant of what is no small square")
        if len(rows) == 1:
            return rows[0][0]
        total = ZERO
        for column, cell in enumerate(rows[0]):
            minor = [row[:column] + row[column + 1 :] for row in rows[1:]]
            part = a.multiply(cell, self._determinant(minor))
            total = a.subtract(total, part) if column % 2 else a.add(total, part)
        return total


def _infinite(form: Form) -> bool:
    return any(a.kind == "oo" for mono in form.num for a, _ in mono)
