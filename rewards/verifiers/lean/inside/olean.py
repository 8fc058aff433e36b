"""A compiled module: what it imports and which constants it declares."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence

from rewards.verifiers.lean.inside.heap import Heap, OleanError, Word
from rewards.verifiers.lean.inside.terms import CONSTANT, KINDS, NAME, NAMES, Reader, Terms

MATCHER_NAME = re.compile(r"(match|_sparseCasesOn)_[0-9]+(_[0-9]+)*")
"""The last component of the names that Lean gives to what it makes of `match`."""
SAFE = b"\1"


class Module:
    """One .olean file; its constants are read when they are asked for.

    Raises:
        OleanError: If it is not one of Lean 4.35, or contradicts itself.
    """

    def __init__(self, data: bytes, terms: Terms) -> None:
        self.terms = terms
        self.heap = Heap(data)
        self.reader = Reader(terms, self.heap)
        fields, scalars = self._struct(self.heap.root, 5)
        if any(scalars[:1]):
            raise OleanError("it uses the module system (`module`), whose parts are not read here")
        self.imports = tuple(self._import(word) for word in self.heap.array(fields[0]))
        """The name of each imported module, and the flags of the import."""
        self.words = self._index(self.heap.array(fields[1]), self.heap.array(fields[2]))
        """The names of the constants, and where each is."""
        matchers = {name: word for name, word in self.words.items() if self._is_matcher(name)}
        self.reader = Reader(terms, self.heap, matchers=matchers)

    def constant(self, name: int) -> int:
        """Return the constant of this name."""
        return self.reader.read(CONSTANT, self.words[name])

    def kind(self, name: int) -> str:
        """Return what kind of constant a name stands for, without reading it."""
        tag, _, _ = self.heap.constructor(self.words[name])
        if tag >= len(KINDS):
            raise OleanError(f"no kind of constant: {tag}")
        return KINDS[tag]

    def level_params(self, name: int) -> list[int]:
        """Return the names of the universe parameters of a constant, in order."""
        params = self.terms.items(self.reader.read(NAMES, self._signature(self.words[name])[1]))
        if len(set(params)) < len(params):
            raise OleanError("a constant has two universe parameters of one name")
        return params

    def renamed(self, own: Sequence[int], others: Sequence[int]) -> Module:
        """Return this module with the universe parameters `own` called `others` everywhere.

        A parameter that has one of the other names already gets a name that nothing else has, so
        every constant still says the same.
        """
        view = copy.copy(self)
        fresh = {name: self.terms.add("fresh", parts=(name,)) for name in others}
        levels = {**fresh, **dict(zip(own, others, strict=True))}
        view.reader = Reader(self.terms, self.heap, levels, self.reader.matchers)
        return view

    def _is_matcher(self, name: int) -> bool:
        """Tell whether a constant is a safe definition with the name of a matcher."""
        label, _, parts = self.terms[name]
        text = self.terms[parts[1]].payload if label == "str" else ""
        if not (isinstance(text, str) and MATCHER_NAME.fullmatch(text)):
            return False
        return self.kind(name) == "def" and self._value(self.words[name])[1][:1] == SAFE

    def _index(self, names: Sequence[Word], words: Sequence[Word]) -> dict[int, Word]:
        if len(names) != len(words):
            raise OleanError(f"{len(names)} names for {len(words)} constants")
        found: dict[int, Word] = {}
        for name, word in zip(names, words, strict=True):
            number = self.reader.read(NAME, name)
            if self.reader.read(NAME, self._signature(word)[0]) != number:
                raise OleanError("the name of a constant is not the name it is listed under")
            if number in found:
                raise OleanError("it declares two constants of one name")
            found[number] = word
        return found

    def _signature(self, constant: Word) -> tuple[Word, ...]:
        (signature, *_), _ = self._value(constant)
        return self._struct(signature, 3)[0]

    def _value(self, constant: Word) -> tuple[tuple[Word, ...], bytes]:
        _, (value, *_), _ = self._of(constant, 1)
        _, fields, scalars = self._of(value, 1)
        return fields, scalars

    def _import(self, word: Word) -> tuple[int, bytes]:
        (name,), flags = self._struct(word, 1)
        return self.reader.read(NAME, name), flags[:3]

    def _struct(self, word: Word, num_fields: int) -> tuple[tuple[Word, ...], bytes]:
        tag, fields, scalars = self._of(word, num_fields)
        if tag != 0 or len(fields) != num_fields:
            raise OleanError(f"no structure of {num_fields} fields")
        return fields, scalars

    def _of(self, word: Word, at_least: int) -> tuple[int, tuple[Word, ...], bytes]:
        tag, fields, scalars = self.heap.constructor(word)
        if len(fields) < at_least:
            raise OleanError(f"no object with {at_least} fields")
        return tag, fields, scalars
