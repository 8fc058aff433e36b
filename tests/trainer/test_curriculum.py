from __future__ import annotations

import io
import json
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.config import Config
from trainer.curriculum import LONGEST_REST, Curriculum, PromptOrder, open_order


def deal(order: PromptOrder, size: int) -> list[int]:
    """Deal the one batch of a step."""
    order.begin_step()
    return order.next_batch(size)


ALWAYS, NEVER, SOMETIMES, RARELY = [1.0] * 4, [0.0] * 4, [1.0, 0.0, 1.0, 0.0], [1.0] + [0.0] * 9


def passes_dealt(
    order: Curriculum, outcomes: dict[int, list[float]], passes: int
) -> list[set[int]]:
    """Deal so many passes of single rows, telling the outcomes; return the rows of each pass."""
    dealt: list[set[int]] = [set() for _ in range(passes)]
    while True:
        (row,) = deal(order, 1)
        if order.epoch >= passes:
            return dealt
        dealt[order.epoch].add(row)
        order.see(row, outcomes.get(row, SOMETIMES))


# ---- the plain order ----------------------------------------------------------------------------


def test_an_epoch_deals_every_row_once() -> None:
    order = PromptOrder(12, seed=0)
    dealt = [row for _ in range(3) for row in deal(order, 4)]
    assert sorted(dealt) == list(range(12))


def test_the_order_is_the_one_that_published_numbers_were_made_with() -> None:
    order = PromptOrder(7, seed=0)
    assert [deal(order, 3) for _ in range(3)] == [[0, 6, 1], [4, 5, 3], [2, 0, 1]]


@pytest.mark.parametrize("kind", [PromptOrder, Curriculum])
def test_a_batch_never_repeats_a_row(kind: type[PromptOrder]) -> None:
    order = kind(10, seed=0)
    assert all(len(set(deal(order, 4))) == 4 for _ in range(50))


def test_epochs_are_shuffled_differently() -> None:
    order = PromptOrder(20, seed=0)
    assert deal(order, 20) != deal(order, 20)


def test_the_order_is_a_function_of_the_seed() -> None:
    assert PromptOrder(20, seed=1).next_batch(20) == PromptOrder(20, seed=1).next_batch(20)
    assert PromptOrder(20, seed=1).next_batch(20) != PromptOrder(20, seed=2).next_batch(20)


def test_a_restored_cursor_goes_on_where_it_was() -> None:
    order, restored = PromptOrder(10, seed=0), PromptOrder(10, seed=0)
    for _ in range(7):
        deal(order, 3)
    restored.load_state_dict(order.state_dict())
    assert [deal(restored, 3) for _ in range(5)] == [deal(order, 3) for _ in range(5)]


def test_more_rows_than_there_are_cannot_be_dealt() -> None:
    with pytest.raises(ValueError, match="4 distinct rows of 3"):
        PromptOrder(3, seed=0).next_batch(4)


# ---- several batches in a step ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PromptOrder, Curriculum])
@settings(max_examples=30)
@given(rows=st.integers(1, 12), seed=st.integers(0, 9), data=st.data())
def test_a_step_never_repeats_a_row_and_may_ask_for_more_than_there_are(
    kind: type[PromptOrder], rows: int, seed: int, data: st.DataObject
) -> None:
    order = kind(rows, seed)
    for _ in range(5):
        order.begin_step()
        taken: list[int] = []
        for size in data.draw(st.lists(st.integers(0, rows), max_size=5)):
            batch = order.next_batch(size)
            assert len(batch) == min(size, rows - len(taken))
            assert not set(batch) & set(taken)
            taken += batch
            for row in batch:
                order.see(row, data.draw(st.sampled_from([ALWAYS, NEVER, SOMETIMES])))


def test_a_second_batch_goes_on_where_the_first_ended() -> None:
    order, whole = PromptOrder(6, seed=0), PromptOrder(6, seed=0)
    first = deal(order, 2)
    assert first + order.next_batch(3) == whole.next_batch(5)


def test_a_second_batch_in_the_next_epoch_passes_over_the_first() -> None:
    order = PromptOrder(6, seed=1)
    deal(order, 3)
    first = deal(order, 3)
    second = order.next_batch(3)
    assert (set(first) | set(second), order.epoch) == (set(range(6)), 1)


# ---- the curriculum -----------------------------------------------------------------------------


def test_the_settings_choose_the_order() -> None:
    chosen = open_order(Config(curriculum=True, curriculum_low=0.1, seed=3), 5)
    assert isinstance(chosen, Curriculum)
    assert (chosen.low, chosen.high, chosen.seed, chosen.num_rows) == (0.1, 0.8, 3, 5)
    assert type(open_order(Config(), 5)) is PromptOrder


