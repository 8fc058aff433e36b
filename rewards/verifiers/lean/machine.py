"""What judging Lean runs on: started at first use, shared by all threads, closed at exit."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from rewards.machinery import Machinery, machinery
from rewards.score import Score
from rewards.verifiers.lean.assemble import Source, target_source
from rewards.verifiers.lean.backends import Backend, Compiled
from rewards.verifiers.lean.backends.kimina import KiminaBackend
from rewards.verifiers.lean.backends.lean_dojo import find_theorem
from rewards.verifiers.lean.comparer import CannotCompare, NoTheorem
from rewards.verifiers.lean.flights import Flights
from rewards.verifiers.lean.setup import LeanMissing, LeanSetup
from rewards.verifiers.lean.workshop import Workshop
from sandbox import SandboxError

if TYPE_CHECKING:
    from rewards.verifiers.lean.levels import Level
    from rewards.verifiers.lean.spec import LeanSpec

TARGET_TIMEOUT_S = 600.0
"""Of a target, whose imports nobody has read yet since the machine started."""
TRIES, PAUSE_S = 3, 0.5
"""How often a machine's failure is tried in all, and how long it waits before the second try."""
_LEAN = re.compile(r"\d+\.\d+\.\d+(?:-rc\d+)?")
KEPT_TARGETS, KEPT_VERDICTS = 4096, 16384


@dataclass(frozen=True)
class Theorem:
    """What is to be proved, and what stands before it."""

    header: str
    preamble: str
    statement: str
    name: str
    project: str | None = None
    """The Lake project that it is of, if that is not the setup's."""

    @property
    def target(self) -> Source:
        """The file with the statement and no proof."""
        return target_source(self.header, self.preamble, self.statement)


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
    workshop: Workshop | None
    """The toolchain of every level but "messages"."""


