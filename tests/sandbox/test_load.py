"""Many jobs: how fast, and what is left. A tenth of what bench/sandbox.py does at full size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rewards
from bench import sandbox as bench
from sandbox import Job, Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def judging(jail: Sandbox) -> Iterator[Sandbox]:
    """The sandbox, used by `score_batch` without a cache."""
    rewards.configure(sandbox=jail, cache=0)
    yield jail
    rewards.configure(sandbox="auto", cache=4096)


def test_a_batch_with_hostile_completions_takes_little_longer(judging: Sandbox) -> None:
    bench.time_batch(judging, 20)  # starts what is started once
    before = bench.leftovers(judging)
    times = bench.time_batch(judging, 100)
    assert times.mixed_s < times.allowed_s + 2
    after = bench.leftovers(judging)
    # The SDK keeps some idle connections; test_docker.py sees that they do not pile up.
    del before["descriptors"], after["descriptors"]
    assert after == before


@pytest.mark.parametrize(
    "backend", [pytest.param("docker", marks=pytest.mark.docker), "bubblewrap"]
)
def test_agents_hold_no_more_after_many_jobs(backend: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(backend)  # skips where there is none
    early, late = bench.soaked(backend, 2000)
    for name in ("descriptors", "processes", "files", "tmpfs_kb", "agent_descriptors"):
        assert late[name] <= early[name], name
    assert late["agent_mb"] <= early["agent_mb"] + 1
    assert late["container_mb"] <= early["container_mb"] + 8
    assert late["own_mb"] <= early["own_mb"] + 8


@pytest.mark.docker
def test_a_test_is_much_faster_than_a_container_a_test(docker: Sandbox) -> None:
    rewards.configure(sandbox=docker, cache=0)
    ours = bench.tests_per_second(200)
    rewards.configure(sandbox="auto", cache=4096)
    with bench.docker_run() as call:
        theirs = bench.calls_per_second(call, 8, 2)
    assert ours > 25 * theirs


def test_a_job_costs_little_more_than_a_bare_fork(jail: Sandbox) -> None:
    jail.run(Job(b"pass"))
    (line,) = bench.overhead(jail, 100)
    assert float(line.split()[-2]) <= 2.5, line
