"""Choose who compares compiled files, and have Lean do it where it can."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from rewards.verifiers.lean.commands import run_command
from rewards.verifiers.lean.comparer import (
    INSIDE,
    CannotCompare,
    Comparer,
    Comparison,
    PythonComparer,
    read_report,
    write_request,
)
from rewards.verifiers.lean.setup import Toolchain
from sandbox import Sandbox

TIMEOUT_S = 300.0
"""It reads the imports' files, all of Mathlib maybe; what a submission adds is nothing to that."""


class LeanComparer:
    """Has the toolchain's own Lean run `inside/Compare.lean`."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain, memory_mb: int) -> None:
        self.sandbox, self.toolchain, self.memory_mb = sandbox, toolchain, memory_mb

    def compare(
        self, target: bytes, submission: bytes, name: str, allowed_axioms: Sequence[str]
    ) -> Comparison:
        """Compare a submission with a target; see `Comparer`."""
        nonce = secrets.token_hex(16)
        request = write_request("target.olean", "submission.olean", name, allowed_axioms)
        done = run_command(
            self.sandbox,
            [self.toolchain.lean, "--run", "Compare.lean", nonce, request],
            self.toolchain.environment,
            {"Compare.lean": _source(), "target.olean": target, "submission.olean": submission},
            timeout_s=TIMEOUT_S,
            memory_mb=self.memory_mb,
        )
        if done.trouble or done.outcome.limit:
            raise CannotCompare(done.trouble or f"over the {done.outcome.limit} limit")
        return read_report(done.outcome.stdout, nonce)


def make_comparer(sandbox: Sandbox, toolchain: Toolchain, memory_mb: int) -> Comparer:
    """Return the comparer in Lean where the toolchain has the library `Lean`, else our own."""
    libraries = Path(toolchain.prefix, "lib", "lean")
    if libraries.joinpath("Lean.olean").is_file():
        return LeanComparer(sandbox, toolchain, memory_mb)
    paths = toolchain.environment.get("LEAN_PATH", "").split(":")
    return PythonComparer(sandbox, [libraries, *map(Path, filter(None, paths))])


@cache
def _source() -> bytes:
    return files(INSIDE).joinpath("Compare.lean").read_bytes()
