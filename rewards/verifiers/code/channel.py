"""Jobs for the drivers, and the one line of JSON that comes back from each."""

from __future__ import annotations

from typing import Any

from rewards.verifiers.code import drivers
from rewards.verifiers.code.values import NotPlain, dumps, loads
from sandbox import Job, Limits, Outcome, Sandbox

RESULT_ROOM = 1 << 16
"""Bytes that a result may take beyond what is expected."""
REASONS = {"syntax": "syntax", "error": "exception", "not_plain": "not_plain"}
"""What a driver reports instead of an answer -> the verdict that it means."""


def make_job(
    driver: drivers.Driver, task: dict[str, Any], limits: Limits, solution: bytes | None = None
) -> Job:
    """Build the job that runs a driver on a task, beside a solution if there is one."""
    files = {"task.json": dumps(task).encode()}
    if solution is not None:
        files["solution.py"] = solution
    return driver.make_job(files, limits)


def read_frame(outcome: Outcome, answer: str) -> dict[str, Any]:
    """Parse the driver's one line: an answer under this key, or a text that says why there is none.

    The line is a claim of a process that ran the model's code, so nothing else is let through.
    """
    try:
        frame = loads(outcome.result)
    except NotPlain:
        return {}
    if not isinstance(frame, dict):
        return {}
    if answer in frame:
        return frame
    return {key: frame[key] for key in REASONS if type(frame.get(key)) is str}


def ask_checker(
    sandbox: Sandbox, checker: str | None, given: Any, output: Any, expected: Any
) -> tuple[bool, str, str]:
    """Run a spec's checker; return its verdict, its own trouble, and the machine's."""
    task = {"checker": checker, "input": given, "output": output, "expected": expected}
    outcome = sandbox.run(make_job(drivers.CHECK, task, Limits()), trusted=True)
    if outcome.infra_error is not None:
        return False, "", outcome.infra_error
    if outcome.starved:
        return False, "", f"it spent {outcome.starved_s:.1f} s waiting for a core"
    frame = read_frame(outcome, "verdict")
    if "verdict" in frame:
        return frame["verdict"] is True, "", ""
    return False, frame.get("error") or f"{outcome.limit or 'no verdict'}", ""
