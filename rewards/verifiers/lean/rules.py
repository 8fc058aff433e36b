"""The words that a submission must not hold, by the reason for which they are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

Profile = Literal["strict", "expr", "off"]
Place = Literal["keyword", "tactic", "command", "name", "attribute"]
Code = Literal[
    "sorry",
    "import",
    "forbidden_token",
    "forbidden_option",
    "unterminated",
    "ambiguous",
    "too_long",
]


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
        "strict expr",
        "it runs compiled code and trusts it instead of the kernel",
        "native_decide bv_decide bv_decide? bv_check",
    ),
    Rule(
        "name",
        "strict expr",
        "it runs compiled code and trusts it instead of the kernel",
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
