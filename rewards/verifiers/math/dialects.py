r"""Bring the ways in which answers are written down to one, before they are cut into tokens.

Each rule rewrites what a reader would take in without a thought: colours and sizes, ordinals, words
set as mathematics and mathematics set as words, aligned equations, plain-text and Chinese habits.
No rule may change a value.
"""

from __future__ import annotations

import re

_TEXT = r"\\(?:text(?:rm|bf|it|sf|tt|normal|up)?|mbox|hbox|emph|math(?:rm|bf|it|tt|sf))\s?"
_ENVIRONMENT = r"(?:aligned|align\*?|split|gathered|gather\*?|eqnarray\*?|equation\*?)"
_WORDS = "words"
"""Stands for a rule that needs text set as such, `\\text{...}`."""
# Each rule with what a text must hold for it to apply: most hold none of it, and that is cheap.
_RULES = [
    (needle, re.compile(pattern), replacement)
    for needle, pattern, replacement in (
        # escaped twice, or printed by sympy
        (
            "\\\\",
            r"(?<!\\)\\\\(?=(?:[dtc]?frac|sqrt|text|pi|cup|cap|infty|left|right|cdot|times|pm|leq?"
            r"|geq?)(?![a-z]))",
            r"\\",
        ),
        ("*I", r"\*I(?![A-Za-z])", "*i"),
        # fonts, colours and sizes
        ("color", r"\\(?:text)?color\s?\{[^{}]*\}", ""),
        ("space", r"\\[hv]space\*?\s?\{[^{}]*\}", ""),
        (
            "\\",
            r"\\(?:tiny|small|normalsize|large|Large|LARGE|huge|Huge|rm|bf|it|displaystyle"
            r"|textstyle|mathop|underline|pmb|boldsymbol|bm|overbrace|underbrace)(?![A-Za-z])",
            "",
        ),
        (
            "\\",
            r"\A(?:\\(?:therefore|Rightarrow|implies|to|Longrightarrow|boxed)(?![a-z])\s*)+",
            "",
        ),
        ("{}", r"\A\{\}", ""),
        ("\\", r"\\(?:checkmark|blacksquare|qed)(?![a-z])|\\square\s*\Z", ""),
        # words around the value
        ("y", rf"\A(?:{_TEXT}\{{\s*)?(?:only|approximately|roughly|exactly|simply)\b\s*\}}?", ""),
        ("about", rf"\A(?:{_TEXT}\{{\s*)?about\b\s*\}}?", ""),
        (_WORDS, rf"\A{_TEXT}\{{\s*[A-Z][A-Za-z ]*:\s*\}}", ""),
        (_WORDS, rf"\s*{_TEXT}\{{\s*(?:only|total|in total)\s*\}}\s*\Z", ""),
        (
            _WORDS,
            rf"\A{_TEXT}\{{(?![^{{}}]*\b(?:not|no|wrong)\b)\s*[A-Za-z][A-Za-z ]*"
            r"\b(?:is|are|equals)\s*\}",
            "",
        ),
        ("(", r"\s*\((?:since|because|as|approximately|approx\.?)\s[^()]*+\)\s*\Z", ""),
        (".", r"\b(?:np|numpy|math|sp|sympy)\.(?=[a-z])", ""),
        # aligned equations are statements one below the other
        ("\\begin", rf"\\(?:begin|end)\{{{_ENVIRONMENT}\}}", ""),
        (
            "\\begin",
            r"\\\{\s*\\begin\{(?:array\}\s*\{[lcr| ]*|matrix)\}(.*?)\\end\{(?:array|matrix)\}"
            r"\s*(?:\\right)?\s*\.?\s*\Z",
            r"\\begin{cases}\1\\end{cases}",
        ),
        ("\\cr", r"\\cr(?![a-z])", r"\\\\"),
        ("\\cup", r"\\cup(?=\s*[a-zA-Z]\s*(?:\\[lg]|<|>))", r"\\text{or}"),
        ("quad", r"(?<=[\w}])\s*\\q?quad\s*(?=\\?[A-Za-z_{}\d]{1,6}\s*=)", ", "),
        ("\\newline", r"\\newline", r"\\\\"),
        ("\\\\", r"(?<=\\\\)\s*\[\s*-?[\d.]+\s*(?:pt|em|ex|mm|cm)\s*\]", " "),
        (_WORDS, rf"{_TEXT}\{{\s*(?:if|for|when|where)\s*\}}(?=[^&]*\\(?:\\|end))", ""),
        ("otherwise", rf"{_TEXT}\{{\s*otherwise,?\s*\}}", r" \\otherwise "),
        ("\\", r"[.,;]\s*(?=\\\\|\\end)", " "),
        # transposed rows are columns all the same
        (")", r"(?<=\))\s*(?:\{\})?\^\s*\{?\s*(?:T|\\top|\\intercal|\\mathrm\{T\})\s*\}?\s*\Z", ""),
        # what is no word is mathematics wherever it stands: \text{17}, \text{,}, \text{2 or 3}
        (_WORDS, rf"{_TEXT}\{{\$([^$]*)\$\}}", r"\1"),
        (_WORDS, rf"{_TEXT}\{{([^A-Za-z{{}}]*)\}}", r"\1"),
        (_WORDS, rf"(?<=\d){_TEXT}\{{([eE]-?)\}}", r"\1"),
        (_WORDS, rf"{_TEXT}\{{([A-Z]*\d[^a-z{{}}]*)\}}", r"\1"),
        (_WORDS, rf"{_TEXT}\{{([^{{}}\d=]*+[\d=][^{{}}]*+)\}}", r" \1 "),
        ("const", rf"{_TEXT}\{{\s*const(?:ant)?\.?\s*\}}", " C "),
        ("\\math", r"\\math(?:bin|rel|ord|open|close)\s?\{([^{}]*)\}", r"\1"),
        ("{", r"\{([:.])\}", r"\1"),
        ("or", r"(?<=[\d)}\]])or(?=[A-Z(\[\\-])", r"\\text{or}"),
        ("\\", r"\\(?:middle|thinspace|enspace|negthinspace)(?![a-z])", " "),
        ("\\&", r"\\&", r"\\text{and}"),
        # combinations
        ("C_", r"(?:\{\})?\^\s?\{?(\d+)\}?\s?C_\s?\{?(\d+)\}?", r"\\binom{\1}{\2}"),
        ("C_", r"(?:\{\})?_\s?\{?(\d+)\}?\s?C_\s?\{?(\d+)\}?", r"\\binom{\1}{\2}"),
        # numbers
        ("'", r"(?<=\d)'(?=\d{3}(?!\d))", ""),
        ("10", r"(?<=\d)\s*[xX]\s*(?=10\s?\^)", r"\\times "),
        ("{,}", r"(?<=\d)\{,\}(?=(?:\d{1,2}|\d{4,})(?!\d))", "."),
        (".(", r"(?<![\d.])(\d*\.)\((\d+)\)", r"\1\\overline{\2}"),
        ("...", r"\.\.\.", r"\\ldots "),
        *(
            (
                ordinal,
                rf"(?<=\d)\s?(?:\^\s?\{{?\s?)?(?:{_TEXT}\{{)?(?<![a-z])"
                rf"{ordinal}(?![A-Za-z])\}}{{0,2}}",
                "",
            )
            for ordinal in ("st", "nd", "rd", "th")
        ),
        (
            "base",
            rf"(?<=\d)\s*(?:{_TEXT}\{{\s*)?\(?\s*(?:in )?base[ ~-]?(\d+)\s*\)?\s*\}}?\s*\Z",
            r"_{\1}",
        ),
        ("_{(", r"(?<=\d)_\{\((\d+)\)\}", r"_{\1}"),
        ("to", rf"(?<=\d)\s*(?:{_TEXT}\{{\s*to\s*\}}|to)\s*(?=\d+\s*\Z)", ":"),
        ("o", r"(?<=\d)\s*\^\s?\{?\s?o\s?\}?(?![A-Za-z])", r"^\\circ "),
        ("\\deg", r"(?<=\d)\s*\\deg(?![a-z])", r"^\\circ "),
        (
            _WORDS,
            rf"({_TEXT}\{{)\s*(hundred|thousand|million|billion|trillion|dozen)\s(?=[a-z]+\s*\}})",
            r" \2 \1",
        ),
        # money in front of its amount
        ("US", r"\A(?:USD|US\s?\\?\$)\s*(?=\d)", r"\\$"),
    )
]
_ANY_WORDS = re.compile(r"\\(?:text|mbox|hbox|emph|math)")
_CONDITION = re.compile(r"\\in(?![a-z])|\\n?[lg]e?q?(?:slant)?(?![a-z])|\\neq?(?![a-z])|[<>]")
_FOREIGN = str.maketrans(
    {"或": " or ", "且": " and ", "和": " and ", "、": ", ", "。": "", "‹": "<", "›": ">", "∶": ":",
     "个": " ", "厘": "c", "米": "m ", "元": r" \text{yuan}", "千": "k"}
)  # fmt: skip
_JOINT = re.compile(r"(\b(?:and|or)\b|[,;])")
_JOINING_TEXT = re.compile(rf"{_TEXT}\{{([^{{}}]*(?:\b(?:and|or)\b|[,;])[^{{}}]*)\}}")
_DOLLAR = re.compile(r"(?<!\\)\$(?=\s?\.?\d)")


