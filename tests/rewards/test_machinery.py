from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import rewards
from rewards import ConfigurationError, Score
from rewards import machinery as module
from rewards.machinery import Machinery, ScoreCache, Settings, machinery, usable_cores


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the machinery of the other tests as it was."""
    with monkeypatch.context() as patched:
        patched.setattr(module, "_current", None)
        yield
        machinery().close()


@pytest.mark.usefixtures("restored")
def test_configure_keeps_what_it_is_not_given() -> None:
    rewards.configure(workers=3)
    rewards.configure(cache=7)
    assert (machinery().num_workers, machinery().cache.size) == (3, 7)


@pytest.mark.usefixtures("restored")
def test_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDS_WORKERS", "5")
    monkeypatch.setenv("REWARDS_CACHE", "0")
    assert (machinery().num_workers, machinery().cache.size) == (5, 0)


@pytest.mark.usefixtures("restored")
def test_configure_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDS_WORKERS", "5")
    rewards.configure(workers=2)
    assert machinery().num_workers == 2


def test_the_default_is_the_usable_cores() -> None:
    assert usable_cores() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"workers": 0}, "workers must be at least 1"),
        ({"cache": -1}, "cache must be at least 0"),
        ({"sandbox": "dokcer"}, "no sandbox 'dokcer'; known: auto"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    settings: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        rewards.configure(**settings)  # type: ignore[arg-type]


def test_a_setting_in_the_environment_that_is_no_number_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REWARDS_WORKERS", "many")
    with pytest.raises(ConfigurationError, match="REWARDS_WORKERS must be a number, not 'many'"):
        Machinery(Settings())


def test_the_cache_forgets_what_was_not_wanted_longest() -> None:
    cache = ScoreCache(2)
    for key in "ab":
        cache.put(key, Score.correct())
    cache.get("a")
    cache.put("c", Score.correct())
    assert [key for key in "abc" if cache.get(key)] == ["a", "c"]


def test_a_cache_of_size_zero_keeps_nothing() -> None:
    cache = ScoreCache(0)
    cache.put("a", Score.correct())
    assert cache.get("a") is None


def test_the_unjudged_are_not_remembered() -> None:
    cache = ScoreCache(2)
    cache.put("a", Score.unjudged("down"))
    assert cache.get("a") is None


@pytest.mark.usefixtures("restored")
def test_a_closed_machinery_starts_anew() -> None:
    spec = {"type": "math", "answer": "4"}
    rewards.score("4", spec)
    machinery().close()
    assert rewards.score("5", spec).value == 0.0


def test_a_forked_child_gets_its_own_machinery() -> None:
    rewards.configure()
    ours = machinery()
    before, ours.pid = ours.pid, -1  # as a child sees what it inherited
    theirs = machinery()
    ours.pid = before
    assert theirs is not ours
    assert theirs.settings == ours.settings
