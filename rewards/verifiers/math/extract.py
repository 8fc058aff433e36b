r"""Find the final answer in what a model wrote, in linear time, and say where it was.

From the most to the least deliberate, the first of these that is there decides:

- answer_tag: `<answer>7</answer>`, or `<|begin_of_box|>7<|end_of_box|>`.
- boxed: `\boxed{7}` or `\fbox{7}`; an outer box counts unless it only wraps an inner one.
- sentence: "the answer is 7", "Final Answer" as a heading, "#### 7", "Réponse : 7", "答案是7".
- bold: `**7**` or a `7` in backticks, on the last line.
- last_line: a last line that is nothing but a number or a formula ("x = 7", "So $x = 7$."), or a
  completion of one line: a phrase without a verb, or a sentence that ends in "is 7". Numbers in
  any other prose are no answer, and neither is the last item of a list.

The last of a kind counts, but tags, boxes or bolds with nothing but connectives between them
("\boxed{2} or \boxed{3}", "$x=\boxed{2}$, $y=\boxed{3}$") are one answer of several values, and
the same value again is the same answer. A marker that was begun and not finished is no answer: the
model was cut off while it gave one. Nor is one that is denied or doubted by the words around it
("might be 7", "7 or 8"), taken back later ("wait, that is wrong", "Final answer: 8"), or part of a
larger formula: `doubts` says which.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple

from rewards.verifiers.math.doubts import (
    BOX,
    LINE_CHARS,
    MARK,
    MATH,
    TAIL,
    WORD,
    bare,
    calm,
    connects,
    is_blank,
    is_value,
    last,
    objection,
    part_of_formula,
    signed,
    spoken,
    unit,
)  # fmt: skip

MAX_CHARS = 4096
"""What is longer is read by nobody: of such an answer, enough is returned to tell."""
MAX_PARTS = 256
"""Of the boxes that are one answer; no list is longer."""
END_CHARS = 100
"""In so many characters at the end, tokens that end a turn are looked for."""
MAX_MENTIONS = 16
"""Of the word "answer", from the end; it bounds the time and no honest text has more idle ones."""

Source = Literal["answer_tag", "boxed", "sentence", "bold", "last_line"]
How = Literal["auto", "boxed", "answer_tag", "last_line"]


class Answer(NamedTuple):
    """The answer's text and where it stood."""

    text: str
    source: Source


class Missing(NamedTuple):
    """Why there is no answer, for people (reason) and for programs (code).

    The codes are no_answer, empty_answer, unfinished_answer and hedged.
    """

    reason: str
    code: str


_END_TOKENS = re.compile(
    r"(?:(?:<\|(?!\w+_of_box)\w+\|>(?:user|assistant)?|</s>|<eos>|<end_of_turn>)\s*)+\Z"
)
"""What some chat templates leave behind an answer."""


class _Found(NamedTuple):
    """An answer's text, and the stretch of the completion it stands in, marker and all."""

    start: int
    end: int
    text: str


_Place = tuple[int, int, int, int]
"""Where a marked answer starts, where its inside starts and stops, and where it ends."""


def extract(text: str, how: How = "auto") -> Answer | Missing:
    """Return the final answer in `text`, which holds no reasoning block any more.

    Args:
        text: What the model wrote.
        how: "boxed" and "answer_tag" look at nothing else; "last_line" takes the last line that
            is not empty, whatever it holds.
    """
    if "<" in (end := text[-END_CHARS:]):
        text = text[: len(text) - len(end)] + _END_TOKENS.sub("", end)
    if how == "last_line":
        text = text[slice(*last(text))]
    for source, find in _SEARCHES[how]:
        found = find(text)
        if isinstance(found, _Found):
            return _objection(text, found, source, how) or Answer(found.text, source)
        if found:
            return found
    return Missing(
        r"no answer found; \boxed{...}, <answer>...</answer> and 'the answer is ...' are read",
        "no_answer",
    )


def boxed(text: str) -> str | None:
    r"""Return what the last `\boxed` holds, or None; boxes in a row are one answer."""
    found = _boxes(text)
    return signed(text, found.start, found.text) if isinstance(found, _Found) else None


def unbox(text: str) -> str:
    r"""Return what `text` would say within a `\boxed`, for gold answers may hold one as well."""
    inside = boxed(text)
    if inside is not None:
        return inside
    return text if _boxes(text) else spoken(text)


def _objection(text: str, found: _Found, source: Source, how: How = "auto") -> Missing | None:
    answer = found.text[: MAX_CHARS + 1]
    if is_blank(answer):
        return Missing(f"the {source} answer is empty", "empty_answer")
    final = (how, source) == ("auto", "boxed")  # a tag is the last word
    doubt = objection(text, found.start, found.end, answer, final=final)
    return Missing(f"the {source} answer {answer!r:.80} {doubt}", "hedged") if doubt else None


# ---- tags and boxes -----------------------------------------------------------------------------

