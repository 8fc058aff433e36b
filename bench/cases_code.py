"""Score labelled code cases and say which are judged otherwise than labelled.

    python -m bench.cases_code CASES.jsonl [--sandbox bubblewrap|docker]

A case is a solution with tests and a label: `honest: false` is a cheat that must not score above
`expect_max_score`; `honest: true` must score `expect_max_score`, and not below `expect_min_score`
where it has one. `repeat: 2` scores it that often in one pool, and the best counts. Cases of
`tag: policy` are ours to decide: they are reported apart. The solutions are hostile.
"""

from __future__ import annotations

import json
import re
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rewards
from bench.machine import heading
from rewards import Score

CODES = {"syntax": "syntax", "wrong_answer": "wrong"}
"""A case's `expect_status` -> our own word for it."""


@dataclass(frozen=True)
class Case:
    """A labelled case as our verifier takes it."""

    id: str
    completion: str
    spec: dict[str, Any]
    row: dict[str, Any]

    @property
    def policy(self) -> bool:
        """Whether sane judges differ on it."""
        return self.row.get("tag") == "policy"

    def complaint(self, score: Score) -> str:
        """Say what is wrong with a score; empty if nothing is."""
        most, least = self.row["expect_max_score"], self.row.get("expect_min_score")
        if score.value is None:
            return f"unjudged: {score.reason}"
        if score.value > most + 1e-9:
            return f"scored {score.value:g}, more than {most:g}: {score.reason}"
        if self.row["honest"] and score.value < (most if least is None else least) - 1e-9:
            return f"scored {score.value:g}, less than {most:g}: {score.reason}"
        wanted = CODES.get(self.row.get("expect_status", ""))
        if wanted and score.evidence["code"] != wanted:
            return f"called {score.evidence['code']}, not {wanted}"
        return ""


def read_cases(path: Path, modes: Iterable[str] = ()) -> list[Case]:
    """Read labelled cases, of some modes or of all."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    wanted = set(modes)
    return [_case(row) for row in rows if not wanted or row["mode"] in wanted]


def _case(row: dict[str, Any]) -> Case:
    solution = row["solution"]
    completion = solution if row.get("format") == "markdown" else fence(solution)
    return Case(row["id"], completion, _spec(row), row)


def _spec(row: dict[str, Any]) -> dict[str, Any]:
    tests = row["tests"]
    given = {
        "type": "code",
        "style": row["mode"],
        "entry_point": row.get("entry_point"),
        "num_tests": row.get("n_tests"),
        "float_tolerance": row.get("float_tol"),
        "checker": row.get("checker"),
        "limits": {"cpu_s": row["time_limit_s"]} if "time_limit_s" in row else None,
        "test_code" if isinstance(tests, str) else "tests": _grown(tests),
    }
    return {key: value for key, value in given.items() if value is not None}


def _grown(data: Any) -> Any:
    """Replace each {"gen": expression} by what it stands for; a case file is trusted."""
    if isinstance(data, list):
        return [_grown(item) for item in data]
    if isinstance(data, dict) and data.keys() == {"gen"}:
        return eval(data["gen"], {})
    return {k: _grown(v) for k, v in data.items()} if isinstance(data, dict) else data


def fence(code: str) -> str:
    """Put code into a Markdown block that nothing in it can close."""
    longest = max([2, *(len(run) for run in re.findall(r"`+", code))])
    return f"{'`' * (longest + 1)}python\n{code}\n{'`' * (longest + 1)}"


def score_case(case: Case) -> Score:
    """Score a case as often as it says, one after the other, and return the best."""
    scores = [rewards.score(case.completion, case.spec) for _ in range(case.row.get("repeat", 1))]
    return max(scores, key=lambda score: -1.0 if score.value is None else score.value)


def report(cases: Sequence[Case]) -> int:
    """Print every case judged otherwise than labelled; return how many of those are no policy."""
    started, wrong = time.perf_counter(), 0
    for case in cases:
        score = score_case(case)
        complaint = case.complaint(score)
        if complaint or case.policy:
            label = "policy" if case.policy else "honest" if case.row["honest"] else "CHEAT"
            print(f"  {label} {case.id}: {complaint or f'as expected, {score.value:g}'}")
        wrong += bool(complaint) and not case.policy
    judged = [case for case in cases if not case.policy]
    cheats = sum(not case.row["honest"] for case in judged)
    print(
        f"{cheats} cheats, {len(judged) - cheats} honest, {len(cases) - len(judged)} of policy:"
        f" {wrong} judged otherwise than labelled, in {time.perf_counter() - started:.0f} s"
    )
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Report on a file of cases."""
    parser = ArgumentParser(description="Score labelled code cases.")
    parser.add_argument("cases", type=Path)
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--modes", nargs="*", default=[])
    given = parser.parse_args(arguments)
    rewards.configure(sandbox=given.sandbox, cache=0)
    print(heading("pydantic"))
    return int(report(read_cases(given.cases, given.modes)) > 0)


if __name__ == "__main__":
    sys.exit(main())
