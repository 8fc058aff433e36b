"""What calls cost: CPU, wall time and memory, of this process and of all that it started."""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import track


class Cost(NamedTuple):
    """What a call took, in this process and in those that it had started before."""

    cpu_s: float
    wall_s: float


class Meter:
    """Measures calls. A process born during a call is left out: it may be a spare that warms up."""

    def __init__(self) -> None:
        self._pids, self._calls = descendants(), 0

    def measure(self, call: Callable[[], Any]) -> tuple[Any, Cost]:
        """Return the call's result, which may be the exception that it raised, and its cost."""
        before = self._living()
        buried_s, own_s, started = _buried_s(), time.process_time(), time.perf_counter()
        try:
            result = call()
        except Exception as error:  # whether it may is for others to say
            result = error
        wall_s, own_s = time.perf_counter() - started, time.process_time() - own_s
        after = _cpu_s_of(before)
        gone_s = sum(cpu_s for pid, cpu_s in before.items() if pid not in after)
        alive_s = sum(cpu_s - before[pid] for pid, cpu_s in after.items())
        return result, Cost(own_s + alive_s + max(0.0, _buried_s() - buried_s - gone_s), wall_s)

    def _living(self) -> dict[int, float]:
        self._calls += 1
        found = _cpu_s_of(self._pids)
        if len(found) < len(self._pids) or self._calls % 100 == 0:  # to look at all of them is slow
            self._pids = descendants()
            found = _cpu_s_of(self._pids)
        return found


def descendants() -> list[int]:
    """Return the ids of all processes that this one started, and those started by them."""
    parents = {
        int(p): stat[1] for p in os.listdir("/proc") if p.isdecimal() and (stat := _stat(int(p)))
    }
    found = [os.getpid()]
    for pid in found:  # grows as it is walked
        found += [child for child, parent in parents.items() if int(parent) == pid]
    return found[1:]


def rss_mb() -> float:
    """Return the resident memory of this process and its descendants."""
    stats = [_stat(pid) for pid in (os.getpid(), *descendants())]
    return sum(int(stat[21]) for stat in stats if stat) * os.sysconf("SC_PAGE_SIZE") / 2**20


def settled_mb() -> float:
    """Return what `rss_mb` comes to when the processes that start or end now have done so."""
    gc.collect()
    seen = [rss_mb()]
    while len(seen) < 4 or max(seen[-4:]) - min(seen[-4:]) > 1:
        time.sleep(0.5)
        seen.append(rss_mb())
    return seen[-1]


def _stat(pid: int) -> list[str] | None:
    """Return what follows the name in /proc/PID/stat: state, parent, ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None


def _cpu_s_of(pids: Iterable[int]) -> dict[int, float]:
    ticks = os.sysconf("SC_CLK_TCK")
    stats = {pid: stat for pid in pids if (stat := _stat(pid)) and stat[0] != "Z"}
    return {pid: sum(map(int, stat[11:15])) / ticks for pid, stat in stats.items()}


def _buried_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def progress(items: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    """Show a bar on a terminal, and nothing anywhere else."""
    console = Console(stderr=True)
    return track(items, what, total, console=console, disable=not console.is_terminal)
