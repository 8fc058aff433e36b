"""How values cross from the program to the tests and back, as the program's side sees it."""

from __future__ import annotations

import builtins
import importlib
import operator
import sys
import types
from collections import namedtuple
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from typing import Any

from rewards.verifiers.code.split.exchange import Exchange, defined_operators
from rewards.verifiers.code.split.state import MUTABLE
from rewards.verifiers.code.values import Encoder

IMMUTABLE: dict[type, Callable[[Any], Any]] = {
    int: int.__index__,
    float: float.__pos__,
    str: str.__str__,
    tuple: lambda value: tuple(tuple.__iter__(value)),
    bytes: bytes,
    frozenset: frozenset,
}
EXACT = {int, float, complex, bytes, list, tuple, dict, set, frozenset}
COLLECTIONS = ("Counter", "OrderedDict", "defaultdict", "deque")
VIEWS: dict[type, tuple[str, Callable[[Any], dict[Any, Any]]]] = {
    KeysView: ("$keys", dict.fromkeys),
    ValuesView: ("$values", lambda values: dict(enumerate(values))),
    ItemsView: ("$items", dict),
}


class Handles(Exchange):
    """Plain data crosses as a copy; of everything else the tests get a handle."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.named: set[str] = set()
        """The names that the tests use as classes."""
        self._handles: dict[int, Any] = {}
        self._keys: dict[Any, int] = {}
        self._described: set[int] = set()
        self._classes: list[Any] = []
        self._callbacks: dict[int, int] = {}
        self._lent: dict[int, Any] = {}

    def ask(self, operation: str, *values: Any) -> Any:
        """Ask the tests' side for something: a callback, or a line of input."""
        raise NotImplementedError

    def take_descriptions(self) -> list[Any]:
        """Return the classes that were mentioned for the first time since the last call."""
        taken, self._classes = self._classes, []
        return taken

    def special(self, value: Any) -> Any:
        """Encode functions, classes and instances as handles."""
        if (known := super().special(value)) is not None:
            return known
        kind = type(value)
        if kind in EXACT:
            return None
        if isinstance(value, type):
            return self._class(value)
        for view, (tag, as_dict) in VIEWS.items():
            if isinstance(value, view):
                return {tag: self.encode(as_dict(value))}
        if (number := self._callbacks.get(id(value))) is not None:
            return {"$callback": number}
        if kind.__module__ in ("builtins", "numpy", "decimal", "fractions", "datetime"):
            return None
        if kind.__module__ == "collections" and kind.__name__ in COLLECTIONS:
            return None
        for base, plain in IMMUTABLE.items():
            if isinstance(value, base):
                return {"$sub": [Encoder.encode(self, plain(value)), *self._handle(value)]}
        if isinstance(value, MUTABLE) and kind.__name__ not in self.named:
            return None
        return {"$handle": self._handle(value)}

    def other(self, value: Any) -> Any:
        """Encode what is no data as a handle."""
        return {"$handle": self._handle(value)}

    def _handle(self, value: Any) -> list[int]:
        number = self._keep(value)
        return [number, self._describe(type(value))]

    def _keep(self, value: Any) -> int:
        key: Any = id(value)
        if isinstance(value, types.MethodType):  # made anew at each access
            key = (id(value.__self__), id(value.__func__))
        number = self._keys.setdefault(key, len(self._keys))
        self._handles.setdefault(number, value)
        return number

    def _class(self, kind: type) -> Any:
        if getattr(builtins, kind.__name__, None) is kind:
            return {"$builtin": kind.__name__}
        if issubclass(kind, BaseException) and _is_stdlib(kind):
            return {"$stdlib": [kind.__module__, kind.__name__, self._describe(kind)]}
        return {"$class": self._describe(kind)}

    def _describe(self, kind: type) -> int:
        number = self._keep(kind)
        if number in self._described:
            return number
        self._described.add(number)
        bases = [self._class(base) for base in kind.__bases__ if base is not object]
        self._classes.append([number, kind.__name__, bases, defined_operators(kind)])
        return number

    def tagged(self, tag: str, content: Any) -> Any:
        """Decode handles, callbacks, and what is known by name on both sides."""
        if tag == "$handle":
            return self._handles[content]
        if tag == "$callback":
            return self._callback(*content)
        if tag == "$double":
            return self._double(*content)
        if tag == "$iterator":
            return self._iterate(content)
        if tag == "$import":
            module, name = content
            return operator.attrgetter(name)(importlib.import_module(module))
        if tag == "$namedtuple":
            name, fields, items = content
            return namedtuple(name, fields)(*self.decode(items))
        return super().tagged(tag, content)

    def _callback(self, number: int, name: str, text: str | None, is_async: bool) -> Any:
        if number in self._lent:
            return self._lent[number]

        def callback(*args: Any, **kwargs: Any) -> Any:
            return self.ask("callback", number, list(args), kwargs)

        async def async_callback(*args: Any, **kwargs: Any) -> Any:
            return self.ask("callback", number, list(args), kwargs)

        function = async_callback if is_async else callback
        function.__name__ = function.__qualname__ = name
        function.__doc__ = text
        return self._remember(number, function)

    def _remember(self, number: int, made: Any) -> Any:
        self._lent[number], self._callbacks[id(made)] = made, number
        return made

    def _double(self, number: int, name: str, special: list[str]) -> Any:
        if number in self._lent:
            return self._lent[number]
        space = {n: _forward(n) for n in special if n != "__hash__"}
        kind = type(name, (_Double,), {"__hash__": object.__hash__, **space})
        return self._remember(number, kind(self, number))

    def _iterate(self, number: int) -> Iterator[Any]:
        while item := self.ask("callback", number, [], {}):
            yield item[0]

    def make_error(
        self, number: int, kind: Any, args: Any, text: Any, attributes: Any, cause: Any
    ) -> BaseException:
        """Rebuild an exception of the tests; one of a class of theirs as its built-in base."""
        error: BaseException = kind.__new__(kind, *args)
        error.args = tuple(args)
        vars(error).update(attributes)
        error.__cause__ = cause
        return error


class _Double:
    """An object of the tests: what it can do, it does over there."""

    def __init__(self, program: Handles, number: int) -> None:
        vars(self).update(_program=program, _number=number)

    def __getattr__(self, name: str) -> Any:
        return self._program.ask("double", self._number, "get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._program.ask("double", self._number, "set", name, value)


def _forward(name: str) -> Callable[..., Any]:
    def method(self: _Double, *args: Any) -> Any:
        return self._program.ask("double", self._number, name, *args)

    def call(self: _Double, *args: Any, **kwargs: Any) -> Any:
        return self._program.ask("callback", self._number, list(args), kwargs)

    return call if name == "__call__" else method


def _is_stdlib(kind: type) -> bool:
    return str(kind.__module__).partition(".")[0] in sys.stdlib_module_names
