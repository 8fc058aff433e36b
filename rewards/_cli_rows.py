"""Rows of a JSONL file for the command line: reading, scoring in chunks with progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewards.completion import Completion
from rewards.engine import compile_cached, score_batch
from rewards.errors import ConfigurationError, RewardsError
from rewards.machinery import machinery
from rewards.score import Score
from rewards.spec import load_spec_text

CHUNKS_PER_WORKER = 16
MAX_COMPLAINTS = 5


@dataclass(frozen=True)
class Row:
    """One line of the file: where it stands, and its data or what is wrong with it."""

    place: str
    data: dict[str, Any]
    complaint: str | None = None

    @property
    def label(self) -> str:
        """The line, with the row's own id where it has one."""
        return f"{self.place} (id {self.data['id']})" if "id" in self.data else self.place


def read_rows(path: str) -> list[Row]:
    """Read a JSONL file; "-" is standard input. Blank lines are skipped.

    Raises:
        ConfigurationError: If there is no such file, or it holds no rows.
    """
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from None
    name = "<stdin>" if path == "-" else path
    lines = enumerate(raw.split(b"\n"), start=1)
    rows = [_row(f"{name}:{number}", line) for number, line in lines if line.strip()]
    if not rows:
        raise ConfigurationError(f"{name} holds no rows; every line is a JSON object")
    return rows


def _row(place: str, line: bytes) -> Row:
    try:
        data = json.loads(line)
    except ValueError as error:  # bad JSON or bad UTF-8
        return Row(place, {}, f"not JSON: {error}")
    if not isinstance(data, dict):
        return Row(place, {}, f"a row is a JSON object, not {type(data).__name__}")
    return Row(place, data, _misshapen(data))


def _misshapen(data: dict[str, Any]) -> str | None:
    """Say what scoring would refuse without knowing the line, perhaps after others were written."""
    for key in ("completion", "gold", "prompt"):
        if data.get(key) is None:
            continue
        try:
            Completion.of(data[key])
        except ConfigurationError:
            kind = type(data[key]).__name__
            return f"{key!r} is text or chat messages, not {kind}: {data[key]!r:.80}"
    tokens = data.get("num_tokens")
    if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool)):
        return f"'num_tokens' is a whole number, not {tokens!r:.80}"
    return None


def read_spec(text: str) -> Any:
    """Return the spec in a JSON or TOML file, or in `text` itself (which has a { [ or =).

    Raises:
        ConfigurationError: If `text` is neither a file nor a spec, or the spec is bad.
    """
    inline = text.lstrip().startswith(("{", "[")) or "=" in text
    try:
        spec = load_spec_text(text if inline else Path(text).read_text(encoding="utf-8"))
        compile_cached(spec)
    except OSError as error:
        raise ConfigurationError(f"--spec: cannot read {text}: {error.strerror}") from None
    except (UnicodeDecodeError, RewardsError) as error:
        raise ConfigurationError(f"--spec: {error}") from None
    return spec


def with_specs(rows: Sequence[Row], spec: Any) -> list[Row]:
    """Give every row its compiled-without-complaint spec: `spec` if there is one, else its own."""
    return [_with_spec(row, spec) for row in rows]


def _with_spec(row: Row, spec: Any) -> Row:
    if row.complaint:
        return row
    spec = row.data.get("spec") if spec is None else spec
    if spec is None:
        return Row(row.place, row.data, "no 'spec' in the row; add one, or give --spec")
    try:
        compile_cached(spec)
    except RewardsError as error:
        return Row(row.place, row.data, str(error))
    return Row(row.place, {**row.data, "spec": spec})


def refuse_bad(rows: Sequence[Row]) -> None:
    """Stop before anything is scored if a row is unusable.

    Raises:
        ConfigurationError: Naming the first few of them.
    """
    bad = [f"{row.label}: {row.complaint}" for row in rows if row.complaint]
    if bad:
        more = [f"and {len(bad) - MAX_COMPLAINTS} more"] if len(bad) > MAX_COMPLAINTS else []
        raise ConfigurationError("; ".join(bad[:MAX_COMPLAINTS] + more))


def score_rows(rows: Sequence[Row], keys: Sequence[str], title: str) -> Iterator[tuple[Row, Score]]:
    """Score rows in chunks, in order; the completion stands under the first of `keys` present."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    size = CHUNKS_PER_WORKER * machinery().num_workers
    console = Console(stderr=True)
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=len(rows))
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            yield from zip(chunk, _score(chunk, keys), strict=True)
            progress.advance(task, len(chunk))


def completion_of(row: Row, keys: Sequence[str]) -> Any:
    """Return the first of `keys` that the row has, or None."""
    return next((row.data[key] for key in keys if row.data.get(key) is not None), None)


def _score(rows: Sequence[Row], keys: Sequence[str]) -> list[Score]:
    return score_batch(
        [completion_of(row, keys) for row in rows],
        [row.data["spec"] for row in rows],
        groups=[row.data.get("group", row.place) for row in rows],
        num_tokens=[row.data.get("num_tokens") for row in rows],
        truncated=[bool(row.data.get("truncated")) for row in rows],
        prompts=[row.data.get("prompt") for row in rows],
    )
