"""What judging Lean runs on: found and started at first use, shared by all threads, closed at exit."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from rewards.machinery import Machinery, machinery
from rewards.score import Score
from rewards.verifiers.lean.backends import Backend, Compiled
from rewards.verifiers.lean.backends.process import ProcessBackend
from rewards.verifiers.lean.comparator import Comparator
from rewards.verifiers.lean.comparer import CannotCompare, Comparer, NoTheorem
from rewards.verifiers.lean.comparing import make_comparer
from rewards.verifiers.lean.flights import Flights
from rewards.verifiers.lean.replay import Replayer
from rewards.verifiers.lean.setup import LeanMissing, LeanSetup, Toolchain, find_toolchain
from sandbox import Sandbox, SandboxError

if TYPE_CHECKING:
    from rewards.verifiers.lean.assemble import Source
    from rewards.verifiers.lean.spec import LeanSpec, Level

TARGET_TIMEOUT_S = 600.0
"""Of a target, whose imports nobody has read yet since the machine started."""
TRIES, PAUSE_S = 3, 0.5
"""How often a machine's failure is tried in all, and how long it waits before the second try."""
KEPT_TARGETS, KEPT_VERDICTS = 4096, 16384


@dataclass(frozen=True)
class Target:
    """A theorem without a proof, compiled."""

    olean: bytes = b""
    complaint: str = ""
    """Why Lean does not take it: the user's mistake."""
    trouble: str = ""
    """The machine's failure."""


class Route(NamedTuple):
    """Who judges a spec's submissions, and how strictly."""

    filter: Backend | None
    """Who is asked first and can only reject."""
    backend: Backend
    level: Level


class LeanMachine:
    """The toolchain, its sandbox, the back ends and what they have found out."""

    def __init__(self, shared: Machinery) -> None:
        self._shared = shared
        self._lock = threading.RLock()
        self._missing: LeanMissing | None = None
        self.setup = LeanSetup.from_environment(lean=shared.settings.lean)
        self.targets = Flights[Target](KEPT_TARGETS, lambda target: not target.trouble)
        kept = min(KEPT_VERDICTS, shared.cache.size)
        self.verdicts = Flights[Score](kept, shared.cache.accepts)

    @cached_property
    def _toolchain(self) -> Toolchain:
        return find_toolchain(self.setup)

    @cached_property
    def sandbox(self) -> Sandbox:
        """The sandbox in which the toolchain can be read."""
        return self._shared.open_sandbox(read_only=self._toolchain.readable)

    @cached_property
    def process(self) -> ProcessBackend:
        """The back end that compiles with the local toolchain."""
        return ProcessBackend(self.sandbox, self._toolchain, self.setup.memory_mb)

    @cached_property
    def comparer(self) -> Comparer:
        """What compares compiled files."""
        return make_comparer(self.sandbox, self._toolchain, self.setup.memory_mb)

    @cached_property
    def replayer(self) -> Replayer:
        """The replaying programs that are here."""
        setup = self.setup
        return Replayer(self.sandbox, self._toolchain, setup.safe_verify, setup.memory_mb)

    @cached_property
    def comparator(self) -> Comparator:
        """The comparator, if it is here."""
        setup = self.setup
        return Comparator(self.sandbox, self._toolchain, setup.comparator, setup.memory_mb)

    @property
    def has_process(self) -> bool:
        """Whether a local toolchain can compile files."""
        try:
            return bool(self._local())
        except (LeanMissing, SandboxError):
            return False

    def _local(self) -> ProcessBackend:
        """Return the process back end.

        Raises:
            LeanMissing: If there is no toolchain.
            SandboxError: If there is no sandbox for it.
        """
        with self._lock:
            if self._missing:
                raise self._missing
            try:
                return self.process
            except LeanMissing as error:
                self._missing = error
                raise

    def route(self, spec: LeanSpec) -> Route:
        """Say who judges.

        Raises:
            LeanMissing: If this machine lacks what the spec asks for.
            SandboxError: If there is no sandbox.
        """
        local = self._local()
        return Route(None, local, spec.level or self._strongest())

    def _strongest(self) -> Level:
        if self.comparator.present:
            return "comparator"
        return "replay" if self.replayer.present else "axioms"

    def target(self, spec: LeanSpec) -> Target:
        """Compile a spec's target, once for all that are alike."""
        source = spec.target
        key = (source.text, spec.theorem)
        return self.targets.get(key, lambda: self._make_target(source, spec.theorem))

    def _make_target(self, source: Source, name: str) -> Target:
        compiled = self.compile(self._local(), source, TARGET_TIMEOUT_S)
        if compiled.trouble:
            return Target(trouble=compiled.trouble)
        if compiled.limit:
            return Target(complaint=f"its statement takes Lean more than the {compiled.limit} limit")
        if compiled.errors or compiled.failed or compiled.olean is None:
            error = compiled.errors[0] if compiled.errors else None
            where = f"line {error.line}: {error.text:.300}" if error else compiled.crash
            return Target(complaint=f"its statement does not compile: {where}")
        try:  # It has to be there under this name, as a theorem, and be comparable at all.
            self.comparer.compare(compiled.olean, compiled.olean, name, ["sorryAx"])
        except NoTheorem:
            return Target(complaint=f"its statement declares no theorem of the name {name}")
        except CannotCompare as error:
            return Target(trouble=str(error))
        return Target(compiled.olean)

    def find_complaint(self, spec: LeanSpec) -> str:
        """Return what Lean has against a spec; empty where there is no Lean to ask."""
        try:
            return self.target(spec).complaint
        except (LeanMissing, SandboxError):
            return ""

    def compile(self, backend: Backend, source: Source, timeout_s: float) -> Compiled:
        """Compile a file; try again what the machine failed to do."""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE_S * attempt)
            compiled = backend.compile(source, timeout_s)
            if not compiled.trouble:
                break
        return compiled

    def close(self) -> None:
        """End the back ends and their sandbox, as far as they were started."""
        for name in ("process", "sandbox"):
            if name in vars(self):
                vars(self)[name].close()


def lean_machine() -> LeanMachine:
    """Return this process's machine."""
    shared = machinery()
    return shared.keep("lean", lambda: LeanMachine(shared))
