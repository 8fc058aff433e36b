"""What Lean says, line by line, and which of it is the machine's failure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

HAS_SORRY = "hasSorry"
SORRY = re.compile(r"declaration uses [`'‘]?sorry\b")
"""In case a Lean without the message kind says it: with quotes until 4.27, with backticks since."""
MACHINE = re.compile(
    r"failed to create thread|std::bad_alloc|bad_alloc|[Oo]ut of memory|Cannot allocate memory"
    r"|excessive memory consumption|incompatible header|failed to (?:read|map|open) file"
    r"|object file .* does not exist|unknown module prefix|unknown package"
    r"|error while loading shared libraries|Resource temporarily unavailable"
)
"""What is no fault of a proof, where the proof cannot have said it itself."""
OVERFLOW = re.compile(
    r"Stack overflow detected|maximum recursion depth|deep recursion was detected"
)


@dataclass(frozen=True)
class Message:
    """One message of Lean about one file."""

    severity: str
    """"error", "warning" or "information"; "raw" for output that is no message."""
    text: str
    kind: str = ""
    line: int = 0
    """Counted from 1; 0 if it has no place."""
    column: int = 0

    @property
    def is_sorry(self) -> bool:
        """Whether it is Lean's own remark that a proof is incomplete."""
        named = self.kind.rpartition(".")[2] == HAS_SORRY
        return self.severity == "warning" and (named or bool(SORRY.match(self.text)))


def parse_message(data: Mapping[str, Any]) -> Message:
    """Read a message as `lean --json`, the REPL and Kimina all write it."""
    severity = str(data.get("severity", "error"))
    line, column = (_number(data.get("pos"), name) for name in ("line", "column"))
    text, kind = (
        str(data.get(name, "")).encode("utf-8", "replace").decode() for name in ("data", "kind")
    )
    return Message("information" if severity == "info" else severity, text, kind, line, column)


def _number(place: object, name: str) -> int:
    found = place.get(name) if isinstance(place, Mapping) else None
    return found if isinstance(found, int) else 0


def parse_output(stdout: bytes, stderr: bytes = b"") -> tuple[Message, ...]:
    """Read what `lean --json` printed: a message a line, or anything else as raw text.

    A line ends at a line feed only: U+2028 and the like stand unescaped inside of messages.
    """
    lines = (stdout + b"\n" + stderr).decode(errors="replace").split("\n")
    return tuple(_parse_line(line) for line in lines if line.strip())


def _parse_line(line: str) -> Message:
    try:
        data = json.loads(line)
        if isinstance(data, dict) and "severity" in data:
            return parse_message(data)
    except (ValueError, TypeError, AttributeError):
        pass
    return Message("raw", line[:2000])


def find_trouble(messages: Iterable[Message], our_lines: int) -> str:
    """Return the sign that the machine failed, if there is one.

    Raw output counts, and errors within the lines that are ours; not what is said about the
    submission, whose text can hold any words.
    """
    for message in messages:
        ours = message.severity == "raw" or (
            message.severity == "error" and message.line <= our_lines
        )
        if ours and MACHINE.search(message.text):
            return message.text[:300]
    return ""
