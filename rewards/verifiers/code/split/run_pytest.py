"""A program for the trusted side: a pytest module against the program's stand-ins."""

from __future__ import annotations

import os
import sys
import time
import types
from typing import Any

from rewards.verifiers.code.split.session import Session
from rewards.verifiers.code.split.standins import ClassStandIn, StandIn
from rewards.verifiers.code.split.tests_side import explain, finish, load, read_task, tell

FILE = "test_solution.py"
OPTIONS = (
    "-q --noconftest -c /dev/null -p no:cacheprovider --import-mode=importlib --show-capture=no"
    " --tb=line --no-header --no-summary"
)


class Recorder:
    """Reports each item as it starts and ends, and stops where the program is gone."""

    def __init__(self, session: Session, only: list[str] | None) -> None:
        self.session, self.only = session, only
        self._failure: tuple[str, str] | None = None
        self._passed = False
        self._started = 0.0

    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: Any) -> Any:
        """Take nothing of the program's for a test, whatever it is called."""
        return [] if isinstance(obj, StandIn | ClassStandIn) else None

    def pytest_collection_modifyitems(self, session: Any, config: Any, items: list[Any]) -> None:
        """Keep the items that are functions of the tests, and still to run."""
        functions = (types.FunctionType, types.MethodType)
        items[:] = [item for item in items if type(getattr(item, "obj", None)) in functions]
        tell({"collected": [item.nodeid for item in items]})
        if self.only is not None:
            items[:] = [item for item in items if item.nodeid in self.only]

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """Note that an item begins."""
        self._failure, self._passed, self._started = None, False, time.monotonic()
        self.session.trouble, self.session.raised = "", None
        tell({"start": nodeid})

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Note what an item raised, while it is an exception and no text."""
        if call.excinfo is not None and self._failure is None:
            verdict, detail = explain(self.session, call.excinfo.value)
            if "Failed" in call.excinfo.type.__name__:
                verdict = "wrong"  # pytest.fail, and pytest.raises where nothing was
            self._failure = (verdict, detail)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note whether a phase of an item went well."""
        if report.when == "call":
            self._passed = report.passed
        if hasattr(report, "wasxfail"):
            self._failure = ("wrong", "marked xfail, which is no pass")
        elif report.skipped:
            self._failure = ("wrong", "skipped, which is no pass")
        elif report.failed and self._failure is None:
            self._failure = ("wrong", str(report.longrepr)[-1000:])

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """Report the item."""
        failure = self._failure or (None if self._passed else ("wrong", "it did not run"))
        if self.session.trouble:
            failure = ("not_plain", self.session.trouble)
        if self.session.lost:
            failure = ("gone", self.session.lost)
        verdict, detail = failure or ("passed", "")
        seconds = time.monotonic() - self._started
        tell({"done": nodeid, "verdict": verdict, "detail": detail, "seconds": seconds})

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> None:
        """Stop before an item if there is no program to test."""
        if self.session.lost:
            finish()

    def pytest_collectreport(self, report: Any) -> None:
        """Report a module that cannot be imported."""
        if report.failed:
            text = str(report.longrepr)
            errors = [line[2:] for line in text.splitlines() if line.startswith("E ")]
            detail = f"the tests cannot be imported: {' '.join(errors).strip() or text[-500:]}"
            tell({"collection": True, "verdict": "exception", "detail": detail[:1000]})


def main() -> None:
    """Run the module's items, or those that the task names."""
    task = read_task()
    if task["packages"] not in sys.path:
        sys.path.append(task["packages"])
    import pytest

    session, solution = load(task)
    if solution is None:
        return finish()
    with open(FILE, "x", encoding="utf-8") as file:
        file.write(task["test"])
    options = [
        *OPTIONS.split(),
        *(["-x"] if task["stop_early"] else []),
        "--rootdir",
        os.getcwd(),
        FILE,
    ]
    pytest.main(options, plugins=[Recorder(session, task["only"])])
    tell({"end": True})
    return finish()