_TAG = re.compile(r"<(/)?(?:answer|Answer|ANSWER)\s*+>|<\|(?:begin|(end))_of_box\|>")
# TeX also boxes what has no braces; a \boxed before a word is somebody writing about boxes.
_TOKEN = re.compile(
    r"\\\\?(?:(?:begin)?boxed|fbox)(?![A-Za-z])\s*+(?:(?P<brace>\{)|(?P<bare>-?\d[\d,./]*+|[A-Za-z](?!\w)))?"
    r"|\\.|[{}]",
    re.DOTALL,
)
_OR = re.compile(r"\b(?:or|ou|oder)\b|或")
_DIGIT = re.compile(r"\d")


def _tagged(text: str) -> _Found | Missing | None:
    places: list[_Place | None] = []  # None is one that was not closed yet
    for tag in _TAG.finditer(text):
        if not (tag[1] or tag[2]):
            opened = tag
            places.append(None)
        elif places and not places[-1]:
            places[-1] = (*opened.span(), *tag.span())
    return _joined(text, places, _inside)


def _boxed(text: str) -> _Found | Missing | None:
    """Return the last boxes' answer with its sign and unit, if nothing is computed with it."""
    if not isinstance(found := _boxes(text), _Found):
        return found
    if re.search(r"\w", found.text) and part_of_formula(text, found.start, found.end):
        return Missing(f"the box {found.text!r:.80} is part of a larger formula", "hedged")
    after, end = unit(text, found.end, found.text)
    return _Found(found.start, end, signed(text, found.start, found.text) + after)


def _boxes(text: str) -> _Found | Missing | None:
    """Find all boxes in one pass, and join the last ones."""
    if not (first := BOX.search(text)):
        return None
    places: list[_Place | None] = []
    braces: list[tuple[int, int, int] | None] = []  # the open ones, and the boxes they open
    for token in _TOKEN.finditer(text, first.start()):
        if token["brace"]:
            braces.append((len(places), *token.span()))
            places.append(None)
        elif token["bare"]:
            places.append((token.start(), *token.span("bare"), token.end()))
        elif token[0] == "{":
            braces.append(None)
        elif token[0] == "}" and braces and (box := braces.pop()):
            places[box[0]] = (box[1], box[2], *token.span())
    return _joined(text, places, spoken)


def _joined(
    text: str, places: list[_Place | None], read: Callable[[str], str]
) -> _Found | Missing | None:
    """Make one answer of the last place and of those before it that belong to it."""
    if not places or not places[-1]:
        unfinished = Missing("the last box or tag was opened and never closed", "unfinished_answer")
        return unfinished if places else None
    start, inside, stop, end = places[-1]
    parts = [(inside, stop, "")]
    for earlier in filter(None, places[-2:-MAX_PARTS:-1]):
        if earlier[3] > start:  # a box around all that was found so far
            if not (connects(text, earlier[1], start) and connects(text, end, earlier[2])):
                parts = [(earlier[1], earlier[2], "")]
            end = earlier[3]
        elif connects(text, earlier[3], start):
            joint = " or " if _OR.search(text, earlier[3], start) else ", "
            parts.append((earlier[1], earlier[2], joint))
        else:
            break
        start = earlier[0]
    values = {"": ""}  # without the empty one, and each once
    for inside, stop, joint in parts:  # from the last to the first
        value = read(text[inside:stop])
        values.setdefault("".join(value.split()), value + (joint if len(values) > 1 else ""))
    return _Found(start, end, "".join(reversed(values.values())))


def _inside(text: str) -> str:
    """Return a tag's value: that of a box with words around it, or all of it."""
    boxed = _boxed(text)
    if isinstance(boxed, _Found):
        around = text[: boxed.start] + text[boxed.end :]
        if not _DIGIT.search(around) and not _objection(text, boxed, "boxed"):
            return boxed.text
    return "" if isinstance(boxed, Missing) and boxed.code != "hedged" else spoken(text)


# ---- sentences ----------------------------------------------------------------------------------

_HEADING = re.compile(r"(?i)[#*_>\s-]*+(?:the |my )?(?:final |correct )?")
# Here the answer is talked about and not given.
_IDLE = re.compile(r"(?i)(?:correct|consistent with|reasonable|verified|confirmed|found)\b")
_DISPLAY = re.compile(rf"(?:(?!\$[^$]){MATH}|```\w*\n([^`]++)```)[ \t.]*+(?=\n|\Z)")
_ITEM = re.compile(r"[ \t]*+(?:[-+•*]|\(?\w[.)])[ \t]++")
_ITEMS = re.compile(rf"(?:{_ITEM.pattern}[^\n]++(?:\n|\Z))++")
_END = re.compile(
    r"""(?<![ap]\.m)\.(?=[*_"')\]]*+(?:\s|\Z))|(?<=\$)!|。|\n|,? (?:which|since|because)\b"""
    r"|, (?:so|as|thus|hence|therefore|giving|and (?:so|we|this|that))\b"
    r"|, (?:and )?not (?=[$\\\d-])| \((?:since|because|as|where|for)\b|(?:です|である)(?=[。\s]|\Z)"
)
_ENVIRONMENT = re.compile(r"[ *]*+\$\$?(?=[^$\n\\]*+\\begin\{)[^$]++\$\$?")


