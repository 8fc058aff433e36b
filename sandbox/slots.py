"""A sandbox made of slots: containers that each hold an agent and take one job at a time."""

from __future__ import annotations

import contextlib
import logging
import queue
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

from sandbox.frames import FrameReader, build_frame, pack, unpack
from sandbox.seccomp import build_filter
from sandbox.types import Job, Limits, Outcome, SandboxError

SEND_BYTES, RECEIVE_BYTES = 1 << 18, 1 << 18
START_TIMEOUT_S = 30.0
GRACE_S = 10.0
"""What an agent may need beyond a job's wall limit before it counts as lost."""
SIZES = ("memory_mb", "output_kb", "processes", "disk_mb")
MAX_JOBS = 1000
"""A slot is replaced after so many jobs, whatever may have piled up in it unseen."""

PACKAGE = Path(__file__).parent
logger = logging.getLogger("sandbox")


class Channel:
    """The two-way stream to an agent, and the life of the container around it."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._unsent = bytearray()
        self._frames = FrameReader()

    def fileno(self) -> int:
        """Return the socket's descriptor, for a selector."""
        return self._sock.fileno()

    @property
    def interest(self) -> int:
        """What a selector should wait for."""
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)

    def post(self, frame: dict[str, Any]) -> None:
        """Send a frame, now or by later `flush`; never waits."""
        self._unsent += build_frame(frame)
        self.flush()

    def flush(self) -> None:
        """Send what can be sent without waiting."""
        with contextlib.suppress(BlockingIOError):
            while self._unsent:
                del self._unsent[: self._sock.send(self._unsent[:SEND_BYTES])]

    def hear(self) -> list[dict[str, Any]]:
        """Return the frames that have arrived.

        Raises:
            EOFError: If the agent is gone (or OSError).
        """
        try:
            data = self._sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return []
        if not data:
            raise EOFError("the agent closed its channel")
        return self._frames.feed(self.strip(data))

    def strip(self, data: bytes) -> bytes:
        """Return the agent's own bytes among those that arrived; all, unless a subclass knows."""
        return data

    def pid(self) -> int:
        """Return the number of the container's first process, as its machine has it."""
        raise NotImplementedError

    def end(self) -> str:
        """End the container, from any thread, even amid a job; return its last words, if any."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the socket, once nobody uses it."""
        self._sock.close()


class Slot:
    """One agent, and what it says about itself."""

    def __init__(
        self,
        channel: Channel,
        isolation: str,
        *,
        trusted: bool,
        packages: str | None = None,
        room: Limits | None = None,
    ) -> None:
        self.channel = channel
        self.room = room
        """The largest limits that its container was made for, if it was made for any."""
        self.jobs = 0
        self.unclean: str | None = None
        settings = {
            "isolation": isolation,
            "seccomp": pack(build_filter()),
            "trusted": trusted,
            "packages": packages,
        }
        try:
            channel.post(settings)
            facts = self._await_facts()
        except (OSError, EOFError) as error:
            said = self.kill()
            raise SandboxError(f"the agent did not start: {said or repr(error)}") from None
        if "refused" in facts:
            self.kill()
            raise SandboxError(f"the agent cannot keep jobs apart here: {facts['refused']}")
        self.packages: str | None = facts["packages"]
        """Where a job finds pytest, if it is there."""
        self._taught: set[str] = set()

    @property
    def worn(self) -> bool:
        """Whether it should take no further job."""
        return self.jobs >= MAX_JOBS or self.unclean is not None

    def fits(self, limits: Limits) -> bool:
        """Whether its container is large enough for a job."""
        return self.room is None or all(
            getattr(self.room, name) >= getattr(limits, name) for name in SIZES
        )

    def begin(self, job: Job, *, talks: bool) -> None:
        """Send a job."""
        self.jobs += 1
        if new := [(name, job.modules[name]) for name in job.modules if name not in self._taught]:
            self.channel.post({"learn": True})
            self.channel.post({"modules": new})
            self._taught |= dict(new).keys()
        self.channel.post(
            {
                "program": pack(job.program),
                "stdin": pack(job.stdin),
                "files": {name: pack(content) for name, content in job.files.items()},
                "limits": asdict(job.limits),
                "talks": talks,
            }
        )

    def read_report(self, report: dict[str, Any]) -> Outcome:
        """Turn the agent's report into facts, and note what it says about the slot."""
        self.unclean = report.pop("unclean", None)
        report.pop("started", None)
        for name in ("stdout", "stderr", "result"):
            report[name] = unpack(report.get(name, ""))
        return Outcome(**report)

    def kill(self) -> str:
        """End the agent, its container and every job in it; return its last words."""
        words = self.channel.end()
        self.channel.close()
        return words

    def _await_facts(self) -> dict[str, Any]:
        deadline = time.monotonic() + START_TIMEOUT_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, self.channel.interest)
            while (left_s := deadline - time.monotonic()) > 0:
                for _, event in selector.select(left_s):
                    if event & selectors.EVENT_WRITE:
                        self.channel.flush()
                        selector.modify(self.channel, self.channel.interest)
                    if event & selectors.EVENT_READ and (frames := self.channel.hear()):
                        return frames[0]
        raise TimeoutError(f"no answer from the agent within {START_TIMEOUT_S:g} s")


