"""A program for the trusted side: one snippet of test code against the program's stand-ins."""

from __future__ import annotations

import importlib
from typing import Any

from rewards.verifiers.code.split.tests_side import explain, finish, load, read_task, tell


def main() -> None:
    """Run the snippet; passing takes its last statement to have ended, and the program to live."""
    task = read_task()
    session, solution = load(task)
    if solution is None:
        return finish()
    try:
        space = _namespace(task, solution)
        exec(compile(task["test"], "<test>", "exec"), space)
        verdict, detail = "passed", ""
    except BaseException as error:
        verdict, detail = explain(session, error)
    if session.trouble:
        verdict, detail = "not_plain", session.trouble
    if session.lost:
        verdict, detail = "gone", session.lost
    tell({"verdict": verdict, "detail": detail})
    return finish()


def _namespace(task: dict[str, Any], solution: Any) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "__main__"}
    for name, (module, *attributes) in task["modules"].items():
        found = importlib.import_module(module)
        if all(hasattr(found, attribute) for attribute in attributes):
            space[name] = found
    for name in task["wanted"]:
        if name in space:
            continue
        try:
            space[name] = getattr(solution, name)
        except AttributeError:
            continue  # the snippet raises NameError, if it gets as far as using it
    return space
