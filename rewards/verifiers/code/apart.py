"""Run asserts and pytest items in one process, and the program that they test in another.

The tests' process is trusted: it never holds the model's code, and what it reports is believed. The
program's process is believed nothing; its Outcome says why it ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rewards.verifiers.code import drivers
from rewards.verifiers.code.asserts import SnippetTest, parse_quietly
from rewards.verifiers.code.split.naming import class_names, trusted_modules, wanted_names
from sandbox import Job, Limits, Outcome, Sandbox

Diagnose = Callable[[Outcome], tuple[str | None, str]]
EXTRA_S = 10.0
"""What the tests themselves may take beyond the program's limits."""
TESTS_MEMORY_MB, TESTS_OUTPUT_KB = 1024, 1 << 17


@dataclass(frozen=True)
class Item:
    """What became of one assert or pytest item."""

    verdict: str
    test: str
    detail: str = ""
    cpu_s: float = 0.0


class Apart:
    """Runs test code against one program, each time in a fresh pair of processes."""

    def __init__(self, sandbox: Sandbox, source: bytes, limits: Limits, diagnose: Diagnose) -> None:
        self.sandbox, self.source, self.limits = sandbox, source, limits
        self.diagnose = diagnose
        memory_mb = max(TESTS_MEMORY_MB, 2 * limits.memory_mb)
        self.tests_limits = Limits(
            limits.cpu_seconds + EXTRA_S, limits.wall_seconds + EXTRA_S, memory_mb, TESTS_OUTPUT_KB
        )

    def run_snippet(self, test: SnippetTest) -> Item:
        """Run a snippet of test code."""
        tree = parse_quietly(test.code)
        task = {
            "test": test.code,
            "named": class_names(tree, test.entry_point),
            "wanted": wanted_names(tree, test.entry_point),
            "modules": trusted_modules(tree),
        }
        lines, tests, program = self._run(drivers.SNIPPET, task)
        last = lines[-1] if lines else {}
        verdict, detail = last.get("verdict") or last.get("load"), last.get("detail", "")
        return self._item(test.source, verdict, detail, tests, program)

    def run_items(self, test_code: str, declared: int | None, counted: int) -> list[Item]:
        """Run a pytest module; an item at which the program ends does not end the others.

        Args:
            test_code: The module.
            declared: How many items there are, if the spec says so.
            counted: How many there are at least, for a module that cannot be collected.
        """
        tree = parse_quietly(test_code)
        task: dict[str, Any] = {
            "test": test_code,
            "named": class_names(tree),
            "wanted": wanted_names(tree),
            "packages": self.sandbox.packages,
            "only": None,
        }
        done: dict[str, Item] = {}
        collected: list[str] = []
        while True:
            lines, tests, program = self._run(drivers.ITEMS, task)
            run = _Run(lines)
            collected = collected or run.collected
            fresh = {
                name: self._item(name, line["verdict"], line["detail"], tests, program)
                for name, line in run.done.items()
            }
            if run.current is not None:
                fresh[run.current] = self._item(run.current, "gone", "", tests, program)
            if not fresh:
                break
            name, last = list(fresh.items())[-1]
            ended = run.ended_at is not None
            # What went before may have used up its limits: it gets a process of its own.
            if ended and len(fresh) > 1 and last.verdict != "infra_error":
                del fresh[name]
            done |= fresh
            task["only"] = [name for name in collected if name not in done]
            if not ended or not task["only"]:
                break
        items = [done[name] for name in collected if name in done]
        rest = max(declared or len(collected) or counted, len(collected)) - len(items)
        missing = self._missing(run, tests, program)
        return items + [missing] * rest

    def _missing(self, run: _Run, tests: Outcome, program: Outcome) -> Item:
        verdict, detail = run.load or ("wrong", run.trouble or "the item reported nothing")
        if run.load is None and not run.complete:
            verdict = "gone"
        return self._item("pytest", verdict, detail, tests, program)

    def _run(
        self, driver: drivers.Driver, task: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], Outcome, Outcome]:
        content = json.dumps(task).encode()
        job = Job(
            driver.source, driver.compiled, files={"task.json": content}, limits=self.tests_limits
        )
        files = {"solution.py": self.source}
        model = Job(
            drivers.PROGRAM.source, drivers.PROGRAM.compiled, files=files, limits=self.limits
        )
        tests, program = self.sandbox.run_pair(job, model)
        lines = [json.loads(line) for line in tests.result.splitlines()]
        return lines, tests, program

    def _item(
        self, test: str, verdict: str | None, detail: str, tests: Outcome, program: Outcome
    ) -> Item:
        """Judge by what the tests reported, and by the Outcomes where they could not."""
        item = Item(verdict or "gone", test, detail, program.cpu_s)
        lost = tests.infra_error or program.infra_error
        if item.verdict != "gone":
            return item
        if lost:
            return replace(item, verdict="infra_error", detail=lost)
        why, said = (None, "") if program.dismissed else self.diagnose(program)
        if why is None or (program.limit is None and tests.limit is not None):
            ours, ours_said = self.diagnose(tests)
            if ours is not None and tests.limit is not None:
                return replace(item, verdict=ours, detail=f"the tests' own process: {ours_said}")
        return replace(item, verdict=why or "exit", detail=said or detail or "the program ended")


class _Run:
    """What one run of pytest reported."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.collected: list[str] = []
        self.done: dict[str, dict[str, Any]] = {}
        self.current: str | None = None
        self.load: tuple[str, str] | None = None
        self.trouble = ""
        self.complete = False
        for line in lines:
            self._read(line)
        gone = [name for name, line in self.done.items() if line["verdict"] == "gone"]
        self.ended_at = self.current or (gone[-1] if gone else None)

    def _read(self, line: dict[str, Any]) -> None:
        if "collected" in line:
            self.collected = line["collected"]
        elif "start" in line:
            self.current = line["start"]
        elif "done" in line:
            self.done[line["done"]], self.current = line, None
        elif "load" in line:
            self.load = (line["load"], line["detail"])
        elif "collection" in line:
            self.trouble = line["collection"]
        elif "end" in line:
            self.complete = True
