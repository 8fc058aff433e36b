r"""Whether an answer stands: what is around it may deny, doubt, correct or compute with it.

`objection` reads the words before, in and after an answer, and `part_of_formula` the arithmetic
around a box; both look at a bounded stretch before it and scan what follows once. `signed`
and `unit` add what belongs to a box's value and stands outside it. The rest is what `extract` asks
of a stretch of text: is it a value, what does it say without its wrapping, does it mark an answer.
"""

from __future__ import annotations

import re
from collections import deque
from fractions import Fraction
from string import ascii_letters

# ---- words --------------------------------------------------------------------------------------

BEFORE_CHARS = 60
"""So far back a word or an operator still belongs to the answer."""
MAYBE = r"(?:maybe|perhaps|possibly|probably|(?<!that )(?<!which )(?:might|may|could)(?: also)? be)"

_REACH = r"(?:[\s:$*_({`\\\[\"]|\b[a-z] ?=)*+\Z"
_BEFORE = re.compile(
    rf"(?i)(?:(?:\b(?:not|cannot|neither|{MAYBE})|n['’]t)(?: be)?(?: equal)?(?: to)?"
    r"|\b(?:other than|anything but|instead of|rather than|different from|otherwise|versus|vs\.?"
    rf"|impossible that(?: (?:it|the \w+) is)?)),?{_REACH}"
)
_WITHIN = re.compile(rf"(?i)\b(?:{MAYBE}|not sure)\b|\A\W*not\b[\s*_]*[$\\(\d-]")
_STRUCK = re.compile(r"(?<![\w}])~~(?=\S)")
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
_GAP = r"(?i)[\s.,;:!?$*_)(\]}\\\"-]*+"
_RIGHT_AFTER = re.compile(
    rf"{_GAP}(?:(?:but|and|no)\b[\s,.!]*+)?"
    rf"(?:is{_DENIED}|{_TAKEN_BACK}|(?:or )?(?:it )?{MAYBE} [$\\\d-]|(?:text\{{ ?)?or so\b(?! \w))"
)
# Without a "wait", "this is wrong" may be said of the statement that a letter stands for.
_LATER = re.compile(
    r"(?i)\b(?:wait|oops|hmm|actually|sorry)\b[\s,.!:-]*+(?:(?:no|but|actually)\b[\s,.!]*+)?"
    rf"(?:{_TAKEN_BACK}|(?:this|it){_WRONG})"
)
# Of a letter this may be the question: which of the statements is wrong?
_LETTERS = re.compile(r"(?:\\\w+\{|[\s(){}$*.,]|\b(?:[A-Za-z]|[IVX]+)\b|\band\b)*+")
_SAID_WRONG_BEFORE = re.compile(
    r"(?i)\b(?:wrong|incorrect|false) (?:(?:final )?(?:answer|value|result|solution))"
    rf"(?: (?:is|was|would be))?{_REACH}"
)
_SAID_WRONG_AFTER = re.compile(
    rf"{_GAP}(?:(?:which|it|and it) )?(?:is|was|seems|looks)"
    r"(?: (?:all|clearly|actually|probably|just|only))* (?:wrong|incorrect|false|a mistake)\b"
)


_BEFORE_WORDS = (
    *("not", "n't", "n’t", "neither", "may", "might", "could", "perhaps", "possib", "probab"),
    *("other than", "but", "instead", "rather", "different", "otherwise", "versus", "vs"),
    *("impossible", "wrong", "incorrect", "false", " or", "~~"),
)
_TURN_WORDS = ("wait", "oops", "hmm", "actually", "sorry", "correction")


def objection(text: str, start: int, end: int, answer: str, *, final: bool = True) -> str | None:
    """Return what speaks against `answer`, which stands from `start` to `end`, if anything does.

    Where `final` is true, a later "the answer is 6" contradicts it as well.
    """
    before = text[max(start - BEFORE_CHARS, 0) : start]
    if not _mentions(before, _BEFORE_WORDS):  # the patterns below would find nothing, but slowly
        before = before[-2:]
    turned = _mentions(text[end:], _TURN_WORDS)
    if _RIGHT_AFTER.match(text, end) or (turned and _LATER.search(text, end)):
        return "is doubted or taken back"
    if _BEFORE.search(before) or _WITHIN.search(answer):
        return "is doubted or denied"
    if _STRUCK.search(answer) or (before.endswith("~~") and text.startswith("~~", end)):
        return "is struck out"
    if _is_called_wrong(text, before, end) and not _LETTERS.fullmatch(answer):
        return "is called wrong"
    return _contradiction(text, before, end, answer, final, turned)


