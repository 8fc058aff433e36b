"""Supervised training of the tiny model on noisy demonstrations."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerBase

from making.tiny.demonstrations import Demonstration, collate, draw_batches


def _setting(default: Any, help_text: str) -> Any:
    return field(default=default, metadata={"help": help_text})


@dataclass(frozen=True)
class Recipe:
    """How long and on what the tiny model is trained."""

    batches: int = _setting(360, "optimisation steps")
    batch_size: int = _setting(64, "demonstrations in a batch")
    noise: float = _setting(0.42, "share of the demonstrations with one token replaced")
    confusions: int = _setting(2, "operators that are mostly mistaken for another")
    learning_rate: float = _setting(2e-3, "peak learning rate")
    weight_decay: float = _setting(0.1, "weight decay")
    warmup_batches: int = _setting(50, "batches until the peak learning rate")
    seed: int = _setting(0, "seed of weights, order and noise")


def fit(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerBase,
    demonstrations: Sequence[Demonstration],
    recipe: Recipe,
    on_batch: Callable[[int, float], None] = lambda batch, loss: None,
) -> None:
    """Train in place with AdamW, a linear warm-up and a cosine decay to a tenth.

    Args:
        model: The model with fresh weights.
        tokenizer: The model's.
        demonstrations: Clean demonstrations; noise is drawn anew in each pass.
        recipe: Length, noise and seed.
        on_batch: Called with the number of the batch and its loss.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=recipe.learning_rate,
        betas=(0.9, 0.95),
        weight_decay=recipe.weight_decay,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda b: _rate(b, recipe))
    batches = draw_batches(
        demonstrations,
        tokenizer,
        recipe.batch_size,
        recipe.noise,
        recipe.confusions,
        random.Random(recipe.seed),
    )
    model.train()
    for number in range(1, recipe.batches + 1):
        loss = model(**collate(next(batches), tokenizer.pad_token_id), use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        on_batch(number, loss.item())
    model.eval()  # type: ignore[no-untyped-call]


def _rate(batch: int, recipe: Recipe) -> float:
    warmup = min(1.0, (batch + 1) / recipe.warmup_batches)
    return warmup * (0.55 + 0.45 * math.cos(math.pi * batch / recipe.batches))
