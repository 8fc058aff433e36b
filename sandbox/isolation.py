"""The three ways in which an agent keeps a job from everything else in its container.

`Namespaces` (bubblewrap): each job gets PID, mount and IPC namespaces of its own. `Uids` (Docker):
each job gets a user id that no job had before, for making namespaces takes a capability that a
container of root should not have. `Bare` (the process back end) keeps nothing from anyone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from typing import Protocol

from sandbox.meter import descendants, own_pid
from sandbox.syscalls import (
    drop_capabilities,
    filter_system_calls,
    forgo_privileges,
    fork_into_namespaces,
    mount_tmpfs,
    write_all,
)

FIRST_UID, NUM_UIDS = 20_000, 40_000  # within the 65,536 ids of a user namespace
WRITABLE = ("/tmp", "/dev/shm")
CLEAN_S = 1.0
"""A container with so many files left that removing them takes longer is given up."""


class Isolation(Protocol):
    """What an agent asks of each of the three. One object lives as long as the agent."""

    counts_processes: bool
    """Whether the kernel can limit the processes of one job, and not of one user."""

    def furnish(self, disk_mb: int) -> str:
        """In the keeper: make the job's empty home and return its path."""
        ...

    def acting(self) -> contextlib.AbstractContextManager[None]:
        """In the keeper: files made within belong to the job."""
        ...

    def prepare(self, seccomp: bytes) -> None:
        """In the agent, once: whatever can be done for all jobs to come."""
        ...

    def open_stdin(self, data: bytes) -> int:
        """In the keeper, acting: return a descriptor that reads this."""
        ...

    def become(self) -> None:
        """In the job's process: give up every privilege, for good."""
        ...

    def kill_all(self) -> None:
        """In the keeper: kill every process of the job."""
        ...

    def clean(self) -> str | None:
        """In the keeper, when no process is left: remove all files; say what could not be."""
        ...


class Common:
    """What is alike where a job is kept apart by namespaces, and where it is not at all."""

    def __init__(self) -> None:
        self.seccomp = b""

    def prepare(self, seccomp: bytes) -> None:
        """Keep the filter for each job: it would refuse what the keeper still has to do."""
        forgo_privileges()
        self.seccomp = seccomp

    def acting(self) -> contextlib.AbstractContextManager[None]:
        """The job's user is the keeper's."""
        return contextlib.nullcontext()

    def open_stdin(self, data: bytes) -> int:
        """Take memory that no file system counts."""
        descriptor = os.memfd_create("stdin")
        write_all(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def become(self) -> None:
        """Drop capabilities, if there are any, and install the filter."""
        drop_capabilities()
        if self.seccomp:
            filter_system_calls(self.seccomp)


class Namespaces(Common):
    """A keeper is the first process of its job's own namespaces, which end with it."""

    counts_processes = True

    def fork(self) -> int:
        """Fork into new namespaces."""
        return fork_into_namespaces()

    def furnish(self, disk_mb: int) -> str:
        """Mount empty file systems over all that is writable at all in there."""
        for place in WRITABLE:
            mount_tmpfs(place, f"size={disk_mb}m,nr_inodes=16384,mode=700")
        return "/tmp"

    def kill_all(self) -> None:
        """Kill all others of this PID namespace."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)

    def clean(self) -> str | None:
        """Leave it to the kernel: the mounts end with the namespace."""
        return None


class Uids:
    """A job runs as a user that owns nothing else; the keeper is root and removes what it left."""

    counts_processes = True

    def __init__(self) -> None:
        self.number = -1
        """Counts the jobs: each has another user id."""
        self.home = ""

    def prepare(self, seccomp: bytes) -> None:
        """Install the filter here: all that comes inherits it, and need not compile it again."""
        forgo_privileges()
        if seccomp:
            filter_system_calls(seccomp)

    @property
    def uid(self) -> int:
        """The user and group id of the present job."""
        return FIRST_UID + self.number % NUM_UIDS

    def furnish(self, disk_mb: int) -> str:
        """Make a home within the container's /tmp, which is small enough."""
        self.home = f"/tmp/{self.number}"
        os.mkdir(self.home, 0o700)
        os.chown(self.home, self.uid, self.uid)
        return self.home

    @contextlib.contextmanager
    def acting(self) -> Iterator[None]:
        """Act as the job's user for a while; root's own powers over files are not needed."""
        os.setegid(self.uid)
        os.seteuid(self.uid)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    def open_stdin(self, data: bytes) -> int:
        """Take a file of the job's without a name: the filter refuses memory outside of files."""
        descriptor = os.open(self.home, os.O_TMPFILE | os.O_RDWR, 0o600)
        write_all(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def become(self) -> None:
        """Take the job's user id and drop all capabilities."""
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # if the container's memory ends, this process goes, not the agent
        os.setgroups([])
        os.setresgid(self.uid, self.uid, self.uid)
        os.setresuid(self.uid, self.uid, self.uid)
        drop_capabilities()

    def kill_all(self) -> None:
        """Kill all others of this container but the agent: its first process is exempt."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)

    def clean(self) -> str | None:
        """Remove the job's files and see that nothing of it is left in the container."""
        os.chdir("/")
        deadline = time.monotonic() + CLEAN_S
        # Its home too, which it may have removed or renamed.
        with self.acting(), contextlib.suppress(TimeoutError):
            for place in WRITABLE:
                for entry in os.scandir(place):
                    _remove(entry, deadline)
        left = [path for place in WRITABLE for path in os.listdir(place)]
        strangers = list_strangers()
        return f"left behind: {left[:3]}, {len(strangers)} processes" if left or strangers else None


class Bare(Common):
    """Nothing but a folder; a determined program escapes the walk through /proc."""

    counts_processes = False  # the kernel would count all processes of the user

    def __init__(self) -> None:
        super().__init__()
        self.home = ""

    def fork(self) -> int:
        """Fork."""
        return os.fork()

    def furnish(self, disk_mb: int) -> str:
        """Make a folder."""
        self.home = tempfile.mkdtemp(prefix="sandbox-job-")
        return self.home

    def kill_all(self) -> None:
        """Kill the descendants of this process until none is left."""
        root = own_pid()
        while victims := [p for p, s in descendants(root).items() if p != root and s[0] != b"Z"]:
            for pid in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def clean(self) -> str | None:
        """Remove the folder."""
        os.chdir("/")
        shutil.rmtree(self.home, ignore_errors=True)
        return None


def list_strangers() -> set[str]:
    """Return all processes but this one and the container's first."""
    return {p for p in os.listdir("/proc") if p.isdigit()} - {"1", str(own_pid())}


def _empty(folder: str, deadline: float) -> None:
    """Remove all within a folder, whatever modes it was given."""
    os.chmod(folder, 0o700)
    for entry in os.scandir(folder):
        _remove(entry, deadline)


def _remove(entry: os.DirEntry[str], deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError
    with contextlib.suppress(OSError):  # what stays is found by the audit
        if entry.is_dir(follow_symlinks=False):
            _empty(entry.path, deadline)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)


KINDS: dict[str, type[Namespaces] | type[Uids] | type[Bare]] = {
    "namespaces": Namespaces,
    "uids": Uids,
    "none": Bare,
}
