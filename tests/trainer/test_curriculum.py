from __future__ import annotations

import pytest

from trainer.curriculum import PromptOrder


def test_an_epoch_deals_every_row_once() -> None:
    order = PromptOrder(12, seed=0)
    dealt = [row for _ in range(3) for row in order.next_batch(4)]
    assert sorted(dealt) == list(range(12))


def test_a_batch_never_repeats_a_row() -> None:
    order = PromptOrder(10, seed=0)
    assert all(len(set(order.next_batch(4))) == 4 for _ in range(50))


def test_epochs_are_shuffled_differently() -> None:
    order = PromptOrder(20, seed=0)
    assert order.next_batch(20) != order.next_batch(20)


def test_the_order_is_a_function_of_the_seed() -> None:
    assert PromptOrder(20, seed=1).next_batch(20) == PromptOrder(20, seed=1).next_batch(20)
    assert PromptOrder(20, seed=1).next_batch(20) != PromptOrder(20, seed=2).next_batch(20)


def test_a_restored_cursor_goes_on_where_it_was() -> None:
    order, restored = PromptOrder(10, seed=0), PromptOrder(10, seed=0)
    for _ in range(7):
        order.next_batch(3)
    restored.load_state_dict(order.state_dict())
    assert [restored.next_batch(3) for _ in range(5)] == [order.next_batch(3) for _ in range(5)]


def test_more_rows_than_there_are_cannot_be_dealt() -> None:
    with pytest.raises(ValueError, match="4 distinct rows of 3"):
        PromptOrder(3, seed=0).next_batch(4)
