"""Watch one job from the agent: collect its output, measure it, end it at its limits."""

from __future__ import annotations

import json
import os
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
    """Collects a job's output and ends it at its limits."""

    def __init__(
        self,
        pid: int,
        limits: dict[str, float],
        isolate: bool,
        pipes: dict[str, int],
        channel: int,
    ) -> None:
        self.pid, self.limits, self.isolate, self.channel = pid, limits, isolate, channel
        self.names = {descriptor: name for name, descriptor in pipes.items()}
        self.output: dict[str, bytearray] = {name: bytearray() for name in pipes}
        self.limit: str | None = None
        self.meter = Meter(pid)

    def until_end(self, started: float) -> dict[str, Any]:
        """Return the report once every pipe is closed, so nothing of the job is alive."""
        poll = select.poll()
        for descriptor in self.names:
            poll.register(descriptor, select.POLLIN)
        poll.register(self.channel, 0)  # hang-up alone: whoever asked is gone, however it went
        next_check = started + TICK_S
        while self.names:
            for descriptor, _ in poll.poll(1000 * TICK_S):
                if descriptor == self.channel:
                    kill_tree(self.pid, self.isolate)
                    os._exit(1)
                self._read(descriptor, poll)
            now = time.monotonic()
            if self.names and self.limit is None and now >= next_check:
                self._check(now - started)
                next_check = now + TICK_S
        return self._report(time.monotonic() - started)

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
        kill_tree(self.pid, self.isolate)

    def _report(self, wall_s: float) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        for line in bytes(self.output.pop("control")).decode().splitlines():
            facts.update(json.loads(line))
        if "started" not in facts and self.limit is None:
            facts.setdefault("infra_error", "the job's process ended before it started")
        cpu_s = max(self.meter.cpu_s, facts.get("cpu_s", 0.0))
        if facts.get("signal") == signal.SIGXCPU or cpu_s > self.limits["cpu_s"]:
            self.limit = self.limit or "cpu"
        return {
            **facts,
            "cpu_s": cpu_s,
            "starved_s": self.meter.starved_s if self.limit == "wall" else 0.0,
            "peak_memory_mb": max(self.meter.peak_mb, facts.get("peak_memory_mb", 0.0)),
            "limit": self.limit,
            "wall_s": wall_s,
            **{name: pack(bytes(data)) for name, data in self.output.items()},
        }


class Meter:
    """What the processes below `root`, the first of a job, have used so far."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.cpu_s = self.memory_mb = self.peak_mb = self.starved_s = 0.0
        self.tasks = 0
        self._seen: dict[tuple[int, bytes], int] = {}

    def measure(self) -> None:
        """Read /proc once."""
        waited_for, memory_mb, tasks, starved_s = 0, 0.0, 0, 0.0
        for pid, stat in _descendants(self.root).items():
            own = int(stat[11]) + int(stat[12])
            waited_for += own + int(stat[13]) + int(stat[14])
            self._seen[pid, stat[19]] = own
            if pid != self.root:
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


def kill_tree(root: int, isolate: bool) -> None:
    """Kill `root` and all below it; the first process of a PID namespace takes the rest along."""
    while not isolate and (victims := living_below(root)):
        for pid in victims:  # `root` comes last: its orphans would not be below it any more
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    os.kill(root, signal.SIGKILL)


def living_below(root: int) -> list[int]:
    """List the processes below `root` that have not ended."""
    return [p for p, stat in _descendants(root).items() if p != root and stat[0] != b"Z"]
