"""Log-probabilities of completions under a model, without ever holding all logits.

Shapes: B rows, T tokens of a row, N completion tokens, n of them in a chunk, S sequences, D hidden
size, V vocabulary.

Only the positions that predict completion tokens reach the head, and those in chunks, of which
all but the last are recomputed in the backward pass: memory is chunk x V and not B x T x V.
Logits below float32 are raised to float32 before the log-sum-exp, whose rounding would otherwise
bias every token.

No attention mask is passed. transformers makes of the positions what each implementation needs:
nothing where each row is one sequence (plain causal attention), a block mask for sdpa, eager and
flex. Two traps (transformers 5.19): with a cache, or with a mask of ones, the sequences of a packed
row see each other; and flash attention reads positions in batches of one row alone, so it is told
where sequences begin.
"""

from __future__ import annotations

from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

CHUNK = 1024
"""Tokens whose logits exist at once: 0.6 GB in float32 at a vocabulary of 152k."""


class TokenLogprobs(nn.Module):
    """A model as a function from ids to log-probabilities; the root of what FSDP shards."""

    def __init__(self, model: transformers.PreTrainedModel, chunk: int = CHUNK) -> None:
        super().__init__()
        self.model = model
        self.chunk = chunk
        self.eval()

    @property
    def uses_flash_attention(self) -> bool:
        """Whether attention is flash attention 2 or 3."""
        return "flash" in str(self.model.config._attn_implementation)

    def forward(
        self,
        ids_BT: Tensor,
        position_BT: Tensor,
        source_N: Tensor,
        targets_N: Tensor,
        *,
        packed: bool,
        temperature: float = 1.0,
        with_entropy: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return each target's log-probability (N,) in nats, and the entropy (N,) if asked for.

        Args:
            ids_BT: Token ids.
            position_BT: Positions; each sequence starts at 0, and padding goes on counting.
            source_N: Flat positions in `ids_BT` whose outputs predict the targets.
            targets_N: Token ids.
            packed: Whether a row holds more than one sequence.
            temperature: The logits are divided by that of the rollout, so that both sides speak of
                the distribution that was sampled from.
            with_entropy: Whether to compute the entropy of that distribution.
        """
        bounds = sequence_bounds(position_BT) if packed and self.uses_flash_attention else {}
        hidden_BTD = self.model.base_model(
            input_ids=ids_BT, position_ids=position_BT, use_cache=False, **bounds
        ).last_hidden_state
        hidden_ND = hidden_BTD.flatten(0, 1)[source_N]
        parts = list(
            zip(hidden_ND.split(self.chunk), targets_N.split(self.chunk), strict=True)  # type: ignore[no-untyped-call]
        )
        chunks = [
            checkpoint(
                self._score_chunk,
                *part,
                temperature,
                with_entropy,
                use_reentrant=False,
                preserve_rng_state=False,
            )
            for part in parts[:-1]
        ]
        # The backward pass begins with the last one, so that keeping its logits costs no memory.
        chunks.append(self._score_chunk(*parts[-1], temperature, with_entropy))
        logprobs_N = torch.cat([logprobs_n for logprobs_n, _ in chunks])
        return logprobs_N, torch.cat([h for _, h in chunks]) if with_entropy else None

    def _score_chunk(
        self, hidden_nD: Tensor, targets_n: Tensor, temperature: float, with_entropy: bool
    ) -> tuple[Tensor, Tensor | None]:
        logits_nV = self.model.get_output_embeddings()(hidden_nD)  # type: ignore[no-untyped-call]
        if logits_nV.dtype in (torch.bfloat16, torch.float16):
            logits_nV = logits_nV.float()
        if temperature != 1:
            logits_nV = logits_nV / temperature
        log_sum_n = logits_nV.logsumexp(dim=-1)
        logprobs_n = logits_nV.gather(1, targets_n[:, None]).squeeze(1) - log_sum_n
        if not with_entropy:
            return logprobs_n, None
        expected_n = (logits_nV.softmax(dim=-1) * logits_nV).sum(dim=-1)
        return logprobs_n, log_sum_n - expected_n


def sequence_bounds(position_BT: Tensor) -> dict[str, Any]:
    """Return what flash attention needs to keep sequences apart, the rows laid end to end."""
    position = position_BT.flatten()
    starts_S = (position == 0).nonzero().squeeze(1)
    ends = torch.cat([starts_S, starts_S.new_tensor([len(position)])])
    longest = int(ends.diff().max())
    bounds = ends.int()
    return {
        "cu_seq_lens_q": bounds,
        "cu_seq_lens_k": bounds,
        "max_length_q": longest,
        "max_length_k": longest,
    }