class Conversation:
    """One job, or two that talk to each other, each on its slot.

    What one writes to its descriptor 4 the other reads from its own. When the first of two has
    ended, the second is dismissed; when the second has, the first reads the end of the stream.
    """

    def __init__(self, jobs: dict[Slot, Job]) -> None:
        self.jobs = jobs
        self.slots = list(jobs)
        self.outcomes: dict[Slot, Outcome] = {}

    def run(self) -> list[Outcome]:
        """Return the facts of each job.

        Raises:
            OSError: If an agent is lost (or EOFError).
        """
        for slot, job in self.jobs.items():
            slot.begin(job, talks=len(self.slots) == 2)
        longest_s = max(job.limits.wall_seconds for job in self.jobs.values())
        deadline = time.monotonic() + longest_s + GRACE_S
        with selectors.DefaultSelector() as selector:
            for slot in self.slots:
                selector.register(slot.channel, slot.channel.interest, slot)
            while len(self.outcomes) < len(self.slots):
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    raise TimeoutError(f"no answer from the agent within {longest_s + GRACE_S:g} s")
                for key, event in ready:
                    if event & selectors.EVENT_WRITE:
                        key.data.channel.flush()
                    if event & selectors.EVENT_READ:
                        self._hear(key.data)
                for slot in self.slots:
                    if selector.get_key(slot.channel).events != slot.channel.interest:
                        selector.modify(slot.channel, slot.channel.interest, slot)
        return [self.outcomes[slot] for slot in self.slots]

    def _hear(self, slot: Slot) -> None:
        for frame in slot.channel.hear():
            if "report" in frame:
                self.outcomes[slot] = slot.read_report(frame["report"])
                if len(self.slots) == 2:
                    slot.channel.post({"bye": True})
                    self._tell_other(slot, {"dismissed": slot is self.slots[0], "alone": True})
            elif "said" in frame:
                self._tell_other(slot, {"heard": frame["said"]})
            else:
                self._tell_other(slot, {"alone": True})

    def _tell_other(self, slot: Slot, frame: dict[str, Any]) -> None:
        other = self.slots[1 - self.slots.index(slot)]
        if other not in self.outcomes:
            other.channel.post(frame)


