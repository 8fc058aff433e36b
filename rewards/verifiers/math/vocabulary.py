"""The words and signs of the grammar."""

from __future__ import annotations

from rewards.verifiers.math.tokens import FUNCTION_WORDS

RELATIONS = {
    "=": "=", "==": "=", ":=": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=",
    r"\le": "<=", r"\ge": ">=", r"\neq": "!=", r"\approx": "~", r"\in": "in", r"\notin": "notin",
    r"\equiv": "mod", r"\ll": "<", r"\gg": ">", r"\doteq": "=", r"\subset": "subset",
    r"\subseteq": "subset", r"\cong": "cong", r"\sim": "sim", r"\to": "to", r"\propto": "propto",
}  # fmt: skip
SET_OPERATIONS = {r"\cup": "cup", r"\cap": "cap", r"\setminus": "setminus", r"\bigcup": "cup"}
SUMS = {"+": "+", "-": "-", r"\pm": "pm", r"\mp": "mp"}
TIMES = frozenset(["*", r"\cdot", r"\times"])
OVER = frozenset(["/", r"\div"])
CLOSERS = {
    "(": frozenset([")", "]"]),
    "[": frozenset(["]", ")", "["]),
    "]": frozenset(["[", ")"]),
    r"\{": frozenset([r"\}"]),
    "{": frozenset(["}"]),
    r"\langle": frozenset([r"\rangle"]),
    r"\lfloor": frozenset([r"\rfloor"]),
    r"\lceil": frozenset([r"\rceil"]),
    "<": frozenset([">"]),
}
EMPTY = {"(": ")", "[": "]", r"\{": r"\}", "{": "}", r"\langle": r"\rangle"}
ALL_CLOSERS = frozenset([")", "]", "}", r"\}", r"\rangle", r"\rfloor", r"\rceil", "", "&", r"\\"])
FUNCTIONS = frozenset("\\" + word for word in FUNCTION_WORDS) | {r"\gcd", r"\arg", r"\Re", r"\Im"}
SAME_FUNCTION = {
    "arsinh": "arcsinh",
    "asinh": "arcsinh",
    "arcosh": "arccosh",
    "acosh": "arccosh",
    "artanh": "arctanh",
    "atanh": "arctanh",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
}
ALWAYS_APPLIED = frozenset(["f", "F", "G", r"\phi", r"\psi"])
APPLIED = ALWAYS_APPLIED | frozenset(["g", "h", "H", "P", "Q", "p", "u", r"\delta"])
NAMED_VALUES = {"pi": "pi", "infinity": "infty", "infty": "infty", "oo": "infty", "inf": "infty"}
NAMED_VALUES |= {name: name for name in ("alpha", "beta", "gamma", "theta", "omega", "lambda")}
SETS = {"reals": "reals", "integers": "integers", "naturals": "naturals", "emptyset": "emptyset"}
AND = frozenset(["and", "und", "et", r"\land", "&&"])
OR = frozenset(["or", r"\lor"])
SEPARATORS = frozenset([",", ";"])
CLAUSES = frozenset(
    ["where", "for", "with", "when", "if", "such that", "for all", "for any", "for some"]
)
CURRENCIES = (r"\$", "£", "€", "¥")
UNIT_SIGNS = frozenset(["%", r"\%", r"\circ", r"\AA", r"\mu", "'", '"', "¢", *CURRENCIES])


def is_known(word: str) -> bool:
    """Whether a run of letters is one word of the grammar."""
    return word in FUNCTION_WORDS or word in NAMED_VALUES