def rewritten(text: str) -> str:
    """Return `plain` text in the one dialect that the parser reads."""
    if not text.isascii():
        text = text.translate(_FOREIGN)
    words = _ANY_WORDS.search(text) is not None
    for needle, pattern, replacement in _RULES:
        if words if needle is _WORDS else needle in text:
            text = pattern.sub(replacement, text)
    text = _with_condition(text)
    if "\\begin" not in text:
        text = text.replace("\\\\", ", ").replace("&", " ")
    text = _JOINING_TEXT.sub(_split_text, text)
    if (text.count("$") - text.count(r"\$")) % 2:  # no pair of fences: a currency sign
        text = _DOLLAR.sub(r"\\$", text, count=1)
    return text.strip(" ,")


def _with_condition(text: str) -> str:
    """Write "y = 2x (x > 0)" as "y = 2x, x > 0"."""
    if not text.endswith(")"):
        return text
    before, _, inside = text[:-1].rpartition("(")
    if not before.strip() or ")" in inside or not _CONDITION.search(inside):
        return text
    return f"{before}, {inside}"


def _split_text(match: re.Match[str]) -> str:
    r"""Write `\text{pens and }` as `\text{pens }\text{and}`, for words join lists."""
    return "".join(rf"\text{{{p}}}" for p in _JOINT.split(match[1]) if p.strip())
