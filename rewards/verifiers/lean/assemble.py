"""Put a submission into the file that Lean compiles.

The header and all else that stands before the submission are the task's. A submission is a whole
file (it declares the theorem, or something else), or only a proof, which is put after the
statement: a term, or tactics whose `by` is missing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile
from typing import Literal

from rewards.verifiers.lean.lexer import LexError, Token, lex
from rewards.verifiers.lean.names import (
    COMMAND_KEYWORDS,
    DECLARATION_KEYWORDS,
    declares,
    lex_statement,
    word_set,
)
from rewards.verifiers.lean.tactics import is_tactics, realign

Form = Literal["file", "term", "tactics"]

# A command of its own, so that the submission cannot continue the one before it: `∨ True` after a
# definition of the preamble, a further name after `open Nat`.
_BARRIER = "section\nend\n"
_WITHIN_PROOFS = word_set("open set_option")
"""Commands that are also tactics and terms, with `in`."""


@dataclass(frozen=True)
class Source:
    """A Lean file in two parts: the header, which may be compiled beforehand, and the rest."""

    header: str
    body: str
    form: Form = "file"
    """What the submission was taken for."""
    lines_before: int = 0
    """How many lines of `text` stand before the submission's first."""
    escape_line: int | None = None
    """The submission's line on which a mere proof ends and a new command begins."""

    @property
    def text(self) -> str:
        """The whole file."""
        return self.header + self.body

    @property
    def header_lines(self) -> int:
        """How many lines the header has."""
        return self.header.count("\n")

    @property
    def trusted_lines(self) -> int:
        """How many lines get messages that no submission can have worded.

        What Lean says of a statement can hold words of the proof behind it, `unsolved goals` for
        one; so it is the header's lines, or all where no submission follows.
        """
        alone = self.lines_before == self.text.count("\n")
        return self.lines_before if alone else self.header_lines


def target_source(header: str, preamble: str, statement: str) -> Source:
    """Return the file that states the theorem, unproved: what submissions are compared with.

    Raises:
        ValueError: If the statement cannot be read.
    """
    header, body = _ended(header), _ended(preamble) + bare_statement(statement) + " := sorry\n"
    return Source(header, body, lines_before=(header + body).count("\n"))


def assemble(header: str, preamble: str, statement: str, name: str, submission: str) -> Source:
    """Return the file that holds a submission, from which `strip_repeats` took what repeats ours.

    Args:
        header: The task's imports, and what else comes first.
        preamble: The task's definitions.
        statement: The theorem, with or without `:=`, `:= by` or `:= by sorry` at its end.
        name: The theorem's name.
        submission: What is to be judged.

    Raises:
        ValueError: If the statement, or the name, cannot be read.
        LexError: If the submission cannot be; the filter refuses it before.
    """
    tokens = lex(submission)
    form = _form(tokens, statement, name)
    equations = form == "term" and tokens and tokens[0].text == "|"
    stated = bare_statement(statement) + ("" if equations else " :=")
    before = _ended(preamble) + (_BARRIER if form == "file" else stated)
    if form == "tactics":
        before += " by"
        submission = textwrap.indent(textwrap.dedent(realign(submission, tokens)), "  ")
    elif form == "term" and tokens and tokens[0].text == ":=":
        submission = _blank(submission, tokens[0].offset, tokens[0].end)
    header, before = _ended(header), _ended(before)
    return Source(
        header,
        before + _ended(submission),
        form,
        lines_before=(header + before).count("\n"),
        escape_line=None if form == "file" else _escape_line(tokens),
    )


def bare_statement(statement: str) -> str:
    """Return a statement without the `:=`, `:= by` or `:= by sorry` at its end.

    Raises:
        ValueError: If the statement cannot be read, or is empty.
    """
    tokens = lex_statement(statement)
    kept = _proof_start(tokens)
    if not kept:
        raise ValueError("the statement is empty")
    return statement[: tokens[kept - 1].end]


