"""Killable workers: processes for verifiers that may hang or blow up.

A worker is `python -m rewards.workers`, reached over a socket. It is started by `subprocess`, so it
never re-imports `__main__` and works from a thread, a Ray actor, a daemonic process, `python -`
and an unguarded script. (A verifier that lives in `__main__` travels by value, with cloudpickle:
dill, which multiprocess builds on, cannot pickle a pydantic class defined there.)

A job that runs over its limit is ended by killing its process; a spare that was started beforehand
takes the place. No signals, no alarms. Limits count from the moment a worker takes the job: CPU
seconds decide (watched from outside, even while C code holds the interpreter lock), wall time is a
loose backstop. A worker that has grown is replaced, so that memory comes back.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import resource
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewards.completion import Completion
    from rewards.registry import Verifier
    from rewards.score import Score
    from rewards.spec import Spec

START_TIMEOUT_S = 60.0
MEMORY_MB = 4096
GROWN_MB = 512
"""Resident memory from which a worker is replaced after its job."""
WATCH_S = 0.05
"""Between two looks at the CPU time of a job that has not answered."""


class WorkerError(RuntimeError):
    """The worker could not be started, was lost, or its function raised: the machine's failure."""


class WorkerTimeout(WorkerError):
    """The job ran over its limit and its process was killed."""


class Worker:
    """One process that judges one job at a time."""

    def __init__(self) -> None:
        from multiprocessing.connection import Connection

        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "rewards.workers", str(theirs.fileno())],
                # A pipe that nobody writes to: it closes when this process dies, however it dies.
                stdin=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": _python_path()},
                start_new_session=True,
            )
        self._connection = Connection(ours.detach())
        self._loaded: set[Verifier | str] = set()
        self._ready = False

    def request(self, *message: Any, cpu_s: float, wall_s: float | None = None) -> Any:
        """Send one message and wait for its answer.

        Args:
            message: A kind and its arguments.
            cpu_s: CPU seconds that it may take.
            wall_s: Seconds of wall time, 3 * cpu_s + 1 by default.

        Raises:
            WorkerTimeout: If no answer came in time; the process has been killed.
            WorkerError: If the process died, or its function raised.
        """
        self._wait_ready()
        try:
            self._connection.send(message)
            self._await(cpu_s, 3 * cpu_s + 1 if wall_s is None else wall_s)
            ok, result = self._connection.recv()
        except (EOFError, OSError):
            raise self._post_mortem() from None
        if not ok:
            raise WorkerError(result)
        return result

    def _await(self, cpu_s: float, wall_s: float) -> None:
        started, spent = time.monotonic(), self._usage()[0]
        while not self._connection.poll(WATCH_S):
            if self._usage()[0] - spent > cpu_s:
                self.kill()
                raise WorkerTimeout(f"over its limit of {cpu_s:g} s of CPU time")
            if time.monotonic() - started > wall_s:
                self.kill()
                raise WorkerTimeout(f"no answer within {wall_s:g} s of wall time")

    def _usage(self) -> tuple[float, float]:
        """Return the CPU seconds and the resident memory in MB of the process so far."""
        try:
            with open(f"/proc/{self._process.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it has just ended; the connection will say so
            return 0.0, 0.0
        ticks, pages = int(fields[11]) + int(fields[12]), int(fields[21])
        return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def ensure_loaded(self, what: Verifier | str) -> None:
        """Import a verifier or a module there, outside any job's time."""
        if what not in self._loaded:
            reference = ("module", (what, "")) if isinstance(what, str) else _reference(what)
            self.request("load", reference, cpu_s=START_TIMEOUT_S, wall_s=START_TIMEOUT_S)
            self._loaded.add(what)

    @property
    def grown(self) -> bool:
        """Whether the process holds so much memory that it should be replaced."""
        return self._usage()[1] > GROWN_MB

    @property
    def alive(self) -> bool:
        """Whether the process can take another job."""
        return self._process.poll() is None

    def end(self) -> None:
        """End the process and everything in its session; from any thread, even amid a request."""
        if self._process.poll() is None:  # once reaped, the number may be somebody else's
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)
            self._process.wait()

    def kill(self) -> None:
        """End the process and let go of what connects us to it."""
        self.end()
        self._connection.close()
        if self._process.stdin:
            self._process.stdin.close()

    def _wait_ready(self) -> None:
        if self._ready:
            return
        try:
            if not self._connection.poll(START_TIMEOUT_S):
                self.kill()
                raise WorkerError(f"a worker did not start within {START_TIMEOUT_S:g} s")
            self._connection.recv()
        except (EOFError, OSError):
            raise self._post_mortem() from None
        self._ready = True

    def _post_mortem(self) -> WorkerError:
        self.kill()
        code = self._process.returncode
        return WorkerError(f"the worker process died (exit status {code})")


