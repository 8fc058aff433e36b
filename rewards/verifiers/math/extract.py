r"""Find the final answer in what a model wrote, in linear time, and say where it was.

The order is from the most to the least deliberate: `<answer>` tags, the last `\boxed`, a sentence
such as "the answer is 7" or "#### 7", and at last a line that is nothing but an answer. A marker
that was begun and not finished is no answer: the model was cut off while it gave one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rewards.verifiers.math.exact import MAX_CHARS, plain, quantity

LONE_LINE_CHARS = 200
"""A completion of one line, no longer than this, is taken to be nothing but the answer."""

_SENTENCE = re.compile(r"(?i)\banswer\b[*_ \t]*(?:is\b|:|=)[:*_ \t]*")
_SENTENCE_END = re.compile(r"\.(?=\s|$)")
# No group can hold its own delimiters, and no dollar is tried twice: that keeps the search linear.
_MATH = re.compile(
    r"(?<!\$)\$++([^$]++)\$++"
    r"|\\\(((?:[^\\]|\\(?![()]))++)\\\)"
    r"|\\\[((?:[^\\]|\\(?![\[\]]))++)\\\]"
)


class Answer(NamedTuple):
    """The answer's text and where it stood: answer_tag, boxed, sentence or last_line."""

    text: str
    source: str


class Missing(NamedTuple):
    """Why there is no answer, for people (reason) and for programs (code)."""

    reason: str
    code: str


def extract(text: str) -> Answer | Missing:
    """Return the final answer in `text`, which holds no reasoning block any more."""
    for find in (_tagged, _boxed, _sentence, _last_line):
        found = find(text)
        if isinstance(found, Answer) and not plain(_bounded(found.text)):
            return Missing(f"the {found.source} answer is empty", "empty_answer")
        if found:
            return found
    return Missing(
        r"no answer found; \boxed{...}, <answer>...</answer> and 'the answer is ...' are read",
        "no_answer",
    )


def unbox(text: str) -> str:
    r"""Return what the last `\boxed` in `text` holds, or `text` where there is none."""
    found = _boxed(text)
    return found.text if isinstance(found, Answer) else text


def _tagged(text: str) -> Answer | Missing | None:
    last_open, last_close = text.rfind("<answer>"), text.rfind("</answer>")
    if last_open < 0:
        return None
    if last_close < last_open:
        return Missing("an <answer> tag was opened and never closed", "unfinished_answer")
    inside = text[last_open + len("<answer>") : last_close]
    boxed = _boxed(inside)
    return boxed._replace(source="answer_tag") if isinstance(boxed, Answer) else _tag_text(inside)


def _tag_text(inside: str) -> Answer:
    sentence = _sentence(inside)
    return Answer(sentence.text if sentence else inside.strip(), "answer_tag")


def _boxed(text: str) -> Answer | Missing | None:
    macro = max((r"\boxed", r"\fbox"), key=text.rfind)
    if (at := text.rfind(macro)) < 0:
        return None
    start = at + len(macro)
    while start < len(text) and text[start] == " ":
        start += 1
    if text[start : start + 1] != "{":  # TeX's \boxed 7 without braces
        return Answer(re.split(r"[\s$]", text[start:], maxsplit=1)[0], "boxed")
    end = _closing_brace(text, start)
    if end is None:
        return Missing(f"the last {macro} was opened and never closed", "unfinished_answer")
    return Answer(text[start + 1 : end], "boxed")


def _closing_brace(text: str, start: int) -> int | None:
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return match.start()
    return None


def _sentence(text: str) -> Answer | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if line.startswith("####"):
            return Answer(line.lstrip("# "), "sentence")
        if (said := _last_match(_SENTENCE, line)) is None:
            continue
        tail = line[said.end() :]
        if not tail.strip(" *_$") and number + 1 < len(lines):  # "Final Answer:" is a heading
            tail = lines[number + 1]
        return Answer(_value_in(tail), "sentence")
    return None


def _last_match(pattern: re.Pattern[str], line: str) -> re.Match[str] | None:
    last = None
    for last in pattern.finditer(line):  # noqa: B007 (the last one is what is wanted)
        pass
    return last


def _bounded(text: str) -> str:
    """Return as much of `text` as is read, and one character that tells when it was longer."""
    return text.strip()[: MAX_CHARS + 1]


def _value_in(tail: str) -> str:
    """Cut a sentence's rest down to its value: its one formula, or all up to the full stop."""
    tail = _bounded(tail)
    formulas: list[str] = [next(filter(None, groups)) for groups in _MATH.findall(tail)]
    if len(formulas) == 1 and tail.lstrip(" *_").startswith(("$", "\\")):
        return formulas[0]
    return _SENTENCE_END.split(tail, maxsplit=1)[0].strip(" *_")


def _last_line(text: str) -> Answer | None:
    whole = text.strip()
    last = whole.rpartition("\n")[2].strip()
    alone = last == whole and len(whole) <= LONE_LINE_CHARS
    if last and (alone or quantity(last)):
        return Answer(last, "last_line")
    return None
