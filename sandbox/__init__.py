r"""Run hostile programs and report facts; decides nothing about right or wrong.

>>> import sandbox
>>> with sandbox.open_sandbox() as box:
...     box.run(sandbox.Job(program=b"print(6 * 7)")).stdout
b'42\n'
"""

from __future__ import annotations

import logging
import os

from sandbox.types import Job, LimitHit, Limits, Outcome, Sandbox, SandboxError

__all__ = ["Job", "LimitHit", "Limits", "Outcome", "Sandbox", "SandboxError", "open_sandbox"]

__distribution__ = "assay-rl"

BACKENDS = ("auto", "bubblewrap", "process")
logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())


def open_sandbox(backend: str = "auto", *, slots: int | None = None) -> Sandbox:
    """Open a sandbox.

    Args:
        backend: "auto" takes the safest that works here, and never the plain process;
            "bubblewrap"; or "process", which is no security boundary.
        slots: How many jobs run at once; the usable cores by default.

    Raises:
        SandboxError: If it cannot be started; the message says what to do.
        ValueError: If there is no such back end.
    """
    slots = slots or len(os.sched_getaffinity(0))
    if backend == "process":
        from sandbox.process import open_process

        logger.warning("the process back end is no security boundary: programs run as this user")
        return open_process(slots)
    if backend not in BACKENDS:
        raise ValueError(f"no sandbox back end {backend!r}; known: {', '.join(BACKENDS)}")
    from sandbox.bubblewrap import open_bubblewrap

    opened = open_bubblewrap(slots)
    logger.info("programs run in %s, %d at once", opened.name, slots)
    return opened
