"""A sandbox made of slots: processes that each run an agent and take one job at a time."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import selectors
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from sandbox.frames import pack, read_frame, unpack, write_frame
from sandbox.seccomp import build_filter
from sandbox.types import Job, Outcome, SandboxError

START_TIMEOUT_S = 30.0
GRACE_S = 10.0
"""What an agent may need beyond a job's wall limit before it counts as lost."""

PACKAGE = Path(__file__).parent
logger = logging.getLogger("sandbox")


class Slot:
    """One agent behind a pipe."""

    def __init__(self, command: list[str], python_path: str, *, isolate: bool) -> None:
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, "PYTHONPATH": python_path},
            start_new_session=True,  # a Ctrl-C in our terminal is not theirs
        )
        self._stdin = cast(BinaryIO, self._process.stdin)
        self._stdout = cast(BinaryIO, self._process.stdout)
        self._stderr = cast(BinaryIO, self._process.stderr)
        try:
            self._ask({"isolate": isolate, "seccomp": pack(build_filter())}, START_TIMEOUT_S)
        except (OSError, EOFError) as error:
            self.end()
            said = self._stderr.read(4000).decode(errors="replace").strip()
            self.kill()
            raise SandboxError(f"the agent did not start: {said or repr(error)}") from None

    def run(self, job: Job) -> Outcome:
        """Run a job.

        Raises:
            OSError: If the agent is lost (or EOFError); the slot is then dead.
        """
        request = {
            "program": pack(job.program),
            "compiled": pack(job.compiled),
            "stdin": pack(job.stdin),
            "files": {name: pack(content) for name, content in job.files.items()},
            "limits": asdict(job.limits),
        }
        report = self._ask(request, job.limits.wall_seconds + GRACE_S)
        for name in ("stdout", "stderr", "result"):
            report[name] = unpack(report.get(name, ""))
        report.pop("started", None)
        return Outcome(**report)

    def kill(self) -> None:
        """End the agent, its sandbox and every job in it."""
        self.end()
        self._stdout.close()
        self._stderr.close()
        with contextlib.suppress(OSError):  # unsent bytes
            self._stdin.close()

    def end(self) -> None:
        """End the agent's process alone; from any thread, even amid a job."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _ask(self, frame: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        write_frame(self._stdin, frame)
        # One question, one answer: once the first byte is there, the rest follows at once.
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                raise TimeoutError(f"no answer from the agent within {timeout_s:g} s")
        answer = read_frame(self._stdout)
        if answer is None:
            raise EOFError("the agent closed its channel")
        return answer


class SlotSandbox:
    """Up to `slots` agents, started on demand and replaced when lost. Thread-safe."""

    def __init__(
        self, name: str, slots: int, start: Callable[[], Slot], packages: str | None
    ) -> None:
        self.name = name
        self.slots = slots
        self.packages = packages
        """Where a job finds pytest, if it is there."""
        self._start = start
        self._alive: set[Slot] = set()
        self._idle: queue.LifoQueue[Slot | None] = queue.LifoQueue()
        for _ in range(slots):
            self._idle.put(None)
        self._closed = threading.Event()
        # Fail now, with the reason, rather than at every job.
        self._idle.get()
        self._idle.put(self._start_slot())

    def run(self, job: Job) -> Outcome:
        """Run one job; a lost agent is replaced and the job tried once more."""
        error: Exception | None = None
        for _ in range(2):
            slot = self._idle.get()
            healthy: Slot | None = None
            try:
                slot = slot or self._start_slot()
                outcome = slot.run(job)
                healthy = slot
                if outcome.infra_error is None:
                    return outcome
                error = SandboxError(outcome.infra_error)
            except (OSError, EOFError, SandboxError) as lost:
                error = lost
                if self._closed.is_set():
                    break
                logger.warning("%s sandbox: %s; trying again", self.name, lost)
            finally:
                if slot and healthy is None:
                    slot.kill()
                    self._alive.discard(slot)
                self._idle.put(healthy)
        return Outcome(infra_error=f"{type(error).__name__}: {error}")

    def _start_slot(self) -> Slot:
        if self._closed.is_set():
            raise SandboxError("the sandbox was closed")
        slot = self._start()
        self._alive.add(slot)
        if self._closed.is_set():  # meanwhile
            slot.end()
        return slot

    def close(self) -> None:
        """End all agents and their jobs; who waits for one gets an infrastructure error."""
        self._closed.set()
        for slot in list(self._alive):
            slot.end()
        with contextlib.suppress(queue.Empty):
            idle = [self._idle.get_nowait() for _ in range(self.slots)]
            for one in filter(None, idle):
                one.kill()
            for _ in idle:
                self._idle.put(None)

    def __enter__(self) -> Self:
        """Return the sandbox itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the sandbox."""
        self.close()
