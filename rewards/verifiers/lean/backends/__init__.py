"""The ways to have Lean look at a file, behind one Protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from rewards.verifiers.lean.assemble import Source
from rewards.verifiers.lean.messages import Message

Limit = Literal["time", "memory", "output", "processes"]


@dataclass(frozen=True)
class Compiled:
    """What Lean made of one file."""

    messages: tuple[Message, ...] = ()
    olean: bytes | None = None
    """The compiled file, if Lean wrote one and the back end can hand it over."""
    failed: bool = False
    """Whether it ended as after an error, whatever its messages say."""
    crash: str = ""
    """How it ended, if not by itself."""
    limit: Limit | None = None
    """The limit that ended it."""
    trouble: str = ""
    """The machine's failure: the other fields then say nothing about the file."""
    died: bool = False
    """Whether that failure is a crash of Lean itself, which a file can also bring about."""
    elapsed_s: float = 0.0

    @property
    def errors(self) -> list[Message]:
        """The messages that are errors."""
        return [message for message in self.messages if message.severity == "error"]


class Backend(Protocol):
    """Compiles files; thread-safe."""

    name: str
    version: str
    """What it runs; verdicts of other versions are not its own."""

    def compile(self, source: Source, timeout_s: float) -> Compiled:
        """Have Lean read a file; never raises for what the file or Lean does."""
        ...

    def close(self) -> None:
        """End every process and connection."""
        ...
