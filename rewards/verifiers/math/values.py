"""What an answer can be, once it is read: the types that `compare` knows how to compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from rewards.verifiers.math.clock import Moment
from rewards.verifiers.math.forms import Form, number_shown

if TYPE_CHECKING:
    from rewards.verifiers.math.terms import Term
    from rewards.verifiers.math.units import Unit


@dataclass(frozen=True)
class Scalar:
    """A number or a formula, with the unit that stood behind it."""

    form: Form
    unit: Unit | None = None
    places: int | None = None
    """Decimals that were written, where the text is a decimal literal."""
    digits: int = 0
    """Significant digits of that literal."""
    base: int | None = None
    """The base that a subscript named."""
    name: str = ""
    """What it was said to be the value of, where no `Equation` says so."""
    term: Term | None = field(default=None, compare=False)
    """The text's syntax tree, for reading it again with other names."""
    slack: Form | None = None
    """What one unit was worth before conversion, while `places` still count in it."""

    def __str__(self) -> str:
        value = self.form.constant
        shown = number_shown(value) if value is not None else str(self.form)
        return f"{shown} {self.unit.name}" if self.unit else shown


@dataclass(frozen=True)
class Listing:
    """Values side by side; `left` and `right` are the brackets, "" for none."""

    items: tuple[Value, ...]
    left: str = ""
    right: str = ""
    names: tuple[str, ...] = ()
    """The unknowns that the values were given to, one an item."""

    @property
    def is_set(self) -> bool:
        """Whether it was written in braces."""
        return self.left == "{"

    def __str__(self) -> str:
        named = self.names or ("",) * len(self.items)
        shown = [f"{n} = {v}" if n else str(v) for n, v in zip(named, self.items, strict=True)]
        return f"{self.left}{', '.join(shown)}{self.right}"


@dataclass(frozen=True)
class Grid:
    """A matrix."""

    rows: tuple[tuple[Form, ...], ...]

    def __str__(self) -> str:
        return "[" + "; ".join(", ".join(map(str, row)) for row in self.rows) + "]"


@dataclass(frozen=True)
class Equation:
    """An equation between formulas; `sides` has two of them."""

    sides: tuple[Form, Form]
    name: str = ""
    """What stands alone on the left: "y" in `y = 2x`, "f" in `f(x) = 2x`."""
    body: Form | None = None
    term: Term | None = field(default=None, compare=False)
    """The syntax tree of the right side."""
    """The right side of `f(x) = ...` with "#" for its argument."""

    def __str__(self) -> str:
        return f"{self.sides[0]} = {self.sides[1]}"


@dataclass(frozen=True)
class Comparison:
    """A chain of inequalities that is no set of real numbers: (operator, left - right) each."""

    parts: tuple[tuple[str, Form], ...]

    def __str__(self) -> str:
        return " and ".join(f"{form} {operator} 0" for operator, form in self.parts)


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`; None is infinity. A point is a closed interval of length zero."""

    low: Form | None
    high: Form | None
    closed: tuple[bool, bool] = (False, False)

    @property
    def bounds(self) -> tuple[Form | None, Form | None]:
        """Both ends."""
        return self.low, self.high

    def __str__(self) -> str:
        if self.low is not None and self.low == self.high:
            return "{" + str(self.low) + "}"
        left, right = "[" if self.closed[0] else "(", "]" if self.closed[1] else ")"
        low = "-oo" if self.low is None else str(self.low)
        return f"{left}{low}, {'oo' if self.high is None else self.high}{right}"


@dataclass(frozen=True)
class RealSet:
    """A set of real numbers as disjoint intervals from left to right."""

    intervals: tuple[Interval, ...]
    name: str = ""

    def __str__(self) -> str:
        return " U ".join(map(str, self.intervals)) or "{}"


@dataclass(frozen=True)
class Family:
    """All `base + k * step` for integer k, for each of the pairs."""

    pairs: tuple[tuple[Form, Form], ...]
    unit: Unit | None = None
    domain: str = "integers"
    """What k runs through."""
    letter: str = ""
    """What stands for k, where nothing says that it is an integer."""
    name: str = ""

    def __str__(self) -> str:
        return ", ".join(f"{base} + k*({step})" for base, step in self.pairs)


@dataclass(frozen=True)
class Proportion:
    """A ratio such as 1:2:3."""

    parts: tuple[Form, ...]

    def __str__(self) -> str:
        return ":".join(map(str, self.parts))


@dataclass(frozen=True)
class Option:
    """The letter of a choice, and what was written behind it."""

    letter: str
    rest: str = ""
    marked: bool = True
    """Whether brackets or a word such as "option" made it a choice."""

    def __str__(self) -> str:
        return f"({self.letter}) {self.rest}".strip()


@dataclass(frozen=True)
class Prose:
    """Words."""

    text: str

    def __str__(self) -> str:
        return self.text


Value = (
    Scalar | Listing | Grid | Equation | Comparison | RealSet | Family | Proportion | Option
    | Prose | Moment
)  # fmt: skip

EMPTY = RealSet(())
KINDS: dict[str, tuple[type, ...]] = {
    "number": (Scalar, Proportion),
    "expression": (Scalar, Equation),
    "interval": (RealSet, Listing),
    "set": (Listing, RealSet, Family),
    "tuple": (Listing,),
    "matrix": (Grid, Listing),
    "equation": (Equation, Listing, Scalar),
    "inequality": (RealSet, Comparison, Listing),
    "choice": (Option,),
    "text": (Prose,),
    "date": (Moment,),
}
"""Which values a spec's `kind` admits."""


@dataclass
class Reading:
    """All that a text may mean, the likeliest first; empty if it is not understood."""

    text: str
    values: list[Value] = field(default_factory=list)
    complaint: str = ""
    too_large: bool = False

    @cached_property
    def shown(self) -> str:
        """The canonical form of the likeliest meaning."""
        return str(self.values[0]) if self.values else self.text

    def __str__(self) -> str:
        return self.shown
