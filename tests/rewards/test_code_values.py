from __future__ import annotations

import contextlib
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.verifiers.code.values import NotPlain, dumps, loads

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.binary()
    | st.floats(allow_nan=False),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
plain = st.recursive(
    hashable | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.dictionaries(st.text(), inner, max_size=4)
        | st.sets(hashable, max_size=4)
    ),
    max_leaves=20,
)


@given(plain)
def test_plain_data_comes_back_as_it_was(value: Any) -> None:
    back = loads(dumps(value))
    assert back == value
    assert type(back) is type(value) or isinstance(value, frozenset)


@given(st.binary() | st.text() | plain.map(repr))
def test_reading_a_claim_never_raises_anything_else(text: str | bytes) -> None:
    with contextlib.suppress(NotPlain):
        loads(text)


def test_nan_and_huge_integers_come_back() -> None:
    assert math.isnan(loads(dumps(math.nan)))
    assert loads(dumps(-(7**9999))) == -(7**9999)


@pytest.mark.parametrize("value", [object(), print, iter([]), [[object()]]])
def test_what_is_not_plain_is_refused(value: object) -> None:
    with pytest.raises(NotPlain):
        dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"$set": [[1]]}',
        '{"$int": 5}',
        '{"$tuple": 3}',
        '{"$dict": [1]}',
        "[" * 100_000,
        "\xff",
        "",
    ],
)
def test_claims_that_describe_no_data_are_refused(text: str) -> None:
    with pytest.raises(NotPlain):
        loads(text)
