"""Real Lean 4.35 with the small `Init`: its options, its messages, its files."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lean.conftest import Message, Run
from tests.lean.toolchain import LEAN_VERSION, visible_folders

Check = Callable[..., Run]

PROOFS = {
    "term": "theorem t : 2 + 2 = 4 := rfl",
    "decide": "theorem t : 2 ^ 10 < 2 ^ 11 := by decide",
    "structural recursion": """
def double : Nat → Nat
  | 0 => 0
  | n + 1 => double n + 2
theorem t : double 21 = 42 := rfl""",
    "induction": """
theorem t (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ n ih => rw [Nat.add_succ, ih]""",
    "cases and focus": """
theorem t (p q : Prop) : p ∨ q → q ∨ p := by
  intro h
  cases h with
  | inl hp => exact Or.inr hp
  | inr hq => exact .inl hq""",
    "have, show, anonymous constructors": """
theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := by
  have hq : q := h.2
  exact show q ∧ p from ⟨hq, h.1⟩""",
    "calc": """
theorem t (a b c : Nat) (h₁ : a = b) (h₂ : b = c) : a = c :=
  calc a = b := h₁
    _ = c := h₂""",
    "simp": "theorem t (n m : Nat) (h : n = m) : n + 0 = m ∧ True := by simp [h]",
    "variables and universes": """
universe u
variable {α : Type u} (a : α)
theorem t : a = a := rfl""",
    "macros and notation": """
local notation "two" => 2
macro "close" : tactic => `(tactic| first | assumption | rfl)
theorem t : two + two = 4 := by close""",
    "exists": "theorem t : ∃ n : Nat, n + n = 4 := ⟨2, rfl⟩",
    "excluded middle": "theorem t (p : Prop) : p ∨ ¬p := Classical.em p",
    "lists": "theorem t : ([1, 2] ++ [3]).length = 7 / 2 := by decide",
    "patterns": """
theorem t (p q : Nat → Prop) (h : ∃ n, p n ∧ q n) : ∃ n, q n := by
  obtain ⟨n, _, hq⟩ := h
  exact ⟨n, hq⟩""",
    "deriving": """
inductive Side where | left | right
deriving DecidableEq
theorem t : Side.left ≠ Side.right := by decide""",
}


def axioms(run: Run) -> str:
    """Return what the last `#print axioms` of a file says."""
    return run.messages[-1].text


def test_it_says_its_version(lean: Path) -> None:
    said = subprocess.run([lean, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"Lean (version {LEAN_VERSION}, ")


def test_it_says_its_prefix(lean: Path) -> None:
    said = subprocess.run([lean, "--print-prefix"], capture_output=True, text=True, check=True)
    assert Path(said.stdout.strip()) == lean.parents[1]


@pytest.mark.parametrize("name", PROOFS)
def test_an_honest_proof_compiles_without_a_word(check: Check, name: str) -> None:
    run = check(PROOFS[name])
    assert (run.exit_code, run.messages) == (0, ())
    assert run.olean.read_bytes().startswith(b"olean")


def test_a_wrong_proof_is_an_error_and_leaves_no_file(check: Check) -> None:
    run = check("theorem t : 2 + 2 = 5 := by decide")
    assert run.exit_code == 1
    assert [message.severity for message in run.messages] == ["error"]
    assert not run.olean.exists()


def test_a_sorry_is_a_warning_of_its_own_kind(check: Check) -> None:
    run = check("theorem t : 2 + 2 = 5 := sorry")
    assert run.exit_code == 0
    assert run.messages == (Message("warning", "hasSorry", "declaration uses `sorry`"),)


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        ("rfl", "'t' does not depend on any axioms"),
        ("cheat", "'t' depends on axioms: [cheat]"),
        ("Classical.choice ⟨rfl⟩", "'t' depends on axioms: [Classical.choice]"),
    ],
)
def test_the_axioms_of_a_proof_are_printed(check: Check, proof: str, said: str) -> None:
    run = check(f"axiom cheat : 2 + 2 = 4\ntheorem t : 2 + 2 = 4 := {proof}\n#print axioms t")
    assert axioms(run) == said


def test_extensionality_of_functions_rests_on_quotients(check: Check) -> None:
    statement = "theorem t (f g : Nat → Nat) (h : ∀ x, f x = g x) : f = g"
    run = check(f"{statement} := by funext x; exact h x\n#print axioms t")
    assert axioms(run) == "'t' depends on axioms: [Quot.sound]"


def test_compiled_evidence_is_an_axiom_of_its_own(check: Check) -> None:
    run = check("theorem t : 2 + 2 = 4 := by native_decide\n#print axioms t")
    assert "native_decide" in axioms(run)


def test_what_a_file_prints_while_it_is_compiled_is_a_message(check: Check) -> None:
    run = check('#eval IO.println "from inside"')
    assert run.messages == (Message("information", "[anonymous]", "from inside\n"),)


def test_a_file_may_end_the_process_that_compiles_it(check: Check) -> None:
    run = check("theorem t : 2 + 2 = 5 := rfl\n#eval (IO.Process.exit 0 : IO Unit)")
    assert run.exit_code == 0
    assert not run.olean.exists()


def test_an_option_of_the_command_line_counts(check: Check) -> None:
    assert check("theorem t : 2 + 2 = 5 := sorry", "-Dwarn.sorry=false").messages == ()


def test_a_file_may_start_from_nothing(check: Check) -> None:
    run = check("prelude\ninductive Truth : Prop where | yes\ntheorem t : Truth := .yes")
    assert (run.exit_code, run.messages) == (0, ())


def test_a_module_is_found_through_the_search_path(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = check("theorem helper : 2 + 2 = 4 := rfl")
    first.olean.rename(tmp_path / "Helper.olean")
    monkeypatch.setenv("LEAN_PATH", str(tmp_path))
    assert check("import Helper\ntheorem t : 2 + 2 = 4 := helper").exit_code == 0


def test_what_a_sandbox_must_show_holds_the_library_and_the_interpreter(lean: Path) -> None:
    toolchain, python = visible_folders(lean)
    interpreter = Path(lean.read_text("utf-8").splitlines()[0].removeprefix("#!").split()[0])
    assert (toolchain / "lib" / "lean" / "libleanshared.so").is_file()
    assert interpreter.is_relative_to(python)
