"""Where a unit stands behind a value, and how far it goes."""

from __future__ import annotations

import re

from rewards.verifiers.math.atoms import Atoms
from rewards.verifiers.math.tokens import FUNCTION_WORDS, Token
from rewards.verifiers.math.units import Unit, read_unit
from rewards.verifiers.math.vocabulary import (
    AND,
    NAMED_VALUES,
    OR,
    RELATIONS,
    SEPARATORS,
    UNIT_SIGNS,
)

_SPACES = re.compile(r"\\[,;:! ]|\\rm(?![a-z])|\\q?quad(?![A-Za-z])|~|(?<!\\)\$|\s")
MAX_UNIT_TOKENS = 24
_JOINING = AND | OR


class Measures(Atoms):
    """Reads units."""

    def _unit(self) -> Unit | None:
        """Take the unit that starts here, if one does."""
        token = self.next
        if not self._may_start_unit(token):
            return None
        for end in self._unit_ends():
            segment = self._text[token.start : self._tokens[end].start]
            segment = _SPACES.sub(" ", segment).strip()
            unit = read_unit(segment) or read_unit(segment.lower() if segment.istitle() else "")
            if unit is not None:
                self._at = end
                return unit
        return None

    def _may_start_unit(self, token: Token) -> bool:
        if token.kind == "text":
            return token.text.strip(" ,.~").lower() not in _JOINING
        if token.kind == "word":
            if token.text in ("min", "sec"):
                return self._peek().kind == "end" or self._peek().text in SEPARATORS
            if token.text in FUNCTION_WORDS or token.text in NAMED_VALUES:
                return False
            if len(token.text) == 1:
                return token.spaced and self._letter_units
            return True
        if token.text == "/":
            after = self._peek()
            return after.kind == "text" or (after.kind == "word" and len(after.text) > 1)
        if token.text == "^":
            return self._is_degree(token)
        if token.text == "{":
            return self._peek().kind == "word"
        if token.text == r"\frac":
            return self._peek(2).kind == "text"
        if token.text == r"\Omega":
            return self._letter_units
        return token.text in UNIT_SIGNS

    def _unit_ends(self) -> list[int]:
        """Return where a unit may end: before the next separator, or number that is no exponent."""
        ends: list[int] = []
        at, raised, depth = self._at, False, 0
        while at < min(len(self._tokens), self._at + MAX_UNIT_TOKENS) and len(ends) < 4:
            token = self._tokens[at]
            depth += (token.text in ("{", "(")) - (token.text in ("}", ")"))
            stops = depth < 0 or token.kind == "end" or token.text in SEPARATORS
            stops = stops or (token.kind in ("sign", "macro") and token.text in RELATIONS)
            stops = stops or token.text in ("]", r"\}", "+", "&", r"\\", r"\cup")
            if token.kind in ("word", "text"):
                stops = stops or token.text.strip(" ,.~").lower() in _JOINING
            if stops:
                ends.append(at)
                break
            if token.kind == "number" and not raised and depth == 0 and at > self._at:
                ends.append(at)
            raised = token.text in ("^", "-") or (raised and token.text == "{")
            at += 1
        last = len(self._tokens) - 1
        if self.next.text == "^":  # "180^\circ n"
            ends.append(min(self._at + (4 if self._peek().text == "{" else 2), last))
        elif len(ends) > 1 or self.next.kind == "text":
            ends.append(self._at + 1)
        return ends
