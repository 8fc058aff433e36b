r"""Times of day and dates.

Policies: the half of the day and the year may be added to what the gold answer says, not left out,
so a bare "3:45" does not answer "3:45 PM"; of weekdays only two that differ matter. Hour 0 and
hours from 13 on are on the 24-hour clock. "03/04/2020" is read as in the US, month first, unless
only the other order is a date; "03.04.2020" has the day first.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from typing import Literal, NamedTuple

MAX_CHARS = 100
"""What is longer is no moment."""

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_WEEKDAYS = "mon tue wed thu fri sat sun"
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = (
    r"(?:(?:on )?(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
)
_DAY = r"(?:the )?(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_DATES = [
    re.compile(pattern)
    for pattern in (
        rf"{_WEEKDAY}{_MONTH} {_DAY}(?:(?: ?, ?| ){_YEAR})?",
        rf"{_WEEKDAY}{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?",
        rf"{_MONTH},? {_YEAR}",
        rf"{_YEAR}(?P<mark>[-/])(?P<month>\d\d)(?P=mark)(?P<day>\d\d)",
        rf"(?P<month>\d\d?)/(?P<day>\d\d?)/{_YEAR}",
        rf"(?P<day>\d\d?)\.(?P<month>\d\d?)\.{_YEAR}",
    )
]
_HALF = r"(?P<half>[ap])(?:\.? ?m)?\.{0,2}|in the (?P<part>morning|afternoon|evening)"
_TIMES = [
    re.compile(pattern)
    for pattern in (
        rf"(?:at )?(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))? ?(?:{_HALF})?",
        r"(?:at )?(?P<hour>\d\d?)(?:\.(?P<minute>\d\d))? ?(?P<half>[ap])\.? ?m\.{0,2}",
        r"(?:at )?(?P<hour>\d\d?) ?(?:in the (?P<part>morning|afternoon|evening))",
        rf"(?:at )?(?P<hour>\d\d?) ?o'? ?clock ?(?:{_HALF})?",
        r"(?:at )?(?:12(?::00)? )?(?P<word>noon|midday|midnight)",
    )
]
_MACRO = re.compile(r"\\(?:text(?:rm|bf|it|sf|up|normal)?|[mh]box|math(?:rm|bf|it|sf))\s*(?=\{)")
_MARKUP = re.compile(r"[{}$]|\\[()\[\],;: ]|\\q?quad(?![a-z])|\*\*|[`~]")


class Moment(NamedTuple):
    """A time of day or a date; a field is None where it is not stated.

    `hour` is on the 24-hour clock where `half` is known, and as written where it is not; `half` may
    follow from the hour, and `in_words` tells that it was written out.
    """

    kind: Literal["time", "date"]
    hour: int = 0
    minute: int = 0
    second: int = 0
    half: Literal["am", "pm"] | None = None
    in_words: bool = False
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None


def read_moment(text: str) -> Moment | None:
    """Read a text that is a time or a date and nothing else; None for what does not exist."""
    if len(text) > MAX_CHARS:
        return None
    plain = _plain(text)
    for patterns, read in ((_TIMES, _time), (_DATES, _date)):
        for pattern in patterns:
            if match := pattern.fullmatch(plain):
                return read({name: value for name, value in match.groupdict().items() if value})
    return None


def same_moment(gold: Moment, answer: Moment) -> bool:
    """Whether an answer states all that the gold one does, and nothing that contradicts it."""
    if gold.half is None and answer.in_words:  # not for 15:45, as 3:45 may be a ratio
        gold, answer = (m._replace(hour=m.hour % 12, half=None) for m in (gold, answer))
    if gold.year is None:
        answer = answer._replace(year=None)
    if gold.weekday is None or answer.weekday is None:
        gold, answer = gold._replace(weekday=None), answer._replace(weekday=None)
    return gold._replace(in_words=answer.in_words) == answer


def _plain(text: str) -> str:
    text = _MARKUP.sub(" ", _MACRO.sub(" ", unicodedata.normalize("NFKC", text)))
    text = " ".join(text.casefold().replace("’", "'").split())
    return text.replace(" :", ":").replace(": ", ":").rstrip(".")


def _time(said: dict[str, str]) -> Moment | None:
    if word := said.get("word"):
        night = word == "midnight"
        return Moment("time", hour=0 if night else 12, half=_half(night), in_words=True)
    hour, minute, second = (int(said.get(name, 0)) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    on_dial = 1 <= hour <= 12
    if half := said.get("half") or said.get("part"):
        morning = half in ("a", "morning")
        hour = hour % 12 + (0 if morning else 12)
        return Moment("time", hour, minute, second, _half(morning), True) if on_dial else None
    return Moment("time", hour, minute, second, None if on_dial else _half(hour == 0))


def _half(morning: bool) -> Literal["am", "pm"]:
    return "am" if morning else "pm"


def _date(said: dict[str, str]) -> Moment | None:
    year, day = (int(said[name]) if name in said else None for name in ("year", "day"))
    month = _MONTHS.index(said["name"][:3]) // 4 + 1 if "name" in said else int(said["month"])
    if month > 12 and day is not None and "mark" not in said:
        month, day = day, month
    # 2000 had a February 29: a day without a year need only exist in some
    if not 1 <= month <= 12 or (
        day is not None and not 1 <= day <= monthrange(year or 2000, month)[1]
    ):
        return None
    weekday = _WEEKDAYS.index(said["weekday"][:3]) // 4 if "weekday" in said else None
    return Moment("date", year=year, month=month, day=day, weekday=weekday)
