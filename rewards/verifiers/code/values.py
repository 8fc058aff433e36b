"""Plain Python data as JSON, for the way into a sandbox and back.

Scalars, lists and string-keyed dicts are themselves; what JSON lacks is an object with one key that
starts with "$". The text of this module is also part of the drivers inside the sandbox, so it uses
the standard library only. An encoder runs beside hostile code, and what it returns is merely a
claim; a decoder builds nothing but types of the standard library and records.
"""

from __future__ import annotations

import binascii
import dataclasses
import datetime
import enum
import json
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

JSON_INT_BITS = 1024
"""Larger integers travel in hex: decimal digits take quadratic time."""


class NotPlain(Exception):
    """A value is not plain data, or a text does not describe any."""


@dataclasses.dataclass(frozen=True)
class Record:
    """What an instance of somebody else's dataclass or enum is worth: a name and fields."""

    name: str
    fields: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.fields.items())})"


def dumps(value: Any) -> str:
    """Return a value as one line of JSON; raises NotPlain."""
    return to_json(Encoder().encode, value)


def to_json(encode: Callable[[Any], Any], value: Any) -> str:
    """Return what an encoder makes of a value as one line of JSON; raises NotPlain."""
    try:
        return json.dumps(encode(value), ensure_ascii=True)
    except RecursionError:
        raise NotPlain("nested too deeply") from None


def loads(text: str | bytes) -> Any:
    """Return the value that a line of JSON describes; raises NotPlain."""
    try:
        return Decoder().decode(json.loads(text))
    except (ValueError, TypeError, RecursionError, ArithmeticError) as error:
        raise NotPlain(f"not plain data: {error}") from None


def decode(data: Any) -> Any:
    """Return the value of JSON data; raises ValueError or TypeError for what describes none."""
    return Decoder().decode(data)


class Encoder:
    """Python values to JSON data. Subclasses of a type become that type."""

    def special(self, value: Any) -> Any:
        """Return the JSON data of a value that is not to be treated as usual, else None."""
        return None

    def other(self, value: Any) -> Any:
        """Return the JSON data of what is no plain data."""
        raise NotPlain(f"{type(value).__name__} is not plain data")

    def encode(self, value: Any) -> Any:
        """Return a value as JSON data."""
        if value is None or value is True or value is False or type(value) is str:
            return value
        if type(value) is int and value.bit_length() < JSON_INT_BITS:
            return value
        if (special := self.special(value)) is not None:
            return special
        if isinstance(value, enum.Enum) and not isinstance(value, int | str):
            return self._record(value, {"name": value.name, "value": value.value})
        if isinstance(value, int):
            number = int.__index__(value)
            return number if number.bit_length() < JSON_INT_BITS else {"$int": hex(number)}
        if isinstance(value, float):
            text = float.__repr__(value)
            return {"$float": text} if text in ("nan", "inf", "-inf") else float(text)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, list):
            return self._all(list.__iter__(value))
        if isinstance(value, dict):
            return self._dict(value)
        if isinstance(value, tuple):
            return {"$tuple": self._all(tuple.__iter__(value))}
        if isinstance(value, (bytes, bytearray)):
            return {"$bytes": binascii.b2a_base64(bytes(value), newline=False).decode()}
        if isinstance(value, (set, frozenset)):
            kind: Any = set if isinstance(value, set) else frozenset
            return {f"${kind.__name__}": self._all(kind.__iter__(value))}
        return self._rare(value)

    def _all(self, items: Any) -> list[Any]:
        return [self.encode(item) for item in items]

    def _dict(self, value: dict[Any, Any]) -> Any:
        kind = next((k for k in _DICTS if isinstance(value, _DICTS[k])), None)
        items = list(dict.items(value))
        if kind is None and all(type(k) is str and not k.startswith("$") for k, _ in items):
            return {k: self.encode(v) for k, v in items}
        return {kind or "$dict": [[self.encode(k), self.encode(v)] for k, v in items]}

    def _rare(self, value: Any) -> Any:
        for tag, (kind, parts) in _RARE.items():
            if isinstance(value, kind):
                return {tag: self._all(parts(value))}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value)]
            return self._record(value, {name: getattr(value, name) for name in names})
        if type(value).__module__ == "numpy":
            return self._numpy(value)
        return self.other(value)

    def _record(self, value: Any, fields: dict[str, Any]) -> Any:
        return {"$record": [type(value).__name__, self._dict(fields)]}

    def _numpy(self, value: Any) -> Any:
        if not hasattr(value, "tolist") or value.dtype.kind not in "biufcSU":
            return self.other(value)
        if value.ndim == 0:
            return self.encode(value.item())
        return {"$ndarray": [value.dtype.str, self._all(value.tolist())]}