def test_rows_within_the_band_are_dealt_in_every_pass() -> None:
    assert passes_dealt(Curriculum(4, seed=0), {}, 6) == [{0, 1, 2, 3}] * 6


@pytest.mark.parametrize("outcomes", [ALWAYS, NEVER])
def test_what_is_always_or_never_solved_rests_for_a_growing_number_of_passes(
    outcomes: list[float],
) -> None:
    dealt = passes_dealt(Curriculum(3, seed=0), {1: outcomes}, 70)
    visits = [number for number, rows in enumerate(dealt) if 1 in rows]
    assert visits == [0, 3, 8, 17, 34, 51, 68]
    assert visits[-1] - visits[-2] == LONGEST_REST + 1


def test_what_is_solved_too_rarely_comes_every_other_pass() -> None:
    dealt = passes_dealt(Curriculum(3, seed=0), {1: RARELY}, 7)
    assert [number for number, rows in enumerate(dealt) if 1 in rows] == [0, 2, 4, 6]


def test_a_row_that_comes_back_solved_is_dealt_in_every_pass_again() -> None:
    order = Curriculum(3, seed=0)
    passes_dealt(order, {1: NEVER}, 9)
    order.see(1, SOMETIMES)  # the average is now a quarter
    assert order.due[1] == order.epoch + 1


def test_one_unlucky_visit_does_not_put_a_row_of_the_band_to_rest() -> None:
    order = Curriculum(3, seed=0)
    order.see(0, [1.0, 1.0, 0.0, 0.0])
    order.see(0, NEVER)
    assert order.rate[0] == 0.25
    assert order.due[0] == 1


def test_completions_that_pass_some_tests_count_by_how_many() -> None:
    order = Curriculum(1, seed=0)
    order.see(0, [0.5, 0.25, 0.75, 0.5])
    assert order.rate[0] == 0.5


def test_a_visit_of_which_nothing_could_be_judged_says_nothing() -> None:
    order = Curriculum(2, seed=0)
    before = order.state_dict()
    order.see(0, [])
    assert order.state_dict() == before


def test_the_band_and_the_unseen_come_before_what_is_back_from_a_rest() -> None:
    order = Curriculum(20, seed=0)
    for row in range(10):
        order.see(row, RARELY)
        order.due[row] = 0  # its rest is over
    assert set(deal(order, 10)) == set(range(10, 20))


def test_if_all_rows_rest_the_first_to_wake_are_dealt() -> None:
    order = Curriculum(4, seed=0)
    for row in range(4):
        order.see(row, ALWAYS if row else RARELY)
    assert deal(order, 1) == [0]
    assert len(order.next_batch(3)) == 3


def test_a_row_waits_no_longer_than_the_longest_rest_and_a_pass_without_room() -> None:
    order, last = Curriculum(9, seed=0), dict.fromkeys(range(9), 0)
    for _ in range(1000):
        for row in deal(order, 4):
            assert order.epoch - last[row] <= LONGEST_REST + 2
            last[row] = order.epoch
            order.see(row, SOMETIMES if row < 5 else NEVER)
    assert order.epoch > 3 * LONGEST_REST


def played(order: PromptOrder, steps: int) -> list[list[int]]:
    """Play so many steps with outcomes that depend on the row and the pass."""
    dealt = []
    for _ in range(steps):
        dealt.append(deal(order, 3))
        for row in dealt[-1]:
            rng = random.Random(f"{row}/{order.epoch}")
            order.see(row, [float(rng.random() < row / 9) for _ in range(4)])
    return dealt


@pytest.mark.parametrize("through", ["json", "torch"])
def test_a_restored_curriculum_goes_on_as_if_never_stopped(through: str) -> None:
    order, restored = Curriculum(10, seed=5), Curriculum(10, seed=5)
    played(order, 23)
    state = order.state_dict()
    if through == "json":
        state = json.loads(json.dumps(state))
    else:
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        state = torch.load(file, weights_only=True)
    restored.load_state_dict(state)
    assert played(restored, 40) == played(order, 40)
    assert restored.state_dict() == order.state_dict()


def test_a_saved_state_does_not_change_with_the_run() -> None:
    order = Curriculum(10, seed=0)
    state = order.state_dict()
    kept = json.dumps(state)
    played(order, 5)
    assert json.dumps(state) == kept


def test_the_metrics_tell_what_is_seen_within_the_band_and_resting() -> None:
    order = Curriculum(8, seed=0)
    for row, outcomes in enumerate([SOMETIMES, SOMETIMES, SOMETIMES, NEVER]):
        order.see(row, outcomes)
    assert order.metrics() == {
        "curriculum/pass": 0,
        "curriculum/seen_frac": 0.5,
        "curriculum/in_band_frac": 0.75,
        "curriculum/resting_frac": 0.125,
    }
    assert PromptOrder(8, seed=0).metrics() == {}
