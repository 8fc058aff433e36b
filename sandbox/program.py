"""The last step of a job's process: take limits, give up privileges, run the program."""

from __future__ import annotations

import _io
import atexit
import builtins
import contextlib
import gc
import json
import marshal
import os
import resource
import signal
import site
import socket
import sys
import threading
import traceback
import types
from typing import Any, NoReturn

from sandbox.isolation import Isolation
from sandbox.syscalls import PR_SET_DUMPABLE, prctl, write_all

STREAMS = ("stdout", "stderr", "result", "talk")
"""What a job has at descriptors 1 to 4; at 0 it has stdin."""
TALK_FD, CONTROL_FD, ORDERS_FD = 4, 200, 201
JOB_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where a job looks for programs."""


def become_job(isolation: Isolation, ends: dict[str, int]) -> NoReturn:
    """Give up privileges, wait for orders, take their limits, and run the program."""
    program = _get_ready(isolation, ends)
    try:
        code, complaint = _compile(program)
        write_all(CONTROL_FD, json.dumps({"compile_error": complaint}).encode() + b"\n")
        os.close(CONTROL_FD)
    except BaseException:  # the program's doing, by now: no failure of the machine
        os._exit(1)
    if code is None:
        os._exit(1)
    del isolation, ends, program  # a program may look at the frames below its own
    _run_program(code)


def _get_ready(isolation: Isolation, ends: dict[str, int]) -> bytes:
    """Return the program; whatever goes wrong until then is the machine's failure."""
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _set_descriptors(ends)
        isolation.become()
        prctl(PR_SET_DUMPABLE, 1)  # or /proc/self would be closed to the program
        home, limits, talks, program = _await_orders()
        if not talks:
            os.close(TALK_FD)
        os.chdir(home)
        os.environ["HOME"] = os.environ["TMPDIR"] = home
        _set_limits(limits, isolation.counts_processes)
        write_all(CONTROL_FD, b'{"started": true}\n')  # from here on it is the program's doing
        return program
    except BaseException as error:
        write_all(CONTROL_FD, json.dumps({"infra_error": repr(error)}).encode() + b"\n")
        os._exit(1)


def _set_descriptors(ends: dict[str, int]) -> None:
    """Put each descriptor in its place, and close all others."""
    places = {"control": CONTROL_FD, "orders": ORDERS_FD}
    places |= {name: place for place, name in enumerate(STREAMS, 1)}
    moved = {name: os.dup2(end, 210 + i) for i, (name, end) in enumerate(ends.items())}
    for name, descriptor in moved.items():
        os.dup2(descriptor, places[name])
    os.closerange(TALK_FD + 1, CONTROL_FD)
    os.closerange(ORDERS_FD + 1, 4096)


def _await_orders() -> tuple[str, dict[str, float], bool, bytes]:
    """Wait for what the keeper sends: stdin's descriptor, and what to do; or end with it."""
    with socket.socket(fileno=ORDERS_FD) as orders:
        head, descriptors, _, _ = socket.recv_fds(orders, 4, 1)
        if not head:
            os._exit(0)
        os.dup2(descriptors[0], 0)
        os.close(descriptors[0])
        data = bytearray()
        while piece := orders.recv(1 << 20):
            data += piece
    told: tuple[str, dict[str, float], bool, bytes] = marshal.loads(data)
    return told


def _set_limits(limits: dict[str, float], counts_processes: bool) -> None:
    cpu_s = int(limits["cpu_s"]) + 2  # the agent's watch is finer; this holds if it is starved
    disk, memory, reserved = (
        int(limits[name]) << 20 for name in ("disk_mb", "memory_mb", "reserved_mb")
    )
    chosen = {
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_FSIZE: (disk, disk),
        resource.RLIMIT_NOFILE: (256, 256),
        # Address space would count thread stacks and maps that are never touched; private data may
        # be twice the resident limit, which the agent keeps for the whole tree.
        resource.RLIMIT_DATA: (2 * memory + reserved, 2 * memory + reserved),
    }
    if counts_processes:
        chosen[resource.RLIMIT_NPROC] = (int(limits["processes"]) + 2,) * 2
    for what, pair in chosen.items():
        hard = resource.getrlimit(what)[1]
        if hard != resource.RLIM_INFINITY:
            pair = (min(pair[0], hard), min(pair[1], hard))
        resource.setrlimit(what, pair)


def _compile(source: bytes) -> tuple[Any, str | None]:
    try:
        path = os.path.join(os.getcwd(), "main.py")
        return compile(source, path, "exec", dont_inherit=True), None
    except BaseException as error:  # SyntaxError, ValueError, MemoryError, RecursionError
        return None, "".join(traceback.format_exception_only(error)).strip()[:2000]


def _run_program(code: Any) -> NoReturn:
    """Run as `python main.py` would, down to exit status, traceback and exit handlers."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=code.co_filename, __builtins__=builtins, __annotations__={})
    sys.modules["__main__"] = main
    sys.argv, sys.path[:0] = [code.co_filename], [os.getcwd()]
    site.setquit()
    status = 0
    try:
        exec(code, main.__dict__)
    except SystemExit as stop:
        status = _exit_status(stop.code)
    except BaseException as error:
        if error.__traceback__:  # whose first frame is ours
            error = error.with_traceback(error.__traceback__.tb_next)
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    _end(main, status)


def _end(main: types.ModuleType, status: int) -> NoReturn:
    """End as the interpreter does: threads, exit handlers, `__del__` of what main held, buffers.

    Its own end would then take apart every module and object, all of which this process shares with
    the agent until it touches them: ten times the work of a small program.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    _flush(sys.stdout, sys.stderr)
    names = main.__dict__
    for private in (True, False):  # the order of the interpreter
        for name in [n for n in names if n.startswith("_") is private and n != "__builtins__"]:
            names[name] = None
    gc.collect()
    # The base of io.IOBase: that itself is an abstract class, which looks at every type at length.
    _flush(*(o for o in gc.get_objects() if issubclass(type(o), _io._IOBase)))
    _flush(sys.__stdout__, sys.__stderr__)  # not among these objects, for the agent made them
    os._exit(status)


def _flush(*files: Any) -> None:
    for file in files:
        with contextlib.suppress(BaseException):
            file.flush()


def _exit_status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1
