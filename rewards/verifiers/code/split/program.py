"""The model's side: loads solution.py and does what the process of the tests asks.

Everything in here shares a process with the model's code, so what it sends is a claim and nothing
in here protects anything: it serves honest programs well, and dishonest ones are no worse served.
"""

from __future__ import annotations

import builtins
import copy
import functools
import importlib
import io
import json
import math
import operator
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from rewards.verifiers.code.split.exchange import OPERATORS, Exchange, defined_operators
from rewards.verifiers.code.split.wire import Broken, Frame, Link
from rewards.verifiers.code.values import Encoder, NotPlain

IMMUTABLE: dict[type, Callable[[Any], Any]] = {
    int: int.__index__,
    float: float.__pos__,
    str: str.__str__,
    tuple: lambda value: tuple(tuple.__iter__(value)),
    bytes: bytes,
    frozenset: frozenset,
}
MUTABLE = (list, dict, set, bytearray)
COLLECTIONS = ("Counter", "OrderedDict", "defaultdict", "deque")
VIEWS = {type({}.keys()): "$keys", type({}.values()): "$values", type({}.items()): "$items"}
MAX_PRINTED = 1 << 20


class Program(Exchange):
    """The model's module, and what of it the tests hold handles to."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.link = Link(self.serve)
        self.printed = [_Printed(1), _Printed(2)]
        self.named: set[str] = set()
        self.module = types.ModuleType("solution")
        self._handles: dict[int, Any] = {}
        self._keys: dict[Any, int] = {}
        self._described: set[int] = set()
        self._classes: list[Any] = []
        self._callbacks: dict[Any, int] = {}
        self._loop: Any = None
        self._doubles: dict[int, Any] = {}
        self._warned: list[Any] = []
        self._originals: dict[tuple[str, str], Any] = {}

    def serve(self, frame: Frame) -> Frame:
        """Do one thing and return the reply."""
        borrowed: dict[int, str] = {}
        try:
            values, borrowed = self.borrow(frame.get("args", []))
            reply = self._do(frame["op"], values)
        except NotPlain as error:
            reply = {"cannot": str(error)}
        except RecursionError as error:
            reply = self._raised(error)
        return self._complete(reply, borrowed)

    def _do(self, action: str, values: list[Any]) -> Frame:
        try:
            value = ACTIONS[action](self, *values)
        except Broken:
            os._exit(0)
        except BaseException as error:
            return self._raised(error)
        try:
            return {"value": self.encode(value)}
        except RecursionError:
            return {"cannot": "a value is nested too deeply"}

    def _raised(self, error: BaseException) -> Frame:
        if isinstance(error, _Syntax):
            return {"syntax": str(error)}
        return {"raise": self.encode(error)}

    def _complete(self, reply: Frame, borrowed: dict[int, str] | None = None) -> Frame:
        """Add to a frame what was changed, described and printed since the last."""
        if borrowed:
            try:
                reply["changed"] = self.give_back(borrowed)
            except (NotPlain, RecursionError) as error:
                reply = {"cannot": f"an argument was changed into what cannot cross: {error}"}
            self.forget(borrowed)
        printed = [stream.take() for stream in self.printed]
        if any(printed):
            reply["printed"] = printed
        if self._warned:
            reply["warned"], self._warned = [self.encode(w) for w in self._warned], []
        if self._classes:
            reply["classes"], self._classes = self._classes, []
        return reply

    def ask(self, operation: str, *values: Any) -> Any:
        """Ask the tests' side for something: a callback, or a line of input."""
        data, lent = self.lend(list(values))
        reply = self.link.ask(self._complete({"op": operation, "args": data}))
        self.take_back(lent, reply.get("changed", ()))
        value = self.decode(reply.get("raise", reply.get("value")))
        self.forget(lent)
        if "raise" in reply:
            raise value
        if "cannot" in reply:
            raise TypeError(reply["cannot"])
        return value

    # What crosses to the tests.

    def special(self, value: Any) -> Any:
        """Encode functions, classes and instances as handles."""
        if (known := super().special(value)) is not None:
            return known
        kind = type(value)
        if isinstance(value, type):
            return self._class(value)
        if kind in VIEWS:
            items = dict(value) if VIEWS[kind] == "$items" else dict.fromkeys(value)
            if VIEWS[kind] == "$values":
                items = dict(enumerate(value))
            return {VIEWS[kind]: self.encode(items)}
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

    # What comes from the tests.

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
            from collections import namedtuple

            name, fields, items = content
            return namedtuple(name, fields)(*self.decode(items))
        return super().tagged(tag, content)

    def _callback(self, number: int, name: str, text: str | None, is_async: bool) -> Any:
        def callback(*args: Any, **kwargs: Any) -> Any:
            return self.ask("callback", number, list(args), kwargs)

        async def async_callback(*args: Any, **kwargs: Any) -> Any:
            return self.ask("callback", number, list(args), kwargs)

        function = async_callback if is_async else callback
        function.__name__ = function.__qualname__ = name
        function.__doc__ = text
        self._callbacks[id(function)] = number
        self._keep(function)  # so that no other object gets its id
        return function

    def _double(self, number: int, name: str, special: list[str]) -> Any:
        if number not in self._doubles:
            space = {n: _forward(n) for n in special if n != "__hash__"}
            made = type(name, (_Double,), {"__hash__": object.__hash__, **space})(self, number)
            self._callbacks[id(made)] = number
            self._doubles[number] = made
        return self._doubles[number]

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

    # What can be asked for.

    def load(self, named: list[str]) -> None:
        """Run solution.py."""
        self.named = set(named)
        sys.stdout, sys.stderr = (stream.text for stream in self.printed)
        sys.stdin = _Asking(self)
        builtins.input = functools.partial(_input, self)
        warnings.simplefilter("always")
        warnings.showwarning = self._warn
        with open("solution.py", "rb") as file:
            source = file.read()
        try:
            code = compile(source, os.path.abspath("solution.py"), "exec", dont_inherit=True)
        except BaseException as error:
            raise _Syntax(f"{type(error).__name__}: {error}") from None
        self.module.__file__ = code.co_filename
        sys.modules["solution"] = self.module
        exec(code, self.module.__dict__)
        return None

    def _warn(self, message: Any, *_: Any) -> None:
        self._warned.append(message)

    def patch(self, module: str, name: str, value: Any) -> None:
        """Replace something of the standard library, as the tests did on their side."""
        space = importlib.import_module(module)
        self._originals.setdefault((module, name), getattr(space, name))
        setattr(space, name, value)

    def unpatch(self, module: str, name: str) -> None:
        """Put back what was replaced."""
        setattr(sys.modules[module], name, self._originals.pop((module, name)))

    def environ(self, changed: dict[str, str], gone: list[str]) -> None:
        """Change environment variables, as the tests did on their side."""
        os.environ.update(changed)
        for name in gone:
            os.environ.pop(name, None)

    def get_global(self, name: str) -> Any:
        """Return an attribute of the model's module."""
        return getattr(self.module, name)

    def wait(self, awaitable: Any) -> Any:
        """Run a coroutine to its end."""
        if self._loop is None:
            import asyncio  # slow to import, and few programs want it

            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(_finish(awaitable))

    def leave(self, manager: Any, error: BaseException | None) -> Any:
        """Leave a context manager."""
        return type(manager).__exit__(manager, type(error) if error else None, error, None)

    def leave_async(self, manager: Any, error: BaseException | None) -> Any:
        """Leave an asynchronous context manager."""
        kind = type(error) if error else None
        return self.wait(type(manager).__aexit__(manager, kind, error, None))

    def content(self, value: Any) -> Any:
        """Return the content of an instance of a subclass of list, dict, set or bytearray."""
        for kind in MUTABLE:
            if isinstance(value, kind):
                return kind(kind.__iter__(value)) if kind is not dict else dict(dict.items(value))
        return None

    def state(self, value: Any) -> str:
        """Return the attributes of an object, and of those that it leads to, as JSON."""
        return json.dumps(_Graph(value).nodes)


