"""The file that Lean compiles: ours first, then the submission in the form that it has."""

from __future__ import annotations

import pytest

from rewards.verifiers.lean.assemble import assemble, bare_statement, strip_repeats, target_source
from rewards.verifiers.lean.filter import find_forbidden
from rewards.verifiers.lean.names import statement_name

HEADER = "import Mathlib\nimport Aesop\n\nset_option maxHeartbeats 0\n\nopen Nat Real\n"
PREAMBLE = "def Small (n : Nat) : Prop := n < 3"
STATEMENT = "theorem target : Small 2"
ENDINGS = ["", " :=", " := by", " := by\n", " := by sorry", " :=\n  by\n  sorry", " := sorry"]


def body_of(submission: str, ending: str = " :=") -> str:
    return assemble("", "", STATEMENT + ending, "target", submission).body


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_statement_has_one_form(ending: str) -> None:
    assert bare_statement(STATEMENT + ending) == STATEMENT
    source = target_source(HEADER, PREAMBLE, STATEMENT + ending)
    assert source.text == f"{HEADER}{PREAMBLE}\n{STATEMENT} := sorry\n"


def test_only_the_end_of_a_statement_is_cut() -> None:
    statement = "theorem target (h : 1 = 1 := by rfl) : 2 = 2 -- := by"
    assert bare_statement(statement) == "theorem target (h : 1 = 1 := by rfl) : 2 = 2"


@pytest.mark.parametrize("statement", ["", "-- theorem a", ":= by", "theorem a /-", '"'])
def test_a_statement_that_is_none_is_refused(statement: str) -> None:
    with pytest.raises(ValueError, match="statement"):
        bare_statement(statement)


@pytest.mark.parametrize(
    "submission",
    [
        "rfl",
        "⟨1, by\n  simp⟩",
        "fun h => by\n  exact h",
        "by\n  simp",
        "show p from h",
        "foo h\n  x",
    ],
)
def test_a_term_stands_on_lines_of_its_own(submission: str) -> None:
    assert body_of(submission) == f"{STATEMENT} :=\n{submission}\n"


@pytest.mark.parametrize("submission", [":= rfl", ":= by\n  simp"])
def test_the_sign_before_a_term_is_not_doubled(submission: str) -> None:
    assert body_of(submission) == f"{STATEMENT} :=\n  {submission[2:]}\n"


@pytest.mark.parametrize(
    ("submission", "tactics"),
    [
        ("constructor\n· exact h.2\n· exact h.1", "  constructor\n  · exact h.2\n  · exact h.1"),
        ("  intro h\n  exact h", "  intro h\n  exact h"),
        ("have h := x\nexact h", "  have h := x\n  exact h"),
        ("-- first\nsimp\n\nomega", "  -- first\n  simp\n\n  omega"),
        ("intro h\n  exact h", "  intro h\n  exact h"),
        ("cases h with\n| inl h => exact h", "  cases h with\n  | inl h => exact h"),
        ("have h : p := by\n  simp\nexact h", "  have h : p := by\n    simp\n  exact h"),
        ("all_goals\n  simp", "  all_goals\n    simp"),
        ("simp only [a,\n  b]", "  simp only [a,\n    b]"),
        ("· simp\n  rfl", "  · simp\n    rfl"),
        ("· exact h.1\n· exact h.2", "  · exact h.1\n  · exact h.2"),
    ],
)
def test_bare_tactics_get_their_by(submission: str, tactics: str) -> None:
    assert body_of(submission) == f"{STATEMENT} := by\n{tactics}\n"


@pytest.mark.parametrize("submission", ["rfl", "have h := x; foo h", "my_tactic at h"])
def test_after_by_what_may_be_a_tactic_is_one(submission: str) -> None:
    assert body_of(submission, " := by") == f"{STATEMENT} := by\n  {submission}\n"


@pytest.mark.parametrize("submission", ["by simp", "fun h => h", "⟨a, b⟩", "(h)", "@foo h"])
def test_after_by_what_must_be_a_term_is_one(submission: str) -> None:
    assert body_of(submission, " := by") == f"{STATEMENT} :=\n{submission}\n"


@pytest.mark.parametrize(
    "submission",
    [
        "theorem target : Small 2 := rfl",
        "lemma aux : p := rfl\n\ntheorem target : Small 2 := aux",
        "namespace A\ntheorem target : True := trivial\nend A",
        "@[simp] theorem target : Small 2 := rfl",
        "/-- Doc. -/\nprivate theorem target : Small 2 := rfl",
        "open Nat in\ntheorem target : Small 2 := rfl",
        "def target := 1",
        "theorem other : Small 2 := rfl",
        "open Nat\ntheorem _root_.target : Small 2 := rfl",
        "#print foo",
        "∨ True\ntheorem target : Small 2 := rfl",
    ],
)
def test_a_file_follows_a_command_of_ours(submission: str) -> None:
    source = assemble(HEADER, PREAMBLE, STATEMENT, "target", submission)
    assert (source.form, source.escape_line) == ("file", None)
    assert source.text == f"{HEADER}{PREAMBLE}\nsection\nend\n{submission}\n"


