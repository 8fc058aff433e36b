"""Level 5 of the code task: classic algorithms with parameters, hard for models of a billion.

Loops are bounded (``for``, no ``while``), so that every mutant of a program ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from textwrap import dedent

from making.programs import Problem
from making.programs_data import INTEGER_LISTS, STRINGS

Arguments = tuple[tuple[object, ...], ...]

COUNTS: Arguments = tuple((n,) for n in (12, 7, 0, 1, 25, 18, 33, 2, 5, 40, 9, 60, 3, 14, 77))


def draw_level_5(rng: random.Random) -> Problem:
    """A classic with parameters of its own."""
    said, source, arguments = rng.choice(CLASSICS)(rng)
    return Problem(f"Write a function {said}", dedent(source), arguments)


def _change(rng: random.Random) -> tuple[str, str, Arguments]:
    coins = sorted(rng.sample(range(1, 12), 3))
    return (
        f"f(n) that returns in how many ways coins of {coins[0]}, {coins[1]} and {coins[2]} can "
        "make the amount n, where the order of the coins does not matter.",
        f"""\
        def f(n):
            ways = [1] + [0] * n
            for coin in {coins}:
                for amount in range(coin, n + 1):
                    ways[amount] += ways[amount - coin]
            return ways[n]
        """,
        COUNTS,
    )


def _rising(rng: random.Random) -> tuple[str, str, Arguments]:
    k = rng.randint(1, 8)
    return (
        "f(xs) that returns the length of the longest subsequence of a list of integers in "
        f"which each number exceeds the one before it by at least {k}.",
        f"""\
        def f(xs):
            best = []
            for i, x in enumerate(xs):
                before = [best[j] for j in range(i) if x - xs[j] >= {k}]
                best.append(1 + max(before, default=0))
            return max(best, default=0)
        """,
        INTEGER_LISTS,
    )


def _spaced_sum(rng: random.Random) -> tuple[str, str, Arguments]:
    k = rng.randint(2, 6)
    return (
        "f(xs) that returns the largest sum of elements of a list of integers such that any two "
        f"chosen elements are at least {k} positions apart; choosing none gives 0.",
        f"""\
        def f(xs):
            best = [0]
            for i, x in enumerate(xs):
                before = best[max(0, i + 1 - {k})]
                best.append(max(best[i], before + x))
            return best[-1]
        """,
        INTEGER_LISTS,
    )


def _recurrence(rng: random.Random) -> tuple[str, str, Arguments]:
    p, q, m = rng.randint(1, 5), rng.randint(1, 5), rng.randint(50, 999)
    return (
        f"f(n) that returns the term a(n) of the sequence a(0) = 0, a(1) = 1, "
        f"a(n) = {p} * a(n - 1) + {q} * a(n - 2), modulo {m}.",
        f"""\
        def f(n):
            a, b = 0, 1
            for _ in range(n):
                a, b = b, ({p} * b + {q} * a) % {m}
            return a
        """,
        COUNTS,
    )


def _survivor(rng: random.Random) -> tuple[str, str, Arguments]:
    k = rng.randint(2, 12)
    return (
        "f(n) for n people in a circle, numbered from 0: counting starts with person 0, every "
        f"{k}th person counted leaves and counting goes on with the next. It returns the number "
        "of the person who is left last, or 0 if n is 0.",
        f"""\
        def f(n):
            last = 0
            for size in range(2, n + 1):
                last = (last + {k}) % size
            return last
        """,
        COUNTS,
    )


def _distinct_window(rng: random.Random) -> tuple[str, str, Arguments]:
    k = rng.randint(1, 7)
    return (
        "f(s) that returns the length of the longest substring of a string with at most "
        f"{k} different characters.",
        f"""\
        def f(s):
            best = start = 0
            for end in range(len(s)):
                # The window never shrinks: only one that is longer than the best matters.
                if len(set(s[start:end + 1])) > {k}:
                    start += 1
                best = max(best, end - start + 1)
            return best
        """,
        STRINGS,
    )


def _edit_distance(rng: random.Random) -> tuple[str, str, Arguments]:
    gap, swap = rng.randint(1, 5), rng.randint(1, 9)
    words = ("", "kitten", "sitting", "flaw", "lawn", "banana", "bandana", "abc", "cab", "mat")
    return (
        "f(a, b) that returns the least cost of turning the string a into the string b, where "
        f"inserting or deleting a character costs {gap} and replacing one by another {swap}.",
        f"""\
        def f(a, b):
            row = [j * {gap} for j in range(len(b) + 1)]
            for i, x in enumerate(a):
                new = [(i + 1) * {gap}]
                for j, y in enumerate(b):
                    swap = row[j] + (0 if x == y else {swap})
                    new.append(min(swap, row[j + 1] + {gap}, new[j] + {gap}))
                row = new
            return row[-1]
        """,
        tuple((a, b) for i, a in enumerate(words) for b in words[i + 1 :]),
    )


def _merge(rng: random.Random) -> tuple[str, str, Arguments]:
    k = rng.randint(0, 6)
    dice = random.Random("intervals")
    lists = []
    for _ in range(24):
        starts = [dice.randint(0, 40) for _ in range(dice.randint(2, 6))]
        lists.append([[start, start + dice.randint(0, 8)] for start in starts])
    return (
        "f(spans) that takes a list of [start, end] pairs of integers and merges those that "
        f"overlap or between which the gap (start of the later minus end) is at most {k}. It "
        "returns the merged pairs sorted by start.",
        f"""\
        def f(spans):
            merged = []
            for start, end in sorted(spans):
                if merged and start - merged[-1][1] <= {k}:
                    merged[-1][1] = max(merged[-1][1], end)
                else:
                    merged.append([start, end])
            return merged
        """,
        tuple((spans,) for spans in ([], *lists)),
    )


def _knapsack(rng: random.Random) -> tuple[str, str, Arguments]:
    capacity = rng.randint(6, 30)
    dice = random.Random("items")
    lists = []
    for _ in range(24):
        size = dice.randint(2, 6)
        lists.append([[dice.randint(1, 12), dice.randint(1, 30)] for _ in range(size)])
    return (
        "f(items) that takes a list of [weight, value] pairs and returns the largest total value "
        f"of items, each taken at most once, whose total weight is at most {capacity}.",
        f"""\
        def f(items):
            best = [0] * ({capacity} + 1)
            for weight, value in items:
                for room in range({capacity}, weight - 1, -1):
                    best[room] = max(best[room], best[room - weight] + value)
            return best[-1]
        """,
        tuple((items,) for items in ([], *lists)),
    )


def _islands(rng: random.Random) -> tuple[str, str, Arguments]:
    k, corners = rng.randint(1, 4), rng.random() < 0.5
    dice = random.Random("grids")
    grids = [
        ["".join(dice.choice("#..") for _ in range(6)) for _ in range(dice.randint(2, 6))]
        for _ in range(24)
    ]
    touch = "sides or corners" if corners else "sides"
    near = "max(abs(r - y), abs(c - x)) == 1" if corners else "abs(r - y) + abs(c - x) == 1"
    return (
        "f(grid) that takes a list of strings of '#' and '.' of one length and returns how many "
        f"groups of at least {k} '#' there are, where cells that touch at {touch} belong together.",
        f"""\
        def f(grid):
            left = {{(r, c) for r, row in enumerate(grid) for c, x in enumerate(row) if x == "#"}}
            count = 0
            for cell in sorted(left):
                if cell not in left:
                    continue
                left.remove(cell)
                group = [cell]
                for r, c in group:
                    found = [(y, x) for y, x in left if {near}]
                    left.difference_update(found)
                    group.extend(found)
                count += len(group) >= {k}
            return count
        """,
        tuple((grid,) for grid in grids),
    )


CLASSICS: tuple[Callable[[random.Random], tuple[str, str, Arguments]], ...] = (
    _change,
    _rising,
    _spaced_sum,
    _recurrence,
    _survivor,
    _distinct_window,
    _edit_distance,
    _merge,
    _knapsack,
    _islands,
)
