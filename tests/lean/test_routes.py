"""Who is asked about a submission, and whose word counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rewards
from rewards.verifiers.lean.assemble import Source
from rewards.verifiers.lean.backends import Compiled
from rewards.verifiers.lean.machine import lean_machine
from rewards.verifiers.lean.messages import Message
from tests.lean.fakes import RecordedComparer, fake_toolchain, tell

SPEC = {"type": "lean", "statement": "theorem target : 2 + 2 = 4", "timeout_s": 20}
ERROR = Message("error", "no such thing", line=1)
VERSION = "Lean (version 4.35.0, quick)"


class Quick:
    """A back end for messages that says what it is told to say."""

    name = "quick"

    def __init__(self, says: Compiled, version: str = VERSION) -> None:
        self.says, self.version = says, version
        self.asked: list[str] = []

    def compile(self, source: Source, timeout_s: float) -> Compiled:
        self.asked.append(source.text)
        return self.says

    def close(self) -> None:
        pass


@pytest.fixture
def folder() -> Iterator[Path]:
    with fake_toolchain([{"marker": "answered", "olean": {}}]) as lean:
        rewards.configure(sandbox="bubblewrap", lean=str(lean), cache=0)
        lean_machine().workshop().comparer = RecordedComparer()
        yield lean.parents[1]
    rewards.configure(sandbox="auto", lean="", cache=4096)


def score_with(quick: Quick, **fields: Any) -> rewards.Score:
    machine = lean_machine()
    machine.workshop().repl = quick
    machine._kimina = quick
    machine.setup = type(machine.setup)(repl="a repl", kimina_url="a server")
    return rewards.score("by answered", {**SPEC, **fields})


def test_what_is_refuted_quickly_is_not_compiled_again(folder: Path) -> None:
    tell(folder, [{"marker": "answered", "olean": {"compare": {"trouble": "it was compiled"}}}])
    score = score_with(Quick(Compiled((ERROR,))))
    assert (score.value, score.evidence["code"]) == (0.0, "error")


@pytest.mark.parametrize("backend", ["auto", "repl", "kimina"])
def test_what_is_not_refuted_is_compiled_here(folder: Path, backend: str) -> None:
    quick = Quick(Compiled())
    score = score_with(quick, backend=backend)
    assert (score.value, score.evidence["backend"]) == (1.0, "process")
    assert len(quick.asked) == 1
    tell(folder, [{"marker": "answered", "olean": {"compare": {"code": "type", "reason": "no"}}}])
    assert score_with(quick, backend=backend).value == 0.0


@pytest.mark.parametrize(
    "says",
    [
        Compiled(trouble="it died"),
        Compiled((ERROR,), limit="time"),
        Compiled(limit="memory"),
        Compiled(crash="it died of this", failed=True),
    ],
    ids=["trouble", "time", "memory", "crash"],
)
def test_a_quick_back_end_that_fails_decides_nothing(folder: Path, says: Compiled) -> None:
    assert score_with(Quick(says)).value == 1.0


def test_what_is_against_the_header_is_not_against_the_proof(folder: Path) -> None:
    quick = Quick(Compiled((Message("error", "no such namespace", line=1),)))
    assert score_with(quick, header="open Nat\n").value == 1.0
    assert len(quick.asked) == 1


def test_another_version_of_lean_refutes_nothing(folder: Path) -> None:
    quick = Quick(Compiled((ERROR,)), "Lean 4.9.0 at a server")
    assert score_with(quick, backend="kimina").value == 1.0


def test_where_submissions_run_code_a_shared_process_refutes_nothing(folder: Path) -> None:
    assert score_with(Quick(Compiled((ERROR,))), profile="off").value == 1.0


def test_a_server_is_asked_only_by_name(folder: Path) -> None:
    quick = Quick(Compiled((ERROR,)))
    lean_machine()._kimina = quick
    assert rewards.score("by answered", SPEC).value == 1.0
    assert quick.asked == []


AXIOMS = "'target' depends on axioms: [{}]"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("'target' does not depend on any axioms", "proved"),
        (AXIOMS.format("propext,\n Classical.choice"), "proved"),
        (AXIOMS.format("propext, cheat"), "axiom"),
        (AXIOMS.format("My.propext"), "axiom"),
        (AXIOMS.format("sorryAx"), "sorry"),
    ],
)
def test_level_messages_reads_the_answer_to_its_own_question(
    folder: Path, answer: str, code: str
) -> None:
    line = _line_of_question()
    quick = Quick(Compiled((Message("information", answer, line=line),)))
    score = score_with(quick, backend="repl", level="messages")
    assert score.evidence["code"] == code
    assert (score.evidence["level"], score.evidence["backend"]) == ("messages", "quick")


def test_level_messages_believes_no_other_line(folder: Path) -> None:
    forged = Message("information", "'target' does not depend on any axioms", line=2)
    score = score_with(Quick(Compiled((forged,))), backend="repl", level="messages")
    assert score.evidence["code"] == "statement_changed"


def test_level_messages_sees_a_sorry(folder: Path) -> None:
    messages = (
        Message("warning", "declaration uses `sorry`", kind="hasSorry", line=1),
        Message("information", "'target' does not depend on any axioms", line=_line_of_question()),
    )
    score = score_with(Quick(Compiled(messages)), backend="repl", level="messages")
    assert score.evidence["code"] == "sorry"


def _line_of_question() -> int:
    quick = Quick(Compiled())
    score_with(quick, backend="repl", level="messages")
    lines = quick.asked[-1].splitlines()
    return 1 + next(
        n for n, line in enumerate(lines) if line.startswith("#print axioms _root_.target")
    )
