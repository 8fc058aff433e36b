"""The process back end: resource limits and nothing else. It is no security boundary.

For development on machines that allow no namespaces, and for code that is trusted anyway. A
program can read this user's files, use the network and kill or trace this user's processes.
"""

from __future__ import annotations

from sandbox.bubblewrap import agent_command, find_packages
from sandbox.slots import PACKAGE, Slot, SlotSandbox


def open_process(slots: int) -> SlotSandbox:
    """Open a "sandbox" of `slots` plain agents.

    Raises:
        SandboxError: If no agent starts.
    """
    command, path = agent_command(), str(PACKAGE.parent)
    packages = find_packages()
    inside = str(packages[0].parent) if packages else None
    return SlotSandbox("process", slots, lambda: Slot(command, path, isolate=False), inside)
