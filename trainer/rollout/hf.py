"""Rollout with the policy's own transformers model: batched sampling with a KV cache.

Shapes: B rows being decoded, C completion tokens, L tokens in the cache, V vocabulary.

A sample must not depend on its neighbours: the same (stream, prompt id, k) gives the same ids in
any batch, so that runs can be repeated on a machine with other limits, and a resumed run equals one
that never stopped. Two things make it so:

- Each sample has its own random generator, seeded by a hash of (stream, prompt id, k). Token t is
  argmax(logits / temperature + Gumbel noise), an exact draw from the softmax (the Gumbel-max
  trick), with noise from that generator alone.
- Batching changes the logits by rounding (about 1e-6), which flips the argmax where two candidates
  nearly tie. A tie closer than `TIE` is decided by logits computed anew from that sample's ids
  alone, batch of one and no cache: the one computation that is the same everywhere. It happens
  once in some ten thousand tokens. Below float32 the rounding is too coarse for that and the rule
  is off: there batching can change a sample.

Prompts are padded on the left. The mask comes from lengths, never from token values: the padding
id may well be a real token. A prompt is prefilled once and its cache repeated for its group.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import Cache, DynamicCache

from trainer.policy import Policy
from trainer.rollout import Group, Prompt, Sample

TIE = 1e-4
"""Difference of two perturbed log-probabilities under which rounding may decide between them."""


@dataclass(frozen=True)
class _Row:
    """One sample to be drawn."""

    prompt: Prompt
    sample: int
    """k: index within the group."""


class _Batch:
    """Rows decoded together: what they have so far, and the state of those that go on."""

    def __init__(
        self, rows: Sequence[_Row], stream: str, max_new_tokens: int, device: torch.device
    ):
        size, shape = len(rows), (len(rows), max_new_tokens)
        self.rows = rows
        self.ids_BC = torch.zeros(shape, dtype=torch.long, device=device)
        self.logprobs_BC = torch.zeros(shape, dtype=torch.float64, device=device)
        self.lengths = torch.zeros(size, dtype=torch.long, device=device)
        self.stopped = torch.zeros(size, dtype=torch.bool, device=device)
        # From here on, one entry for each row that is still being decoded.
        self.alive_B = torch.arange(size, device=device)
        self.generators = [
            torch.Generator(device).manual_seed(stream_seed(stream, row.prompt.id, row.sample))
            for row in rows
        ]
        self.logits_BV = torch.empty(0)
        self.cache: Cache = DynamicCache()
        self.mask_BL = torch.empty(0)
        self.position_B = torch.empty(0)

    def record(self, token_B: Tensor, logprob_B: Tensor, ends_B: Tensor) -> None:
        """Append one token to each live row."""
        at = self.lengths[self.alive_B]
        self.ids_BC[self.alive_B, at] = token_B
        self.logprobs_BC[self.alive_B, at] = logprob_B
        self.lengths[self.alive_B] += 1
        self.stopped[self.alive_B] = ends_B

    def keep(self, kept_B: Tensor) -> None:
        """Drop the other rows from what is still being decoded."""
        index = kept_B.nonzero().squeeze(1)
        self.alive_B = self.alive_B[index]
        self.generators = [self.generators[i] for i in index.tolist()]
        self.cache.batch_select_indices(index)
        self.mask_BL = self.mask_BL[index]
        self.position_B = self.position_B[index]

    def history(self, live_row: int) -> list[int]:
        """Return prompt and completion ids of the live row with this index."""
        r = int(self.alive_B[live_row])
        return [*self.rows[r].prompt.ids, *self.ids_BC[r, : int(self.lengths[r])].tolist()]


def stream_seed(stream: str, prompt_id: str, sample: int) -> int:
    """Hash the name of a sample into the seed of its random generator."""
    name = json.dumps([stream, prompt_id, sample])
    digest = hashlib.blake2b(name.encode(), digest_size=8, key=b"rollout").digest()
    return int.from_bytes(digest, "big") >> 1  # torch takes signed 64-bit seeds


class HFEngine:
    """Samples with a policy's own model; there are no second weights to keep in step."""

    def __init__(self, policy: Policy, *, max_rows: int = 512) -> None:
        self._policy = policy
        self._max_rows = max_rows
        self._eos = torch.tensor(sorted(policy.eos_ids), dtype=torch.long, device=policy.device)
        self._settles_ties = policy.compute_dtype == torch.float32

    @torch.inference_mode()
    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        num_samples: int,
        max_new_tokens: int,
        temperature: float,
        stream: str,
    ) -> list[Group]:
        """Sample completions; see `RolloutEngine`."""
        # Sorted by prompt length, the batches carry little padding.
        order = sorted(range(len(prompts)), key=lambda p: len(prompts[p].ids))
        rows = [_Row(prompts[p], k) for p in order for k in range(num_samples)]
        samples: list[Sample] = []
        with self._policy.autocast():
            for start in range(0, len(rows), self._max_rows):
                part = rows[start : start + self._max_rows]
                batch = _Batch(part, stream, max_new_tokens, self._policy.device)
                samples += self._decode(batch, max_new_tokens, temperature)
        groups = {
            p: Group(prompts[p], tuple(samples[i * num_samples : (i + 1) * num_samples]))
            for i, p in enumerate(order)
        }
        return [groups[p] for p in range(len(prompts))]

    def _decode(self, batch: _Batch, max_new_tokens: int, temperature: float) -> list[Sample]:
        self._prefill(batch)
        for t in range(max_new_tokens):
            token_B, logprob_B = self._draw(batch, temperature)
            ends_B = torch.isin(token_B, self._eos)
            batch.record(token_B, logprob_B, ends_B)
            if t + 1 == max_new_tokens or bool(ends_B.all()):
                break
            if bool(ends_B.any()):
                batch.keep(~ends_B)
            self._advance(batch, token_B[~ends_B])
        return self._finish(batch)

    def _prefill(self, batch: _Batch) -> None:
        """Run each distinct prompt once, and give every row a copy of its prompt's cache."""
        first_row = {row.prompt.id: row.prompt for row in batch.rows}
        index = {prompt_id: i for i, prompt_id in enumerate(first_row)}
        width = max(len(prompt.ids) for prompt in first_row.values())
        padding = [width - len(prompt.ids) for prompt in first_row.values()]
        device = self._policy.device
        ids_PL = torch.tensor(
            [[0] * pad + list(p.ids) for pad, p in zip(padding, first_row.values(), strict=True)],
            device=device,
        )
        pad_P1 = torch.tensor(padding, device=device)[:, None]
        column_L = torch.arange(width, device=device)
        mask_PL = column_L >= pad_P1
        output = self._policy.model(
            input_ids=ids_PL,
            attention_mask=None if not any(padding) else mask_PL.long(),
            position_ids=(column_L - pad_P1).clamp(min=0),
            past_key_values=batch.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        row_B = torch.tensor([index[row.prompt.id] for row in batch.rows], device=device)
        batch.cache.batch_select_indices(row_B)
        batch.logits_BV = output.logits[row_B, -1]
        batch.mask_BL = mask_PL[row_B]
        batch.position_B = (width - pad_P1.squeeze(1))[row_B]

    def _draw(self, batch: _Batch, temperature: float) -> tuple[Tensor, Tensor]:
        """Draw one token for each live row; return it and its log-probability."""
        logprobs_BV = _log_softmax(batch.logits_BV, temperature)
        noise_BV = _gumbel_noise(batch.generators, logprobs_BV)
        perturbed_BV = logprobs_BV + noise_BV
        token_B = perturbed_BV.argmax(-1)
        if self._settles_ties:
            best_B2 = perturbed_BV.topk(2, dim=-1).values
            for b in (best_B2[:, 0] - best_B2[:, 1] < TIE).nonzero().flatten().tolist():
                logprobs_V = _log_softmax(self._logits_alone(batch.history(b)), temperature)
                token_B[b] = (logprobs_V + noise_BV[b]).argmax()
        return token_B, logprobs_BV.gather(1, token_B[:, None]).squeeze(1)

    def _logits_alone(self, ids: list[int]) -> Tensor:
        """Return the next token's logits (V,), computed from these ids and nothing else."""
        ids_1L = torch.tensor([ids], device=self._policy.device)
        output = self._policy.model(input_ids=ids_1L, use_cache=False, logits_to_keep=1)
        logits_V: Tensor = output.logits[0, -1]
        return logits_V

    def _advance(self, batch: _Batch, token_B: Tensor) -> None:
        """Feed the drawn tokens to the model."""
        ones_B1 = batch.mask_BL.new_ones(len(token_B), 1)
        batch.mask_BL = torch.cat([batch.mask_BL, ones_B1], dim=1)
        output = self._policy.model(
            input_ids=token_B[:, None],
            attention_mask=None if bool(batch.mask_BL.all()) else batch.mask_BL.long(),
            position_ids=batch.position_B[:, None],
            past_key_values=batch.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        batch.position_B = batch.position_B + 1
        batch.logits_BV = output.logits[:, -1]

    def _finish(self, batch: _Batch) -> list[Sample]:
        ids, logprobs = batch.ids_BC.tolist(), batch.logprobs_BC.tolist()
        lengths, stopped = batch.lengths.tolist(), batch.stopped.tolist()
        texts = self._policy.tokenizer.batch_decode(
            [row[:n] for row, n in zip(ids, lengths, strict=True)],
            skip_special_tokens=True,
            clean_up_tokenization_spaces=False,
        )
        return [
            Sample(
                ids=tuple(ids[r][:n]),
                logprobs=tuple(logprobs[r][:n]),
                finish_reason="stop" if stopped[r] else "length",
                text=texts[r],
            )
            for r, n in enumerate(lengths)
        ]


def _log_softmax(logits: Tensor, temperature: float) -> Tensor:
    """Normalise the logits divided by the temperature, in float64."""
    return torch.log_softmax(logits.double() / temperature, dim=-1)


def _gumbel_noise(generators: Sequence[torch.Generator], like_BV: Tensor) -> Tensor:
    """Draw Gumbel noise (B, V), each row from its own generator."""
    exponential_BV = torch.empty_like(like_BV)
    for row_V, generator in zip(exponential_BV, generators, strict=True):
        row_V.exponential_(generator=generator)
    return -exponential_BV.log()
