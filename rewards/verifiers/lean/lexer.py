r"""Split Lean 4 source into tokens, so that comments and strings are told apart from code.

Lean's own lexer knows the operators that the imports declare; this one does not. Where their
knowledge would decide what is comment, string or code (`<--x`, `→r"`, `⁻¹'"'`), and where versions
of Lean differ (`/-/`), the text is refused: an honest proof loses a space, a dishonest one a way to
hide a command. Interpolated strings are read as in `s!"{...}"`; in any other string the braces may
or may not be code, so their content is listed as code and must not move the string's end.

All else was compared with Lean 4.35: names (Lean Language Reference, section "Identifiers"), block
comments that nest, documentation whose opening skips comments, strings over several lines.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

MAX_CHARS = 200_000
"""Longer texts are not read."""

Kind = Literal["word", "symbol", "string", "char", "number"]

_LETTER = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f\u0391-\u039f\u03a1\u03a2\u03a4-\u03a9\u03b1-\u03ba"
    "\u03bc-\u03fb\u1f00-\u1ffe\u2100-\u214f\U0001d49c-\U0001d59f"
)
_REST = rf"[{_LETTER}0-9_'!?\u2080-\u2089\u2090-\u209c\u1d62-\u1d6a\u2c7c]"
_PART = rf"(?:«[^»\n]*»|[{_LETTER}_]{_REST}*)"
_CODE = re.compile(
    rf"""(?P<space>[ \t\r\n]+)
    |(?P<line_comment>--[^\n]*)
    |(?P<doc_comment>/-[-!])
    |(?P<block_comment>/-)
    |(?P<raw_string>r\#*")
    |(?P<word>{_PART}(?:\.{_PART})*)
    |(?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<char>'(?:\\(?:x[0-9a-fA-F]{{2}}|u[0-9a-fA-F]{{4}}|[^xu])|[^\\'])')
    |(?P<string>")
    |(?P<symbol>\#[A-Za-z_]{_REST}*|:=|''|.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_PARTS = re.compile(r"«([^»]*)»|([^.«»]+)")
_CHUNK = re.compile(r'(?:[^"\\{]|\\.)*', re.DOTALL)
_PLAIN = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
_ODD_DOC = re.compile(r"[ \t\r\n]*(?:--|/-)|/")
_NESTING = re.compile(r"/-|-/")
# Control and invisible characters that Lean forbids or that make text look like other text.
_UNREADABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]|\r(?!\n)"
)
_OPENERS = frozenset("([{⟨,;")
"""Symbols that are a token whatever the imports declare; with `]` begins another one, `]'`."""
_CLOSERS = frozenset(")]}⟩")


