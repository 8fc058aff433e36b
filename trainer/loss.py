"""The GRPO loss.

    ratio   = pi(o_t) / pi_old(o_t)
    L_t     = -min(ratio A, clip(ratio, 1 - eps, 1 + eps) A) + beta k3_t
    k3_t    = pi_ref / pi - log(pi_ref / pi) - 1

DeepSeekMath (arXiv 2402.03300) equations 3 and 4; k3 is the non-negative, low-variance estimator
of KL(pi || pi_ref) of joschu.net/blog/kl-approx.html. The KL is part of the loss and carries a
gradient.

Shapes: B sequences, C completion tokens. A `mask_BC` selects; nothing is multiplied by a mask,
for 0 x NaN is NaN.

How tokens are averaged:

- "token": the mean over all completion tokens of the step (DAPO, arXiv 2503.14476, equation 8).
  The default: every token weighs the same.
- "sequence": the mean over completions of each one's token mean (DeepSeekMath). Tokens of long
  completions weigh less, which Dr. GRPO (arXiv 2503.20783) shows to favour long wrong ones.

Departures: both means are over all that takes part in the optimiser step, not over a micro-batch or
a group. The caller passes that one denominator, so the gradient does not depend on how the step is
cut up. The log-ratios of k3 are clamped to +-20 lest exp overflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.config import LossAggregation

MAX_LOG_RATIO = 20.0


@dataclass(frozen=True)
class LossTerms:
    """What one micro-batch adds to the step."""

    loss: Tensor
    """Scalar; the sum over micro-batches is the loss of the step."""
    kl_sum: float
    """Sum of k3 over the micro-batch's tokens."""
    clipped_count: int
    """Tokens whose clipped term is the smaller one, so that they carry no policy gradient."""


def grpo_loss(
    logprobs_BC: Tensor,
    old_logprobs_BC: Tensor,
    ref_logprobs_BC: Tensor | None,
    advantages_B: Tensor,
    mask_BC: Tensor,
    *,
    clip_eps: float,
    beta: float,
    aggregation: LossAggregation,
    denominator: int,
) -> LossTerms:
    """Compute a micro-batch's share of the loss.

    Args:
        logprobs_BC: Under the policy; carries the gradient.
        old_logprobs_BC: Under the policy that sampled.
        ref_logprobs_BC: Under the reference; None if beta is 0.
        advantages_B: One for each completion.
        mask_BC: True at completion tokens.
        clip_eps: Half-width of the trust region of the ratio.
        beta: Weight of the KL term.
        aggregation: How tokens are averaged.
        denominator: Tokens ("token") or completions ("sequence") of the whole optimiser step.
    """
    zeros_BC = torch.zeros_like(logprobs_BC)
    advantages_B1 = advantages_B[:, None].to(logprobs_BC.dtype)
    ratio_BC = torch.where(mask_BC, logprobs_BC - old_logprobs_BC, zeros_BC).exp()
    free_BC = ratio_BC * advantages_B1
    clipped_BC = ratio_BC.clamp(1 - clip_eps, 1 + clip_eps) * advantages_B1
    token_loss_BC = -torch.minimum(free_BC, clipped_BC)
    kl_sum = 0.0
    if ref_logprobs_BC is not None:
        log_ratio_BC = torch.where(mask_BC, ref_logprobs_BC - logprobs_BC, zeros_BC)
        kl_BC = k3(log_ratio_BC)
        token_loss_BC = token_loss_BC + beta * kl_BC
        kl_sum = float(kl_BC.detach().sum())  # k3(0) = 0: padding adds nothing
    token_loss_BC = torch.where(mask_BC, token_loss_BC, zeros_BC)
    return LossTerms(
        loss=_aggregate(token_loss_BC, mask_BC, aggregation) / denominator,
        kl_sum=kl_sum,
        clipped_count=int((mask_BC & (clipped_BC < free_BC)).sum()),
    )


def k3(log_ratio: Tensor) -> Tensor:
    """Estimate KL(pi || pi_ref) per token from log(pi_ref / pi)."""
    log_ratio = log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    # expm1 keeps the digits that exp(x) - 1 loses near 0, where the whole of training happens.
    return torch.expm1(log_ratio) - log_ratio


def _aggregate(token_loss_BC: Tensor, mask_BC: Tensor, aggregation: LossAggregation) -> Tensor:
    if aggregation == "token":
        return token_loss_BC.sum()
    # A completion has at least one token, its end-of-sequence; the clamp is for padded rows.
    return (token_loss_BC.sum(1) / mask_BC.sum(1).clamp(min=1)).sum()


def step_denominator(lengths: list[int], aggregation: LossAggregation) -> int:
    """Return the denominator of an optimiser step over completions of these lengths.

    It counts what is left after every mask: completions that are unjudged or whose group has no
    spread are not among the lengths.
    """
    return max(1, sum(lengths) if aggregation == "token" else len(lengths))
