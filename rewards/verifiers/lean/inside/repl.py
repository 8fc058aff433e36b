"""Become a REPL whose input and output are the talk of the job's session."""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

RESULT, TALK = 3, 4
STACK = 8 << 20
"""What Lean expects of its main thread; where a job comes from the soft limit may be less."""


def main() -> None:
    """Do what task.json says: argv, env."""
    task = json.loads(Path("task.json").read_bytes())
    os.unlink("task.json")
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    soft = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    for stream in (0, 1):
        os.dup2(TALK, stream)
    os.close(TALK)
    os.close(RESULT)
    try:
        os.execve(task["argv"][0], task["argv"], task["env"])
    except OSError as error:
        sys.exit(f"cannot be started: {task['argv'][0]}: {error.strerror}")
