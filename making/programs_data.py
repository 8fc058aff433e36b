"""Levels 3 and 4 of the code task: pipelines over lists of integers, and functions of strings."""

from __future__ import annotations

import random
from collections.abc import Callable
from textwrap import dedent

from making.programs import Problem

FILTERS = (
    ("keeps the even numbers", "x % 2 == 0"),
    ("keeps the odd numbers", "x % 2 == 1"),
    ("keeps the positive numbers", "x > 0"),
    ("keeps the numbers greater than {k}", "x > {k}"),
    ("keeps the numbers less than {k}", "x < {k}"),
    ("keeps the numbers divisible by {k}", "x % {k} == 0"),
    ("drops the numbers divisible by {k}", "x % {k} != 0"),
)

MAPS = (
    ("squares each of them", "x * x"),
    ("doubles each of them", "x * 2"),
    ("adds {k} to each of them", "x + {k}"),
    ("multiplies each of them by {k}", "x * {k}"),
    ("takes the absolute value of each of them", "abs(x)"),
    ("takes the remainder of each of them divided by {k}", "x % {k}"),
)

FOLDS = (
    ("their sum", "sum(ys)"),
    ("how many different values there are", "len(set(ys))"),
    ("the largest of them, or 0 if there are none", "max(ys, default=0)"),
    ("the smallest of them, or 0 if there are none", "min(ys, default=0)"),
    ("them in increasing order", "sorted(ys)"),
    ("them in reverse order", "ys[::-1]"),
    ("the first {k} of them", "ys[:{k}]"),
    ("the different values in increasing order", "sorted(set(ys))"),
)


WORDS = (
    "banana", "level", "apple", "noon", "tree", "success", "bookkeeper", "abc", "zoo",
    "xylophone", "a", "aaab", "12ab9",
)  # fmt: skip


def _integer_lists() -> tuple[tuple[object, ...], ...]:
    rng = random.Random("integer lists")
    lists = [[rng.randint(-12, 20) for _ in range(rng.randint(3, 8))] for _ in range(28)]
    return tuple((xs,) for xs in ([], [0], [4, 4, 4], *lists))


def _strings() -> tuple[tuple[object, ...], ...]:
    rng = random.Random("strings")
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 5))) for _ in range(26)]
    return tuple((text,) for text in ("", "aaa bb c", "x1 y22 zzz9", *texts))


INTEGER_LISTS = _integer_lists()
STRINGS = _strings()


def draw_level_3(rng: random.Random) -> Problem:
    """Filter a list, map what is left, and fold it."""
    (keep, test), (change, value), (result, fold) = (
        [text.format(k=k) for text in rng.choice(table)]
        for table, k in ((FILTERS, rng.randint(2, 6)), (MAPS, rng.randint(2, 6)), (FOLDS, 3))
    )
    prompt = (
        f"Write a function f(xs) that takes a list of integers, {keep}, {change} "
        f"and returns {result}."
    )
    source = (
        f"def f(xs):\n    ys = [x for x in xs if {test}]\n"
        f"    ys = [{value} for x in ys]\n    return {fold}\n"
    )
    return Problem(prompt, source, INTEGER_LISTS)


def draw_level_4(rng: random.Random) -> Problem:
    """A function of a string: counting, coding, regrouping."""
    said, source = rng.choice(STRING_TEMPLATES)(rng)
    return Problem(f"Write a function f(s) that takes a string {said}", dedent(source), STRINGS)


def _shift_letters(rng: random.Random) -> tuple[str, str]:
    k = rng.randint(1, 25)
    return (
        "and shifts each lowercase letter a to z forward by "
        f"{k} places in the alphabet, going round after z; other characters stay.",
        f"""\
        def f(s):
            out = ""
            for c in s:
                if "a" <= c <= "z":
                    out += chr((ord(c) - 97 + {k}) % 26 + 97)
                else:
                    out += c
            return out
        """,
    )