@pytest.mark.parametrize(
    "submission", ["rfl", "simp\nrfl", "theorem target : Small 2 :=\n  rfl", ":= by\n  rfl"]
)
@pytest.mark.parametrize("preamble", ["", PREAMBLE])
def test_lines_are_counted_to_the_submission(submission: str, preamble: str) -> None:
    source = assemble(HEADER.rstrip(), preamble, STATEMENT, "target", submission)
    lines = source.text.split("\n")[source.lines_before :]
    assert lines[0].split()[-1] == submission.split("\n")[0].split()[-1]
    assert lines[-2].strip() == submission.split("\n")[-1].strip()


@pytest.mark.parametrize(
    ("submission", "line"),
    [
        ("by\n  exact cheat\naxiom cheat : p", 3),
        ("by\n  rfl\n  theorem a : p := rfl", 3),
        ("rfl\n#print x", 2),
        ("by\n  open Nat in\n  rfl", None),
        ("by\n  exact (fun instance' => h)", None),
    ],
)
def test_a_proof_that_leaves_its_theorem_is_noticed(submission: str, line: int | None) -> None:
    assert assemble("", "", STATEMENT, "target", submission).escape_line == line


@pytest.mark.parametrize(
    "repeated",
    [
        HEADER,
        "import Mathlib\n",
        "import Aesop\nimport Mathlib\n\n-- then\nopen Nat Real\n",
        "/- a\nb -/ import  Mathlib -- c\n",
        HEADER + PREAMBLE + "\n",
        PREAMBLE.replace(" :=", " :=\n ") + "\n",
    ],
)
def test_what_repeats_ours_is_blanked(repeated: str) -> None:
    theorem = "theorem target : Small 2 := rfl"
    stripped = strip_repeats(repeated + theorem, HEADER, PREAMBLE)
    assert find_forbidden(stripped) is None
    assert "def" not in stripped
    assert len(stripped) == len(repeated + theorem)
    assert stripped.count("\n") == repeated.count("\n")
    assert stripped.endswith(theorem)


@pytest.mark.parametrize(
    "text",
    [
        "import Mathlib.Tactic\n",
        "import Mathlib Foo\n",
        "import Mathlib; import Foo\n",
        "import «Mathlib»\n",
        "theorem a : p := rfl\nimport Mathlib\n",
        "import\nMathlib\n",
        "prelude\nimport Mathlib\n",
    ],
)
def test_what_differs_from_ours_reaches_the_filter(text: str) -> None:
    found = find_forbidden(strip_repeats(text, HEADER, PREAMBLE))
    assert found is not None
    assert found.code == "import"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("open Nat\ndef a := 1\n/-- b -/\ndef b := 2\nx", "open Nat\n\n\n\nx"),
        ("def a := 1\nx", "\nx"),
        ("def b :=\n  2\nx", "\n\nx"),
        ("def a := 1 + 1\ndef b := 3", " + 1\ndef b := 3"),
        ("def aa := 1", "def aa := 1"),
        ("open A\nx", "open A\nx"),
    ],
)
def test_declarations_of_the_preamble_are_blanked_wherever_they_stand(text: str, rest: str) -> None:
    blanked = strip_repeats(text, "", "open A\ndef a := 1\n\ndef b := 2\n")
    assert [line.split() for line in blanked.split("\n")] == [
        line.split() for line in rest.split("\n")
    ]
    assert len(blanked) == len(text)


def test_equations_follow_the_statement_itself() -> None:
    source = assemble("", "", "theorem a : p := by", "a", "| 0 => x\n| n + 1 => y")
    assert " ".join(source.text.split()) == "theorem a : p | 0 => x | n + 1 => y"


def test_what_cannot_be_lexed_reaches_the_filter() -> None:
    assert strip_repeats("import Mathlib\n/-", HEADER, "") == "import Mathlib\n/-"


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        (STATEMENT, "target"),
        ("lemma target' {x : ℕ} : p", "target'"),
        ("theorem A.b.c : p", "A.b.c"),
        ("theorem «a b» : p", "«a b»"),
        ("theorem _root_.a : p", "a"),
        ("/-- theorem no -/\n@[simp, foo (bar := theorem)] protected theorem yes.{u} : p", "yes"),
        ("open Nat in\nset_option pp.all true in\ntheorem a : p", "a"),
    ],
)
def test_the_name_is_read_from_the_statement(statement: str, name: str) -> None:
    assert statement_name(statement) == name


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("", "begins with theorem or lemma"),
        ("2 + 2 = 4", "begins with theorem or lemma"),
        ("example : p", "not `example`"),
        ("def a := 1\ntheorem b : p", "not `def`"),
        ("theorem : p", "followed by no name"),
        ("theorem", "followed by no name"),
        ("theorem a /- : p", "a comment never ends"),
    ],
)
def test_a_statement_without_a_name_is_refused(statement: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        statement_name(statement)


@pytest.mark.parametrize("name", ["", "a b", "2", "«a", "a."])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        assemble("", "", STATEMENT, name, "theorem a : p := rfl")
