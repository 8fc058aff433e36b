"""Compare what a program produced with what was expected; all of it on the trusted side."""

from __future__ import annotations

import math
import re
from typing import Any

# ASCII only: int() and float() also read full-width digits, underscores and "nan".
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_SPACE = " \t\r\f\v"
SPARE_BYTES = 1 << 16
MOST_PAIRED = 64
"""Sets of up to this size are compared member by member where they are not simply equal."""


def same_output(got: bytes, wanted: str, tolerance: float | None) -> bool:
    """Compare text line by line, token by token; spacing at line ends and final lines are free."""
    if len(got) > 4 * len(wanted) + SPARE_BYTES:  # a program chooses how long we would compare
        return False
    try:
        text = got.decode("utf-8")
    except UnicodeDecodeError:
        return False
    got_lines, wanted_lines = _lines(text), _lines(wanted)
    return len(got_lines) == len(wanted_lines) and all(
        _same_line(g, w, tolerance) for g, w in zip(got_lines, wanted_lines, strict=True)
    )


def _lines(text: str) -> list[str]:
    lines = [line.rstrip(_SPACE) for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same_line(got: str, wanted: str, tolerance: float | None) -> bool:
    if got == wanted:
        return True
    # str.split() would also split at Unicode spaces.
    got_tokens, wanted_tokens = re.split(r"[ \t]+", got), re.split(r"[ \t]+", wanted)
    return len(got_tokens) == len(wanted_tokens) and all(
        g == w or _same_number(g, w, tolerance)
        for g, w in zip(got_tokens, wanted_tokens, strict=True)
    )


def _same_number(got: str, wanted: str, tolerance: float | None) -> bool:
    """Compare two tokens as decimals, where a tolerance is given and the gold is no integer."""
    if tolerance is None or _INTEGER.fullmatch(wanted):
        return False
    if not (_NUMBER.fullmatch(got) and _NUMBER.fullmatch(wanted)):
        return False
    return _close(float(got), float(wanted), tolerance)


def same_value(got: Any, wanted: Any, tolerance: float | None) -> bool:
    """Compare plain data by type and value, as a JSON-typed expectation has it.

    Integers are exact and never booleans, in sets and as keys too; a float may be met by an integer
    of the same value; NaN meets only NaN; a list may be met by a tuple, and a string key by the
    integer it spells, for JSON cannot say which was meant.
    """
    if isinstance(wanted, float):
        return _is_number(got) and _same_float(got, wanted, tolerance)
    if isinstance(wanted, complex):
        parts = ((got.real, wanted.real), (got.imag, wanted.imag)) if _is_complex(got) else ()
        return bool(parts) and all(_same_float(g, w, tolerance) for g, w in parts)
    if isinstance(wanted, list):
        return isinstance(got, list | tuple) and _same_items(got, wanted, tolerance)
    if isinstance(wanted, tuple):
        return isinstance(got, tuple) and _same_items(got, wanted, tolerance)
    if isinstance(wanted, dict):
        return isinstance(got, dict) and _same_dict(got, wanted, tolerance)
    if isinstance(wanted, set | frozenset):
        return type(got) is type(wanted) and _same_members(got, wanted, tolerance)
    return type(got) is type(wanted) and _identity(got) == _identity(wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_complex(value: Any) -> bool:
    return isinstance(value, complex) or _is_number(value)


def _same_float(got: float, wanted: float, tolerance: float | None) -> bool:
    if math.isnan(wanted):
        return isinstance(got, float) and math.isnan(got)
    return got == wanted or (tolerance is not None and _close(got, wanted, tolerance))


def _close(got: float, wanted: float, tolerance: float) -> bool:
    try:
        finite = math.isfinite(got) and math.isfinite(wanted)
        return finite and abs(got - wanted) <= tolerance * max(1.0, abs(wanted))
    except OverflowError:  # an integer beyond all floats
        return False


def _identity(value: Any) -> tuple[Any, ...]:
    """Return what tells hashable values apart as their types do: 1, True and 1.0 are three."""
    if isinstance(value, tuple):
        return (tuple, *map(_identity, value))
    if isinstance(value, frozenset):
        return (frozenset, frozenset(map(_identity, value)))
    if value != value:  # NaN equals nothing, itself included
        return (type(value), "nan")
    return (type(value), value)


def _same_members(got: Any, wanted: Any, tolerance: float | None) -> bool:
    if len(got) != len(wanted):
        return False
    if set(map(_identity, got)) == set(map(_identity, wanted)):
        return True
    if len(wanted) > MOST_PAIRED:
        return False
    left = list(got)
    for item in wanted:
        fitting = next((g for g in left if same_value(g, item, tolerance)), left)
        if fitting is left:
            return False
        left.remove(fitting)
    return True


def _same_items(got: Any, wanted: Any, tolerance: float | None) -> bool:
    return len(got) == len(wanted) and all(
        same_value(g, w, tolerance) for g, w in zip(got, wanted, strict=True)
    )


def _same_dict(got: dict[Any, Any], wanted: dict[Any, Any], tolerance: float | None) -> bool:
    if all(isinstance(key, str) for key in wanted):
        spelled = {str(k) if type(k) is int else k: v for k, v in got.items()}
        got = spelled if len(spelled) == len(got) else got
    mine = {_identity(key): item for key, item in got.items()}
    theirs = {_identity(key): item for key, item in wanted.items()}
    return mine.keys() == theirs.keys() and all(
        same_value(mine[key], item, tolerance) for key, item in theirs.items()
    )


def same_relation(got: Any, relation: str, wanted: Any) -> bool:
    """Decide a compiled assert on plain data, by Python's own rules."""
    if relation == "truthy":
        return bool(got)
    if relation == "falsy":
        return not got
    if relation == "is":
        return got is wanted
    return bool(got == wanted)
