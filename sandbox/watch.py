"""Watch one job from the agent: collect its output, measure it, end it at its limits."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import time
from typing import Any

from sandbox.frames import pack

TICK_S = 0.02
CONTROL_BYTES = 1 << 16
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


class Watch:
    """Collects a job's output and ends it at its limits; `child` is the job's own process."""

    def __init__(
        self,
        child: int,
        limits: dict[str, float],
        isolate: bool,
        pipes: dict[str, int],
        channel: int,
    ) -> None:
        self.child, self.limits, self.isolate, self.channel = child, limits, isolate, channel
        self.names = {descriptor: name for name, descriptor in pipes.items()}
        self.output: dict[str, bytearray] = {name: bytearray() for name in pipes}
        self.limit: str | None = None
        self.status = 0
        self.meter = Meter()

    def until_end(self, started: float) -> dict[str, Any]:
        """Return the report once the job has ended and nothing of it is alive."""
        poll = select.poll()
        for descriptor in self.names:
            poll.register(descriptor, select.POLLIN)
        poll.register(self.channel, 0)  # hang-up alone: whoever asked is gone, however it went
        ended = os.pidfd_open(self.child)
        poll.register(ended, select.POLLIN)
        next_check = started + TICK_S
        while self.child or self.names:
            for descriptor, _ in poll.poll(1000 * TICK_S):
                if descriptor == self.channel:
                    kill_all(self.isolate)
                    os._exit(1)
                elif descriptor == ended:
                    poll.unregister(ended)
                    os.close(ended)
                    self._reap()
                else:
                    self._read(descriptor, poll)
            now = time.monotonic()
            if self.child and self.limit is None and now >= next_check:
                self._check(now - started)
                next_check = now + TICK_S
        return self._report(time.monotonic() - started)

    def _reap(self) -> None:
        """Take the job's exit status, and end what it left behind."""
        _, self.status = os.waitpid(self.child, 0)
        self.child = 0
        kill_all(self.isolate)
        while True:
            try:
                os.wait()
            except ChildProcessError:
                return

    def _read(self, descriptor: int, poll: select.poll) -> None:
        data = os.read(descriptor, 1 << 16)
        name = self.names[descriptor]
        if not data:
            poll.unregister(descriptor)
            os.close(descriptor)
            del self.names[descriptor]
            return
        cap = CONTROL_BYTES if name == "control" else int(self.limits["output_kb"] * 1024)
        room = cap - len(self.output[name])
        self.output[name] += data[: max(room, 0)]
        if len(data) > room:
            self._end("output")

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
        kill_all(self.isolate)

    def _report(self, wall_s: float) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        for line in bytes(self.output.pop("control")).decode().splitlines():
            facts.update(json.loads(line))
        if "started" not in facts and self.limit is None:
            facts.setdefault("infra_error", "the job's process ended before it started")
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = max(self.meter.cpu_s, usage.ru_utime + usage.ru_stime)
        killed_by = os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else None
        if killed_by == signal.SIGXCPU or cpu_s > self.limits["cpu_s"]:
            self.limit = self.limit or "cpu"
        ended = self.limit is None
        return {
            **facts,
            "exit_code": os.waitstatus_to_exitcode(self.status)
            if ended and not killed_by
            else None,
            "signal": killed_by if ended else None,
            "cpu_s": cpu_s,
            "starved_s": self.meter.starved_s if self.limit == "wall" else 0.0,
            "peak_memory_mb": max(self.meter.peak_mb, usage.ru_maxrss / 1024),
            "limit": self.limit,
            "wall_s": wall_s,
            **{name: pack(bytes(data)) for name, data in self.output.items()},
        }


class Meter:
    """What the processes below this one have used so far."""

    def __init__(self) -> None:
        self.root = own_pid()
        self.cpu_s = self.memory_mb = self.peak_mb = self.starved_s = 0.0
        self.tasks = 0
        self._seen: dict[tuple[int, bytes], int] = {}

    def measure(self) -> None:
        """Read /proc once."""
        waited_for, memory_mb, tasks, starved_s = 0, 0.0, 0, 0.0
        for pid, stat in _descendants(self.root).items():
            own = int(stat[11]) + int(stat[12])
            waited_for += int(stat[13]) + int(stat[14])
            if pid != self.root:
                waited_for += own
                self._seen[pid, stat[19]] = own
                tasks += int(stat[17])  # threads, as the kernel's own limits count them
                memory_mb += int(stat[21]) * PAGE_MB
                starved_s = max(starved_s, _starved_s(pid))
        # The time of a child that nobody waits for never reaches its parent's count.
        self.cpu_s = max(sum(self._seen.values()), waited_for) / TICKS
        self.memory_mb, self.tasks = memory_mb, tasks
        self.peak_mb = max(self.peak_mb, memory_mb)
        # Processes of one job that wait for each other's turn starve by their own doing.
        self.starved_s = max(0.0, starved_s - self.cpu_s)


def _descendants(root: int) -> dict[int, list[bytes]]:
    """Map each process at or below `root` to its /proc stat fields after the command name."""
    stats: dict[int, list[bytes]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    stats[int(entry)] = file.read().rpartition(b")")[2].split()
            except OSError:
                continue  # it ended meanwhile
    children: dict[int, list[int]] = {}
    for pid, stat in stats.items():
        children.setdefault(int(stat[1]), []).append(pid)
    found, waiting = {}, [root]
    while waiting:
        pid = waiting.pop()
        if pid in stats:
            found[pid] = stats[pid]
            waiting += children.get(pid, [])
    return found


def _starved_s(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0  # a kernel without scheduler statistics


def own_pid() -> int:
    """Return this process's number as /proc has it, which may be mounted for an outer namespace."""
    return int(os.readlink("/proc/self"))


def kill_all(isolate: bool) -> None:
    """Kill everything below this process: all others of its PID namespace, if it has its own."""
    if isolate:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    root = own_pid()
    while victims := [p for p, s in _descendants(root).items() if p != root and s[0] != b"Z"]:
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
