"""Levels replay and comparator, around programs that say what they are told to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rewards
from rewards import Score
from rewards.verifiers.lean.machine import lean_machine
from rewards.verifiers.lean.setup import LeanSetup, find_toolchain
from tests.lean.fakes import RecordedComparer, fake_toolchain, tell

SPEC = {"type": "lean", "statement": "theorem target : 2 + 2 = 4", "timeout_s": 20}
LAKE = """#!/bin/sh
[ "$1" = env ] || exit 9
shift
[ $# -gt 0 ] && exec "$@"
echo LAKE=$0
echo LEAN_SYSROOT={prefix}
echo LEAN_PATH={project}/.lake/build/lib/lean
"""
# Accepts or rejects as the solution says, and looks at what it was given first.
COMPARATOR = """#!/bin/sh
set -e
[ -e lakefile.toml ] && [ -e .lake/packages/mathlib ] && [ -e .lake/build/lib/lean/Base.olean ]
[ ! -e .lake/build/lib/lean/Solution.olean ]
touch .lake/build/lib/lean/Challenge.olean
grep -q sorry Challenge.lean
grep -q '"theorem_names": \\["target"\\]' config.json
case "$(cat Solution.lean)" in
  *silent*) exit 3 ;;
  *unequal*) echo '{"reports": [{"target": "target", "failureCategory": "comparison",
      "failureMessage": "not the same"}]}' > report.json; exit 1 ;;
  *unsound*) echo '{"reports": [{"target": "target"}], "kernelAccepted": false,
      "kernelFailureMessage": "no proof"}' > report.json; exit 1 ;;
  *) echo '{"reports": [{"target": "target"}], "kernelAccepted": true}' > report.json ;;
esac
"""

Told = Callable[..., Score]


@pytest.fixture
def folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    tools = getattr(request, "param", ("leanchecker",))
    with fake_toolchain([], *tools) as lean:
        if "safe_verify" in tools:
            monkeypatch.setenv("REWARDS_SAFE_VERIFY", str(lean.with_name("safe_verify")))
        rewards.configure(sandbox="bubblewrap", lean=str(lean), cache=0)
        lean_machine().workshop().comparer = RecordedComparer()
        yield lean.parents[1]
    rewards.configure(sandbox="auto", lean="", cache=4096)


def told(folder: Path, **answer: Any) -> Score:
    tell(folder, [{"marker": "answered", **answer}])
    return rewards.score("by answered", SPEC)


BOTH = ("leanchecker", "safe_verify")


@pytest.mark.parametrize("folder", [BOTH[:1], BOTH[1:], BOTH], indirect=True)
def test_a_kernel_that_refuses_is_believed(folder: Path) -> None:
    score = told(folder, olean={"replay": "(kernel) declaration type mismatch"})
    assert (score.value, score.evidence["code"]) == (0.0, "kernel_replay")
    assert "(kernel) declaration type mismatch" in score.reason


@pytest.mark.parametrize("folder", [BOTH[:1], BOTH[1:], BOTH], indirect=True)
def test_where_there_is_a_replay_it_is_the_default(folder: Path) -> None:
    score = told(folder, olean={})
    assert (score.value, score.evidence["level"]) == (1.0, "replay")


def test_a_replay_that_fails_itself_is_no_zero(folder: Path) -> None:
    score = told(folder, olean={"replay": "terminating: std::bad_alloc"})
    assert (score.value, score.evidence["code"]) == (None, "lean_failed")


def test_a_level_can_be_asked_for_by_name(folder: Path) -> None:
    tell(folder, [{"marker": "answered", "olean": {"replay": "refused"}}])
    assert rewards.score("by answered", {**SPEC, "level": "axioms"}).value == 1.0


@pytest.mark.parametrize("folder", [()], indirect=True)
def test_a_level_that_is_not_here_is_not_judged(folder: Path) -> None:
    tell(folder, [{"marker": "answered", "olean": {}}])
    for level in ("replay", "comparator"):
        score = rewards.score("by answered", {**SPEC, "level": level})
        assert (score.value, score.evidence["code"]) == (None, "lean_missing")


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a Lake project around a fake toolchain with a fake comparator."""
    with fake_toolchain([]) as lean:
        made = lean.parents[1] / "project"
        for name in ("lakefile.toml", "Challenge.lean", ".lake/packages/mathlib/Mathlib.lean"):
            made.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
            made.joinpath(name).write_text("old")
        built = made / ".lake" / "build" / "lib" / "lean"
        built.mkdir(parents=True)
        for name in ("Base.olean", "Solution.olean"):
            built.joinpath(name).write_bytes(b"old")
        for name, text in (("lake", LAKE), ("comparator", COMPARATOR)):
            path = lean.with_name(name)
            path.write_text(
                text.replace("{prefix}", str(lean.parents[1])).replace("{project}", str(made))
            )
            path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{lean.parent}:/usr/local/bin:/usr/bin:/bin")
        monkeypatch.setenv("REWARDS_COMPARATOR", str(lean.with_name("comparator")))
        rewards.configure(sandbox="bubblewrap", lean=str(made), cache=0)
        lean_machine().workshop().comparer = RecordedComparer()
        yield made
    rewards.configure(sandbox="auto", lean="", cache=4096)


def test_a_project_names_its_toolchain_and_its_libraries(project: Path) -> None:
    found = find_toolchain(LeanSetup(lean=str(project)))
    assert found.project == str(project)
    assert found.environment["LEAN_PATH"] == f"{project}/.lake/build/lib/lean"
    assert found.readable == (str(project.parent),)  # which holds all of it


@pytest.mark.parametrize(
    ("proof", "value", "reason"),
    [
        ("by answered", 1.0, "target is proved"),
        ("by answered unequal", 0.0, "comparator: not the same"),
        ("by answered unsound", 0.0, "comparator: no proof"),
        ("by answered silent", None, "made no report"),
    ],
)
def test_the_comparator_decides_in_a_copy_of_the_project(
    project: Path, proof: str, value: float | None, reason: str
) -> None:
    tell(project.parent, [{"marker": "answered", "olean": {}}])
    score = rewards.score(proof, SPEC)
    assert (score.value, score.evidence["level"]) == (value, "comparator"), score.reason
    assert reason in score.reason
    assert project.joinpath("Challenge.lean").read_text() == "old"
