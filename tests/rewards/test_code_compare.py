"""What a value or a text must be, to be the one that was wanted."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.verifiers.code.compare import same_output, same_value
from rewards.verifiers.code.values import dumps, loads

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (2, 2.0),
        (NAN, NAN),
        ([NAN, 1], [NAN, 1]),
        ({NAN, 1}, {NAN, 1}),
        (INF, INF),
        ((1, 2), [1, 2]),
        (((1,), 2), [[1], 2]),
        ({1: 2}, {"1": 2}),
        ({"1": 2}, {"1": 2}),
        ({1: 2}, {1: 2}),
        ({(1, 2): 3}, {(1, 2): 3}),
        ({1, 2}, {2, 1}),
        (frozenset({1}), frozenset({1})),
        ({frozenset({1})}, {frozenset({1})}),
        (Decimal("1.50"), Decimal("1.5")),
        (-0.0, 0.0),
        (1 + 0j, 1 + 0j),
        (1, 1 + 0j),
        (b"a", b"a"),
        (None, None),
    ],
)
def test_these_are_the_same(got: Any, wanted: Any) -> None:
    assert same_value(got, wanted, None)


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (True, 1),
        (1, True),
        (1.0, 1),
        (10**400, 1.5),
        (2**53 + 1, 2.0**53),
        (NAN, 1.0),
        (1.0, NAN),
        (5.0, INF),
        (-INF, INF),
        (10**400, INF),
        ({True}, {1}),
        ({1.0}, {1}),
        ({True: 2}, {1: 2}),
        ({True: 2}, {"1": 2}),
        ({1.0: 2}, {1: 2}),
        ({(True, 2): 3}, {(1, 2): 3}),
        ({(1, 2), (True, 3)}, {(1, 2), (1, 3)}),
        ({1, 2}, [1, 2]),
        ([1, 2], {1, 2}),
        ([1, 2], (1, 2)),
        ({1}, frozenset({1})),
        ({1: 2, "1": 2}, {"1": 2}),
        ({"a": 1}, {"a": 1, "b": 2}),
        (Decimal("1.5"), 1.5),
        (1.5, Decimal("1.5")),
        ("1", 1),
        ("a", b"a"),
        ("", None),
        (0, None),
        ([], None),
        (False, None),
    ],
)
def test_these_are_not(got: Any, wanted: Any) -> None:
    assert not same_value(got, wanted, None)


@pytest.mark.parametrize(
    ("got", "wanted", "same"),
    [
        (1.0 + 1e-7, 1.0, True),
        (1e9 + 1, 1e9, True),
        (1e-9, 0.0, True),
        (1.1, 1.0, False),
        ([0.1 + 0.2, 1], [0.3, 1], True),
        ({"a": 0.1 + 0.2}, {"a": 0.3}, True),
        ({0.1 + 0.2, 1.0}, {0.3, 1.0}, True),
        ({0.4, 1.0}, {0.3, 1.0}, False),
        (complex(0.1 + 0.2, 0), complex(0.3, 0), True),
        (10**16 + 1, 10**16, False),
        (5.0, INF, False),
        (INF, 1.0, False),
        (NAN, 1.0, False),
        (True, 1.0, False),
    ],
)
def test_a_tolerance_is_for_finite_floats(got: Any, wanted: Any, same: bool) -> None:
    assert same_value(got, wanted, 1e-6) is same


@pytest.mark.parametrize(
    ("got", "wanted", "same"),
    [
        ("0.3000001", "0.3", True),
        ("3e-1", "0.3", True),
        ("3.0", "3", False),
        ("3", "3.0", True),
        ("nan", "0.3", False),
        ("inf", "1e999", False),
        ("5", "1e999", False),
        ("0_3.0", "3.0", False),
        ("nan", "nan", True),
        ("a 0.30000001 b", "a 0.3 b", True),
        ("a 0.3", "a 0.3 b", False),
    ],
)
def test_printed_numbers_are_decimals(got: str, wanted: str, same: bool) -> None:
    assert same_output(got.encode(), wanted, 1e-6) is same


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(plain)
def test_a_value_that_went_to_the_sandbox_and_back_is_the_same(value: Any) -> None:
    assert same_value(loads(dumps(value)), value, None)


def test_output_that_is_far_too_long_is_not_read() -> None:
    started = time.process_time()
    assert not same_output(b"1 " * 50_000_000, "1 2\n", 1e-6)
    assert time.process_time() - started < 0.5
