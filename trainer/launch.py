"""Starts the ranks of a run on this machine, and keeps them together.

`grpo-run --gpus 8` runs itself eight times, with the environment that torchrun would give. The
ranks are in sessions of their own, so that Ctrl-C in the terminal reaches the launcher alone; it
passes each press on to every rank once, and they stop together. A rank that fails takes the others
with it: they would wait for it in their next collective. Whatever kills the launcher kills them.
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import IO

from rewards.errors import ConfigurationError

GRACE_S = 30.0
"""How long the other ranks may go on after one has failed."""
INTERRUPTED = 130
"""The exit code of a rank that Ctrl-C has stopped in good order; the others may take their time."""
_TOGETHER = (2, INTERRUPTED)  # what all ranks say alike, a mistake of the user's and Ctrl-C

_LAUNCHER = "GRPO_LAUNCHER_PID"
_SHOWN_BYTES = 4000
_PR_SET_PDEATHSIG = 1


def launch(argv: Sequence[str], ranks: int, *, device: str = "auto") -> int:
    """Run `grpo-run` with these arguments on several ranks, and return the exit code.

    That is 0, or that of the first rank that failed (128 + n if signal n ended it). Rank 0 writes
    where this process does; of another rank the end of its output is shown if it fails first.

    Args:
        argv: The arguments, without the name of the command.
        ranks: How many.
        device: The device setting.

    Raises:
        ConfigurationError: If there are fewer GPUs than ranks.
    """
    if device != "cpu":
        _check_gpus(ranks)
    return launch_command([sys.executable, "-m", "trainer.cli", *argv], ranks)


def _check_gpus(ranks: int) -> None:
    import torch

    if torch.cuda.is_available() and ranks > (there := torch.cuda.device_count()):
        raise ConfigurationError(
            f"gpus is {ranks}, and this machine has {there}; lower it, or give --device cpu"
        )


def is_launched() -> bool:
    """Return whether this process is a rank that `launch` or torchrun has started."""
    return "RANK" in os.environ


def end_with_launcher() -> None:
    """Let the death of this rank's launcher, if it has one, be its own."""
    launcher = os.environ.pop(_LAUNCHER, None)  # not for processes that this one starts
    if launcher is None:
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(launcher):
        os.kill(os.getpid(), signal.SIGKILL)  # it was gone before we asked


def launch_command(command: Sequence[str], ranks: int, *, grace_s: float = GRACE_S) -> int:
    """Run a command on several ranks; see `launch`."""
    port = _free_port()
    processes: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack:
        logs = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(ranks)]
        stack.callback(_end, processes)
        stack.enter_context(_forwarding_signals(processes))
        for rank, log in enumerate(logs):
            output = log if rank else None
            processes.append(
                subprocess.Popen(
                    command,
                    env=_environment(rank, ranks, port),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            )
        first = _wait(processes, grace_s)
        _end(processes)
        code = processes[first].returncode
        if first and (code not in _TOGETHER or code != processes[0].returncode):
            _show(first, code, logs[first])
    return code if code >= 0 else 128 - code


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _environment(rank: int, ranks: int, port: int) -> Mapping[str, str]:
    threads = max(1, (os.cpu_count() or 1) // ranks)
    return {
        "OMP_NUM_THREADS": str(threads),
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        _LAUNCHER: str(os.getpid()),
    }


@contextmanager
def _forwarding_signals(processes: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    def forward(signum: int, frame: FrameType | None) -> None:
        for process in processes:
            process.send_signal(signum)

    previous = {
        number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _wait(processes: Sequence[subprocess.Popen[bytes]], grace_s: float) -> int:
    """Wait until all ranks have ended, or one has failed and the grace is over.

    Returns:
        The rank that ended first with a code other than 0; 0 if none did.
    """
    first, deadline = 0, math.inf
    while True:
        codes = [process.poll() for process in processes]
        if not codes[first]:
            first = next((rank for rank, code in enumerate(codes) if code), 0)
        if None not in codes or time.monotonic() > deadline:
            return first
        if deadline == math.inf and any(code not in (None, 0, INTERRUPTED) for code in codes):
            deadline = time.monotonic() + grace_s
        time.sleep(0.05)


def _show(rank: int, code: int, log: IO[bytes]) -> None:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _SHOWN_BYTES))
    text = log.read().decode(errors="replace").rstrip()
    sys.stderr.write(f"{text}\nrank {rank} ended with exit code {code}, and with it the run\n")
