from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.verifiers.math.clock import Moment, read_moment, same_moment


def _same(gold: str, answer: str) -> bool:
    one, other = read_moment(gold), read_moment(answer)
    assert one is not None
    assert other is not None
    return same_moment(one, other)


@pytest.mark.parametrize(
    "text",
    [
        "3:45 PM",
        r"3{:}45 \text{ p.m.}",
        r"\text{3:45 p.m.}",
        r"$3:45~\text{PM}$",
        "3:45pm",
        "3:45p..",
        "3.45 pm",
        "15:45",
        "15:45:00",
        "at 3:45 P.M.",
        "3:45 in the afternoon",
    ],
)
def test_a_time_in_every_dress(text: str) -> None:
    assert _same("3:45 PM", text)


@pytest.mark.parametrize(
    ("text", "hour", "half"),
    [
        ("noon", 12, "pm"),
        ("12 PM", 12, "pm"),
        ("midnight", 0, "am"),
        ("12 AM", 0, "am"),
        ("7 p.m.", 19, "pm"),
        ("0:00", 0, "am"),
        ("5 o'clock", 5, None),
        ("5 o’clock in the morning", 5, "am"),
        ("12:00", 12, None),
    ],
)
def test_hours(text: str, hour: int, half: str | None) -> None:
    moment = read_moment(text)
    assert moment is not None
    assert (moment.hour, moment.minute, moment.half) == (hour, 0, half)


@pytest.mark.parametrize(
    "text",
    [
        "March 3, 2020",
        "3 March 2020",
        "3rd of March, 2020",
        "the 3rd of March 2020",
        "March the 3rd, 2020",
        "Mar. 3 2020",
        r"\text{March } 3, 2020",
        "Tuesday, March 3, 2020",
        "2020-03-03",
        "2020/03/03",
        "03/03/2020",
        "3.3.2020",
    ],
)
def test_a_date_in_every_dress(text: str) -> None:
    assert _same("March 3, 2020", text)


def test_slashes_put_the_month_first_where_they_can() -> None:
    assert read_moment("03/04/2020") == Moment("date", year=2020, month=3, day=4)
    assert read_moment("25/12/2020") == Moment("date", year=2020, month=12, day=25)


def test_dots_put_the_day_first() -> None:
    assert read_moment("03.04.2020") == Moment("date", year=2020, month=4, day=3)


def test_a_month_alone_needs_a_year() -> None:
    assert read_moment("March 2020") == Moment("date", year=2020, month=3)
    assert read_moment("March") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "7 p",
        "25:00",
        "24:00",
        "13:00 PM",
        "0:30 AM",
        "3:75",
        "3:5",
        "3:45:61",
        "3:45 PM or 4 PM",
        "1:2:3",
        "Feb 30",
        "Feb 29, 2021",
        "March 0",
        "2020-13-01",
        "13/13/2020",
        "2020-3-3",  # may be a subtraction
        "3/4/20",  # may be a quotient
        "2020-03/03",
        "March 32020",
        "Monday",
        "x+1",
        "3:45" + " " * 200,
    ],
)
def test_what_is_no_moment(text: str) -> None:
    assert read_moment(text) is None


def test_leap_days() -> None:
    assert read_moment("February 29, 2020")
    assert read_moment("February 29")


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("15:45", "3:45 PM"),
        ("3:45", "3:45"),
        ("3:45", "3:45 PM"),
        ("12:30", "12:30 AM"),
        ("March 3", "March 3, 2020"),
        ("Tuesday, March 3", "March 3"),
        ("March 3", "Tuesday, March 3"),
        ("noon", "12 p.m."),
    ],
)
def test_an_answer_may_say_more(gold: str, answer: str) -> None:
    assert _same(gold, answer)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("3:45 PM", "3:45 AM"),
        ("3:45 PM", "3:45"),
        ("3:45", "15:45"),  # both may be ratios
        ("3:45 PM", "3:46 PM"),
        ("3:45:10", "3:45"),
        ("noon", "midnight"),
        ("March 3, 2020", "March 3"),
        ("March 3, 2020", "March 3, 2021"),
        ("March 2020", "March 3, 2020"),
        ("March 3", "May 3"),
        ("Tuesday, March 3", "Monday, March 3"),
        ("March 3", "3:03"),
    ],
)
def test_an_answer_may_not_say_less_or_otherwise(gold: str, answer: str) -> None:
    assert not _same(gold, answer)


_PIECES = st.sampled_from(
    [
        "3",
        "12",
        "45",
        "2020",
        "0000",
        ":",
        "/",
        "-",
        ".",
        ", ",
        " ",
        "pm",
        "a.m.",
        "noon",
        "March",
        "th",
        "of ",
        "Tuesday",
        r"\text{",
        "}",
        "$",
        "o'clock",
    ]
)


@given(st.text() | st.lists(_PIECES, max_size=12).map("".join))
def test_no_text_raises(text: str) -> None:
    moment = read_moment(text)
    assert moment is None or same_moment(moment, moment)
