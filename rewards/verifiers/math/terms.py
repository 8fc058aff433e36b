"""The syntax tree that `parse` makes of an answer, and what it raises when it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rewards.verifiers.math.units import Unit


class Unreadable(Exception):
    """The text is not mathematics that is understood here; the message says where it ends."""


class TooLarge(Exception):
    """Reading or working out the text would cost more than an answer can be worth."""


@dataclass(frozen=True, slots=True)
class Number:
    """A literal; `places` counts the decimals that were written, None for an exact number."""

    value: Fraction
    places: int | None = None
    digits: int = 0
    """Significant digits as written."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, or a constant that goes by a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation ("+", "*", "/", "^", "pm"...) or a function applied to its arguments."""

    head: str
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """A value and the unit behind it."""

    value: Term
    unit: Unit


@dataclass(frozen=True, slots=True)
class Relation:
    """A chain such as `0 < x <= 1`: one operator less than sides."""

    operators: tuple[str, ...]
    sides: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Several terms side by side; `left` and `right` are "" where nothing encloses them.

    `joiner` is "or" or "and" where such a word joins them, else ",".
    """

    left: str
    right: str
    items: tuple[Term, ...]
    joiner: str = ","


@dataclass(frozen=True, slots=True)
class Builder:
    r"""A set by its condition: `\{x \mid x > 2\}`."""

    element: Term
    condition: Term


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of equal length; `style` is its environment, such as "pmatrix"."""

    rows: tuple[tuple[Term, ...], ...]
    style: str = "matrix"


Term = Number | Symbol | Apply | Measured | Relation | Group | Builder | Matrix
