r"""Answers in words: numbers spelled out, and the canonical form of a text answer.

Policies: "no solution", "no real roots" and "none" mean the empty set, while "does not exist" and
"undefined" do not, for those are said of one value; an ordinal is read only as a denominator with a
count before it, so that "a third" is 1/3 and "third" is no number.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

MAX_CHARS, MAX_WORDS = 4096, 40
"""What is longer is not read as a number, and is only stripped and casefolded as a text."""

_words = str.split
_ONES = _words(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen"""
)
_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_SMALL = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
_SCALES = {"trillion": 10**12, "billion": 10**9, "million": 10**6, "thousand": 1000}
_ORDINALS = _words("third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
_DENOMINATORS = {word: value for value, word in enumerate(_ORDINALS, 3)} | {
    "half": 2, "quarter": 4, "fifteenth": 15, "sixteenth": 16, "twentieth": 20, "hundredth": 100,
    "thousandth": 1000, "millionth": 10**6,
}  # fmt: skip
_PLURALS = {word + "s": value for word, value in _DENOMINATORS.items()} | {"halves": 2}

_HYPHENS = re.compile("[-‐‑–]")
_MACRO = re.compile(r"\\(?:text(?:rm|bf|it|sf|up|normal)?|[mh]box|math(?:rm|bf|it|sf))\s*(?=\{)")
_MARKUP = re.compile(r"(?<!\\)[{}$]|\\[()\[\],;:! ]|\\q?quad(?![a-zA-Z])|\*\*|[`~]")
_ENDS = ' \t\n"“”,;:?'
_PROBLEM = "(?:equation|system|inequality|problem)"
_EMPTY = re.compile(
    rf"(?:there (?:is|are|exists?) |(?:(?:the |this )?{_PROBLEM}|it) has |has )?"
    r"no(?: such)?(?: (?:real|integer|rational|valid|possible|positive|solution))*"
    r" (?:solution|root|value|number|integer)s?(?: (?:of|for) [a-z])?(?: exists?)?"
    rf"(?: to (?:the|this) {_PROBLEM})?"
    r"|none|(?:empty|null) set|\\emptyset|\\varnothing|∅|\\\{ ?\\\}"
)


def read_number_words(text: str) -> Fraction | None:
    """Read a number written out in English, such as "two and a half"; None for all other text."""
    if len(text) > MAX_CHARS:
        return None
    words = _HYPHENS.sub(" ", _unmarked(text)).rstrip(".").split()
    if not 1 <= len(words) <= MAX_WORDS:
        return None
    if words[0] in ("minus", "negative"):
        value = _unsigned(words[1:])
        return None if value is None else -value
    return _unsigned(words)


def normal_text(text: str) -> str:
    r"""Return the form under which text answers that differ in dress only are the same string.

    Case, `\text`, math fences, a leading article, hyphens between letters, spaces and the
    punctuation at the ends go; plurals and look-alike letters of other scripts stay. It is for
    words: in a formula case matters.
    """
    if len(text) > MAX_CHARS:
        return text.strip().casefold()
    text = _unmarked(text).strip(_ENDS)
    # the dots of "0.333..." and the factorial of "n!" have a meaning
    if re.search(r"[^.]\.\Z|[a-z]{2}!\Z", text):
        text = text[:-1].strip(_ENDS)
    words = re.sub(r"(?<=[^\W\d_])[-‐‑–](?=[^\W\d_])", " ", text.replace("’", "'")).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)


def means_empty(text: str) -> bool:
    """Whether a text says that the solution set is empty."""
    return len(text) <= MAX_CHARS and _EMPTY.fullmatch(normal_text(text)) is not None


def _unmarked(text: str) -> str:
    plain = _MARKUP.sub(" ", _MACRO.sub(" ", unicodedata.normalize("NFKC", text)))
    return plain.casefold().strip()


def _unsigned(words: list[str]) -> Fraction | None:
    if "point" in words:
        return _decimal(words)
    if words[:2] == ["half", "a"]:
        whole = _cardinal(["one", *words[2:]]) if len(words) == 3 else None
        return None if whole is None else Fraction(whole, 2)
    if words == ["half"]:
        return Fraction(1, 2)
    if words and words[-1] in _DENOMINATORS.keys() | _PLURALS.keys():
        return _fraction(words)
    whole = _cardinal(words)
    return None if whole is None else Fraction(whole)


def _decimal(words: list[str]) -> Fraction | None:
    at = words.index("point")
    whole = _cardinal(words[:at]) if at else 0
    digits = [_SMALL.get(word, 10) for word in words[at + 1 :]]
    if whole is None or not digits or max(digits) > 9:
        return None
    return whole + Fraction(int("".join(map(str, digits))), 10 ** len(digits))


def _fraction(words: list[str]) -> Fraction | None:
    """Read "two thirds", "a half", "one hundredth" and "two and a half"."""
    counted, denominator = words[:-1], _DENOMINATORS.get(words[-1]) or _PLURALS[words[-1]]
    whole: int | None = 0
    if "and" in counted:
        at = len(counted) - 1 - counted[::-1].index("and")
        whole, counted = _cardinal(counted[:at]), counted[at + 1 :]
    count = 1 if counted in (["a"], ["an"]) else _cardinal(counted)
    if whole is None or not count or (count == 1) != (words[-1] in _DENOMINATORS):
        return None
    return whole + Fraction(count, denominator) if not whole or count < denominator else None


def _cardinal(words: list[str]) -> int | None:
    if words == ["zero"]:
        return 0
    if words[:1] in (["a"], ["an"]) and len(words) > 1 and words[1] not in _SMALL:
        words = ["one", *words[1:]]
    if words[-1:] == ["dozen"]:
        count = _below_thousand(words[:-1])
        return None if count is None else 12 * count
    total = 0
    for scale, value in _SCALES.items():
        if scale in words:
            at = words.index(scale)
            group = _below_thousand(words[:at])
            if group is None:
                return None
            total, words = total + group * value, _after_and(words[at + 1 :])
            if not words:
                return total
    rest = _below_thousand(words)
    return None if rest is None else total + rest


def _below_thousand(words: list[str]) -> int | None:
    if "hundred" not in words:
        return _below_hundred(words)
    at = words.index("hundred")
    hundreds, rest = _below_hundred(words[:at]), _after_and(words[at + 1 :])
    below = _below_hundred(rest) if rest else 0
    return None if hundreds is None or below is None else 100 * hundreds + below


def _below_hundred(words: list[str]) -> int | None:
    values = [_SMALL.get(word, 0) for word in words]
    if len(values) == 1:
        return values[0] or None
    tens_and_ones = len(values) == 2 and values[0] >= 20 and 1 <= values[1] <= 9
    return sum(values) if tens_and_ones else None


def _after_and(words: list[str]) -> list[str]:
    return words[1:] if len(words) > 1 and words[0] == "and" else words
