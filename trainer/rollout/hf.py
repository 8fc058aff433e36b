"""Rollout with transformers: batched sampling with a KV cache, from the policy's own model.

Shapes: B rows being decoded, P prompts, L tokens in the cache, V vocabulary.

A sample must not depend on its neighbours: the same (stream, prompt id, k) gives the same ids in
any batch, so that runs can be repeated on a machine with other limits, and a resumed run equals one
that never stopped. Two things make it so:

- Each sample has its own random generator, seeded by a hash of (stream, prompt id, k). A token is
  drawn by an exponential race, argmax(p / E) with E ~ Exp(1) for each entry of the vocabulary from
  that generator alone: an exact draw from p (the Gumbel-max trick, without logarithms of p).
- Batching changes the logits by rounding (about 1e-6), which flips the argmax where two candidates
  nearly tie. A tie closer than `TIE` is decided by logits computed anew from that sample's ids
  alone, batch of one and no cache: the one computation that is the same everywhere. It happens
  once in some ten thousand tokens. Below float32 the rounding is too coarse for that and the rule
  is off: there batching can change a sample.

Prompts are padded on the left. The mask comes from lengths, never from token values: the padding
id may well be a real token. A prompt is prefilled once and its cache repeated for its group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, DynamicLayer

from trainer.config import Config
from trainer.model import load_model
from trainer.policy import Policy
from trainer.rollout import Finished, FinishReason, Prompt, Sample, Sampling, decode, stream_seed
from trainer.rollout.packing import Packed, can_pack, in_use, pack

TIE = 1e-4
"""Relative difference of two times in the race under which rounding may decide between them."""

ROOM = 64
"""Tokens by which the buffers of the cache grow."""


@dataclass
class _Row:
    """One sample being drawn."""

    prompt: int
    k: int
    prompt_ids: tuple[int, ...]
    generator: torch.Generator
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish_reason: FinishReason | None = None


class _Layer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values in buffers with room to grow: a new token does not copy all others."""

    _buffers: tuple[Tensor, Tensor] | None = None

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append to the cache and return all of it."""
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if self._buffers is None or end > self._buffers[0].shape[-2]:
            self._buffers = (
                _with_room(self.keys, key_states, end),
                _with_room(self.values, value_states, end),
            )
        keys, values = self._buffers
        keys[:, :, start:end] = key_states
        values[:, :, start:end] = value_states
        self.keys, self.values, self.is_initialized = keys[:, :, :end], values[:, :, :end], True
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these rows, in this order."""
        super().batch_select_indices(indices)
        self._buffers = None


def _with_room(past: Tensor | None, new: Tensor, end: int) -> Tensor:
    buffer = new.new_empty(*new.shape[:2], end + ROOM, new.shape[-1])
    if past is not None:
        buffer[:, :, : past.shape[-2]] = past
    return buffer


class _Batch:
    """Rows decoded together, all of them with equally many tokens so far."""

    def __init__(self, rows: list[_Row], device: torch.device):
        self.rows = rows
        self.width = max(len(row.prompt_ids) for row in rows)
        self.device = device
        self.cache = Cache(layer_class_to_replicate=_Layer)

    def mask(self, rows: Sequence[_Row]) -> Tensor | None:
        """Return which columns of the cache are tokens (B, L), or None if all are."""
        padding = [self.width - len(row.prompt_ids) for row in rows]
        if not any(padding):
            return None
        column_L = torch.arange(self.width + len(rows[0].ids), device=self.device)
        return (column_L >= self.column(padding)).long()

    def column(self, values: Sequence[int]) -> Tensor:
        """Return integers as a column (B, 1)."""
        return torch.tensor(values, device=self.device)[:, None]

    def keep(self, index: list[int]) -> None:
        """Drop the other rows."""
        self.rows = [self.rows[i] for i in index]
        if index:
            self.cache.batch_select_indices(torch.tensor(index, device=self.device))


