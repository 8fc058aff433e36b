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
model was cut off while it gave one. Nor is one that is denied or doubted by the words right before
it ("not", "might be"), within it ("7 or maybe 8") or right after it ("is not the answer"), or by
a later "wait, that is wrong". Nothing else that follows an answer takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

MAX_CHARS = 4096
"""What is longer is read by nobody: of such an answer, enough is returned to tell."""
LINE_CHARS = 200
"""A line that is longer is prose."""
GAP_CHARS = 80
"""The most that may stand between two boxes that are one answer."""
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
    if how == "last_line":
        text = text[slice(*_last(text))]
    for source, find in _SEARCHES[how]:
        found = find(text)
        if isinstance(found, _Found):
            return _objection(text, found, source) or Answer(found.text, source)
        if found:
            return found
    return Missing(
        r"no answer found; \boxed{...}, <answer>...</answer> and 'the answer is ...' are read",
        "no_answer",
    )


def unbox(text: str) -> str:
    r"""Return what `text` would say within a `\boxed`, for gold answers may hold one as well."""
    found = _boxed(text)
    return found.text if isinstance(found, _Found) else _spoken(text)


# ---- doubts -------------------------------------------------------------------------------------

_BLANK = re.compile(r"\\(?:text\w*+|math\w++|mbox|q?quad|l?dots|[,;:!])|[\s{}$*_.?~\\]")
_MAYBE = r"(?:maybe|perhaps|possibly|probably|(?:might|may|could)(?: also)? be)"
_BEFORE = re.compile(
    rf"(?i)(?:\b(?:not|cannot|neither|{_MAYBE})|n['’]t)(?: be)?(?: equal)?(?: to)?"
    r"(?:[\s:$*_({`\\\[\"]|\b[a-z] ?=)*+\Z"
)
_WITHIN = re.compile(rf"(?i)\b(?:{_MAYBE}|not sure)\b|\A\W*not\b[\s*_]*[$\\(\d-]")
_DENIED = (
    r"(?:n['’]t| not) (?:(?:the|a|my|our|final|correct|right) )*"
    r"(?:answer|solution|correct|right(?![- ]?\w))\b"
)
_WRONG = (
    r"(?:['’]s| is| was| seems| looks)(?: (?:all|clearly|actually|probably|just|only))*"
    rf"(?: (?:wrong|incorrect|a mistake|a guess)\b|{_DENIED})"
)
_TAKEN_BACK = (
    rf"(?:(?:that|(?:my|the|this|that) answer){_WRONG}|scratch that\b|never ?mind\b"
    r"|I (?:made a mistake|was wrong)\b)"
)
_RIGHT_AFTER = re.compile(
    r"(?i)[\s.,;:!?$*_)(\]}\\\"-]*+(?:(?:but|and|no)\b[\s,.!]*+)?"
    rf"(?:is{_DENIED}|{_TAKEN_BACK}|(?:or )?(?:it )?{_MAYBE} [$\\\d-])"
)
# Without a "wait", "this is wrong" may be said of the statement that a letter stands for.
_LATER = re.compile(
    r"(?i)\b(?:wait|oops|hmm|actually|sorry)\b[\s,.!:-]*+(?:(?:no|but|actually)\b[\s,.!]*+)?"
    rf"(?:{_TAKEN_BACK}|(?:this|it){_WRONG})"
)


def _objection(text: str, found: _Found, source: Source) -> Missing | None:
    answer = found.text[: MAX_CHARS + 1]
    if not _BLANK.sub("", answer) and r"\{" not in answer:  # \{\} is the empty set
        return Missing(f"the {source} answer is empty", "empty_answer")
    before = text[max(found.start - 40, 0) : found.start]
    after = _RIGHT_AFTER.match(text, found.end) or _LATER.search(text, found.end)
    if after or _BEFORE.search(before) or _WITHIN.search(answer):
        return Missing(f"the {source} answer {answer!r:.80} is doubted or taken back", "hedged")
    return None


