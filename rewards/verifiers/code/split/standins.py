"""Stand-ins: what the tests hold in place of the program's classes, instances and functions.

A stand-in has the attributes and methods of what it stands for, by asking. Of the special methods
it has those that the other's class has, under three rules that keep an object from passing for the
value that a test expects, whatever it says of itself:

1. It never equals plain data, and equals another only if both are of one class that defines
   equality and claim the same attributes, at least one.
2. Container and operator protocols work on objects whose class the tests treat as a class.
3. An operator that would show a value of the tests to the object, and turn it into plain data,
   works only on objects that the tests made themselves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Protocol

from rewards.verifiers.code.split.exchange import BINARY, COMPARE, NUMBERS, OPERATORS

SHARED = '"isolation": "shared" runs tests and program in one process'
FREE = {
    *("__str__", "__repr__", "__format__", "__bytes__", "__bool__", "__call__", "__next__"),
    *("__enter__", "__exit__", "__await__", "__aiter__", "__anext__", "__aenter__", "__aexit__"),
    "__fspath__",
}
"""Special methods that any object may have: what they return stands for nothing but itself."""
MEASURED = {f"__{name}__" for name in NUMBERS}
MIXED = {f"__{prefix}{name}__" for name in BINARY for prefix in ("", "r", "i")} | {*COMPARE}
LOCAL = {
    *("__test__", "pytestmark", "_pytestfixturefunction", "__wrapped__", "__unittest_skip__"),
    *("__unittest_expecting_failure__", "__tracebackhide__", "_fixture_function_marker"),
    *("__path__", "__spec__", "__loader__", "__set_name__", "__get__", "__signature__"),
}
"""Attributes by which test runners and the interpreter are steered: never the program's."""
SOURCE = ("__file__", "__code__", "__globals__", "__closure__")
PLAIN = (int, float, str, bytes, bytearray, complex, list, tuple, dict, set, frozenset, type(None))
PLAIN_BASES = (list, dict, set, bytearray)


class ProgramGone(BaseException):
    """The program's process is no more; no test may take this for an exception of the program."""


class CannotCross(BaseException):
    """Something cannot cross between the processes; the message says what, and what to do."""


class Stand(Protocol):
    """What stand-ins need of a session."""

    def ask(self, action: str, *values: Any) -> Any:
        """Have the program do something."""

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call something of the program's."""

    def is_named(self, kind: type) -> bool:
        """Whether the tests treat a class as a class."""

    def is_made(self, value: StandIn) -> bool:
        """Whether the tests made an object themselves."""

    def state(self, value: StandIn) -> Any:
        """Return the attributes of an object."""

    def cannot(self, what: str) -> CannotCross:
        """Return the error that says what does not cross."""


