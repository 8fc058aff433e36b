"""Where the processes of jobs are born, and buried.

The agent forks each job's process when its keeper says so, and never sees what the job is to do: it
stays as clean as at the start, and a job costs one fork. The keeper reads the jobs, and lives on.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import struct
import sys
import time
import types
from typing import NamedTuple, NoReturn

from sandbox.isolation import Isolation
from sandbox.program import become_job

REAP_S = 1.0
SPAWN, REAP, LEARN = "spawn", "reap", "learn"
PIECE = 1 << 15
NEWS = struct.Struct("!idd")
"""Of a `Usage`."""


class Usage(NamedTuple):
    """How a process ended, and what it and those it left behind have used."""

    status: int
    cpu_s: float
    peak_mb: float

    def plus(self, other: Usage) -> Usage:
        """Return it with what others have used besides."""
        return Usage(self.status, self.cpu_s + other.cpu_s, max(self.peak_mb, other.peak_mb))


class Nursery:
    """The keeper's side of the agent. To the keeper it is the process of one job at a time."""

    def __init__(self, link: socket.socket, isolation: Isolation) -> None:
        self._link, self._isolation = link, isolation

    def fork(self, ends: dict[str, int]) -> None:
        """Have the process of the isolation's present job forked."""
        order = json.dumps([SPAWN, self._isolation.number, list(ends)]).encode()
        socket.send_fds(self._link, [order], list(ends.values()))

    def fileno(self) -> int:
        """Return the link, where the news of its end arrives."""
        return self._link.fileno()

    def bury(self) -> Usage:
        """Read the news, then end all others and have them reaped."""
        usage = self._news()
        self._isolation.kill_all()
        deadline = time.monotonic() + REAP_S
        while self._isolation.list_strangers() and time.monotonic() < deadline:
            # Who stays is found by the audit. Orphans are the agent's, or in a namespace ours.
            self._link.send(json.dumps([REAP]).encode())
            usage = usage.plus(self._news()).plus(_wait())
            time.sleep(0.0005)
        return usage

    def teach(self, modules: list[list[str]]) -> None:
        """Have modules imported for all jobs to come; no process may be waiting for its job."""
        data = json.dumps(modules).encode()
        pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
        for message in (json.dumps([LEARN, len(pieces)]).encode(), *pieces):
            self._link.send(message)

    def _news(self) -> Usage:
        data = self._link.recv(NEWS.size)
        if len(data) < NEWS.size:
            os._exit(1)
        return Usage(*NEWS.unpack(data))


def tend(link: socket.socket, keeper: int, isolation: Isolation) -> NoReturn:
    """In the agent: fork, wait and import as the keeper says, until it is gone."""
    while True:
        order, descriptors, _, _ = socket.recv_fds(link, 4096, 8)
        if not order:
            os._exit(0)
        what, *details = json.loads(order)
        if what == SPAWN:
            isolation.number, names = details
            child = os.fork()
            if child == 0:
                link.close()
                become_job(isolation, dict(zip(names, descriptors, strict=True)))
            for descriptor in descriptors:
                os.close(descriptor)
            link.sendall(NEWS.pack(*_wait(child, keeper)))
        elif what == REAP:
            link.sendall(NEWS.pack(*_wait(keeper=keeper)))
        else:
            _learn(json.loads(b"".join(link.recv(PIECE) for _ in range(details[0]))))


def _wait(child: int = 0, keeper: int = 0) -> Usage:
    """Wait until a child has ended, or (0) for those that have; return what all of them used."""
    usage = Usage(0, 0.0, 0.0)
    while True:
        try:
            pid, status, used = os.wait4(-1, 0 if child else os.WNOHANG)
        except ChildProcessError:
            return usage
        if pid == 0:
            return usage
        if pid == keeper:
            os._exit(1)
        cpu_s, peak_mb = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        usage = usage.plus(Usage(status, cpu_s, peak_mb))
        if pid == child:
            return usage._replace(status=status)


def _learn(modules: list[list[str]]) -> None:
    """Import trusted modules for all jobs to come."""
    for name, source in modules:
        module = sys.modules[name] = types.ModuleType(name)
        exec(compile(source, f"{name}.py", "exec", dont_inherit=True), module.__dict__)
    gc.collect()
    gc.freeze()  # once: each time it would keep for good what has become garbage
