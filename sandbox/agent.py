"""The fork server inside a sandbox: a warm interpreter that forks one fresh process a job.

Runs as `python -m sandbox.agent` on a read-only copy of this package, with nothing but the standard
library, and never imports anything that a job wrote. The process tree of a job:

    agent    waits for jobs and reads none: what it never holds, no later job can find in its memory
    └─ keeper    reads the job, watches its limits, collects its output, reports, and is gone; it is
       │         the first process of the job's own PID, mount and IPC namespaces, so that the
       │         kernel kills whatever the job left behind
       └─ job       the program: no capabilities, resource limits, a system call filter, four
                    descriptors, an empty /tmp

Without namespaces (`"isolate": false`, the process back end) the keeper kills its descendants by
walking /proc, which a determined program can escape.
"""

from __future__ import annotations

import gc
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from typing import IO, Any, NoReturn

from sandbox.frames import read_frame, unpack, write_frame
from sandbox.program import become_job
from sandbox.syscalls import (
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    fork_into_namespaces,
    mount_tmpfs,
    prctl,
    write_all,
)
from sandbox.watch import Watch

# What programs commonly import: loaded once here instead of once a job.
WARM = (
    "abc ast bisect cmath collections contextlib copy dataclasses datetime decimal enum"
    " fractions functools hashlib heapq io itertools json math operator random re site statistics"
    " string threading types typing"
)


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Have jobs done until the channel closes. The first frame holds the settings."""
    settings = read_frame(requests)
    if settings is None:
        return
    for name in WARM.split():
        __import__(name)
    for name in [n for n in sys.modules if n.partition(".")[0] == "sandbox"]:
        del sys.modules[name]  # a job may well have a module of that name
    sys.path[:] = [entry for entry in sys.path if entry != os.environ.pop("PYTHONPATH", None)]
    gc.freeze()  # a job's garbage collection need not touch, and so copy, our pages
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a job may send it to its keeper
    prctl(PR_SET_DUMPABLE, 0)  # no job may read or trace us
    write_frame(replies, {"ready": True})
    status = 0
    while status == 0 and _wait_readable(requests):
        keeper = fork_into_namespaces() if settings["isolate"] else os.fork()
        if keeper == 0:
            _keep(requests, replies, settings)
        _, status = os.waitpid(keeper, 0)


def _wait_readable(requests: IO[bytes]) -> bool:
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    ((_, events),) = poll.poll()
    return bool(events & select.POLLIN)


def _keep(requests: IO[bytes], replies: IO[bytes], settings: dict[str, Any]) -> NoReturn:
    job = read_frame(requests)
    if job is None:
        os._exit(1)
    home = "/tmp" if settings["isolate"] else tempfile.mkdtemp(prefix="sandbox-job-")
    try:
        report = _run_job(job, settings, home, requests.fileno())
    except OSError as error:
        report = {"infra_error": f"{type(error).__name__}: {error}"}
    if not settings["isolate"]:
        shutil.rmtree(home, ignore_errors=True)
    write_frame(replies, report)
    os._exit(0)


def _run_job(
    job: dict[str, Any], settings: dict[str, Any], home: str, channel: int
) -> dict[str, Any]:
    started = time.monotonic()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    _furnish(home, job, settings["isolate"])
    stdin = os.memfd_create("stdin")
    write_all(stdin, unpack(job["stdin"]))
    os.lseek(stdin, 0, os.SEEK_SET)
    pipes = {name: os.pipe() for name in ("stdout", "stderr", "result", "control")}
    child = os.fork()
    if child == 0:
        become_job(job, settings, stdin, {name: ends[1] for name, ends in pipes.items()})
    for _, theirs in pipes.values():
        os.close(theirs)
    os.close(stdin)
    ours = {name: ends[0] for name, ends in pipes.items()}
    return Watch(child, job["limits"], settings["isolate"], ours, channel).until_end(started)


def _furnish(home: str, job: dict[str, Any], isolate: bool) -> None:
    if isolate:
        for place in ("/tmp", "/dev/shm"):  # all that is writable at all in there
            size = int(job["limits"]["disk_mb"])
            mount_tmpfs(place, f"size={size}m,nr_inodes=16384,mode=700")
    os.chdir(home)
    for name, content in {**job["files"], "main.py": job["program"]}.items():
        with open(name, "xb") as file:
            file.write(unpack(content))


def main() -> None:
    """Serve on the descriptors that were stdin and stdout."""
    # Unbuffered: what one keeper reads ahead would be lost to the next.
    requests, replies = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    serve(requests, replies)


if __name__ == "__main__":
    main()