def _mentions(text: str, words: tuple[str, ...]) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in words)


def _is_called_wrong(text: str, before: str, end: int) -> bool:
    return bool(_SAID_WRONG_BEFORE.search(before) or _SAID_WRONG_AFTER.match(text, end))


# ---- other numbers ------------------------------------------------------------------------------

_NUMERAL = r"[-−]?(?:\\[dt]?frac\{\d+\}\{\d+\}|\d(?:[\d,]*\d)?(?:\.\d+)?(?:/\d+)?)"
_ALONE = r"(?![\w^/!]|\.\d|\s*(?:[*+=]|\\(?:cdot|times|frac|sqrt|pi)))"
_OPEN = r"[\s:*_$({\\\[]*+(?:[a-z]\s?=\s?)?"
_STOP = r"[$*_)}\\\] \t]*+(?=[.,;!\n]|\Z)"
_OR_BEFORE = re.compile(
    rf"(?i)(?:\A|\beither |\bis |[$(] *(?:[a-z] ?= ?)?)({_NUMERAL})[$)\\]* or{_REACH}"
)
_OR_AFTER = re.compile(rf"{_GAP}(?:text\{{ ?)?or\b[ }}]*+{_OPEN}({_NUMERAL}){_ALONE}")
_CORRECTED = re.compile(
    r"(?i)\b(?:wait|correction|actually|oops|sorry|hmm)\b[\s,.!:*-]*+(?:no\b[\s,.!]*+)?"
    rf"(?:(?:it|that|this|(?:the )?(?:\w+ )?answer)(?: is| should be| must be))?{_OPEN}"
    rf"({_NUMERAL}){_STOP}"
)
_STATED = re.compile(
    rf"(?i)\b(?:the|final|correct|my) answer[*_ ]*(?:is\b|should be\b|[:=\n]){_OPEN}"
    rf"({_NUMERAL}){_STOP}"
)
_FRACTION = re.compile(r"(-?)(?:\\[dt]?frac\{(\d+)\}\{(\d+)\}|(\d+(?:\.\d*)?|\.\d+)(?:/(\d+))?)")


def _contradiction(
    text: str, before: str, end: int, answer: str, final: bool, turned: bool
) -> str | None:
    """Look for another number that is said to be the answer as well, or instead."""
    others = [_OR_BEFORE.search(before), _OR_AFTER.match(text, end)]
    if turned:
        others.append(_CORRECTED.search(text, end))
    if final:
        others += deque(_STATED.finditer(text, end), 1)  # the last is what the text comes to
    for other in filter(None, others):
        if _differ(_number(answer), _number(other[1])):
            return f"is contradicted by {other[1]!r:.40}"
    return None


def _number(text: str) -> Fraction | None:
    """Read a numeral; what is more than that may be equal to another in ways unknown here."""
    bare = re.sub(r"[\s$,]|^[A-Za-z]\s*=", "", text[:100]).replace("−", "-")
    found = _FRACTION.fullmatch(bare) if len(bare) < 40 else None
    if not found or len(text) > 100:
        return None
    above, below = Fraction(found[2] or found[4]), Fraction(found[3] or found[5] or 1)
    return (-above if found[1] else above) / below if below else None


def _differ(value: Fraction | None, other: Fraction | None) -> bool:
    """Whether neither is the other, rounded or in percent."""
    if value is None or other is None:
        return False
    if value.denominator == other.denominator == 1:
        return value != other
    return min(abs(value - other), abs(value * 100 - other)) > abs(other) / 100


# ---- arithmetic around a box --------------------------------------------------------------------

