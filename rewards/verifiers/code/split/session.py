"""The tests' side of the conversation: it asks, and answers callbacks and requests for input.

Nothing that arrives is run, unpickled or evaluated here: it becomes plain data, a stand-in, a
built-in exception or an error that says what is wrong with it.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import io
import itertools
import json
import sys
import threading
import types
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

from rewards.verifiers.code.split.exchange import OPERATORS, Exchange, defined_operators
from rewards.verifiers.code.split.patches import Patches
from rewards.verifiers.code.split.standins import (
    SHARED,
    CannotCross,
    ClassStandIn,
    ErrorStandIn,
    ProgramGone,
    StandIn,
    SubStandIn,
    make_class,
    make_sub,
)
from rewards.verifiers.code.split.wire import Broken, Frame, Link, TooLarge
from rewards.verifiers.code.values import Decoder, NotPlain

STDLIB_ERRORS = [
    "json",
    "decimal",
    "dataclasses",
    "queue",
    "_queue",
    "re",
    "struct",
    "statistics",
    "asyncio",
    "concurrent",
    "csv",
    "_csv",
    "configparser",
    "subprocess",
    "copy",
    "graphlib",
    "argparse",
    "sqlite3",
    "zoneinfo",
    "http",
    "urllib",
    "zlib",
    "binascii",
]
"""Packages whose exceptions a claim may name. None that a test runner takes for a verdict."""
DATA_MODULES = ("builtins", "decimal", "fractions", "datetime")
FUNCTIONS = (
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.MethodWrapperType, functools.partial, type),
)
NO_DOUBLES = {"_pytest", "pytest", *sys.stdlib_module_names}
"""Objects of these packages are no test doubles, but for mocks and simple namespaces."""
UNREADABLE = (KeyError, IndexError, ValueError, TypeError, ArithmeticError, AttributeError)


class Session(Exchange):
    """Everything that the tests know of the program on the other side."""

    def __init__(self, descriptor: int | None = None) -> None:
        super().__init__(1)
        self.link = Link(self._serve) if descriptor is None else Link(self._serve, descriptor)
        self.lost = ""
        """Why there is no more program, once there is none."""
        self.trouble = ""
        """What could not cross, if anything could not."""
        self.raised: BaseException | None = None
        """The exception that the program raised last."""
        self._pending: BaseException | None = None
        self._warned: list[Any] = []
        self._classes: dict[int, ClassStandIn] = {}
        self._objects: dict[int, StandIn] = {}
        self._callables: list[Callable[..., Any]] = []
        self._callable_numbers: dict[int, int] = {}
        self._named: set[type] = set()
        self._made: set[int] = set()
        self._makers: set[int] = set()
        self._patches: Patches | None = None

    def load(self, named: list[str]) -> StandIn | str:
        """Have the program load, and return its module, or why it does not compile.

        Args:
            named: The names that the tests use for classes, or for what returns objects.
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
        self._patches = Patches()
        return module

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
        return Decoder().decode(json.loads(self.ask("state", value)))

    def cannot(self, what: str) -> CannotCross:
        """Return the error that says what does not cross."""
        self.trouble = self.trouble or what
        return CannotCross(f"{what}; {SHARED}")

    def _ask(self, action: str, values: list[Any]) -> Any:
        __tracebackhide__ = True
        if self.lost:
            raise ProgramGone(self.lost)
        if self._patches is not None:
            patches, self._patches = self._patches, None  # which ask in their turn
            patches.carry_over(self.ask)
            self._patches = patches
        try:
            data, lent = self.lend(values)
        except RecursionError:
            raise self.cannot("an argument is nested too deeply") from None
        try:
            reply = self.link.ask({"op": action, "args": data})
            self._note(reply)
            self.take_back(lent, reply.get("changed", ()))
            value = self.decode(reply.get("raise", reply.get("value", reply.get("syntax"))))
        except TooLarge as error:
            raise self.cannot(str(error)) from None
        except Broken as error:
            self.lost = f"the program's process: {error}"
            raise ProgramGone(self.lost) from None
        except (NotPlain, RecursionError, *UNREADABLE) as error:
            self.lost = f"the program's process sent what describes no value: {error!r:.200}"
            raise ProgramGone(self.lost) from None
        except BaseException:
            self.lost = "the tests were interrupted"  # amid an answer: it would be taken for a next
            raise
        finally:
            self.forget(lent)
        if self._pending:
            raise self._pending
        if "cannot" in reply:
            raise self.cannot(str(reply["cannot"])[:500])
        if "raise" in reply:
            self.raised = value if isinstance(value, BaseException) else ValueError(value)
        for warning in self._take_warnings():
            warnings.warn(warning, stacklevel=4)
        if self.raised is not None and "raise" in reply:
            raise self.raised
        return value

    def _take_warnings(self) -> list[Warning]:
        taken, self._warned = self._warned, []
        return [warning for warning in taken if isinstance(warning, Warning)]

    def _note(self, frame: Frame) -> None:
        for number, name, bases, special in frame.get("classes", ()):
            known = [self.decode(base) for base in bases]
            if number not in self._classes:
                self._classes[number] = make_class(self, number, name, known, special)
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
                reply = {"value": self.encode(_run(self._callables[number], args, kwargs))}
            elif action == "double":
                reply = {"value": self.encode(self._use_double(*values))}
            elif action == "input":
                reply = {"value": self.encode(builtins.input(str(values[0])))}
            elif action in ("read", "readline"):
                reply = {"value": self.encode(getattr(sys.stdin, action)(int(values[0])))}
            else:
                raise Broken("it asked for what there is not")
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
        double = self._callables[number]
        if action in OPERATORS:
            return getattr(type(double), action)(double, *values)
        if str(values[0]).startswith("_"):
            raise AttributeError(values[0])
        return {"get": getattr, "set": setattr}[action](double, *values)

    # What crosses to the program.

    def special(self, value: Any) -> Any:
        """Encode stand-ins, callables, and what both sides know by name."""
        if isinstance(value, ErrorStandIn):
            return super().special(value)
        kind = type(value)
        if kind is ClassStandIn:
            return {"$handle": value._standin_class_number}
        if issubclass(kind, (StandIn, SubStandIn)):
            return {"$handle": value._standin_number}
        if (known := super().special(value)) is not None:
            return known
        if isinstance(value, type) and issubclass(value, BaseException):
            value = next(c for c in value.__mro__ if _stdlib_name(c))
        if name := _stdlib_name(value):
            return {"$import": name}
        if kind.__module__ in DATA_MODULES and not callable(value) and not _is_iterator(value):
            return None
        return self._test_made(value)

    def _test_made(self, value: Any) -> Any:
        kind = type(value)
        if kind.__module__ == "numpy" or (kind.__module__ == "collections" and kind in _KNOWN):
            return None
        if kind.__module__ == "unittest.mock" and not inspect.iscoroutinefunction(value):
            return self._double(value)
        if isinstance(value, FUNCTIONS) or inspect.iscoroutinefunction(value):
            return {"$callback": self._callback(value)}
        if isinstance(value, io.IOBase):
            raise self.cannot("an open file cannot cross")
        if _is_iterator(value):
            return {"$iterator": self._callback(lambda: list(itertools.islice(value, 1)))[0]}
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            items = [self.encode(item) for item in value]
            return {"$namedtuple": [kind.__name__, list(kind._fields), items]}
        if kind.__module__.startswith("pathlib"):
            raise self.cannot(f"files of the tests are not the program's: {value}")
        if kind is types.SimpleNamespace or kind.__module__.partition(".")[0] not in NO_DOUBLES:
            return self._double(value)
        raise self.cannot(f"an argument of class {kind.__module__}.{kind.__name__} cannot cross")

    def _double(self, value: Any) -> Any:
        kind = type(value)
        return {"$double": [self._callback(value)[0], kind.__name__, defined_operators(kind)]}

    def _callback(self, function: Callable[..., Any]) -> list[Any]:
        number = self._callable_numbers.setdefault(id(function), len(self._callables))
        if number == len(self._callables):
            self._callables.append(function)
        name = getattr(function, "__name__", type(function).__name__)
        text = getattr(function, "__doc__", None)
        is_async = inspect.iscoroutinefunction(function)
        return [number, str(name), text if isinstance(text, str) else None, is_async]

    def other(self, value: Any) -> Any:
        """Refuse what is neither data nor callable."""
        raise self.cannot(f"an argument of type {type(value).__name__} cannot cross")

    # What comes from the program.

    def tagged(self, tag: str, content: Any) -> Any:
        """Decode stand-ins, callbacks that come home, and built-in classes."""
        if tag == "$handle":
            return self._object(*content)
        if tag == "$class":
            return self._classes[content]
        if tag == "$sub":
            base, number, kind = content
            return make_sub(self._classes[kind], number, self.decode(base))
        if tag == "$builtin":
            found = getattr(builtins, content)
            if not isinstance(found, type):
                raise ValueError(content)
            return found
        if tag == "$stdlib":
            return _stdlib_error(*content[:2]) or self._classes[content[2]]
        if tag == "$callback":
            return self._callables[content]
        if tag in _VIEWS:
            return _VIEWS[tag](self.decode(content))
        return super().tagged(tag, content)

    def _object(self, number: int, kind: int) -> StandIn:
        known = self._objects.get(number)
        if known is None:
            if type(number) is not int:
                raise ValueError(f"no handle: {number!r:.50}")
            known = self._objects[number] = StandIn.__new__(self._classes[kind])
            object.__setattr__(known, "_standin_number", number)
        return known

    def make_error(
        self, number: int, kind: Any, args: Any, text: Any, attributes: Any, cause: Any
    ) -> BaseException:
        """Build a claimed exception: of a built-in class, or of a stand-in that derives from one."""
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError("no exception class")
        if not issubclass(kind, (Exception, SystemExit)):
            kind, args = RuntimeError, [f"the program raised {kind.__name__}: {text}"[:500]]
        error = _build(kind, tuple(args), str(text))
        for name, value in dict(attributes).items():
            if str.isidentifier(name) and not name.startswith("__"):
                error.__dict__[name] = value
        if isinstance(cause, BaseException):
            error.__cause__ = cause
        return error

    def ndarray(self, kind: str, items: list[Any]) -> Any:
        """Return an array, if this process has numpy."""
        try:
            import numpy  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise NotPlain("it sent a numpy array, and the tests have no numpy") from None
        if kind.lstrip("<>|=")[:1] not in "biufcSU":
            raise ValueError(f"no array of numbers or texts: {kind!r:.50}")
        return numpy.array(items, dtype=kind)


