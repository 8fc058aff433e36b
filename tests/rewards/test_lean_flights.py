from __future__ import annotations

import threading
import time

import pytest

from rewards.verifiers.lean.flights import Flights


def test_threads_that_want_the_same_wait_for_the_first_of_them() -> None:
    flights, calls, results = Flights[int](8, lambda _: True), [], []

    def make() -> int:
        calls.append(1)
        time.sleep(0.05)
        return 7

    threads = [
        threading.Thread(target=lambda: results.append(flights.get("a", make))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (results, calls) == ([7] * 8, [1])


def test_what_is_not_worth_keeping_is_made_again() -> None:
    flights, numbers = Flights[int](8, lambda number: number > 1), iter([1, 2, 3])
    assert [flights.get("a", lambda: next(numbers)) for _ in range(3)] == [1, 2, 2]


def test_the_least_recently_used_goes_first() -> None:
    flights, made = Flights[str](2, lambda _: True), []

    def get(key: str) -> None:
        flights.get(key, lambda: made.append(key) or key)

    for key in "abacab":
        get(key)
    assert made == ["a", "b", "c", "b"]


def test_a_size_of_nothing_keeps_nothing() -> None:
    flights, numbers = Flights[int](0, lambda _: True), iter([1, 2])
    assert [flights.get("a", lambda: next(numbers)) for _ in range(2)] == [1, 2]


def test_an_exception_reaches_all_and_is_not_kept() -> None:
    flights, answers = Flights[int](8, lambda _: True), iter([ValueError("no"), 5])

    def make() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match="no"):
        flights.get("a", make)
    assert flights.get("a", make) == 5