class LeanMachine:
    """The toolchains, the back ends and what they have found out."""

    def __init__(self, shared: Machinery) -> None:
        self._shared = shared
        self._lock = threading.RLock()
        self._missing: LeanMissing | None = None
        self._workshops: dict[str | None, Workshop] = {}
        self._kimina: Backend | None = None
        self.setup = LeanSetup.from_environment(lean=shared.settings.lean)
        self.targets = Flights[Target](KEPT_TARGETS, lambda target: not target.trouble)
        kept = min(KEPT_VERDICTS, shared.cache.size)
        self.verdicts = Flights[Score](kept, shared.cache.accepts)

    def workshop(self, project: str | None = None) -> Workshop:
        """Return the toolchain of the setup, or of another project.

        Raises:
            LeanMissing: If there is none.
            sandbox.SandboxError: If there is no sandbox for it.
        """
        with self._lock:
            if project not in self._workshops:
                setup = replace(self.setup, lean=project) if project else self.setup
                if self._missing and not project:
                    raise self._missing
                try:
                    self._workshops[project] = Workshop(self._shared, setup)
                except LeanMissing as error:
                    self._missing = self._missing if project else error
                    raise
            return self._workshops[project]

    @property
    def has_process(self) -> bool:
        """Whether a local toolchain can compile files."""
        try:
            return bool(self.workshop())
        except (LeanMissing, SandboxError):
            return False

    def theorem(self, spec: LeanSpec) -> Theorem:
        """Return what a spec asks for.

        Raises:
            RewardsError: If it names a theorem of a repository that is not there.
            LeanMissing: If the repository was not traced.
        """
        if spec.file is None:
            return Theorem(spec.header, spec.preamble, spec.statement, spec.theorem)
        found = find_theorem(self.setup, spec.file, spec.theorem)
        return Theorem(found.header, found.preamble, found.statement, spec.theorem, found.project)

    def route(self, spec: LeanSpec, theorem: Theorem) -> Route:
        """Say who judges.

        Raises:
            LeanMissing: If this machine lacks what the spec asks for.
            sandbox.SandboxError: If there is no sandbox.
        """
        quick = self._quick(spec)
        if quick and spec.level == "messages":
            return Route(None, quick, "messages", None)
        local = self.workshop(theorem.project)
        if quick and not _may_refute(quick, local, spec):
            quick = None
        return Route(quick, local.process, local.choose_level(spec.level), local)

    def _quick(self, spec: LeanSpec) -> Backend | None:
        """Return the back end for messages that a spec names, or the REPLs if they are there.

        Raises:
            LeanMissing: If the one it names is not.
        """
        if spec.backend == "repl" or (spec.backend == "auto" and self.setup.repl):
            if repl := self.workshop().repl:
                return repl
            raise LeanMissing("the back end 'repl' needs REWARDS_LEAN_REPL, the executable")
        if spec.backend == "kimina":
            if not self.setup.kimina_url:
                raise LeanMissing("the back end 'kimina' needs REWARDS_KIMINA_URL, the server's")
            if self._kimina is None:  # it asks the server for its version
                self._kimina = KiminaBackend(self.setup.kimina_url, self.setup.kimina_key)
            return self._kimina
        return None

    def target(self, theorem: Theorem, workshop: Workshop) -> Target:
        """Compile a theorem's target, once for all that are alike."""
        key = (theorem, workshop)
        return self.targets.get(key, lambda: self._make_target(theorem, workshop))

    def _make_target(self, theorem: Theorem, workshop: Workshop) -> Target:
        compiled = self.compile(workshop.process, theorem.target, TARGET_TIMEOUT_S)
        if compiled.trouble:
            return Target(trouble=compiled.trouble)
        if compiled.limit:
            return Target(complaint=f"its statement alone is over the {compiled.limit} limit")
        if compiled.errors or compiled.failed or compiled.olean is None:
            error = compiled.errors[0] if compiled.errors else None
            where = f"line {error.line}: {error.text:.300}" if error else compiled.crash
            return Target(complaint=f"its statement does not compile: {where}")
        try:  # It has to be there under this name, as a theorem, and be comparable at all.
            olean = compiled.olean
            workshop.comparer.compare(olean, olean, theorem.name, ["sorryAx"])
        except NoTheorem:
            return Target(complaint=f"its statement declares no theorem of the name {theorem.name}")
        except CannotCompare as error:
            return Target(trouble=str(error))
        return Target(compiled.olean)

    def find_complaint(self, spec: LeanSpec) -> str:
        """Return what Lean has against a spec; empty where there is no Lean to ask.

        Raises:
            RewardsError: If it names a theorem of a repository that is not there.
        """
        try:
            theorem = self.theorem(spec)
            route = self.route(spec, theorem)
            if route.workshop is None:
                return ""
            return self.target(theorem, route.workshop).complaint
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

    def compile_submission(
        self, backend: Backend, source: Source, theorem: Theorem, timeout_s: float
    ) -> Compiled:
        """Compile a submission; if it crashes Lean each time, and its target does not, it failed.

        Else whoever finds a crash could choose which of its answers are judged.
        """
        compiled = self.compile(backend, source, timeout_s)
        if compiled.died:
            control = backend.compile(theorem.target, TARGET_TIMEOUT_S)
            if not (control.trouble or control.limit):
                return replace(compiled, trouble="", crash=compiled.trouble)
        return compiled

    def close(self) -> None:
        """End all that was started."""
        with self._lock:
            opened, self._workshops = self._workshops, {}
        for workshop in opened.values():
            workshop.close()


def _may_refute(quick: Backend, local: Workshop, spec: LeanSpec) -> bool:
    """Whether an error of a quick back end is one of the local Lean as well.

    It must be of the same version, and of this project; and where submissions run code, one of them
    could spoil the answers to those that share its process.
    """
    ours, theirs = (_LEAN.search(one.version) for one in (local.process, quick))
    alike = ours is not None and theirs is not None and ours[0] == theirs[0]
    return alike and spec.file is None and spec.profile == "strict"


def lean_machine() -> LeanMachine:
    """Return this process's machine."""
    shared = machinery()
    return shared.keep("lean", lambda: LeanMachine(shared))