_NAMED = r"sqrt|[dtc]?frac|binom|sin|cos|tan|log|ln|exp"
_COMPARED = r"neq?|leq?|geq?|lt|gt|ll|gg"
_TIMES = r"cdot|times|div|pm|mp|pi"
_OPERATOR_BEFORE = re.compile(
    rf"""(?x) (?: \d | \d\*\*? | [\w)}}]\ \*\  | \d\s*\$\s*\^ | [\w)}}$]\ *\+\s*
    | (?: [\d)}}\]!] | (?<![A-Za-z])[A-Za-z] ) \$? \ *[-−]\s*
    | (?: / | [\^×·÷±≠≤≥] | \s!= | (?<!<)<(?=[\s\\]*\Z) | [\w)}}$]\ ?>\ ? | [A-Za-z)]_ )\s*
    | \\(?:{_NAMED}|{_COMPARED}|{_TIMES})\s*
    | (?: \\(?:{_NAMED}) | (?<![A-Za-z])[A-Za-z] ) \(\s* | \([-\d.\s]+,\s*
    | (?: \\left\s*\| | \\lvert | \\lfloor | \\lceil | [=$(]\| )\s*
    | (?: \\(?:{_NAMED})(?:\[[^\]]*\])? | \\[dtc]?frac\s*(?:\{{[^{{}}]*\}}|\d) | [\^_] )
      \s* \{{ [^{{}}]*
    ) (?:\\left)? [$({{]* \Z"""
)
_OPERATOR_AFTER = re.compile(
    rf"""(?x) [)}}]*! (?: \$ | \s*(?: \$\$ | \\\) | \\\] | [+*^=] ) )
    | (?:\\right)? [)}}$]* (?: \d | [.,]\d | [xyz](?!\w) | \*\*?\d
    | \^(?!\{{?\\?(?:circ|prime|text|th))
    | \s\*\s\d | (?:[ \t]|\\[,;:!])* (?: \+[ \t]*[\w\\($] | /[ \t]*(?:\d|\\(?!text|math)|[xyz]\b|\()
      | [-−][ ]?(?:\d|\\(?:frac|sqrt|pi)|[xyz]\b) | [×·÷±]
      | \\(?:{_TIMES}|sqrt|[dt]?frac|over|choose)(?![A-Za-z]) ) )"""
)
_COMPARED_AFTER = re.compile(
    rf"[$)}}]*(?:[ \t]|\\[,;:!])*(?:[≠≤≥]|!=|<(?=[\s\d])|>(?= ?\d)|\\(?:{_COMPARED})(?![A-Za-z]))"
)
_ASIDE = re.compile(r"\\(?:text|mbox)\{[^{}]*\}|<[^<>\s][^<>]*>")
_MINUS = re.compile(
    r"(?:\A|\n|[=$({\[,:;&]|\b[A-Za-z]{2,} |[^\x00-\x7f])(\s*)[-−](\s?)(\\?\$)?\s?\Z"
)
_UNIT = re.compile(
    r"\$?(\\?%|°|\^\{?\\circ\}?+|_\{?\d{1,2}+\}?+)(?![\s~]*\\(?:text|mathrm))"
    r"|((?:\\[,;: ]|[~ ])*\\text\{[~ ]*"
    r"(?!(?:and|as|by|for|if|in|is|or|since|so|we|when|where|which|with)\b)"
    r"[A-Za-z]+(?:[~ ][A-Za-z]+)?\})(?![\s~$]*(?:[/^]|\\(?:text|mathrm)))"
)
_NUMERIC = re.compile(r"(?:[^A-Za-z]|\\(?:[dt]?frac|sqrt|pi)(?![A-Za-z]))+")


def part_of_formula(text: str, start: int, end: int) -> bool:
    """Whether what stands there is computed or compared with, so that it is not the result."""
    before = _ASIDE.sub("text ", text[max(start - BEFORE_CHARS, 0) : start])
    if not _is_apart(before) and _OPERATOR_BEFORE.search(before):
        return True
    if _OPERATOR_AFTER.match(text, end):
        return True
    # "n = 5 > 0" says what n is, "5 < n" does not
    is_defined = before.rstrip(" $\\({[").endswith("=")
    return not is_defined and bool(_COMPARED_AFTER.match(text, end))


def _is_apart(before: str) -> bool:
    """Whether it ends in nothing, a word, a full stop, a colon or "=", outside of all braces.

    Most answers stand behind one of these, and `_OPERATOR_BEFORE` would take its time over them.
    """
    end = before.rstrip(" \t\n$({[\\")
    if end.rfind("{") > end.rfind("}"):
        return False
    word = end[len(end.rstrip(ascii_letters)) :]
    if len(word) > 1:
        return end[: -len(word)][-1:] != "\\"
    return not end or end[-1] in ".:" or (end[-1] == "=" and end[-2:] != "!=")


def signed(text: str, start: int, value: str) -> str:
    """Give the value in a box the minus that stands right before it, if that is its sign."""
    if "-" not in (close := text[max(start - 6, 0) : start]) and "−" not in close:
        return value
    minus = _MINUS.search(_ASIDE.sub("text ", text[max(start - BEFORE_CHARS, 0) : start]))
    at_line_start = minus and (minus[0][:1] in "\n-−" or "\n" in minus[1])
    if not minus or (at_line_start and minus[2]):  # a bullet
        return value
    return f"-({value})" if re.search(r"[-+−]", value) else f"-{value}"


