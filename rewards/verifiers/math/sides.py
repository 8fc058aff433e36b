"""What a side of a relation is: a name, a label, a decimal literal, infinity."""

from __future__ import annotations

from fractions import Fraction

from rewards.verifiers.math import numeric
from rewards.verifiers.math.atoms import scaled
from rewards.verifiers.math.terms import (
    Apply,
    Group,
    Measured,
    Number,
    Relation,
    Symbol,
    Term,
)
from rewards.verifiers.math.units import Unit
from rewards.verifiers.math.values import (
    Scalar,
)


def is_infinite(term: Term) -> bool:
    """Whether a term is plus or minus infinity."""
    match term:
        case Symbol("infty"):
            return True
        case Apply("neg" | "+", (inner,)):
            return is_infinite(inner)
    return False


def is_positive_infinity(term: Term) -> bool:
    """Whether a term is plus infinity."""
    match term:
        case Symbol("infty"):
            return True
        case Apply("+", (inner,)):
            return is_positive_infinity(inner)
    return False


def label_key(term: Term) -> str:
    """Return a label as text, the same for `|AB|` and `AB`."""
    match term:
        case Symbol(name):
            return name.removeprefix("overline ")
        case Apply("abs", (inner,)):
            return label_key(inner)
        case Apply("inverse", (inner,)):
            return "/" + label_key(inner)
        case Apply(head, args):
            return ("" if head == "*" else head).join(map(label_key, args))
        case Measured(value, _):
            return label_key(value)
    return ""


def named(term: Term) -> tuple[str, str]:
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
        case Apply("*", (Apply("^", (Symbol(name), _)), Group("(", ")", (Symbol(argument),)))):
            return f"{name}^-1", argument  # an inverse function
        case Apply("*", args) if all(isinstance(a, Symbol) for a in args) and all(
            a.name.isupper() for a in args if isinstance(a, Symbol)
        ):
            return "".join(a.name for a in args if isinstance(a, Symbol)), ""  # AB = 5
    return "", ""


def unknown(term: Term) -> str:
    """Return the unknown that a side of an inequality is: `x` or `f(x)`."""
    match term:
        case Symbol(name) if named(term)[0]:
            return name
        case Apply(head, (Symbol(argument),)) if head.startswith("call "):
            return f"{head[5:]}({argument})"
    return ""


def is_label(term: Term) -> bool:
    r"""Whether a left side names a quantity: `|CD|`, `\\frac{PO}{QO}`, `S_{ABC}:S`, `AB`."""
    match term:
        case Symbol(name):
            return name[:1].isupper() or name.startswith("overline ")
        case Apply("*" | "/" | ":" | "abs" | "inverse", args):
            return all(map(is_label, args))
        case Measured(value, _):
            return is_label(value)
    return False


def name_of(term: Term) -> str:
    """Return what a relation says something about: "x" in `x < 2`."""
    return named(term.sides[0])[0] if isinstance(term, Relation) else ""


def literal(term: Term) -> Number | None:
    """Return the decimal literal that a term is: signed, or times a power of ten."""
    match term:
        case Number(_, places) if places is not None:
            return term
        case Apply("neg", (inner,)):
            return literal(inner)
        case Apply(
            "*",
            (
                Number() as number,
                Apply("^", (Number(Fraction(numerator=10, denominator=1), None), power)),
            ),
        ):
            exponent = _small_integer(power)
            if number.places is not None and exponent is not None:
                return scaled(number, exponent)
    return None


def _small_integer(term: Term) -> int | None:
    match term:
        case Number(value, None) if value.denominator == 1 and abs(value) < 5000:
            return int(value)
        case Apply("neg", (inner,)):
            positive = _small_integer(inner)
            return None if positive is None else -positive
        case Group(_, _, (inner,)):
            return _small_integer(inner)
    return None


def rounds_to(exact: Scalar, decimal: Scalar) -> bool:
    """Whether a decimal is the other value, rounded or cut off where it ends."""
    for value, shown in ((exact, decimal), (decimal, exact)):
        known = numeric.rounded(value.form, 45)
        text = numeric.rounded(shown.form, 45)
        if shown.places is None or known is None or text is None:
            continue
        if value.places is not None and value.places <= shown.places:
            continue  # two decimals of one length are equal or not
        step = Fraction(10) ** -shown.places
        if shown.slack is not None:
            step *= abs(numeric.rounded(shown.slack, 45) or Fraction(0))
        gap = (abs(known) - abs(text)) / step
        if known * text >= 0 and -Fraction(1, 2) <= gap < 1:
            return True
    return False


def without_degrees(term: Term) -> tuple[Term, Unit | None]:
    """Drop the degree signs of "45° + 180° k" and return their unit."""
    match term:
        case Measured(value, unit) if unit.dimension == (("angle", 1),) and unit.pi:
            return value, unit
        case Apply("neg" | "+" | "*" as head, args):
            parts = [without_degrees(arg) for arg in args]
            found = next((u for _, u in parts if u is not None), None)
            return Apply(head, tuple(p for p, _ in parts)), found
    return term, None
