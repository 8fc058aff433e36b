"""The fork server inside a sandbox: a warm interpreter that forks one fresh process a job.

Nothing but the standard library, and it never imports anything that a job wrote. The process tree:

    agent    reads no job: what it never holds, no later job can find in its memory
    ├─ keeper    waits for a job, watches its limits, collects its output, reports
    └─ job       the program: no capabilities, resource limits, a system call filter, four
                 descriptors (five in a pair), an empty home

Agent and keeper live on, the job's process is another each time: the agent forks it, on the word of
its keeper (nursery.py). How a job is kept from all others is isolation.py's.
"""

from __future__ import annotations

import gc
import importlib.util
import marshal
import os
import signal
import socket
import struct
import sys
import time
from typing import IO, Any, NoReturn

from sandbox.frames import read_frame, unpack, write_frame
from sandbox.isolation import KINDS, Isolation
from sandbox.nursery import Nursery, tend
from sandbox.program import JOB_PATH
from sandbox.syscalls import PR_SET_DUMPABLE, prctl
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
    facts = _warm_up(settings)
    isolation = KINDS[settings["isolation"]](unpack(settings["seccomp"]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a job may send it to its keeper
    prctl(PR_SET_DUMPABLE, 0)  # no job may read or trace us
    isolation.prepare()
    gc.freeze()  # a job's garbage collection need not touch, and so copy, our pages
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    keeper = os.fork()
    if keeper:
        for end in (theirs, requests, replies):
            end.close()
        isolation.confine()
        tend(ours, keeper, isolation)
    ours.close()
    try:
        isolation.settle()
    except OSError as error:
        facts["refused"] = str(error)
    write_frame(replies, facts)
    _keep_jobs(requests, replies, isolation, Nursery(theirs, isolation))


def _keep_jobs(
    requests: IO[bytes], replies: IO[bytes], isolation: Isolation, nursery: Nursery
) -> NoReturn:
    while True:
        isolation.number += 1
        keep = Keep(requests, replies, isolation, nursery)
        keep.fork()  # before its job is there, which then need not wait for it
        job = read_frame(requests)
        if job is None:
            os._exit(0)
        if job.get("learn"):
            keep.dismiss()
            nursery.teach((read_frame(requests) or {})["modules"])
        elif not keep.run(job):
            os._exit(1)


def _warm_up(settings: dict[str, Any]) -> dict[str, Any]:
    """Import what jobs will want, leave no trace of this package, and say what is here."""
    for name in WARM.split():
        importlib.import_module(name)
    for name in [n for n in sys.modules if n.partition(".")[0] == "sandbox"]:
        del sys.modules[name]  # a job may well have a module of that name
    ours = os.environ.pop("PYTHONPATH", None)
    os.environ.clear()
    os.environ.update(PATH=JOB_PATH, LANG="C.UTF-8")
    sys.path[:] = [entry for entry in sys.path if entry != ours]
    packages = settings["packages"] or _find_pytest()
    if packages and settings["trusted"]:
        sys.path.append(packages)
        _import_pytest()
    return {"packages": packages}


def _find_pytest() -> str | None:
    spec = importlib.util.find_spec("pytest")
    return os.path.dirname(os.path.dirname(spec.origin)) if spec and spec.origin else None


def _import_pytest() -> None:
    config = importlib.import_module("_pytest.config")
    plugins = [f"_pytest.{name}" for name in config.default_plugins]
    for name in ("pytest", "asyncio", "unittest.mock", *plugins):
        importlib.import_module(name)


class Keep:
    """One job, from the birth of its process to the report."""

    def __init__(
        self, requests: IO[bytes], replies: IO[bytes], isolation: Isolation, nursery: Nursery
    ) -> None:
        self.requests, self.replies = requests, replies
        self.isolation, self.nursery = isolation, nursery

    def fork(self) -> None:
        """Have the job's process forked, which then waits for its orders."""
        with self.isolation.acting():  # for it may open them once more, as /dev/stdout
            pipes = {name: os.pipe() for name in ("stdout", "stderr", "result", "control")}
        self.orders, their_orders = socket.socketpair()
        talk, their_talk = socket.socketpair()
        talk.setblocking(False)
        theirs = {name: ends[1] for name, ends in pipes.items()}
        theirs |= {"talk": their_talk.detach(), "orders": their_orders.detach()}
        self.nursery.fork(theirs)
        for descriptor in theirs.values():
            os.close(descriptor)
        self.ours = {name: ends[0] for name, ends in pipes.items()} | {"talk": talk.detach()}

    def dismiss(self) -> None:
        """Have the process end without a job."""
        self.orders.close()
        self.nursery.bury()
        for descriptor in self.ours.values():
            os.close(descriptor)

    def run(self, job: dict[str, Any]) -> bool:
        """Run the job and report; return whether all went well."""
        started = time.monotonic()
        try:
            self._furnish(job)
            if not job["talks"]:
                os.close(self.ours.pop("talk"))
            watch = Watch(
                self.nursery, job["limits"], self.isolation, self.ours, self.requests, self._send
            )
            report = watch.until_end(started)
            report["unclean"] = self.isolation.clean()
        except OSError as error:
            report = {"infra_error": f"{type(error).__name__}: {error}"}
        if "infra_error" in report:
            report["unclean"] = report["infra_error"]
        self._send({"report": report})
        # What the other of a pair said too late is for nobody, least of all for the next job.
        while job["talks"] and (frame := read_frame(self.requests)) and not frame.get("bye"):
            pass
        return "infra_error" not in report

    def _send(self, frame: dict[str, Any]) -> None:
        write_frame(self.replies, frame)

    def _furnish(self, job: dict[str, Any]) -> None:
        """Make the job's home, put its files there, and tell its process what to do."""
        home = self.isolation.furnish(int(job["limits"]["disk_mb"]))
        with self.isolation.acting():
            os.chdir(home)
            for name, content in {**job["files"], "main.py": job["program"]}.items():
                with open(name, "xb") as file:
                    file.write(unpack(content))
            stdin = self.isolation.open_stdin(unpack(job["stdin"]))
        data = marshal.dumps((home, job["limits"], job["talks"], unpack(job["program"])))
        socket.send_fds(self.orders, [struct.pack("!I", len(data))], [stdin])
        self.orders.sendall(data)
        self.orders.close()
        os.close(stdin)


def main() -> None:
    """Serve on the descriptors that were stdin and stdout."""
    # Unbuffered: what was read ahead no poll would see.
    requests, replies = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    serve(requests, replies)


if __name__ == "__main__":
    main()
