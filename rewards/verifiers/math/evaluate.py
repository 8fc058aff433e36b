"""Work a syntax tree out to its canonical form, exactly.

What has no exact value here (an integral, a limit, an unknown function) becomes an opaque atom, equal
to itself alone; `Evaluator.opaque` then says that a second opinion may know more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from rewards.verifiers.math import numeric
from rewards.verifiers.math.algebra import (
    HALF,
    IMAGINARY,
    PI_FORM,
    UNIT,
    ZERO,
    Algebra,
    Atom,
    Form,
    Polynomial,
    Undefined,
    atom_form,
    rational,
    symbol,
)
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

MAX_FACTORIAL = 5000
MAX_ADDENDS = 1000
"""Of a sum or product that is written out."""

INFINITY = atom_form(Atom("oo", "oo"))


class Evaluator:
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
        self.opaque = False

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
        if (operation := _OPERATIONS.get(term.head)) is None:
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
        self.opaque = True
        return atom_form(Atom("call", f"{head}({', '.join(keys)})", payload))

    def _calculus(self, term: Apply, names: dict[str, Form]) -> Form:
        """Keep a limit or an integral, with "#" for its variable, for the second opinion."""
        if term.head == "lim":
            match term.args[1]:
                case Relation(("to",), (Symbol(name), target)):
                    end = self.form(target, names)
                case _:
                    raise Unreadable("a limit without its point")
            parts = (self.form(term.args[0], {**names, name: symbol("#")}), end)
        else:
            body = self.form(term.args[0], {**names, **{f"d{v}": symbol(f"d{v}") for v in "xyzt"}})
            differential = [n for n in body.symbols() if len(n) == 2 and n[0] == "d"]
            if len(differential) != 1 or Symbol("") in term.args[1:]:
                raise Unreadable("an integral without bounds or variable")
            name = differential[0]
            body = self.form(term.args[0], {**names, name: UNIT, name[1]: symbol("#")})
            parts = (body, *(self.form(bound, names) for bound in term.args[1:]))
        return self._opaque(term.head, list(map(str, parts)), parts)

    # ---- operations --------------------------------------------------------------------------

    def _series(self, term: Apply, names: dict[str, Form]) -> Form:
        body, low, high = term.args
        match low:
            case Relation(("=",), (Symbol(index), start)):
                first, last = self.form(start, names), self.form(high, names)
            case _:
                raise Unreadable(f"a {term.head} without its range")
        if first.constant is None or last.constant is None:
            inner = self.form(body, {**names, index: symbol("#")})
            parts = (inner, first, last)
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

    def _sum(self, *args: Form) -> Form:
        total = args[0]
        for term in args[1:]:
            total = self.algebra.add(total, term)
        return total

    def _root(self, radicand: Form, degree: Form | None = None) -> Form:
        n = Fraction(2) if degree is None else degree.constant
        if n is None:
            return self.algebra.power(radicand, self.algebra.invert(degree or UNIT))
        if n == 0:
            raise Undefined("it takes a zeroth root")
        return self.algebra.rational_power(radicand, 1 / n)

    def _absolute(self, x: Form) -> Form:
        if (value := x.constant) is not None:
            return rational(abs(value))
        sign = numeric.sign(x)
        if sign:
            return x if sign > 0 else self.algebra.negate(x)
        if any(atom.kind == "U" for atom in x.atoms()):
            return self._modulus(x)
        if x.den != {(): 1}:
            parts = (Form(x.num, ONE_POLY), Form(x.den, ONE_POLY))
            return self.algebra.divide(*(self._absolute(part) for part in parts))
        if len(x.num) == 1:
            ((mono, coefficient),) = x.num.items()
            result = rational(abs(coefficient))
            for atom, exponent in mono:
                inner = atom_form(atom, exponent)
                if atom.kind in ("x", "call", "ln"):
                    inner = atom_form(_absolute_atom(atom_form(atom)), exponent)
                result = self.algebra.multiply(result, inner)
            return result
        leading = x.num[max(x.num, key=_by_shape)]
        inside = self.algebra.multiply(x, rational(1 / leading))
        atom = atom_form(_absolute_atom(inside))
        return self.algebra.multiply(rational(abs(leading)), atom)

    def _modulus(self, z: Form) -> Form:
        a = self.algebra
        square = a.multiply(z, self._conjugate(z))
        return a.rational_power(square, HALF)

    def _conjugate(self, z: Form) -> Form:
        if z.symbols() or any(atom.kind in ("E", "P", "ln") for atom in z.atoms()):
            raise Unreadable("the conjugate of an unknown")
        return self.algebra.divide(self._flipped(z.num), self._flipped(z.den))

    def _flipped(self, poly: Polynomial) -> Form:
        total = ZERO
        for mono, coefficient in poly.items():
            exponents = {atom: -e if atom.kind == "U" else e for atom, e in mono}
            total = self.algebra.add(total, self.algebra.product(coefficient, exponents))
        return total

    def _log(self, x: Form, base: Form | None = None) -> Form:
        if base is None:
            self.bare_log = True
            if self.log_base is None:
                return self.algebra.ln(x)
            base = rational(self.log_base)
        return self.algebra.divide(self.algebra.ln(x), self.algebra.ln(base))

    def _exp_i(self, x: Form) -> Form:
        return self.algebra.exp(self.algebra.multiply(IMAGINARY, x))

    def _sin(self, x: Form) -> Form:
        a, turn = self.algebra, self._exp_i(x)
        return a.divide(a.subtract(turn, a.invert(turn)), a.multiply(rational(2), IMAGINARY))

    def _cos(self, x: Form) -> Form:
        a, turn = self.algebra, self._exp_i(x)
        return a.multiply(rational(HALF), a.add(turn, a.invert(turn)))

    def _sinh(self, x: Form) -> Form:
        a, e = self.algebra, self.algebra.exp(x)
        return a.multiply(rational(HALF), a.subtract(e, a.invert(e)))

    def _cosh(self, x: Form) -> Form:
        a, e = self.algebra, self.algebra.exp(x)
        return a.multiply(rational(HALF), a.add(e, a.invert(e)))

    def _tan(self, x: Form) -> Form:
        return self.algebra.divide(self._sin(x), self._cos(x))

    def _arc(self, name: str, x: Form) -> Form:
        """Return an inverse trigonometric function: a known angle, else an atom; all are odd."""
        direct = self._sin if name == "arcsin" else self._tan
        for twelfths in range(-6, 7):
            angle = self.algebra.multiply(rational(Fraction(twelfths, 12)), PI_FORM)
            if name == "arctan" and abs(twelfths) == 6:
                continue
            if not x.symbols() and not self.algebra.difference(direct(angle), x):
                return angle
        if x.num and x.num[max(x.num, key=_by_shape)] < 0:
            return self.algebra.negate(self._arc(name, self.algebra.negate(x)))
        return self._opaque(name, [str(x)], (x,))

    def _arccos(self, x: Form) -> Form:
        quarter = self.algebra.multiply(rational(HALF), PI_FORM)
        return self.algebra.subtract(quarter, self._arc("arcsin", x))

    def _arccot(self, x: Form) -> Form:
        quarter = self.algebra.multiply(rational(HALF), PI_FORM)
        return self.algebra.subtract(quarter, self._arc("arctan", x))

    def _factorial(self, x: Form) -> Form:
        value = x.constant
        if value is not None:
            if value.denominator != 1 or value < 0:
                raise Undefined("the factorial of what is no natural number")
            if value > MAX_FACTORIAL:
                raise TooLarge(f"it is a factorial beyond {MAX_FACTORIAL}!")
            return rational(math.factorial(int(value)))
        shift = x.num.get((), Fraction(0)) if x.den == ONE_POLY else Fraction(0)
        if shift.denominator != 1 or not 0 < abs(shift) <= 20:
            return self._opaque("factorial", [str(x)], (x,))
        base = self.algebra.subtract(x, rational(shift))
        result = self._opaque("factorial", [str(base)], (base,))
        for k in range(1, abs(int(shift)) + 1):
            step = self.algebra.add(base, rational(k if shift > 0 else 1 - k))
            join = self.algebra.multiply if shift > 0 else self.algebra.divide
            result = join(result, step)
        return result

    def _binom(self, n: Form, k: Form) -> Form:
        low, top = k.constant, n.constant
        if low is not None and low.denominator == 1 and 0 <= low <= 200:
            if top is not None and top.denominator == 1 and top >= 0:
                if top.numerator.bit_length() * low > 2**16:
                    raise TooLarge("it is a huge binomial coefficient")
                return rational(math.comb(int(top), int(low)))
            result = UNIT
            for j in range(int(low)):
                step = self.algebra.subtract(n, rational(j))
                result = self.algebra.multiply(result, step, rational(Fraction(1, j + 1)))
            return result
        if top is not None and low is not None:
            if top.denominator != 1 or low.denominator != 1:
                raise Undefined("a binomial coefficient of fractions")
            if max(abs(top), abs(low)) > MAX_FACTORIAL:
                raise TooLarge("it is a huge binomial coefficient")
            return rational(math.comb(int(top), int(low)) if 0 <= low <= top else 0)
        rest = self._factorial(self.algebra.subtract(n, k))
        below = self.algebra.multiply(self._factorial(k), rest)
        return self.algebra.divide(self._factorial(n), below)

    def _whole(self, name: str, *args: Form) -> Form:
        """Apply a function of rational constants, or keep it as an atom."""
        values = [x.constant for x in args]
        if name in ("floor", "ceil") and values == [None] and not args[0].symbols():
            values = [numeric.between_integers(args[0])]
        known = [v for v in values if v is not None]
        if len(known) < len(values) or not known:
            return self._opaque(name, sorted(map(str, args)) if name != "mod" else [*map(str, args)], args)
        if name in ("gcd", "lcm", "mod") and any(v.denominator != 1 for v in known):
            raise Undefined(f"the {name} of what is no integer")
        if name == "mod" and known[-1] == 0:
            raise Undefined("it divides by zero")
        return rational(Fraction(_WHOLE[name](known)))

    def _base(self, value: Form, _radix: Form) -> Form:
        return value


def _infinite(form: Form) -> bool:
    return any(a.kind == "oo" for mono in form.num for a, _ in mono)


def _absolute_atom(inside: Form) -> Atom:
    return Atom("abs", str(inside), inside)


def _by_shape(mono: tuple[tuple[Atom, int | Fraction], ...]) -> tuple[tuple[str, str, float], ...]:
    return tuple((a.kind, a.key, float(e)) for a, e in mono)


ONE_POLY = UNIT.den
_WHOLE: dict[str, Callable[[list[Fraction]], Fraction | int]] = {
    "floor": lambda v: math.floor(v[0]),
    "ceil": lambda v: math.ceil(v[0]),
    "gcd": lambda v: math.gcd(*(int(x) for x in v)),
    "lcm": lambda v: math.lcm(*(int(x) for x in v)),
    "max": max,
    "min": min,
    "mod": lambda v: v[0] % v[-1],
    "sgn": lambda v: (v[0] > 0) - (v[0] < 0),
}


def _inverse_of(name: str) -> Callable[..., Form]:
    def operation(e: Evaluator, x: Form) -> Form:
        return e.algebra.invert(_OPERATIONS[name](e, x))

    return operation


_OPERATIONS: dict[str, Callable[..., Form]] = {
    "+": Evaluator._sum,
    "compound": Evaluator._sum,
    "neg": lambda e, x: e.algebra.negate(x),
    "*": lambda e, *xs: e.algebra.multiply(*xs),
    "/": lambda e, x, y: e.algebra.divide(x, y),
    "inverse": lambda e, x: e.algebra.invert(x),
    "^": lambda e, x, y: e.algebra.power(x, y),
    "sqrt": Evaluator._root,
    "cbrt": lambda e, x: e.algebra.rational_power(x, Fraction(1, 3)),
    "abs": Evaluator._absolute,
    "exp": lambda e, x: e.algebra.exp(x),
    "ln": lambda e, x: e.algebra.ln(x),
    "lg": lambda e, x: e.algebra.divide(e.algebra.ln(x), e.algebra.ln(rational(10))),
    "log": Evaluator._log,
    "sin": Evaluator._sin,
    "cos": Evaluator._cos,
    "tan": Evaluator._tan,
    "sec": _inverse_of("cos"),
    "csc": _inverse_of("sin"),
    "cot": lambda e, x: e.algebra.divide(e._cos(x), e._sin(x)),
    "sinh": Evaluator._sinh,
    "cosh": Evaluator._cosh,
    "tanh": lambda e, x: e.algebra.divide(e._sinh(x), e._cosh(x)),
    "arcsin": lambda e, x: e._arc("arcsin", x),
    "arctan": lambda e, x: e._arc("arctan", x),
    "arccos": Evaluator._arccos,
    "arccot": Evaluator._arccot,
    "arcsec": lambda e, x: e._arccos(e.algebra.invert(x)),
    "arccsc": lambda e, x: e._arc("arcsin", e.algebra.invert(x)),
    "factorial": Evaluator._factorial,
    "binom": Evaluator._binom,
    "base": Evaluator._base,
    ":": lambda e, x, y: e.algebra.divide(x, y),
    **{name: (lambda e, *xs, _n=name: e._whole(_n, *xs)) for name in _WHOLE},
}


def branches(term: Term) -> Iterator[Term]:
    r"""Yield the values that the plus-minus signs in a term stand for.

    `\mp` goes against `\pm`; several `\pm` without a `\mp` are independent of one another.
    """
    signs = list(_signs(term))
    if not signs:
        yield term
        return
    coupled = "mp" in signs
    n = 1 if coupled else len(signs)
    if n > 4:
        raise TooLarge("it has more than four plus-minus signs")
    for choice in range(2**n):
        bits = iter([(choice >> (0 if coupled else k)) & 1 for k in range(len(signs))])
        yield _resolved(term, bits)


def _signs(term: Term) -> Iterator[str]:
    match term:
        case Apply(("pm" | "mp") as head, args):
            yield head
            for arg in args:
                yield from _signs(arg)
        case Apply(_, args) | Group(_, _, args):
            for arg in args:
                yield from _signs(arg)
        case Measured(value, _):
            yield from _signs(value)
        case Relation(_, sides):
            for side in sides:
                yield from _signs(side)


def _resolved(term: Term, bits: Iterator[int]) -> Term:
    match term:
        case Apply(("pm" | "mp") as head, (inner,)):
            negative = next(bits) != (head == "mp")
            inside = _resolved(inner, bits)
            return Apply("neg", (inside,)) if negative else inside
        case Apply(head, args):
            return Apply(head, tuple(_resolved(arg, bits) for arg in args))
        case Group(left, right, items, joiner):
            return Group(left, right, tuple(_resolved(item, bits) for item in items), joiner)
        case Measured(value, unit):
            return Measured(_resolved(value, bits), unit)
        case Relation(operators, sides):
            return Relation(operators, tuple(_resolved(side, bits) for side in sides))
    return term
