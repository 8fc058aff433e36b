"""The attributes of the program's objects, by which the tests' side compares them."""

from __future__ import annotations

import json
import types
from typing import Any

from rewards.verifiers.code.values import Encoder

MUTABLE: tuple[Any, ...] = (list, dict, set, bytearray)


def content(value: Any) -> Any:
    """Return what an instance of a subclass of list, dict, set or bytearray contains."""
    kind = next(kind for kind in MUTABLE if isinstance(value, kind))
    return dict(dict.items(value)) if kind is dict else kind(kind.__iter__(value))


def state(value: Any) -> str:
    """Return the attributes of an object, and of those that it leads to, as JSON."""
    return json.dumps(_Graph(value).nodes)


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
        if isinstance(value, MUTABLE):
            fields = {**fields, "": content(value)}
        return [[name, self.encode(fields[name])] for name in sorted(fields)]

    def other(self, value: Any) -> Any:
        """Encode an object by its number."""
        return self._node(value)

    def special(self, value: Any) -> Any:
        """Encode objects by number, instances of the program's dataclasses too."""
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
