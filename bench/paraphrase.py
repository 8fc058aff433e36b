r"""The same answer, written otherwise.

    python -m bench.paraphrase '\frac{14}{3}'      prints what is made of it

Two pure functions of an answer: `paraphrases` gives other spellings of the same object, `sentences`
gives completions around it. Whoever grades mathematics has to accept all of them. So each rule
gives up where it is not sure of the mathematics: no tuple is ever reordered, `137 \frac{1}{2}` is
no product, and a program's notation is only spaced.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction

MAX_DECIMALS = 12  # a fraction with more is left a fraction

_WORDS = re.compile(r"\\(?:text|mbox|mathrm|textrm|operatorname)\s*\{([^{}]*)\}")
_DECIMAL = re.compile(r"(-?)(\d*)\.(\d+)")
_SCIENTIFIC = re.compile(r"(-?\d+(?:\.\d+)?)e([+-]?\d+)")
_GROUPED = re.compile(r"(?P<sign>(?:\\\$)?)(?P<digits>\d{1,3}(?:,(?:\\!)? ?\d{3})+)")
_FRACTION = re.compile(r"(-?)\\[dt]?frac *(?:\{(-?\d+)\}|(\d)) *(?:\{(\d+)\}|(\d))")
_MIXED = re.compile(r"(\d+) *\\[dt]?frac *(?:\{(\d+)\}|(\d)) *(?:\{(\d+)\}|(\d))")
# What must not be cut: words, environments, macros.
_PIECE = re.compile(rf"{_WORDS.pattern}|\\(?:begin|end)\{{[^{{}}]*\}}|\\[A-Za-z]+|\\.|\s+|.", re.S)
# Statements about values rather than values: their parts are not simply terms.
_STATEMENT = re.compile(
    r"[=<>,;&$]|\\begin|\\(?:pm|mp|in|cup|cap|le|ge|leq|geq|lt|gt|ne|neq|sum|int|prod)\b"
)
_OPERATOR = re.compile(r"(?:\\cdot|\\times|[\^_/*]|\de)$")
_CODE = re.compile(r"\\exp\{|\*|np\.|\$ \$")

Rule = Callable[[str], Iterator[str]]


def paraphrases(gold: str) -> list[str]:
    """Return other spellings of `gold`, each once, in the order of the rules."""
    gold = gold.strip()
    rules = SPACINGS if _CODE.search(gold) else (*SPACINGS, *RULES)
    found = [text for rule in rules for text in rule(gold)]
    # habits come together: two at once, where the first is not about spaces already
    found += [_spread(text) for text in found if text.count(" ") <= gold.count(" ")]
    return [text for text in dict.fromkeys(found) if text != gold]


def sentences(answer: str) -> list[str]:
    """Return completions whose final answer is `answer`."""
    thought = "<think>\nMaybe it is %s. No, that forgets a case.\n</think>\n\n"
    plain, trap = thought % "17", thought % r"\boxed{17}"
    steps = "First we set up the equations, which gives $a + b = 12$. Solving them we get\n"
    boxed = f"\\boxed{{{answer}}}"
    if re.search(r"(?<!\\)\$", answer):  # mathematics inside words: no more dollars around it
        return [boxed, f"{trap}Hence {boxed}.", f"{steps}{boxed}", f"<answer>{answer}</answer>"]
    return [
        f"{steps}${boxed}$",
        f"{trap}Hence the answer is ${boxed}$.",
        f"{steps}\\[\n{boxed}\n\\]\n",
        f"{steps}**Final Answer**\n\n$${boxed}$$",
        f"{plain}The answer is ${answer}$.",
        f"{plain}**Answer:** ${answer}$",
        f"{steps}<answer>{answer}</answer>",
        f"{steps}Final answer: \\({answer}\\)",
    ]


def _spread(text: str) -> str:
    if re.search(r"\d[eE][+-]", text):
        return text
    return re.sub(r"(?<=[A-Za-z0-9}]) *([+=]|\\cup|\\cdot)(?![A-Za-z]) *", r" \1\\, ", text)


# ---- spacing, fences, macros: true of any LaTeX -------------------------------------------------


def _fences(gold: str) -> Iterator[str]:
    yield rf"\, {gold} \,"
    if "$" not in gold:
        yield f"${gold}$"
        yield rf"\displaystyle {gold}"


def _spaces(gold: str) -> Iterator[str]:
    pieces = [m[0] for m in _PIECE.finditer(gold)]
    kept = [
        "" if p.isspace() and not _between_words(pieces, at) else p for at, p in enumerate(pieces)
    ]
    if "$" not in gold:
        yield "".join(kept)
    if not _CODE.search(gold) and not _GROUPED.search(gold) and not _SCIENTIFIC.search(gold):
        for space in (r"\, ", r"\; ", "~"):
            yield "".join(p + space if p in (",", "+", "=") else p for p in pieces)


def _between_words(pieces: list[str], at: int) -> bool:
    """Whether the space at this place parts what would otherwise run together."""
    before, after = pieces[at - 1] if at else "", pieces[at + 1] if at + 1 < len(pieces) else ""
    digits = before.isdecimal() and after.isdecimal()
    return digits or (before[-1:].isalpha() and after[:1].isalpha())


SPACINGS: tuple[Rule, ...] = (_fences, _spaces)


def _macros(gold: str) -> Iterator[str]:
    for name in ("frac", "dfrac", "tfrac"):
        yield re.sub(r"\\[dt]?frac(?![A-Za-z])", rf"\\{name}", gold)
    yield re.sub(r"\\([dt]?)frac *(\d) *(\d)(?!\d)", r"\\\1frac{\2}{\3}", gold)
    yield re.sub(r"\\([dt]?)frac\{(\d)\}\{(\d)\}", r"\\\1frac\2\3", gold)
    yield re.sub(r"\\sqrt *(\d)", r"\\sqrt{\1}", gold)
    yield re.sub(r"\\sqrt\{(\d)\}", r"\\sqrt\1", gold)


def _word_macros(gold: str) -> Iterator[str]:
    for name in ("text", "mbox", "textrm"):
        yield _WORDS.sub(lambda m, name=name: rf"\{name}{{{m[1].replace('~', ' ')}}}", gold)
    if not any(" " in m[1].strip() for m in _WORDS.finditer(gold)):
        yield _WORDS.sub(lambda m: rf"\,\mathrm{{{m[1].strip(' ~')}}}", gold)
    if (whole := _WORDS.fullmatch(gold)) and whole[1].strip("() ").isalpha():
        yield whole[1].strip()
        yield rf"\textbf{{{whole[1].strip()}}}"


def _delimiters(gold: str) -> Iterator[str]:
    yield re.sub(r"\\(?:left|right)(?![A-Za-z])\s*", "", gold)
    plain = not re.search(r"\\left|\\right|\\text|\\mbox|\\sqrt\[|\\\[|\\\(", gold)
    if plain and sum(map(gold.count, "([")) == sum(map(gold.count, ")]")):
        opened = re.sub(r"\\\{|[(\[]", lambda m: r"\left" + m[0], gold)
        yield re.sub(r"\\\}|[)\]]", lambda m: r"\right" + m[0], opened)


def _matrices(gold: str) -> Iterator[str]:
    if "matrix}" in gold:
        yield re.sub(r"\b[pb](?=matrix\})", lambda m: {"p": "b", "b": "p"}[m[0]], gold)
        inside = re.sub(r"(-?)(\d+)/(\d+)", r"\1\\frac{\2}{\3}", gold)
        yield re.sub(r"\s*\\\\\s*", r" \\\\\n", inside)


def _unicode(gold: str) -> Iterator[str]:
    if not _WORDS.search(gold) and not _SCIENTIFIC.search(gold):
        for macro, sign in ((r"\pi", "π"), (r"\infty", "∞"), (r"\cup", "∪"), (r"\pm", "±")):
            yield re.sub(rf"\{macro}(?![A-Za-z]) *", sign, gold)
        yield gold.replace("-", "−")


# ---- numbers ------------------------------------------------------------------------------------


def _decimals(gold: str) -> Iterator[str]:
    """Write a decimal as its fraction, and with other zeros."""
    if not (match := _DECIMAL.fullmatch(gold)):
        return
    value = abs(Fraction(f"0{match[2]}.{match[3]}"))
    yield rf"{match[1]}\frac{{{value.numerator}}}{{{value.denominator}}}"
    yield f"{match[1]}{value.numerator}/{value.denominator}"
    yield f"{match[1]}{match[2].lstrip('0')}.{match[3]}"
    yield f"{match[1]}{match[2] or '0'}.{match[3]}0"


def _fractions(gold: str) -> Iterator[str]:
    """Write a fraction with a slash, as a finite decimal, and with its sign elsewhere."""
    if (match := _MIXED.fullmatch(gold)) and (low := int(match[4] or match[5])):
        value = int(match[1]) + Fraction(int(match[2] or match[3]), low)
        yield rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
        yield from _finite(value)
    if (match := _FRACTION.fullmatch(gold)) and (low := int(match[4] or match[5])):
        sign, top = match[1], match[2] or match[3]
        yield f"{sign}{top}/{low}"
        yield f"{sign}{top} / {low}"
        yield rf"{sign}\frac{{{2 * int(top)}}}{{{2 * low}}}"
        if "-" not in top:
            yield rf"\frac{{{sign}{top}}}{{{low}}}"
            yield from _finite(Fraction(int(sign + top), low))


def _finite(value: Fraction) -> Iterator[str]:
    scaled = value * 10**MAX_DECIMALS
    if value and scaled.denominator == 1:
        digits = f"{abs(scaled.numerator):0{MAX_DECIMALS + 1}d}"
        whole, decimals = digits[:-MAX_DECIMALS], digits[-MAX_DECIMALS:].rstrip("0")
        yield f"{'-' if value < 0 else ''}{whole}.{decimals or '0'}"


def _integers(gold: str) -> Iterator[str]:
    if re.fullmatch(r"-?\d+", gold):
        value = int(gold)
        yield str(value)  # AIME writes 025
        yield f"{value}.0"
        yield rf"\frac{{{3 * value}}}{{3}}"
        if abs(value) >= 1000:
            grouped = f"{value:,}"
            yield from (grouped.replace(",", mark) for mark in (",", "{,}", r",\!", r"\,"))
    if match := _GROUPED.fullmatch(gold):
        yield match["sign"] + re.sub(r"\D", "", match["digits"])
        yield match["sign"] + re.sub(r"\D+", "{,}", match["digits"])
    if gold.startswith(r"\$"):
        yield gold.removeprefix(r"\$") + r" \text{ dollars}"


def _scientific(gold: str) -> Iterator[str]:
    if match := _SCIENTIFIC.fullmatch(gold):
        power = int(match[2])
        for times in (r"\times", r"\cdot"):
            yield rf"{match[1]} {times} 10^{{{power}}}"
        yield f"{match[1]}E{power:+03d}"
        yield rf"{match[1]}0 \times 10^{{{power}}}" if "." in match[1] else f"{match[1]}.0e{power}"
    if match := re.fullmatch(r"(-?\d+)\./(\d+)", gold):
        yield f"{match[1]}/{match[2]}"


def _bases(gold: str) -> Iterator[str]:
    if match := re.fullmatch(r"(\d+)_(?:\{(\d+)\}|(\d))", gold):
        base = match[2] or match[3]
        yield f"{match[1]}_{{{base}}}"
        yield rf"{match[1]}_{{\text{{{base}}}}}"
        yield rf"({match[1]})_{{{base}}}"


def _degrees(gold: str) -> Iterator[str]:
    if match := re.fullmatch(r"(.+?) *\^ *(?:\{ *\\circ *\}|\\circ)", gold):
        for sign in (r"^\circ", r"^{\circ}", "°", r"\text{ degrees}", r"\degree", r"^{\,\circ}"):
            yield match[1] + sign
    if match := re.fullmatch(r"(.+?) *\\(?:text|mbox)\{ *degrees *\}", gold):
        yield rf"\left({match[1]}\right)^\circ"


# ---- roots, products, sums ----------------------------------------------------------------------


def _roots(gold: str) -> Iterator[str]:
    if match := re.fullmatch(r"(-?)(\d+) *\\sqrt *(?:\{(\d+)\}|(\d))", gold):
        sign, factor, radicand = match[1], int(match[2]), int(match[3] or match[4])
        yield rf"{sign}\sqrt{{{factor**2 * radicand}}}"
        yield rf"{sign}\sqrt{{{radicand}}} \cdot {factor}"
        yield rf"{sign}{factor} \cdot {radicand}^{{1/2}}"
        yield rf"{sign}{factor}*sqrt({radicand})"


def _products(gold: str) -> Iterator[str]:
    r"""Set `\cdot` between a number and the letter, root or bracket it stands before."""
    if _WORDS.search(gold) or _MIXED.search(gold) or _SCIENTIFIC.search(gold):
        return
    factor = r"(?<![\d._^A-Za-z{}])(\d+) *(?=\\(?:sqrt|pi)(?![A-Za-z])|[a-zA-Z])"
    yield re.sub(factor, r"\1 \\cdot ", gold)
    if match := re.fullmatch(r"(\d+) *\\pi", gold):
        yield rf"\pi \cdot {match[1]}"


def _slashes(gold: str) -> Iterator[str]:
    r"""Write a gold that is one `\frac` with a slash: `\frac{11+9a}{20}` is `(11+9a)/20`."""
    if match := re.fullmatch(r"(-?)\\[dt]?frac(\{.*\})", gold):
        top, rest = _group(match[2])
        low, end = _group(rest)
        if top and low and not end:
            yield f"{match[1]}{_bracketed(top)}/{_bracketed(low)}"


def _group(text: str) -> tuple[str, str]:
    """Split `{a}rest` into `a` and `rest`."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return text[1:at], text[at + 1 :]
    return "", text