def strip_repeats(submission: str, header: str, preamble: str) -> str:
    """Blank what repeats lines of the header at the beginning, and the preamble's declarations.

    Only what is equal to ours, token by token, is blanked, with the comments before it, so that all
    else reaches the filter. No line or column changes its number. What cannot be lexed is returned
    as it is.
    """
    try:
        tokens = lex(submission)
        ours = [_texts(line) for line in _by_line(lex(header))]
        definitions = lex(preamble)
    except LexError:
        return submission
    header_lines = takewhile(lambda line: _texts(line) in ours, _by_line(tokens))
    start = sum(len(line) for line in header_lines)
    repeated = [(0, start)]
    if _texts(tokens[start : start + len(definitions)]) == _texts(definitions):
        repeated.append((start, start + len(definitions)))
    else:
        repeated += _find_all(tokens, _declarations(definitions))
    for first, end in repeated:
        if end > first:
            after = tokens[first - 1].end if first else 0
            submission = _blank(submission, after, tokens[end - 1].end)
    return submission


def _declarations(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the commands that declare something, each as its tokens."""
    commands: list[list[Token]] = []
    for token in tokens:
        begins = token.keyword in COMMAND_KEYWORDS or token.text == "@"
        if not commands or (begins and token.column == 0):
            commands.append([])
        commands[-1].append(token)
    return [c for c in commands if any(token.keyword in DECLARATION_KEYWORDS for token in c)]


def _find_all(tokens: Sequence[Token], parts: Iterable[Sequence[Token]]) -> list[tuple[int, int]]:
    """Return where each part stands first, as the indices of its first token and of its end."""
    separator = "\0"  # which no token holds
    text = separator.join(["", *_texts(tokens), ""])
    found = []
    for part in parts:
        at = text.find(separator.join(["", *_texts(part), ""]))
        if at >= 0:
            first = text.count(separator, 0, at)
            found.append((first, first + len(part)))
    return found


def _form(tokens: Sequence[Token], statement: str, name: str) -> Form:
    if declares(tokens, name) or _begins_file(tokens):
        return "file"
    ours = lex_statement(statement)
    after_by = any(token.keyword == "by" for token in ours[_proof_start(ours) :])
    return "tactics" if is_tactics(tokens, after_by=after_by) else "term"


def _begins_file(tokens: Sequence[Token]) -> bool:
    if not tokens:
        return False
    first = tokens[0]
    if first.keyword in _WITHIN_PROOFS:
        return any(token.keyword in DECLARATION_KEYWORDS for token in tokens)
    attribute = _texts(tokens[:2]) == ["@", "["]
    return first.keyword in COMMAND_KEYWORDS or attribute or first.text.startswith("#")


def _proof_start(tokens: Sequence[Token]) -> int:
    """Return the index of the `:=` that ends a statement, or how many tokens it has."""
    for proof in ([":=", "by", "sorry"], [":=", "sorry"], [":=", "by"], [":="]):
        if _texts(tokens[-len(proof) :]) == proof:
            return len(tokens) - len(proof)
    return len(tokens)


def _escape_line(tokens: Sequence[Token]) -> int | None:
    commands = COMMAND_KEYWORDS - _WITHIN_PROOFS
    for before, token in pairwise(tokens):
        command = token.keyword in commands or token.text.startswith("#")
        if command and token.line > before.line:
            return token.line
    return None


def _by_line(tokens: Sequence[Token]) -> list[list[Token]]:
    return [list(line) for _, line in groupby(tokens, key=lambda token: token.line)]


def _texts(tokens: Iterable[Token]) -> list[str]:
    return [token.text for token in tokens]


def _blank(text: str, start: int, end: int) -> str:
    """Replace a stretch of text by spaces, and leave its line ends."""
    spaces = "".join("\n" if char == "\n" else " " for char in text[start:end])
    return text[:start] + spaces + text[end:]


def _ended(text: str) -> str:
    """End a text with its line."""
    return text if not text or text.endswith("\n") else text + "\n"
