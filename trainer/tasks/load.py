"""Load a task by name: bundled, a public data set whose file the user has, or the user's own."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rewards
from rewards.errors import ConfigurationError, did_you_mean
from trainer.tasks.public import PUBLIC_LAYOUTS
from trainer.tasks.rows import Row, read_rows, split_rows

BUNDLED = ("code", "lean", "math")

OWN = "jsonl"
"""The task of any file in our own layout."""


@dataclass(frozen=True)
class Task:
    """Rows to train on, rows to evaluate on, and the settings that suit them."""

    name: str
    train: list[Row]
    test: list[Row]
    settings: dict[str, Any] = field(default_factory=dict)
    """Defaults of the trainer's settings for this task, by their flat names."""


def available_tasks() -> list[str]:
    """The names that `load_task` knows."""
    return sorted([*BUNDLED, *PUBLIC_LAYOUTS, OWN])


def data_folder() -> Path:
    """The bundled data: inside an installed package, or next to it in a checkout."""
    package = Path(rewards.__file__).parent
    installed = package / "_data"
    return installed if installed.is_dir() else package.parent / "datasets"


def load_task(
    name: str,
    *,
    data: Path | None = None,
    eval_data: Path | None = None,
    level: int | None = None,
    seed: int = 0,
) -> Task:
    """Load the rows of a task.

    Args:
        name: One of `available_tasks`. ``code``, ``lean`` and ``math`` are bundled, and take
            ``data`` in our own layout in place of the bundled rows.
        data: The file to train on. Without ``eval_data`` a tenth of it is held out.
        eval_data: The file to evaluate on, in the same layout.
        level: Keep only the rows of this level. The default is the bundled task's own, if it has
            one, and all rows of other files.
        seed: Decides the order of the training rows, and nothing else.

    Raises:
        ConfigurationError: No such task, no file where one is needed, a file in another layout,
            or no rows of this level.
    """
    if name not in available_tasks():
        raise ConfigurationError(
            f"unknown task {name!r}.{did_you_mean(name, available_tasks())} "
            f"Tasks: {', '.join(available_tasks())}"
        )
    if eval_data is not None and data is None:
        raise ConfigurationError(
            f"eval data {eval_data} came without data to train on; pass both files"
        )
    settings: dict[str, Any] = {}
    if name in BUNDLED:
        card = read_card(name)
        settings = card["train"]
        if data is None and level is None:
            level = card["task"].get("level")
    train, test = _read_splits(name, data, eval_data)
    train, test = _at_level(train, level, name), _at_level(test, level, name)
    random.Random(f"order-{seed}").shuffle(train)
    return Task(name, train, test, settings)


def read_card(name: str) -> dict[str, Any]:
    """Read a bundled task's ``task.toml``: the tables ``task`` and ``train``."""
    with (data_folder() / name / "task.toml").open("rb") as file:
        return tomllib.load(file)


def _read_splits(
    name: str, data: Path | None, eval_data: Path | None
) -> tuple[list[Row], list[Row]]:
    if data is None and name in BUNDLED:
        folder = data_folder() / name
        return read_rows(folder / "train.jsonl"), read_rows(folder / "test.jsonl")
    if data is None:
        raise ConfigurationError(f"task {name!r} needs a data file; {_where_from(name)}")
    read: Callable[[Path], list[Row]] = (
        PUBLIC_LAYOUTS[name].read if name in PUBLIC_LAYOUTS else read_rows
    )
    rows = _read_some(read, data)
    return split_rows(rows) if eval_data is None else (rows, _read_some(read, eval_data))


def _read_some(read: Callable[[Path], list[Row]], path: Path) -> list[Row]:
    rows = read(path)
    if not rows:
        raise ConfigurationError(f"the data file {path} has no rows; pass one with rows")
    return rows


def _where_from(name: str) -> str:
    if name == OWN:
        return "pass a JSONL file of rows with prompt and spec"
    return f"pass {PUBLIC_LAYOUTS[name].source}"


def _at_level(rows: Sequence[Row], level: int | None, name: str) -> list[Row]:
    kept = [row for row in rows if level is None or row.meta.get("level") == level]
    if not kept:
        levels = sorted({str(row.meta["level"]) for row in rows if "level" in row.meta})
        raise ConfigurationError(
            f"task {name!r} has no rows of level {level}; "
            + (f"levels: {', '.join(levels)}" if levels else "its rows have no level")
        )
    return kept
