"""The three ways in which an agent keeps a job from everything else in its container.

`Namespaces` (bubblewrap): jobs get a PID namespace without the agent in it, and file systems that
are made anew for each. `Uids` (Docker): each job gets a user id that no job had before, for making
namespaces takes a capability that a container of root should not have. `Bare` (the process back
end) keeps nothing from anyone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator

from sandbox.meter import descendants, list_processes, own_pid
from sandbox.syscalls import (
    CLONE_NEWNS,
    CLONE_NEWPID,
    PR_SET_CHILD_SUBREAPER,
    drop_capabilities,
    filter_system_calls,
    forgo_privileges,
    mount,
    prctl,
    unmount,
    unshare,
    write_all,
)

FIRST_UID, NUM_UIDS = 20_000, 40_000  # within the 65,536 ids of a user namespace
WRITABLE = ("/tmp", "/dev/shm")
HOST_PROC = "/run/host-proc"
CLEAN_S = 1.0
"""A container with so many files left that removing them takes longer is given up."""


class Isolation:
    """What an agent asks of each of the three. One object lives as long as the agent."""

    counts_processes = True
    """Whether the kernel can limit the processes of one job, and not of one user."""

    def __init__(self, seccomp: bytes) -> None:
        self.seccomp = seccomp
        self.agent = own_pid()
        self.number = -1
        """Counts the jobs."""

    def prepare(self) -> None:
        """In the agent, once, before it has a keeper."""
        forgo_privileges()

    def settle(self) -> None:
        """In the keeper, once, before there are jobs."""

    def confine(self) -> None:
        """In the agent, once its keeper is there: give up what only that needs."""
        drop_capabilities()
        # Here, and not once a job, which would take a third of what a fork takes.
        filter_system_calls(self.seccomp)

    def become(self) -> None:
        """In the job's process: give up every privilege that is left, for good."""

    def furnish(self, disk_mb: int) -> str:
        """In the keeper: make the job's empty home and return its path."""
        raise NotImplementedError

    def acting(self) -> contextlib.AbstractContextManager[None]:
        """In the keeper: files made within belong to the job's user, if that is another."""
        return contextlib.nullcontext()

    def open_stdin(self, data: bytes) -> int:
        """In the keeper, acting: return a descriptor that reads this, from memory."""
        descriptor = os.memfd_create("stdin")
        write_all(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def kill_all(self) -> None:
        """In the keeper: kill every process of the job; a namespace's first process is exempt."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)

    def list_strangers(self) -> set[int]:
        """In the keeper: return all processes of the container but itself and the agent."""
        return set(list_processes()) - {self.agent, own_pid()}

    def clean(self) -> str | None:
        """In the keeper, when no process is left: remove all files; say what could not be."""
        raise NotImplementedError


class Namespaces(Isolation):
    """The keeper is the first process of a PID namespace that all jobs, but not the agent, are in.

    Jobs have the agent's user id, the only one that there is. So what they inherit from must have
    no number for them: or one could set limits or priorities of it, for all that come after.
    """

    def prepare(self) -> None:
        """See that all children, the keeper first, are born into a namespace of their own."""
        super().prepare()
        unshare(CLONE_NEWNS | CLONE_NEWPID)

    def settle(self) -> None:
        """Mount a /proc in which jobs, and nothing else but this keeper, have their own numbers.

        Programs look themselves up in there by their number. The kernel allows one only to who can
        see a /proc with nothing of it covered, which bwrap's own is not: so there is the host's,
        until it is covered here, before any job.
        """
        try:
            mount("proc", "/proc", read_only=True)
        finally:
            mount("tmpfs", HOST_PROC, read_only=True)

    def furnish(self, disk_mb: int) -> str:
        """Mount empty file systems over all that is writable at all in there."""
        for place in WRITABLE:
            mount("tmpfs", place, f"size={disk_mb}m,nr_inodes=16384,mode=700")
        return "/tmp"

    def clean(self) -> str | None:
        """Take the file systems away, and see that no process is left."""
        os.chdir("/")
        for place in WRITABLE:
            unmount(place)
        strangers = self.list_strangers()
        return f"left behind: {len(strangers)} processes" if strangers else None


class Uids(Isolation):
    """A job runs as a user that owns nothing else; the keeper is root and removes what it left."""

    home = ""

    def prepare(self) -> None:
        """Install the filter: neither keeper nor agent does anything that it refuses."""
        super().prepare()
        filter_system_calls(self.seccomp)

    def confine(self) -> None:
        """Stay root, which alone can give each job another user id."""

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
        strangers = self.list_strangers()
        return f"left behind: {left[:3]}, {len(strangers)} processes" if left or strangers else None


class Bare(Isolation):
    """Nothing but a folder; a determined program escapes the walk through /proc."""

    counts_processes = False  # the kernel would count all processes of the user
    home = ""

    def prepare(self) -> None:
        """See that whom a job leaves behind stays below the agent."""
        super().prepare()
        prctl(PR_SET_CHILD_SUBREAPER, 1)

    def furnish(self, disk_mb: int) -> str:
        """Make a folder."""
        self.home = tempfile.mkdtemp(prefix="sandbox-job-")
        return self.home

    def kill_all(self) -> None:
        """Kill the agent's descendants until none is left."""
        spared = {self.agent, own_pid()}
        while victims := {
            p for p, s in descendants(self.agent).items() if s[0] != b"Z" and p not in spared
        }:
            for pid in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def list_strangers(self) -> set[int]:
        """Return the agent's descendants: other processes here are no concern of ours."""
        return descendants(self.agent).keys() - {self.agent, own_pid()}

    def clean(self) -> str | None:
        """Remove the folder."""
        os.chdir("/")
        shutil.rmtree(self.home, ignore_errors=True)
        return None


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


KINDS: dict[str, type[Isolation]] = {"namespaces": Namespaces, "uids": Uids, "none": Bare}