def _said(text: str) -> _Found | Missing | None:
    """Find the last sentence, heading or #### that gives the answer."""
    lowered = text.replace("İ", "I").lower()  # İ is the one that would grow
    # a list of all would wake the garbage collector, which costs more than the search
    for word in reversed(deque(WORD.finditer(lowered), MAX_MENTIONS)):
        if not (mark := MARK.match(text, word.start())):
            continue
        if mark["doubt"]:
            return Missing(f"the answer is doubted: {mark[0]!r:.80}", "hedged")
        if not _is_idle(text, mark):
            return _value_at(text, mark)
    return None


def _is_idle(text: str, mark: re.Match[str]) -> bool:
    if mark["hashes"]:  # it may be a heading of the fourth rank
        return not is_value(text[mark.end() : mark.end() + LINE_CHARS].partition("\n")[0])
    if mark["heading"] is not None:
        before = text[max(mark.start() - 40, 0) : mark.start()].rpartition("\n")[2]
        return not _HEADING.fullmatch(before)
    return bool(_IDLE.match(text, mark.end()))


def _value_at(text: str, mark: re.Match[str]) -> _Found:
    """Cut a value out: a display, a list, or all up to the end of the sentence or clause."""
    start = mark.end()
    window = text[start : start + MAX_CHARS + 1]
    if display := _DISPLAY.match(window):
        inner: str = display[display.lastindex or 0]
        return _Found(start, start + display.end(), TAIL.sub("", inner.strip()))
    if "\n" in mark[0] and (listed := _ITEMS.match(window)):
        items = [bare(_ITEM.sub("", line, count=1)) for line in listed[0].split("\n") if line]
        return _Found(start, start + listed.end(), ", ".join(items))
    matrix = _ENVIRONMENT.match(window)  # its lines may be lines here
    end = _END.search(window, matrix.end() if matrix else 0)
    stop = end.start() if end else len(window)
    value = window[:stop].rstrip()
    factorial = value.endswith("!") and window.startswith(".", stop)
    return _Found(start, start + stop, bare(value if factorial else calm(value)))


# ---- lines --------------------------------------------------------------------------------------

_REASON = re.compile(
    r" \((?:since|because|as|where|for)\b[^\n]*\)\.?\Z|,? (?:since|because)\b[^\n]*\Z"
    r"|,? is (?:the|our|my) (?:(?:final|correct) )?(?:answer|solution)(?: set)?[.!]?\Z"
)
_VERB = re.compile(r"(?i)\b(?:is|are|was|be|has|have|do|does|can|could|might|equals?)\b|n['’]t\b")
_BOLD = re.compile(r"\*\*([^*\n]++)\*\*|`([^`\n]++)`")
_LEAD = re.compile(
    r"(?i)(?:(?:therefore|thus|so|hence|then|we (?:get|have|find|obtain)(?: that)?)\b[\s,:]*+)*+"
    r"(?:answer\s++(?=\$|\\[(\[]))?=?\s*+"
)


def _bold(text: str) -> _Found | Missing | None:
    start, end = last(text)
    # one item of a list is not the answer, and no list of a thousand bolds is
    if end - start > MAX_CHARS or _ITEM.match(text, start, end):
        return None
    bold = _BOLD.finditer(text, start, end)
    marked = [(m.start(), *m.span(m.lastindex or 0), m.end()) for m in bold]
    values: list[_Place | None] = [m for m in marked if is_value(bare(text[m[1] : m[2]]))]
    if not values and marked and not text[marked[-1][3] : end].strip(" \t\r.!"):
        words = text[marked[-1][1] : marked[-1][2]]
        values = [marked[-1]] if len(words.split()) <= 3 and ":" not in words else []
    return _joined(text, values, bare)


def _last_line(text: str) -> _Found | None:
    start, end = last(text)
    line = text[start:end].strip()
    line = _REASON.sub("", line) if len(line) <= LINE_CHARS else line
    if _ITEM.match(line):
        return None
    value = _LEAD.sub("", line, count=1)
    if not is_value(value):
        value = bare(line)
        alone = 0 < len(line) <= LINE_CHARS and not text[:start].strip()
        if not alone or _VERB.search(value):
            return None
    return _Found(start, end, bare(value))


def _whole(text: str) -> _Found | None:
    return _Found(0, len(text), bare(text)) if text else None


_SEARCHES: dict[How, list[tuple[Source, Callable[[str], _Found | Missing | None]]]] = {
    "auto": [
        ("answer_tag", _tagged), ("boxed", _boxed), ("sentence", _said), ("bold", _bold),
        ("last_line", _last_line),
    ],
    "boxed": [("boxed", _boxed)],
    "answer_tag": [("answer_tag", _tagged)],
    "last_line": [("last_line", find) for find in (_tagged, _boxed, _said, _whole)],
}  # fmt: skip
