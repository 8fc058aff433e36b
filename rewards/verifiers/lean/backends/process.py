"""The back end to judge by: one `lean` a file, in the sandbox, and the compiled file back."""

from __future__ import annotations

import signal

from rewards.verifiers.lean.assemble import Source
from rewards.verifiers.lean.backends import Compiled, Limit
from rewards.verifiers.lean.commands import Finished, run_command
from rewards.verifiers.lean.messages import OVERFLOW, find_trouble, parse_output
from rewards.verifiers.lean.setup import Toolchain
from sandbox import LimitHit, Sandbox

MODULE = "Task"
"""Of the target and of every submission alike: names of private constants hold the module's."""
SENT = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals by which others end a process; by all else it ends itself."""
LIMITS: dict[LimitHit, Limit] = {
    "cpu": "time",
    "wall": "time",
    "memory": "memory",
    "output": "output",
    "processes": "processes",
}


class ProcessBackend:
    """Starts `lean --json -o` for each file."""

    name = "process"

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain, memory_mb: int) -> None:
        self.sandbox, self.toolchain, self.memory_mb = sandbox, toolchain, memory_mb
        self.version = toolchain.version

    def compile(self, source: Source, timeout_s: float) -> Compiled:
        """Compile a file; a time limit counts CPU seconds, and wall seconds unless it starved."""
        # One thread, for a proof's time must not depend on its neighbours; the reserved stacks of
        # more threads would also count where memory is limited.
        argv = [self.toolchain.lean, "--json", "-j1", "-s8192", "-o", f"{MODULE}.olean"]
        done = run_command(
            self.sandbox,
            [*argv, f"{MODULE}.lean"],
            self.toolchain.environment,
            {f"{MODULE}.lean": source.text.encode()},
            outputs=[f"{MODULE}.olean"],
            timeout_s=timeout_s,
            memory_mb=self.memory_mb,
        )
        return self._read(done, source)

    def _read(self, done: Finished, source: Source) -> Compiled:
        elapsed_s, limit = done.outcome.wall_s, done.outcome.limit
        if done.trouble:
            return Compiled(trouble=done.trouble, elapsed_s=elapsed_s)
        messages = parse_output(done.outcome.stdout, done.outcome.stderr)
        if limit is not None:
            return Compiled(messages, limit=LIMITS[limit], elapsed_s=elapsed_s)
        raw = [message.text for message in messages if message.severity == "raw"]
        overflow = next(filter(OVERFLOW.search, raw), "")
        trouble = find_trouble(messages, source.trusted_lines) if done.status else ""
        died = False
        if done.status is not None and done.status < 0 and not (overflow or trouble):
            trouble, died = f"lean was ended by signal {-done.status}", -done.status not in SENT
        if trouble:
            return Compiled(messages, trouble=trouble, died=died, elapsed_s=elapsed_s)
        return Compiled(
            messages,
            done.files.get(f"{MODULE}.olean"),
            failed=done.status != 0,
            crash=overflow,
            elapsed_s=elapsed_s,
        )

    def close(self) -> None:
        """Leave the sandbox to whoever opened it."""
