"""What a Lean text declares, by its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rewards.verifiers.lean.lexer import LexError, Token, lex


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


THEOREM_KEYWORDS = word_set("theorem lemma")
DECLARATION_KEYWORDS = THEOREM_KEYWORDS | word_set(
    "def abbrev axiom opaque instance structure class inductive coinductive irreducible_def"
)
_MODIFIERS = word_set(
    "private protected public noncomputable nonrec open set_option local scoped include omit"
)
"""What may stand before the keyword of a theorem, alone or as `open ... in`."""
COMMAND_KEYWORDS = (
    DECLARATION_KEYWORDS
    | _MODIFIERS
    | word_set(
        "example namespace section end universe variable export attribute mutual unsafe partial "
        "deriving notation notation3 infix infixl infixr prefix postfix macro macro_rules syntax "
        "elab elab_rules initialize import alias suppress_compilation"
    )
)
"""The words that begin a command, of Lean and of what Mathlib adds in proofs' files."""


def declares(tokens: Sequence[Token], name: str) -> bool:
    """Tell whether the tokens declare the name, in whatever namespace and by whatever keyword."""
    wanted = name_parts(name)[-1]
    return any(
        word.keyword in DECLARATION_KEYWORDS and declared.path[-1:] == (wanted,)
        for word, declared in pairwise(tokens)
    )


def name_parts(name: str) -> tuple[str, ...]:
    """Return the components of a name, as written in Lean (`Foo.«a b»`).

    Raises:
        ValueError: If it is no single name.
    """
    try:
        tokens = lex(name.strip())
    except LexError as error:
        raise ValueError(f"{name!r} is not a name: {error}") from None
    if len(tokens) != 1 or not tokens[0].path:
        raise ValueError(f"{name!r} is not a name")
    return tokens[0].path


def statement_name(statement: str) -> str:
    """Return the name of the theorem that a statement declares.

    Raises:
        ValueError: If the text is no statement of one named theorem.
    """
    tokens = lex_statement(statement)
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text in ("[", "(")) - (token.text in ("]", ")"))
        if token.keyword in THEOREM_KEYWORDS and not depth:
            named = tokens[index + 1 : index + 2]
            if not named or named[0].kind != "word":
                raise ValueError(f"`{token.text}` is followed by no name: {statement!r:.100}")
            return named[0].text.removeprefix("_root_.")
        if token.keyword in COMMAND_KEYWORDS - _MODIFIERS and not depth:
            raise ValueError(f"a statement begins with theorem or lemma, not `{token.text}`")
    raise ValueError(f"a statement begins with theorem or lemma: {statement!r:.100}")


def lex_statement(statement: str) -> tuple[Token, ...]:
    """Return the tokens of a statement.

    Raises:
        ValueError: If it cannot be lexed.
    """
    try:
        return lex(statement)
    except LexError as error:
        raise ValueError(f"the statement cannot be read: {error}") from None
