"""Names, levels, expressions and constants as numbered terms, equal ones under one number.

Terms of different modules share one `Terms`, so that equality is equality of numbers, at a cost
linear in the size of the files. What does not matter to the kernel is not part of a term: names of
bound variables, kinds of brackets, metadata, caches, hints for unfolding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rewards.verifiers.lean.inside.heap import Heap, OleanError, Word

TEXT, NUMBER, LEVEL_NAME = "text", "number", "level name"
NAME, NAMES, PARAMS, LEVEL, LEVELS = "name", "names", "parameters", "level", "levels"
EXPR, LITERAL, SIGNATURE, RULE, RULES = "expression", "literal", "signature", "rule", "rules"
CONSTANT, MATCHER, MATCHER_VALUE, NAMELESS = "constant", "matcher", "matcher value", "nameless"
ALIAS = ""
"""The label of what is no term of its own: it is its only part."""

Payload = str | int | bytes


class Term(NamedTuple):
    """One step of a term: what it is, its plain data, and the numbers of its parts."""

    label: str
    payload: Payload
    parts: tuple[int, ...]


class Form(NamedTuple):
    """How a constructor looks in a file."""

    label: str
    fields: tuple[str | None, ...] = ()
    """The kind of each field; None for one that is not read."""
    scalars: int = 0
    """The bytes of scalars behind the fields, caches among them."""
    kept: int = 0
    """How many of these bytes are part of the term; where any are, there are no caches."""


def _list(element: str, kind: str) -> dict[int | None, Form]:
    return {None: Form("nil"), 1: Form(kind, (element, kind))}


_CONSTANTS = {
    "axiom": Form("axiom", (SIGNATURE,), 8, 1),
    "def": Form("def", (SIGNATURE, EXPR, None, None), 8, 1),
    "theorem": Form("theorem", (SIGNATURE, EXPR, None)),
    "opaque": Form("opaque", (SIGNATURE, EXPR, None), 8, 1),
    "quotient": Form("quotient", (SIGNATURE,), 8, 1),
    "inductive": Form("inductive", (SIGNATURE, NUMBER, NUMBER, NAMES, NAMES, NUMBER), 8, 3),
    "constructor": Form("constructor", (SIGNATURE, NAME, NUMBER, NUMBER, NUMBER), 8, 1),
    "recursor": Form("recursor", (SIGNATURE, NAMES, NUMBER, NUMBER, NUMBER, NUMBER, RULES), 8, 2),
}
KINDS = tuple(_CONSTANTS)
"""The kinds of constants, in the order of Lean's constructors."""

# Stray variables of the elaborator (fvar, mvar) have no form: no constant may have them.
FORMS: Mapping[str, Mapping[int | None, Form]] = {
    NAME: {
        None: Form("anonymous"),
        1: Form("str", (NAME, TEXT), 8),
        2: Form("num", (NAME, NUMBER), 8),
    },
    NAMES: _list(NAME, NAMES),
    PARAMS: _list(LEVEL_NAME, PARAMS),
    LEVEL: {
        None: Form("zero"),
        1: Form("succ", (LEVEL,), 8),
        2: Form("max", (LEVEL, LEVEL), 8),
        3: Form("imax", (LEVEL, LEVEL), 8),
        4: Form("param", (LEVEL_NAME,), 8),
    },
    LEVELS: _list(LEVEL, LEVELS),
    EXPR: {
        0: Form("bvar", (NUMBER,), 8),
        3: Form("sort", (LEVEL,), 8),
        4: Form("const", (NAME, LEVELS), 8),
        5: Form("app", (EXPR, EXPR), 8),
        6: Form("lam", (None, EXPR, EXPR), 16),
        7: Form("pi", (None, EXPR, EXPR), 16),
        8: Form("let", (None, EXPR, EXPR, EXPR), 16),
        9: Form("lit", (LITERAL,), 8),
        10: Form(ALIAS, (None, EXPR), 8),
        11: Form("proj", (NAME, NUMBER, EXPR), 8),
    },
    LITERAL: {0: Form("nat", (NUMBER,)), 1: Form("string", (TEXT,))},
    SIGNATURE: {0: Form("signature", (NAME, PARAMS, EXPR))},
    RULE: {0: Form("rule", (NAME, NUMBER, EXPR))},
    RULES: _list(RULE, RULES),
    CONSTANT: {number: Form(ALIAS, (kind,)) for number, kind in enumerate(KINDS)},
    # What a matcher is but for its name: Lean reuses that of any earlier declaration.
    MATCHER: {1: Form(ALIAS, (MATCHER_VALUE,))},
    MATCHER_VALUE: {0: Form("matcher", (NAMELESS, EXPR, None, None), 8, 1)},
    NAMELESS: {0: Form("nameless", (None, PARAMS, EXPR))},
    **{kind: {0: form} for kind, form in _CONSTANTS.items()},
}


