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
from dataclasses import dataclass, field
from typing import Literal

from rewards.verifiers.lean.lexer import AmbiguousError, LexError, Token, lex
from rewards.verifiers.lean.names import COMMAND_KEYWORDS

Profile = Literal["strict", "expr", "off"]
Place = Literal["keyword", "tactic", "command", "name", "attribute"]
Code = Literal[
    "sorry", "import", "forbidden_token", "forbidden_option", "unterminated", "ambiguous"
]

MAX_CHARS = 200_000
"""Longer submissions are refused unread."""
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


@dataclass(frozen=True)
class Rule:
    """Words that are refused for one reason; `*` in a word stands for letters."""

    place: Place
    """keyword: by itself; tactic: by itself where a tactic begins; command: as the beginning of a
    word after `#`, as Lean divides `#evalx`; name: as any component of a name; attribute: as any
    component within `@[...]` or `attribute [...]`."""
    profiles: str
    reason: str
    words: str
    code: Code = "forbidden_token"
    pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        words = "|".join(re.escape(word).replace(r"\*", r"\w*") for word in self.words.split())
        end = ".*" if self.place == "command" else ""
        object.__setattr__(self, "pattern", re.compile(f"(?:{words}){end}"))


RULES = (
    Rule("keyword", "strict", "it leaves a part of the proof out", "sorry admit", "sorry"),
    Rule("tactic", "strict", "it leaves a part of the proof out", "stop"),
    Rule("name", "strict", "it is the axiom behind sorry", "sorryAx"),
    Rule("keyword", "strict", "it assumes what it states", "axiom opaque proof_wanted"),
    Rule("keyword", "strict", "nothing checks that it terminates", "partial"),
    Rule(
        "keyword",
        "strict",
        "it trusts compiled code instead of the kernel",
        "native_decide bv_decide bv_decide? bv_check",
    ),
    Rule(
        "name",
        "strict",
        "it trusts compiled code instead of the kernel",
        "ofReduceBool ofReduceNat reduceBool reduceNat trustCompiler",
    ),
    Rule(
        "keyword",
        "strict",
        "it changes how the text after it is read",
        "notation notation3 infix infixl infixr prefix postfix",
    ),
    Rule(
        "keyword",
        "strict expr",
        "it changes how the text after it is read, by code of its own",
        "macro macro_rules elab elab_rules syntax syntax_abbrev declare_syntax_cat "
        "binder_predicate declare_simp_like_tactic add_tactic_extension",
    ),
    Rule(
        "keyword",
        "strict expr",
        "it runs code while the file is compiled",
        "run_cmd run_elab run_meta run_tac run_conv by_elab initialize builtin_initialize meta "
        "include_str *simproc *simproc_decl *grind_propagator declare_*config_elab register_*",
    ),
    Rule(
        "command",
        "strict expr",
        "it runs code, hides messages or asks the network",
        "#eval #guard #test #sample #html #widget #search #loogle #moogle #leansearch "
        "#leanfinder #minimize_imports #check_tactic",
    ),
    Rule(
        "name",
        "strict expr",
        "programs that run while the file is compiled are made of it",
        "Elab Meta CoreM MetaM TermElabM TacticM CommandElabM MacroM SimpM DSimpM SimprocM GrindM "
        "AttrM ImportM addDecl* addAndCompile setEnv modifyEnv evalConst* evalDecl evalExpr*",
    ),
    Rule(
        "name", "strict expr", "a proof has no use for effects", "IO EIO BaseIO RealWorld FilePath"
    ),
    Rule(
        "name",
        "strict expr",
        "compiled code and the kernel would disagree about it",
        "implemented_by extern csimp unsafeCast unsafeIO unsafeEIO unsafeBaseIO ptrAddrUnsafe "
        "lcProof lcUnreachable lcAny",
    ),
    Rule(
        "name",
        "strict expr",
        "Lean reads its text by other rules, which may hide code",
        "ProofWidgets Jsx",
    ),
    Rule(
        "attribute",
        "strict expr",
        "the attribute makes code run while the file is compiled",
        "init export builtin_* run_builtin_* macro tactic *_elab *_parser parenthesizer formatter "
        "*_parenthesizer *_formatter app_unexpander delab app_delab *simproc* sevalproc norm_num "
        "positivity linter env_linter *code_action* widget_module server_rpc_method* "
        "try_suggestion *_handler *_tactic *discharger quot_precheck unused_variables_ignore_fn "
        "grind_propagator doc_*",
    ),
    Rule("command", "strict expr off", "it ends the file before its end", "#exit"),
    Rule("keyword", "strict expr off", "the header is the task's", "import prelude", "import"),
)

