"""A job that stays, and that we talk to: what it writes to descriptor 4 we receive."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sandbox.frames import pack, unpack
from sandbox.types import Job, Outcome

if TYPE_CHECKING:
    from sandbox.slots import Slot

LAST_WORDS_S = 0.5
"""How long a job that has closed its descriptor may take to end by itself."""
DISMISS_S = 2.0
"""How long its keeper may take to end it and to report; then the container is ended."""


class SlotSession:
    """One job on a slot of its own, which ends with it. For one thread at a time."""

    def __init__(self, slot: Slot, job: Job, discard: Callable[[Slot], None]) -> None:
        self._slot, self._discard = slot, discard
        self._said = bytearray()
        self._hushed = False
        self._outcome: Outcome | None = None
        self._lost = ""
        self._closed = False
        self._attempt(lambda: slot.begin(job, talks=True))

    def send(self, data: bytes) -> None:
        """Have the job hear this; what it has no ears for any more is lost."""
        self._attempt(lambda: self._slot.channel.post({"heard": pack(data)}))

    def receive(self, deadline: float) -> bytes:
        """Return what the job has said and nobody has received yet; wait for it if need be.

        Raises:
            TimeoutError: If it has said nothing by the deadline (of `time.monotonic()`).
            EOFError: If it will never say anything again.
        """
        while not self._said:
            if self._hushed or self._over:
                raise EOFError("the job has ended, or closed its descriptor 4")
            if not self._attend(deadline):
                raise TimeoutError("the job says nothing")
        said = bytes(self._said)
        self._said.clear()
        return said

    def close(self) -> Outcome:
        """End the job and all its children at once; return the facts about it."""
        if not self._closed:
            self._closed = True
            if self._hushed:  # it may be about to end: of interest is how, and not that we kill it
                self._await_report(LAST_WORDS_S)
            if not self._over:
                self._attempt(lambda: self._slot.channel.post({"dismissed": True}))
                self._await_report(DISMISS_S)
            self._discard(self._slot)
        return self._outcome or Outcome(infra_error=self._lost or "the agent gave no report")

    @property
    def _over(self) -> bool:
        return bool(self._outcome or self._lost)

    def _await_report(self, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while not self._over and self._attend(deadline):
            self._said.clear()  # it may have much to say, and nobody listens

    def _attend(self, deadline: float) -> bool:
        """Send and hear what can be, waiting for it; return False at the deadline."""
        channel = self._slot.channel
        with selectors.DefaultSelector() as selector:
            selector.register(channel, channel.interest)
            ready = selector.select(max(0.0, deadline - time.monotonic()))
        for _, event in ready:
            if event & selectors.EVENT_WRITE:
                self._attempt(channel.flush)
            if event & selectors.EVENT_READ:
                self._attempt(self._hear)
        return bool(ready)

    def _hear(self) -> None:
        for frame in self._slot.channel.hear():
            if "report" in frame:
                self._outcome = self._slot.read_report(frame["report"])
            elif "said" in frame:
                self._said += unpack(frame["said"])
            else:
                self._hushed = True

    def _attempt(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except (OSError, EOFError) as error:
            self._lost = self._lost or f"{type(error).__name__}: {error}"
