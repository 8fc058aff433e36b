"""The spec of Lean tasks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rewards.errors import SpecError
from rewards.spec import Spec
from rewards.verifiers.lean.assemble import target_source
from rewards.verifiers.lean.levels import STANDARD_AXIOMS, Level
from rewards.verifiers.lean.names import name_parts, statement_name
from rewards.verifiers.lean.rules import Profile

BackendName = Literal["auto", "process", "repl", "kimina", "lean-dojo"]


class LeanSpec(Spec):
    r"""A theorem that must be proved.

    Give the `statement`, e.g. "theorem add_zero' (n : Nat) : n + 0 = n", and what must stand before
    it; or the `file` of a traced repository and the theorem's `name`.
    """

    type: Literal["lean"] = "lean"
    name: str | None = None
    """The theorem's full name; by default the one in the statement."""
    statement: str = ""
    """The theorem without its proof; ":=", ":= by" or ":= by sorry" at its end do no harm."""
    header: str = ""
    """Imports, options and opened namespaces. No submission can change them."""
    preamble: str = ""
    """Definitions that the statement speaks of."""
    file: str | None = None
    """For the back end lean-dojo: the theorem's file, relative to its repository."""
    level: Level | None = None
    """What a proof must pass; by default the most that this machine has, at least "axioms"."""
    profile: Profile = "strict"
    """Which words a submission must not hold: all that could cheat, all that runs code while Lean
    reads the file, or only what would break out of its place."""
    allowed_axioms: tuple[str, ...] = STANDARD_AXIOMS
    """The axioms that a proof may rest on."""
    timeout_s: float = Field(60.0, gt=0, le=3600)
    """Seconds for Lean to read a submission: of CPU time, or of waiting for anything but a core."""
    backend: BackendName = "auto"
    """How Lean is reached."""
    partial: float = Field(0.0, ge=0, lt=1)
    """What a proof earns whose structure stands while a `sorry` is left inside of it."""

    @property
    def part_name(self) -> str:
        """The type: `name` is the theorem's."""
        return self.type

    @property
    def theorem(self) -> str:
        """The name of the theorem."""
        return self.name or statement_name(self.statement)

    def check(self) -> None:
        """Refuse what contradicts itself; where there is a Lean, what it does not understand.

        Raises:
            SpecError: With what is wrong and what to do.
        """
        self._check_theorem()
        if self.backend in ("repl", "kimina") and self.level != "messages":
            self._check_messages_only()
        if self.partial and self.level == "messages":
            raise SpecError(
                "lean spec: 'partial' needs a look at the compiled proof, which level 'messages'"
                " does not take: ask for level 'axioms' or leave it out"
            )
        from rewards.verifiers.lean.machine import lean_machine

        if complaint := lean_machine().find_complaint(self):
            raise SpecError(f"lean spec: {complaint}")

    def _check_theorem(self) -> None:
        if self.file is not None:
            if self.backend not in ("auto", "lean-dojo") or self.statement or not self.name:
                raise SpecError(
                    "lean spec: 'file' names a theorem of a traced repository: give its 'name', no"
                    " 'statement', and the back end 'lean-dojo' or 'auto'"
                )
            return
        if self.backend == "lean-dojo":
            raise SpecError("lean spec: the back end 'lean-dojo' takes 'file' and 'name'")
        if not self.statement.strip():
            raise SpecError("lean spec: 'statement' is missing, e.g. \"theorem t : 1 + 1 = 2\"")
        try:
            _ = target_source(self.header, self.preamble, self.statement), name_parts(self.theorem)
        except ValueError as error:
            raise SpecError(f"lean spec: {error}") from None

    def _check_messages_only(self) -> None:
        from rewards.verifiers.lean.machine import lean_machine

        if lean_machine().has_process:
            return  # it refutes quickly there, and the process back end confirms
        raise SpecError(
            f"lean spec: the back end {self.backend!r} hands over messages only, and messages can"
            " be forged: a proof counts once a local `lean` has compiled it as well. Install a"
            " toolchain (docs/lean.md), or ask for level 'messages' by name and know what it is"
        )
