r"""The macros with a form of their own: `\frac`, `\sqrt`, `\sum`, matrices and more."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from rewards.verifiers.math.cursor import Cursor
from rewards.verifiers.math.terms import Apply, Group, Matrix, Number, Symbol, Term, Unreadable

_BLACKBOARD = {"R": "reals", "Z": "integers", "N": "naturals", "Q": "rationals", "C": "complexes"}


class Macros(Cursor):
    """Reads what follows a macro."""

    def _group(self) -> Term:
        """Read a braced argument, or the single token that TeX would take for one."""
        if self._accept("{"):
            inside = self._nested(self.statements)
            self._expect("}")
            return inside
        if self.next.kind == "number" and len(self.next.text) > 1 and self.next.text.isdigit():
            digit, rest = self.next.text[0], self.next.text[1:]
            self._tokens[self._at] = self.next._replace(text=rest, spaced=False)
            return Number(Fraction(int(digit)))
        return self._nested(self._atom)

    def _frac(self) -> Term:
        start = self._at
        if derivative := self._derivative(start):
            return derivative
        top = self._nested(self._group)
        low = self._nested(self._group)
        return Apply("/", (top, low))

    def _derivative(self, start: int) -> Term | None:
        r"""Read `\frac{dy}{dx}` and its kin as one symbol."""
        if self.next.text != "{":
            return None
        first = self._peek().text
        if not (first == r"\partial" or re.fullmatch(r"d[A-Za-z]?", first)):
            return None
        top = self._braced_text()
        if self.next.text != "{" or not re.fullmatch(r"\{?(?:d|\\partial).*", self._peek().text):
            self._at = start
            return None
        low = self._braced_text()
        return Symbol(f"{top}/{low}")

    def _sqrt(self) -> Term:
        degree: Term | None = None
        if self._accept("["):
            degree = self._nested(self._sum)
            self._expect("]")
        radicand = self._nested(self._group)
        return Apply("sqrt", (radicand,) if degree is None else (radicand, degree))

    def _binom(self) -> Term:
        return Apply("binom", (self._nested(self._group), self._nested(self._group)))

    def _overline(self) -> Term:
        return Symbol(f"overline {self._braced_text()}")

    def _accent(self) -> Term:
        inner = self._braced_text()
        return self._named(f"dot {inner}")

    def _angle(self) -> Term:
        name = self._take().text
        return Symbol(f"angle {name}")

    def _blackboard(self) -> Term:
        letter = self._braced_text()
        name = "\\" + _BLACKBOARD.get(letter, letter)
        while self.next.text in ("^", "_"):
            self._take()
            name += self._braced_text()
        return Symbol(name)

    def _big(self, head: str) -> Term:
        r"""Read `\sum_{k=1}^{n} body`, `\prod` or `\int_a^b f dx`."""
        low: Term = Symbol("")
        high: Term = Symbol("")
        while self.next.text in ("^", "_"):
            if self._take().text == "_":
                low = self._nested(self._group)
            else:
                high = self._nested(self._exponent)
        # the differential of an integral stays as the factor that names its variable
        body = self._sum() if head == "int" else self._product()
        return Apply(head, (body, low, high))

    def _lim(self) -> Term:
        condition: Term = Symbol("")
        if self._accept("_"):
            condition = self._nested(self._group)
        return Apply("lim", (self._product(), condition))

    def _begin(self) -> Term:
        style = self._braced_text()
        if style == "array" and self.next.text == "{":
            self._braced_text()
        rows: list[tuple[Term, ...]] = []
        row: list[Term] = []
        while True:
            if self._accept(r"\end"):
                self._braced_text()
                break
            if self._accept("&"):
                continue
            if self._accept(r"\\", r"\hline", r"\cr"):
                if row:
                    rows.append(tuple(row))
                row = []
                continue
            row.append(self._nested(self.statements))
            if self.next.text not in ("&", r"\\", r"\end", r"\cr"):
                raise Unreadable(f"{self.next.text!r:.20} in a matrix")
        if row:
            rows.append(tuple(row))
        if style in ("cases", "aligned", "align", "align*", "gathered"):
            return Group("", "", tuple(cell for r in rows for cell in r), "and")
        if not rows or len({len(r) for r in rows}) != 1:
            raise Unreadable("a matrix with rows of different lengths")
        return Matrix(tuple(rows), style.rstrip("*"))


SPECIAL: dict[str, Callable[[Macros], Term]] = {
    "frac": Macros._frac,
    "sqrt": Macros._sqrt,
    "binom": Macros._binom,
    "overline": Macros._overline,
    "bar": Macros._overline,
    "hat": Macros._overline,
    "dot": Macros._accent,
    "ddot": Macros._accent,
    "angle": Macros._angle,
    "triangle": Macros._angle,
    "mathbb": Macros._blackboard,
    "sum": lambda p: p._big("sum"),
    "prod": lambda p: p._big("prod"),
    "int": lambda p: p._big("int"),
    "lim": Macros._lim,
    "begin": Macros._begin,
}
