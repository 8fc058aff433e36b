r"""The macros with a form of their own: `\frac`, `\sqrt`, `\sum`, matrices and more."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from rewards.verifiers.math.cursor import Cursor
from rewards.verifiers.math.terms import Apply, Group, Matrix, Number, Symbol, Term, Unreadable

_BLACKBOARD = {"R": "reals", "Z": "integers", "N": "naturals", "Q": "rationals", "C": "complexes"}


_COMPLEX = re.compile(r"(?<![A-Za-z])i(?![A-Za-z])")
_ORDER = r"(?:\^\s*\{?\s*(?P<%s>\d)\s*\}?\s*)?"
_DERIVATIVE = re.compile(
    rf"\{{\s*d\s*{_ORDER % 'order'}(?P<name>\\?[A-Za-z]+(?:_\{{?\w+\}}?)?)\s*\}}\s*"
    rf"\{{\s*d\s*\\?[A-Za-z]\s*{_ORDER % 'order2'}\}}"
)


class Macros(Cursor):
    """Reads what follows a macro."""

    def _group(self, *, single: bool = False) -> Term:
        r"""Read a braced argument, or what stands for one.

        Args:
            single: Whether it is one digit, as in `\frac12`; nobody means that by `\sqrt10`.
        """
        if self._accept("{"):
            inside = self._nested(self.statements)
            if self.next.text in (r"\choose", r"\over"):
                inside = self._infix(inside)
            self._expect("}")
            return inside
        token = self.next
        if single and token.kind == "number" and len(token.text) > 1 and token.text.isdigit():
            self._tokens[self._at] = token._replace(text=token.text[1:], spaced=False)
            return Number(Fraction(int(token.text[0])))
        self._cut_word()
        return self._nested(self._atom)

    def _infix(self, top: Term) -> Term:
        r"""Read the rest of `{a \over b}` or `{n \choose k}`."""
        head = "/" if self._take().text == r"\over" else "binom"
        return Apply(head, (top, self.statements()))

    def _frac(self) -> Term:
        start = self._at
        if derivative := self._derivative(start):
            return derivative
        top = self._nested(lambda: self._group(single=True))
        low = self._nested(lambda: self._group(single=True))
        return Apply("/", (top, low))

    def _derivative(self, start: int) -> Term | None:
        r"""Read `\frac{dy}{dx}` and `\frac{d^2 y}{dx^2}` as what `y'` and `y''` are."""
        match = _DERIVATIVE.match(self._text, self.next.start)
        if match is None or match["order"] != match["order2"]:
            return None
        while self._tokens[self._at].start < match.end() and self.next.kind != "end":
            self._at += 1
        order = int(match["order"] or 1)
        if order > 9:
            self._at = start
            return None
        return Symbol(_squeezed(match["name"]) + "'" * order)

    def _sqrt(self) -> Term:
        degree: Term | None = None
        if self._accept("["):
            degree = self._nested(self._sum)
            self._expect("]")
        radicand = self._nested(self._group)
        return Apply("sqrt", (radicand,) if degree is None else (radicand, degree))

    def _binom(self) -> Term:
        top = self._nested(lambda: self._group(single=True))
        return Apply("binom", (top, self._nested(lambda: self._group(single=True))))

    def _overline(self) -> Term:
        start = self._at
        text = self._braced_text()
        if _COMPLEX.search(text) and ("+" in text or "-" in text):
            self._at = start
            return Apply("conjugate", (self._group(),))
        return Symbol(f"overline {text}")

    def _accent(self, order: int) -> Term:
        r"""Read `\dot{x}` as `x'`."""
        inner = self._named(self._braced_text())
        return Symbol(f"{inner.name}{chr(39) * order}") if isinstance(inner, Symbol) else inner

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
                if self.next.text in ("&", r"\\"):
                    raise Unreadable("a matrix with an empty cell")
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
        if style == "cases" and rows:
            cells = tuple(r[0] if len(r) == 1 else Group("(", ")", r) for r in rows)
            return Group("", "", cells, "and")
        if not rows or len({len(r) for r in rows}) != 1:
            raise Unreadable("a matrix with rows of different lengths")
        return Matrix(tuple(rows), style.rstrip("*"))


def _squeezed(name: str) -> str:
    return re.sub(r"[\\{}\s]", "", name)


SPECIAL: dict[str, Callable[[Macros], Term]] = {
    "frac": Macros._frac,
    "sqrt": Macros._sqrt,
    "binom": Macros._binom,
    "overline": Macros._overline,
    "bar": Macros._overline,
    "hat": Macros._overline,
    "dot": lambda p: p._accent(1),
    "ddot": lambda p: p._accent(2),
    "angle": Macros._angle,
    "triangle": Macros._angle,
    "mathbb": Macros._blackboard,
    "sum": lambda p: p._big("sum"),
    "prod": lambda p: p._big("prod"),
    "int": lambda p: p._big("int"),
    "lim": Macros._lim,
    "begin": Macros._begin,
}
