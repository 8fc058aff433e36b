"""What judging runs on: worker processes, the sandbox and the verdict cache of this process.

Settings come from `configure`, else from the environment: REWARDS_SANDBOX (auto, docker,
bubblewrap, process), REWARDS_WORKERS and REWARDS_CACHE (entries; 0 turns it off).
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from rewards.errors import ConfigurationError

if TYPE_CHECKING:
    from rewards.score import Score
    from rewards.workers import WorkerPool
    from sandbox import Sandbox

SANDBOXES = ("auto", "docker", "bubblewrap", "process")


class Closable(Protocol):
    """What can be kept by the machinery."""

    def close(self) -> None:
        """Let go of processes and connections."""


T = TypeVar("T", bound=Closable)


@dataclass(frozen=True)
class Settings:
    """How judging is done; None means "not said"."""

    sandbox: str | Sandbox | None = None
    workers: int | None = None
    cache: int | None = None
    lean: str | None = None


class Machinery:
    """Lazily started, shared by all threads of one process, closed at its end."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.num_workers = settings.workers or _env_int("REWARDS_WORKERS") or usable_cores()
        size = settings.cache if settings.cache is not None else _env_int("REWARDS_CACHE")
        self.cache = ScoreCache(4096 if size is None else size)
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._workers: WorkerPool | None = None
        self._sandbox: Sandbox | None = None
        self._kept: dict[str, Any] = {}
        self._given = settings.sandbox if not isinstance(settings.sandbox, str | None) else None

    def workers(self) -> WorkerPool:
        """Return the pool of killable workers."""
        from rewards.workers import WorkerPool

        with self._lock:
            if self._workers is None:
                self._workers = WorkerPool(self.num_workers)
            return self._workers

    def sandbox(self) -> Sandbox:
        """Return the sandbox, opened at first use.

        Raises:
            sandbox.SandboxError: If none can be started here; the next call tries again.
        """
        import sandbox

        with self._lock:
            if self._sandbox is None:
                wish = self.settings.sandbox or os.environ.get("REWARDS_SANDBOX") or "auto"
                if isinstance(wish, str):
                    wish = sandbox.open_sandbox(_known_sandbox(wish), slots=self.num_workers)
                self._sandbox = wish
            return self._sandbox

    def open_sandbox(self, *, read_only: Sequence[str]) -> Sandbox:
        """Open one more sandbox of the chosen kind, in which these paths can be read.

        "auto" is bubblewrap where that works: the paths are this machine's, and an engine's machine
        may be another.

        Raises:
            sandbox.SandboxError: If none can be started here.
        """
        import sandbox

        given, wish = self._given, self.settings.sandbox or os.environ.get("REWARDS_SANDBOX")
        name = given.name if given else _known_sandbox(str(wish or "auto"))
        for kind in ("bubblewrap", "docker") if name == "auto" else (name,):
            try:
                return sandbox.open_sandbox(kind, slots=self.num_workers, read_only=read_only)
            except sandbox.SandboxError as error:
                trouble = error
        raise trouble

    def keep(self, name: str, make: Callable[[], T]) -> T:
        """Return what a verifier keeps open here under this name; it is closed with all else."""
        with self._lock:
            if name not in self._kept:
                self._kept[name] = make()
            kept: T = self._kept[name]
            return kept

    def close(self) -> None:
        """End every process that was started here."""
        with self._lock:
            workers, self._workers = self._workers, None
            opened, self._sandbox = self._sandbox, None
            kept, self._kept = self._kept, {}
        for one in kept.values():
            one.close()
        if workers:
            workers.close()
        if opened and opened is not self._given:  # who opened it closes it
            opened.close()


class ScoreCache:
    """The last verdicts by (completion, spec) key. Thread-safe; size 0 keeps none."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._items: OrderedDict[object, Score] = OrderedDict()

    def get(self, key: object) -> Score | None:
        """Return the verdict, and remember that it was wanted."""
        with self._lock:
            if (score := self._items.get(key)) is not None:
                self._items.move_to_end(key)
            return score

    def accepts(self, score: Score) -> bool:
        """Whether a verdict says nothing of the machine or its load."""
        return score.verdict not in ("unjudged", "timeout")

    def put(self, key: object, score: Score) -> None:
        """Keep a verdict, if it is one to keep."""
        if not self.accepts(score):
            return
        with self._lock:
            self._items[key] = score
            while len(self._items) > self.size:
                self._items.popitem(last=False)


_lock = threading.Lock()
_current: Machinery | None = None


def configure(
    *,
    sandbox: str | Sandbox | None = None,
    workers: int | None = None,
    cache: int | None = None,
    lean: str | None = None,
) -> None:
    """Choose what judging runs on, from now on; what is not given is left as it was.

    Args:
        sandbox: "auto" (Docker where an engine and our image are there, else bubblewrap),
            "docker", "bubblewrap", "process" (no security boundary; never chosen unless named),
            or an open `sandbox.Sandbox`.
        workers: How many completions are judged at once; the usable cores by default.
        cache: How many verdicts are kept in memory; 0 keeps none.
        lean: A Lake project whose packages are built, or the `lean` executable; REWARDS_LEAN or the
            `lean` of the PATH by default. docs/lean.md names the other settings.

    Raises:
        ConfigurationError: If a value makes no sense.
    """
    global _current
    if isinstance(sandbox, str):
        _known_sandbox(sandbox)
    for name, number, least in (("workers", workers, 1), ("cache", cache, 0)):
        if number is not None and number < least:
            raise ConfigurationError(f"{name} must be at least {least}, not {number}")
    given: dict[str, Any] = {"sandbox": sandbox, "workers": workers, "cache": cache, "lean": lean}
    with _lock:
        before = _current.settings if _current else Settings()
        if _current and _current.pid == os.getpid():
            _current.close()
        _current = Machinery(replace(before, **{k: v for k, v in given.items() if v is not None}))


def machinery() -> Machinery:
    """Return this process's machinery; a forked child gets its own, with the same settings."""
    global _current
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = Machinery(_current.settings if _current else Settings())
        return _current


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0))


def _env_int(name: str) -> int | None:
    text = os.environ.get(name, "")
    if text and not text.isdecimal():
        raise ConfigurationError(f"{name} must be a number, not {text!r}")
    return int(text) if text else None


def _known_sandbox(name: str) -> str:
    if name not in SANDBOXES:
        raise ConfigurationError(f"no sandbox {name!r}; known: {', '.join(SANDBOXES)}")
    return name


@atexit.register
def _close() -> None:
    if _current and _current.pid == os.getpid():
        _current.close()
