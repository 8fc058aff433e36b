r"""The values that plus-minus signs stand for."""

from __future__ import annotations

from collections.abc import Iterator

from rewards.verifiers.math.terms import Apply, Group, Measured, Relation, Term, TooLarge


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
