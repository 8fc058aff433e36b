"""Refuse submissions by their tokens, before Lean sees them.

The first and cheapest check, and never the last: that a proof proves the statement is for the
comparison of the compiled files to say. What is refused here could run code while the file is
compiled, hide a message, switch the kernel off, or is no proof from the start. What merely changes
the meaning of a text (`instance`, `variable`, `open`, `namespace`) is legitimate and passes.

A keyword is one only by itself: `sorry` in a comment, a string, a longer name (`sorry_free`,
`h.sorry`) or in `«»` passes. A constant or an attribute is the same however it is written
(`_root_.sorryAx`, `«sorryAx»`), so the components of its name count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from rewards.verifiers.lean.lexer import AmbiguousError, LexError, Token, TooLongError, lex
from rewards.verifiers.lean.names import COMMAND_KEYWORDS
from rewards.verifiers.lean.rules import RULES, SAFE_OPTIONS, Code, Place, Profile, Rule

_UNREAD: dict[type[LexError], Code] = {AmbiguousError: "ambiguous", TooLongError: "too_long"}
_LONGEST_TAIL = 4
"""How many letters end a symbol of a library at most: `→r`, `→SL[`."""


@dataclass(frozen=True)
class Forbidden:
    """What a submission must not hold."""

    token: str
    line: int
    """Counted from 1 in the submission."""
    code: Code
    reason: str


def find_forbidden(text: str, profile: Profile = "strict") -> Forbidden | None:
    """Return a token that the profile forbids, if there is one.

    Profiles: `strict` forbids all of the rules; `expr` leaves what the comparison of the compiled
    files finds by itself; `off` forbids only what breaks the file in which the submission is put.

    A token of code `sorry` comes last: where it is returned, the text has no other fault.
    """
    try:
        tokens = lex(text)
    except LexError as error:
        return Forbidden("", error.line, _UNREAD.get(type(error), "unterminated"), error.what)
    first_sorry = None
    for found in _all_forbidden(tokens, profile):
        if found.code != "sorry":
            return found
        first_sorry = first_sorry or found
    return first_sorry


def _all_forbidden(tokens: Sequence[Token], profile: Profile) -> Iterator[Forbidden]:
    if header := _module_header(tokens):
        yield header
    attributes = _attribute_words(tokens)
    for index, token in enumerate(tokens):
        if index and "set_option" in _keywords(tokens[index - 1]):
            if profile != "off":
                yield from _option(token)
            continue  # the names of options are none of constants: `trace.Meta`
        for place, word in _readings(tokens, index, index in attributes):
            if rule := _broken_rule(profile, place, word):
                yield Forbidden(token.text, token.line, rule.code, f"`{token.text}`: {rule.reason}")
        if profile != "off" and token.kind == "word":
            yield from _in_context(tokens, index)


def _readings(
    tokens: Sequence[Token], index: int, in_attribute: bool
) -> Iterator[tuple[Place, str]]:
    """Yield as what, and for which rules, Lean may read a token."""
    token = tokens[index]
    if token.kind == "symbol" and token.text[0] == "#":
        yield "command", token.text
    for word in _keywords(token):
        yield "keyword", word
        if _begins_tactic(tokens, index):
            yield "tactic", word
    for word in _components(token):
        yield "name", word
        if in_attribute:
            yield "attribute", word


def _broken_rule(profile: Profile, place: Place, word: str) -> Rule | None:
    pattern, rules = _rules_for(profile, place)
    if not pattern.fullmatch(word):
        return None
    return next(rule for rule in rules if rule.pattern.fullmatch(word))


@cache
def _rules_for(profile: Profile, place: Place) -> tuple[re.Pattern[str], list[Rule]]:
    """Return the rules that count, and one pattern for all of them, to be tried first."""
    rules = [r for r in RULES if r.place == place and profile in r.profiles.split()]
    nothing = "(?!)"
    return re.compile("|".join([nothing, *(rule.pattern.pattern for rule in rules)])), rules


def _keywords(token: Token) -> tuple[str, ...]:
    """Return the keywords that a word may be."""
    return _tails(token, (token.keyword,)) if token.keyword else ()


def _components(token: Token) -> tuple[str, ...]:
    """Return what may be components of the name that a word is."""
    return _tails(token, token.path) if token.path else ()


def _tails(token: Token, words: tuple[str, ...]) -> tuple[str, ...]:
    """Add what is left of the first word if a symbol before it takes its first letters."""
    cuts = range(1, _LONGEST_TAIL + 1) if token.glued else ()
    return words + tuple(words[0][cut:] for cut in cuts)


def _begins_tactic(tokens: Sequence[Token], index: int) -> bool:
    if index == 0 or tokens[index - 1].line < tokens[index].line:
        return True
    return tokens[index - 1].text in ("by", ";", "·", ".", ">", "|")


def _option(name: Token) -> Iterator[Forbidden]:
    spelled = ".".join(name.parts) or name.text
    if not SAFE_OPTIONS.fullmatch(spelled):
        reason = f"the option `{spelled}` is not among those that cannot affect what is proved"
        yield Forbidden(spelled, name.line, "forbidden_option", reason)


def _in_context(tokens: Sequence[Token], index: int) -> Iterator[Forbidden]:
    """Yield what is forbidden only beside certain others."""
    token = tokens[index]
    before = tokens[index - 1].text if index else ""
    after = [t.text for t in tokens[index + 1 : index + 3]] + ["", ""]
    found = ""
    if "unsafe" in _keywords(token) and not _is_rule_of_aesop(before, *after[:2]):
        found = "it need not be sound"
    elif token.keyword == "private" and before == "open":
        found = "it opens what a library keeps from proofs"
    elif "eval" in _keywords(token) and after[0] == "%":
        found = "it runs code while the file is compiled"
    elif token.parts == ("native",):
        option = before == "+" or (before in ("{", "(", ",") and after[0] == ":=")
        found = "it runs compiled code and trusts it instead of the kernel" if option else ""
    if found:
        yield Forbidden(token.text, token.line, "forbidden_token", f"`{token.text}`: {found}")


def _is_rule_of_aesop(before: str, first: str, second: str) -> bool:
    """Recognise `unsafe` in `aesop (add unsafe 50% foo)`, where it is but a word for a guess."""
    return second == "%" or (before in ("add", "aesop") and first not in COMMAND_KEYWORDS)


def _module_header(tokens: Sequence[Token]) -> Forbidden | None:
    """Find the word that makes a file a module; elsewhere `module` is a tactic of Mathlib."""
    if len(tokens) < 2 or tokens[0].keyword != "module":
        return None
    alone = tokens[1].line > tokens[0].line and tokens[1].column == 0
    reason = "`module`: the header is the task's"
    return Forbidden("module", tokens[0].line, "import", reason) if alone else None


def _attribute_words(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the indices of the tokens within `@[...]` and `attribute [...]`."""
    inside = set()
    depth = 0
    for index, token in enumerate(tokens):
        before = tokens[index - 1].text if index else ""
        if token.text == "[" and (depth or before in ("@", "attribute")):
            depth += 1
        elif token.text == "]" and depth:
            depth -= 1
        elif depth:
            inside.add(index)
    return frozenset(inside)
