from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rewards

HERE = Path(__file__).parent


@pytest.fixture
def hostile() -> None:
    """Make the verifiers of hostile.py known by name."""
    for name in ("dies", "raises", "hangs", "spins", "lies", "picky"):
        rewards.load(f"{HERE / 'hostile.py'}:{name}")


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a fresh interpreter far from the checkout."""

    def run(
        *args: str, stdin: str | None = None, path: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": str(path)} if path else dict(os.environ)
        return subprocess.run(
            [sys.executable, *args],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env=env,
            check=False,
        )

    return run
