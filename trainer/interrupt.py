"""Ctrl-C: the first asks the run to stop where it can be resumed, the second stops it at once."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Self


class InterruptGuard:
    """While open, holds back the first Ctrl-C and remembers it.

    Off the main thread, where Python delivers no signals, it only holds `requested`.
    """

    requested = False

    def __enter__(self) -> Self:
        self._on_main_thread = threading.current_thread() is threading.main_thread()
        if self._on_main_thread:
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._on_main_thread:
            signal.signal(signal.SIGINT, self._previous)

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        # Not through sys.stderr: the signal may have come in the middle of a write to it.
        os.write(2, b"\nstopping after this phase; Ctrl-C again stops at once\n")
