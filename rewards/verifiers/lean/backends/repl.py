"""A pool of REPLs (leanprover-community/repl) with warm headers: fast, and messages only.

A REPL reads many submissions, one after the other, in one process. What one of them runs while it
is read can wait there for the next ones and answer in their stead; so this back end refutes, and
another one confirms. Specs of level "messages", which take its word, should have a profile that
runs no code.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rewards.verifiers.lean.assemble import Source
from rewards.verifiers.lean.backends import Compiled
from rewards.verifiers.lean.backends.repl_process import OUTPUT_KB, Lost, Repl
from rewards.verifiers.lean.commands import PROCESSES, RESERVED_MB, inside_modules, program
from rewards.verifiers.lean.setup import Toolchain
from sandbox import Job, Limits, Sandbox, SandboxError

LIFE_S = 365 * 86400.0
"""Longer than any REPL lives: what bounds each command is our own patience."""
ALONE = {"LEAN_NUM_THREADS": "1", "LEAN_STACK_SIZE_KB": "8192"}
"""A proof's time must not depend on its neighbours; see the process back end."""


@dataclass(eq=False)
class Place:
    """One of the places for REPLs, which is empty or holds one."""

    repl: Repl | None = None

    def clear(self) -> None:
        """End the REPL, if there is one."""
        if self.repl:
            self.repl.session.close()
            self.repl = None


class ReplBackend:
    """Keeps up to `size` REPLs alive: by default one for each usable core but one."""

    name = "repl"

    def __init__(
        self,
        sandbox: Sandbox,
        toolchain: Toolchain,
        repl: str,
        memory_mb: int,
        size: int | None = None,
    ) -> None:
        self.sandbox, self.toolchain = sandbox, toolchain
        # A link may be in a folder that cannot be seen inside; what it leads to can.
        self.repl, self.memory_mb = str(Path(repl).resolve()), memory_mb
        self.version = toolchain.version
        self.size = size or max(1, len(os.sched_getaffinity(0)) - 1)
        # One lock, never held while anything else is waited for; who has a place needs no other.
        self._freed = threading.Condition()
        self._free = [Place() for _ in range(self.size)]  # the least recently used first
        self._closed = False

    def compile(self, source: Source, timeout_s: float) -> Compiled:
        """Have a REPL read a body; neither waiting for one nor the header is in its time."""
        place = self._take(source.header)
        if place is None:
            return Compiled(trouble="the REPLs were ended")
        started = time.monotonic()
        try:
            result = self._judge(place, source, timeout_s)
        finally:
            self._give_back(place)
        return replace(result, elapsed_s=time.monotonic() - started)

    def close(self) -> None:
        """End every REPL; one that is at work, when its work is done."""
        with self._freed:
            self._closed = True
            self._freed.notify_all()
            free = list(self._free)
        for place in free:
            place.clear()

    def _take(self, header: str) -> Place | None:
        with self._freed:
            self._freed.wait_for(lambda: self._free or self._closed)
            if self._closed:
                return None
            warm = [p for p in self._free if p.repl and p.repl.header == header]
            empty = [p for p in self._free if p.repl is None]
            place = (warm[-1:] or empty or self._free)[0]
            self._free.remove(place)
        if not warm:
            place.clear()
        return place

    def _give_back(self, place: Place) -> None:
        if place.repl and place.repl.worn:
            place.clear()
        with self._freed:
            if not self._closed:
                self._free.append(place)
                self._freed.notify()
                return
        place.clear()

    def _judge(self, place: Place, source: Source, timeout_s: float) -> Compiled:
        """Ask the REPL of this place, and fresh ones, until it is clear who is to blame."""
        sightings = 0
        while True:
            try:
                place.repl = place.repl or self._start(source.header)
            except SandboxError as error:
                return Compiled(trouble=str(error))
            sightings += place.repl.answered == 0
            try:
                return place.repl.check(source.body, source.header_lines, timeout_s)
            except Lost as lost:
                place.clear()
                if sightings >= lost.sightings:
                    return lost.result

    def _start(self, header: str) -> Repl:
        task = {"argv": [self.repl], "env": {**self.toolchain.environment, **ALONE}}
        limits = Limits(
            cpu_s=LIFE_S,
            wall_s=LIFE_S,
            memory_mb=self.memory_mb,
            output_kb=OUTPUT_KB,
            processes=PROCESSES,
            reserved_mb=RESERVED_MB,
        )
        files = {"task.json": json.dumps(task).encode()}
        job = Job(program("repl"), b"", files, inside_modules("command", "repl"), limits)
        return Repl(self.sandbox.open(job), header)