def _bracketed(text: str) -> str:
    atom = re.fullmatch(r"\d+|[A-Za-z]|\\[a-z]+|(?:\d+ *)?\\sqrt\{[^{}]*\}", text.strip())
    return text if atom else f"({text})"


def _sums(gold: str) -> Iterator[str]:
    r"""Write the terms of a sum in another order, on one side of an equation too."""
    left, equals, right = gold.rpartition("=")
    first, side, rest = f"{left}{equals} ", right, ""
    if equals and (right.strip() == "0" or _STATEMENT.search(left)):
        first, side, rest = "", left, f" {equals}{right}"
    signs, *pieces = _split(f"+{side}" if side.lstrip()[:1] not in "+-" else side, "+-")
    terms = [term.strip() for term in pieces[1::2]]
    if len(terms) < 2 or _STATEMENT.search(side) or _WORDS.search(side) or signs.strip():
        return
    if any(not term or _OPERATOR.search(term) for term in terms):  # the sign was a number's own
        return
    pairs = list(zip(pieces[::2], terms, strict=True))
    for order in (pairs[::-1], pairs[1:] + pairs[:1]):
        text = " ".join(f"{sign} {term}" for sign, term in order)
        yield (first + re.sub(r"^\+ ", "", re.sub(r"^- ", "-", text)) + rest).strip()


