"""Terms as text, for people: explicit, and never longer than asked for.

Bound variables are called x0, x1, ... by depth, so that equal terms are equal texts.
"""

from __future__ import annotations

import re

from rewards.verifiers.lean.inside.terms import Terms

LONGEST_NAME = 200
MOST_PARTS = 50
LONGEST_TERM = 4000
AROUND = 150
"""Characters shown before and after the first difference."""
_PLAIN = re.compile(r"[^\W\d][\w'!?]*")
_PART = re.compile(r"«([^»]*)»|([^.«»]+)")

LAYOUTS: dict[str, tuple[str | int, ...]] = {
    "const": (0, ".{", 1, "}"),
    "matched": ("match⟨", 0, "⟩"),
    "matcher": (1,),
    "levels": (0, " ", 1),
    "nil": (),
    "sort": ("Sort ", 0),
    "zero": ("0",),
    "max": ("max ", 0, " ", 1),
    "imax": ("imax ", 0, " ", 1),
    "param": (0,),
    "app": (0, " ", 1),
    "lam": ("fun (@ : ", 0, ") => ", 1),
    "pi": ("∀ (@ : ", 0, "), ", 1),
    "let": ("let @ : ", 0, " := ", 1, "; ", 2),
    "nat": (0,),
    "string": (0,),
    "lit": (0,),
    "proj": ("(", 2, " : ", 0, ").", 1),
}
"""How a term reads: text, and parts by their place; "@" is the variable that it binds."""
BINDERS = {"lam", "pi", "let"}
COMPOUND = {"sort", "max", "imax", "app", *BINDERS}

Piece = str | tuple[int, int, bool]
"""Text, or a term at a depth of binders, and whether it needs brackets."""


def parse_name(terms: Terms, text: str) -> int:
    """Return the name that a text means: `Nat.add`, `«a.b».c`, `x.1`."""
    name = terms.add("anonymous")
    for match in _PART.finditer(text):
        quoted, plain = match.groups()
        if plain is not None and plain.isdecimal():
            name = terms.add("num", parts=(name, terms.add("number", int(plain))))
        else:
            part = quoted if plain is None else plain
            name = terms.add("str", parts=(name, terms.add("text", part)))
    return name


def name_parts(terms: Terms, name: int) -> list[str | int]:
    """Return the components of a name, the last MOST_PARTS if it has more."""
    parts: list[str | int] = []
    while terms[name].label in ("str", "num") and len(parts) < MOST_PARTS:
        name, part = terms[name].parts
        payload = terms[part].payload
        assert not isinstance(payload, bytes)
        parts.append(payload)
    return parts[::-1]


def show_name(terms: Terms, name: int) -> str:
    """Return a name as text; what is no plain identifier stands in «»."""
    if terms[name].label == "fresh":
        return show_name(terms, terms[name].parts[0]) + "'"
    text = ".".join(_show_part(part) for part in name_parts(terms, name)) or "[anonymous]"
    return text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + "…"


def show_term(terms: Terms, term: int) -> str:
    """Return an expression as text, cut off after LONGEST_TERM characters."""
    waiting: list[Piece] = [(term, 0, False)]
    text: list[str] = []
    room = LONGEST_TERM
    while waiting and room > 0:
        piece = waiting.pop()
        if isinstance(piece, str):
            text.append(piece)
            room -= len(piece)
        else:
            waiting += reversed(_pieces(terms, *piece))
            room -= 1  # brackets and silent steps are work, too
    return "".join(text)[:LONGEST_TERM] + ("…" if waiting else "")


def show_difference(terms: Terms, wanted: int, got: int) -> tuple[str, str]:
    """Return two expressions as text, each around the first place where they differ."""
    texts = show_term(terms, wanted), show_term(terms, got)
    pairs = enumerate(zip(*texts, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(map(len, texts)))
    start = max(0, at - AROUND)
    return _window(texts[0], start, at), _window(texts[1], start, at)


def _window(text: str, start: int, at: int) -> str:
    end = at + AROUND
    return ("…" if start else "") + text[start:end] + ("…" if len(text) > end else "")


def _pieces(terms: Terms, number: int, depth: int, tight: bool) -> list[Piece]:
    """Return what a term is made of, in order."""
    label, payload, parts = terms[number]
    if label in ("text", "number"):
        assert not isinstance(payload, bytes)
        return [_show_text(payload) if isinstance(payload, str) else _show_number(payload)]
    if label == "bvar":
        index = depth - 1 - int(terms[parts[0]].payload)
        return [f"x{index}" if index >= 0 else "(loose)"]
    if label == "succ":
        return _show_level(terms, number, depth)
    binds = label in BINDERS
    pieces: list[Piece] = []
    is_last = label in ("const", "levels") and not terms[parts[1]].parts
    for element in (0,) if is_last else LAYOUTS[label]:
        if isinstance(element, str):
            pieces.append(element.replace("@", f"x{depth}"))
        elif terms[parts[element]].label in ("str", "num", "anonymous", "fresh"):
            pieces.append(show_name(terms, parts[element]))
        else:
            is_function = label == "app" and element == 0 and terms[parts[0]].label == "app"
            below = depth + 1 if binds and element == len(parts) - 1 else depth
            pieces.append((parts[element], below, not (binds or is_function)))
    return ["(", *pieces, ")"] if tight and label in COMPOUND else pieces


def _show_level(terms: Terms, number: int, depth: int) -> list[Piece]:
    steps = 0
    while terms[number].label == "succ" and steps < LONGEST_TERM:
        number, steps = terms[number].parts[0], steps + 1
    is_numeral = terms[number].label == "zero"
    return [str(steps)] if is_numeral else [(number, depth, True), f"+{steps}"]


def _show_part(part: str | int) -> str:
    if isinstance(part, int):
        return _show_number(part)
    if _PLAIN.fullmatch(part, 0, LONGEST_NAME):
        return part
    part = part[:LONGEST_NAME]
    if "»" in part or not part.isprintable():
        part = part.encode("unicode_escape").decode()
    return f"«{part}»"


def _show_number(number: int) -> str:
    return str(number) if number.bit_length() < 512 else f"({number.bit_length()} bits: {number:x})"


def _show_text(text: str) -> str:
    return repr(text[:LONGEST_TERM])