class WorkerPool:
    """Up to `size` workers, started on demand, with a warm spare behind them. Thread-safe."""

    def __init__(self, size: int) -> None:
        self._slots = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False

    def judge(self, verifier: Verifier, completion: Completion, spec: Spec) -> Score:
        """Run a verifier's function in a worker, under the verifier's limit.

        Raises:
            WorkerTimeout: If it ran over its limit.
            WorkerError: If it raised or its process died.
        """
        job = ("judge", verifier.name, completion, spec.model_dump_json())
        result: Score = self._run(job, verifier.timeout_s, verifier)
        return result

    def judge_many(
        self, verifier: Verifier, completions: Sequence[Completion], specs: Sequence[Spec]
    ) -> list[tuple[Score | None, float]]:
        """Run a verifier over many completions in one worker, one after the other.

        Returns:
            A score for each, None where the verifier raised, and the seconds that it took.

        Raises:
            WorkerTimeout: If they ran over the verifier's limit, times their number.
            WorkerError: If the process died.
        """
        # the specs themselves, with whatever they have worked out already
        job = ("judge_many", verifier.name, list(completions), list(specs))
        result: list[tuple[Score | None, float]]
        result = self._run(job, verifier.timeout_s * len(specs), verifier)
        return result

    def call(self, function: str, *args: Any, timeout_s: float) -> Any:
        """Call "module:function" in a worker; arguments and result are pickled.

        Importing the module does not count.

        Raises:
            WorkerTimeout: If it ran over its limit.
            WorkerError: If it raised or its process died.
        """
        return self._run(("call", function, args), timeout_s, function.partition(":")[0])

    def close(self) -> None:
        """Kill all workers; whoever waits for a busy one gets a WorkerError."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for worker in idle:
            worker.kill()
        for worker in busy:
            worker.end()

    def _run(self, job: tuple[Any, ...], cpu_s: float, needs: Verifier | str) -> Any:
        with self._slots:
            worker = self._take()
            try:
                worker.ensure_loaded(needs)
                return worker.request(*job, cpu_s=cpu_s)
            except WorkerTimeout:
                with self._lock:  # start the successor now; warm workers are taken before it
                    if not self._closed:
                        self._idle.insert(0, Worker())
                raise
            finally:
                self._give_back(worker)

    def _take(self) -> Worker:
        with self._lock:
            if self._closed:
                raise WorkerError("the pool of workers was closed")
            worker = self._warm() or Worker()
            self._busy.add(worker)
            return worker

    def _warm(self) -> Worker | None:
        while self._idle:
            if (worker := self._idle.pop()).alive:
                return worker
            worker.kill()
        return None

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            if worker.alive and not worker.grown and not self._closed:
                self._idle.append(worker)
                return
        worker.kill()


def _python_path() -> str:
    """Give the child our import path: -P keeps its working directory out of it."""
    return os.pathsep.join(os.path.abspath(entry) for entry in sys.path)


def _reference(verifier: Verifier) -> tuple[str, Any]:
    """Say how a worker finds this verifier: by its file, by its module, or by value."""
    name = verifier.function.__module__
    if name.startswith("rewards_plugin_"):
        return "file", (sys.modules[name].__file__, verifier.name)
    if name not in ("__main__", "__mp_main__"):  # the latter in children of multiprocessing
        return "module", (name, verifier.name)
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[name])
    return "value", cloudpickle.dumps(verifier)


# ---- the other side -----------------------------------------------------------------------------


def main(descriptor: int) -> None:
    """Serve one parent until its socket closes."""
    from multiprocessing.connection import Connection

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MB << 20, MEMORY_MB << 20))
    threading.Thread(target=_die_with_parent, daemon=True).start()
    connection = Connection(descriptor)
    connection.send("ready")
    with contextlib.suppress(EOFError, OSError):
        while True:
            connection.send(_answer(*connection.recv()))


def _answer(kind: str, *args: Any) -> tuple[bool, Any]:
    try:
        return True, _KINDS[kind](*args)
    except Exception:  # the parent makes this an unjudged score, with the traceback as evidence
        return False, traceback.format_exc()


def _load(reference: tuple[str, Any]) -> None:
    from rewards import registry

    how, what = reference
    if how == "value":
        made = pickle.loads(what)
        registry._loaded[made.name] = made
        return
    place, name = what
    if how == "file":
        registry._module(place)
    else:
        importlib.import_module(place)
    if name:
        registry.get_verifier(name)


def _judge(name: str, completion: Completion, spec_json: str) -> Score:
    from rewards.registry import get_verifier
    from rewards.score import Score

    verifier = get_verifier(name)
    score = verifier(completion, verifier.spec.model_validate_json(spec_json))
    if not isinstance(score, Score):
        raise TypeError(f"verifier {name!r} returned {type(score).__name__}, not a Score")
    return score


def _judge_many(
    name: str, completions: Sequence[Completion], specs: Sequence[Spec]
) -> list[tuple[Score | None, float]]:
    from rewards.registry import get_verifier
    from rewards.score import Score

    verifier = get_verifier(name)
    results: list[tuple[Score | None, float]] = []
    for completion, spec in zip(completions, specs, strict=True):
        started = time.perf_counter()
        try:
            score = verifier(completion, spec)
        except Exception:  # the parent judges it again, alone, and shows the traceback
            score = None
        good = score if isinstance(score, Score) else None
        results.append((good, time.perf_counter() - started))
    return results


def _call(function: str, args: tuple[Any, ...]) -> Any:
    module, _, attribute = function.partition(":")
    return getattr(importlib.import_module(module), attribute)(*args)


_KINDS: dict[str, Callable[..., Any]] = {
    "load": _load,
    "judge": _judge,
    "judge_many": _judge_many,
    "call": _call,
}


def _die_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