# ---- tags and boxes -----------------------------------------------------------------------------

_TAG = re.compile(r"<(/)?(?:answer|Answer|ANSWER)\s*+>|<\|(?:begin|(end))_of_box\|>")
_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
# TeX also boxes what has no braces; a \boxed before a word is somebody writing about boxes.
_TOKEN = re.compile(
    r"\\\\?(?:boxed|fbox)(?![A-Za-z])\s*+(?:(?P<brace>\{)|(?P<bare>-?\d[\d,./]*+|[A-Za-z](?!\w)))?"
    r"|\\.|[{}]",
    re.DOTALL,
)
_CONNECTIVES = re.compile(
    r"(?:[\s$,;&*_`~{}和或]|\\[()\[\],;:! \\]|\\q?quad\b|\\(?:text|mbox)\{|\(\w{1,2}\)"
    r"|\b(?:and|or|et|ou|und|oder)\b"
    r"|(?:\b[A-Za-z]{1,2}|\\[A-Za-z]{1,8})(?:_\{?\w{1,3}\}?|\(\w{1,3}\))? ?=)*+"
)
_OR = re.compile(r"\b(?:or|ou|oder)\b|或")
_TEXT = re.compile(r"\\(?:text(?:bf|rm|it)?|math(?:rm|bf)|mbox)\{([^{}]*+)\}")


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
    """Find all boxes in one pass, and join the last ones."""
    if not (first := _BOX.search(text)):
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
    return _joined(text, places, _spoken)


def _joined(
    text: str, places: list[_Place | None], read: Callable[[str], str]
) -> _Found | Missing | None:
    """Make one answer of the last place and of those before it that belong to it."""
    if not places or not places[-1]:
        unfinished = Missing("the last box or tag was opened and never closed", "unfinished_answer")
        return unfinished if places else None
    start, inside, stop, end = places[-1]
    parts = [(inside, stop, "")]
    for earlier in filter(None, reversed(places[:-1])):
        if earlier[3] > start:  # a box around all that was found so far
            if not (_connects(text, earlier[1], start) and _connects(text, end, earlier[2])):
                parts = [(earlier[1], earlier[2], "")]
            end = earlier[3]
        elif _connects(text, earlier[3], start):
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


def _connects(text: str, start: int, end: int) -> bool:
    return end - start <= GAP_CHARS and bool(_CONNECTIVES.fullmatch(text, start, end))


def _inside(text: str) -> str:
    boxed = _boxed(text)
    return "" if isinstance(boxed, Missing) else boxed.text if boxed else _spoken(text)


def _spoken(text: str) -> str:
    """Return the value in a box or in tags: "The answer is 7" may stand there too."""
    said = _said(_TEXT.sub(r"\1", text))
    return said.text if isinstance(said, _Found) else _STARS.sub("", _BOX.sub("", text)).strip()


# ---- sentences ----------------------------------------------------------------------------------

