"""Judge labelled Lean cases and say which are judged otherwise than labelled.

    python -m bench.cases_lean CASES.jsonl [--level axioms] [--profile strict] [--requires core]

A case is a submission for a statement, with a label: proved, rejected, or partial (paid if the spec
pays for partial proofs). Cases that `require` more than the local Lean has (see `--requires`) are
left out. REWARDS_LEAN names the Lean to judge with; the submissions are hostile.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rewards
from bench.machine import heading
from rewards import Score, Verdict

PARTIAL = 0.5
"""What a partial proof is paid in the cases that are labelled so."""
LABELS = {Verdict.CORRECT: "proved", Verdict.PARTIAL: "partial", Verdict.UNJUDGED: "unjudged"}


@dataclass(frozen=True)
class Case:
    """A labelled case."""

    row: dict[str, Any]

    @property
    def id(self) -> str:
        """Its name."""
        return str(self.row["id"])

    @property
    def requires(self) -> str:
        """What the local Lean must have: core, io, init-full, meta or core-io-full."""
        return str(self.row["requires"])

    def spec(self, **fields: Any) -> dict[str, Any]:
        """Return its spec, with fields of ours."""
        fields_given = ("statement", "preamble", "header", "name")
        given = {name: self.row.get(name, "") for name in fields_given}
        timeout = {"timeout_s": self.row["timeout"]} if "timeout" in self.row else {}
        partial = {"partial": PARTIAL} if self.row["expect"] == "partial" else {}
        return {"type": "lean", **given, **timeout, **partial, **fields}

    def complaint(self, score: Score) -> str:
        """Say what is wrong with a score; empty if nothing is."""
        got = LABELS.get(score.verdict, "rejected")
        wanted = self.row["expect"]
        return "" if got == wanted else f"{got}, not {wanted}: {score.reason}"


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read JSONL; U+2028 and the like, which messages hold, end no line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def read_cases(path: Path) -> list[Case]:
    """Read labelled cases."""
    return [Case(row) for row in read_rows(path)]


def report(cases: Sequence[Case], **fields: Any) -> int:
    """Print every case judged otherwise than labelled; return how many those are."""
    started, wrong = time.perf_counter(), 0
    for case in cases:
        complaint = case.complaint(rewards.score(case.row["submission"], case.spec(**fields)))
        if complaint:
            print(f"  {case.id} ({case.row['technique']}): {complaint}")
        wrong += bool(complaint)
    took_s = time.perf_counter() - started
    print(f"{len(cases)} cases: {wrong} judged otherwise than labelled, in {took_s:.1f} s")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Report on a file of cases."""
    parser = ArgumentParser(description="Judge labelled Lean cases.")
    parser.add_argument("cases", type=Path, help="JSONL")
    parser.add_argument("--level", help="messages, axioms, replay or comparator")
    parser.add_argument("--profile", default="strict", help="strict, expr or off")
    parser.add_argument(
        "--requires",
        default="core",
        help="what the local Lean has, with commas between: core,io,init-full,meta,core-io-full",
    )
    options = parser.parse_args(arguments)
    present = set(options.requires.split(","))
    cases = [case for case in read_cases(options.cases) if case.requires in present]
    print(heading())
    return min(1, report(cases, level=options.level, profile=options.profile))


if __name__ == "__main__":
    sys.exit(main())
