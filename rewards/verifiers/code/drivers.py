"""The programs that run inside the sandbox around a model's code.

Each is the text of `values.py` plus a few lines. It reads its task from a file, removes the file,
and writes one line of JSON to descriptor 3. Such a line is a claim of the process that also ran the
model's code; the verifier compares it with what only the verifier knows.
"""

from __future__ import annotations

import marshal
from importlib.resources import files
from typing import NamedTuple

_VALUES = files(__package__).joinpath("values.py").read_text("utf-8")

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
def _main():
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

_main()
"""

_ASSERT = """
def _main():
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

_main()
"""

_PYTEST = """
def _main():
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

_main()
"""

_CHECK = """
def _main():
    task = _task()
    space = {"__name__": "checker"}
    try:
        exec(compile(task["checker"], "<checker>", "exec"), space)
        frame = {"verdict": bool(space["check"](task["input"], task["output"], task["expected"]))}
    except BaseException as error:
        frame = {"error": _said(error)}
    _finish(frame)

_main()
"""


class Driver(NamedTuple):
    """A program for the sandbox, compiled once here instead of once a test."""

    source: bytes
    compiled: bytes


def _program(body: str) -> Driver:
    source = (_VALUES + _COMMON + body).encode()
    return Driver(source, marshal.dumps(compile(source, "driver.py", "exec", dont_inherit=True)))


CALL = _program(_CALL)
"""Calls the entry point with the task's arguments: {"value", "args"} | {"error"} | {"not_plain"}.

The task's "wanted" says which of the returned value and the arguments after the call to report."""
ASSERT = _program(_ASSERT)
"""Runs test code in the solution's own process: {"passed": nonce} | {"error"}."""
PYTEST = _program(_PYTEST)
"""Runs pytest in the solution's own process: {"results": {id: passed}, "passed": nonce}."""
CHECK = _program(_CHECK)
"""Runs a trusted checker, without the model's code: {"verdict"} | {"error"}."""
