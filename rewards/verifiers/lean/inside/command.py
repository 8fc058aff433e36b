"""Run one command inside the sandbox and report its exit status and the files that it made.

The command's standard streams are the job's. What comes back on descriptor 3, which the command
does not have, is a line of JSON and then the files' bytes, in the order of the line.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

RESULT = 3
STACK = 8 << 20
"""What Lean expects of its main thread; where a job comes from the soft limit may be less."""


def read_task() -> dict[str, Any]:
    """Take task.json, and the stack that it is run with."""
    task: dict[str, Any] = json.loads(Path("task.json").read_bytes())
    os.unlink("task.json")
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    soft = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    return task


def main() -> None:
    """Do what the task says: argv, env, outputs (file names), most (bytes of an output)."""
    task = read_task()
    try:
        status = subprocess.call(task["argv"], env=task["env"], stdin=subprocess.DEVNULL)
    except OSError as error:
        _report({"absent": f"{task['argv'][0]}: {error.strerror}"}, [])
        sys.exit(1)
    made = [path for path in map(Path, task["outputs"]) if path.is_file() and not path.is_symlink()]
    contents = [(path.name, path.read_bytes()) for path in made if _size(path) <= task["most"]]
    sizes = [(name, len(content)) for name, content in contents]
    _report({"status": status, "sizes": sizes}, [content for _, content in contents])


def _size(path: Path) -> int:
    return path.stat().st_size


def _report(head: dict[str, object], contents: list[bytes]) -> None:
    data = memoryview(b"".join([json.dumps(head).encode(), b"\n", *contents]))
    while data:
        data = data[os.write(RESULT, data) :]
