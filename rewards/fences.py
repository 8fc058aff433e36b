"""Fenced code blocks of Markdown, as models write them.

CommonMark, and what models add to it: fences indented by any depth, behind a list marker or a quote
mark, behind a few words on the same line when they name a language, and fences inside a string of
the Python program that the block holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class CodeBlock(NamedTuple):
    """A fenced block: its first info word in lower case, its dedented text, whether it closed."""

    language: str
    text: str
    closed: bool


_FENCE = re.compile(
    r"^(?P<indent>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$"
)
_LATE_FENCE = re.compile(r"[^`~]*[^`~\s][ \t]*(?P<mark>```|~~~)(?P<info>\w[\w+.#-]*)[ \t]*$")
_QUOTE = re.compile(r"\\.|\"\"\"|'''|[\"'#]", re.DOTALL)
_PYTHON = re.compile(r"py(thon)?[\d.]*")


def split_blocks(text: str) -> list[CodeBlock]:
    """Return the fenced blocks of a text, in order; takes linear time and never raises."""
    lines = text.replace("\r\n", "\n").split("\n")
    blocks, astray = _split(lines, heed_strings=True)
    # A string that never ends has swallowed fences that were none of it.
    return _split(lines, heed_strings=False)[0] if astray else blocks


@dataclass
class _Open:
    """The block being read."""

    indent: str
    mark: str
    info: str
    heed_strings: bool
    lines: list[str] = field(default_factory=list)
    quote: str = ""
    """The triple quote of the string that is open at this point of a Python program."""

    def __post_init__(self) -> None:
        # What follows a list marker is indented by spaces as wide.
        self.indent = re.sub(r"[-*+.)\d]", " ", self.indent)
        words = re.split(r"[\s{},:]+", self.info.strip().strip("{}.").lower(), maxsplit=1)
        self.language = words[0]
        self.heed_strings = self.heed_strings and bool(_PYTHON.fullmatch(self.language))

    def closed_by(self, fence: re.Match[str]) -> bool:
        """As in CommonMark: no info, as long as the opening, not indented four columns further."""
        further = len(fence["indent"].expandtabs()) - len(self.indent.expandtabs())
        info = re.sub(r"</\w+>", "", fence["info"])  # of a tag around the block
        bare = not info.strip() and fence["mark"].startswith(self.mark)
        return bare and further < 4 and not fence["indent"].strip(" \t>") and not self.quote

    def add(self, line: str) -> None:
        self.lines.append(line.removeprefix(self.indent).removeprefix(self.indent.rstrip()))
        if self.heed_strings:
            self.quote = _open_quote(line, self.quote)

    def block(self, *, closed: bool) -> CodeBlock:
        text = "\n".join(self.lines) + "\n" if self.lines else ""
        if not closed and text.rstrip().endswith(self.mark):  # on the last line of the code
            return CodeBlock(self.language, text.rstrip().removesuffix(self.mark) + "\n", True)
        return CodeBlock(self.language, text, closed)


def _split(lines: list[str], *, heed_strings: bool) -> tuple[list[CodeBlock], bool]:
    blocks: list[CodeBlock] = []
    opened: _Open | None = None
    for line in lines:
        fence = _FENCE.match(line) if ("```" in line or "~~~" in line) else None
        if opened is None:
            if fence:
                opened = _Open(fence["indent"], fence["mark"], fence["info"], heed_strings)
            elif late := _late_fence(line):
                opened = _Open("", late["mark"], late["info"], heed_strings)
        elif fence and opened.closed_by(fence):
            blocks.append(opened.block(closed=True))
            opened = None
        else:
            opened.add(line)
    if opened is not None:
        blocks.append(opened.block(closed=False))
    return blocks, opened is not None and bool(opened.quote)


def unwrap_markdown(blocks: Iterable[CodeBlock]) -> list[CodeBlock]:
    """Replace each block of Markdown by the blocks that it holds."""
    found: list[CodeBlock] = []
    for block in blocks:
        wrapped = block.language in ("markdown", "md")
        found += split_blocks(block.text) if wrapped else [block]
    return found


def _late_fence(line: str) -> re.Match[str] | None:
    """Match a fence that opens after words of prose, if it names a language and is the only one."""
    return _LATE_FENCE.fullmatch(line) if line.count("```") + line.count("~~~") == 1 else None


def _open_quote(line: str, quote: str) -> str:
    """Return the triple quote that is open after a line of Python, given the one before it."""
    single = ""
    for token in _QUOTE.findall(line):
        if quote:
            quote = "" if token == quote else quote
        elif single:
            single = "" if token == single else single
        elif token == "#":
            return ""
        elif len(token) == 3:
            quote = token
        elif token in "\"'":
            single = token
    return quote
