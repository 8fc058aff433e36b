"""The programs that run inside the sandbox around a model's code.

Each is a module, which agents keep imported. It reads its task from a file, removes the file, and
writes one line of JSON to descriptor 3. Such a line is a claim of the process that also ran the
model's code; the verifier compares it with what only the verifier knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from sandbox import Job, Limits

_IMPORT = f"from {__package__}.values import NotPlain, dumps, loads\n"
_COMMON = """
import os as _os, sys as _sys, types as _types

def _task():
    with open("task.json", encoding="utf-8") as file:
        task = loads(file.read())
    _os.unlink("task.json")
    return task

def _report(frame):
    data = (dumps(frame) + "\\n").encode()
    while data:
        data = data[_os.write(3, data):]

def _solution():
    with open("solution.py", "rb") as file:
        source = file.read()
    try:
        code = compile(source, _os.path.abspath("solution.py"), "exec", dont_inherit=True)
    except BaseException as error:
        _report({"syntax": f"{type(error).__name__}: {error}"})
        _os._exit(0)
    module = _types.ModuleType("solution")
    module.__file__ = code.co_filename
    _sys.modules["solution"] = module
    exec(code, module.__dict__)
    return module

def _said(error):
    try:
        text = str(error)
    except BaseException:
        text = "?"
    return f"{type(error).__name__}: {text}"[:500]

def _finish(frame):
    for stream in (_sys.stdout, _sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    _report(frame)
    _os._exit(0)
"""

_CALL = """
def main():
    task = _task()
    try:
        target = _solution()
        for name in task["entry_point"].split("."):
            target = getattr(target() if isinstance(target, type) else target, name)
        value, wanted = target(*task["args"], **task["kwargs"]), task["wanted"]
        frame = {"value": value if "value" in wanted else None}
        if "args" in wanted:
            frame["args"] = task["args"]
        dumps(frame)
    except NotPlain as error:
        frame = {"not_plain": str(error)}
    except BaseException as error:
        frame = {"error": _said(error)}
    _finish(frame)
"""

_ASSERT = """
def main():
    task = _task()
    nonce, test = task["nonce"], compile(task["test"], "<test>", "exec")
    try:
        space = _solution().__dict__
        space["__name__"] = "__main__"
        exec(test, space)
        frame = {"passed": nonce}
    except BaseException as error:
        frame = {"error": _said(error)}
    _finish(frame)
"""

_PYTEST = """
def main():
    task = _task()
    _sys.path.append(task["packages"])
    import pytest
    nonce, results = task["nonce"], {}
    class Recorder:
        def pytest_runtest_logreport(self, report):
            passed = report.passed and not hasattr(report, "wasxfail")
            if report.when == "call" or not passed:
                results[report.nodeid] = passed
    with open("test_solution.py", "x", encoding="utf-8") as file:
        file.write(task["test"])
    options = ["-q", "--noconftest", "-c", "/dev/null", "--rootdir", _os.getcwd(),
               "-p", "no:cacheprovider", "--import-mode=importlib", "test_solution.py"]
    pytest.main(options, plugins=[Recorder()])
    _finish({"results": results, "passed": nonce})
"""

_CHECK = """
def main():
    task = _task()
    space = {"__name__": "checker"}
    try:
        exec(compile(task["checker"], "<checker>", "exec"), space)
        frame = {"verdict": bool(space["check"](task["input"], task["output"], task["expected"]))}
    except BaseException as error:
        frame = {"error": _said(error)}
    _finish(frame)
"""


class Driver(NamedTuple):
    """A program for the sandbox, and the modules that agents keep imported for it."""

    program: bytes
    modules: Mapping[str, str]

    def make_job(self, files: Mapping[str, bytes], limits: Limits, stdin: bytes = b"") -> Job:
        """Build the job that runs it beside these files."""
        return Job(self.program, stdin, files, self.modules, limits)


def make_driver(modules: dict[str, str]) -> Driver:
    """Make a program that runs the `main` of the last of these modules."""
    last = list(modules)[-1]
    return Driver(f"import sys\nsys.modules[{last!r}].main()".encode(), modules)


def _program(name: str, body: str) -> Driver:
    return make_driver({**_read("values"), f"{__package__}.{name}": _IMPORT + _COMMON + body})


def _read(*names: str) -> dict[str, str]:
    return {f"{__package__}.{name.replace('/', '.')}": _read_one(name) for name in names}


@cache
def _read_one(name: str) -> str:
    return files(__package__).joinpath(f"{name}.py").read_text("utf-8")


_BOTH = ("values", "split/wire", "split/exchange")
_PROGRAM = ("split/state", "split/actions", "split/streams", "split/handles")
_STAND_INS = ("split/standins", "split/making", "split/claims")
_TESTS = (*_BOTH, *_STAND_INS, "split/patches", "split/session", "split/tests_side")

CALL = _program("call", _CALL)
"""Calls the entry point with the task's arguments: {"value", "args"} | {"error"} | {"not_plain"}.

The task's "wanted" says which of the returned value and the arguments after the call to report."""
ASSERT = _program("assert", _ASSERT)
"""Runs test code in the solution's own process: {"passed": nonce} | {"error"}."""
PYTEST = _program("pytest", _PYTEST)
"""Runs pytest in the solution's own process: {"results": {id: passed}, "passed": nonce}."""
CHECK = _program("check", _CHECK)
"""Runs a trusted checker, without the model's code: {"verdict"} | {"error"}."""
PROGRAM = make_driver(_read(*_BOTH, *_PROGRAM, "split/program"))
"""Loads the solution and serves the tests of another process over descriptor 4."""
SNIPPET = make_driver(_read(*_TESTS, "split/run_asserts"))
"""Runs test code against a PROGRAM: {"load"} | {"verdict", "detail"}."""
ITEMS = make_driver(_read(*_TESTS, "split/run_pytest"))
"""Runs pytest against a PROGRAM: a line each for what is collected, started and done."""
