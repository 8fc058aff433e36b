r"""Plain numbers, decided exactly with rationals and without any parser for mathematics.

Read are integers, grouped digits, decimals, repeating decimals, `a/b`, `\frac`, mixed numbers and
powers of ten, with a sign, a percent, degree or currency sign, or a unit in words. Two policies,
where conventions of data sets differ: a unit or sign that only one side has is forgiven (gold `14`,
answer `14 units`), one that differs is not (`5 mm` for `5 cm`); and `36%` is 0.36, but also matches
a gold of `36`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from string import whitespace
from typing import NamedTuple

MAX_CHARS, MAX_DIGITS = 4096, 256
"""What is longer is read by nobody."""
MAX_EXPONENT = 10_000
MAX_FENCES = 8
"""Fences within fences that are taken off; a limit keeps `plain` linear."""

_UNICODE = str.maketrans(
    {
        **dict.fromkeys("−–﹣－", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u2003\u2002\u200a", " "),
        "×": r"\times ",
        "·": r"\cdot ",
        "÷": "/",
        "±": r"\pm ",
        "≈": r"\approx ",
        "≤": r"\le ",
        "≥": r"\ge ",
        "≠": r"\neq ",
        "∈": r"\in ",
        "∪": r"\cup ",
        "∩": r"\cap ",
        "∅": r"\emptyset ",
        "∞": r"\infty ",
        "π": r"\pi ",
        "°": r"^\circ ",
    }
)
_WRAPPER = re.compile(
    r"\\(?:text|mbox|mathrm|textrm|textbf|textit|mathbf|operatorname)\{([^{}]*)\}"
)
_REWRITES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\(?:left|right|displaystyle|limits)(?![a-zA-Z])\.?", ""),
        (r"\\!", ""),
        (r"\\[,;:> ]|\\q?quad(?![a-zA-Z])|~", " "),
        (r"\\[dtc]frac(?![a-zA-Z])", r"\\frac"),
        (r"(?<=\d)\{,\}(?=(?:\d{1,2}|\d{4,})\Z)", "."),  # decimal comma, as siunitx sets it
        (r"\{([,:])\}", r"\1"),
        (r"\\([%#&])", r"\1"),
        (r"\^\s*(?:\{\s*)?\\circ\s*\}?|\\degree(?![a-zA-Z])", "°"),
        (r"\s+", " "),
    )
]
_FENCES = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("`", "`"))


class Quantity(NamedTuple):
    """An exact number and the unit it came with, "" for none."""

    value: Fraction
    unit: str


def plain(text: str) -> str:
    """Remove what carries no meaning: math fences, emphasis, spacing, and a final full stop."""
    text = text.translate(_UNICODE).strip()
    for _ in range(MAX_FENCES):
        fenced = text
        for before, after in _FENCES:
            inside = text[len(before) : -len(after)]
            whole = text.startswith(before) and text.endswith(after) and before not in inside
            if whole and len(text) > len(before):
                text = inside.strip()
        text = text.rstrip("." + whitespace).strip()
        if text == fenced:
            break
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return text.strip()


def unwrapped(text: str) -> str:
    r"""Return `plain` text with `\text{...}` and its kin replaced by what they hold."""
    return _WRAPPER.sub(r" \1 ", plain(text)).strip()


def squashed(text: str) -> str:
    """Return the form under which equal spellings are identical; only spaces in words stay."""
    single = re.sub(r"\s+", " ", unwrapped(text))
    return re.sub(r"(?<![A-Za-z0-9]) | (?![A-Za-z0-9])", "", single)


_DECIMAL = r"(?:(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d+)(?:\.\d*)?|\.\d+)"
_INTEGER = rf"\d{{1,{MAX_DIGITS}}}"
_SIGNED = rf"[+-]? ?{_DECIMAL}"
_FRACTION = (
    r"\\frac ?"
    rf"(?:\{{ ?(?P<top>{_SIGNED}) ?\}}|(?P<top1>\d)) ?(?:\{{ ?(?P<low>{_SIGNED}) ?\}}|(?P<low1>\d))"
)
_NUMBER = re.compile(
    r"(?P<sign>[+-]?) ?(?P<currency>\\?\$|€|£)? ?(?:"
    rf"(?P<mixed>{_INTEGER})? ?{_FRACTION}"
    rf"|(?P<whole>{_INTEGER}) (?P<num>{_INTEGER}) ?/ ?(?P<den>{_INTEGER})"
    rf"|(?P<over>{_DECIMAL}) ?/ ?(?P<under>{_DECIMAL})"
    rf"|(?P<mantissa>{_DECIMAL})?(?(mantissa) ?(?:\\times|\\cdot|\*) ?)10 ?\^ ?"
    r"(?:[{(] ?(?P<power>[+-]?\d{1,5}) ?[})]|(?P<power1>\d))"
    rf"|(?P<before>\d*\.\d*)\\overline ?\{{(?P<repeating>\d+)\}}"
    rf"|(?P<decimal>{_DECIMAL})(?:[eE](?P<exponent>[+-]?\d{{1,5}}))?"
    r")(?P<rest>.*)",
    re.DOTALL,
)
_UNIT = re.compile(
    r" ?(?:\\(?:text|mbox|mathrm|textrm)\{ ?(?P<wrapped>[A-Za-z]+(?: [A-Za-z]+)?)\.? ?\}"
    r"|(?P<bare>[A-Za-z]{4,}(?: [A-Za-z]+)?))"
    r" ?(?P<power>\^ ?(?:\d|\{\d\}))?"
)
_SIGNS = {"percent": "%", "degree": "°", "dollar": "$", "usd": "$", "euro": "€", "pound": "£"}
# "2 or more" and "3 sin" are not two of the unit "or more" and three of the unit "sin".
_NO_UNITS = re.compile(
    r"\b(?:or|and|not|more|less|than|about|approximately|is|are|either|sin|cos|tan|log|sqrt|mod"
    r"|factorial|dozen|hundred|thousand|million|billion|trillion|base|squared|cubed|to|from|per"
    r"|times|plus|minus|over|infinity|alpha|beta|theta)\b"
)


def quantity(text: str) -> Quantity | None:
    """Read a plain number, or return None: text that is not one is for others to judge."""
    if len(text) > MAX_CHARS or not (match := _NUMBER.fullmatch(plain(text))):
        return None
    value, unit = _value(match), _unit(match["rest"])
    if value is None or unit is None:
        return None
    if currency := (match["currency"] or "").lstrip("\\"):
        if unit not in ("", currency):
            return None
        unit = currency
    value = -value if match["sign"] == "-" else value
    return Quantity(value / 100 if unit == "%" else value, unit)


def same_quantity(gold: Quantity, answer: Quantity) -> bool:
    """Whether two quantities agree under this module's policies."""
    if gold.unit and answer.unit and gold.unit != answer.unit:
        return False
    if gold.value == answer.value:
        return True
    if "%" not in (gold.unit, answer.unit) or gold.unit == answer.unit:
        return False
    written_gold, written_answer = (q.value * (100 if q.unit == "%" else 1) for q in (gold, answer))
    return written_gold == written_answer and abs(written_gold) >= 1


