"""Decide whether an answer is the gold answer: from exact and cheap to symbolic and slow.

Every step either decides or passes on. What reaches the last one, math-verify, has been stripped
of the ways in which an answer that says less, more, or nonsense is known to be taken for the gold.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rewards.verifiers.math.exact import (
    Quantity,
    plain,
    quantity,
    same_quantity,
    squashed,
    unwrapped,
)


class Decision(NamedTuple):
    """Whether the answer is right, which rule said so, why, and how both sides were read."""

    right: bool
    rule: str
    reason: str
    gold: str
    answer: str


_WORDS = re.compile(
    r"(?!(?:sin|cos|tan|cot|sec|csc|log|exp|sqrt|arcsin|arccos|arctan|infinity)\b)"
    r"(?:no|up|[A-Za-z][A-Za-z']{2,})(?:[ -][A-Za-z']+)*"
)
_NAME = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?(?: ?\([A-Za-z, ]+\))?(?: ?[A-Z]{2,4})?")
_TUPLE = re.compile(r"\( ?[a-z](?: ?, ?[a-z])+ ?\)")
_EQUALS_OR_BRACE = re.compile(r"(?:[_^] ?)?\{|\}|(?<![<>!\\:])=")
MAX_SIDES = 16
"""Of a chain of equalities; each of them takes time to judge."""
# What a single value cannot contain: choices, ranges, lists, negations.
_NOT_ONE_VALUE = re.compile(
    r"\\pm|\\mp|\\in(?![a-zA-Z])|\\cup|\\cap|\\n?[lg](?:e|eq|t)(?![a-zA-Z])|\\neq?(?![a-zA-Z])"
    r"|\\not|[<>;,]|\\\{|(?<![a-z\\])(?:or|and|either|not)(?![a-z])|\\(?:or|land|lor|neg)(?![a-z])"
)


_CAPTION = re.compile(r"\\(?:text|mbox|textrm)\{([^{}]*)\}")
# Words after a value that make it another one, or no claim at all.
_DENIAL = re.compile(
    r"\b(?:is|isn't|are|not|no|never|or|either|wrong|except|than|if"
    r"|dozen|hundred|thousand|million|billion|trillion)\b"
)
_BASE = re.compile(r"\d ?_")
_LETTER = re.compile("[A-Za-z]")
_CONNECTIVES = frozenset(["and", "or", "if", "for", "where", "with", "is", "are"])


def is_words(text: str) -> bool:
    """Whether a gold answer is prose or a single letter, so that only the same words match."""
    bare = unwrapped(text).strip("() ")
    set_as_text = _CAPTION.fullmatch(plain(text)) and bare.replace(" ", "").isalpha()
    return bool(set_as_text or _WORDS.fullmatch(bare) or re.fullmatch("[A-Z]", bare))


def compare(gold: str, answer: str) -> Decision:
    """Compare an answer with the gold answer; both are within bounds."""
    left, right = quantity(gold), quantity(answer)
    if left and right:
        return _decide_numbers(gold, answer, left, right)
    if squashed(gold) == squashed(answer):
        return _decide(True, "identical", (gold, answer), squashed(gold), squashed(answer))
    if is_words(gold):
        return _compare_words(gold, answer)
    if objection := _objection(gold, answer):
        return Decision(False, *objection, gold, answer)
    return _compare_sides(gold, answer)


def _objection(gold: str, answer: str) -> tuple[str, str] | None:
    """Return the rule and the reason by which an answer cannot be the gold, whatever its value.

    All of these are known to pass math-verify, which drops what it does not understand.
    """
    bare_gold, bare_answer = plain(gold), plain(answer)
    if quantity(gold) and _NOT_ONE_VALUE.search(bare_answer):
        return "single_value", "the gold is one number, the answer is not"
    words, others = _captions(gold), _captions(answer)
    if others and words != others and (words or _DENIAL.search(others)):
        return "words", f"the words {others!r:.60} are not {words!r:.60}"
    if _BASE.search(bare_gold) or _BASE.search(bare_answer):
        return "base", "numbers in other bases must be written as the gold is"
    if _LETTER.fullmatch(bare_gold) and _LETTER.fullmatch(bare_answer):
        return "letter", f"{bare_answer} is not {bare_gold}"
    kinds = {_brackets(bare_gold), _brackets(bare_answer)}
    if kinds == {"()", "{}"}:
        return "brackets", "one is a set, the other is ordered"
    return None


def _brackets(text: str) -> str:
    if text.startswith(r"\{") and text.endswith(r"\}"):
        return "{}"
    return "()" if text.startswith(("(", "[")) and text.endswith((")", "]")) else ""


def _captions(text: str) -> str:
    """Return the words set as text (units, AM and PM), which math-verify would drop."""
    words = " ".join(_CAPTION.findall(text)).lower().replace(".", "").split()
    return " ".join(word.removesuffix("s") for word in words if word not in _CONNECTIVES)


def _compare_words(gold: str, answer: str) -> Decision:
    left, right = (unwrapped(text).strip("() ") for text in (gold, answer))
    same = left == right or (len(left) > 1 and left.casefold() == right.casefold())
    return _decide(same, "text", (gold, answer), left, right)


def _compare_sides(gold: str, answer: str) -> Decision:
    """Treat "x = 5" as a named value, and let each side of a chain of equalities speak.

    An equation is true only if its sides are equal: "3 = 2" is not an answer of 2.
    """
    gold_name, gold_sides = _split(gold)
    name, sides = _split(answer)
    if len(gold_sides) > 1 or _is_list(gold) or _is_list(answer):
        return _symbolic(gold, answer)
    if gold_name and name and squashed(gold_name) != squashed(name):
        return Decision(False, "name", f"{name} is not {gold_name}", gold, answer)
    if objection := _side_objection(gold, answer, sides):
        return Decision(False, *objection, gold, answer)
    # one by one, for one that is wrong settles it
    decisions = (_side(gold_sides[0], side) for side in sides[:-1])
    return next((d for d in decisions if not d.right), None) or _side(gold_sides[0], sides[-1])


def _side_objection(gold: str, answer: str, sides: list[str]) -> tuple[str, str] | None:
    if len(sides) > MAX_SIDES:
        return "sides", f"the answer has {len(sides)} sides; at most {MAX_SIDES} are compared"
    if _equalities(plain(answer)).nested and "=" not in gold:
        return "equation", "the answer holds an equation in braces, the gold holds none"
    return None


def _side(gold: str, side: str) -> Decision:
    left, right = quantity(gold), quantity(side)
    if left and right:
        return _decide_numbers(gold, side, left, right)
    return _symbolic(gold, side)


class _Equalities(NamedTuple):
    r"""Where `=` stands outside of all braces, and whether one stands in braces of another use.

    Those of an index or a bound, as in `\sum_{k=1}^{n} k`, state nothing.
    """

    places: list[int]
    nested: bool


def _equalities(text: str) -> _Equalities:
    places: list[int] = []
    nested = False
    stack: list[bool] = []  # for each open brace: is it, or is it within, an index?
    for match in _EQUALS_OR_BRACE.finditer(text):
        if match[0].endswith("{"):
            stack.append(len(match[0]) > 1 or (bool(stack) and stack[-1]))
        elif match[0] == "}":
            del stack[-1:]
        elif stack:
            nested = nested or not stack[-1]
        else:
            places.append(match.start())
    return _Equalities(places, nested)


def _split(text: str) -> tuple[str | None, list[str]]:
    bare = plain(text)
    ends = [*_equalities(bare).places, len(bare)]
    starts = [0, *(place + 1 for place in ends)]
    sides = [bare[start:end].strip() for start, end in zip(starts, ends, strict=False)]
    if len(sides) > 1 and (_NAME.fullmatch(sides[0]) or _TUPLE.fullmatch(sides[0])):
        return sides[0], sides[1:]
    return None, sides


def _is_list(text: str) -> bool:
    """Whether several statements stand side by side: "x = 1, x = 2"."""
    depth = 0
    for char in plain(text):
        depth += (char in "{([") - (char in "})]")
        if depth <= 0 and char in ",;":
            return True
    return " and " in unwrapped(text) or " or " in unwrapped(text)


def _symbolic(gold: str, answer: str) -> Decision:
    from rewards.verifiers.math.symbolic import equivalent

    right, left_form, right_form = equivalent(gold, answer)
    if not right_form:
        reason = f"the answer {answer!r:.80} cannot be read as mathematics"
        return Decision(False, "unreadable", reason, left_form or gold, answer)
    return _decide(right, "symbolic", (gold, answer), left_form or gold, right_form)


def _decide_numbers(gold: str, answer: str, left: Quantity, right: Quantity) -> Decision:
    forms = [f"{value} {unit}".rstrip() for value, unit in (left, right)]
    return _decide(same_quantity(left, right), "number", (gold, answer), *forms)


def _decide(
    right: bool, rule: str, texts: tuple[str, str], gold_form: str, answer_form: str
) -> Decision:
    gold, answer = (plain(text) for text in texts)
    relation = "equals" if right else "does not equal"
    reason = f"{answer:.80} {relation} {gold:.80} ({rule})"
    return Decision(right, rule, reason, gold_form, answer_form)
