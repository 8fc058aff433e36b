"""What the two programs that hold tests have in common."""

from __future__ import annotations

import inspect
import json
import os
import sys
import types
from typing import Any

from rewards.verifiers.code.split.session import Session
from rewards.verifiers.code.split.standins import CannotCross, Names, ProgramGone, StandIn

RESULT = 3


def read_task() -> dict[str, Any]:
    """Return the task and remove its file."""
    with open("task.json", encoding="utf-8") as file:
        task: dict[str, Any] = json.load(file)
    os.unlink("task.json")
    return task


def tell(frame: dict[str, Any]) -> None:
    """Write a line that the verifier reads. The program under test cannot reach this channel."""
    data = (json.dumps(frame) + "\n").encode()
    while data:
        data = data[os.write(RESULT, data) :]


def finish() -> None:
    """End without running what tests or their libraries left behind."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)


def load(task: dict[str, Any]) -> tuple[Session, types.ModuleType | None]:
    """Have the program load; reports why if it does not, and returns no module then."""
    session = Session()
    try:
        module = session.load(task["named"], task["patched"])
    except BaseException as error:
        verdict, detail = explain(session, error)
        tell({"load": verdict, "detail": detail})
        return session, None
    if isinstance(module, str):
        tell({"load": "syntax", "detail": module})
        return session, None
    solution = SolutionModule(session, module, task["wanted"])
    sys.modules["solution"] = solution
    _guard_inspect(session)
    return session, solution


def explain(session: Session, error: BaseException) -> tuple[str, str]:
    """Return the verdict that an exception means, and what it says."""
    if isinstance(error, ProgramGone):
        return "gone", str(error)
    if isinstance(error, CannotCross):
        return "not_plain", str(error)
    text = f"{type(error).__name__}: {error}".rstrip(": ")[:1000]
    if error is session.raised:
        return "memory" if isinstance(error, MemoryError) else "exception", text
    return "wrong" if isinstance(error, AssertionError) else "exception", text


class SolutionModule(types.ModuleType):
    """What `import solution` gives: the attributes are those of the program's module."""

    def __init__(self, session: Session, module: StandIn, wanted: list[str]) -> None:
        super().__init__("solution")
        for name, value in (
            ("_standin_names", Names(session, module)),
            ("_standin_module", module),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_standin_wanted", wanted)

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        if name == "__all__":  # of a star import: nothing that the tests do not ask for
            return [n for n in self._standin_wanted if hasattr(self, n)]
        return getattr(self._standin_module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._standin_module, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._standin_module, name)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return self._standin_names


def _guard_inspect(session: Session) -> None:
    for name in ("getsource", "getsourcelines", "getsourcefile", "getfile"):
        original = getattr(inspect, name)

        def guarded(thing: Any, original: Any = original) -> Any:
            if isinstance(thing, StandIn | SolutionModule) or hasattr(thing, "_standin_session"):
                raise session.cannot("the program's source cannot cross")
            return original(thing)

        setattr(inspect, name, guarded)