class _Syntax(Exception):
    """The model's code does not compile."""


class _Double:
    """An object of the tests: what it can do, it does over there."""

    def __init__(self, program: Program, number: int) -> None:
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


async def _finish(awaitable: Any) -> Any:
    return await awaitable


def _input(program: Program, prompt: object = "") -> Any:
    return program.ask("input", str(prompt))


class _Asking(io.TextIOBase):
    """Standard input, which the process of the tests has."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def read(self, size: int | None = -1, /) -> Any:
        """Read text."""
        return self._program.ask("read", -1 if size is None else size)

    def readline(self, size: int = -1, /) -> Any:  # type: ignore[override]
        """Read a line."""
        return self._program.ask("readline", size)


class _Printed(io.RawIOBase):
    """Output that goes along with the replies, and where the job's output is counted too."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._data = bytearray()
        self.text = io.TextIOWrapper(self, encoding="utf-8", write_through=True)  # type: ignore[type-var]

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any, /) -> int:
        """Keep the data, and write it where the sandbox counts it."""
        written = os.write(self._descriptor, data)
        self._data += bytes(data)[: min(written, max(0, MAX_PRINTED - len(self._data)))]
        return written

    def take(self) -> str:
        """Return what was written since the last time."""
        data, self._data = self._data, bytearray()
        return data.decode("utf-8", "replace")


