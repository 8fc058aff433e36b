"""Plain Python data as JSON, for the way into a sandbox and back.

Scalars, lists and string-keyed dicts are themselves; what JSON lacks is an object with one key that
starts with "$". The text of this module is also part of the driver inside the sandbox, so it uses
the standard library only. `encode` runs beside hostile code, and what it returns is merely a claim;
`decode` on our side builds nothing but built-in types.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any


class NotPlain(Exception):
    """A value is not plain data, or a text does not describe any."""


def dumps(value: Any) -> str:
    """Return a value as one line of JSON; raises NotPlain."""
    try:
        return json.dumps(encode(value), ensure_ascii=True)
    except RecursionError:
        raise NotPlain("nested too deeply") from None


def loads(text: str | bytes) -> Any:
    """Return the value that a line of JSON describes; raises NotPlain."""
    try:
        return decode(json.loads(text))
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise NotPlain(f"not plain data: {error}") from None


def encode(value: Any) -> Any:
    """Return a value as JSON data; subclasses become their built-in base."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        number = int.__index__(value)
        return number if number.bit_length() < 1024 else {"$int": hex(number)}
    if isinstance(value, float):
        text = float.__repr__(value)
        return {"$float": text} if text in ("nan", "inf", "-inf") else float(text)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, list):
        return [encode(item) for item in list.__iter__(value)]
    if isinstance(value, dict):
        return _encode_dict(value)
    if isinstance(value, complex):
        return {"$complex": [encode(value.real), encode(value.imag)]}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, tuple):
        return {"$tuple": [encode(item) for item in tuple.__iter__(value)]}
    if isinstance(value, set | frozenset):
        tag = "$set" if isinstance(value, set) else "$frozenset"
        return {tag: [encode(item) for item in value]}
    raise NotPlain(f"{type(value).__name__} is not plain data")


def _encode_dict(value: dict[Any, Any]) -> Any:
    items = list(dict.items(value))
    if all(type(k) is str and not k.startswith("$") for k, _ in items):
        return {k: encode(v) for k, v in items}
    return {"$dict": [[encode(k), encode(v)] for k, v in items]}


def decode(data: Any) -> Any:
    """Return the value of JSON data; raises ValueError or TypeError for what describes none."""
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        ((tag, content),) = data.items()
        if tag in _DECODERS:
            return _DECODERS[tag](content)
    return {k: decode(v) for k, v in data.items()}


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "$int": lambda c: int(c, 16),
    "$float": float,
    "$complex": lambda c: complex(*(decode(part) for part in c)),
    "$bytes": lambda c: base64.b64decode(c),
    "$tuple": lambda c: tuple(decode(item) for item in c),
    "$set": lambda c: {decode(item) for item in c},
    "$frozenset": lambda c: frozenset(decode(item) for item in c),
    "$dict": lambda c: {decode(k): decode(v) for k, v in c},
}
