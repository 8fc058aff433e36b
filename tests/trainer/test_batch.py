from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch

from trainer.batch import Example, Row, collate, plan_micro_batches, plan_rows
from trainer.rollout import Prompt, Sample

CPU = torch.device("cpu")


def example(prompt: Sequence[int], completion: Sequence[int], advantage: float = 1.0) -> Example:
    return Example(
        Prompt("p", tuple(prompt), ""),
        Sample(tuple(completion), tuple(-0.5 for _ in completion), "stop", ""),
        tuple(advantage for _ in completion),
    )


def some_examples(count: int, seed: int = 0) -> list[Example]:
    rng = random.Random(seed)
    return [
        example([3] * rng.randint(1, 9), [4] * rng.randint(1, 30), float(i)) for i in range(count)
    ]


def width(row: Row) -> int:
    return sum(e.length for e in row)


PAIR = [example([3, 4], [5, 6]), example([7], [8])]


def test_tensors_of_one_row_are_laid_out_as_documented() -> None:
    batch = collate([PAIR], CPU)
    assert batch.ids_BT.tolist() == [[3, 4, 5, 6, 7, 8]]
    assert batch.position_BT.tolist() == [[0, 1, 2, 3, 0, 1]]
    assert batch.source_N.tolist() == [1, 2, 4]
    assert batch.targets_N.tolist() == [5, 6, 8]
    assert batch.sequence_N.tolist() == [0, 0, 1]
    assert (batch.num_sequences, batch.packed) == (2, True)


def test_tensors_of_several_rows_are_padded_on_the_right() -> None:
    batch = collate([[PAIR[0]], [PAIR[1]]], CPU)
    assert batch.ids_BT.tolist() == [[3, 4, 5, 6], [7, 8, 0, 0]]
    assert batch.source_N.tolist() == [1, 2, 4]
    assert not batch.packed


def test_padding_never_looks_like_another_sequence() -> None:
    batch = collate([PAIR, [example([3], [5, 6, 7, 8, 9, 10, 11])]], CPU)
    assert batch.position_BT.tolist()[0] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_trl_4970_an_end_token_equal_to_the_padding_counts() -> None:
    # trl 4970, 6357: with pad == eos, a mask made from values drops the real end token.
    batch = collate([[example([3], [5, 0])], [example([3], [0])]], CPU)
    assert batch.targets_N.tolist() == [5, 0, 0]


@pytest.mark.parametrize("pack_tokens", [0, 20, 64])
@pytest.mark.parametrize("tokens", [1, 64, 10_000])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_example_is_in_one_micro_batch(pack_tokens: int, tokens: int, ranks: int) -> None:
    examples = some_examples(23)
    plan = plan_micro_batches(examples, tokens=tokens, pack_tokens=pack_tokens, ranks=ranks)
    seen = [e.advantages[0] for share in plan for rows in share for row in rows for e in row]
    assert sorted(seen) == list(range(23))


@pytest.mark.parametrize("count", [1, 2, 7, 23])
@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_all_ranks_have_as_many_micro_batches(count: int, ranks: int) -> None:
    plan = plan_micro_batches(some_examples(count), tokens=64, pack_tokens=0, ranks=ranks)
    assert len(plan) == ranks
    assert len({len(share) for share in plan}) == 1


@pytest.mark.parametrize("pack_tokens", [0, 64])
def test_micro_batches_stay_within_their_tokens(pack_tokens: int) -> None:
    plan = plan_micro_batches(some_examples(50), tokens=128, pack_tokens=pack_tokens, ranks=2)
    for rows in (rows for share in plan for rows in share if len(rows) > 1):
        assert len(rows) * max(width(row) for row in rows) <= 128


def test_packed_rows_are_nearly_full() -> None:
    rows = plan_rows(some_examples(200), pack_tokens=256)
    assert all(width(row) <= 256 for row in rows)
    assert sum(width(row) for row in rows[:-1]) / (256 * (len(rows) - 1)) > 0.97


def test_a_sequence_longer_than_a_pack_has_a_row_of_its_own() -> None:
    long = example([3] * 40, [4] * 60)
    rows = plan_rows([*some_examples(5), long], pack_tokens=50)
    assert [long] in rows


def test_the_work_of_ranks_is_balanced() -> None:
    # Ranks wait for each other in each micro-batch, so each round counts.
    plan = plan_micro_batches(some_examples(400), tokens=256, pack_tokens=256, ranks=4)
    for round_ in zip(*plan, strict=True):
        loads = [sum(width(row) for row in rows) for rows in round_ if rows]
        assert max(loads) <= 1.1 * min(loads) or len(loads) < 4 or round_ is not plan[0][0]


def test_without_padding_little_is_wasted() -> None:
    plan = plan_micro_batches(some_examples(200), tokens=512, pack_tokens=0)
    padded = sum(len(rows) * max(width(row) for row in rows) for rows in plan[0])
    assert sum(e.length for e in some_examples(200)) / padded > 0.9
