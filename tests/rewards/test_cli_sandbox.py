"""`rewards sandbox`: what its commands print and how they exit."""

from __future__ import annotations

import io
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import sandbox
from rewards.cli import _parser, main
from sandbox import Outcome, SandboxError

PAGE = Path(__file__).parents[2] / "docs" / "sandbox.md"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a program with `rewards sandbox run`; return exit code, stdout and stderr."""

    def run(program: str, *options: str) -> tuple[int, str, str]:
        file = tmp_path / "program.py"
        file.write_text(program)
        code = main(["sandbox", "run", str(file), "--backend", "bubblewrap", *options])
        return code, *capfd.readouterr()

    return run


# ---- run ----------------------------------------------------------------------------------------


def test_a_program_gets_its_input_and_its_output_is_passed_on(run: Run) -> None:
    program = "import sys\nprint(input()[::-1])\nprint('warned', file=sys.stderr)\n"
    assert run(program, "--stdin", "abc") == (0, "cba\n", "warned\n")


def test_the_input_may_be_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("1 2")
    assert run("print(input())", "--stdin", f"@{tmp_path / 'in'}") == (0, "1 2\n", "")


def test_the_input_may_be_ours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"ours\n")))
    assert run("print(input())", "--stdin", "-") == (0, "ours\n", "")


def test_its_exit_status_is_ours(run: Run) -> None:
    assert run("raise SystemExit(7)") == (7, "", "")


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("while True: pass", 124, "rewards: over the cpu limit of 0.3 s"),
        ("import time; time.sleep(60)", 124, "rewards: over the wall limit of 1.9 s"),
        ("x = bytearray(1 << 30)\nx[::4096] = x[::4096]", 1, "MemoryError"),
        ("while True: print('y' * 1000)", 137, "rewards: over the output limit"),
        ("import os; os.abort()", 128 + signal.SIGABRT, "rewards: killed by signal 6"),
        ("x = (", 1, "SyntaxError: '(' was never closed"),
    ],
)
def test_what_ended_a_program_is_said(run: Run, program: str, code: int, said: str) -> None:
    status, _, stderr = run(program, "--cpu-s", "0.3", "--memory-mb", "100", "--output-kb", "10")
    assert (status, said in stderr) == (code, True), stderr


def test_a_lost_job_is_the_machines_trouble(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Outcome(infra_error="the agent is gone")
    monkeypatch.setattr("sandbox.slots.SlotSandbox.run", lambda *_: lost)
    status, _, stderr = run("print(1)")
    assert (status, "the machine failed, not the program: the agent is gone" in stderr) == (
        70,
        True,
    )


def test_no_sandbox_is_the_machines_trouble(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SandboxError("install this")

    monkeypatch.setattr(sandbox, "open_sandbox", fail)
    assert run("print(1)") == (70, "", "rewards: install this\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["run", "/nowhere.py"], "FILE: cannot read /nowhere.py"),
        (["run", __file__, "--stdin", "@/nowhere"], "--stdin: cannot read /nowhere"),
        (["run", __file__, "--cpu-s", "0"], "limit cpu_s must be a positive number"),
        (["run", __file__, "--cpu-s", "nan"], "limit cpu_s must be a positive number"),
        (["run", __file__, "--memory-mb", "lots"], "invalid int value"),
        (["run", __file__, "--backend", "bubblewarp"], "Did you mean 'bubblewrap'?"),
        (["run", __file__, "--stdn", "x"], "Did you mean '--stdin'?"),
        (["run"], "required: FILE"),
        (["biuld"], "Did you mean 'build'?"),
        ([], "required: COMMAND"),
        (["build", "--from-host", "--base", "python:3.13"], "--from-host starts from no image"),
    ],
)
def test_wrong_usage_is_exit_2_with_one_clear_line(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sandbox", *options]) == 2
    stderr = capsys.readouterr().err
    assert said in stderr
    assert len(stderr.strip().splitlines()) == 1


# ---- build and doctor ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--from-host"]])
def test_build_without_an_engine_says_what_to_do(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    assert main(["sandbox", "build", *options]) == 1
    stderr = capsys.readouterr().err
    assert stderr.startswith(
        "rewards: no Docker or Podman engine answers: unix:///nowhere.sock: No"
    )
    assert "Start one" in stderr


def test_build_names_requirements_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", "build", "--from-host", "--requirements", "/nowhere.txt"]) == 1
    assert "cannot read the requirements file /nowhere.txt" in capsys.readouterr().err


def test_doctor_is_content_with_one_safe_back_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    assert main(["sandbox", "doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("bad   engine ") for line in lines)
    assert any(line.startswith("ok    back end bubblewrap ") for line in lines)


def test_doctor_fails_where_nothing_safe_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    monkeypatch.setattr(sandbox, "BACKENDS", ("auto", "process"))
    assert main(["sandbox", "doctor"]) == 1
    assert "no back end here keeps hostile programs in" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["build"], ["doctor"], ["run"]])
def test_help_is_there(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", *command, "--help"]) == 0
    assert "usage: rewards sandbox" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line", re.findall(r"^[^`\n]*rewards (sandbox .*)$", PAGE.read_text(), re.M)
)
def test_the_commands_in_the_docs_exist(line: str) -> None:
    command = line.partition("#")[0].partition("&&")[0]
    assert _parser().parse_args(shlex.split(command)).command == "sandbox"