def _split(text: str, marks: str) -> list[str]:
    """Split at each of the marks outside all brackets; the marks stand between the pieces."""
    found, depth = [""], 0
    for piece in (match[0] for match in _PIECE.finditer(text)):
        depth += (piece in ("{", "(", "[", r"\{")) - (piece in ("}", ")", "]", r"\}"))
        if piece in marks and depth == 0:
            found += [piece, ""]
        else:
            found[-1] += piece
    return found


# ---- several values -----------------------------------------------------------------------------


def _lists(gold: str) -> Iterator[str]:
    r"""Reverse bare lists and sets; what stands in round or square brackets is ordered."""
    match = re.fullmatch(r"\\(?:left *\\)?\{(.*)\\(?:right *\\)?\}", gold, re.S)
    items = [item.strip() for item in _split(match[1] if match else gold, ",")[::2]]
    named = sum("=" in item for item in items)
    ordered = _GROUPED.fullmatch(gold) or _WORDS.search(gold) or named not in (0, len(items))
    if len(items) < 2 or ordered or re.search(r"\\in\b|dots|\\mid|:", gold):
        return
    turned = ", ".join(reversed(items))
    if match:
        yield rf"\{{{turned}\}}"
        yield rf"\left\{{ {turned} \right\}}"
    else:
        yield turned
        yield ",".join(reversed(items))
        yield rf"{', '.join(items[1:])} \text{{ and }} {items[0]}"