_WORD = re.compile("answer|correct (?:option|choice)|####|réponse|antwort|respuesta|答案")
_MARK = re.compile(
    r"""(?xi) (?: (?P<hashes> (?<!\S) \#{4} (?!\#) ) | 答案 (?: [是为為] | \s*+ [:：] )
    | (?<![^\W_]) (?: answers? | correct\ (?:option|choice) | réponse | antwort | respuesta )
      (?: \ finale? )? [*_ \t]*+
      (?: (?:to|for|in|of)\b [^.:=\n]{1,40}? | \([^()\n]{1,40}\) [*_ \t]*+ )??
      (?: (?:is|are|was|equals|est|ist|lautet|es|(?:would|should|must|will)\ be)\b | [:：=]
        | (?P<doubt> (?:might|may|could)\ (?:also\ )?be\ [*_]*+ (?=[$\\\d(`-]|either\b|[A-E]\b)
                     | is ?n['’]t ) | (?P<heading> (?=\n) ) ) )
    [*_:：}\ \t]*+ \s*+ (?: (?:therefore|thus|hence|then|simply|exactly|indeed|option|choice
                               |given\ by|equal\ to|as\ follows)\b [\s,:]*+ )*+"""
)
_HEADING = re.compile(r"(?i)[#*_>\s-]*+(?:the |my )?(?:final |correct )?")
# Here the answer is talked about and not given.
_IDLE = re.compile(r"(?i)(?:correct|consistent with|reasonable|verified|confirmed|found)\b")
_MATH = r"\$\$?([^$]++)\$\$?|\\\(((?:[^\\]|\\(?!\)))++)\\\)|\\\[((?:[^\\]|\\(?!\]))++)\\\]"
_DISPLAY = re.compile(rf"(?:(?!\$[^$]){_MATH}|```\w*\n([^`]++)```)[ \t.]*+(?=\n|\Z)")
_ITEM = re.compile(r"[ \t]*+(?:[-+•*]|\(?\w[.)])[ \t]++")
_ITEMS = re.compile(rf"(?:{_ITEM.pattern}[^\n]++(?:\n|\Z))++")
_END = re.compile(
    r"""(?<![ap]\.m)\.(?=[*_"')\]]*+(?:\s|\Z))|(?<=\$)!|。|\n|,? (?:which|since|because)\b"""
    r"|, (?:so|as|thus|hence|therefore|giving|and (?:so|we|this|that))\b"
)


def _said(text: str) -> _Found | Missing | None:
    """Find the last sentence, heading or #### that gives the answer."""
    words = list(_WORD.finditer(text.replace("İ", "I").lower()))  # İ is the one that would grow
    for word in reversed(words[-MAX_MENTIONS:]):
        if not (mark := _MARK.match(text, word.start())):
            continue
        if mark["doubt"]:
            return Missing(f"the answer is doubted: {mark[0]!r:.80}", "hedged")
        if not _is_idle(text, mark):
            return _value_at(text, mark)
    return None


def _is_idle(text: str, mark: re.Match[str]) -> bool:
    if mark["hashes"]:  # it may be a heading of the fourth rank
        return not _is_value(text[mark.end() : mark.end() + LINE_CHARS].partition("\n")[0])
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
        return _Found(start, start + display.end(), _TAIL.sub("", inner.strip()))
    if "\n" in mark[0] and (listed := _ITEMS.match(window)):
        items = [_bare(_ITEM.sub("", line, count=1)) for line in listed[0].split("\n") if line]
        return _Found(start, start + listed.end(), ", ".join(items))
    stop = end.start() if (end := _END.search(window)) else len(window)
    return _Found(start, start + stop, _bare(window[:stop]))


# ---- lines --------------------------------------------------------------------------------------

_QUOTES = ' \t\r\n*_`"“”#'
_TAIL = re.compile(r"(?<!\\)[.,]+\Z")
_STARS = re.compile(r"(?<![\w)}])\*\*|\*\*(?![\w({\\])")  # bold, where it cannot be a power
_FORMULA = re.compile(_MATH)
_COPULA = re.compile(r".*\b(?:is|are|equals)\b[\s:*_]*+(.+)")
_DENIAL = re.compile(rf"(?i)\b(?:not|no|never|neither|if|suppose|one of|{_MAYBE})\b|n['’]t\b")
_VERB = re.compile(r"(?i)\b(?:is|are|was|be|has|have|do|does|can|could|might|equals?)\b|n['’]t\b")
_NAMES = re.compile(
    r"\\(?:text|mbox|mathrm)\{[^{}]*+\}|\\[A-Za-z]++"
    r"|\b(?:arc)?(?:sin|cos|tan|cot|sec|csc)\b|\b(?:log|exp|sqrt|and|or)\b"
)
_PROSE = re.compile(r"[^\W\d_]{3}|\b(?:is|it|of|to|in|so|no|if|by|we|be|at|an|on)\b|[:?]\Z")
_MATHS = re.compile(r"[\d=^√∞π∅\\]|\A\(?[A-Z]\)?\Z")
_UNIT = r"[ /]?(?!(?:or|and|is|are|was|not|more|less|than|to|of|times)\b)[^\W\d_]+"
_AMOUNT = re.compile(rf"(?:[-+−]?[$€£]?\d[\d.,/]*+|\$[^$]++\$){_UNIT}(?:{_UNIT})?[\^²³\d]*")
_BOLD = re.compile(r"\*\*([^*\n]++)\*\*|`([^`\n]++)`")
_LEAD = re.compile(r"(?i)(?:(?:therefore|thus|so|hence|then|we get|we have)\b[\s,:]*+)*+=?\s*+")


