"""Generate the bundled code task: ``python -m making.code --out datasets/code``.

Seeded and deterministic: the same command writes the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from making.command import write_task
from making.probes import call, choose_tests, compile_function
from making.programs import Problem, draw_level_1, draw_level_2
from making.programs_classic import draw_level_5
from making.programs_data import draw_level_3, draw_level_4
from trainer.tasks.rows import Row

LEVELS: dict[int, Callable[[random.Random], Problem]] = {
    1: draw_level_1,
    2: draw_level_2,
    3: draw_level_3,
    4: draw_level_4,
    5: draw_level_5,
}

ROWS = {1: (1200, 160), 2: (160, 40), 3: (160, 40), 4: (120, 30), 5: (100, 25)}
"""Rows of each level for training and for test."""

MIN_ANSWERS = 3
"""Programs that give fewer different answers are dropped: guessing would pass for knowing."""


def draw_problems(level: int, count: int, seed: int) -> list[Problem]:
    """Draw problems of one level, no two with the same sentence or the same behaviour.

    Behaviour is what the program answers to all candidate arguments of its kind. So no test row
    can be solved by remembering a training row.
    """
    rng = random.Random(f"code-{level}-{seed}")
    seen: set[str] = set()
    problems: list[Problem] = []
    while len(problems) < count:
        problem = LEVELS[level](rng)
        reference = compile_function(problem.source)
        answers = [repr(call(reference, args)) for args in problem.arguments]
        behaviour = repr(answers)
        if behaviour in seen or problem.prompt in seen or len(set(answers)) < MIN_ANSWERS:
            continue
        seen |= {behaviour, problem.prompt}
        problems.append(problem)
    return problems


def to_row(problem: Problem, level: int, number: int) -> Row:
    """Make the data row of a problem, with the hidden tests that its mutants fail."""
    return Row(
        id=f"code-{level}-{number:04d}",
        prompt=problem.prompt,
        spec={
            "type": "code",
            "entry_point": "f",
            "tests": choose_tests(problem.source, problem.arguments),
        },
        gold=f"```python\n{problem.source}```",
        meta={"level": level},
    )


def make_level(level: int, train: int, test: int, seed: int = 0) -> tuple[list[Row], list[Row]]:
    """Make the rows of one level, training rows first."""
    problems = draw_problems(level, train + test, seed)
    rows = [to_row(problem, level, number) for number, problem in enumerate(problems)]
    return rows[:train], rows[train:]


def main() -> None:
    """Write the train and test split of all levels."""
    write_task(__doc__, make_level, ROWS.items())


if __name__ == "__main__":
    main()
