"""The model's side: loads solution.py and does what the process of the tests asks.

Everything in here shares a process with the model's code, so what it sends is a claim and nothing
in here protects anything: it serves honest programs well, and dishonest ones are no worse served.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

from rewards.verifiers.code.split.actions import ACTIONS
from rewards.verifiers.code.split.handles import Handles
from rewards.verifiers.code.split.streams import Asking, Printed
from rewards.verifiers.code.split.wire import Broken, Frame, Link
from rewards.verifiers.code.values import NotPlain


class Program(Handles):
    """The model's module, and what can be asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.link = Link(self.serve)
        self.module = types.ModuleType("solution")
        self._printed = [Printed(1), Printed(2)]
        self._warned: list[Any] = []
        self._originals: dict[tuple[str, str], Any] = {}
        self._loop: Any = None
        self._actions: dict[str, Callable[..., Any]] = {
            **ACTIONS,
            "load": self.load,
            "module": lambda: self.module,
            "global": lambda name: getattr(self.module, name),
            "patch": self.patch,
            "unpatch": self.unpatch,
            "environ": self.environ,
            "__await__": self.wait,
            "__aenter__": lambda manager: self.wait(type(manager).__aenter__(manager)),
            "__aexit__": self.leave,
            "__anext__": lambda iterator: self.wait(type(iterator).__anext__(iterator)),
        }

    def serve(self, frame: Frame) -> Frame:
        """Do one thing and return the reply."""
        borrowed: dict[int, str] = {}
        try:
            values, borrowed = self.borrow(frame.get("args", []))
            reply = self._do(frame["op"], values)
        except NotPlain as error:
            reply = {"cannot": str(error)}
        except RecursionError as error:
            reply = {"raise": self.encode(error)}
        return self._complete(reply, borrowed)

    def _do(self, action: str, values: list[Any]) -> Frame:
        try:
            value = self._actions[action](*values)
        except Broken:
            os._exit(0)
        except BaseException as error:
            return {"raise": self.encode(error)}
        try:
            return {"value": self.encode(value)}
        except RecursionError:
            return {"cannot": "a value is nested too deeply"}

    def _complete(self, reply: Frame, borrowed: dict[int, str] | None = None) -> Frame:
        """Add to a frame what was changed, described and printed since the last."""
        if borrowed:
            try:
                reply["changed"] = self.give_back(borrowed)
            except (NotPlain, RecursionError) as error:
                reply = {"cannot": f"an argument was changed into what cannot cross: {error}"}
            self.forget(borrowed)
        printed = [stream.take() for stream in self._printed]
        if any(printed):
            reply["printed"] = printed
        if self._warned:
            reply["warned"], self._warned = [self.encode(w) for w in self._warned], []
        if described := self.take_descriptions():
            reply["classes"] = described
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

    def load(self, named: list[str]) -> str | None:
        """Run solution.py; return why it does not compile, if it does not."""
        self.named = set(named)
        sys.stdout, sys.stderr = (stream.text for stream in self._printed)
        sys.stdin = Asking(self.ask)
        builtins.input = lambda prompt="": self.ask("input", str(prompt))
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: self._warned.append(message)
        with open("solution.py", "rb") as file:
            source = file.read()
        try:
            code = compile(source, os.path.abspath("solution.py"), "exec", dont_inherit=True)
        except BaseException as error:
            return f"{type(error).__name__}: {error}"
        self.module.__file__ = code.co_filename
        sys.modules["solution"] = self.module
        exec(code, self.module.__dict__)
        return None

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

    def wait(self, awaitable: Any) -> Any:
        """Run a coroutine to its end."""
        if self._loop is None:
            import asyncio  # slow to import, and few programs want it

            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(_finish(awaitable))

    def leave(self, manager: Any, error: BaseException | None) -> Any:
        """Leave an asynchronous context manager."""
        kind = type(error) if error else None
        return self.wait(type(manager).__aexit__(manager, kind, error, None))


async def _finish(awaitable: Any) -> Any:
    return await awaitable


def main() -> None:
    """Serve the tests until they are done."""
    try:
        Program().link.serve_until_end()
    except Broken:
        os._exit(0)
