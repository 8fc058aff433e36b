"""The fork server inside a sandbox: a warm interpreter that forks one fresh process a job.

Runs as a script, with nothing but the standard library, and never imports anything a job wrote.
The process tree of a job:

    agent   reads jobs, watches limits, collects output; holds the channel to the outside
    └─ init   first process of the job's own PID, mount and IPC namespaces, with its own empty /tmp;
       │      when it ends, the kernel kills whatever the job left behind
       └─ job   the program: no capabilities, resource limits, system call filter, four descriptors

Without namespaces (`"isolate": false`, the process back end) `init` makes a temporary directory
and kills its descendants by walking /proc, which a determined program can escape.

Each frame on the channel is a 4-byte length and a JSON object; bytes travel as base64.
"""

from __future__ import annotations

import base64
import ctypes
import gc
import json
import os
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from typing import IO, Any, NoReturn

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
MS_NOSUID_NODEV = 2 | 4
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 4, 22, 24
PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 38, 36
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
RESULT_FD, CONTROL_FD = 3, 200
TICK_S = 0.02
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)

# What programs commonly import: loaded once here instead of once a job.
WARM = (
    "abc ast atexit bisect cmath collections contextlib copy dataclasses datetime decimal enum"
    " fractions functools hashlib heapq io itertools json math operator random re site statistics"
    " string threading types typing"
)


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read one frame; None at the end of the stream."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    body = stream.read(struct.unpack("!I", head)[0])
    frame: dict[str, Any] = json.loads(body)
    return frame


def write_frame(stream: IO[bytes], frame: dict[str, Any]) -> None:
    """Write one frame and flush it."""
    body = json.dumps(frame).encode()
    stream.write(struct.pack("!I", len(body)) + body)
    stream.flush()


def pack(data: bytes) -> str:
    """Turn bytes into JSON text."""
    return base64.b64encode(data).decode("ascii")


def unpack(text: str) -> bytes:
    """Turn JSON text back into bytes."""
    return base64.b64decode(text)


# ---- the agent ----------------------------------------------------------------------------------


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer jobs until the channel closes. The first frame holds the settings."""
    settings = read_frame(requests)
    if settings is None:
        return
    for name in WARM.split():
        __import__(name)
    gc.freeze()  # a job's garbage collection need not touch, and so copy, our pages
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a job may send it to its init
    _prctl(PR_SET_DUMPABLE, 0)  # no job may read or trace us
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    write_frame(replies, {"ready": True})
    while (job := read_frame(requests)) is not None:
        try:
            report = run_job(job, settings)
        except OSError as error:
            report = {"infra_error": f"{type(error).__name__}: {error}"}
        write_frame(replies, report)


def run_job(job: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Run one job and report the facts."""
    started = time.monotonic()
    stdin = os.memfd_create("stdin")
    _write_all(stdin, unpack(job["stdin"]))
    os.lseek(stdin, 0, os.SEEK_SET)
    pipes = {name: os.pipe() for name in ("stdout", "stderr", "result", "control")}
    pid = _fork_init(settings["isolate"])
    if pid == 0:
        _init(job, settings, stdin, {name: ends[1] for name, ends in pipes.items()})
    for _, theirs in pipes.values():
        os.close(theirs)
    os.close(stdin)
    watch = Watch(pid, job["limits"], settings["isolate"], {n: e[0] for n, e in pipes.items()})
    report = watch.until_end(started)
    os.waitpid(pid, 0)
    return report