class _Graph(Encoder):
    """The attributes of objects as a list of [class, fields], with numbers where one has another.

    Breadth first and not recursive: a linked list is as deep as it is long.
    """

    def __init__(self, root: Any) -> None:
        self._objects = [root]
        self._numbers = {id(root): 0}
        self.nodes: list[list[Any]] = []
        for value in self._objects:  # grows meanwhile
            self.nodes.append([type(value).__name__, self._fields(value)])

    def _fields(self, value: Any) -> Any:
        fields = _attributes(value)
        for kind in MUTABLE:
            if isinstance(value, kind):
                fields = {**fields, "": kind(value)}
        return [[name, self.encode(fields[name])] for name in sorted(fields)]

    def other(self, value: Any) -> Any:
        return self._node(value)

    def special(self, value: Any) -> Any:
        if type(value).__module__ in ("builtins", "collections", "decimal", "fractions"):
            return None
        return self._node(value) if hasattr(value, "__dict__") else None

    def _node(self, value: Any) -> Any:
        if not _attributes(value):
            return {"$record": [type(value).__name__, {}]}
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return {"$record": ["", {"at": self._numbers[id(value)]}]}


def _attributes(value: Any) -> dict[str, Any]:
    if isinstance(value, (type, types.ModuleType, types.FunctionType, types.MethodType)):
        return {}
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields:
        return {n: getattr(value, n, None) for n, field in fields.items() if field.compare}
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def _operators() -> dict[str, Callable[..., Any]]:
    table: dict[str, Callable[..., Any]] = {}
    for name in OPERATORS:
        plain = name.strip("_")
        if (function := vars(operator).get(name)) is not None:
            table[name] = function
        elif plain[0] == "r" and f"__{plain[1:]}__" in vars(operator):
            table[name] = functools.partial(_reflected, getattr(operator, f"__{plain[1:]}__"))
        elif hasattr(builtins, plain):
            table[name] = getattr(builtins, plain)
        elif hasattr(math, plain):
            table[name] = getattr(math, plain)
    return {
        **table,
        "__rdivmod__": functools.partial(_reflected, divmod),
        "__enter__": lambda manager: type(manager).__enter__(manager),
        "__call__": lambda function, args, kwargs: function(*args, **kwargs),
        "__fspath__": os.fspath,
    }


def _is_stdlib(kind: type) -> bool:
    return str(kind.__module__).partition(".")[0] in sys.stdlib_module_names


def _reflected(function: Callable[[Any, Any], Any], right: Any, left: Any) -> Any:
    return function(left, right)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda program, *values: function(*values)


ACTIONS: dict[str, Callable[..., Any]] = {
    **{name: _plain(function) for name, function in _operators().items()},
    "get": _plain(getattr),
    "set": _plain(setattr),
    "delete": _plain(delattr),
    "dir": _plain(dir),
    "own": _plain(lambda owner, name: vars(owner)[name]),
    "own_names": _plain(lambda owner: list(vars(owner))),
    "copy": _plain(copy.copy),
    "deepcopy": _plain(copy.deepcopy),
    "load": Program.load,
    "patch": Program.patch,
    "unpatch": Program.unpatch,
    "environ": Program.environ,
    "global": Program.get_global,
    "module": lambda program: program.module,
    "content": Program.content,
    "state": Program.state,
    "__exit__": Program.leave,
    "__aexit__": Program.leave_async,
    "__await__": Program.wait,
    "__aenter__": lambda program, manager: program.wait(type(manager).__aenter__(manager)),
    "__anext__": lambda program, iterator: program.wait(type(iterator).__anext__(iterator)),
    "__aiter__": lambda program, iterable: type(iterable).__aiter__(iterable),
}


def main() -> None:
    """Serve the tests until they are done."""
    try:
        Program().link.serve_until_end()
    except Broken:
        os._exit(0)
