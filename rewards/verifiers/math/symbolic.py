r"""The second opinion: math-verify and sympy, for what is more than a plain number.

To be called inside a killable worker only: neither library bounds its time or memory, so their own
timers (SIGALRM, which works in main threads alone) are off and the worker's limits end them. Text
is read by math-verify's LaTeX grammar; its other reader, for plain expressions, ends in `eval` and
is never used. This module imports sympy at the first call.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import Any

from rewards.verifiers.math.exact import plain

DIGITS = 40
"""Decimal digits to which two constants must agree when both are exact."""
FLOAT_DIGITS = 12
"""Significant digits to which they must agree when one of them is a decimal."""


def parse_gold(text: str) -> str | None:
    """Say why a gold answer cannot be understood; None when it can."""
    return None if _parse(text) else "it is neither a number, nor words, nor readable LaTeX"


def equivalent(gold: str, answer: str) -> tuple[bool, str, str]:
    """Compare two formulas; return the verdict and how each side was read ("" for not at all)."""
    from math_verify import verify

    left, right = _parse(gold), _parse(answer)
    if not (left and right):
        return False, _shown(left), _shown(right)
    # Working out digits is cheap, simplifying is not: a wrong answer should not cost the most.
    if any(_constants_differ(a, _at_a_point(b)) for a in left for b in right):
        return False, _shown(left), _shown(right)
    # "strict" keeps x and y apart; gold comes first, for math-verify is not symmetric.
    agreed = verify(
        list(left),
        list(right),
        strict=True,
        allow_set_relation_comp=True,  # "x < 4" for a gold of (-oo, 4), as well as the reverse
        timeout_seconds=None,
    )
    return agreed, _shown(left), _shown(right)


@lru_cache(maxsize=1024)
def _parse(text: str) -> tuple[Any, ...]:
    from math_verify import LatexExtractionConfig, parse

    # Failing to read what a model wrote is its everyday business, not worth a log line each.
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    wrapped = f"${_latex(text)}$"
    return tuple(
        parse(
            wrapped,
            [LatexExtractionConfig()],
            fallback_mode="no_fallback",
            parsing_timeout=None,
        )
    )


def _latex(text: str) -> str:
    """Turn the few habits of plain text that models mix in into LaTeX."""
    text = plain(text).replace("$", "").replace("°", r"^{\circ}")
    text = text.replace(r"\varnothing", r"\emptyset").replace("**", "^").replace("*", r" \cdot ")
    text = re.sub(r"\\mathrm\{([a-zA-Z])\}", r"\1", text)
    text = re.sub(r"(?<!\\)\b(sqrt|sin|cos|tan|ln|log|pi|infty)\b", r"\\\1", text)
    return _braced(_braced(text, r"\sqrt"), "^")


def _braced(text: str, before: str) -> str:
    r"""Rewrite `^(...)` as `^{...}` and `\sqrt(...)` as `\sqrt{...}`."""
    pieces: list[str] = []
    rest = text
    while (at := rest.find(before + "(")) >= 0:
        start = at + len(before)
        depth, end = 0, None
        for place in range(start, len(rest)):
            depth += (rest[place] == "(") - (rest[place] == ")")
            if depth == 0:
                end = place
                break
        if end is None:
            break
        pieces.append(rest[:start] + "{" + _braced(rest[start + 1 : end], before) + "}")
        rest = rest[end + 1 :]
    return "".join(pieces) + rest


def _at_a_point(formula: Any) -> Any:
    """Give every unknown a value: what is always 4 is 4 there too."""
    import sympy

    # a sum has no meaning for a fraction of a term
    if not isinstance(formula, sympy.Expr) or formula.has(sympy.Sum, sympy.Product):
        return formula
    names = sorted(formula.free_symbols, key=str)
    # floats, for exact fractions grow in every power
    values = [sympy.Float(97 + 6 * n, DIGITS) / 71 for n in range(len(names))]
    return formula.subs(dict(zip(names, values, strict=True)))


def _constants_differ(left: Any, right: Any) -> bool:
    """Whether two constants are further apart than their notation allows.

    math-verify rounds to six decimals, so that 10^-400 passes for 0 and 2^-91 for 2^-90.
    """
    import sympy

    if not (isinstance(left, sympy.Expr) and isinstance(right, sympy.Expr)):
        return False
    if left.free_symbols or right.free_symbols:
        return False
    exact = not (left.has(sympy.Float) or right.has(sympy.Float))
    gap, *sizes = (sympy.Abs(x).evalf(DIGITS) for x in (left - right, left, right))
    if not all(x.is_comparable for x in (gap, *sizes)):
        return False
    size = max(sizes)
    return bool(gap > size * sympy.Float(10) ** -(DIGITS - 10 if exact else FLOAT_DIGITS))


def _shown(parsed: tuple[Any, ...]) -> str:
    try:
        return "" if not parsed else str(parsed[0])[:500]
    except ValueError:  # Python prints no integer of more than 4,300 digits
        return "a number too long to show"