def _plus_minus(gold: str) -> Iterator[str]:
    if gold.count(r"\pm") == 1 and not _STATEMENT.search(gold.replace(r"\pm", "")):
        yield ", ".join(gold.replace(r"\pm", sign) for sign in "-+")


def _ranges(gold: str) -> Iterator[str]:
    if re.search(r", *\\infty *(?:\\right *)?\)", gold):
        yield re.sub(r", *\\infty", r", +\\infty", gold)
    first, cup, second = gold.partition(r"\cup")
    if cup and not _STATEMENT.search((first + second).replace(",", "")):
        yield rf"{second.strip()} \cup {first.strip()}"
    if match := re.fullmatch(r"([a-z]) *\\in *\[([^,\[\]]+),([^,\[\]]+)\]", gold):
        yield rf"{match[2].strip()} \le {match[1]} \le {match[3].strip()}"
    if match := re.fullmatch(r"([a-z]) *= *(-?\d+)", gold):
        yield f"{match[2]} = {match[1]}"


RULES: tuple[Rule, ...] = (
    *(_macros, _word_macros, _delimiters, _matrices, _unicode),
    *(_decimals, _fractions, _integers, _scientific, _bases, _degrees),
    *(_roots, _products, _slashes, _sums, _lists, _plus_minus, _ranges),
)

if __name__ == "__main__":
    print("\n".join(text for gold in sys.argv[1:] for text in paraphrases(gold)))
