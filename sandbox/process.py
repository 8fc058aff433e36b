"""The process back end: resource limits and nothing else. It is no security boundary.

For development on machines that allow no namespaces, and for code that is trusted anyway. A
program can read this user's files, use the network and kill or trace this user's processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from sandbox.slots import Channel, Slot, SlotSandbox
from sandbox.types import Limits

PACKAGE = Path(__file__).parent
PYTEST = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")


def open_process(slots: int) -> SlotSandbox:
    """Open a "sandbox" of `slots` plain agents.

    Raises:
        SandboxError: If no agent starts.
    """
    found = find_packages()
    packages = str(found[0].parent) if found else None

    def start(trusted: bool, limits: Limits) -> Slot:
        channel = ProcessChannel(agent_command(), str(PACKAGE.parent))
        return Slot(channel, "none", trusted=trusted, packages=packages)

    return SlotSandbox("process", slots, start)


class ProcessChannel(Channel):
    """An agent that is a child of this process, or in a container that is one."""

    def __init__(self, command: list[str], python_path: str) -> None:
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
        ours, theirs = socket.socketpair()
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (the process has it)
        self._process = subprocess.Popen(
            command,
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=self._words,
            env={**environment, "PYTHONPATH": python_path},
            start_new_session=True,  # a Ctrl-C in our terminal is not theirs
        )
        theirs.close()
        super().__init__(ours)

    def pid(self) -> int:
        """Return the number of the process: the agent, or the bwrap around it."""
        return self._process.pid

    def end(self) -> str:
        """Kill the process and its group."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        with contextlib.suppress(ValueError):  # another thread closed it
            self._words.seek(0)
            return self._words.read(4000).decode(errors="replace").strip()
        return ""

    def close(self) -> None:
        """Let go of the socket and the file."""
        super().close()
        self._words.close()


def agent_command() -> list[str]:
    """Return the agent's own command line: this Python, without site packages."""
    executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    return [str(executable), "-s", "-S", "-P", "-B", "-X", "utf8", "-m", "sandbox.agent"]


def find_packages() -> list[Path]:
    """Return where pytest and what it needs are, for specs whose tests are pytest's."""
    specs = [find_spec(name) for name in PYTEST]
    if specs[0] is None:
        return []
    files = [Path(spec.origin) for spec in specs if spec and spec.origin]
    return [file.parent if file.name == "__init__.py" else file for file in files]
