"""Which constants a term mentions, and which ones those lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rewards.verifiers.lean.inside.terms import Terms

_MENTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "const": ((0,), ()),
    "proj": ((0,), (2,)),
    "names": ((0,), (1,)),
    "rule": ((0,), (2,)),
    "constructor": ((1,), (0,)),
    "signature": ((), (2,)),
    "sort": ((), ()),
}
"""The parts that name constants, and those that are terms to go on with; else all are terms."""


def reach(terms: Terms, names: Iterable[int], content: Callable[[int], Iterable[int]]) -> list[int]:
    """Return the names of these constants and of all that they lead to.

    Args:
        terms: What the numbers mean.
        names: Where to start.
        content: Gives the terms of a named constant that count.
    """
    found: dict[int, None] = {}
    seen: set[int] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += _mentioned(terms, content(name), seen)
    return list(found)


def _mentioned(terms: Terms, roots: Iterable[int], seen: set[int]) -> list[int]:
    names: list[int] = []
    waiting = list(roots)
    while waiting:
        number = waiting.pop()
        if number not in seen:
            seen.add(number)
            label, _, parts = terms[number]
            named, inner = _MENTIONS.get(label, ((), range(len(parts))))
            names += (parts[at] for at in named)
            waiting += (parts[at] for at in inner)
    return names
