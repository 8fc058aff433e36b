from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rewards.cli import main

FOUR = {"type": "math", "answer": "4"}


@pytest.fixture
def rows(tmp_path: Path) -> Any:
    """Write rows to a JSONL file and return its path."""

    def write(*data: Any) -> str:
        file = tmp_path / "rows.jsonl"
        lines = [item if isinstance(item, str) else json.dumps(item) for item in data]
        file.write_text("\n".join(lines) + "\n")
        return str(file)

    return write


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# ---- score --------------------------------------------------------------------------------------


def test_score_prints_one_line_a_row_in_order(
    rows: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = rows(*({"id": n, "completion": str(n)} for n in range(3, 6)))
    assert main(["score", "--spec", json.dumps(FOUR), file]) == 0
    lines = _lines(capsys.readouterr().out)
    assert [(line["id"], line["value"]) for line in lines] == [(3, 0.0), (4, 1.0), (5, 0.0)]


def test_score_reads_specs_from_the_rows(rows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = rows({"completion": "4", "spec": FOUR}, {"completion": "4", "spec": json.dumps([FOUR])})
    assert main(["score", file]) == 0
    assert [line["value"] for line in _lines(capsys.readouterr().out)] == [1.0, 1.0]


def test_score_falls_back_to_the_gold(rows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", rows({"gold": "4", "spec": FOUR})]) == 0
    assert _lines(capsys.readouterr().out)[0]["value"] == 1.0


def test_score_reads_what_the_caller_knows(rows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    spec = {"type": "length", "budget": 1}
    main(["score", rows({"completion": "x", "spec": spec, "num_tokens": 101})])
    assert _lines(capsys.readouterr().out)[0]["value"] == -0.1


@pytest.mark.parametrize(
    ("name", "text"), [("s.json", json.dumps(FOUR)), ("s.toml", 'type = "math"\nanswer = "4"')]
)
def test_score_reads_a_spec_file(
    rows: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    assert main(["score", "--spec", str(tmp_path / name), rows({"completion": "4"})]) == 0
    assert _lines(capsys.readouterr().out)[0]["value"] == 1.0


def test_score_writes_to_a_file(
    rows: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert main(["score", "--output", str(out), rows({"completion": "4", "spec": FOUR})]) == 0
    assert capsys.readouterr().out == ""
    assert _lines(out.read_text())[0]["value"] == 1.0


def test_score_summarises_on_standard_error(rows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    main(["score", "--spec", json.dumps(FOUR), rows({"completion": "4"}, {"completion": "5"})])
    shown = capsys.readouterr().err
    assert "0.5000 (of 2)" in shown
    assert "incorrect" in shown


def test_rows_that_could_not_be_judged_are_exit_code_three(
    rows: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = {"type": "length", "budget": 1}
    assert main(["score", rows({"completion": "x", "spec": spec})]) == 3
    captured = capsys.readouterr()
    assert _lines(captured.out)[0]["value"] is None
    assert "num_tokens" in captured.err


def test_nothing_is_scored_when_a_row_is_bad(rows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = rows({"completion": "4", "spec": FOUR}, "{broken", {"completion": "4"}, {"spec": FOUR})
    assert main(["score", file]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{file}:2: not JSON" in captured.err
    assert f"{file}:3: no 'spec'" in captured.err
    assert f"{file}:4: neither 'completion' nor 'gold'" in captured.err


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ({"completion": 5}, "'completion' is text or chat messages, not int: 5"),
        ({"completion": ["a"]}, "'completion' is text or chat messages, not list: ['a']"),
        ({"gold": {}, "completion": []}, "'completion' is text or chat messages, not list: []"),
        ({"gold": 4}, "'gold' is text or chat messages, not int: 4"),
        ({"completion": "4", "prompt": 7}, "'prompt' is text or chat messages, not int: 7"),
        ({"completion": "4", "num_tokens": "9"}, "'num_tokens' is a whole number, not '9'"),
    ],
)
def test_a_row_of_the_wrong_shape_is_named_before_anything_is_scored(
    rows: Any, capsys: pytest.CaptureFixture[str], bad: dict[str, Any], complaint: str
) -> None:
    file = rows(*[{"completion": "4"}] * 40, bad)
    assert main(["score", "--spec", json.dumps(FOUR), file]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"rewards: {file}:41: {complaint}\n"


def test_check_names_a_gold_that_is_no_text(rows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = rows({"gold": 4, "spec": FOUR}, {"gold": "4", "spec": FOUR})
    assert main(["check", file]) == 1
    assert capsys.readouterr().out.startswith(f"{file}:1: 'gold' is text or chat messages")


def test_an_output_file_is_not_touched_when_a_row_is_bad(rows: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious")
    assert main(["score", "--output", str(out), rows("{")]) == 2
    assert out.read_text() == "precious"


def test_a_verifier_of_ones_own_is_loaded_by_path(
    rows: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vowels.py").write_text(
        "from typing import Literal\nimport rewards\n"
        "class S(rewards.Spec):\n    type: Literal['vowels'] = 'vowels'\n"
        "@rewards.verifier(name='vowels', spec=S)\n"
        "def vowels(completion, spec):\n"
        "    return rewards.Score.fraction(float('a' in completion.text))\n"
    )
    file = rows({"completion": "a", "spec": {"type": "vowels"}})
    assert main(["score", "--verifier", f"{tmp_path}/vowels.py:vowels", file]) == 0
    assert _lines(capsys.readouterr().out)[0]["value"] == 1.0


def test_half_a_character_survives_as_its_escape(
    rows: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", "--spec", json.dumps(FOUR), rows({"completion": "\ud800"})]) == 0
    assert _lines(capsys.readouterr().out)[0]["evidence"]["extracted"] == "\ud800"


# ---- check --------------------------------------------------------------------------------------


def test_check_accepts_good_rows(rows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    style = {"type": "length", "budget": 9, "unit": "words"}
    file = rows({"gold": "4", "spec": FOUR}, {"gold": "x", "spec": style}, {"spec": FOUR})
    assert main(["check", file]) == 0
    assert capsys.readouterr().out == "3 rows, 2 golds scored, 0 bad\n"


def test_check_names_every_bad_row(rows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = rows(
        {"id": "a", "gold": "5", "spec": FOUR},
        {"id": "b", "gold": "4", "spec": {"type": "math"}},
        {"id": "c", "gold": "4", "spec": FOUR},
        "{",
    )
    assert main(["check", file]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines[:-1]] == [
        f"{file}:1 (id a)",
        f"{file}:2 (id b)",
        f"{file}:4",
    ]
    assert lines[-1] == "4 rows, 2 golds scored, 3 bad"


def test_check_tells_the_unjudged_from_the_bad(rows: Any) -> None:
    assert main(["check", rows({"gold": "x", "spec": {"type": "length", "budget": 1}})]) == 3


# ---- list, schema -------------------------------------------------------------------------------


def test_list_shows_the_built_ins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["math", "thread", "outcome", "built-in"] in shown


def test_the_schema_of_one_spec_requires_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "math"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["required"] == ["answer", "type"]
    assert schema["properties"]["type"]["const"] == "math"


def test_the_schema_of_all_tells_them_apart_by_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    mapping = schema["$defs"]["OneSpec"]["discriminator"]["mapping"]
    assert mapping["length"] == "#/$defs/LengthSpec"


# ---- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ([], "required: COMMAND"),
        (["scor"], "Did you mean 'score'?"),
        (["score", "--sepc", "x", "FILE"], "Did you mean '--spec'?"),
        (["check", "--worker=3", "FILE"], "Did you mean '--workers'?"),
        (["score"], "required: FILE"),
        (["score", "/nowhere.jsonl"], "cannot read /nowhere.jsonl: No such file"),
        (["score", "--spec", "/nowhere.toml", "FILE"], "--spec: cannot read /nowhere.toml"),
        (["score", "--spec", '{"type": "mth"}', "FILE"], "--spec: no verifier 'mth'"),
        (["score", "--spec", "{", "FILE"], "--spec: spec text is neither JSON"),
        (["score", "--workers", "0", "FILE"], "workers must be at least 1"),
        (["score", "--sandbox", "procces", "FILE"], "Did you mean 'process'?"),
        (["score", "--verifier", "/nowhere.py:x", "FILE"], "no such file: /nowhere.py"),
        (["score", "--output", "/nowhere/x", "FILE"], "--output: cannot write /nowhere/x"),
        (["schema", "maths"], "Did you mean 'math'?"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_two(
    rows: Any, capsys: pytest.CaptureFixture[str], argv: list[str], complaint: str
) -> None:
    file = rows({"completion": "4", "spec": FOUR})
    assert main([file if item == "FILE" else item for item in argv]) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_an_empty_file_is_a_mistake(rows: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", rows("")]) == 2
    assert "holds no rows" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["score", "check", "list", "schema"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert "usage: rewards" in capsys.readouterr().out


def test_help_explains_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    assert "exit codes:" in capsys.readouterr().out


# ---- as a process -------------------------------------------------------------------------------


def _start(*argv: str, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rewards.cli", *argv]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, text=True, **pipes, **more)


def test_rows_can_come_from_standard_input() -> None:
    process = _start("score", "--spec", json.dumps(FOUR), "-")
    out, _ = process.communicate('{"completion": "4"}\n', timeout=60)
    assert (_lines(out)[0]["value"], process.returncode) == (1.0, 0)


def test_a_closed_pipe_is_no_error(rows: Any) -> None:
    file = rows(*({"completion": str(n)} for n in range(500)))
    process = _start("score", "--spec", json.dumps(FOUR), file)
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.stdin
    process.stdin.close()
    assert process.wait(60) == 0


def test_an_interrupt_is_exit_code_130(rows: Any, tmp_path: Path) -> None:
    (tmp_path / "sleepy.py").write_text(
        "from typing import Literal\nimport time, rewards\n"
        "class S(rewards.Spec):\n    type: Literal['sleepy'] = 'sleepy'\n"
        "@rewards.verifier(name='sleepy', spec=S, runs='worker', timeout_s=60)\n"
        "def sleepy(completion, spec):\n"
        "    open('started', 'w').close()\n    time.sleep(600)\n"
    )
    file = rows({"completion": "x", "spec": {"type": "sleepy"}})
    # A shell starts what runs in its background with interrupts ignored, which is inherited.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = _start("score", "--verifier", "sleepy.py:sleepy", file, cwd=tmp_path)
    signal.signal(signal.SIGINT, usual)
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "rewards: interrupted\n"
