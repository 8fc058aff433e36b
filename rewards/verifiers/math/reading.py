"""From a text to what it may mean: words, a choice, a moment, or mathematics of some type."""

from __future__ import annotations

import re
from fractions import Fraction

from rewards.verifiers.math.clock import read_moment
from rewards.verifiers.math.evaluate import INFINITY
from rewards.verifiers.math.forms import rational
from rewards.verifiers.math.interpret import Interpreter
from rewards.verifiers.math.parse import parse
from rewards.verifiers.math.terms import (
    TooLarge,
    Unreadable,
)
from rewards.verifiers.math.tokens import FUNCTION_WORDS, MAX_CHARS, plain
from rewards.verifiers.math.values import (
    EMPTY,
    Grid,
    Interval,
    Listing,
    Option,
    Prose,
    Reading,
    RealSet,
    Scalar,
    Value,
)
from rewards.verifiers.math.words import means_empty, normal_text, read_number_words

_TEXT = re.compile(r"\\(?:text|mbox|textrm|textbf|textit|mathrm|mathbf|bf|rm)\s*\{([^{}]*)\}")
_OPTION = re.compile(
    r"(?:(?:option|choice|answer)\s*)?(?:\(\s*([A-Za-z])\s*\)|([A-Z])\s*[.):]|([A-Z]))(?:[\s.:)]+(.*))?",
    re.IGNORECASE | re.DOTALL,
)
_NUMERAL = re.compile(
    r"(-?)(?:(\d{1,99})(?:\.(\d{1,99}))?|\\[dt]?frac ?\{(\d{1,99})\}\{(\d{1,99})\})", re.ASCII
)
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:,\d{3})+(?!\d)")
_LETTER_UNIT = re.compile(r"[\w})](?:(?:\\[ ,;:!]|\s|~)+|\\mathrm\s?\{~?)[A-Za-z](?![A-Za-z])")
_FOR_ALL = re.compile(
    r",?\s?(?:\\text\s?\{\s?,?\s?)?\b(?:for (?:all|any|every|each|some)|where)\b[\s}]*"
    r"(?:(?:positive|negative|real|non-?zero|natural|constant|arbitrary|values? of|numbers?"
    r"|integers?|constants?|odd|even)[\s}]*)*\$?\s?\\?[A-Za-z](?:_\w)?\s?\$?"
    r"(?:\s?\\in\s?\\[a-zA-Z]+(?:\s?\{\s?[A-Z]\s?\})?(?:[_^]\{?[^{}\s]{1,4}\}?)?"
    r"|\s?(?:>|\\geq?|\\neq?|\\ge)\s?0"
    r"|[\s}]*(?:\\text\s?\{)?\s?is an? [a-z ]{3,30})?"
    r"[\s})$]*\Z"
)
_LABELLED = re.compile(r"([A-Za-z][A-Za-z ]*[A-Za-z](?: ?\d{1,2})?)\s*[:=]\s*(.+)", re.DOTALL)
_WORD = re.compile(r"(?i)\b(?=[a-z]*[aeiou])[a-z]{3,}")
_DECIMAL_COMMA = re.compile(r"(?<![\d,.])(\d+),((?!(?<!\b0,)\d{3}(?!\d))\d+)(?![\d,.])")
_NO_DECIMAL = re.compile(r"[(\[{]|\b(?:and|or)\b")
_INTEGER_CLAUSE = re.compile(
    r"(?:,|;|\\q?quad|\()?\s?(?:\\text\s?\{\s?,?\s?)?(?:(?:where|for|with)\s)?"
    r"(?:(?:all|any|some|every|each)\s)?"
    r"(?:(?:integers?|integer values of|whole numbers?)[\s}]*\$?([a-zA-Z])\$?"
    r"|\$?([a-zA-Z])\$?\s?(?:\\text\s?\{)?\s?(?:is|are|=)?\s?(?:an|any)\s(?:arbitrary\s)?integers?[\s}]*"
    r"|\$?([a-zA-Z])\s?\\in\s?(?:\\mathbb\s?\{?\s?Z\s?\}?|Z(?![a-zA-Z])|\\Z(?![a-zA-Z])|\\integers)\$?)"
    r"[\s).}]*\Z"
)
_DOUBT = re.compile(
    r"\b(?i:or|and|no|not|is|isn't|wrong|incorrect|false|maybe|but|either|vs|versus|unless|none)\b"
    r"|\([A-Za-z]\)|(?<![A-Za-z])[A-J](?![A-Za-z]|\s[a-z])"
)
_QUANTITY = re.compile(r"[A-Za-z]")
_WRAPPED = re.compile(r"\\?[A-Za-z]+(?:\{[^{}]*\})?\s?[(\[][^=]*[)\]]")
_NO_QUANTITY = re.compile(r"[=<>~]|\\(?:n?[lg]e?q?|neq?|not|approx)(?![a-z])|\b(?:not|no|if|or)\b")
_VOWEL = re.compile(r"(?i)[aeiouy]")
_REALS = re.compile(r"(?i)(?:the set of )?(?:all )?(?:the )?real numbers?|all reals")
_AND = re.compile(r",? and |[,;]")
_INFINITELY_MANY = re.compile(r"(?i)(?:there are )?infinite(?:ly many)?(?: [a-z]+)?\.?")


