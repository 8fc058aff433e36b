"""What the generators of the bundled tasks share: the command that writes their rows."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from trainer.tasks.rows import Row, write_rows


class MakeLevel(Protocol):
    """Makes the rows of one level, training rows first."""

    def __call__(
        self, level: int, train: int, test: int, seed: int = 0
    ) -> tuple[list[Row], list[Row]]:
        """Return so many training and test rows."""
        ...


def write_task(
    description: str | None, make_level: MakeLevel, sizes: Iterable[tuple[int, tuple[int, int]]]
) -> None:
    """Write the train and test split of all levels, as the command line says.

    Args:
        description: What ``--help`` says.
        make_level: The generator.
        sizes: Each level with its numbers of training and test rows.
    """
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    parser.add_argument("--out", type=Path, required=True, help="folder to write the splits to")
    parser.add_argument("--seed", type=int, default=0, help="seed of the generator (default 0)")
    args = parser.parse_args()
    train: list[Row] = []
    test: list[Row] = []
    for level, (num_train, num_test) in sizes:
        level_train, level_test = make_level(level, num_train, num_test, seed=args.seed)
        train += level_train
        test += level_test
    write_rows(args.out / "train.jsonl", train)
    write_rows(args.out / "test.jsonl", test)
    print(f"{args.out}: {len(train)} training rows, {len(test)} test rows")