def unit(text: str, end: int, value: str) -> tuple[str, int]:
    """Return the unit that follows a box with a number, and where it ends."""
    found = _UNIT.match(text, end) if _NUMERIC.fullmatch(value[:1000]) else None
    return (found[1] or found[2], found.end()) if found else ("", end)


# ---- values -------------------------------------------------------------------------------------

LINE_CHARS = 200
"""A line that is longer is prose."""
# No possessive group around alternatives with a backslash: Python 3.11.2 gets those wrong.
MATH = (
    r"\$\$?([^$]++)\$\$?"
    r"|\\\((?!\\\))([^\\]*+(?:\\(?!\))[^\\]*+)*)\\\)"
    r"|\\\[(?!\\\])([^\\]*+(?:\\(?!\])[^\\]*+)*)\\\]"
)
QUOTES = ' \t\r\n*_`"“”#'
TAIL = re.compile(r"(?<![\\.])[.,]\Z")  # "1, 2, ..." ends in no full stop
STARS = re.compile(r"(?<![\w)}])\*\*|\*\*(?![\w({\\])")  # bold, where it cannot be a power
FORMULA = re.compile(MATH)
_POINT = re.compile(
    r"(?i)(?:the |an? )?(?:(?:ordered|open|closed|complex|real|column|unit) )?"
    r"(?:point|number|value|set|interval|vector|matrix|pair|triple|function|polynomial|expression"
    r"|equation|line|ratio|fraction|integer) (\$[^$]+\$)\.?"
)
_COPULA = re.compile(r".*\b(?:is|are|equals)\b[\s:*_]*+(.+)")
_DENIAL = re.compile(rf"(?i)\b(?:not|no|never|neither|if|suppose|one of|{MAYBE})\b|n['’]t\b")
_NAMES = re.compile(
    r"\\(?:text|mbox|mathrm)\{[^{}]*+\}|\\[A-Za-z]++"
    r"|\b(?:arc)?(?:sin|cos|tan|cot|sec|csc)\b|\b(?:log|exp|sqrt|and|or)\b"
)
_PROSE = re.compile(r"[^\W\d_]{3}|\b(?:is|it|of|to|in|so|no|if|by|we|be|at|an|on)\b|[:?]\Z")
_MATHS = re.compile(r"[\d=^√∞π∅\\]|\A\(?[A-Z]\)?\Z")
_NOUN = r"[ /]?(?!(?:or|and|is|are|was|not|more|less|than|to|of|times)\b)[^\W\d_]+"
_AMOUNT = re.compile(rf"(?:[-+−]?[$€£]?\d[\d.,/]*+|\$[^$]++\$){_NOUN}(?:{_NOUN})?[\^²³\d]*")


def bare(text: str) -> str:
    """Take off emphasis, quotes, a lone formula's delimiters, and "the total is" before a value."""
    text = STARS.sub("", text).strip(QUOTES)
    if named := _POINT.fullmatch(text):
        text = named[1]
    if formula := FORMULA.fullmatch(text):
        inner: str = formula[formula.lastindex or 0]
        return TAIL.sub("", inner.strip())
    stated = _COPULA.fullmatch(text) if len(text) <= LINE_CHARS else None
    if stated and is_value(stated[1]) and not _DENIAL.search(text):
        return bare(stated[1])
    # a list that ends in dots goes on
    return text if "," in text and text.endswith("..") else text.rstrip(".")


def is_value(text: str) -> bool:
    """Whether a line is nothing but a number, an amount or a formula."""
    if len(text) > LINE_CHARS:
        return False
    text = STARS.sub("", text).strip(QUOTES + ".")
    if FORMULA.fullmatch(text) or _AMOUNT.fullmatch(text):
        return True
    return bool(_MATHS.search(text)) and not _PROSE.search(_NAMES.sub(" ", text))


# ---- boxes, sentences and lines -----------------------------------------------------------------