def read(text: str, *, gold: bool = False) -> Reading:
    """Return all that a text may mean; never raises for what it holds.

    Args:
        text: An answer.
        gold: Whether it is a gold answer, whose author chose the notation with more care: a comma
            between digits is never its decimal point.
    """
    bare = plain(text[: 4 * MAX_CHARS + 1])  # compatibility forms may be longer than what they mean
    reading = Reading(bare)
    if len(text) > 4 * MAX_CHARS or len(bare) > MAX_CHARS:
        reading.complaint, reading.too_large = f"it has more than {MAX_CHARS} characters", True
        return reading
    if (number := _plain_number(bare)) is not None:  # what most answers are
        reading.values.append(number)
        return reading
    words = _words(bare)
    try:
        reading.values += _as_words(bare, words)
    except Unreadable as error:
        reading.complaint = str(error)
        return reading
    if len(bare) > 2 and bare.isalpha() and reading.values:
        return reading  # "abc" is a word: as a product it would be "cba"
    try:
        reading.values += _as_mathematics(bare, gold=gold)
    except TooLarge as error:
        reading.complaint, reading.too_large = str(error), True
    except (Unreadable, RecursionError) as error:
        reading.complaint = str(error)
        if not reading.values and words and _is_prose(words):
            reading.values.append(Prose(normal_text(bare)))
    return reading


def _plain_number(bare: str) -> Scalar | None:
    r"""Read an integer, a decimal or a `\\frac` of integers, as the parser would, but at once."""
    if not (match := _NUMERAL.fullmatch(bare)):
        return None
    sign, whole, decimals, top, low = match.groups()
    if top:
        return Scalar(rational(Fraction(int(sign + top), int(low)))) if low.strip("0") else None
    decimals = decimals or ""
    value = Fraction(int(sign + whole + decimals), 10 ** len(decimals))
    if not decimals:
        return Scalar(rational(value))
    return Scalar(rational(value), None, len(decimals), len((whole + decimals).lstrip("0")))


def _words(bare: str) -> str:
    return " ".join(re.sub(r"(?<!\\)\$", "", _TEXT.sub(r" \1 ", bare)).split())


def _as_words(bare: str, words: str) -> list[Value]:
    """Return the readings that need no parser."""
    found: list[Value] = []
    if "\\" not in words and not words.isdecimal():  # no formula
        if (meaning := _meaning(words)) is not None:
            return [meaning, Prose(normal_text(bare))]
        if (moment := read_moment(words)) is not None:
            found.append(moment)
        if (number := read_number_words(words)) is not None:
            found.append(Scalar(rational(number)))
    option = _OPTION.fullmatch(words)
    if option and option[1] and option[4] and _DOUBT.search(option[4]):
        raise Unreadable("more than one choice")
    if option:
        letter = next(filter(None, option.groups()[:3]))
        marked = not option[3] or words.strip() != letter or "\\text" in bare
        doubtful = option[4] and ((not option[1] and not option[2]) or _DOUBT.search(option[4]))
        if not doubtful:
            found.append(Option(letter if option[3] else letter.upper(), option[4] or "", marked))
    if _is_prose(words) and (len(words) > 1 or "\\" in bare):
        found.append(Prose(normal_text(bare)))
        parts = [part for part in _AND.split(words) if part.strip()]
        if 1 < len(parts) <= 20 and all(map(_is_prose, parts)):
            found.append(Listing(tuple(Prose(normal_text(part)) for part in parts)))
    return found


