r"""Bring the ways in which answers are written down to one, before they are cut into tokens.

Each rule rewrites what a reader would take in without a thought: colours and sizes, ordinals, words
set as mathematics and mathematics set as words, aligned equations, plain-text and Chinese habits.
No rule may change a value.
"""

from __future__ import annotations

import re

_TEXT = r"\\(?:text(?:rm|bf|it|sf|tt|normal|up)?|mbox|hbox|emph|math(?:rm|bf|it|tt|sf))\s?"
_ENVIRONMENT = r"(?:aligned|align\*?|split|gathered|gather\*?|eqnarray\*?|equation\*?)"
_TRAILING_CONDITION = (
    r"\s*(?:\\text\s?\{\s*\}|\\[ ,;])*\(\s*([^()]*"
    r"(?:\\in(?![a-z])|\\n?[lg]e?q?(?:slant)?(?![a-z])|\\neq?(?![a-z])|[<>])[^()]*)\)\s*\Z"
)
_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # fonts, colours and sizes
        (r"\\(?:text)?color\s?\{[^{}]*\}|\\[hv]space\*?\s?\{[^{}]*\}|\\(?:no)?hfill(?![a-z])", ""),
        (
            r"\\(?:tiny|small|normalsize|large|Large|LARGE|huge|Huge|rm|bf|it|displaystyle"
            r"|textstyle|mathop|underline|pmb|boldsymbol|bm|overbrace|underbrace)(?![A-Za-z])",
            "",
        ),
        (r"\A(?:\\(?:therefore|Rightarrow|implies|to|Longrightarrow|boxed)(?![A-Za-z])\s*)+", ""),
        (r"\A\{\}", ""),
        # words around the value
        (rf"\A(?:{_TEXT}\{{\s*)?(?:only|approximately|about|roughly|exactly|simply)\b\s*\}}?", ""),
        (rf"\A{_TEXT}\{{\s*[A-Z][A-Za-z ]*:\s*\}}", ""),
        (rf"\s*{_TEXT}\{{\s*(?:only|total|in total)\s*\}}\s*\Z", ""),
        (
            rf"\A{_TEXT}\{{(?![^{{}}]*\b(?:not|no|wrong)\b)\s*[A-Za-z][A-Za-z ]*"
            r"\b(?:is|are|equals)\s*\}",
            "",
        ),
        (r"\\checkmark|\\blacksquare|\\square\s*\Z|\\qed(?![a-z])", ""),
        (r"\s*\((?:since|because|as|approximately|approx\.?)\s[^()]*\)\s*\Z", ""),
        (r"\b(?:np|numpy|math|sp|sympy)\.(?=[a-z])", ""),
        # aligned equations are statements one below the other
        (rf"\\begin\{{{_ENVIRONMENT}\}}|\\end\{{{_ENVIRONMENT}\}}", ""),
        (
            r"\\\{\s*\\begin\{(?:array\}\s*\{[lcr| ]*|matrix)\}(.*?)\\end\{(?:array|matrix)\}"
            r"\s*(?:\\right)?\s*\.?\s*\Z",
            r"\\begin{cases}\1\\end{cases}",
        ),
        (r"\\cr(?![a-z])", r"\\\\"),
        (r"\\cup(?=\s*[a-zA-Z]\s*(?:\\[lg]|<|>))", r"\\text{or}"),
        (r"(?<=[\w}])\s*\\q?quad\s*(?=\\?[A-Za-z_{}\d]{1,6}\s*=)", ", "),
        (r"(\\\\|\\newline)\s*\[\s*-?[\d.]+\s*(?:pt|em|ex|mm|cm)\s*\]|\\newline", r"\\\\ "),
        (rf"{_TEXT}\{{\s*(?:if|for|when|where)\s*\}}(?=[^&]*\\(?:\\|end))", ""),
        (rf"{_TEXT}\{{\s*otherwise,?\s*\}}", r" \\otherwise "),
        (r"[.,;]\s*(?=\\\\|\\end)", " "),
        # transposed rows are columns all the same
        (r"(?<=\))\s*(?:\{\})?\^\s*\{?\s*(?:T|\\top|\\intercal|\\mathrm\{T\})\s*\}?\s*\Z", ""),
        # what is no word is mathematics wherever it stands: \text{17}, \text{,}, \text{2 or 3}
        (rf"{_TEXT}\{{\$([^$]*)\$\}}", r"\1"),
        (rf"{_TEXT}\{{([^A-Za-z{{}}]*)\}}", r"\1"),
        (rf"(?<=\d){_TEXT}\{{([eE]-?)\}}", r"\1"),
        (rf"{_TEXT}\{{([A-Z]*\d[^a-z{{}}]*)\}}", r"\1"),
        (rf"{_TEXT}\{{([^{{}}]*(?:\d|=)[^{{}}]*)\}}", r" \1 "),
        (rf"{_TEXT}\{{\s*const(?:ant)?\.?\s*\}}", " C "),
        (r"\\math(?:bin|rel|ord|open|close)\s?\{([^{}]*)\}|\{([:.])\}", r"\1\2"),
        (r"\\(?:middle|thinspace|enspace|negthinspace)(?![a-z])", " "),
        (r"\\&", r"\\text{and}"),
        # combinations
        (r"(?:\{\})?\^\s?\{?(\d+)\}?\s?C_\s?\{?(\d+)\}?", r"\\binom{\1}{\2}"),
        (r"(?:\{\})?_\s?\{?(\d+)\}?\s?C_\s?\{?(\d+)\}?", r"\\binom{\1}{\2}"),
        # numbers
        (r"(?<=\d)'(?=\d{3}(?!\d))", ""),
        (r"(?<=\d)\s*[xX]\s*(?=10\s?\^)", r"\\times "),
        (r"(?<=\d)\{,\}(?=(?:\d{1,2}|\d{4,})(?!\d))", "."),
        (r"(?<![\d.])(\d*\.)\((\d+)\)", r"\1\\overline{\2}"),
        (r"\.\.\.", r"\\ldots "),
        (
            rf"(?<=\d)\s?(?:\^\s?\{{?\s?)?(?:{_TEXT}\{{)?(?<![a-z])"
            r"(?:st|nd|rd|th)(?![A-Za-z])\}{0,2}",
            "",
        ),
        (rf"(?<=\d)\s*(?:{_TEXT}\{{\s*)?\(?\s*(?:in )?base[ ~-]?(\d+)\s*\)?\s*\}}?\s*\Z", r"_{\1}"),
        (r"(?<=\d)_\{\((\d+)\)\}", r"_{\1}"),
        (rf"(?<=\d)\s*(?:{_TEXT}\{{\s*to\s*\}}|to)\s*(?=\d+\s*\Z)", ":"),
        (r"(?<=\d)\s*(?:\^\s?\{?\s?o\s?\}?(?![A-Za-z])|\\deg(?![a-z]))", r"^\\circ "),
        (
            rf"({_TEXT}\{{)\s*(hundred|thousand|million|billion|trillion|dozen)\s(?=[a-z]+\s*\}})",
            r" \2 \1",
        ),
        # money in front of its amount
        (r"\A(?:USD|US\s?\\?\$)\s*(?=\d)", r"\\$"),
        # conditions in brackets behind a value
        (_TRAILING_CONDITION, r", \1"),
    )
]
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
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    if "\\begin" not in text:
        text = text.replace("\\\\", ", ").replace("&", " ")
    text = _JOINING_TEXT.sub(_split_text, text)
    if (text.count("$") - text.count(r"\$")) % 2:  # no pair of fences: a currency sign
        text = _DOLLAR.sub(r"\\$", text, count=1)
    return text.strip(" ,")


def _split_text(match: re.Match[str]) -> str:
    r"""Write `\text{pens and }` as `\text{pens }\text{and}`, for words join lists."""
    return "".join(rf"\text{{{p}}}" for p in _JOINT.split(match[1]) if p.strip())