BOX = re.compile(r"\\(?:(?:begin)?boxed|fbox)(?![A-Za-z])")
WORD = re.compile(
    "answer|correct (?:option|choice)|####|réponse|antwort|respuesta|resposta|risposta|lösung"
    "|ответ|答案|答[:：]|答え|故选|정답"
)
MARK = re.compile(
    r"""(?xi) (?: (?P<hashes> (?<!\S) \#{4} (?!\#) | (?<!\w) (?: lösung: | 答\s?[:：] ) )
    | 答案 (?: [是为為] | \s*+ [:：] ) | 答え \s?(?: は | [:：] ) | 정답 (?: 은 | \s*[:：] )
    | 故选 \s*+[:：]?\s*+(?=\(?[A-G])
    | (?<![^\W_]) (?: answers? | correct\ (?:option|choice) | réponse | antwort | respuesta
       | resposta | risposta | ответ )
      (?: \ finale? )? [*_ \t]*+
      (?: (?:to|for|in|of)\b [^.:=\n]{1,40}? | \([^()\n]{1,40}\) [*_ \t]*+ )??
      (?: (?:is|are|was|equals|est|ist|lautet|es|é|è|(?:would|should|must|will)\ be)\b | [:：=]
        | (?P<doubt> (?:might|may|could)\ (?:also\ )?be\ [*_]*+ (?=[$\\\d(`-]|either\b|[A-E]\b)
                     | is ?n['’]t ) | (?P<heading> (?=\n) ) ) )
    [*_:：}\ \t]*+ \s*+ (?: (?:therefore|thus|hence|then|simply|exactly|indeed|option|choice
                               |given\ by|equal\ to|as\ follows)\b [\s,:]*+ )*+"""
)
_TEXT = re.compile(r"\\(?:text(?:bf|rm|it)?|math(?:rm|bf)|mbox)\{([^{}]*+)\}")
_SAID = re.compile(
    r"(?is)[\s*_]*(?:(?:so|thus|hence|therefore)\b[\s,]*)?"
    r"(?:(?:(?:the|my) )?(?:final |correct )?answer[\s*_]*(?:is\b:?|[:=])[\s*_]*){1,2}"
    r"((?:(?!\banswer\b).)+?)\.?\s*"
)
_PLAIN = re.compile(r"[-−]?\d[\d,.]*")


def spoken(text: str) -> str:
    """Return the value in a box or in tags: "The answer is 7" may be all that stands there."""
    maybe = len(text) < LINE_CHARS and "answer" in text.lower()
    if maybe and (said := _SAID.fullmatch(_TEXT.sub(r"\1", text))):
        value = said[1].strip(QUOTES)
        return bare(value) if FORMULA.fullmatch(value) else value
    return STARS.sub("", BOX.sub("", text)).strip()


def calm(text: str) -> str:
    """Take off a "!" that ends a sentence; in a formula it may be a factorial."""
    calm = text.rstrip("!")
    is_whole = calm.endswith(("**", "$")) or _PLAIN.fullmatch(calm)
    return calm if is_whole else text


_RULES = "-*_=`~$\\[] \t\r\n"


def last(text: str) -> tuple[int, int]:
    """Return where the last line starts and ends, without rules, fences and lone delimiters."""
    stop = len(text.rstrip(_RULES))
    end = text.find("\n", stop)
    return (text.rfind("\n", 0, stop) + 1, len(text) if end < 0 else end) if stop else (0, 0)


GAP_CHARS = 80
"""The most that may stand between two boxes that are one answer."""
_CONNECTIVES = re.compile(
    r"(?:[\s$,;&*_`~{}和或]|(?<=\n)[-+•] "
    r"|\\[()\[\],;:! \\]|\\q?quad\b|\\(?:text|mbox)\{|\(\w{1,2}\)"
    r"|\b(?:and|or|et|ou|und|oder|for part)\b"
    r"|(?:\b[A-Za-z]{1,2}|\\[A-Za-z]{1,8})(?:_\{?\w{1,3}\}?|\(\w{1,3}\))? ?=)*+"
)
_BLANK = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal|style)?|math(?:bf|bb|cal|it|rm|sf|tt|strut)|mbox|q?quad"
    r"|l?dots)(?![A-Za-z])|\\[,;:!]|[\s{}$*_.?~\\]"
)


def connects(text: str, start: int, end: int) -> bool:
    """Whether what stands between two boxes makes one answer of them."""
    return end - start <= GAP_CHARS and bool(_CONNECTIVES.fullmatch(text, start, end))


def is_blank(text: str) -> bool:
    """Whether an answer says nothing."""
    if text[:1].isalnum():
        return False
    return not _BLANK.sub("", text) and r"\{" not in text  # \{\} is the empty set