def _meaning(words: str) -> Value | None:
    """Return what mathematics has a sign for: nothing, everything, infinity."""
    if means_empty(words):
        return EMPTY
    if _REALS.fullmatch(words):
        return RealSet((Interval(None, None),))
    if words.casefold() == "infinity" or _INFINITELY_MANY.fullmatch(words):
        return Scalar(INFINITY)
    return None


def _is_prose(words: str) -> bool:
    """Whether a text is a word or a sentence rather than a formula."""
    if re.search(r"[\\=?^_]", words):
        return False
    letters = sum(c.isalpha() or c in " '-,." for c in words)
    real = any(_VOWEL.search(w) or not w.isascii() for w in re.findall(r"[^\W\d_]{3,}", words))
    return letters > 0.7 * len(words) and (real or words.casefold() in ("no", "up", "on"))


def _as_mathematics(bare: str, *, gold: bool = False) -> list[Value]:
    if "Z" in bare or "integer" in bare or "number" in bare:
        bare = _with_clause(bare)
    if "for" in bare or "where" in bare:
        bare = _FOR_ALL.sub("", bare) or bare
    modes = [(True, True)]
    if (groups := _GROUPED.search(bare)) and _may_be_list(groups[0], gold=gold):
        modes.append((False, True))
    if _LETTER_UNIT.search(bare):
        modes += [(grouping, False) for grouping, _ in modes]
    found: list[Value] = []
    error: Unreadable | None = None
    texts = [bare]
    comma = bare.count(",") == 1 and not _NO_DECIMAL.search(bare)
    comma = comma and (not gold or re.fullmatch(r"-?\d+,\d\d+", bare) is not None)
    if comma and _DECIMAL_COMMA.search(bare):
        texts.append(_DECIMAL_COMMA.sub(r"\1.\2", bare))
    for text in texts:
        for grouping, letter_units in modes:
            try:
                term = parse(text, grouping=grouping, letter_units=letter_units)
                for log_base in (None, 10):
                    reader = Interpreter(log_base, gold=gold)
                    value = reader.value(term)
                    more = [*reader.families(value), *reader.quantities(term)]
                    found += [v for v in (value, *more) if v not in found]
                    if not reader.evaluator.bare_log:
                        break
            except Unreadable as problem:
                error = problem
    found += _labelled(bare, gold=gold)
    if not found and error:
        return _after_equals(bare, error, gold=gold)
    return found


def _after_equals(bare: str, error: Unreadable, *, gold: bool) -> list[Value]:
    r"""Read the right side of "P(A|B) = 0.3", whatever the left side is.

    Raises:
        Unreadable: The given error, if that does not help.
    """
    left, equals, right = bare.rpartition("=")
    if not equals or not 0 < len(left) <= 80 or not right or not _QUANTITY.search(left):
        raise error
    if _NO_QUANTITY.search(left) and not _WRAPPED.fullmatch(left.strip()):
        raise error
    values = _as_mathematics(right, gold=gold)
    return [v for v in values if isinstance(v, Scalar | Listing | Grid)]


def _may_be_list(groups: str, *, gold: bool) -> bool:
    """Whether "100,200,300" may be three numbers: not "1,001", and no gold of "1,234"."""
    pieces = groups.split(",")
    return not any(p.startswith("0") for p in pieces[1:]) and (len(pieces) > 2 or not gold)


def _labelled(bare: str, *, gold: bool) -> list[Value]:
    """Read "Ann: 14, Bob: 7" or "Area = 24", values with words for labels."""
    if ":" not in bare and "=" not in bare:
        return []
    pieces = [piece.strip() for piece in _AND.split(_words(bare)) if piece.strip()]
    labelled = [match for piece in pieces if (match := _LABELLED.fullmatch(piece))]
    if len(labelled) < len(pieces) or not 0 < len(pieces) <= 20:
        return []
    if any(not _WORD.search(m[1]) or FUNCTION_WORDS & set(m[1].split()) for m in labelled):
        return []
    try:
        values = [_as_mathematics(match[2], gold=gold)[0] for match in labelled]
    except Unreadable:
        return []
    names = tuple(match[1].casefold() for match in labelled)
    return values if len(values) == 1 else [Listing(tuple(values), names=names)]


def _with_clause(bare: str) -> str:
    r"""Write "for any integer k" as `, k \in \mathbb{Z}`."""
    if not (match := _INTEGER_CLAUSE.search(bare)):
        return bare
    name = next(filter(None, match.groups()))
    return rf"{bare[: match.start()].rstrip(' ,;(')}, {name} \in \integers"
