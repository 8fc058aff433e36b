"""Measure what the processes of a job use, from /proc."""

from __future__ import annotations

import os
from functools import cache

TICKS = os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


class Meter:
    """What the processes below the agent have used for this job so far, the keeper aside."""

    def __init__(self, agent: int) -> None:
        self.keeper, self.agent = own_pid(), agent
        self.cpu_s = self.memory_mb = self.peak_mb = self.starved_s = 0.0
        self.tasks = 0
        self._seen: dict[tuple[int, bytes], int] = {}
        # What the agent has waited for before was another job's.
        self._before = _waited_for(agent)

    def measure(self) -> None:
        """Read /proc once."""
        waited_for, memory_mb, tasks, starved_s = -self._before, 0.0, 0, 0.0
        for pid, stat in descendants(self.agent).items():
            if pid == self.keeper:
                continue
            own = int(stat[11]) + int(stat[12])
            waited_for += int(stat[13]) + int(stat[14])
            if pid != self.agent:
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


def descendants(root: int) -> dict[int, list[bytes]]:
    """Map each process at or below `root` to its /proc stat fields after the command name."""
    stats: dict[int, list[bytes]] = {}
    for pid in list_processes():
        try:
            stats[pid] = _stat(pid)
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


def _waited_for(pid: int) -> int:
    stat = _stat(pid)
    return int(stat[13]) + int(stat[14])


def _starved_s(pid: int) -> float:
    try:
        return int(_read(f"{pid}/schedstat").split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0  # a kernel without scheduler statistics


def list_processes() -> list[int]:
    """Return the numbers of all processes of the container."""
    return [int(entry) for entry in os.listdir(_proc()) if entry.isdigit()]


def own_pid() -> int:
    """Return this process's number as the container's /proc has it."""
    return int(os.readlink("self", dir_fd=_proc()))


def _stat(pid: int) -> list[bytes]:
    return _read(f"{pid}/stat").rpartition(b")")[2].split()


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY, dir_fd=_proc())
    try:
        return os.read(descriptor, 1 << 12)
    finally:
        os.close(descriptor)


@cache
def _proc() -> int:
    """Return a descriptor of /proc as it is at the first call, before jobs get one of their own."""
    return os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
