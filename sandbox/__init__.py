r"""Run hostile programs and report facts; decides nothing about right or wrong.

>>> import sandbox
>>> with sandbox.open_sandbox() as box:
...     box.run(sandbox.Job(program=b"print(6 * 7)")).stdout
b'42\n'
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from sandbox.types import Job, LimitHit, Limits, Outcome, Sandbox, SandboxError, Session

__all__ = [
    "Job",
    "LimitHit",
    "Limits",
    "Outcome",
    "Sandbox",
    "SandboxError",
    "Session",
    "open_sandbox",
]

__distribution__ = "assay-rl"

BACKENDS = ("auto", "docker", "bubblewrap", "process")
logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())


def open_sandbox(
    backend: str = "auto", *, slots: int | None = None, read_only: Sequence[str] = ()
) -> Sandbox:
    """Open a sandbox.

    Args:
        backend: "docker"; "bubblewrap"; "auto", which takes the first of these that works here, and
            never the plain process; or "process", which is no security boundary.
        slots: How many jobs run at once; the usable cores by default.
        read_only: Absolute paths of this machine that jobs may read besides the system's, under
            the same names: a toolchain, say.

    Raises:
        SandboxError: If it cannot be started; the message says what to do.
        ValueError: If there is no such back end.
    """
    slots = slots or len(os.sched_getaffinity(0))
    if backend not in BACKENDS:
        raise ValueError(f"no sandbox back end {backend!r}; known: {', '.join(BACKENDS)}")
    for path in read_only:
        if Path(path).is_relative_to("/tmp") or Path(path).is_relative_to("/dev/shm"):
            raise SandboxError(f"jobs have a /tmp of their own and cannot see {path}: move it")
    opened = _open(backend, slots, read_only)
    logger.info("programs run in the %s sandbox, %d at once", opened.name, slots)
    return opened


def _open(backend: str, slots: int, read_only: Sequence[str]) -> Sandbox:
    if backend == "process":
        from sandbox.process import open_process

        logger.warning("the process back end is no security boundary: programs run as this user")
        return open_process(slots)
    if backend in ("docker", "auto"):
        from sandbox.docker import open_docker

        try:
            return open_docker(slots, read_only=read_only)
        except SandboxError as error:
            if backend == "docker":
                raise
            logger.info("no Docker, so bubblewrap: %s", error)
    from sandbox.bubblewrap import open_bubblewrap

    return open_bubblewrap(slots, read_only)
