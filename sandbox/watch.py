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
        self.usage = Usage()
        self.peak_mb = 0.0

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
        room = int(self.limits["output_kb"] * 1024) - len(self.output[name])
        self.output[name] += data[: max(room, 0)]
        if len(data) > room:
            self._end("output")

    def _check(self, elapsed: float) -> None:
        self.usage = measure_tree(self.pid)
        self.peak_mb = max(self.peak_mb, self.usage.memory_mb)
        if self.usage.cpu_s > self.limits["cpu_s"]:
            self._end("cpu")
        elif self.usage.memory_mb > self.limits["memory_mb"]:
            self._end("memory")
        elif self.usage.processes - 1 > self.limits["processes"]:
            self._end("processes")
        elif elapsed > self.limits["wall_s"]:
            self._end("wall")

    def _end(self, limit: str) -> None:
        if self.limit is None:
            self.limit = limit
        kill_tree(self.pid, self.isolate)

    def _report(self, wall_s: float) -> dict[str, Any]:
        lines = bytes(self.output.pop("control")).decode().splitlines()
        facts: dict[str, Any] = {}
        for line in lines:
            facts.update(json.loads(line))
        if "started" not in facts and self.limit is None:
            facts.setdefault("infra_error", "the job's process ended before it started")
        if facts.get("signal") == signal.SIGXCPU:
            self.limit = "cpu"
        return {
            "cpu_s": self.usage.cpu_s,
            "starved_s": self.usage.starved_s if self.limit == "wall" else 0.0,
            **facts,
            "peak_memory_mb": max(self.peak_mb, facts.get("peak_memory_mb", 0.0)),
            "limit": self.limit,
            "wall_s": wall_s,
            **{name: pack(bytes(data)) for name, data in self.output.items()},
        }


class Usage:
    """What a process tree uses at one moment."""

    def __init__(self) -> None:
        self.cpu_s = self.memory_mb = self.starved_s = 0.0
        self.processes = 0


def measure_tree(root: int) -> Usage:
    """Add up CPU time, resident memory, run-queue waits and processes below and with `root`."""
    usage = Usage()
    for pid, stat in _descendants(root).items():
        usage.processes += int(stat[17])  # threads, as the kernel's own limits count them
        usage.cpu_s += (int(stat[11]) + int(stat[12]) + int(stat[13]) + int(stat[14])) / TICKS
        usage.memory_mb += int(stat[21]) * PAGE_MB if pid != root else 0.0
        usage.starved_s += _starved_s(pid)
    return usage


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
