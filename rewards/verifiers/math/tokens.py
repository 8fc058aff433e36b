r"""Cut an answer into tokens: LaTeX, plain text and Unicode are brought to one form here.

Spacing, sizes and fonts carry no meaning and are dropped; what is left are numbers, words, macros,
text in `\text{...}` and signs. One pass of one regular expression, in linear time.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

MAX_CHARS = 4096
"""What is longer is read by nobody."""
MAX_TOKENS = 1500

_words = str.split
_SUPERSCRIPTS, _SUBSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "₀₁₂₃₄₅₆₇₈₉"
_LEVEL = str.maketrans(_SUPERSCRIPTS + _SUBSCRIPTS, "0123456789-+n" + "0123456789")
_NAMES = {
    "×": "times", "·": "cdot", "⋅": "cdot", "∙": "cdot", "•": "cdot", "÷": "div", "±": "pm",
    "∓": "mp", "≈": "approx", "≤": "le", "≥": "ge", "⩽": "le", "⩾": "ge", "≠": "neq", "∈": "in",
    "∉": "notin", "∪": "cup", "∩": "cap", "∖": "setminus", "∅": "emptyset", "∞": "infty",
    "π": "pi", "√": "sqrt", "∠": "angle", "△": "triangle", "→": "to", "≡": "equiv", "∑": "sum",
    "∫": "int", "∏": "prod", "⟨": "langle", "⟩": "rangle", "⌊": "lfloor", "⌋": "rfloor",
    "⌈": "lceil", "⌉": "rceil", "ℝ": "reals", "ℤ": "integers", "ℕ": "naturals", "∣": "mid",
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "θ": "theta",
    "λ": "lambda", "μ": "mu", "µ": "mu", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi",
    "ϕ": "phi", "ψ": "psi", "ω": "omega", "Δ": "Delta", "Ω": "Omega", "Σ": "Sigma", "∧": "land",
    "∨": "lor", "′": "prime",
}  # fmt: skip
_UNICODE = str.maketrans(
    {
        **dict.fromkeys("−–‐‑﹣－", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u2003\u2002\u200a\u3000", " "),
        **dict.fromkeys("\u200b\u2060\ufeff\u00ad\u2061\u2062\u2063", ""),
        **{sign: rf"\{name} " for sign, name in _NAMES.items()},
        "°": r"^\circ ",
        **{chr(0x2460 + n): f" {n + 1}, " for n in range(20)},  # ① and on: the choices of a list
        "½": r" \frac{1}{2}",
        "¼": r" \frac{1}{4}",
        "¾": r" \frac{3}{4}",
        "⅓": r" \frac{1}{3}",
        "⅔": r" \frac{2}{3}",
        "∛": r"\sqrt[3]",
        "“": '"',
        "”": '"',
        "’": "'",
        "，": ", ",
        "；": "; ",
        "（": "(",
        "）": ")",
        "：": ":",
        "＝": "=",
    }
)
_SQUARED = re.compile(r"(?<=\d)m(?=[²³])")  # nobody types m² for a power of a variable
_RAISED, _LOWERED = re.compile(f"[{_SUPERSCRIPTS}]+"), re.compile(f"[{_SUBSCRIPTS}]+")


class Token(NamedTuple):
    """A piece of the text: what it is, what it says, where it starts, whether space precedes it."""

    kind: str
    """number, grouped, base, word, macro, text, sign or end."""
    text: str
    start: int
    spaced: bool


def plain(text: str) -> str:
    """Remove what carries no meaning: math fences, emphasis, spacing and a final full stop."""
    if not text.isascii():
        text = _SQUARED.sub(" m", text)
        text = _RAISED.sub(lambda run: _script("^", run[0]), text)
        text = _LOWERED.sub(lambda run: _script("_", run[0]), text)
        text = unicodedata.normalize("NFKC", text.translate(_UNICODE))
    text = _THIN_COMMA.sub(",", text)
    text = _SPACING.sub(lambda run: run[0] if run[0] == "\\\\" else " " * (run[0] != "\\!"), text)
    for _ in range(8):  # fences within fences; a limit keeps this linear
        before = text
        text = _unpunctuated(text.strip(" "))
        for left, right in _FENCES:
            inside = text[len(left) : len(text) - len(right)]
            whole = text.startswith(left) and text.endswith(right) and left not in inside
            if whole and len(text) >= len(left) + len(right):
                text = inside.strip(" ")
        if text == before:
            break
    return text


def _unpunctuated(text: str) -> str:
    if text.startswith((r"\displaystyle", r"\textstyle")):
        text = text.partition("style")[2].lstrip(" ")
    text = text.removesuffix("\\\\").rstrip(" ").lstrip(": ")
    if text.endswith("\\") and not text.endswith("\\\\"):
        text = text[:-1].rstrip(" ")  # what is left of a final "\\ "
    cut = text[-1:] in (".", ",", ";", ":") and text[-2:-1] not in (".", "\\")
    return text[:-1].rstrip(" ") if cut else text


def _script(sign: str, run: str) -> str:
    plain_run = run.translate(_LEVEL)
    return sign + (plain_run if len(run) == 1 else f"{{{plain_run}}}")


_THIN_COMMA = re.compile(r",\\!\s?(?=\d{3}(?!\d))")
_SPACING = re.compile(r"\\\\|\\!|(?:\s|~|\\[,;: ])+")
_FENCES = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("`", "`"))

_NUMBER = (
    r"\d+\.\d+|\d+\.(?=\\(?:overline|bar|dot|ldots|dots)|\(\d|\s?[/*^)}])|\d+"
    r"|\.\d+|\.(?=\\overline|\\bar)"
)
_GAP = r"(?:,\\!\ ?|\ ?\{,\ ?\}|\\[,!;: ]|\ |~|,)"
_TOKEN = re.compile(
    rf"""
    (?P<skip>(?:\s|~|\\[,;:!\s]|\\q?quad(?![A-Za-z])|\$|\\[()\[\]]
      |\\(?:left|right|displaystyle|textstyle|limits|nolimits|[bB]igg?[lrm]?|mathstrut)(?![A-Za-z])\.?
      )+)
  | (?P<base>(?:\d[0-9A-Z]*|(?<![A-Za-z])[0-9A-F]{{2,}}(?=\s?_\s?\{{?\s?16))
      \s?_\s?(?:\{{\s*\d+\s*\}}|\d+))
  | (?P<grouped>(?<![\d.])(?<!(?<!\\),)[1-9]\d{{0,2}}(?:{_GAP}\d{{3}})+(?![\d,]?\d)(?:\.\d+)?)
  | (?P<number>{_NUMBER})
  | \\(?:text|mbox|textrm|textbf|textit|textsf|textnormal|hbox)\s?\{{(?P<text>[^{{}}]*)\}}
  | \\(?:mathrm|mathbf|mathit|mathsf|mathcal|operatorname\*?|boldsymbol|bm|rm|bf)
      \s?\{{(?P<font>[^{{}}]*)\}}
  | (?P<macro>\\[A-Za-z]+)
  | (?P<word>[A-Za-z]+)
  | (?P<sign>\*\*|<=|>=|!=|==|:=|=>|\\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_TRANSPARENT = frozenset(
    "\\" + name
    for name in _words("""boxed fbox mathbf boldsymbol bm mathrm mathit mathsf mathcal mathop hbox
    vec rm bf operatorname displaystyle""")
)


_OPENING, _CLOSING = frozenset(["(", "[", r"\{"]), frozenset([")", "]", r"\}"])


def tokenize(text: str, *, grouping: bool = True) -> list[Token]:
    """Cut `rewritten` text into tokens, closed by one of kind "end".

    Args:
        text: At most `MAX_CHARS` characters.
        grouping: Whether "1,234" is one number; else a comma separates.
    """
    tokens: list[Token] = []
    spaced = False
    at = depth = 0
    while match := _TOKEN.match(text, at):
        kind, piece = match.lastgroup or "skip", match[0]
        at = match.end()
        if kind == "skip":
            silent = piece.startswith(("\\left", "\\right")) or not piece.strip("$")
            spaced = spaced or not silent
            continue
        if kind == "sign":
            depth += (piece in _OPENING) - (piece in _CLOSING)
        # within brackets a comma separates: the gcd of (12,180) is not that of 12180
        if kind == "grouped" and "," in piece and not (grouping and depth <= 0):
            whole = piece.partition(",")[0].rstrip("{")
            at = match.start() + len(whole)
            kind, piece = "number", whole
        if kind == "base" and not _valid_base(piece):
            piece = re.match(r"\d+|[A-Z]+", piece)[0]  # type: ignore[index]
            kind, at = "number" if piece.isdigit() else "word", match.start() + len(piece)
        tokens += _tokens_of(kind, piece, match, spaced)
        spaced = False
    tokens.append(Token("end", "", len(text), spaced))
    return tokens


def _valid_base(piece: str) -> bool:
    digits, _, base = piece.partition("_")
    radix = int(base.strip("{ }")[:4])
    return 2 <= radix <= 36 and all(int(d, 36) < radix for d in digits.strip())


def _tokens_of(kind: str, piece: str, match: re.Match[str], spaced: bool) -> list[Token]:
    start = match.start()
    if kind == "grouped":
        return [Token("number", re.sub(r"[^\d.]", "", piece), start, spaced)]
    if kind == "text":
        return _text_tokens(match["text"], start, spaced)
    if kind == "font":
        inside = match["font"].strip("~ ")
        if inside in FUNCTION_WORDS or (len(inside) == 1 and inside.isalpha()):
            # set upright it may be a unit, even where no space is left before it
            return [Token("word", inside, start, spaced or piece.startswith(r"\mathrm"))]
        if inside.isdigit():
            return [Token("number", inside, start, spaced)]
        if not inside.isalpha():
            return tokenize_inner(inside, start, spaced)
        return [Token("text", inside, start, spaced)]
    if kind == "macro" and piece in _TRANSPARENT:
        return []
    if kind == "macro":
        piece = MACRO_ALIASES.get(piece, piece)
        kind = "macro" if piece.startswith("\\") else "sign"
    return [Token(kind, piece, start, spaced)]


def _text_tokens(text: str, start: int, spaced: bool) -> list[Token]:
    if len(text.strip()) == 1 and (text.strip().isupper() or text.strip() in "ei"):
        return [Token("word", text.strip(), start, spaced)]
    if text.strip() in FUNCTION_WORDS - _ALSO_UNITS:
        return [Token("word", text.strip(), start, spaced)]
    return [Token("text", text, start, spaced)]


def tokenize_inner(inside: str, start: int, spaced: bool) -> list[Token]:
    r"""Return the tokens of what a font macro such as `\mathbf{3 = 2}` holds."""
    inner = tokenize(inside)[:-1]
    shifted = [t._replace(start=start) for t in inner]
    return [shifted[0]._replace(spaced=spaced), *shifted[1:]] if shifted else []


FUNCTION_WORDS = frozenset(
    _words("""sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan arccot arcsec arccsc asin
    acos atan arcsinh arccosh arctanh arsinh arcosh artanh asinh acosh atanh log ln lg exp cis sqrt
    cbrt gcd lcm max min mod floor ceil abs det sgn""")
)
_ALSO_UNITS = frozenset(["min", "sec", "max", "mod", "det", "abs"])
MACRO_ALIASES = {
    r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\leq": r"\le",
    r"\geq": r"\ge", r"\leqslant": r"\le", r"\geqslant": r"\ge", r"\ne": r"\neq", r"\lt": "<",
    r"\gt": ">", r"\varnothing": r"\emptyset", r"\backslash": r"\setminus", r"\ast": r"\cdot",
    r"\dbinom": r"\binom", r"\tbinom": r"\binom", r"\land": r"\land", r"\wedge": r"\land",
    r"\vee": r"\lor", r"\lbrace": r"\{", r"\rbrace": r"\}", r"\lbrack": "[", r"\rbrack": "]",
    r"\vert": "|", r"\lvert": "|", r"\rvert": "|", r"\dotsc": r"\ldots", r"\dots": r"\ldots",
    r"\cdots": r"\ldots", r"\degree": r"\circ", r"\varepsilon": r"\epsilon", r"\varphi": r"\phi",
    r"\simeq": r"\approx", r"\infin": r"\infty", r"\overleftrightarrow": r"\overline",
    r"\overrightarrow": r"\overline", r"\union": r"\cup", r"\colon": ":", r"\Z": r"\integers",
    r"\R": r"\reals", r"\N": r"\naturals", r"\rightarrow": r"\to", r"\bmod": r"\mod",
    r"\pounds": "£", r"\euro": "€", r"\yen": "¥", r"\sfrac": r"\frac", r"\nicefrac": r"\frac",
    r"\smallsetminus": r"\setminus", r"\divides": "|", r"\surd": r"\sqrt",
    r"\longrightarrow": r"\to",
}  # fmt: skip
