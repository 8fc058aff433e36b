"""The labelled cases: real Lean with the small `Init` says what is recorded of each.

LEAN_CASES names the file of cases, the records lie beside it. All of them are tried but those that
need more than `Init` has, or run programs of theirs: see `NOT_RUN`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.cases_lean import read_rows
from tests.lean.conftest import Message, Run, compile_file

CASES = Path(os.environ.get("LEAN_CASES") or "/nowhere/lean_cases.jsonl")
RECORDED = CASES.with_name("lean_recorded.jsonl")
NOT_RUN = {
    "io": "runs actions of the submission, which is for a sandbox",
    "init-full": "needs Lean's own Init",
    "meta": "imports Lean itself",
    "core-io-full": "prints while it is compiled",
}
"""What a case may require -> why it is not run."""
NO_COMMAND = {"c40-comment"}
"""What is fenced is only a comment, and stands where the proof should."""
CRASHED = {"c52-native-decide"}
"""The Lean of the record evaluated natively what it had miscompiled."""
REMARKS = "linter."
"""Kinds of messages that hang on options, and are not recorded."""

RECORDED_CHARACTERS = 110
"""How much of a message's text is recorded."""


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, none if there is no such file."""
    if path.is_file():
        yield from read_rows(path)


ROWS = {row["id"]: row for row in read(CASES) if row["requires"] not in NOT_RUN}
RECORDS = {row["id"]: row for row in read(RECORDED)}
SHOW = "\nset_option pp.all true in\n#print sig target\n#print axioms target\n"
"""Two messages more: the kind and type of the theorem in full, and its axioms."""


def assemble(case: dict[str, Any]) -> str:
    """Return the file that a submission asks for."""
    text = re.sub(r"<think>.*?</think>", "", case["submission"], flags=re.DOTALL)
    fenced = re.search(r"```lean4?\n(.*?)```", text, flags=re.DOTALL)
    body = fenced[1] if fenced else text
    if not fenced and body.startswith("constructor\n"):  # bare tactics
        body = "by\n" + re.sub(r"^", "  ", body, flags=re.MULTILINE)
    if not fenced or case["id"] in NO_COMMAND:
        body = f"{case['statement']} {body}"
    return f"{case['preamble']}\n{body}\n" if case["preamble"] else f"{body}\n"


def facts(messages: Sequence[Message]) -> list[list[str]]:
    """Return messages as they are recorded."""
    kept = [m for m in messages if not m.kind.startswith(REMARKS)]
    return [[m.severity, m.kind, m.text[:RECORDED_CHARACTERS]] for m in kept]


def plain(signature: Message) -> str:
    """Return what `#print sig` shows, without attributes."""
    return re.sub(r"^@\[.*?\] ", "", signature.text)


@pytest.fixture(scope="module")
def target(lean: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The signature of what a task, its preamble and statement, asks for; each compiled once."""
    folder = tmp_path_factory.mktemp("targets")

    @cache
    def signature(task: str) -> str:
        return plain(compile_file(lean, folder, f"{task} sorry\n{SHOW}").messages[-2])

    return signature


@pytest.mark.parametrize("id", [i for i in ROWS if RECORDS[i]["olean"] in ("no olean", "missing")])
def test_what_is_no_theorem_fails_as_recorded(check: Callable[..., Run], id: str) -> None:
    run = check(assemble(ROWS[id]))
    assert run.exit_code == RECORDS[id]["rc"]
    if id in CRASHED:
        assert [m.severity for m in run.messages] == ["error"]
    else:
        assert facts(run.messages) == RECORDS[id]["msgs"]


@pytest.mark.parametrize(
    "id", [i for i in ROWS if RECORDS[i]["olean"] not in ("no olean", "missing")]
)
def test_messages_kind_type_and_axioms_are_as_recorded(
    check: Callable[..., Run], target: Callable[[str], str], id: str
) -> None:
    case, record = ROWS[id], RECORDS[id]
    run = check(assemble(case) + SHOW)
    *messages, signature, axioms = run.messages
    listed = re.search(r"depends on axioms: \[(.*)\]", axioms.text)
    assert (run.exit_code, facts(messages)) == (record["rc"], record["msgs"])
    assert plain(signature).startswith("def") == (record["olean"] == "kind:def")
    same = plain(signature) == target(f"{case['preamble']}\n{case['statement']}")
    assert same == (record["olean"] not in ("type", "kind:def"))
    assert (listed[1] if listed else "none") == record["ax"]
