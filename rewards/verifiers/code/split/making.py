"""Make the stand-ins of classes: which special methods they have, and when those may be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewards.verifiers.code.split.exchange import BINARY, COMPARE, NUMBERS, OPERATORS
from rewards.verifiers.code.split.standins import (
    ClassStandIn,
    CoroutineStandIn,
    Documentation,
    ErrorStandIn,
    Stand,
    StandIn,
    SubStandIn,
    plain_base,
)

FREE = {
    *("__str__", "__repr__", "__format__", "__bytes__", "__bool__", "__call__", "__next__"),
    *("__enter__", "__exit__", "__await__", "__aiter__", "__anext__", "__aenter__", "__aexit__"),
    "__fspath__",
}
"""Special methods that any object may have: what they return stands for nothing but itself."""
MEASURED = {f"__{name}__" for name in NUMBERS.split()}
MIXED = {f"__{prefix}{name}__" for name in BINARY.split() for prefix in ("", "r", "i")} | {*COMPARE}


def make_class(
    session: Stand, number: int, name: str, bases: list[Any], special: list[str]
) -> ClassStandIn:
    """Make the stand-in of a class from what the program claims of it."""
    if type(number) is not int or type(name) is not str or len(name) > 1000:
        raise ValueError("no class")
    known = frozenset(special) & OPERATORS
    mixin: type = CoroutineStandIn if name == "coroutine" else StandIn
    parents: list[type] = [b for b in bases if isinstance(b, type) and issubclass(b, StandIn)]
    if errors := [b for b in bases if isinstance(b, type) and issubclass(b, BaseException)]:
        mixin, parents = ErrorStandIn, list(errors)
        if not issubclass(errors[0], (Exception, SystemExit)):
            parents = [Exception]
    space: dict[str, Any] = {
        "__module__": "solution",
        "__doc__": Documentation(),
        "_standin_session": session,
        "_standin_class_number": number,
        "_standin_special": known,
        "_standin_base": next((plain_base(b) for b in bases if plain_base(b)), None),
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


def _method(name: str) -> Callable[..., Any]:
    def method(self: StandIn, *args: Any) -> Any:
        __tracebackhide__ = True
        session, kind = self._standin_session, type(self)
        is_iterator = name == "__iter__" and "__next__" in self._standin_special
        if not (name in FREE or is_iterator or session.is_named(kind)):
            raise session.cannot(
                f"{name} of {kind.__name__}, a class that the tests do not use as one, is not asked"
                " for (an object could answer what the test wants to hear)"
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
