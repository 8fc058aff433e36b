"""What the tests change in their own process and mean for the program's.

`monkeypatch.setattr(time, "sleep", ...)`, `mock.patch("builtins.print")` and `setenv` know nothing
of the other process. So before each request the modules that are commonly patched are compared with
what they were, and what was put in or taken out follows over there.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

MODULES = [
    "builtins",
    "time",
    "random",
    "os",
    "datetime",
    "uuid",
    "secrets",
    "math",
    "json",
    "shutil",
    "subprocess",
    "socket",
]
ASKED = {("builtins", "input"), ("os", "environ")}
"""Not carried over: the one asks the tests anyhow, the other is compared by content."""

Send = Callable[..., Any]


class Patches:
    """What is patched here, and of that what the other side knows."""

    def __init__(self) -> None:
        modules = {name: importlib.import_module(name) for name in MODULES}
        self._spaces = {name: vars(module) for name, module in modules.items()}
        self._before = {name: dict(space) for name, space in self._spaces.items()}
        self._sent: dict[tuple[str, str], Any] = {}
        self._environment = self._environ()

    def carry_over(self, send: Send) -> None:
        """Send what has changed since the last time: `send(action, *values)`."""
        for module, before in self._before.items():
            now = self._spaces[module]
            if now == before and not self._sent:
                continue
            for name, original in before.items():
                value = now.get(name)
                if value is not original or (module, name) in self._sent:
                    self._carry(send, (module, name), value, original)
        environment = self._environ()
        if environment != self._environment:
            old, self._environment = self._environment, environment
            gone = [name for name in old if name not in environment]
            send("environ", {k: v for k, v in environment.items() if old.get(k) != v}, gone)

    def _carry(self, send: Send, place: tuple[str, str], value: Any, original: Any) -> None:
        if place in ASKED or value is self._sent.get(place, original):
            return
        if value is original:
            del self._sent[place]
            send("unpatch", *place)
        else:
            self._sent[place] = value
            send("patch", *place, value)

    def _environ(self) -> dict[str, str]:
        return {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