class Watch:
    """Collects a job's output and ends it at its limits."""

    def __init__(
        self, pid: int, limits: dict[str, float], isolate: bool, pipes: dict[str, int]
    ) -> None:
        self.pid, self.limits, self.isolate = pid, limits, isolate
        self.names = {descriptor: name for name, descriptor in pipes.items()}
        self.output: dict[str, bytearray] = {name: bytearray() for name in pipes}
        self.limit: str | None = None
        self.usage = Usage()
        self.peak_mb = 0.0

    def until_end(self, started: float) -> dict[str, Any]:
        """Return the report once every pipe is closed, so nothing of the job is alive."""
        poll = select.poll()
        for descriptor in self.names:
            poll.register(descriptor, select.POLLIN)
        next_check = started + TICK_S
        while self.names:
            for descriptor, _ in poll.poll(1000 * TICK_S):
                self._read(descriptor, poll)
            now = time.monotonic()
            if self.names and self.limit is None and now >= next_check:
                self._check(now - started)
                next_check = now + TICK_S
        return self._report(time.monotonic() - started)

    def _read(self, descriptor: int, poll: select.poll) -> None:
        data = os.read(descriptor, 1 << 16)
        name = self.names[descriptor]
        if not data:
            poll.unregister(descriptor)
            os.close(descriptor)
            del self.names[descriptor]
            return
        room = int(self.limits["output_kb"] * 1024) - len(self.output[name])
        self.output[name] += data[: max(room, 0)]
        if len(data) > room:
            self._end("output")

    def _check(self, elapsed: float) -> None:
        self.usage = measure_tree(self.pid)
        self.peak_mb = max(self.peak_mb, self.usage.memory_mb)
        if self.usage.cpu_s > self.limits["cpu_s"]:
            self._end("cpu")
        elif self.usage.memory_mb > self.limits["memory_mb"]:
            self._end("memory")
        elif self.usage.processes - 1 > self.limits["processes"]:
            self._end("processes")
        elif elapsed > self.limits["wall_s"]:
            self._end("wall")

    def _end(self, limit: str) -> None:
        if self.limit is None:
            self.limit = limit
        kill_tree(self.pid, self.isolate)

    def _report(self, wall_s: float) -> dict[str, Any]:
        lines = bytes(self.output.pop("control")).decode().splitlines()
        facts: dict[str, Any] = {}
        for line in lines:
            facts.update(json.loads(line))
        if "started" not in facts and self.limit is None:
            facts.setdefault("infra_error", "the job's process ended before it started")
        if facts.get("signal") == signal.SIGXCPU:
            self.limit = "cpu"
        return {
            "cpu_s": self.usage.cpu_s,
            "starved_s": self.usage.starved_s if self.limit == "wall" else 0.0,
            **facts,
            "peak_memory_mb": max(self.peak_mb, facts.get("peak_memory_mb", 0.0)),
            "limit": self.limit,
            "wall_s": wall_s,
            **{name: pack(bytes(data)) for name, data in self.output.items()},
        }


class Usage:
    """What a process tree uses at one moment."""

    def __init__(self) -> None:
        self.cpu_s = self.memory_mb = self.starved_s = 0.0
        self.processes = 0


def measure_tree(root: int) -> Usage:
    """Add up CPU time, resident memory, run-queue waits and processes below and with `root`."""
    usage = Usage()
    for pid, stat in _descendants(root).items():
        usage.processes += int(stat[17])  # threads, as the kernel's own limits count them
        usage.cpu_s += (int(stat[11]) + int(stat[12]) + int(stat[13]) + int(stat[14])) / TICKS
        usage.memory_mb += int(stat[21]) * PAGE_MB if pid != root else 0.0
        usage.starved_s += _starved_s(pid)
    return usage


