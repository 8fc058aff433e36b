"""What a run cannot do without is missed before a model is loaded."""

import json
from pathlib import Path

import pytest

import rewards
from trainer.cli import main

PLUGIN = '''
"""Judges from a given try on, as a machine does that comes back."""
import pathlib

import rewards


class NeedySpec(rewards.Spec):
    type: str = "needy"
    log: str
    tries: int


@rewards.verifier(name="needy", spec=NeedySpec, runs="sandbox")
def needy(completion, spec):
    log = pathlib.Path(spec.log)
    with log.open("a") as file:
        file.write(completion.text + "\\n---\\n")
    if log.read_text().count("---") < spec.tries:
        return rewards.Score.unjudged("the oracle is out: light a candle")
    return rewards.Score.correct("judged")
'''


@pytest.fixture(scope="module")
def needy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the verifier."""
    path = tmp_path_factory.mktemp("plugin") / "needy.py"
    path.write_text(PLUGIN)
    return f"{path}:needy"


@pytest.fixture
def flags(tmp_path: Path, needy: str) -> list[str]:
    """A run with a model that is nowhere."""
    return [
        *("--task", "jsonl", "--data", str(tmp_path / "rows.jsonl"), "--model", "./nowhere"),
        *("--verifier", needy, "--prompts-per-step", "2"),
        *("--eval-data", str(tmp_path / "held_out.jsonl"), "--output-dir", str(tmp_path / "run")),
    ]


def put(folder: Path, tries: int, golds: list[str | None]) -> Path:
    """Write rows that are judged from the given try on; return what the verifier logs to."""
    log = folder / "log"
    spec = {"type": "needy", "log": str(log), "tries": tries}
    rows = [
        json.dumps({"id": f"r{i}", "prompt": "?", "spec": spec, "gold": gold})
        for i, gold in enumerate(golds)
    ]
    (folder / "rows.jsonl").write_text("\n".join(rows))
    (folder / "held_out.jsonl").write_text(rows[0])
    return log


def test_a_verifier_that_lacks_something_is_a_mistake_before_any_model(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, 99, ["gold"] * 4)
    assert main(flags) == 2
    err = capsys.readouterr().err
    assert err == (
        "grpo-run: task 'jsonl' cannot be judged here: the oracle is out: light a candle\n"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("tries", [1, 3])
def test_a_verifier_that_judges_in_the_end_is_taken(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], tries: int
) -> None:
    log = put(tmp_path, tries, ["a", "b", "c", "d"])
    assert main(flags) == 2
    assert "model './nowhere' is not a folder" in capsys.readouterr().err
    assert log.read_text().count("---") == tries


def test_golds_are_asked_first_and_code_stands_in_for_them(
    flags: list[str], tmp_path: Path
) -> None:
    log = put(tmp_path, 99, [None, None, "the gold"])
    assert main(flags) == 2
    assert log.read_text() == "the gold\n---\n" + "```\nx\n```\n---\n" * 2


@pytest.fixture
def no_lean(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Lean."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("REWARDS_LEAN", raising=False)
    rewards.configure(lean="")


@pytest.mark.usefixtures("no_lean")
def test_the_lean_task_says_what_is_missing_and_where_to_read_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--model", "./nowhere", "--output-dir", str(tmp_path / "run")]
    assert main(["--task", "lean", *flags]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("grpo-run: task 'lean' cannot be judged here")
    for word in ("`lean`", "PATH", "REWARDS_LEAN", "docs/lean.md"):
        assert word in err
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_lean")
def test_a_lean_set_without_golds_says_it_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"name": f"t{i}", "header": "import Mathlib", "formal_statement": f"theorem t{i} : True"}
        for i in range(20)
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = ["--data", str(tmp_path / "data.jsonl"), "--model", "./nowhere"]
    assert main(["--task", "minif2f", *flags]) == 2
    assert "task 'minif2f' cannot be judged here: no Lean" in capsys.readouterr().err
