"""Jobs go in, facts come out; nothing here decides what is right or wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self

STARVED_SHARE = 0.5
"""An overrun of wall time is the machine's fault if the job waited this much of it for a core: one
that would have run for all of its wall time has at most a third of it in its CPU limit."""

LimitHit = Literal["cpu", "wall", "memory", "output", "processes"]


class SandboxError(RuntimeError):
    """No sandbox can be started here; the message says what to do."""


@dataclass(frozen=True)
class Limits:
    """What one job may use. `Limits(cpu_s=2)`, `Limits(wall_s=10)`, `Limits(memory_mb=1024)`.

    CPU time decides; wall time is a loose backstop against sleeping, three times the CPU limit plus
    one second unless given. Given alone, `wall_s` limits CPU time too.

    Raises:
        ValueError: If a limit is not a positive, finite number.
    """

    cpu_s: float | None = None
    """CPU seconds of the whole process tree; 5 when neither time is given."""
    wall_s: float | None = None
    memory_mb: int = 512
    """Resident memory of the whole tree."""
    output_kb: int = 10_240
    """Bytes on each of stdout, stderr and the result channel; the job is killed at the cap."""
    processes: int = 64
    """Processes and threads alive at once."""
    disk_mb: int = 64
    """Size of the job's private /tmp, and of any file in it."""
    reserved_mb: int = 0
    """What it may map and never touch, besides twice its memory: stacks and heaps to be."""

    def __post_init__(self) -> None:
        cpu_s = self.cpu_s if self.cpu_s is not None else self.wall_s
        object.__setattr__(self, "cpu_s", 5.0 if cpu_s is None else cpu_s)
        if self.wall_s is None:
            object.__setattr__(self, "wall_s", 3 * self.cpu_seconds + 1)
        for name, value in vars(self).items():
            if not (value > 0 or name == "reserved_mb") or not math.isfinite(value):
                raise ValueError(f"limit {name} must be a positive number, not {value!r}")

    @property
    def cpu_seconds(self) -> float:
        """The CPU limit, which is always set after construction."""
        assert self.cpu_s is not None
        return self.cpu_s

    @property
    def wall_seconds(self) -> float:
        """The wall limit, which is always set after construction."""
        assert self.wall_s is not None
        return self.wall_s


@dataclass(frozen=True)
class Job:
    """A Python program to run in a fresh process and a clean directory."""

    program: bytes
    """Source text, run as `__main__` from the file main.py."""
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Plain file name -> content, written beside main.py before it starts."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Trusted modules that the program imports: name -> source, each after those it imports. An
    agent keeps them imported, so that later jobs have them for nothing; a name means one source."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Outcome:
    """What happened to a job, as seen from outside of it."""

    exit_code: int | None = None
    """None if a signal ended it."""
    signal: int | None = None
    limit: LimitHit | None = None
    """The limit that ended it, if one did."""
    compile_error: str | None = None
    """Why the source does not compile; found before any of it ran."""
    stdout: bytes = b""
    stderr: bytes = b""
    result: bytes = b""
    """What it wrote to file descriptor 3: a claim of the program, like all its output."""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_mb: float = 0.0
    starved_s: float = 0.0
    """Of an overrun of the wall limit: seconds that a process of it was ready to run and got no
    core, less what the job itself kept the cores busy."""
    dismissed: bool = False
    """Whether it was ended because the job it talked to had ended."""
    infra_error: str | None = None
    """The machine's failure: the other fields then say nothing about the program."""

    @property
    def starved(self) -> bool:
        """Whether it overran its wall time because it waited for a core: the machine's failure."""
        return self.limit == "wall" and self.starved_s > STARVED_SHARE * self.wall_s

    @property
    def ok(self) -> bool:
        """Whether the program ran to its end and exited with 0."""
        return self.exit_code == 0 and self.limit is None and self.infra_error is None


class Session(Protocol):
    """A job that stays, and that its opener talks to. For one thread at a time."""

    def send(self, data: bytes) -> None:
        """Have the job hear this; what it has no ears for any more is lost."""
        ...

    def receive(self, deadline: float) -> bytes:
        """Return what the job has said and nobody has received yet; wait for it if need be.

        Raises:
            TimeoutError: If it has said nothing by the deadline (of `time.monotonic()`).
            EOFError: If it will never say anything again.
        """
        ...

    def close(self) -> Outcome:
        """End the job and all its children at once; return the facts about it."""
        ...


class Sandbox(Protocol):
    """A place to run hostile programs. Thread-safe: up to `slots` jobs run at once, others wait."""

    name: str
    slots: int
    packages: str | None
    """The folder with pytest, as a job sees it; None if there is none."""

    def run(self, job: Job, *, trusted: bool = False) -> Outcome:
        """Run one job to its end or its limits; never raises for what the program does.

        Args:
            job: The program.
            trusted: Whether it is our own or the user's code. It then runs in an agent that never
                runs any other, and that has pytest imported already.
        """
        ...

    def run_pair(self, tests: Job, program: Job) -> tuple[Outcome, Outcome]:
        """Run trusted tests and a program at once, in containers of their own.

        Descriptor 4 of each is a stream socket whose other end is descriptor 4 of the other. When
        one has ended, or has closed it, the other reads the end of the stream; when the tests have
        ended, the program is ended too (`Outcome.dismissed`). What a job may say is limited to
        four times its `output_kb`.
        """
        ...

    def open(self, job: Job) -> Session:
        """Start a job that stays until it ends, overruns its limits, or the session is closed.

        Its descriptor 4 is a stream socket whose other end is the session; it may say four times
        its `output_kb` in its life. It has a container of its own, is not counted among `slots`
        and never waits for one: whoever opens sessions bounds their number.

        Raises:
            SandboxError: If no container can be started.
        """
        ...

    def close(self) -> None:
        """End every process of this sandbox."""
        ...

    def __enter__(self) -> Self:
        """Return the sandbox itself."""
        ...

    def __exit__(self, *exc: object) -> None:
        """Close the sandbox."""
        ...
