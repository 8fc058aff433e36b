"""The strictest judge: leanprover/comparator, which builds both files and trusts neither.

It wants a Lake project with the libraries `Challenge` and `Solution`: the operator's, in which this
lays the two files, on a copy made of links. Needs `comparator` (REWARDS_COMPARATOR), and
`lean4export` and `landrun` on the PATH, or named in COMPARATOR_LEAN4EXPORT and COMPARATOR_LANDRUN.
Written after its README (https://github.com/leanprover/comparator), and not run with it: it needs
Lean's own library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from rewards.verifiers.lean.assemble import Source
from rewards.verifiers.lean.commands import run_command
from rewards.verifiers.lean.replay import TIMEOUT_S, Ruling
from rewards.verifiers.lean.setup import Toolchain
from sandbox import Sandbox

TOOLS = ("COMPARATOR_LANDRUN", "COMPARATOR_LEAN4EXPORT", "COMPARATOR_NANODA")
OWN_FILES = ("Challenge.lean", "Solution.lean", "config.json")
REPORT = "report.json"

# Packages are linked as a whole; the project's own build folder is copied as links, for Lake adds
# to it. Everything ends with the job.
LAY_OUT = """
set -e
work=$PWD
mkdir -p project/.lake
cd project
for path in "$1"/* "$1"/.lake/*; do
  [ -e "$path" ] || continue
  case "${path#"$1"/}" in
    .lake/build) cp -rs "$path" .lake/ ;;
    .lake/*) ln -s "$path" .lake/ ;;
    Challenge.lean|Solution.lean) ;;
    *) ln -s "$path" . ;;
  esac
done
rm -f .lake/build/lib/lean/Challenge* .lake/build/lib/lean/Solution*
mv "$work"/Challenge.lean "$work"/Solution.lean "$work"/config.json .
status=0
lake env "$2" config.json || status=$?
[ ! -f report.json ] || mv report.json "$work"/
exit $status
"""


class Comparator:
    """Asks comparator about a target and a submission, as text."""

    def __init__(
        self, sandbox: Sandbox, toolchain: Toolchain, comparator: str | None, memory_mb: int
    ) -> None:
        self.sandbox, self.toolchain = sandbox, toolchain
        self.comparator, self.memory_mb = comparator, memory_mb

    @property
    def present(self) -> bool:
        """Whether there is one, and a project to build in."""
        return bool(self.comparator and self.toolchain.project)

    def compare(
        self, target: Source, submission: Source, name: str, axioms: Sequence[str]
    ) -> Ruling:
        """Build, export, compare and replay both files."""
        config = {
            "challenge_module": "Challenge",
            "solution_module": "Solution",
            "theorem_names": [name],
            "permitted_axioms": list(axioms),
            "enable_nanoda": "COMPARATOR_NANODA" in os.environ,
            "json_output_path": REPORT,
        }
        texts = (target.text, submission.text, json.dumps(config))
        tools = {tool: os.environ[tool] for tool in TOOLS if tool in os.environ}
        done = run_command(
            self.sandbox,
            ["sh", "-c", LAY_OUT, "sh", self.toolchain.project or "", self.comparator or ""],
            {**self.toolchain.environment, **tools},
            {name: text.encode() for name, text in zip(OWN_FILES, texts, strict=True)},
            outputs=[REPORT],
            timeout_s=TIMEOUT_S,
            memory_mb=self.memory_mb,
        )
        if done.trouble or done.outcome.limit:
            return Ruling(False, trouble=done.trouble or f"over {done.outcome.limit} limit")
        return _read(done.files.get(REPORT, b""), done.status, done.text.strip()[-500:])


def _read(report: bytes, status: int | None, said: str) -> Ruling:
    try:
        found = json.loads(report)
        failed = [one for one in found["reports"] if one.get("failureCategory")]
    except (ValueError, KeyError, TypeError, AttributeError):
        # No report: a build failed. Both files were compiled before, so that is not their doing.
        return Ruling(False, trouble=f"comparator made no report (status {status}): {said}")
    if failed:
        return Ruling(False, f"comparator: {failed[0].get('failureMessage')}")
    for kernel in ("kernel", "nanoda"):
        if found.get(f"{kernel}Accepted") is False:
            return Ruling(False, f"comparator: {found.get(f'{kernel}FailureMessage')}")
    if status != 0 or found.get("kernelAccepted") is not True:
        return Ruling(False, trouble=f"comparator ended with status {status}: {said}")
    return Ruling(True)
