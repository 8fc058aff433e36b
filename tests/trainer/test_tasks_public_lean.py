"""Public sets of Lean theorems, in the layouts that their authors document.

None of the sets themselves is here: the rows are made up.
"""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import rewards
from rewards.errors import ConfigurationError
from trainer.tasks import load_task, read_minif2f, read_numina_lean

MINIF2F = {
    "name": "two_and_two",
    "split": "valid",
    "informal_prefix": "/-- Show that $2 + 2 = 4$.-/\n",
    "formal_statement": "theorem two_and_two (n : ℕ) :\n  n + 2 + 2 = n + 4 := by\n",
    "goal": "n : ℕ\n⊢ n + 2 + 2 = n + 4",
    "header": "import Mathlib\n\nset_option maxHeartbeats 0\n\nopen Nat\n\n",
}
NUMINA = {
    "uuid": "0a1b",
    "problem": "Show that the double of $1$ is $2$.",
    "formal_statement": "import Mathlib\n\nopen Real\n\n/-- Twice as much. -/\n"
    "def double (n : ℕ) := 2 * n\n\ntheorem helps : double 0 = 0 := rfl\n\n"
    "/- No documentation: one dash. -/\n/-- The double of 1. -/\n"
    "theorem double_one : double 1 = 2 := by sorry\n",
}


def put(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_minif2f_keeps_header_statement_and_name(tmp_path: Path) -> None:
    (row,) = read_minif2f(put(tmp_path, MINIF2F))
    assert row.spec == {
        "type": "lean",
        "header": "import Mathlib\n\nset_option maxHeartbeats 0\n\nopen Nat",
        "statement": "theorem two_and_two (n : ℕ) :\n  n + 2 + 2 = n + 4 := by",
        "name": "two_and_two",
    }
    assert (row.id, row.gold, row.meta) == ("minif2f-two_and_two", None, {"split": "valid"})


def test_minif2f_prompt_shows_the_words_the_statement_and_the_header(tmp_path: Path) -> None:
    (row,) = read_minif2f(put(tmp_path, MINIF2F))
    prompt = str(row.prompt)
    assert "/-- Show that $2 + 2 = 4$.-/\ntheorem two_and_two (n : ℕ) :\n" in prompt
    assert "stands before it already; do not repeat it:\n\n```lean4\nimport Mathlib\n" in prompt
    assert "in one ```lean4 block" in prompt


def test_minif2f_without_words_is_deepseek_provers_own_data(tmp_path: Path) -> None:
    record = {**MINIF2F, "informal_prefix": None, "formal_proof": "by omega"}
    (row,) = read_minif2f(put(tmp_path, record))
    assert "```lean4\ntheorem two_and_two" in str(row.prompt)


def test_minif2f_without_a_header_is_refused(tmp_path: Path) -> None:
    record = {key: value for key, value in MINIF2F.items() if key != "header"}
    with pytest.raises(ConfigurationError, match="row 1 lacks 'header'"):
        read_minif2f(put(tmp_path, record))


def test_numina_divides_a_file_at_its_last_theorem(tmp_path: Path) -> None:
    (row,) = read_numina_lean(put(tmp_path, NUMINA))
    assert row.id == "numinalean-0a1b"
    assert row.spec == {
        "type": "lean",
        "header": "import Mathlib\n\nopen Real",
        "preamble": "/-- Twice as much. -/\ndef double (n : ℕ) := 2 * n\n\n"
        "theorem helps : double 0 = 0 := rfl\n\n/- No documentation: one dash. -/",
        "statement": "theorem double_one : double 1 = 2 := by sorry",
    }


def test_numina_prompt_says_it_in_words_and_hides_no_definition(tmp_path: Path) -> None:
    (row,) = read_numina_lean(put(tmp_path, NUMINA))
    prompt = str(row.prompt)
    assert prompt.startswith("Prove this theorem in Lean 4:\n\nShow that the double of $1$ is $2$.")
    assert "def double (n : ℕ) := 2 * n" in prompt


def test_files_without_a_theorem_are_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record = {**NUMINA, "formal_statement": "import Mathlib\n\nexample : True := sorry"}
    with caplog.at_level(logging.WARNING):
        assert len(read_numina_lean(put(tmp_path, NUMINA, record))) == 1
    assert "1 of 2 rows" in caplog.text


@pytest.mark.parametrize(("task", "record"), [("minif2f", MINIF2F), ("numinalean", NUMINA)])
def test_rows_make_a_task_whose_specs_are_taken(
    tmp_path: Path, task: str, record: dict[str, Any]
) -> None:
    lines = [
        json.dumps(record).replace("two_and_two", f"t{i}").replace("0a1b", f"{i}") for i in "ab"
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    loaded = load_task(task, data=tmp_path / "data.jsonl")
    rewards.configure(lean="/nowhere/lean")
    try:
        for row in (*loaded.train, *loaded.test):
            assert rewards.compile_spec(row.spec).parts[0].verifier.name == "lean"
    finally:
        rewards.configure(lean="")
