"""Generate the bundled Lean task: ``python -m making.lean --out datasets/lean``.

Seeded and deterministic: the same command writes the same bytes. Every theorem is stated in core
Lean 4, without Mathlib, and comes with one proof.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from making.command import write_task
from making.theorems import Theorem
from making.theorems_equations import draw_arithmetic, draw_chain
from making.theorems_induction import draw_induction
from making.theorems_lists import draw_list_theorem
from making.theorems_logic import draw_propositional, draw_quantified
from making.theorems_trees import draw_tree_theorem
from trainer.tasks.public_lean import ask_for_proof, fence
from trainer.tasks.rows import Row


def draw_first_order(rng: random.Random) -> Theorem:
    """A law of predicate logic, or a chain of equations."""
    return rng.choice([draw_quantified, draw_chain])(rng)


def draw_structural(rng: random.Random) -> Theorem:
    """A theorem about a list or a tree."""
    return draw_tree_theorem(rng) if rng.random() < 0.6 else draw_list_theorem(rng)


LEVELS: dict[int, Callable[[random.Random], Theorem]] = {
    1: draw_propositional,
    2: draw_arithmetic,
    3: draw_first_order,
    4: draw_induction,
    5: draw_structural,
}

ROWS = {1: (60, 12), 2: (60, 12), 3: (60, 12), 4: (60, 12), 5: (60, 12)}
"""Rows of each level for training and for test."""


def to_row(theorem: Theorem, level: int, number: int) -> Row:
    """Make the data row of a theorem."""
    spec = {"type": "lean", "statement": theorem.statement}
    if theorem.preamble:
        spec["preamble"] = theorem.preamble
    return Row(
        id=f"lean-{level}-{number:04d}",
        prompt=ask_for_proof(theorem.statement, "", theorem.preamble),
        spec=spec,
        gold=fence(theorem.code),
        meta={"level": level},
    )


def make_level(level: int, train: int, test: int, seed: int = 0) -> tuple[list[Row], list[Row]]:
    """Make the rows of one level, no theorem twice.

    Theorems that differ by names alone are the same text, so a test row cannot be solved by
    remembering a training row.
    """
    rng = random.Random(f"lean-{level}-{seed}")
    theorems: dict[tuple[str, str], Theorem] = {}
    while len(theorems) < train + test:
        theorem = LEVELS[level](rng)
        theorems.setdefault((theorem.preamble, theorem.statement), theorem)
    rows = [to_row(theorem, level, number) for number, theorem in enumerate(theorems.values())]
    return rows[:train], rows[train:]


def main() -> None:
    """Write the train and test split of all levels."""
    write_task(__doc__, make_level, ROWS.items())


if __name__ == "__main__":
    main()
