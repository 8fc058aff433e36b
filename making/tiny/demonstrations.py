"""Noisy demonstrations: what the tiny model is taught with, so that it starts half able.

A model fitted long on clean demonstrations would know the bundled tasks, and reinforcement
learning would have nothing to show. So the fit is short, and the demonstrations are wrong in two
ways:

- slips: a share has one token replaced by any other of its kind, a wrong digit, a colon lost. The
  model learns to slip as often, but its most likely answer stays right.
- confusions: a few operators are replaced by another one more often than not, say ``min`` by
  ``max``. The model's most likely answer is then wrong wherever they are called for.

GRPO has both to unlearn, from rewards alone.

Shapes: B sequences of a batch, T tokens of the longest.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerBase

from trainer.prompts import encode_prompt
from trainer.tasks.rows import Row

CONFUSION_RATE = 0.6
"""How often a confused operator is mistaken: more than half, so that the mistake is the habit."""

IGNORED = -100
"""The label that the loss of transformers skips."""


@dataclass(frozen=True)
class Demonstration:
    """A question as the chat template writes it, and the answer up to the end token."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]


def encode_rows(tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row]) -> list[Demonstration]:
    """Encode prompts as the trainer does, and golds as the model is to answer them."""
    demonstrations = []
    for row in rows:
        gold_ids = tokenizer.encode(row.gold, add_special_tokens=False)
        completion_ids = (*gold_ids, tokenizer.eos_token_id)
        demonstrations.append(Demonstration(encode_prompt(tokenizer, row).ids, completion_ids))
    return demonstrations


def draw_batches(
    demonstrations: Sequence[Demonstration],
    tokenizer: PreTrainedTokenizerBase,
    size: int,
    noise: float,
    confusions: int,
    rng: random.Random,
) -> Iterator[list[Demonstration]]:
    """Yield batches for ever: shuffled passes over the data, with fresh noise in each.

    Args:
        demonstrations: The clean data.
        tokenizer: Tells the kinds of tokens.
        size: Demonstrations in a batch.
        noise: The share of demonstrations with a slip.
        confusions: How many operators are mostly mistaken for another.
        rng: Decides order and noise.
    """
    others = _find_others(demonstrations, tokenizer)
    partners = find_partners(demonstrations, others, confusions, rng)
    batch: list[Demonstration] = []
    while True:
        for demonstration in rng.sample(demonstrations, len(demonstrations)):
            if rng.random() < CONFUSION_RATE:
                demonstration = _confuse(demonstration, partners)
            slips = rng.random() < noise
            batch.append(_slip(demonstration, others, rng) if slips else demonstration)
            if len(batch) == size:
                yield batch
                batch = []


def _find_others(
    demonstrations: Sequence[Demonstration], tokenizer: PreTrainedTokenizerBase
) -> dict[int, list[int]]:
    """For each token of the completions, those of its kind that it can be mistaken for."""
    tokens = sorted({token for d in demonstrations for token in d.completion_ids})
    kinds = {token: _kind(str(tokenizer.decode([token]))) for token in tokens}
    return {t: [o for o in tokens if o != t and kinds[o] == kinds[t]] for t in tokens}


def find_partners(
    demonstrations: Sequence[Demonstration],
    others: dict[int, list[int]],
    confusions: int,
    rng: random.Random,
) -> dict[int, int]:
    """Choose tokens, and for each the one that it is mistaken for.

    Only tokens that tell programs apart, found in 4 to 10 % of the demonstrations: what is in more
    of them is grammar, or a digit.
    """
    counts = Counter(token for d in demonstrations for token in set(d.completion_ids))
    share = {token: count / len(demonstrations) for token, count in counts.items()}
    telling = [t for t in sorted(others) if 0.04 < share[t] < 0.1]
    pairs = {t: [o for o in telling if o in others[t]] for t in telling}
    able = [t for t in telling if pairs[t]]
    return {t: rng.choice(pairs[t]) for t in rng.sample(able, min(confusions, len(able)))}


def _confuse(demonstration: Demonstration, partners: dict[int, int]) -> Demonstration:
    completion_ids = tuple(partners.get(t, t) for t in demonstration.completion_ids)
    return Demonstration(demonstration.prompt_ids, completion_ids)


def _kind(text: str) -> str:
    text = text.strip()
    return "digit" if text.isdigit() else "word" if text.isalpha() else "symbol"


def _slip(
    demonstration: Demonstration, others: dict[int, list[int]], rng: random.Random
) -> Demonstration:
    completion_ids = list(demonstration.completion_ids)
    place = rng.choice([i for i, token in enumerate(completion_ids) if others[token]])
    completion_ids[place] = rng.choice(others[completion_ids[place]])
    return Demonstration(demonstration.prompt_ids, tuple(completion_ids))


def collate(batch: Sequence[Demonstration], pad_id: int) -> dict[str, torch.Tensor]:
    """Pad a batch on the right; only completions count in the loss.

    Returns:
        ``input_ids``, ``attention_mask`` and ``labels``, each (B, T).
    """
    length = max(len(d.prompt_ids) + len(d.completion_ids) for d in batch)
    ids, mask, labels = [], [], []
    for d in batch:
        used = len(d.prompt_ids) + len(d.completion_ids)
        padding = length - used
        ids.append([*d.prompt_ids, *d.completion_ids] + [pad_id] * padding)
        mask.append([1] * used + [0] * padding)
        labels.append([IGNORED] * len(d.prompt_ids) + list(d.completion_ids) + [IGNORED] * padding)
    return {
        "input_ids": torch.tensor(ids),
        "attention_mask": torch.tensor(mask),
        "labels": torch.tensor(labels),
    }
