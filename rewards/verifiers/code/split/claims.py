"""How values cross from the tests to the program and back, as the tests' side sees it.

Nothing that arrives is run, unpickled or evaluated here: it becomes plain data, a stand-in, an
exception of a known class, or an error that says what is wrong with it.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import io
import itertools
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

from rewards.verifiers.code.split.exchange import Exchange, defined_operators
from rewards.verifiers.code.split.making import make_class, make_sub
from rewards.verifiers.code.split.standins import (
    SHARED,
    CannotCross,
    ClassStandIn,
    ErrorStandIn,
    Stand,
    StandIn,
    SubStandIn,
)
from rewards.verifiers.code.values import NotPlain

STDLIB_ERRORS = (
    "json decimal dataclasses queue _queue re struct statistics asyncio concurrent csv _csv"
    " configparser subprocess copy graphlib argparse sqlite3 zoneinfo http urllib zlib binascii"
)
"""Packages whose exceptions a claim may name. None that a test runner takes for a verdict."""
DATA_MODULES = ("builtins", "decimal", "fractions", "datetime")
FUNCTIONS = (
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.MethodWrapperType, functools.partial, type),
)
NO_DOUBLES = {"_pytest", "pytest", *sys.stdlib_module_names}
"""Objects of these packages are no test doubles, but for mocks and simple namespaces."""
COLLECTIONS = (Counter, OrderedDict, defaultdict, deque)
VIEWS: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "$keys": lambda items: items.keys(),
    "$values": lambda items: items.values(),
    "$items": lambda items: items.items(),
}


class Claims(Exchange):
    """Plain data is copied; functions and objects of the tests are lent by number."""

    def __init__(self) -> None:
        super().__init__(1)
        self.trouble = ""
        """What could not cross, if anything could not."""
        self._classes: dict[int, ClassStandIn] = {}
        self._objects: dict[int, StandIn] = {}
        self._lent: list[Any] = []
        self._lent_numbers: dict[int, int] = {}

    def cannot(self, what: str) -> CannotCross:
        """Return the error that says what does not cross."""
        self.trouble = self.trouble or what
        return CannotCross(f"{what}; {SHARED}")

    def stand(self) -> Stand:
        """Return what stand-ins ask."""
        raise NotImplementedError

    def describe(self, classes: Any) -> None:
        """Make stand-ins of classes from what the program says of them; the first word counts."""
        for number, name, bases, special in classes:
            known = [self.decode(base) for base in bases]
            if number not in self._classes:
                self._classes[number] = make_class(self.stand(), number, name, known, special)

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
        if kind.__module__ == "numpy" or (kind.__module__ == "collections" and kind in COLLECTIONS):
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
        number = self._lent_numbers.setdefault(id(function), len(self._lent))
        if number == len(self._lent):
            self._lent.append(function)
        name = getattr(function, "__name__", type(function).__name__)
        text = getattr(function, "__doc__", None)
        is_async = inspect.iscoroutinefunction(function)
        return [number, str(name), text if isinstance(text, str) else None, is_async]

    def other(self, value: Any) -> Any:
        """Refuse what is neither data nor callable."""
        raise self.cannot(f"an argument of type {type(value).__name__} cannot cross")

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
            return self._lent[content]
        if tag in VIEWS:
            return VIEWS[tag](self.decode(content))
        return super().tagged(tag, content)

    def _object(self, number: int, kind: int) -> StandIn:
        known = self._objects.get(number)
        if known is None:
            if type(number) is not int:
                raise ValueError(f"no handle: {number!r:.50}")
            made: type[Any] = self._classes[kind]
            known = self._objects[number] = object.__new__(made)
            object.__setattr__(known, "_standin_number", number)
        return known

    def make_error(
        self, number: int, kind: Any, args: Any, text: Any, attributes: Any, cause: Any
    ) -> BaseException:
        """Build a claimed exception, of a built-in class or of a stand-in that has one as base."""
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError("no exception class")
        if not issubclass(kind, (Exception, SystemExit)):
            kind, args = RuntimeError, [f"the program raised {kind.__name__}: {text}"[:500]]
        error = _build(kind, tuple(args), str(text))
        for name, value in dict(attributes).items():
            if str.isidentifier(name) and not name.startswith("_"):
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


def _build(kind: type[BaseException], args: tuple[Any, ...], text: str) -> BaseException:
    error: BaseException
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
    if not (isinstance(module, str) and module.partition(".")[0] in STDLIB_ERRORS.split()):
        return None
    # Not imported: tests that speak of it have done that, and some modules do things then.
    found = getattr(sys.modules.get(module), name, None)
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
