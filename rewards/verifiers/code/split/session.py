"""The tests' side of the conversation: it asks, and answers callbacks and requests for input."""

from __future__ import annotations

import builtins
import inspect
import json
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

from rewards.verifiers.code.split.claims import Claims
from rewards.verifiers.code.split.exchange import OPERATORS
from rewards.verifiers.code.split.patches import Patches
from rewards.verifiers.code.split.standins import (
    PLAIN,
    CannotCross,
    ClassStandIn,
    ProgramGone,
    StandIn,
)
from rewards.verifiers.code.split.wire import Broken, Frame, Link, TooLarge
from rewards.verifiers.code.values import Decoder, NotPlain

UNREADABLE = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RecursionError)


class Session(Claims):
    """Everything that the tests know of the program on the other side."""

    def __init__(self, descriptor: int | None = None) -> None:
        super().__init__()
        self.link = Link(self._serve) if descriptor is None else Link(self._serve, descriptor)
        self.lost = ""
        """Why there is no more program, once there is none."""
        self.raised: BaseException | None = None
        """The exception that the program raised last."""
        self._pending: BaseException | None = None
        self._warned: list[Any] = []
        self._named: set[type] = set()
        self._made: set[int] = set()
        self._makers: set[int] = set()
        self._patches: Patches | None = None
        self._lock = threading.RLock()

    def load(self, named: list[str], patched: list[str]) -> StandIn | str:
        """Have the program load, and return its module, or why it does not compile.

        Args:
            named: The names that the tests use for classes, or for what returns objects.
            patched: The modules of the standard library that the tests may patch.
        """
        complaint = self._ask("load", [named])
        if complaint is not None:
            return str(complaint)
        module: StandIn = self.ask("module")
        for name in named:
            try:
                value = self.ask("global", name)
            except Exception:
                continue
            if isinstance(value, ClassStandIn):
                self._named.add(value)
            elif isinstance(value, StandIn):
                self._makers.add(value._standin_number)
        if patched:
            self._patches = Patches(patched)
        return module

    def stand(self) -> Session:
        """Return what stand-ins ask."""
        return self

    def ask(self, action: str, *values: Any) -> Any:
        """Have the program do something with values, and return what it claims as the result."""
        __tracebackhide__ = True
        return self._ask(action, list(values))

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function or class of the program."""
        __tracebackhide__ = True
        value = self._ask("__call__", [function, list(args), kwargs])
        if isinstance(value, StandIn):
            if isinstance(function, ClassStandIn):
                self._made.add(value._standin_number)
            elif function._standin_number in self._makers:
                self._made.add(value._standin_number)
                self._named.add(type(value))
        return value

    def is_named(self, kind: type) -> bool:
        """Whether the tests treat a class, or one that it derives from, as a class."""
        return any(base in self._named for base in kind.__mro__)

    def is_made(self, value: StandIn) -> bool:
        """Whether the tests made an object themselves."""
        return value._standin_number in self._made

    def state(self, value: StandIn) -> Any:
        """Return what the program claims to be the attributes of an object."""
        claim = self.ask("state", value)
        try:
            return Decoder().decode(json.loads(claim))
        except UNREADABLE as error:
            raise self._lose(f"sent what describes no object: {error!r:.200}") from None

    def _ask(self, action: str, values: list[Any]) -> Any:
        __tracebackhide__ = True
        with self._lock:
            if self._patches is not None:
                patches, self._patches = self._patches, None  # which ask in their turn
                patches.carry_over(self.ask)
                self._patches = patches
            reply, value = self._converse(action, values)
        if self._pending is not None:
            pending, self._pending = self._pending, None
            raise pending
        if "cannot" in reply:
            raise self.cannot(str(reply["cannot"])[:500])
        for warning in self._take_warnings():
            warnings.warn(warning, stacklevel=4)
        if "raise" in reply:
            self.raised = value if isinstance(value, BaseException) else ValueError(value)
            raise self.raised
        return value

    def _converse(self, action: str, values: list[Any]) -> tuple[Frame, Any]:
        """Send a request; return its reply, and the value or exception in it."""
        if self.lost:
            raise ProgramGone(self.lost)
        try:
            data, lent = self.lend(values)
        except RecursionError:
            raise self.cannot("an argument is nested too deeply") from None
        try:
            reply = self.link.ask({"op": action, "args": data})
            self._note(reply)
            self.take_back(lent, reply.get("changed", ()))
            return reply, self.decode(reply.get("raise", reply.get("value")))
        except TooLarge as error:
            raise self.cannot(str(error)) from None
        except Broken as error:
            raise self._lose(str(error)) from None
        except (NotPlain, *UNREADABLE) as error:
            raise self._lose(f"sent what describes no value: {error!r:.200}") from None
        except BaseException:
            self._lose("was interrupted by the tests")  # its answer would be taken for a next
            raise
        finally:
            self.forget(lent)

    def _lose(self, why: str) -> ProgramGone:
        self.lost = f"the program's process {why}"
        return ProgramGone(self.lost)

    def _take_warnings(self) -> list[Warning]:
        taken, self._warned = self._warned, []
        return [warning for warning in taken if isinstance(warning, Warning)]

    def _note(self, frame: Frame) -> None:
        self.describe(frame.get("classes", ()))
        self._warned += [self.decode(warning) for warning in frame.get("warned", ())]
        for stream, text in zip((sys.stdout, sys.stderr), frame.get("printed", ()), strict=False):
            if text:
                stream.write(str(text))

    def _serve(self, frame: Frame) -> Frame:
        self._note(frame)
        values, borrowed = self.borrow(frame.get("args", []))
        action = frame["op"]
        try:
            if action == "callback":
                number, args, kwargs = values
                reply = {"value": self.encode(_run(self._lent[number], args, kwargs))}
            elif action == "double":
                reply = {"value": self.encode(self._use_double(*values))}
            elif action == "input":
                reply = {"value": self.encode(builtins.input(str(values[0])))}
            elif action in ("read", "readline"):
                reply = {"value": self.encode(getattr(sys.stdin, action)(int(values[0])))}
            else:
                raise Broken("asked for what there is not")
        except CannotCross as error:
            reply = {"cannot": str(error)}
        except Exception as error:
            reply = {"raise": self.encode(error)}
        except BaseException as error:  # a verdict of the test: not for the program to swallow
            self._pending = error
            reply = {"raise": self.encode(RuntimeError("the test is over"))}
        changed = self.give_back(borrowed)
        self.forget(borrowed)
        return {**reply, "changed": changed}

    def _use_double(self, number: int, action: str, *values: Any) -> Any:
        """Do something with an object of the tests, as far as it means to be used."""
        double = self._lent[number]
        if action in OPERATORS:
            return getattr(type(double), action)(double, *values)
        name = str(values[0])
        if name.startswith("_") or _is_verdict(double, name, *values[1:]):
            raise AttributeError(f"{name!r} of a test double is not for the program")
        return {"get": getattr, "set": setattr}[action](double, *values)


def _is_verdict(double: Any, name: str, *new: Any) -> bool:
    """Whether an attribute, or its new value, is how tests learn what was done to an object."""
    kind = type(double)
    if kind.__module__ == "unittest.mock":
        told = name.startswith("assert") or hasattr(kind, name)
        return told or any(type(value) not in PLAIN for value in new)
    return bool(new) and callable(getattr(double, name, None))


def _run(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    value = function(*args, **kwargs)
    if not inspect.iscoroutine(value):
        return value
    import asyncio  # slow to import, and few tests want it

    # The tests may wait for the program within an event loop, where no other may run by the rules.
    running, loop = asyncio._get_running_loop(), asyncio.new_event_loop()
    asyncio._set_running_loop(None)
    try:
        return loop.run_until_complete(value)
    finally:
        loop.close()
        asyncio._set_running_loop(running)
