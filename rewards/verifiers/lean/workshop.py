"""One toolchain with the sandbox in which it can be read, and all that works on it."""

from __future__ import annotations

from functools import cached_property

from rewards.machinery import Machinery
from rewards.verifiers.lean.backends import Backend
from rewards.verifiers.lean.backends.process import ProcessBackend
from rewards.verifiers.lean.backends.repl import ReplBackend
from rewards.verifiers.lean.comparator import Comparator
from rewards.verifiers.lean.comparing import make_comparer
from rewards.verifiers.lean.levels import Level
from rewards.verifiers.lean.replay import Replayer
from rewards.verifiers.lean.setup import LeanMissing, LeanSetup, find_toolchain


class Workshop:
    """What one Lean is judged with.

    Raises:
        LeanMissing: If there is no Lean.
        sandbox.SandboxError: If there is no sandbox for it.
    """

    def __init__(self, shared: Machinery, setup: LeanSetup) -> None:
        self.setup = setup
        self.toolchain = find_toolchain(setup)
        self.sandbox = shared.open_sandbox(read_only=self.toolchain.readable)
        memory_mb = setup.memory_mb
        self.process = ProcessBackend(self.sandbox, self.toolchain, memory_mb)
        self.comparer = make_comparer(self.sandbox, self.toolchain, memory_mb)
        self.replayer = Replayer(self.sandbox, self.toolchain, setup.safe_verify, memory_mb)
        self.comparator = Comparator(self.sandbox, self.toolchain, setup.comparator, memory_mb)

    @cached_property
    def repl(self) -> Backend | None:
        """The pool of REPLs, if the setup has one."""
        if not self.setup.repl:
            return None
        return ReplBackend(self.sandbox, self.toolchain, self.setup.repl, self.setup.memory_mb)

    def choose_level(self, level: Level | None) -> Level:
        """Return the level that was asked for, or the strictest that is here.

        Raises:
            LeanMissing: If what it needs is not here.
        """
        if level is None:
            if self.comparator.present:
                return "comparator"
            return "replay" if self.replayer.present else "axioms"
        if level == "replay" and not self.replayer.present:
            raise LeanMissing("level 'replay' needs leanchecker (Lean 4.28 or newer) or SafeVerify")
        if level == "comparator" and not self.comparator.present:
            raise LeanMissing(
                "level 'comparator' needs REWARDS_COMPARATOR, and a Lake project in REWARDS_LEAN"
            )
        return level

    def close(self) -> None:
        """End all that was started."""
        if repl := vars(self).get("repl"):
            repl.close()
        self.sandbox.close()