def _descendants(root: int) -> dict[int, list[bytes]]:
    """Map each process at or below `root` to its /proc stat fields after the command name."""
    stats: dict[int, list[bytes]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    stats[int(entry)] = file.read().rpartition(b")")[2].split()
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


def _starved_s(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0  # a kernel without scheduler statistics


def kill_tree(root: int, isolate: bool) -> None:
    """Kill `root` and all below it; the first process of a PID namespace takes the rest along."""
    while not isolate and (victims := _living_below(root)):
        for pid in victims:  # `root` comes last: its orphans would not be below it any more
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    os.kill(root, signal.SIGKILL)


def _living_below(root: int) -> list[int]:
    return [p for p, stat in _descendants(root).items() if p != root and stat[0] != b"Z"]


# ---- the job's first process --------------------------------------------------------------------


def _fork_init(isolate: bool) -> int:
    """Fork into new PID, mount and IPC namespaces; like os.fork, returns 0 in the child."""
    if not isolate:
        return os.fork()
    python, libc = ctypes.pythonapi, ctypes.PyDLL(None, use_errno=True)
    flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | signal.SIGCHLD
    python.PyOS_BeforeFork()
    pid: int = libc.syscall(SYS_CLONE[os.uname().machine], flags, 0, 0, 0, 0)
    if pid == 0:
        python.PyOS_AfterFork_Child()
        return 0
    error = ctypes.get_errno()
    python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(error, f"cannot make namespaces for a job: {os.strerror(error)}")
    return pid


def _init(
    job: dict[str, Any], settings: dict[str, Any], stdin: int, ends: dict[str, int]
) -> NoReturn:
    control = os.dup2(ends["control"], CONTROL_FD)
    home = "/tmp"
    try:
        home = _make_home(job, settings["isolate"])
        child = os.fork()
        if child == 0:
            _become_job(job, settings, [stdin, ends["stdout"], ends["stderr"], ends["result"]])
        for descriptor in (stdin, *ends.values()):
            os.close(descriptor)
        facts = _wait_job(child, settings["isolate"])
    except BaseException as error:  # whatever it is, it must reach the report
        facts = {"infra_error": f"{type(error).__name__}: {error}"}
    if not settings["isolate"]:
        shutil.rmtree(home, ignore_errors=True)
    _write_all(control, json.dumps(facts).encode() + b"\n")
    os._exit(0)


def _make_home(job: dict[str, Any], isolate: bool) -> str:
    home = "/tmp"
    if isolate:
        options = f"size={int(job['limits']['disk_mb'])}m,nr_inodes=16384,mode=700"
        for place in (b"/tmp", b"/dev/shm"):  # all that is writable at all in there
            _mount(b"tmpfs", place, options.encode())
    else:
        home = tempfile.mkdtemp(prefix="sandbox-job-")
    os.chdir(home)
    for name, content in {**job["files"], "main.py": job["program"]}.items():
        with open(name, "xb") as file:
            file.write(unpack(content))
    return home


def _wait_job(child: int, isolate: bool) -> dict[str, Any]:
    if not isolate:
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
    pid, status = 0, 0
    while pid != child:  # orphans of the job are ours to reap
        pid, status = os.wait()
    if isolate:
        _kill_all_others()
    else:
        for other in _living_below(os.getpid()):
            kill_tree(other, isolate)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "exit_code": os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_memory_mb": usage.ru_maxrss / 1024,
    }


def _kill_all_others() -> None:
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return  # nothing was left behind


# ---- the job itself -----------------------------------------------------------------------------


def _become_job(job: dict[str, Any], settings: dict[str, Any], streams: list[int]) -> NoReturn:
    """Take the job's descriptors, limits and privileges, then run the program."""
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for target, source in enumerate([os.dup2(s, 210 + i) for i, s in enumerate(streams)]):
            os.dup2(source, target)
        os.closerange(RESULT_FD + 1, CONTROL_FD)
        os.closerange(CONTROL_FD + 1, 4096)
        _set_limits(job["limits"], settings["isolate"])
        home = os.getcwd()
        os.environ.clear()
        os.environ.update(PATH="/usr/bin:/bin", HOME=home, LANG="C.UTF-8", TMPDIR=home)
        _drop_privileges(unpack(settings["seccomp"]))
        _write_all(CONTROL_FD, b'{"started": true}\n')  # from here on it is the program's doing
        code, complaint = _compile(unpack(job["program"]))
        _write_all(CONTROL_FD, json.dumps({"compile_error": complaint}).encode() + b"\n")
        os.close(CONTROL_FD)
    except BaseException as error:
        _write_all(CONTROL_FD, json.dumps({"infra_error": repr(error)}).encode() + b"\n")
        os._exit(1)
    if code is None:
        os._exit(1)
    _run_program(code)


def _set_limits(limits: dict[str, float], isolate: bool) -> None:
    cpu_s = int(limits["cpu_s"]) + 2  # the agent's watch is finer; this holds if it is starved
    disk, memory = int(limits["disk_mb"]) << 20, int(limits["memory_mb"]) << 20
    chosen = {
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_FSIZE: (disk, disk),
        resource.RLIMIT_NOFILE: (256, 256),
        # Address space would count thread stacks and maps that are never touched; private data may
        # be twice the resident limit, which the agent keeps for the whole tree.
        resource.RLIMIT_DATA: (2 * memory, 2 * memory),
    }
    if isolate:  # elsewhere it would count all processes of the user
        chosen[resource.RLIMIT_NPROC] = (int(limits["processes"]) + 2,) * 2
    for what, pair in chosen.items():
        hard = resource.getrlimit(what)[1]
        if hard != resource.RLIM_INFINITY:
            pair = (min(pair[0], hard), min(pair[1], hard))
        resource.setrlimit(what, pair)


def _drop_privileges(seccomp: bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails past the last one, harmlessly
    header, none = struct.pack("Ii", 0x20080522, 0), bytes(24)
    if libc.capset(header, none):
        raise OSError(ctypes.get_errno(), "capset")
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_DUMPABLE, 1)  # or /proc/self would be closed to the program
    if seccomp:
        array = ctypes.create_string_buffer(seccomp, len(seccomp))
        program = struct.pack("HxxxxxxP", len(seccomp) // 8, ctypes.addressof(array))
        if libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")


def _compile(source: bytes) -> tuple[Any, str | None]:
    try:
        path = os.path.join(os.getcwd(), "main.py")
        return compile(source, path, "exec", dont_inherit=True), None
    except BaseException as error:  # SyntaxError, ValueError, MemoryError, RecursionError
        return None, "".join(traceback.format_exception_only(error)).strip()[:2000]


def _run_program(code: Any) -> NoReturn:
    """Run as `python main.py` would, down to exit status, traceback and exit handlers."""
    import atexit
    import site
    import threading
    import types

    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=code.co_filename, __builtins__=__builtins__, __annotations__={})
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
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream and not stream.closed:
                stream.flush()
        except Exception:
            status = status or 120  # as CPython does
    os._exit(status)


def _exit_status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _mount(kind: bytes, target: bytes, options: bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(kind, target, kind, MS_NOSUID_NODEV, options):
        error = ctypes.get_errno()
        raise OSError(error, f"cannot mount {target.decode()}: {os.strerror(error)}")


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def main() -> None:
    """Serve on the descriptors that were stdin and stdout."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    serve(requests, replies)


if __name__ == "__main__":
    main()
