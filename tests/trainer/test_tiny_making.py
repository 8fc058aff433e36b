"""Making the tiny model: noise where it belongs, losses on completions, the same from a seed."""

import random
import re
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from making.tiny.__main__ import main
from making.tiny.demonstrations import (
    IGNORED,
    Demonstration,
    collate,
    draw_batches,
    encode_rows,
    find_partners,
)
from making.tiny.fit import Recipe, fit
from making.tiny.model import build_model
from making.tiny.tokenizer import build_tokenizer
from trainer.tasks import Row, load_task

ROWS = [Row(str(i), f"add {i}", {}, f"x + {i}") for i in range(10)]
CLEAN = [Demonstration((1, 2), (3, 4, 5)), Demonstration((1,), (4, 5))]


def draw(tokenizer, size: int, noise: float) -> tuple[list[Demonstration], list[Demonstration]]:  # type: ignore[no-untyped-def]
    """The demonstrations of ROWS, and a batch of them."""
    clean = encode_rows(tokenizer, ROWS)
    return clean, next(draw_batches(clean, tokenizer, size, noise, 0, random.Random(0)))


@pytest.fixture(scope="module")
def tokenizer():  # type: ignore[no-untyped-def]
    return build_tokenizer([f"{row.prompt} {row.gold}" for row in ROWS], max_length=64)


def test_a_demonstration_is_the_templated_prompt_and_the_gold_with_its_end(tokenizer) -> None:  # type: ignore[no-untyped-def]
    (first, *_) = encode_rows(tokenizer, ROWS)
    assert tokenizer.decode(first.prompt_ids) == (
        "<|im_start|>user\nadd 0<|im_end|>\n<|im_start|>assistant\n"
    )
    assert tokenizer.decode(first.completion_ids) == "x + 0<|im_end|>"


def test_without_noise_batches_are_passes_over_the_data(tokenizer) -> None:  # type: ignore[no-untyped-def]
    clean, batch = draw(tokenizer, 20, 0.0)
    assert sorted(batch, key=str) == sorted(clean * 2, key=str)


def test_noise_replaces_one_token_of_the_completion(tokenizer) -> None:  # type: ignore[no-untyped-def]
    clean, batch = draw(tokenizer, 50, 1.0)
    golds = {d.prompt_ids: d.completion_ids for d in clean}
    for d in batch:
        assert len(d.completion_ids) == len(golds[d.prompt_ids])
        differing = [a != b for a, b in zip(d.completion_ids, golds[d.prompt_ids], strict=True)]
        assert sum(differing) == 1


def test_noise_replaces_digits_by_digits(tokenizer) -> None:  # type: ignore[no-untyped-def]
    _, batch = draw(tokenizer, 50, 1.0)
    texts = [tokenizer.decode(d.completion_ids) for d in batch]
    assert all(re.search("[0-9]", text) for text in texts)


def test_the_share_of_noise_is_as_told(tokenizer) -> None:  # type: ignore[no-untyped-def]
    clean, batch = draw(tokenizer, 1000, 0.3)
    assert 0.25 < sum(d not in clean for d in batch) / 1000 < 0.35


def test_a_confused_operator_is_mostly_replaced_by_its_partner() -> None:
    operators = [10] * 6 + [11] * 6 + [12] * 88  # 6 % each, and one that is everywhere
    clean = [Demonstration((i,), (operator, 5)) for i, operator in enumerate(operators)]
    others = {5: [], 10: [11, 12], 11: [10, 12], 12: [10, 11]}
    partners = find_partners(clean, others, 1, random.Random(0))
    ((confused, partner),) = partners.items()
    assert {confused, partner} == {10, 11}
    assert find_partners(clean, others, 9, random.Random(0)) == {10: 11, 11: 10}


def test_only_completions_count_in_the_loss() -> None:
    batch = collate(CLEAN, pad_id=0)
    assert batch["input_ids"].tolist() == [[1, 2, 3, 4, 5], [1, 4, 5, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert batch["labels"].tolist() == [
        [IGNORED, IGNORED, 3, 4, 5],
        [IGNORED, 4, 5, IGNORED, IGNORED],
    ]


def test_fitting_lowers_the_loss_and_repeats_from_its_seed(tokenizer) -> None:  # type: ignore[no-untyped-def]
    recipe = Recipe(batches=12, batch_size=8, noise=0.2, warmup_batches=2)
    losses: list[list[float]] = []
    for _ in range(2):
        losses.append([])
        model = build_model(tokenizer, recipe.seed)
        fit(
            model,
            tokenizer,
            encode_rows(tokenizer, ROWS),
            recipe,
            lambda _, loss: losses[-1].append(loss),
        )
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0] - 1


def test_the_command_writes_a_model_that_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ["tiny", "--out", str(tmp_path), "--batches", "1", "--batch-size", "2"]
    monkeypatch.setattr("sys.argv", argv)
    main()
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert model.get_input_embeddings().num_embeddings == len(tokenizer)
    assert model.dtype is torch.float32


def test_it_is_fitted_on_training_rows_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Row] = []
    monkeypatch.setattr(
        "making.tiny.__main__.encode_rows",
        lambda tokenizer, rows: (seen.extend(rows), encode_rows(tokenizer, rows))[1],
    )
    argv = ["tiny", "--out", str(tmp_path), "--batches", "1", "--batch-size", "2"]
    monkeypatch.setattr("sys.argv", argv)
    main()
    held_out = {row.id for name in ("code", "math") for row in load_task(name).test}
    assert not {row.id for row in seen} & held_out
    assert {row.meta["level"] for row in seen} == {1}
