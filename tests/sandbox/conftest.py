from __future__ import annotations

from collections.abc import Iterator

import pytest

import sandbox
from sandbox import Sandbox


@pytest.fixture(scope="session")
def bubblewrap() -> Iterator[Sandbox]:
    with sandbox.open_sandbox("bubblewrap", slots=2) as box:
        yield box


@pytest.fixture(scope="session")
def process() -> Iterator[Sandbox]:
    with sandbox.open_sandbox("process", slots=2) as box:
        yield box


@pytest.fixture(params=["bubblewrap", "process"])
def box(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end in turn; the process one gets harmless programs only."""
    found: Sandbox = request.getfixturevalue(request.param)
    return found