def _value(match: re.Match[str]) -> Fraction | None:
    top, low = match["top"] or match["top1"], match["low"] or match["low1"]
    if top and low:
        return _sum(match["mixed"], _ratio(top, low), top)
    if match["whole"]:
        return _sum(match["whole"], _ratio(match["num"], match["den"]), match["num"])
    if match["over"]:
        return _ratio(match["over"], match["under"])
    if match["repeating"]:
        return _repeating(match["before"], match["repeating"])
    exponent = int(match["power"] or match["power1"] or match["exponent"] or 0)
    if abs(exponent) > MAX_EXPONENT:
        return None
    return _decimal(match["mantissa"] or match["decimal"] or "1") * Fraction(10) ** exponent


def _sum(whole: str | None, part: Fraction | None, top: str) -> Fraction | None:
    if whole is None or part is None:
        return part
    # 2\frac{3}{5} is a mixed number; 2\frac{7}{5} and 2\frac{-3}{5} are products, or mistakes
    return int(whole) + part if 0 < part < 1 and top.isdecimal() else None


def _ratio(top: str, low: str) -> Fraction | None:
    denominator = _decimal(low)
    return _decimal(top) / denominator if denominator else None


def _repeating(before: str, repeating: str) -> Fraction:
    shift = 10 ** len(before.partition(".")[2])
    return Fraction("0" + before + "0") + Fraction(
        int(repeating), shift * (10 ** len(repeating) - 1)
    )


def _decimal(text: str) -> Fraction:
    return Fraction(re.sub("[, ]", "", text))


def _unit(rest: str) -> str | None:
    rest = rest.strip()
    if rest in ("", "%", "°", "$", "€", "£"):
        return rest
    if not (match := _UNIT.fullmatch(rest)):
        return None
    words = (match["wrapped"] or match["bare"]).lower()
    if _NO_UNITS.search(words):
        return None
    name = " ".join(w.removesuffix("s") if len(w) > 2 else w for w in words.split())
    return _SIGNS.get(name, name) + re.sub("[ {}]", "", match["power"] or "")
