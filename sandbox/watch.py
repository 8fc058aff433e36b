"""Watch one job from its keeper: collect its output, relay its talk, end it at its limits."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import IO, Any

from sandbox.frames import pack, read_frame, unpack
from sandbox.isolation import Isolation
from sandbox.meter import Meter
from sandbox.nursery import Nursery, Usage

TICK_S = 0.02
CONTROL_BYTES = 1 << 16
TALK_FACTOR = 4
"""A pair of jobs may say this many times what one may print."""

Send = Callable[[dict[str, Any]], None]


class Watch:
    """Collects a job's output and ends it at its limits."""

    def __init__(
        self,
        nursery: Nursery,
        limits: dict[str, float],
        isolation: Isolation,
        pipes: dict[str, int],
        channel: IO[bytes],
        send: Send,
    ) -> None:
        self.nursery, self.limits, self.isolation = nursery, limits, isolation
        self.channel, self.send = channel, send
        self.talk = pipes.get("talk")
        self.names = {descriptor: name for name, descriptor in pipes.items()}
        self.output: dict[str, bytearray] = {n: bytearray() for n in pipes if n != "talk"}
        self.said = 0
        self.limit: str | None = None
        self.dismissed = False
        self.usage: Usage | None = None
        self.meter = Meter(isolation.agent)
        self.poll = select.poll()
        self.unheard = bytearray()  # of what the other job said
        self.alone = False

    def until_end(self, started: float) -> dict[str, Any]:
        """Return the report once the job has ended and nothing of it is alive."""
        for descriptor in self.names:
            self.poll.register(descriptor, select.POLLIN)
        # Without a partner, hang-up alone: whoever asked is gone, however it went.
        self.poll.register(self.channel, 0 if self.talk is None else select.POLLIN)
        ended = self.nursery.fileno()
        self.poll.register(ended, select.POLLIN)
        next_check = started + TICK_S
        while self.usage is None or self.names:
            for descriptor, event in self.poll.poll(1000 * TICK_S):
                if descriptor == ended:
                    self.poll.unregister(ended)
                    self.usage = self.nursery.bury()
                elif descriptor == self.channel.fileno():
                    self._listen(event)
                elif event & select.POLLOUT:
                    self._tell()
                else:
                    self._read(descriptor)
            now = time.monotonic()
            if self.usage is None and self.limit is None and now >= next_check:
                self._check(now - started)
                next_check = now + TICK_S
        return self._report(time.monotonic() - started)

    def _read(self, descriptor: int) -> None:
        name = self.names.get(descriptor)
        if name is None:  # closed on an earlier event of this round
            return
        try:
            data = os.read(descriptor, 1 << 16)
        except ConnectionError:  # it closed its talk without hearing all
            data = b""
        if not data:
            self._close(descriptor)
        elif name == "talk":
            self.said += len(data)
            if self.said > TALK_FACTOR * self.limits["output_kb"] * 1024:
                self._end("output")
            else:
                self.send({"said": pack(data)})
        else:
            self._keep(name, data)

    def _keep(self, name: str, data: bytes) -> None:
        cap = CONTROL_BYTES if name == "control" else int(self.limits["output_kb"] * 1024)
        room = cap - len(self.output[name])
        self.output[name] += data[: max(room, 0)]
        if len(data) > room:
            self._end("output")

    def _close(self, descriptor: int) -> None:
        self.poll.unregister(descriptor)
        os.close(descriptor)
        if self.names.pop(descriptor) == "talk":
            self.talk = None
            self.send({"hush": True})

    def _listen(self, event: int) -> None:
        """Hear what the other job says, or that it has ended; the end of the channel ends all."""
        # Whole frames only: what was read beyond one no poll would see.
        frame = read_frame(self.channel) if event & select.POLLIN else None
        if frame is None:
            self.isolation.kill_all()
            os._exit(1)
        self.unheard += unpack(frame.get("heard", ""))
        self.alone |= frame.get("alone", False)
        if frame.get("dismissed"):
            self.dismissed = True
            self.isolation.kill_all()
        self._tell()

    def _tell(self) -> None:
        """Pass on what fits into the job's socket; it must never make its keeper wait."""
        if self.talk is None:
            return
        try:
            while self.unheard:
                del self.unheard[: os.write(self.talk, self.unheard[: 1 << 16])]
        except BlockingIOError:
            pass
        except OSError:  # it closed its end
            self.unheard.clear()
        self.poll.modify(self.talk, select.POLLIN | (select.POLLOUT if self.unheard else 0))
        if self.alone and not self.unheard:
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.talk)) as end:
                end.shutdown(socket.SHUT_WR)

    def _check(self, elapsed: float) -> None:
        self.meter.measure()
        if self.meter.cpu_s > self.limits["cpu_s"]:
            self._end("cpu")
        elif self.meter.memory_mb > self.limits["memory_mb"]:
            self._end("memory")
        elif self.meter.tasks > self.limits["processes"]:
            self._end("processes")
        elif elapsed > self.limits["wall_s"]:
            self._end("wall")

    def _end(self, limit: str) -> None:
        if self.limit is None:
            self.limit = limit
        self.isolation.kill_all()

    def _report(self, wall_s: float) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        for line in bytes(self.output.pop("control")).decode().splitlines():
            facts.update(json.loads(line))
        if "started" not in facts and self.limit is None and not self.dismissed:
            facts.setdefault("infra_error", "the job's process ended before it started")
        assert self.usage is not None
        status, cpu_s, peak_mb = self.usage
        cpu_s, peak_mb = max(cpu_s, self.meter.cpu_s), max(peak_mb, self.meter.peak_mb)
        killed_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        if killed_by == signal.SIGXCPU or cpu_s > self.limits["cpu_s"]:
            self.limit = self.limit or "cpu"
        if peak_mb > self.limits["memory_mb"]:  # between two looks, or ended by the kernel
            self.limit = self.limit or "memory"
        ended = self.limit is None
        return {
            **facts,
            "exit_code": os.waitstatus_to_exitcode(status) if ended and not killed_by else None,
            "signal": killed_by if ended else None,
            "cpu_s": cpu_s,
            "starved_s": self.meter.starved_s if self.limit == "wall" else 0.0,
            "peak_memory_mb": peak_mb,
            "limit": self.limit,
            "dismissed": self.dismissed,
            "wall_s": wall_s,
            **{name: pack(bytes(data)) for name, data in self.output.items()},
        }