def _shift_digits(rng: random.Random) -> tuple[str, str]:
    k = rng.randint(1, 9)
    return (
        f"and replaces each digit d by the last digit of d + {k}; other characters stay.",
        f"""\
        def f(s):
            return "".join(str((int(c) + {k}) % 10) if c in "0123456789" else c for c in s)
        """,
    )


def _count_letters(rng: random.Random) -> tuple[str, str]:
    letters = "".join(sorted(rng.sample("abelnostp", rng.randint(2, 4))))
    return (
        f"and returns how many of its characters are among the letters of {letters!r}.",
        f"""\
        def f(s):
            return sum(1 for c in s if c in {letters!r})
        """,
    )


def _encode_runs(rng: random.Random) -> tuple[str, str]:
    k = rng.randint(2, 3)
    mark = rng.choice("#*:~")
    return (
        f"and writes each run of at least {k} equal characters as the character, {mark!r} and "
        "the length of the run; shorter runs stay.",
        f"""\
        def f(s):
            from itertools import groupby
            out = ""
            for c, run in groupby(s):
                n = len(list(run))
                out += c + {mark!r} + str(n) if n >= {k} else c * n
            return out
        """,
    )


def _long_words(rng: random.Random) -> tuple[str, str]:
    k, joint = rng.randint(2, 6), rng.choice("-_/+")
    return (
        f"of words separated by spaces and returns the words of more than {k} letters in "
        f"reverse order, joined by {joint!r}.",
        f"""\
        def f(s):
            words = [word for word in s.split() if len(word) > {k}]
            return {joint!r}.join(words[::-1])
        """,
    )


def _frequent_letters(rng: random.Random) -> tuple[str, str]:
    k = rng.randint(2, 6)
    return (
        f"and returns the letters a to z that appear at least {k} times in it, in the order of "
        "the alphabet, as one string.",
        f"""\
        def f(s):
            letters = sorted(set(c for c in s if "a" <= c <= "z"))
            return "".join(c for c in letters if s.count(c) >= {k})
        """,
    )


def _raise_every(rng: random.Random) -> tuple[str, str]:
    k, start = rng.randint(2, 5), rng.randint(0, 3)
    return (
        f"and makes every {k}th character uppercase, beginning with the one at index {start}.",
        f"""\
        def f(s):
            out = ""
            for i, c in enumerate(s):
                out += c.upper() if i >= {start} and (i - {start}) % {k} == 0 else c
            return out
        """,
    )


def _reverse_blocks(rng: random.Random) -> tuple[str, str]:
    k = rng.randint(2, 9)
    return (
        f"and reverses each block of {k} characters; the last block may be shorter.",
        f"""\
        def f(s):
            return "".join(s[i:i + {k}][::-1] for i in range(0, len(s), {k}))
        """,
    )


def _longest_run(rng: random.Random) -> tuple[str, str]:
    letters = "".join(sorted(rng.sample("abenolpst", rng.randint(3, 5))))
    return (
        "and returns the length of the longest stretch of neighbouring characters that are all "
        f"among the letters of {letters!r}.",
        f"""\
        def f(s):
            best = run = 0
            for c in s:
                run = run + 1 if c in {letters!r} else 0
                best = max(best, run)
            return best
        """,
    )


def _count_words(rng: random.Random) -> tuple[str, str]:
    k = rng.randint(0, 6)
    return (
        f"of words separated by spaces and returns a dictionary from each word of more than {k} "
        "letters to the number of times it appears.",
        f"""\
        def f(s):
            counts = {{}}
            for word in s.split():
                if len(word) > {k}:
                    counts[word] = counts.get(word, 0) + 1
            return counts
        """,
    )


STRING_TEMPLATES: tuple[Callable[[random.Random], tuple[str, str]], ...] = (
    _shift_letters,
    _shift_digits,
    _count_letters,
    _encode_runs,
    _long_words,
    _frequent_letters,
    _raise_every,
    _reverse_blocks,
    _longest_run,
    _count_words,
)