class LexError(ValueError):
    """The text has no one reading: something never ends, or is ambiguous."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(f"line {line}: {what}")
        self.what = what
        self.line = line


class AmbiguousError(LexError):
    """Lean may read the text in another way than this lexer."""


class TooLongError(LexError):
    """The text has more than MAX_CHARS characters."""


class Token(NamedTuple):
    """A token of code; comments are none."""

    kind: Kind
    text: str
    offset: int
    line: int
    """Counted from 1."""
    column: int
    """In characters, counted from 0."""
    parts: tuple[str, ...] = ()
    """Of a word: the components of the name, without `«»`."""
    glued: bool = False
    """Whether it follows a symbol or number without a space, and Lean may divide them otherwise."""

    @property
    def end(self) -> int:
        """The offset after the token."""
        return self.offset + len(self.text)

    @property
    def keyword(self) -> str:
        """The word if it can be a keyword: one component, not in `«»`; else empty."""
        single = self.kind == "word" and len(self.parts) == 1 and self.text[0] != "«"
        return self.text if single else ""

    @property
    def path(self) -> tuple[str, ...]:
        """The components of the name that a word stands for, less a leading `_root_`."""
        return self.parts[1:] if self.parts[:1] == ("_root_",) else self.parts


def lex(text: str) -> tuple[Token, ...]:
    """Return the tokens of code, in order; takes linear time.

    Raises:
        LexError: If a comment, string or quoted name never ends, if Lean could divide the text in
            another way, if it holds control characters, which hide text from a reader, or if it is
            longer than MAX_CHARS.
    """
    if len(text) > MAX_CHARS:
        raise TooLongError(f"the text has more than {MAX_CHARS} characters", 1)
    return _Lexer(text).run()


def _split_name(text: str) -> tuple[str, ...]:
    if "«" not in text:
        return tuple(text.split("."))
    return tuple(quoted or bare for quoted, bare in _PARTS.findall(text))


class _Hole(NamedTuple):
    """The code within the braces of a string."""

    opened: int
    """The line on which the string begins."""
    plain_end: int | None
    """Where the string ends if it is not an interpolated one; None if it surely is."""
    depth: int = 0
    """How many braces are open."""


class _Lexer:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.line = 1
        self.line_start = 0
        self.tokens: list[Token] = []
        self.holes: list[_Hole] = []

    def run(self) -> tuple[Token, ...]:
        """Lex the whole text."""
        if found := _UNREADABLE.search(self.text):
            line = self.text.count("\n", 0, found.start()) + 1
            raise LexError(f"the character U+{ord(found[0]):04X} is not allowed", line)
        while self.pos < len(self.text):
            found = _CODE.match(self.text, self.pos)
            assert found is not None  # its last branch matches any character
            self._take(found.lastgroup or "", found[0])
        if self.holes:
            raise LexError("a string never ends", self.holes[0].opened)
        return tuple(self.tokens)

    def _take(self, group: str, found: str) -> None:
        start = self.pos
        if group == "space":
            self._advance(start + len(found))
        elif group in ("word", "number"):
            self._emit("word" if group == "word" else "number", start + len(found))
        elif group.endswith("comment"):
            self._comment(group, start + len(found))
        elif group == "string":
            self._string(start)
        elif group == "raw_string":
            self._raw_string(start + len(found), '"' + found[1:-1])
        elif found == "«":
            raise LexError("a name in «» does not end on its line", self.line)
        elif found in ("{", "}") and self.holes:
            self._brace(found)
        elif found[0] == "'":
            self._quote(group, found)
        else:
            self._emit("symbol", start + len(found))

    def _advance(self, end: int) -> None:
        """Move to an offset and keep count of the lines."""
        if newlines := self.text.count("\n", self.pos, end):
            self.line += newlines
            self.line_start = self.text.rindex("\n", self.pos, end) + 1
        self.pos = end

    def _emit(self, kind: Kind, end: int) -> None:
        text, column = self.text[self.pos : end], self.pos - self.line_start
        parts = _split_name(text) if kind == "word" else ()
        self.tokens.append(Token(kind, text, self.pos, self.line, column, parts, self._glued()))
        self._advance(end)

    def _glued(self) -> bool:
        """Tell whether the imports may declare a symbol that ends in what comes next."""
        last = self.tokens[-1] if self.tokens else None
        return (
            last is not None
            and last.end == self.pos
            and last.kind in ("symbol", "number")
            and last.text not in _OPENERS
        )

    def _comment(self, group: str, end: int) -> None:
        """Pass over a comment; the opening of documentation skips comments that follow it."""
        if (
            self._glued()
            and self.tokens[-1].kind == "symbol"
            and self.tokens[-1].text not in _CLOSERS
        ):
            raise AmbiguousError("a comment right after a symbol is ambiguous", self.line)
        if group == "line_comment":
            self._advance(end)
            return
        opened, depth = self.line, 1
        if group == "block_comment" and self.text.startswith("/", end):
            raise AmbiguousError("a comment that begins with /-/ is ambiguous", opened)
        if group == "doc_comment" and _ODD_DOC.match(self.text, end):
            raise AmbiguousError("documentation that begins with a comment is ambiguous", opened)
        while depth:
            found = _NESTING.search(self.text, end)
            if found is None:
                raise LexError("a comment never ends", opened)
            end = found.end()
            if found[0] == "/-" and self.text.startswith("/", end):
                raise AmbiguousError("/-/ within a comment is ambiguous", opened)
            depth += 1 if found[0] == "/-" else -1
        self._advance(end)

    def _quote(self, group: str, found: str) -> None:
        """Read a character, or what begins like one and is a symbol of Mathlib (`g '' s`)."""
        end = self.pos + len(found)
        if (
            self._glued()
            and found != "'"
            and (not found[1].isalnum() or self.text.startswith("'", end))
        ):
            raise AmbiguousError("a quote right after a symbol is ambiguous", self.line)
        self._emit("char" if group == "char" else "symbol", end)

    def _raw_string(self, start: int, closing: str) -> None:
        if self._glued():
            raise AmbiguousError("a raw string right after a symbol is ambiguous", self.line)
        end = self.text.find(closing, start)
        if end < 0:
            raise LexError("a string never ends", self.line)
        self._emit("string", end + len(closing))

    def _string(self, start: int) -> None:
        """Read a string up to its end or to its first brace."""
        if self.holes and self.holes[-1].plain_end is not None:
            raise AmbiguousError("a quote within the braces of a string is ambiguous", self.line)
        last = self.tokens[-1] if self.tokens else None
        interpolated = last is not None and last.text == "s!" and not last.glued  # as in `s!
        plain = None if interpolated else _PLAIN.match(self.text, start + 1)
        if not interpolated and plain is None:
            raise LexError("a string never ends", self.line)
        self._chunk(_Hole(self.line, plain.end() if plain else None))

    def _chunk(self, hole: _Hole) -> None:
        """Read the characters of a string from its quote, or from the end of a hole, on."""
        found = _CHUNK.match(self.text, self.pos + 1)
        assert found is not None  # it matches the empty text
        stop = self.text[found.end() : found.end() + 1]
        if stop not in ('"', "{"):
            raise LexError("a string never ends", hole.opened)
        self._emit("string", found.end() + 1)
        if stop == "{":
            self.holes.append(hole._replace(depth=1))
        elif hole.plain_end not in (None, self.pos):
            raise AmbiguousError("the braces in a string are ambiguous", hole.opened)

    def _brace(self, brace: str) -> None:
        """Follow a brace within a hole; the one that ends the hole resumes the string."""
        hole = self.holes.pop()
        depth = hole.depth + (1 if brace == "{" else -1)
        if depth:
            self.holes.append(hole._replace(depth=depth))
            self._emit("symbol", self.pos + 1)
        else:
            self._chunk(hole)
