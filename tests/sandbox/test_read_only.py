from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import sandbox
from sandbox import Job, SandboxError


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="toolchain-", dir="/var/tmp"))
    made.joinpath("lib").mkdir()
    made.joinpath("lib", "base").write_text("mathematics")
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize(
    "backend", [pytest.param("docker", marks=pytest.mark.docker), "bubblewrap"]
)
def test_jobs_read_what_is_shown_to_them_and_cannot_change_it(backend: str, folder: Path) -> None:
    program = (
        f"print(open('{folder}/lib/base').read())\n"
        f"try:\n    open('{folder}/lib/base', 'a')\n"
        "except OSError as error:\n    print(error.errno)\n"
    )
    try:
        box = sandbox.open_sandbox(backend, slots=1, read_only=[str(folder)])
    except SandboxError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    with box:
        outcome = box.run(Job(program.encode()))
    text, errno = outcome.stdout.decode().split()
    assert (text, int(errno) in (13, 30)) == ("mathematics", True)


def test_what_jobs_have_of_their_own_cannot_be_shown() -> None:
    with pytest.raises(SandboxError, match="/tmp/here: move it"):
        sandbox.open_sandbox("bubblewrap", slots=1, read_only=["/tmp/here"])