def _bare(text: str) -> str:
    """Take off emphasis, quotes, a lone formula's delimiters, and "the total is" before a value."""
    text = _STARS.sub("", text).strip(_QUOTES)
    if formula := _FORMULA.fullmatch(text):
        inner: str = formula[formula.lastindex or 0]
        return _TAIL.sub("", inner.strip())
    stated = _COPULA.fullmatch(text) if len(text) <= LINE_CHARS else None
    if stated and _is_value(stated[1]) and not _DENIAL.search(text):
        return _bare(stated[1])
    return text.rstrip(".")


def _is_value(text: str) -> bool:
    """Whether a line is nothing but a number, an amount or a formula."""
    if len(text) > LINE_CHARS:
        return False
    text = _STARS.sub("", text).strip(_QUOTES + ".")
    if _FORMULA.fullmatch(text) or _AMOUNT.fullmatch(text):
        return True
    return bool(_MATHS.search(text)) and not _PROSE.search(_NAMES.sub(" ", text))


def _last(text: str) -> tuple[int, int]:
    """Return where the last line starts and ends, without rules, fences and lone delimiters."""
    end = len(text)
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        if text[start:end].strip("-*_=`~$\\[] \t\r"):
            return start, end
        end = start - 1
    return 0, 0


def _bold(text: str) -> _Found | Missing | None:
    start, end = _last(text)
    if _ITEM.match(text, start, end):  # one item of a list is not the answer
        return None
    bold = _BOLD.finditer(text, start, end)
    marked = [(m.start(), *m.span(m.lastindex or 0), m.end()) for m in bold]
    values: list[_Place | None] = [m for m in marked if _is_value(_bare(text[m[1] : m[2]]))]
    if not values and marked and not text[marked[-1][3] : end].strip(" \t\r.!"):
        words = text[marked[-1][1] : marked[-1][2]]
        values = [marked[-1]] if len(words.split()) <= 3 and ":" not in words else []
    return _joined(text, values, _bare)


def _last_line(text: str) -> _Found | None:
    start, end = _last(text)
    line = text[start:end].strip()
    if _ITEM.match(line):
        return None
    value = _LEAD.sub("", line, count=1)
    if not _is_value(value):
        value = _bare(line)
        alone = 0 < len(line) <= LINE_CHARS and not text[:start].strip()
        if not alone or _VERB.search(value):
            return None
    return _Found(start, end, _bare(value))


def _whole(text: str) -> _Found | None:
    return _Found(0, len(text), _bare(text)) if text else None


_SEARCHES: dict[How, list[tuple[Source, Callable[[str], _Found | Missing | None]]]] = {
    "auto": [
        ("answer_tag", _tagged),
        ("boxed", _boxed),
        ("sentence", _said),
        ("bold", _bold),
        ("last_line", _last_line),
    ],
    "boxed": [("boxed", _boxed)],
    "answer_tag": [("answer_tag", _tagged)],
    "last_line": [("last_line", find) for find in (_tagged, _boxed, _said, _whole)],
}
