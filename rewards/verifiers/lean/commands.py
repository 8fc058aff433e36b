"""Run programs of a Lean toolchain inside the sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as resources

from sandbox import Job, Limits, Outcome, Sandbox

MAX_FILE_MB = 64
"""Of what a command made; a compiled file of one theorem takes some kilobytes."""
GRACE_S = 0.5
RESERVED_MB = 8192
"""Lean maps two gigabytes before it reads a word."""
PROCESSES = 256
"""Processes and threads; Lean starts a few however many it is told to use."""
INSIDE = f"{__package__}.inside.command"


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    outcome: Outcome
    """Of the job around it."""
    status: int | None = None
    """The command's own exit status, negative for a signal; None if it did not end by itself."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What it made of what was asked for."""
    trouble: str = ""
    """The machine's failure, which says nothing about the input."""

    @property
    def text(self) -> str:
        """What it printed on both streams."""
        return (self.outcome.stdout + self.outcome.stderr).decode(errors="replace")


def run_command(
    sandbox: Sandbox,
    argv: Sequence[str],
    environment: Mapping[str, str],
    files: Mapping[str, bytes],
    *,
    outputs: Sequence[str] = (),
    timeout_s: float,
    memory_mb: int,
) -> Finished:
    """Run a command in a folder with these files, within these limits.

    Its CPU time and its wall time are limited alike. One that was ended while it waited for a core
    is run once more, with three times the wall time.
    """
    task = {"argv": argv, "env": environment, "outputs": outputs, "most": MAX_FILE_MB << 20}
    program = f"import sys\nsys.modules[{INSIDE!r}].main()".encode()
    files = {**files, "task.json": json.dumps(task).encode()}
    for wall_s in (timeout_s + GRACE_S, 3 * timeout_s + 1):
        limits = Limits(
            cpu_s=timeout_s,
            wall_s=wall_s,
            memory_mb=memory_mb,
            output_kb=2 * MAX_FILE_MB * 1024,
            processes=PROCESSES,
            disk_mb=2 * MAX_FILE_MB,
            reserved_mb=RESERVED_MB,
        )
        outcome = sandbox.run(Job(program, b"", files, {INSIDE: _source()}, limits))
        if outcome.limit != "wall" or outcome.starved_s < GRACE_S / 2:
            break
    return _read(outcome)


def _read(outcome: Outcome) -> Finished:
    if outcome.infra_error is not None:
        return Finished(outcome, trouble=outcome.infra_error)
    if outcome.starved:
        waited = f"{outcome.starved_s:.1f} s of {outcome.wall_s:.1f} s waiting for a core"
        return Finished(outcome, trouble=f"the machine is overloaded: it spent {waited}, twice")
    if outcome.limit is not None:
        return Finished(outcome)
    line, _, contents = outcome.result.partition(b"\n")
    try:
        head = json.loads(line)
    except ValueError:
        said = outcome.stderr.decode(errors="replace")[-300:]
        return Finished(outcome, trouble=f"the command's keeper ended without a report: {said}")
    if absent := head.get("absent"):
        return Finished(outcome, trouble=f"cannot be started: {absent}")
    made, at = {}, 0
    for name, size in head["sizes"]:
        made[name] = contents[at : at + size]
        at += size
    return Finished(outcome, head["status"], made)


@cache
def _source() -> str:
    return resources(f"{__package__}.inside").joinpath("command.py").read_text("utf-8")
