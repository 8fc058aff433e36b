"""The fork server inside a sandbox: a warm interpreter that forks one fresh process a job.

Nothing but the standard library, and it never imports anything that a job wrote. The process tree:

    agent    reads no job: what it never holds, no later job can find in its memory
    └─ keeper    waits for a job, watches its limits, collects its output, reports, and is gone
       └─ job       the program: no capabilities, resource limits, a system call filter, four
                    descriptors (five in a pair), an empty home

How a job is kept from the agent and from other jobs is isolation.py's.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import marshal
import os
import signal
import socket
import struct
import sys
import time
import types
from typing import IO, Any, NoReturn

from sandbox.frames import read_frame, unpack, write_frame
from sandbox.isolation import KINDS, Isolation
from sandbox.program import become_job
from sandbox.syscalls import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, prctl
from sandbox.watch import Watch

LEARN = 3
"""The exit status of a keeper that read no job, but that modules for the agent come next."""
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
    isolation = KINDS[settings["isolation"]]()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a job may send it to its keeper
    prctl(PR_SET_DUMPABLE, 0)  # no job may read or trace us
    isolation.prepare(unpack(settings["seccomp"]))
    write_frame(replies, facts)
    status = 0
    while status in (0, LEARN):
        gc.freeze()  # a job's garbage collection need not touch, and so copy, our pages
        keeper = isolation.fork()  # before its job is there, which then need not wait for it
        if keeper == 0:
            _keep(requests, replies, isolation)
        status = os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])
        _reap_strays()
        if status == LEARN:
            _learn(read_frame(requests) or {})


def _learn(lesson: dict[str, Any]) -> None:
    """Import trusted modules for all jobs to come."""
    for name, source in lesson["modules"]:
        module = sys.modules[name] = types.ModuleType(name)
        exec(compile(source, f"{name}.py", "exec", dont_inherit=True), module.__dict__)


def _reap_strays() -> None:
    """Reap what a keeper could not; on a kernel without subreapers it comes to the agent."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _warm_up(settings: dict[str, Any]) -> dict[str, Any]:
    """Import what jobs will want, leave no trace of this package, and say what is here."""
    for name in WARM.split():
        importlib.import_module(name)
    for name in [n for n in sys.modules if n.partition(".")[0] == "sandbox"]:
        del sys.modules[name]  # a job may well have a module of that name
    ours = os.environ.pop("PYTHONPATH", None)
    os.environ.clear()
    os.environ.update(PATH="/usr/local/bin:/usr/bin:/bin", LANG="C.UTF-8")
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


def _keep(requests: IO[bytes], replies: IO[bytes], isolation: Isolation) -> NoReturn:
    with contextlib.suppress(OSError):  # gVisor has none; the agent is the first process there
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    orders, ours, child = _fork_job(isolation)
    job = read_frame(requests)
    if job is None or job.get("learn"):
        os._exit(LEARN if job else 1)

    def send(frame: dict[str, Any]) -> None:
        write_frame(replies, frame)

    started = time.monotonic()
    try:
        _furnish(job, isolation, orders)
        if not job["talks"]:
            os.close(ours.pop("talk"))
        watch = Watch(child, job["limits"], isolation, ours, requests, send)
        report = watch.until_end(started)
        report["unclean"] = isolation.clean()
    except OSError as error:
        report = {"infra_error": f"{type(error).__name__}: {error}"}
    send({"report": report})
    # What the other of a pair said too late is for nobody, least of all for the next job.
    while job["talks"] and (frame := read_frame(requests)) and not frame.get("bye"):
        pass
    os._exit(0)


def _fork_job(isolation: Isolation) -> tuple[socket.socket, dict[str, int], int]:
    """Fork the job's process; return where its orders go, our ends of its pipes, its number."""
    with isolation.acting():  # for it may open them once more, as /dev/stdout
        pipes = {name: os.pipe() for name in ("stdout", "stderr", "result", "control")}
    orders, their_orders = socket.socketpair()
    talk, their_talk = socket.socketpair()
    talk.setblocking(False)
    theirs = {name: ends[1] for name, ends in pipes.items()}
    theirs |= {"talk": their_talk.detach(), "orders": their_orders.detach()}
    child = os.fork()
    if child == 0:
        become_job(isolation, theirs)
    for descriptor in theirs.values():
        os.close(descriptor)
    ours = {name: ends[0] for name, ends in pipes.items()}
    return orders, {**ours, "talk": talk.detach()}, child


def _furnish(job: dict[str, Any], isolation: Isolation, orders: socket.socket) -> None:
    """Make the job's home, put its files there, and tell its process what to do."""
    home = isolation.furnish(int(job["limits"]["disk_mb"]))
    with isolation.acting():
        os.chdir(home)
        for name, content in {**job["files"], "main.py": job["program"]}.items():
            with open(name, "xb") as file:
                file.write(unpack(content))
        stdin = isolation.open_stdin(unpack(job["stdin"]))
    data = marshal.dumps((home, job["limits"], job["talks"], unpack(job["program"])))
    socket.send_fds(orders, [struct.pack("!I", len(data))], [stdin])
    orders.sendall(data)
    orders.close()
    os.close(stdin)


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
