"""Have the kernel check a compiled proof again, in a process that never saw the submission run.

`leanchecker` is part of every toolchain since Lean 4.28 and replays what a module adds to its
imports. SafeVerify replays target and submission and compares them, independently of our comparer.
Neither can be run where this was written (they need Lean's own library): the calls follow
https://lean-lang.org/doc/reference/latest/ValidatingProofs/ and SafeVerify's README.
"""

from __future__ import annotations

from dataclasses import dataclass

from rewards.verifiers.lean.backends.process import MODULE
from rewards.verifiers.lean.commands import Finished, run_command
from rewards.verifiers.lean.messages import MACHINE
from rewards.verifiers.lean.setup import Toolchain
from sandbox import Sandbox

TIMEOUT_S = 600.0
"""More than elaboration took in any case seen; the kernel's part of it is done once more."""


@dataclass(frozen=True)
class Ruling:
    """What a second judge says."""

    accepted: bool
    reason: str = ""
    trouble: str = ""
    """The machine's failure; the rest then means nothing."""


class Replayer:
    """Asks each of the replaying programs that are here; all of them must accept."""

    def __init__(
        self, sandbox: Sandbox, toolchain: Toolchain, safe_verify: str | None, memory_mb: int
    ) -> None:
        self.sandbox, self.toolchain, self.memory_mb = sandbox, toolchain, memory_mb
        self.leanchecker, self.safe_verify = toolchain.tool("leanchecker"), safe_verify

    @property
    def present(self) -> bool:
        """Whether there is any."""
        return bool(self.leanchecker or self.safe_verify)

    def replay(self, target: bytes, submission: bytes) -> Ruling:
        """Check a submission's constants by the kernel, from clean imports."""
        ruling = Ruling(False, trouble="neither leanchecker nor SafeVerify is here")
        if self.leanchecker:
            ruling = self._ask([self.leanchecker, MODULE], {f"{MODULE}.olean": submission})
        if self.safe_verify and (ruling.accepted or not self.leanchecker):
            files = {"target.olean": target, "submission.olean": submission}
            ruling = self._ask([self.safe_verify, *files], files)
        return ruling

    def _ask(self, argv: list[str], files: dict[str, bytes]) -> Ruling:
        paths = [".", self.toolchain.environment.get("LEAN_PATH", "")]
        environment = {**self.toolchain.environment, "LEAN_PATH": ":".join(filter(None, paths))}
        done = run_command(
            self.sandbox, argv, environment, files, timeout_s=TIMEOUT_S, memory_mb=self.memory_mb
        )
        return read_ruling(argv[0].rpartition("/")[2], done)


def read_ruling(name: str, done: Finished) -> Ruling:
    """Read the exit status of a program that accepts with 0."""
    if done.trouble or done.outcome.limit:
        return Ruling(
            False, trouble=f"{name}: {done.trouble or f'over {done.outcome.limit} limit'}"
        )
    if done.status == 0:
        return Ruling(True)
    said = done.text.strip()[-500:]
    if done.status is None or done.status < 0 or MACHINE.search(said):
        return Ruling(False, trouble=f"{name} ended with status {done.status}: {said}")
    return Ruling(False, f"{name}: {said}")
