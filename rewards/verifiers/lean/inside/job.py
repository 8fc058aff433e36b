"""The comparison as a program: files in its folder in, one line of JSON to descriptor 3 out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rewards.verifiers.lean.inside.compare import TargetError, compare

TASK = "task.json"


def main() -> None:
    """Compare as task.json says: {"files": {what: file}, "imports": {module: file}, ...}."""
    task = json.loads(Path(TASK).read_text("utf-8"))
    try:
        report = _compare(task)
    except TargetError as error:
        report = {"target_error": str(error)}
    data = json.dumps(report).encode()
    while data:
        data = data[os.write(3, data) :]


def _compare(task: dict[str, Any]) -> dict[str, Any]:
    imports = {module: Path(file).read_bytes() for module, file in task["imports"].items()}
    target, submission = (Path(task[what]).read_bytes() for what in ("target", "submission"))
    return compare(target, submission, imports, task["name"], task["allowed_axioms"])