SAFE_OPTIONS = re.compile(
    r"maxHeartbeats|maxRecDepth|maxSynthPendingDepth|autoImplicit|relaxedAutoImplicit|autoLift"
    r"|smartUnfolding|simprocs|quotPrecheck|hygiene|warningAsError|checkBinderAnnotations"
    r"|(?:synthInstance|exponentiation|linter|pp|trace(?!\.profiler)|profiler|diagnostics|tactic|grind"
    r"|aesop|backward|deprecated|says|match|push_cast)(?:\.\w+)+|profiler|diagnostics"
)
"""Options that change what is tried and shown, and not what counts as proved; all others are
refused (`debug.skipKernelTC`, `warn.sorry`, `interpreter.*`, `sat.solver`; `trace.profiler.output`
writes a file)."""


def find_forbidden(text: str, profile: Profile = "strict") -> Forbidden | None:
    """Return a token that the profile forbids, if there is one.

    Profiles: `strict` forbids all of the rules; `expr` leaves what the comparison of the compiled
    files finds by itself; `off` forbids only what breaks the file in which the submission is put.

    A token of code `sorry` comes last: where it is returned, the text has no other fault.
    """
    if len(text) > MAX_CHARS:
        reason = f"the submission has more than {MAX_CHARS} characters"
        return Forbidden("", 1, "forbidden_token", reason)
    try:
        tokens = lex(text)
    except LexError as error:
        code: Code = "ambiguous" if isinstance(error, AmbiguousError) else "unterminated"
        return Forbidden("", error.line, code, error.what)
    first_sorry = None
    for found in _all_forbidden(tokens, profile):
        if found.code != "sorry":
            return found
        first_sorry = first_sorry or found
    return first_sorry


def _all_forbidden(tokens: Sequence[Token], profile: Profile) -> Iterator[Forbidden]:
    rules = [rule for rule in RULES if profile in rule.profiles.split()]
    if header := _module_header(tokens):
        yield header
    attributes = _attribute_words(tokens)
    for index, token in enumerate(tokens):
        if token.kind not in ("word", "symbol"):
            continue
        before = tokens[index - 1] if index else None
        if before is not None and "set_option" in _keywords(before):
            if profile != "off":
                yield from _option(token)
            continue  # the names of options are none of constants: `trace.Meta`
        for rule in rules:
            if _breaks(rule, tokens, index, index in attributes):
                yield Forbidden(token.text, token.line, rule.code, f"`{token.text}`: {rule.reason}")
        if profile != "off":
            yield from _in_context(tokens, index, profile)


def _breaks(rule: Rule, tokens: Sequence[Token], index: int, in_attribute: bool) -> bool:
    token = tokens[index]
    if rule.place == "command":
        return token.kind == "symbol" and bool(rule.pattern.fullmatch(token.text))
    if rule.place == "attribute" and not in_attribute:
        return False
    if rule.place == "tactic" and not _begins_tactic(tokens, index):
        return False
    words = _keywords(token) if rule.place in ("keyword", "tactic") else _components(token)
    return any(rule.pattern.fullmatch(word) for word in words)


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


def _in_context(tokens: Sequence[Token], index: int, profile: Profile) -> Iterator[Forbidden]:
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
    elif profile == "strict" and token.parts == ("native",):
        option = before == "+" or (before in ("{", "(", ",") and after[0] == ":=")
        found = "it trusts compiled code instead of the kernel" if option else ""
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
