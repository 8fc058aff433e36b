"""Log-probabilities of completions under a model, without ever holding all logits.

Shapes: B sequences, T tokens of prompt and completion, C completion tokens, N completion tokens
without padding, D hidden size, V vocabulary.

Only the positions that predict completion tokens reach the head, and those in chunks that are
recomputed in the backward pass: memory is chunk x V and not B x T x V. Logits below float32 are
raised to float32 before the log-sum-exp, whose rounding would otherwise bias every token.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from trainer.batch import MicroBatch

CHUNK = 1024
"""Tokens whose logits exist at once: 0.6 GB in float32 at a vocabulary of 152k."""


def completion_logprobs(
    model: transformers.PreTrainedModel,
    batch: MicroBatch,
    *,
    temperature: float,
    chunk: int = CHUNK,
) -> Tensor:
    """Return log-probabilities (B, C) of the completion tokens; 0 where there is padding.

    The logits are divided by the temperature of the rollout, so that both sides speak of the
    distribution that was sampled from.
    """
    # use_cache=False: with a cache, some attention paths take other shortcuts for masks.
    hidden_BTD = model.base_model(input_ids=batch.ids_BT, use_cache=False).last_hidden_state
    hidden_ND = hidden_BTD[batch.source_BT]
    logprobs_N = token_logprobs(
        hidden_ND,
        cast(nn.Linear, model.get_output_embeddings()),  # type: ignore[no-untyped-call]
        batch.targets_BC[batch.mask_BC],
        temperature=temperature,
        chunk=chunk,
    )
    zeros_BC = logprobs_N.new_zeros(batch.mask_BC.shape)
    # Both masks run through a row's completion from left to right, so their orders agree.
    return zeros_BC.masked_scatter(batch.mask_BC, logprobs_N)


def token_logprobs(
    hidden_ND: Tensor, head: nn.Linear, targets_N: Tensor, *, temperature: float, chunk: int
) -> Tensor:
    """Return the log-probability (N,) of each target given its hidden state, chunk by chunk."""
    parts = [
        checkpoint(
            _chunk_logprobs,
            hidden_ND[start : start + chunk],
            head,
            targets_N[start : start + chunk],
            temperature,
            use_reentrant=False,
        )
        for start in range(0, len(targets_N), chunk)
    ]
    return torch.cat(parts)


def _chunk_logprobs(
    hidden_nD: Tensor, head: nn.Linear, targets_n: Tensor, temperature: float
) -> Tensor:
    logits_nV = F.linear(hidden_nD, head.weight, head.bias)
    if logits_nV.dtype in (torch.bfloat16, torch.float16):
        logits_nV = logits_nV.float()
    logits_nV = logits_nV / temperature
    picked_n = logits_nV.gather(1, targets_n[:, None]).squeeze(1)
    return picked_n - logits_nV.logsumexp(dim=-1)