class _Documentation:
    """The docstring, asked for when somebody looks."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return owner._standin_session.ask("get", owner if instance is None else instance, "__doc__")


class Names(Mapping[str, Any]):
    """The `__dict__` of a class or module, by which patches are undone."""

    def __init__(self, session: Stand, owner: Any) -> None:
        self._session, self._owner = session, owner

    def __getitem__(self, name: str) -> Any:
        return self._session.ask("own", self._owner, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._session.ask("own_names", self._owner))

    def __len__(self) -> int:
        return len(list(iter(self)))


class ClassStandIn(type):
    """The type of stand-ins for classes."""

    _standin_session: Stand
    _standin_class_number: int
    _standin_special: frozenset[str]

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> ClassStandIn:
        session = next(b for b in bases if type(b) is ClassStandIn)._standin_session
        raise session.cannot(f"class {name} of the tests cannot derive from the program's class")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return cls._standin_session.call(cls, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        __tracebackhide__ = True
        return _get(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._standin_session.ask("set", cls, name, value)

    def __delattr__(cls, name: str) -> None:
        cls._standin_session.ask("delete", cls, name)

    def __iter__(cls) -> Any:
        return cls._standin_session.ask("__iter__", cls)

    def __len__(cls) -> Any:
        return cls._standin_session.ask("__len__", cls)

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return cls._standin_session.ask("__getitem__", cls, key)

    def __contains__(cls, value: Any) -> Any:
        return cls._standin_session.ask("__contains__", cls, value)

    def __instancecheck__(cls, value: Any) -> bool:
        kind = type(value)
        return cls in kind.__mro__ or cls in getattr(kind, "_standin_class", int).__mro__

    def __dir__(cls) -> Any:
        return cls._standin_session.ask("dir", cls)

    @property
    def __dict__(cls) -> Any:  # type: ignore[override]
        return Names(cls._standin_session, cls)


class StandIn:
    """A stand-in for an object; its class is the stand-in for the object's class."""

    __slots__ = ("_standin_number",)
    _standin_session: Stand
    _standin_special: frozenset[str]
    _standin_number: int
    _standin_base: type | None = None

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        return _get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._standin_session.ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        self._standin_session.ask("delete", self, name)

    def __dir__(self) -> Any:
        return self._standin_session.ask("dir", self)

    def __copy__(self) -> Any:
        return self._standin_session.ask("copy", self)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._standin_session.ask("deepcopy", self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self._standin_session.cannot("an object of the program cannot be pickled")

    def __eq__(self, other: object) -> Any:
        if isinstance(other, StandIn):
            return self is other or _same(self, other)
        if not isinstance(other, PLAIN) or type(other).__module__ not in (
            "builtins",
            "collections",
        ):
            return NotImplemented  # a matcher of the tests, which decides itself
        if _plain_base(type(self)) and isinstance(other, _plain_base(type(self))):
            return self._standin_session.ask("content", self) == other
        return False

    def __hash__(self) -> int:
        if "__eq__" not in self._standin_special:
            return hash(self._standin_number)
        return hash(type(self)._standin_class_number)


class CoroutineStandIn(StandIn):
    """A coroutine of the program: awaited here, it runs to its end over there."""

    __slots__ = ()

    def send(self, value: Any) -> Any:
        """Run it."""
        raise StopIteration(self._standin_session.ask("__await__", self))

    def throw(self, *error: Any) -> Any:
        """Raise what was thrown: there is nowhere to throw it to."""
        raise error[0]

    def close(self) -> None:
        """Do nothing."""

    def __await__(self) -> Any:
        return self._standin_session.ask("__await__", self)
        yield


Coroutine.register(CoroutineStandIn)


class ErrorStandIn:
    """What stand-ins for exception classes have beside their built-in base."""

    _standin_session: Stand

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        if name in LOCAL or name.startswith("_standin"):
            raise AttributeError(name)
        return self._standin_session.ask("get", self, name)

    def __str__(self) -> str:
        return str(self.__dict__.get("_standin_text", ""))


class SubStandIn:
    """What an instance of a subclass of int, str, tuple... has beside its plain value."""

    _standin_session: Stand
    _standin_number: int

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        return _get(self, name)


def make_class(
    session: Stand, number: int, name: str, bases: list[Any], special: list[str]
) -> ClassStandIn:
    """Make the stand-in of a class from what the program claims of it."""
    if type(number) is not int or type(name) is not str or len(name) > 1000:
        raise ValueError("no class")
    known = frozenset(special) & OPERATORS
    mixin: type = CoroutineStandIn if name == "coroutine" else StandIn
    parents = [b for b in bases if isinstance(b, type) and issubclass(b, StandIn)]
    if errors := [b for b in bases if isinstance(b, type) and issubclass(b, BaseException)]:
        mixin, parents = ErrorStandIn, errors
        if not issubclass(errors[0], (Exception, SystemExit)):
            parents = [Exception]
    space: dict[str, Any] = {
        "__module__": "solution",
        "__doc__": _Documentation(),
        "_standin_session": session,
        "_standin_class_number": number,
        "_standin_special": known,
        "_standin_base": next((_plain_base(b) for b in bases if _plain_base(b)), None),
    }
    if mixin is StandIn:
        space |= {"__slots__": (), **{n: _METHODS[n] for n in known if n in _METHODS}}
        if "__eq__" in known and "__hash__" not in known:
            space["__hash__"] = None
    kept = [*(() if any(issubclass(p, mixin) for p in parents) else (mixin,)), *parents]
    try:
        return type.__new__(ClassStandIn, name, tuple(kept), space)
    except TypeError:  # no order of its bases: the first alone then
        first = kept[:1] if issubclass(kept[0], (StandIn, BaseException)) else kept[:2]
        return type.__new__(ClassStandIn, name, tuple(first), space)


def make_sub(kind: ClassStandIn, number: int, value: Any) -> Any:
    """Make plain data that has further attributes by asking."""
    base = type(value)
    if base not in (int, float, str, bytes, tuple, frozenset) or type(number) is not int:
        raise ValueError("no plain data with attributes")
    space = {
        "_standin_session": kind._standin_session,
        "_standin_class": kind,
        "__module__": "solution",
    }
    made: Any = type(kind.__name__, (SubStandIn, base), space)(value)
    made.__dict__["_standin_number"] = number
    return made


def _get(subject: Any, name: str) -> Any:
    __tracebackhide__ = True
    if name in LOCAL or name.startswith("_standin"):
        raise AttributeError(f"{name} of a stand-in")
    session = subject._standin_session
    if name in SOURCE:
        raise AttributeError(f"{name}: the program's source cannot cross; {SHARED}")
    if name == "__dataclass_fields__":
        fields = session.ask("get", subject, name)
        return dataclasses.make_dataclass("Fields", list(fields)).__dataclass_fields__  # type: ignore[attr-defined]
    return session.ask("get", subject, name)


def _plain_base(kind: Any) -> Any:
    return kind if kind in PLAIN_BASES else getattr(kind, "_standin_base", None)


def _same(left: StandIn, right: StandIn) -> bool:
    if type(left) is not type(right) or "__eq__" not in left._standin_special:
        return False
    session = left._standin_session
    ours, theirs = session.state(left), session.state(right)
    return bool(ours and ours[0][1]) and bool(ours == theirs)


def _method(name: str) -> Callable[..., Any]:
    def method(self: StandIn, *args: Any) -> Any:
        __tracebackhide__ = True
        session, kind = self._standin_session, type(self)
        if name not in FREE and not (name == "__iter__" and "__next__" in self._standin_special):
            if not session.is_named(kind):
                raise session.cannot(
                    f"{name} of {kind.__name__}, a class that the tests do not use as one, is not"
                    " asked for (an object could answer what the test wants to hear)"
                )
        value = session.ask(name, self, *args)
        reveals = name in MEASURED or (
            name in MIXED and any(not isinstance(arg, StandIn) for arg in args)
        )
        if reveals and not isinstance(value, StandIn) and not session.is_made(self):
            raise session.cannot(
                f"{name} of an object of {kind.__name__} that the tests did not make is not"
                " believed (it could answer what the test wants to hear)"
            )
        return value

    method.__name__ = name
    return method


def _call(self: StandIn, *args: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    return self._standin_session.call(self, args, kwargs)


def _leave(name: str) -> Callable[..., Any]:
    def leave(self: StandIn, kind: Any, error: Any, trace: Any) -> Any:
        return self._standin_session.ask(name, self, error)

    return leave


def _awaiting(name: str) -> Callable[..., Any]:
    async def method(self: StandIn, *error: Any) -> Any:
        return self._standin_session.ask(name, self, *error[1:2])

    return method


_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _method(name) for name in OPERATORS if name not in ("__eq__", "__hash__")},
    "__call__": _call,
    "__exit__": _leave("__exit__"),
    **{name: _awaiting(name) for name in ("__aenter__", "__aexit__", "__anext__")},
}
