"""Rows of data: read, check, write and split them.

A row is one line of JSON, ``{"id", "prompt", "spec", "gold", "meta"}``, and says the question, what
would make an answer right, and one answer that is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewards.errors import ConfigurationError

Prompt = str | list[dict[str, str]]
"""The question as text, or as chat messages."""

HELD_OUT = 10
"""One row in this many is held out of a file that comes without a test split."""


@dataclass(frozen=True)
class Row:
    """One question with the spec of its answer."""

    id: str
    prompt: Prompt
    spec: dict[str, Any] | list[Any]
    gold: str | None = None
    """A completion that must score 1.0, where the data has one."""
    meta: dict[str, Any] = field(default_factory=dict)


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object a line.

    Raises:
        ConfigurationError: The file cannot be read, or a line of it is no JSON object.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"cannot read the data file {path}: {error}; pass the path of a JSONL file"
        ) from error
    # Only line feeds end a record: splitlines() would also cut at U+2028 inside a string.
    return [
        _parse_line(line, f"{path}, line {number}")
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip()
    ]


def _parse_line(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"{place} is no JSON ({error}); each line of a data file is one JSON object"
        ) from error
    if not isinstance(record, dict):
        raise ConfigurationError(
            f"{place} holds {line[:60]!r}; each line of a data file is one JSON object"
        )
    return record


def require(record: dict[str, Any], keys: Sequence[str], place: str, layout: str) -> None:
    """Check that a record has the fields of its layout; null is no value.

    Raises:
        ConfigurationError: A field is missing; the message names those that are there.
    """
    missing = [key for key in keys if record.get(key) is None]
    if missing:
        raise ConfigurationError(
            f"{place} lacks {', '.join(map(repr, missing))} (it has {_filled(record)}); "
            f"{layout} rows have {', '.join(keys)}"
        )


def _filled(record: dict[str, Any]) -> str:
    return ", ".join(sorted(key for key, value in record.items() if value is not None))


def read_rows(path: Path) -> list[Row]:
    """Read rows in our own layout, from any file.

    Raises:
        ConfigurationError: A row lacks its prompt or spec, or two rows have one id.
    """
    rows = []
    for number, record in enumerate(read_jsonl(path), 1):
        place = f"{path}, row {number}"
        require(record, ("prompt", "spec"), place, "task")
        rows.append(_to_row(record, place, default_id=f"{Path(path).stem}-{number}"))
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise ConfigurationError(f"two rows of {path} have the id {row.id!r}; make ids unique")
        seen.add(row.id)
    return rows


def _to_row(record: dict[str, Any], place: str, default_id: str) -> Row:
    prompt, spec, gold = record["prompt"], record["spec"], record.get("gold")
    meta = record.get("meta") or {}
    if not _is_prompt(prompt):
        raise ConfigurationError(
            f"{place} has the prompt {prompt!r:.60}; give text, or a list of messages with role "
            "and content"
        )
    if not isinstance(spec, (dict, list)) or not isinstance(meta, dict):
        raise ConfigurationError(
            f"{place} has the spec {spec!r:.60} and the meta {meta!r:.60}; a spec is an object or "
            "a list of objects, meta is an object"
        )
    if not isinstance(gold, str | None):
        raise ConfigurationError(
            f"{place} has the gold {gold!r:.60}; give a completion as text, or none"
        )
    return Row(str(record.get("id", default_id)), prompt, spec, gold, meta)


def _is_prompt(prompt: object) -> bool:
    if isinstance(prompt, list):
        return bool(prompt) and all(
            isinstance(m, dict)
            and isinstance(m.get("role"), str)
            and isinstance(m.get("content"), str)
            for m in prompt
        )
    return isinstance(prompt, str) and bool(prompt)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows, one JSON object a line, with a fixed order of keys."""
    lines = [
        json.dumps(
            {"id": r.id, "prompt": r.prompt, "spec": r.spec, "gold": r.gold, "meta": r.meta},
            ensure_ascii=False,
        )
        for r in rows
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def split_rows(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Hold out a tenth of the rows, and at least one, by a hash of their ids.

    A row's side depends on nothing but its id, so a file that grows keeps its held-out rows.

    Raises:
        ConfigurationError: There are fewer than two rows.
    """
    if len(rows) < 2:
        raise ConfigurationError(
            f"{len(rows)} row cannot be split into training and evaluation; pass more rows, or a "
            "second file as eval data"
        )
    held_out = {row.id for row in rows if _hash(row.id) % HELD_OUT == 0}
    if not held_out or len(held_out) == len(rows):
        held_out = {min(rows, key=lambda row: _hash(row.id)).id}
    train = [row for row in rows if row.id not in held_out]
    return train, [row for row in rows if row.id in held_out]


def choose_rows(rows: Sequence[Row], count: int) -> list[Row]:
    """Choose `count` rows by a hash of their ids, and leave them in their order.

    The first rows of a sorted file would be the easiest, or all of one kind.
    """
    chosen = {row.id for row in sorted(rows, key=lambda row: _hash(row.id))[:count]}
    return [row for row in rows if row.id in chosen]


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
