from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import sandbox
from sandbox import Sandbox, SandboxError


@pytest.fixture(scope="session")
def docker() -> Iterator[Sandbox]:
    try:
        opened = sandbox.open_sandbox("docker", slots=2)
    except SandboxError as error:
        if os.environ.get("CI"):  # which promises an engine and the image
            raise
        pytest.skip(str(error))
    with opened as box:
        yield box


@pytest.fixture(scope="session")
def bubblewrap() -> Iterator[Sandbox]:
    with sandbox.open_sandbox("bubblewrap", slots=2) as box:
        yield box


@pytest.fixture(scope="session")
def process() -> Iterator[Sandbox]:
    with sandbox.open_sandbox("process", slots=2) as box:
        yield box


@pytest.fixture(params=[pytest.param("docker", marks=pytest.mark.docker), "bubblewrap", "process"])
def box(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end in turn; the process one gets harmless programs only."""
    found: Sandbox = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=[pytest.param("docker", marks=pytest.mark.docker), "bubblewrap"])
def jail(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end that is a boundary."""
    found: Sandbox = request.getfixturevalue(request.param)
    return found
