"""Where the processes of jobs are born, and buried.

A keeper with children of its own forks each job's process itself, and is gone with the job. Where a
job is kept apart by its user id the agent stays clean instead: it forks, for a keeper that lives on
and tells it when, and never sees what a job is to do. That is one fork a job instead of two.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import socket
import struct
import sys
import time
import types
from collections.abc import Callable
from typing import NamedTuple, NoReturn, Protocol

from sandbox.isolation import Isolation, Uids, list_strangers
from sandbox.program import become_job

REAP_S = 1.0
SPAWN, REAP, LEARN = "spawn", "reap", "learn"
PIECE = 1 << 15
NEWS = struct.Struct("!idd")
"""Wait status, CPU seconds, megabytes."""


class Usage(NamedTuple):
    """How a process ended, and what it and those it left behind have used."""

    status: int
    cpu_s: float
    peak_mb: float


class Process(Protocol):
    """A job's process, as its keeper sees it."""

    root: int | None
    """Below which process all of the job are, if not below the keeper."""

    def fileno(self) -> int:
        """Return a descriptor that is readable when the process has ended."""

    def bury(self, kill_all: Callable[[], None]) -> Usage:
        """Take its exit status, and end and reap what it left behind."""


class Child:
    """A process that the keeper forked itself."""

    root: int | None = None

    def __init__(self, pid: int) -> None:
        self._pid, self._descriptor = pid, os.pidfd_open(pid)

    def fileno(self) -> int:
        """Return its pidfd."""
        return self._descriptor

    def bury(self, kill_all: Callable[[], None]) -> Usage:
        """Wait for it, then for all others."""
        os.close(self._descriptor)
        _, status = os.waitpid(self._pid, 0)
        kill_all()
        while True:
            try:
                os.wait()
            except ChildProcessError:
                break
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Usage(status, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def fork_child(isolation: Isolation, ends: dict[str, int]) -> Child:
    """Fork a job's process from here."""
    child = os.fork()
    if child == 0:
        become_job(isolation, ends)
    return Child(child)


class Nursery:
    """The keeper's side of an agent that forks for it. It is the process of one job at a time."""

    root: int | None = 1

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def fork(self, number: int, ends: dict[str, int]) -> Nursery:
        """Have the process of the job with this number forked."""
        order = json.dumps([SPAWN, number, list(ends)]).encode()
        socket.send_fds(self._link, [order], list(ends.values()))
        return self

    def fileno(self) -> int:
        """Return the link, where the news of its end arrives."""
        return self._link.fileno()

    def bury(self, kill_all: Callable[[], None]) -> Usage:
        """Read the news, then have all others reaped."""
        status, cpu_s, peak_mb = self._news()
        kill_all()
        deadline = time.monotonic() + REAP_S
        while list_strangers() and time.monotonic() < deadline:  # who stays is found by the audit
            self._link.send(json.dumps([REAP]).encode())
            _, more_s, more_mb = self._news()
            cpu_s, peak_mb = cpu_s + more_s, max(peak_mb, more_mb)
            time.sleep(0.0005)
        return Usage(status, cpu_s, peak_mb)

    def teach(self, modules: list[list[str]]) -> None:
        """Have modules imported for all jobs to come; no process may be waiting for its job."""
        data = json.dumps(modules).encode()
        pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
        for message in (json.dumps([LEARN, len(pieces)]).encode(), *pieces):
            self._link.send(message)

    def _news(self) -> tuple[int, float, float]:
        data = self._link.recv(NEWS.size)
        if len(data) < NEWS.size:
            os._exit(1)
        status, cpu_s, peak_mb = NEWS.unpack(data)
        return status, cpu_s, peak_mb


def tend(link: socket.socket, keeper: int, isolation: Uids) -> NoReturn:
    """In the agent: fork, wait and import as the keeper says, until it is gone."""
    while True:
        order, descriptors, _, _ = socket.recv_fds(link, 4096, 8)
        if not order:
            os._exit(0)
        what, *details = json.loads(order)
        if what == SPAWN:
            number, names = details
            isolation.number = number
            child = os.fork()
            if child == 0:
                link.close()
                become_job(isolation, dict(zip(names, descriptors, strict=True)))
            for descriptor in descriptors:
                os.close(descriptor)
            link.sendall(NEWS.pack(*_wait_for(child, keeper)))
        elif what == REAP:
            link.sendall(NEWS.pack(*_wait_for(None, keeper)))
        else:
            learn(json.loads(b"".join(link.recv(PIECE) for _ in range(details[0]))))


def _wait_for(child: int | None, keeper: int) -> tuple[int, float, float]:
    """Wait until a child has ended, or (None) for those that have; return what all of them used."""
    cpu_s = peak_mb = 0.0
    while True:
        pid, status, used = os.wait4(-1, 0 if child else os.WNOHANG)
        if pid == keeper:
            os._exit(1)
        if pid == 0:
            return 0, cpu_s, peak_mb
        cpu_s += used.ru_utime + used.ru_stime
        peak_mb = max(peak_mb, used.ru_maxrss / 1024)
        if pid == child:
            return status, cpu_s, peak_mb


def learn(modules: list[list[str]]) -> None:
    """Import trusted modules for all jobs to come."""
    for name, source in modules:
        module = sys.modules[name] = types.ModuleType(name)
        exec(compile(source, f"{name}.py", "exec", dont_inherit=True), module.__dict__)
    gc.collect()
    gc.freeze()  # once: each time it would keep for good what has become garbage
