"""The program's standard streams, which lead to the process of the tests."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

MAX_PRINTED = 1 << 20
"""Bytes of output that go along with one frame."""

Ask = Callable[..., Any]


class Asking(io.TextIOBase):
    """Standard input, which the process of the tests has."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def read(self, size: int | None = -1, /) -> Any:
        """Read text."""
        return self._ask("read", -1 if size is None else size)

    def readline(self, size: int = -1, /) -> Any:  # type: ignore[override]
        """Read a line."""
        return self._ask("readline", size)


class Printed(io.RawIOBase):
    """Output that goes along with the replies, and where the job's output is counted too."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._data = bytearray()
        stream: Any = self
        self.text = io.TextIOWrapper(stream, encoding="utf-8", write_through=True)

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any, /) -> int:
        """Keep the data, and write it where the sandbox counts it."""
        written = os.write(self._descriptor, data)
        self._data += bytes(data)[: min(written, max(0, MAX_PRINTED - len(self._data)))]
        return written

    def take(self) -> str:
        """Return what was written since the last time."""
        data, self._data = self._data, bytearray()
        return data.decode("utf-8", "replace")