class Decoder:
    """JSON data to Python values; raises ValueError, TypeError or ArithmeticError."""

    def tagged(self, tag: str, content: Any) -> Any:
        """Return the value of a tag that not every decoder knows; NotImplemented for others."""
        return NotImplemented

    def decode(self, data: Any) -> Any:
        """Return the value of JSON data."""
        if isinstance(data, list):
            return [self.decode(item) for item in data]
        if not isinstance(data, dict):
            return data
        if len(data) == 1:
            ((tag, content),) = data.items()
            if tag.startswith("$"):
                value = self._tagged(tag, content)
                if value is not NotImplemented:
                    return value
        return {k: self.decode(v) for k, v in data.items()}

    def _tagged(self, tag: str, content: Any) -> Any:
        if tag == "$int":
            return int(content, 16)
        if tag == "$float":
            return float(content)
        if tag == "$bytes":
            return binascii.a2b_base64(content)
        if tag == "$record":
            return Record(str(content[0]), self.decode(content[1]))
        if tag == "$ndarray":
            return self.ndarray(str(content[0]), self.decode(content[1]))
        if tag in _BUILD:
            return _BUILD[tag](*(self.decode(part) for part in content))
        if tag in _COLLECT:
            return _COLLECT[tag](self.decode(item) for item in content)
        return self.tagged(tag, content)

    def ndarray(self, kind: str, items: list[Any]) -> Any:
        """Return an array; as a list where nothing says that numpy is wanted."""
        return items


_DICTS: dict[str, type] = {
    "$counter": Counter,
    "$ordered": OrderedDict,
    "$defaultdict": defaultdict,
}
_RARE: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "$complex": (complex, lambda v: (v.real, v.imag)),
    "$decimal": (Decimal, lambda v: (Decimal.__str__(v),)),
    "$fraction": (Fraction, lambda v: (v.numerator, v.denominator)),
    "$datetime": (datetime.datetime, lambda v: (v.isoformat(),)),
    "$date": (datetime.date, lambda v: (v.isoformat(),)),
    "$time": (datetime.time, lambda v: (v.isoformat(),)),
    "$timedelta": (datetime.timedelta, lambda v: (v.days, v.seconds, v.microseconds)),
    "$range": (range, lambda v: (v.start, v.stop, v.step)),
    "$slice": (slice, lambda v: (v.start, v.stop, v.step)),
    "$deque": (deque, lambda v: (list(v), v.maxlen)),
}
_BUILD: dict[str, Callable[..., Any]] = {
    "$complex": complex,
    "$decimal": Decimal,
    "$fraction": Fraction,
    "$datetime": datetime.datetime.fromisoformat,
    "$date": datetime.date.fromisoformat,
    "$time": datetime.time.fromisoformat,
    "$timedelta": datetime.timedelta,
    "$range": range,
    "$slice": slice,
    "$deque": deque,
}
_COLLECT: dict[str, Callable[[Any], Any]] = {
    "$tuple": tuple,
    "$set": set,
    "$frozenset": frozenset,
    "$dict": dict,
    "$counter": lambda pairs: Counter(dict(pairs)),
    "$ordered": OrderedDict,
    "$defaultdict": lambda pairs: defaultdict(None, pairs),
}
