"""Where a parser stands among the tokens, and the steps that all of its parts take."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from rewards.verifiers.math.terms import Term, TooLarge, Unreadable
from rewards.verifiers.math.tokens import MAX_TOKENS, Token
from rewards.verifiers.math.units import Unit
from rewards.verifiers.math.vocabulary import is_known

MAX_NESTING = 40
"""Of brackets, arguments and exponents."""


class Cursor(ABC):
    """Reads tokens one by one; the grammar is in the subclasses."""

    def __init__(self, text: str, tokens: list[Token], letter_units: bool) -> None:
        if len(tokens) > MAX_TOKENS:
            raise TooLarge(f"it has more than {MAX_TOKENS} numbers, letters and signs")
        self._text, self._tokens, self._letter_units = text, tokens, letter_units
        self._at = self._depth = self._bars = 0

    @property
    def next(self) -> Token:
        """The token that was not taken yet."""
        return self._tokens[self._at]

    def _peek(self, ahead: int = 1) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        if token.kind != "end":
            self._at += 1
        return token

    def _accept(self, *texts: str) -> bool:
        if self.next.text in texts and self.next.kind in ("sign", "macro", "word"):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise Unreadable(f"{text!r} is missing before {self.next.text!r:.20}")

    def _nested(self, read: Callable[[], Term]) -> Term:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise TooLarge(f"it is nested deeper than {MAX_NESTING}")
        term = read()
        self._depth -= 1
        return term

    def unread(self, text: str) -> Unreadable:
        """Return the error that tells where reading ended."""
        return Unreadable(f"{text!r:.20} was not expected" if text else "it breaks off")

    def _cut_word(self) -> None:
        """Leave one letter of a run of them, where TeX would take no more: in `2^nn!`."""
        token = self.next
        if token.kind == "word" and len(token.text) > 1 and not is_known(token.text):
            rest = token._replace(text=token.text[1:], start=token.start + 1, spaced=False)
            self._tokens[self._at : self._at + 1] = [token._replace(text=token.text[0]), rest]

    def _subscript(self) -> str:
        if self.next.text == "{":
            return self._braced_text()
        if "\\" in self._text or len(self.next.text) < 3:
            self._cut_word()
        return self._take().text.lstrip("\\")

    def _braced_text(self) -> str:
        """Take one argument and return its tokens' text."""
        if not self._accept("{"):
            return self._take().text.lstrip("\\")
        pieces: list[str] = []
        depth = 1
        while True:
            token = self._take()
            if token.kind == "end":
                raise Unreadable("a brace that is not closed")
            depth += (token.text == "{") - (token.text == "}")
            if depth == 0:
                text = "".join(pieces)
                return text if re.fullmatch(r"[\w.,+-]*", text) else f"{{{text}}}"
            pieces.append(token.text.strip().lstrip("\\"))

    @abstractmethod
    def statements(self) -> Term:
        """Read statements up to a closing bracket or the end."""

    @abstractmethod
    def _sum(self) -> Term: ...

    @abstractmethod
    def _product(self) -> Term: ...

    @abstractmethod
    def _factor(self) -> Term: ...

    @abstractmethod
    def _exponent(self) -> Term: ...

    @abstractmethod
    def _atom(self) -> Term: ...

    @abstractmethod
    def _named(self, name: str) -> Term: ...

    @abstractmethod
    def _raised(self, base: Term) -> Term: ...

    @abstractmethod
    def _unit(self) -> Unit | None: ...

    @abstractmethod
    def _starts_factor(self, token: Token) -> bool: ...
