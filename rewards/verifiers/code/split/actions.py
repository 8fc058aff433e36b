"""What the tests' side can ask of the program's objects: attributes, and every operator."""

from __future__ import annotations

import builtins
import copy
import functools
import math
import operator
import os
from collections.abc import Callable
from typing import Any

from rewards.verifiers.code.split.exchange import OPERATORS
from rewards.verifiers.code.split.state import content, state


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


def _reflected(function: Callable[[Any, Any], Any], right: Any, left: Any) -> Any:
    return function(left, right)


def _leave(manager: Any, error: BaseException | None) -> Any:
    return type(manager).__exit__(manager, type(error) if error else None, error, None)


ACTIONS: dict[str, Callable[..., Any]] = {
    **_operators(),
    "__exit__": _leave,
    "__aiter__": lambda iterable: type(iterable).__aiter__(iterable),
    "get": getattr,
    "set": setattr,
    "delete": delattr,
    "dir": dir,
    "own": lambda owner, name: vars(owner)[name],
    "own_names": lambda owner: list(vars(owner)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "content": content,
    "state": state,
}