class Pool:
    """Up to `size` slots, started on demand and replaced when lost or worn. Thread-safe."""

    def __init__(self, size: int, start: Callable[[Limits], Slot]) -> None:
        self._start = start
        self._size = size
        self._alive: set[Slot] = set()
        self._idle: queue.LifoQueue[Slot | None] = queue.LifoQueue()
        for _ in range(size):
            self._idle.put(None)
        self._closed = threading.Event()

    @contextlib.contextmanager
    def slot(self, limits: Limits) -> Iterator[Slot]:
        """Lend a slot for a job within these limits; one not given back in order is ended.

        Raises:
            SandboxError: If none can be started.
        """
        slot = self._idle.get()
        healthy: Slot | None = None
        try:
            if slot and not slot.fits(limits):
                self._discard(slot)
                slot = None
            slot = slot or self._start_slot(limits)
            yield slot
            healthy = None if slot.worn else slot
        finally:
            if slot and healthy is None:
                self._discard(slot)
            self._idle.put(healthy)

    def _discard(self, slot: Slot) -> None:
        slot.kill()
        self._alive.discard(slot)

    def _start_slot(self, limits: Limits) -> Slot:
        if self.closed:
            raise SandboxError("the sandbox was closed")
        usual = Limits()
        sizes = {name: max(getattr(usual, name), getattr(limits, name)) for name in SIZES}
        slot = self._start(replace(usual, **sizes))
        self._alive.add(slot)
        if self.closed:  # meanwhile
            slot.channel.end()
        return slot

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed.is_set()

    def close(self) -> None:
        """End all agents and their jobs."""
        self._closed.set()
        for slot in list(self._alive):
            slot.channel.end()
        with contextlib.suppress(queue.Empty):
            idle = [self._idle.get_nowait() for _ in range(self._size)]
            for one in filter(None, idle):
                one.kill()
            for _ in idle:
                self._idle.put(None)


class SlotSandbox:
    """A pool of slots for programs, and one for trusted code; the latter starts at first use."""

    def __init__(
        self,
        name: str,
        slots: int,
        start: Callable[[bool, Limits], Slot],
        at_close: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name
        self.slots = slots
        self._at_close = at_close
        self._programs = Pool(slots, lambda limits: start(False, limits))
        self._trusted = Pool(slots, lambda limits: start(True, limits))
        # Fail now, with the reason, rather than at every job.
        with self._programs.slot(Limits()) as slot:
            self.packages = slot.packages
            """The folder with pytest, as a job sees it; None if there is none."""

    def run(self, job: Job, *, trusted: bool = False) -> Outcome:
        """Run one job; a lost agent is replaced and the job tried once more."""
        pool = self._trusted if trusted else self._programs
        return self._try_twice([(pool, job)])[0]

    def run_pair(self, tests: Job, program: Job) -> tuple[Outcome, Outcome]:
        """Run two jobs that talk to each other."""
        # Always in this order, so that two pairs never wait for each other's slot.
        outcomes = self._try_twice([(self._trusted, tests), (self._programs, program)])
        return outcomes[0], outcomes[1]

    def _try_twice(self, work: list[tuple[Pool, Job]]) -> list[Outcome]:
        error: Exception | None = None
        for _ in range(2):
            try:
                with contextlib.ExitStack() as stack:
                    slots = {stack.enter_context(pool.slot(job.limits)): job for pool, job in work}
                    outcomes = Conversation(slots).run()
                failed = [o.infra_error for o in outcomes if o.infra_error is not None]
                if not failed:
                    return outcomes
                error = SandboxError(failed[0])
            except (OSError, EOFError, SandboxError) as lost:
                error = lost
                if self._programs.closed:
                    break
                logger.warning("%s sandbox: %s; trying again", self.name, lost)
        return [Outcome(infra_error=f"{type(error).__name__}: {error}")] * len(work)

    def close(self) -> None:
        """End all agents and their jobs; who waits for one gets an infrastructure error."""
        self._programs.close()
        self._trusted.close()
        self._at_close()

    def __enter__(self) -> Self:
        """Return the sandbox itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the sandbox."""
        self.close()
