"""Toolchains that answer as they are told, for what real Lean cannot be made to do everywhere."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rewards.verifiers.lean.comparer import CannotCompare, Comparison, NoTheorem

HERE = Path(__file__).parent
PLACE = "/var/tmp"
"""Not /tmp, of which each job has its own."""


@contextmanager
def fake_toolchain(answers: Sequence[Mapping[str, Any]], *tools: str) -> Iterator[Path]:
    """Make a toolchain whose `lean`, and each of these tools, is `fake_lean.py`."""
    folder = Path(tempfile.mkdtemp(prefix="fake-lean-", dir=PLACE))
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    script = HERE.joinpath("fake_lean.py").read_text("utf-8")
    try:
        for name in ("lean", *tools):
            path = folder / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!{python} -IS\n{script.partition(chr(10))[2]}", "utf-8")
            path.chmod(0o755)
        tell(folder, answers)
        folder.chmod(0o755)
        yield folder / "bin" / "lean"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tell(folder: Path, answers: Sequence[Mapping[str, Any]]) -> None:
    """Say what it answers from now on; the first whose `marker` or `text` fits."""
    folder.joinpath("answers.json").write_text(json.dumps(list(answers)), "utf-8")


class RecordedComparer:
    """Compares what `fake_lean.py` wrote: {"compare": the fields of a `Comparison`}.

    Where the same submission was made for several statements: {"against": {a target's `text`: the
    fields}}.
    """

    def compare(
        self, target: bytes, submission: bytes, name: str, allowed_axioms: Sequence[str]
    ) -> Comparison:
        """Return the comparison that the submission holds; a target's own is fine."""
        wanted, got = json.loads(target), json.loads(submission)
        if wanted.get("no_theorem"):
            raise NoTheorem("none of the name")
        fields = got.get("compare", {"code": "ok", "reason": "as asked"})
        if "against" in got:
            fields = got["against"][wanted["text"]]
        if "trouble" in fields:
            raise CannotCompare(fields["trouble"])
        return Comparison.from_report(fields)