class HFEngine:
    """Samples with a policy's own model; only a sharded policy needs a second one."""

    leads = True

    def __init__(self, policy: Policy, config: Config) -> None:
        self.replica, self.num_replicas = policy.world.rank, policy.world.size
        self._policy = policy
        self._max_rows = config.rollout_batch_size
        self._model = policy.scorer.model
        self._is_copy = policy.world.size > 1
        if self._is_copy:
            self._model = load_model(config.model, policy.device, policy.compute_dtype)
        self._settles_ties = policy.compute_dtype == torch.float32
        self._packed: Packed = {}

    @torch.no_grad()
    def sync(self) -> None:
        """Take over the policy's weights where they are not read in place."""
        if self._is_copy:
            weights = dict(self._model.named_parameters())
            for name, weight in self._policy.merged_weights():
                weights[name].copy_(weight)
        if can_pack(self._policy.device, self._policy.compute_dtype):
            self._packed = pack(self._model)

    def release(self) -> None:
        """Drop what is packed; between calls nothing else is held but a copy's weights."""
        self._packed = {}

    def close(self) -> None:
        """Do nothing: there is nothing to shut down."""

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[Finished]:
        """Sample completions; see `RolloutEngine`."""
        # Sorted by prompt length, the batches carry little padding.
        order = sorted(range(len(prompts)), key=lambda p: len(prompts[p].ids))
        names = [(p, k) for p in order for k in range(sampling.num_samples)]
        for start in range(0, len(names), self._max_rows):
            part = names[start : start + self._max_rows]
            rows = [self._row(prompts[p], p, k, sampling.stream) for p, k in part]
            batch = _Batch(rows, self._policy.device)
            while batch.rows:
                # Modes are of the thread: the caller must not find itself in ours.
                with torch.inference_mode(), self._autocast(), in_use(self._packed):
                    finished = self._decode(batch, sampling)
                yield from (self._finished(row) for row in finished)

    def _row(self, prompt: Prompt, index: int, k: int, stream: str) -> _Row:
        generator = torch.Generator(self._policy.device)
        generator.manual_seed(stream_seed(stream, prompt.id, k))
        return _Row(index, k, prompt.ids, generator)

    def _autocast(self) -> AbstractContextManager[Any]:
        return nullcontext() if self._is_copy else self._policy.autocast()

    def _decode(self, batch: _Batch, sampling: Sampling) -> list[_Row]:
        """Decode until some rows finish; take them out of the batch and return them."""
        finished: list[_Row] = []
        eos_ids = self._policy.eos_ids
        while not finished:
            logits_BV = self._advance(batch) if batch.rows[0].ids else self._prefill(batch)
            for row, token, logprob in zip(
                batch.rows, *self._draw(batch.rows, logits_BV, sampling), strict=True
            ):
                row.ids.append(token)
                row.logprobs.append(logprob)
                if token in eos_ids:
                    row.finish_reason = "stop"
                elif len(row.ids) == sampling.max_new_tokens:
                    row.finish_reason = "length"
            finished = [row for row in batch.rows if row.finish_reason]
        batch.keep([b for b, row in enumerate(batch.rows) if not row.finish_reason])
        return finished

    def _prefill(self, batch: _Batch) -> Tensor:
        """Run each prompt once, and give every row a copy of its prompt's cache."""
        first = {row.prompt: row for row in reversed(batch.rows)}
        rows, place = list(first.values()), {p: i for i, p in enumerate(first)}
        padding = [batch.width - len(row.prompt_ids) for row in rows]
        column_L = torch.arange(batch.width, device=batch.device)
        logits_PV = self._forward(
            input_ids=torch.tensor(
                [[0] * pad + list(row.prompt_ids) for pad, row in zip(padding, rows, strict=True)],
                device=batch.device,
            ),
            attention_mask=batch.mask(rows),
            position_ids=(column_L - batch.column(padding)).clamp(min=0),
            past_key_values=batch.cache,
        )
        row_B = torch.tensor([place[row.prompt] for row in batch.rows], device=batch.device)
        batch.cache.batch_select_indices(row_B)
        return logits_PV[row_B]

    def _advance(self, batch: _Batch) -> Tensor:
        """Feed the last drawn tokens to the model."""
        return self._forward(
            input_ids=batch.column([row.ids[-1] for row in batch.rows]),
            attention_mask=batch.mask(batch.rows),
            position_ids=batch.column(
                [len(row.prompt_ids) + len(row.ids) - 1 for row in batch.rows]
            ),
            past_key_values=batch.cache,
        )

    def _forward(self, **inputs: Any) -> Tensor:
        """Return the next token's logits (B, V)."""
        use_cache = "past_key_values" in inputs
        logits_B1V: Tensor = self._model(**inputs, use_cache=use_cache, logits_to_keep=1).logits
        return logits_B1V[:, -1]

    def _draw(
        self, rows: Sequence[_Row], logits_BV: Tensor, sampling: Sampling
    ) -> tuple[list[int], list[float]]:
        """Draw one token for each row; return the tokens and their log-probabilities."""
        p_BV = _probabilities(logits_BV, sampling)
        exponential_BV = _exponentials(rows, p_BV)
        best = (p_BV / exponential_BV).topk(2, dim=-1)
        token_B = best.indices[:, 0]
        if self._settles_ties:
            ties_B = best.values[:, 1] > best.values[:, 0] * (1 - TIE)
            for b in ties_B.nonzero().flatten().tolist():
                ids = [*rows[b].prompt_ids, *rows[b].ids]
                logits_1V = self._forward(input_ids=torch.tensor([ids], device=p_BV.device))
                token_B[b] = (_probabilities(logits_1V, sampling)[0] / exponential_BV[b]).argmax()
        return token_B.tolist(), p_BV.gather(1, token_B[:, None]).log().squeeze(1).tolist()

    def _finished(self, row: _Row) -> Finished:
        assert row.finish_reason
        text = decode(self._policy.tokenizer, row.ids)
        sample = Sample(tuple(row.ids), tuple(row.logprobs), row.finish_reason, text)
        return Finished(row.prompt, row.k, sample)


def _probabilities(logits_BV: Tensor, sampling: Sampling) -> Tensor:
    """Return what is drawn from (B, V): the scaled softmax, or its most likely part (top-p)."""
    p_BV = (logits_BV.float() / sampling.temperature).softmax(dim=-1)
    if sampling.top_p == 1:
        return p_BV
    sorted_BV, index_BV = p_BV.sort(dim=-1, descending=True)
    # A token stays if those before it do not have the total yet; the first always does.
    before_BV = sorted_BV.cumsum(dim=-1) - sorted_BV
    kept_BV = torch.where(before_BV < sampling.top_p, sorted_BV, 0)
    return torch.zeros_like(p_BV).scatter(1, index_BV, kept_BV / kept_BV.sum(-1, keepdim=True))


def _exponentials(rows: Sequence[_Row], like_BV: Tensor) -> Tensor:
    """Draw from Exp(1) (B, V), each row from its own generator.

    The uniform numbers are float64: in float32 they are too coarse where the rarest tokens win.
    """
    uniform_BV = torch.empty_like(like_BV, dtype=torch.float64)
    for row, uniform_V in zip(rows, uniform_BV, strict=True):
        uniform_V.uniform_(generator=row.generator)
    return uniform_BV.log_().neg_().to(like_BV.dtype)
