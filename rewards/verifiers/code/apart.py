"""Run asserts and pytest items in one process, and the program that they test in another.

The tests' process is trusted: it never holds the model's code, and what it reports is believed. The
program's process is believed nothing; its Outcome says why it ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rewards.verifiers.code import drivers
from rewards.verifiers.code.asserts import SnippetTest, parse_quietly
from rewards.verifiers.code.result import Result
from rewards.verifiers.code.split.naming import (
    class_names,
    patched_modules,
    trusted_modules,
    wanted_names,
)
from sandbox import Limits, Outcome, Sandbox

Lines = list[dict[str, Any]]
Diagnose = Callable[[Outcome], tuple[str | None, str]]
EXTRA_S = 10.0
"""What the tests themselves may take beyond the program's limits."""
TESTS_MEMORY_MB, TESTS_OUTPUT_KB = 1024, 1 << 17


class Apart:
    """Runs test code against one program, each time in a fresh pair of processes."""

    def __init__(self, sandbox: Sandbox, source: bytes, limits: Limits, diagnose: Diagnose) -> None:
        self.sandbox, self.source, self.limits = sandbox, source, limits
        self.diagnose = diagnose
        memory_mb = max(TESTS_MEMORY_MB, 2 * limits.memory_mb)
        self.tests_limits = Limits(
            limits.cpu_seconds + EXTRA_S, limits.wall_seconds + EXTRA_S, memory_mb, TESTS_OUTPUT_KB
        )

    def run_snippet(self, test: SnippetTest) -> Result:
        """Run a snippet of test code."""
        tree = parse_quietly(test.code)
        task = {
            "test": test.code,
            "named": class_names(tree, test.entry_point),
            "wanted": wanted_names(tree, test.entry_point),
            "modules": trusted_modules(tree),
            "patched": patched_modules(test.code),
        }
        lines, tests, program = self._run(drivers.SNIPPET, task)
        return self._item(test.source, lines[-1] if lines else {}, _Run([], tests, program))

    def run_items(
        self, test_code: str, declared: int | None, counted: int, *, stop_early: bool = False
    ) -> list[Result]:
        """Run a pytest module; an item at which the program ends does not end the others.

        Args:
            test_code: The module.
            declared: How many items there are, if the spec says so.
            counted: How many there are at least, for a module that cannot be collected.
            stop_early: Whether to run no item after one that failed.
        """
        tree = parse_quietly(test_code)
        task: dict[str, Any] = {
            "test": test_code,
            "named": class_names(tree),
            "wanted": sorted(set(wanted_names(tree)) - set(trusted_modules(tree))),
            "patched": patched_modules(test_code),
            "packages": self.sandbox.packages,
            "stop_early": stop_early,
            "only": None,
        }
        done: dict[str, Result] = {}
        collected: list[str] = []
        while True:
            run = _Run(*self._run(drivers.ITEMS, task))
            collected = collected or run.collected
            fresh = {name: self._item(name, line, run) for name, line in run.done.items()}
            last = next(reversed(fresh), "")
            # What went before may have used up its limits: it gets a process of its own.
            again = run.ended and len(fresh) > 1 and fresh[last].verdict != "infra_error"
            if again:
                del fresh[last]
            done |= fresh
            task["only"] = [name for name in collected if name not in done]
            stopped = stop_early and any(item.verdict != "passed" for item in fresh.values())
            if not (again or (run.ended and fresh and task["only"])) or stopped:
                break
        items = [done[name] for name in collected if name in done]
        rest = max(declared or len(collected) or counted, len(collected)) - len(items)
        missing = Result("skipped", "pytest") if stopped else self._item("pytest", run.rest, run)
        return items + [missing] * rest

    def _run(self, driver: drivers.Driver, task: dict[str, Any]) -> tuple[Lines, Outcome, Outcome]:
        """Run tests and program; once more if the program waited for a core all the time."""
        task_file = {"task.json": json.dumps(task).encode()}
        tests = driver.make_job(task_file, self.tests_limits)
        program = drivers.PROGRAM.make_job({"solution.py": self.source}, self.limits)
        ours, theirs = self.sandbox.run_pair(tests, program)
        if theirs.limit == "wall" and self.diagnose(theirs)[0] == "infra_error":
            ours, theirs = self.sandbox.run_pair(tests, program)
        return _read_lines(ours.result), ours, theirs

    def _item(self, test: str, line: dict[str, Any], run: _Run) -> Result:
        """Judge by what the tests reported, and by the Outcomes where they could not."""
        detail = line.get("detail", "").encode("utf-8", "backslashreplace").decode()
        if "seconds" in line:
            item = Result(line["verdict"], test, detail=detail, wall_s=line["seconds"])
        else:
            verdict = line.get("verdict") or line.get("load") or "gone"
            item = Result(verdict, test, detail=detail).timed(run.program)
        if item.verdict != "gone":
            return item
        verdict, detail = self._why_gone(run.tests, run.program)
        return replace(item, verdict=verdict, detail=detail or item.detail)

    def _why_gone(self, tests: Outcome, program: Outcome) -> tuple[str, str]:
        if lost := tests.infra_error or program.infra_error:
            return "infra_error", lost
        verdict, detail = (None, "") if program.dismissed else self.diagnose(program)
        if verdict is None and tests.limit is not None:
            verdict, detail = self.diagnose(tests)
            detail = f"the tests' own process: {detail}"
        return verdict or "exit", detail


def _read_lines(result: bytes) -> Lines:
    """Parse what the tests' process reported; the last line is cut off if it was killed."""
    complete = result[: result.rfind(b"\n") + 1]
    return [json.loads(line) for line in complete.splitlines()]


class _Run:
    """What one run of pytest reported."""

    def __init__(self, lines: Lines, tests: Outcome, program: Outcome) -> None:
        self.tests, self.program = tests, program
        self.collected: list[str] = []
        self.done: dict[str, dict[str, Any]] = {}
        self.rest: dict[str, Any] = {"verdict": "gone"}
        """What there is to say of items that reported nothing."""
        for line in lines:
            self._read(line)

    @property
    def ended(self) -> bool:
        """Whether the program, or the run itself, ended at the last item."""
        return bool(self.done) and next(reversed(self.done.values()))["verdict"] == "gone"

    def _read(self, line: dict[str, Any]) -> None:
        if "collected" in line:
            self.collected = line["collected"]
        elif "start" in line:
            self.done[line["start"]] = {"verdict": "gone"}
        elif "done" in line:
            self.done[line["done"]] = line
        elif "load" in line or "collection" in line:
            self.rest = line
        elif "end" in line and self.rest.get("verdict") == "gone":
            self.rest = {"verdict": "wrong", "detail": "the item reported nothing"}
