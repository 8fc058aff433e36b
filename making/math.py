"""Generate the bundled math task: ``python -m making.math --out datasets/math``.

Seeded and deterministic: the same command writes the same bytes. Every question has one exact
answer; the gold completion thinks in one short line and then answers in tags.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from making.command import write_task
from trainer.tasks.rows import Row

INSTRUCTION = "Think in <think> tags, then give the answer in <answer> tags."

ANSWER_WEIGHT, FORMAT_WEIGHT = 0.9, 0.1
"""What the right answer and keeping to the tags are worth; together 1."""


@dataclass(frozen=True)
class Problem:
    """A question, the line of thought that answers it, and the answer."""

    question: str
    thought: str
    answer: str


def draw_level_1(rng: random.Random) -> Problem:
    """A two-digit number plus or minus a digit: what the tiny model can learn."""
    a, b = rng.randint(10, 99), rng.randint(1, 9)
    tens, units = divmod(a, 10)
    if rng.random() < 0.5:
        sign, left, answer = "+", units + b, a + b
    else:
        sign, answer = "-", a - b
        if units < b:  # borrow a ten
            tens, units = tens - 1, units + 10
        left = units - b
    thought = f"{units} {sign} {b} = {left}, {tens * 10} + {left} = {answer}"
    return Problem(f"What is {a} {sign} {b}?", thought, str(answer))


def draw_level_2(rng: random.Random) -> Problem:
    """A product and a sum, in an order that needs the rules of precedence."""
    a, b, c = rng.randint(11, 60), rng.randint(3, 19), rng.randint(10, 99)
    if rng.random() < 0.5:
        question, answer = f"{a} * {b} + {c}", a * b + c
        thought = f"{a} * {b} = {a * b}, {a * b} + {c} = {answer}"
    else:
        question, answer = f"{c} - {a} * {b}", c - a * b
        thought = f"{a} * {b} = {a * b}, {c} - {a * b} = {answer}"
    return Problem(f"What is {question}?", thought, str(answer))


def draw_level_3(rng: random.Random) -> Problem:
    """A linear equation with the unknown on both sides and an integer solution."""
    x, a, c, b = rng.randint(-12, 12), rng.randint(4, 9), rng.randint(2, 3), rng.randint(1, 40)
    d = (a - c) * x + b
    thought = f"{a - c}x = {d} - {b} = {d - b}, x = {x}"
    return Problem(f"Solve {a}x + {b} = {c}x {_signed(d)} for x.", thought, str(x))


def draw_level_4(rng: random.Random) -> Problem:
    """A system of two linear equations, or a sum of fractions."""
    if rng.random() < 0.5:
        return _draw_fractions(rng)
    x, y = rng.randint(-9, 9), rng.randint(-9, 9)
    a, b, c, d = (rng.randint(1, 6) for _ in range(4))
    if a * d == b * c:  # parallel lines do not determine x
        a += 1
    p, q, determinant = a * x + b * y, c * x + d * y, a * d - b * c
    numerator = p * d - b * q
    return Problem(
        f"What is x if {a}x + {b}y = {p} and {c}x + {d}y = {q}?",
        f"x = ({p} * {d} - {b} * {_bracketed(q)}) / ({a} * {d} - {b} * {c}) "
        f"= {numerator} / {_bracketed(determinant)} = {x}",
        str(x),
    )


def _draw_fractions(rng: random.Random) -> Problem:
    a, b = (Fraction(rng.randint(1, 11), rng.randint(2, 12)) for _ in range(2))
    answer = a + b
    return Problem(
        f"What is {a} + {b}, as a fraction in lowest terms?",
        f"over {math.lcm(a.denominator, b.denominator)} the sum is {answer}",
        str(answer),
    )


def draw_level_5(rng: random.Random) -> Problem:
    """A root of a quadratic equation, a power modulo a number, or a count of committees."""
    kind = rng.randrange(3)
    if kind == 0:
        low, high = sorted(rng.sample(range(-15, 16), 2))
        polynomial = f"x^2 {_term(-low - high)}{_signed(low * high)}"
        return Problem(
            f"What is the larger solution of {polynomial} = 0?",
            f"{polynomial} = (x {_signed(-low)})(x {_signed(-high)})",
            str(high),
        )
    if kind == 1:
        base, exponent, modulus = rng.randint(2, 19), rng.randint(5, 40), rng.randint(7, 60)
        answer = pow(base, exponent, modulus)
        question = f"What is the remainder of {base}^{exponent} divided by {modulus}?"
        return Problem(question, f"squaring and reducing gives {answer}", str(answer))
    n, k = rng.randint(8, 20), rng.randint(2, 6)
    ways = math.comb(n - 1, k)
    return Problem(
        f"A club of {n} people elects a chair and a committee of {k} others. In how many ways?",
        f"{n} chairs, C({n - 1}, {k}) = {ways} committees, {n} * {ways} = {n * ways}",
        str(n * ways),
    )


def _signed(value: int) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value)}"


def _term(factor: int) -> str:
    if factor == 0:
        return ""
    return f"{'-' if factor < 0 else '+'} {'' if abs(factor) == 1 else abs(factor)}x "


def _bracketed(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


LEVELS: dict[int, Callable[[random.Random], Problem]] = {
    1: draw_level_1,
    2: draw_level_2,
    3: draw_level_3,
    4: draw_level_4,
    5: draw_level_5,
}

ROWS = {1: (1200, 160), 2: (160, 40), 3: (160, 40), 4: (120, 30), 5: (100, 25)}
"""Rows of each level for training and for test."""


def to_row(problem: Problem, level: int, number: int) -> Row:
    """Make the data row of a problem: the answer decides, the tags count a little."""
    return Row(
        id=f"math-{level}-{number:04d}",
        prompt=f"{problem.question} {INSTRUCTION}",
        spec=[
            {"type": "math", "answer": problem.answer, "weight": ANSWER_WEIGHT},
            {"type": "format", "tags": ["think", "answer"], "weight": FORMAT_WEIGHT},
        ],
        gold=f"<think> {problem.thought} </think> <answer> {problem.answer} </answer>",
        meta={"level": level},
    )


def make_level(level: int, train: int, test: int, seed: int = 0) -> tuple[list[Row], list[Row]]:
    """Make the rows of one level, no question twice."""
    rng = random.Random(f"math-{level}-{seed}")
    problems: dict[str, Problem] = {}
    while len(problems) < train + test:
        problem = LEVELS[level](rng)
        problems.setdefault(problem.question, problem)
    rows = [to_row(problem, level, number) for number, problem in enumerate(problems.values())]
    return rows[:train], rows[train:]


def main() -> None:
    """Write the train and test split of all levels."""
    write_task(__doc__, make_level, ROWS.items())


if __name__ == "__main__":
    main()