def _run(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    value = function(*args, **kwargs)
    if not inspect.iscoroutine(value):
        return value
    import asyncio  # slow to import, and few tests want it

    results: list[Any] = []  # this thread may be within an event loop, which cannot run another
    thread = threading.Thread(target=lambda: results.append(asyncio.run(value)))
    thread.start()
    thread.join()
    return results[0]


def _build(kind: type[BaseException], args: tuple[Any, ...], text: str) -> BaseException:
    if issubclass(kind, ErrorStandIn):
        error = kind.__new__(kind, *args)
        error.args = args
        error.__dict__["_standin_text"] = text
        return error
    for values in (args, (text,), ()):
        try:
            if kind.__module__ == "builtins":
                return kind(*values)
            error = kind.__new__(kind, *values)  # its own __init__ may want what is not here
            error.args = values
            return error
        except (TypeError, ValueError):
            continue
    return RuntimeError(text)


def _stdlib_error(module: str, name: str) -> type[Exception] | None:
    if not (isinstance(module, str) and module.partition(".")[0] in STDLIB_ERRORS):
        return None
    found = getattr(importlib.import_module(module), name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def _stdlib_name(value: Any) -> list[str] | None:
    """Return where a function or class of the standard library is found, if it is one."""
    if not (isinstance(value, type) or callable(value)):
        return None
    try:
        module, name = value.__module__, value.__qualname__
        if type(module) is not str or module.partition(".")[0] not in sys.stdlib_module_names:
            return None
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
    except Exception:
        return None
    return [module, name] if found is value else None


def _is_iterator(value: Any) -> bool:
    return isinstance(value, Iterator) and hasattr(value, "__next__")


_KNOWN = (Counter, OrderedDict, defaultdict, deque)
_VIEWS: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "$keys": lambda items: items.keys(),
    "$values": lambda items: items.values(),
    "$items": lambda items: items.items(),
}