class Terms:
    """The terms of all modules of a comparison."""

    def __init__(self) -> None:
        self._terms: list[Term] = []
        self._numbers: dict[Term, int] = {}

    def __getitem__(self, number: int) -> Term:
        return self._terms[number]

    def add(self, label: str, payload: Payload = b"", parts: tuple[int, ...] = ()) -> int:
        """Return the number of a term, a new one if it is new."""
        term = Term(label, payload, parts)
        number = self._numbers.setdefault(term, len(self._terms))
        if number == len(self._terms):
            self._terms.append(term)
        return number

    def items(self, number: int) -> list[int]:
        """Return the elements of a list."""
        found = []
        while self[number].parts:
            head, number = self[number].parts
            found.append(head)
        return found

    def signature(self, constant: int) -> int:
        """Return the signature of a constant: its name, level parameters and type."""
        return self[constant].parts[0]

    def type_of(self, constant: int) -> int:
        """Return the type of a constant."""
        return self[self.signature(constant)].parts[2]


class Reader:
    """Reads the terms of one heap, each object once as each kind of term.

    Args:
        terms: Where they go.
        heap: Where they are.
        levels: Level parameter -> what it is called instead.
        matchers: The names of matchers, which are read as their content, and where they are.
    """

    def __init__(
        self,
        terms: Terms,
        heap: Heap,
        levels: Mapping[int, int] | None = None,
        matchers: Mapping[int, Word] | None = None,
    ) -> None:
        self.terms, self.heap = terms, heap
        self.levels, self.matchers = levels or {}, matchers or {}
        self._open: set[Word] = set()
        """The matchers whose content is being read."""
        self._known: dict[str, dict[Word, int]] = {kind: {} for kind in (*FORMS, LEVEL_NAME)}
        self._known |= {TEXT: {}, NUMBER: {}}

    def read(self, kind: str, word: Word) -> int:
        """Return the number of the term in a field.

        Raises:
            OleanError: If there is no such term.
        """
        waiting = [(kind, word)]
        while waiting:
            kind, word = waiting[-1]
            if word in self._known[kind]:
                waiting.pop()
                continue
            label, payload, fields = self._look(kind, word)
            if label == "const" and (matcher := self._find_matcher(fields[0][1])):
                label, fields = "matched", [(MATCHER, matcher), fields[1]]
            missing = [(k, w) for k, w in fields if w not in self._known[k]]
            waiting += missing
            if not missing:
                parts = tuple(self._known[k][w] for k, w in fields)
                self._known[kind][word] = self._make(kind, label, payload, parts)
        return self._known[kind][word]

    def _look(self, kind: str, word: Word) -> tuple[str, Payload, list[tuple[str, Word]]]:
        if kind == TEXT:
            return TEXT, self.heap.string(word), []
        if kind == NUMBER:
            return NUMBER, self.heap.nat(word), []
        if kind == LEVEL_NAME:
            return ALIAS, b"", [(NAME, word)]
        tag: int | None = None
        fields: tuple[Word, ...] = ()
        scalars = b""
        if word != 1:  # the boxed zero, which stands for a constructor without fields
            tag, fields, scalars = self.heap.constructor(word)
        form = FORMS[kind].get(tag)
        if form is None or (len(form.fields), form.scalars) != (len(fields), len(scalars)):
            raise OleanError(f"no {kind}: constructor {tag}, {len(fields)} fields")
        pairs = zip(form.fields, fields, strict=True)
        return form.label, scalars[: form.kept], [(k, w) for k, w in pairs if k is not None]

    def _find_matcher(self, name: Word) -> Word | None:
        """Return where the content of a matcher is, if its name has been read."""
        matcher = self.matchers.get(self._known[NAME].get(name, -1))
        if matcher is not None and matcher not in self._known[MATCHER]:
            if matcher in self._open:
                raise OleanError("a matcher that leads to itself")
            self._open.add(matcher)
        return matcher

    def _make(self, kind: str, label: str, payload: Payload, parts: tuple[int, ...]) -> int:
        if kind == LEVEL_NAME:
            return self.levels.get(parts[0], parts[0])
        return parts[0] if label == ALIAS else self.terms.add(label, payload, parts)
