from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rewards
from rewards.workers import WorkerError, WorkerPool, WorkerTimeout

Python = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(1)
    yield pool
    pool.close()


def test_a_call_returns_its_result(pool: WorkerPool) -> None:
    assert pool.call("math:gcd", 12, 18, timeout_s=5) == 6


def test_a_worker_is_used_again(pool: WorkerPool) -> None:
    first = pool.call("os:getpid", timeout_s=5)
    assert pool.call("os:getpid", timeout_s=5) == first != os.getpid()


def test_an_exception_there_is_a_worker_error_here(pool: WorkerPool) -> None:
    with pytest.raises(WorkerError, match="ValueError"):
        pool.call("math:sqrt", -1, timeout_s=5)


def test_an_exception_does_not_cost_the_worker(pool: WorkerPool) -> None:
    first = pool.call("os:getpid", timeout_s=5)
    with pytest.raises(WorkerError):
        pool.call("math:sqrt", -1, timeout_s=5)
    assert pool.call("os:getpid", timeout_s=5) == first


def test_a_sleeping_worker_is_killed_at_the_wall_limit(pool: WorkerPool) -> None:
    started = time.monotonic()
    with pytest.raises(WorkerTimeout, match="wall"):
        pool.call("time:sleep", 600, timeout_s=0.2)
    assert time.monotonic() - started < 20


def test_a_busy_worker_is_killed_at_the_cpu_limit(pool: WorkerPool) -> None:
    # 10 ** 10 ** 8 stays inside one C call for minutes: no Python-level timer could end it
    with pytest.raises(WorkerTimeout):
        pool.call("operator:pow", 10, 10**8, timeout_s=0.5)


def test_the_next_call_after_a_kill_works(pool: WorkerPool) -> None:
    with pytest.raises(WorkerTimeout):
        pool.call("time:sleep", 600, timeout_s=0.1)
    assert pool.call("math:gcd", 4, 6, timeout_s=5) == 2


def test_a_killed_worker_is_gone(pool: WorkerPool) -> None:
    pid = pool.call("os:getpid", timeout_s=5)
    with pytest.raises(WorkerTimeout):
        pool.call("time:sleep", 600, timeout_s=0.1)
    assert not Path(f"/proc/{pid}").exists()


def test_a_dead_worker_says_how_it_died(pool: WorkerPool) -> None:
    with pytest.raises(WorkerError, match="exit status 7"):
        pool.call("os:_exit", 7, timeout_s=5)


def test_memory_is_bounded(pool: WorkerPool) -> None:
    with pytest.raises(WorkerError, match="MemoryError"):
        pool.call("builtins:bytearray", 64 << 30, timeout_s=5)


def test_closing_ends_the_workers() -> None:
    pool = WorkerPool(1)
    pid = pool.call("os:getpid", timeout_s=5)
    pool.close()
    assert not Path(f"/proc/{pid}").exists()


def test_closing_ends_the_busy_workers_too() -> None:
    pool = WorkerPool(1)
    caught: list[WorkerError] = []

    def wait() -> None:
        with pytest.raises(WorkerError, match="died") as raised:
            pool.call("time:sleep", 600, timeout_s=600)
        caught.append(raised.value)

    thread = threading.Thread(target=wait)
    thread.start()
    while not pool._busy:
        time.sleep(0.01)
    pool.close()
    thread.join(10)
    assert len(caught) == 1


def test_a_closed_pool_takes_no_jobs() -> None:
    pool = WorkerPool(1)
    pool.close()
    with pytest.raises(WorkerError, match="closed"):
        pool.call("math:gcd", 4, 6, timeout_s=5)


def test_cpu_time_is_counted_anew_for_every_job(pool: WorkerPool) -> None:
    for _ in range(4):  # 4 x 0.5 s of CPU under a limit of 1 s each
        assert pool.call("hashlib:pbkdf2_hmac", "sha256", b"x", b"y", 500_000, timeout_s=1)


ORPHANS = """
import os, rewards
from rewards.machinery import machinery
print(machinery().workers().call("os:getpid", timeout_s=5), flush=True)
os.kill(os.getpid(), 9)
"""


def test_workers_die_with_a_killed_parent(python: Python) -> None:
    pid = int(python("-c", ORPHANS).stdout)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_a_second_verifier_of_a_loaded_file_works_in_a_worker(tmp_path: Path) -> None:
    file = tmp_path / "pair_plugin.py"
    file.write_text(
        "from typing import Literal\nimport rewards\n"
        + "".join(
            f"class {n.title()}(rewards.Spec):\n    type: Literal['{n}'] = '{n}'\n"
            f"@rewards.verifier(name='{n}', spec={n.title()}, runs='worker')\n"
            f"def {n}(completion, spec):\n    return rewards.Score.correct()\n"
            for n in ("left_one", "right_one")
        )
    )
    rewards.load(f"{file}:left_one")
    assert rewards.score("x", {"type": "right_one"}).value == 1.0


def test_a_file_loaded_by_relative_path_survives_a_change_of_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "moved_plugin.py").write_text(
        "from typing import Literal\nimport rewards\n"
        "class Moved(rewards.Spec):\n    type: Literal['moved'] = 'moved'\n"
        "@rewards.verifier(name='moved', spec=Moved, runs='worker')\n"
        "def moved(completion, spec):\n    return rewards.Score.correct()\n"
    )
    monkeypatch.chdir(tmp_path)
    rewards.load("moved_plugin.py:moved")
    monkeypatch.chdir("/")
    assert rewards.score("x", {"type": "moved"}).value == 1.0
