"""The filter refuses what could cheat, in any spelling, and nothing that honest proofs hold.

LEAN_CASES names a file of labelled cases to filter besides the texts here; what was recorded for
them is read from the file beside it, `lean_recorded.jsonl`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rewards.completion import Completion
from rewards.verifiers.lean.extract import extract_submission
from rewards.verifiers.lean.filter import find_forbidden
from rewards.verifiers.lean.lexer import MAX_CHARS

RUNS_CODE = [
    "theorem t : p := by native_decide",
    "theorem t : p := by decide +native",
    "theorem t : p := by decide + native",
    "theorem t : p := by decide (config := { native := true })",
    "theorem t : p := by decide (config := { «native» := true })",
    "theorem t : p := by bv_decide",
    "theorem t : p := Lean.ofReduceBool _ _ rfl",
    "#eval 1",
    "#eval! 1",
    "#evalx",
    "  #eval (IO.Process.exit 0 : IO Unit)",
    "#guard 1 == 1",
    "#guard_msgs (drop error) in",
    "#html <p/>",
    "run_cmd foo",
    "example : p := by run_tac foo",
    "example : p := by conv => run_conv foo",
    "example := by_elab return foo",
    "example := eval% foo",
    'example := include_str "f"',
    "initialize foo",
    "meta def x := 1",
    "unsafe def x := 1",
    "example : p := add\nunsafe def x := 1",
    "example := unsafe foo",
    "example := A →runsafe foo",
    "open private foo in Bar",
    'local macro "x" : term => `(1)',
    "macro_rules | `(1) => `(2)",
    'scoped syntax "x" : term',
    "elab_rules : term | `(x) => foo",
    "declare_syntax_cat foo",
    "simproc foo (x) := bar",
    "dsimproc_decl foo (x) := bar",
    "builtin_simproc foo (x) := bar",
    "register_option foo : Nat := 1",
    "register_simp_attr foo",
    "declare_config_elab foo Bar",
    "open Lean Elab Command",
    "def x := Lean.Elab.Command.elabCommand",
    "def x : Lean.Meta.Simp.Config := foo",
    "def x : «TacticM» Unit := foo",
    "def x := Lean.addDeclWithoutChecking",
    "def x : IO Unit := foo",
    "def x := _root_.IO.FS.readFile",
    "open System.FilePath",
    "@[implemented_by foo] def x := 1",
    "@[ implemented_by foo ] def x := 1",
    "@[«implemented_by» foo] def x := 1",
    "@[simp, implemented_by foo] def x := 1",
    "attribute [implemented_by foo] bar",
    "attribute [simp, local implemented_by foo] bar",
    '@[extern "foo"] def x := 1',
    "@[init] def x := 1",
    "@[builtin_init] def x := 1",
    "@[export foo] def x := 1",
    "@[command_elab foo] def x := 1",
    "@[tactic foo] def x := 1",
    "@[app_unexpander foo] def x := 1",
    "@[simproc] def x := 1",
    "@[csimp] theorem x : f = g := h",
    "theorem t : p := lcProof",
    "def x := unsafeCast 1",
    "open ProofWidgets.Jsx",
]
SWITCHES_CHECKS_OFF = [
    "set_option debug.skipKernelTC true",
    "set_option debug.skipKernelTC true in theorem t : p := h",
    "example : p := by\n  set_option debug.skipKernelTC true in\n  decide +kernel",
    "set_option debug.«skipKernelTC» true",
    "set_option«debug».«skipKernelTC» true",
    "set_option /- a -/ debug.skipKernelTC true",
    "def f := A →rset_option debug.skipKernelTC true in B",
    "set_option\n  debug.skipKernelTC true",
    "set_option debug . skipKernelTC true",
    "set_option warn.sorry false",
    "set_option compiler.extract_closed false",
    "set_option interpreter.prefer_native true",
    'set_option sat.solver "x"',
    'set_option trace.profiler.output "x"',
    "set_option ppx true",
]
PROVES_NOTHING = [
    "theorem t : p := sorry",
    "theorem t : p := by sorry",
    "theorem t : p := by first | rfl | sorry",
    "theorem t : p := (sorry)",
    "theorem t : p := sorry/- -/",
    "theorem t : p := by admit",
    "theorem t : p := by\n  stop\n  rfl",
    "theorem t : p := by skip; stop",
    "theorem t : p := sorryAx _ false",
    "theorem t : p := «sorryAx» _ false",
    "theorem t : p := _root_.«sorryAx» _ false",
    "def f := A →rsorry",
    "def n := 2sorry",
    "def n := 0xasorry",
    'def s := s!"{sorry}"',
    'def s := s!"{"a" ++ sorry}"',
    'def s := dbg_trace "{sorry}"; 1',
    "axiom a : False",
    "axiom«a» : False",
    "private axiom a : False",
    "opaque x : False",
    "partial def x := 1",
    'local notation (priority := high) "Nat" => Empty',
    'infixl:65 " + " => f',
]
BREAKS_THE_FILE = [
    "import Foo",
    "public import Foo",
    "theorem t : p := rfl\nimport Foo",
    "prelude",
    "module\n\ntheorem t : p := rfl",
    "#exit",
    "#exitx",
    "theorem t : p := rfl /-",
    'def s := "',
    "/-- -- -/ axiom a : False\n-/",
    "\x00",
]
HONEST = [
    "-- sorry\n/- axiom /- #eval -/ import -/ theorem t : p := rfl",
    "/-- sorry -/ theorem t : p := rfl",
    'def s := "sorry axiom native_decide #exit \\" sorry"',
    'def s := r#"sorry " axiom"#',
    "def c := '\"' theorem sorry' : p := rfl",
    "theorem sorry_free_axiom_free : p := h.sorry",
    "theorem t (Sorry sorryful : p) : q := «sorry»",
    "theorem Summable.partial (partial_sum stop init : ℕ) : h.axiom = prefix_of := rfl",
    "theorem t (stop : ℕ) : List.range' 0 stop = l := by simp [stop]",
    "theorem t : p := by aesop (add unsafe 50% apply foo)",
    "theorem t : p := by aesop (add unsafe foo)",
    "@[aesop unsafe 20% apply] theorem t : p := rfl",
    "@[elab_as_elim, simp, norm_cast] theorem t : p := rfl",
    "@[reducible, macro_inline, inherit_doc foo] def x := 1",
    "attribute [local instance] Classical.propDecidable",
    "attribute [-simp] foo in theorem t : p := rfl",
    "#print axioms t\n#check t\n#reduce t\n#synth Foo",
    "example : p := rfl",
    "theorem t : #s = 3 ∧ #(s ∪ t) = 4 := rfl",
    "instance : Add Foo := ⟨f⟩",
    "variable (h : p) include h open Nat in universe u mutual end noncomputable section",
    "initialize_simps_projections Foo (x → y)",
    "alias foo := bar export Foo (bar) suppress_compilation",
    "theorem t : p := by decide +kernel",
    "theorem t : p := by simp +decide (config := { decide := true })",
    "theorem t : p := by module",
    "module",
    "theorem t (n : ℕ) : p := f (n - 1) termination_by n decreasing_by all_goals simp",
    "set_option maxHeartbeats 400000 in theorem t : p := rfl",
    "set_option maxRecDepth 2000 set_option pp.all true set_option linter.unusedVariables false",
    "set_option trace.Meta.synthInstance true set_option autoImplicit false",
    "set_option backward.isDefEq.lazyWhnfCore false",
    "theorem t : f ⁻¹' s = g '' t ∧ ∃! x, q x := by ext x; simp",
    "theorem t : { x : ℕ // 0 < x } = y ∧ a - -b = c := rfl",
    "theorem t (h' : a₁' ∣ b) : √x = ⌊y⌋ := by nlinarith [sq_nonneg (a - b)]--done",
    "theorem t : Nat.eval % 2 = native := rfl",
]


@pytest.mark.parametrize("text", RUNS_CODE + SWITCHES_CHECKS_OFF + BREAKS_THE_FILE)
def test_strict_and_expr_refuse(text: str) -> None:
    assert find_forbidden(text) is not None
    assert find_forbidden(text, "expr") is not None


@pytest.mark.parametrize("text", PROVES_NOTHING)
def test_only_strict_refuses_what_the_compiled_files_show(text: str) -> None:
    assert find_forbidden(text) is not None
    assert find_forbidden(text, "expr") is None


@pytest.mark.parametrize("text", BREAKS_THE_FILE)
def test_off_refuses_what_breaks_the_file(text: str) -> None:
    assert find_forbidden(text, "off") is not None


@pytest.mark.parametrize("text", RUNS_CODE + SWITCHES_CHECKS_OFF + PROVES_NOTHING)
def test_off_refuses_nothing_else(text: str) -> None:
    assert find_forbidden(text, "off") is None


@pytest.mark.parametrize("text", HONEST)
def test_honest_texts_pass(text: str) -> None:
    assert find_forbidden(text) is None


@pytest.mark.parametrize(
    ("text", "code", "token", "line"),
    [
        ("\n\n  sorry", "sorry", "sorry", 3),
        ("sorry\naxiom a : p", "forbidden_token", "axiom", 2),
        ("sorry\n/- -/ import A", "import", "import", 2),
        ("set_option a.«b» 1", "forbidden_option", "a.b", 1),
        ("a\n/-", "unterminated", "", 2),
        ("/-/ -/", "ambiguous", "", 1),
        ("sorryAx", "forbidden_token", "sorryAx", 1),
    ],
)
def test_the_finding_says_what_where_and_of_which_kind(
    text: str, code: str, token: str, line: int
) -> None:
    found = find_forbidden(text)
    assert found is not None
    assert (found.code, found.token, found.line) == (code, token, line)
    assert token in found.reason


def test_sorry_is_returned_only_if_nothing_else_is_forbidden() -> None:
    only = find_forbidden("theorem t : p := by\n  have h : q := sorry\n  admit")
    more = find_forbidden("theorem t : p := sorry\n#eval 1")
    assert (only and only.code, more and more.code) == ("sorry", "forbidden_token")


def test_what_is_too_long_is_not_read() -> None:
    assert find_forbidden("x" * MAX_CHARS) is None
    found = find_forbidden("x" * (MAX_CHARS + 1))
    assert found is not None
    assert found.code == "too_long"
    assert str(MAX_CHARS) in found.reason


def _given_cases() -> list[dict[str, Any]]:
    if "LEAN_CASES" not in os.environ:
        return []
    path = Path(os.environ["LEAN_CASES"])
    cases, recorded = (
        [json.loads(line) for line in file.read_text().splitlines()]
        for file in (path, path.with_name("lean_recorded.jsonl"))
    )
    facts = {fact["id"]: fact for fact in recorded}
    return [{**facts[case["id"]], **case} for case in cases]


@pytest.mark.parametrize("case", _given_cases(), ids=lambda case: case["id"])
def test_a_given_case_is_refused_as_recorded(case: dict[str, Any]) -> None:
    submission = extract_submission(Completion.of(case["submission"]), case["name"])
    assert submission is not None
    assert (find_forbidden(submission.text) is None) == (case["static"] is None)
