"""The comparison as a program: files in its folder in, one line of JSON to descriptor 3 out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from rewards.verifiers.lean.inside.compare import TargetError, compare

TASK = "task.json"


def main() -> None:
    """Compare target.olean and submission.olean, as task.json says.

    It names the module that holds the imports, the theorem, and the axioms that are allowed.
    """
    task = json.loads(Path(TASK).read_text("utf-8"))
    target, submission = (Path(f"{what}.olean").read_bytes() for what in ("target", "submission"))
    imports = sys.modules[task["imports"]].IMPORTS
    try:
        report = compare(target, submission, imports, task["name"], task["allowed_axioms"])
    except TargetError as error:
        report = {"target_error": str(error)}
    data = json.dumps(report).encode()
    while data:
        data = data[os.write(3, data) :]
