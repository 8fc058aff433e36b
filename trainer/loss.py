"""The loss: what is clipped, how tokens are averaged, what is added.

    ratio_t = pi(o_t) / pi_old(o_t)                       a token's, or one for its completion
    L_t     = -w_t min(ratio_t A_t, clip(ratio_t, 1 - low, 1 + high) A_t)
              + beta KL_t - entropy_coef H_t

w_t is the importance weight between rollout and trainer, a constant (`correction_weights`).

Shapes: N completion tokens of a micro-batch, S its completions; `sequence_N` says whose a token is.

| loss    | paper                            | average   | ratio    | low, high  |
|---------|----------------------------------|-----------|----------|------------|
| grpo    | DeepSeekMath, 2402.03300, eq. 3  | sequences | token    | 0.2, 0.2   |
| dr_grpo | Dr. GRPO, 2503.20783, section 3  | fixed     | token    | 0.2, 0.2   |
| dapo    | DAPO, 2503.14476, eq. 8          | tokens    | token    | 0.2, 0.28  |
| bnpo    | TRL's name for dapo unless high  | tokens    | token    | 0.2, 0.2   |
| gspo    | GSPO, 2507.18071, eq. 5 and 13   | sequences | sequence | 3e-4, 4e-4 |
| cispo   | MiniMax-M1, 2506.13585, eq. 4, 5 | tokens    | token    | none, 4    |

- tokens: the mean over all tokens; every token weighs the same.
- sequences: the mean over completions of each one's token mean. Tokens of long completions weigh
  less, which Dr. GRPO shows to favour long wrong ones.
- fixed: the sum over tokens / (completions x max_new_tokens).
- gspo's ratio is the geometric mean of its tokens' ratios. It enters as sg[ratio] pi / sg[pi], so
  that each token may have an advantage of its own; where these are equal the gradient is the same.
- cispo clips the weight, not the update: -sg[min(ratio, 1 + high)] A log pi. Every token keeps a
  gradient. There is no lower bound unless clip_eps sets one.

Departures from the papers:

- Every mean is over all that takes part in the optimiser step, on all ranks, not over a
  micro-batch or a group, and is taken after every mask: what weighs 0 leaves loss, KL and
  denominator. The caller passes that one denominator, so that the gradient does not depend on how
  the step is cut up. bnpo's is local in TRL.
- Log-ratios count up to 20 where they are exponentiated, lest exp overflows.
- Masked tokens count neither in gspo's mean nor in the length of their completion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from trainer.config import Config

KLEstimator = Literal["k1", "k2", "k3"]

MAX_LOG_RATIO = 20.0


@dataclass(frozen=True)
class Objective:
    """What is minimised, with every setting resolved."""

    aggregation: Literal["token", "sequence", "fixed"]
    ratio: Literal["token", "sequence"] = "token"
    clip_low: float = 0.2
    clip_high: float = 0.2
    clips_weight: bool = False
    """The clipped ratio is a constant that weighs log pi (cispo)."""
    dual_clip: float = 0.0
    beta: float = 0.0
    kl_estimator: KLEstimator = "k3"
    entropy_coef: float = 0.0
    max_new_tokens: int = 1
    """The token budget of a completion, for "fixed"."""


OBJECTIVES: dict[str, Objective] = {
    "grpo": Objective("sequence"),
    "dr_grpo": Objective("fixed"),
    "dapo": Objective("token", clip_high=0.28),
    "bnpo": Objective("token"),
    "gspo": Objective("sequence", ratio="sequence", clip_low=3e-4, clip_high=4e-4),
    "cispo": Objective("token", clip_low=math.inf, clip_high=4.0, clips_weight=True),
}


def objective_of(config: Config) -> Objective:
    """Resolve the settings of the loss.

    clip_eps given alone moves both sides of the losses that are symmetric by themselves; the
    others keep the high side of their paper.
    """
    own = OBJECTIVES[config.loss]
    low = own.clip_low if config.clip_eps is None else config.clip_eps
    high = low if own.clip_low == own.clip_high else own.clip_high
    return replace(
        own,
        clip_low=low,
        clip_high=high if config.clip_eps_high is None else config.clip_eps_high,
        dual_clip=config.dual_clip,
        beta=config.beta if config.kl_in == "loss" else 0.0,
        kl_estimator=config.kl_estimator,
        entropy_coef=config.entropy_coef,
        max_new_tokens=config.max_new_tokens,
    )


@dataclass(frozen=True)
class LossTerms:
    """What one micro-batch adds to the step; everything is additive over micro-batches and ranks.

    `sums` are scalars in float64 without a graph, left on the device lest each costs a wait:
    "tokens" that take part and "masked" ones that do not, "weight" (importance weights of both),
    and over those that take part "clipped_low" and "clipped_high" (tokens below and above the
    trust region whose clipped term binds, so that they carry no policy gradient; for cispo those
    whose weight is bounded), and "kl" and "entropy" where they were given.
    """

    loss: Tensor
    """Scalar; the sum over micro-batches is the loss of the step."""
    sums: dict[str, Tensor]


def policy_loss(
    logprobs_N: Tensor,
    old_logprobs_N: Tensor,
    ref_logprobs_N: Tensor | None,
    entropy_N: Tensor | None,
    advantages_N: Tensor,
    weights_N: Tensor,
    sequence_N: Tensor,
    num_sequences: int,
    *,
    objective: Objective,
    denominator: float,
) -> LossTerms:
    """Compute a micro-batch's share of the step's loss.

    Args:
        logprobs_N: Under the policy, in nats; carries the gradient.
        old_logprobs_N: Under the policy at the rollout, as the trainer computes it.
        ref_logprobs_N: Under the reference, if there is one.
        entropy_N: Of the policy at each token, if wanted; carries the gradient of the bonus.
        advantages_N: One for each token.
        weights_N: From `correction_weights`; where it is 0 the token leaves, and whatever else
            stands there is ignored, NaN included.
        sequence_N: Index of the completion that a token belongs to.
        num_sequences: S.
        objective: What is minimised.
        denominator: From `step_denominator`.
    """
    kept_N = weights_N != 0

    def keep(x_N: Tensor) -> Tensor:
        # Never a product with the mask: 0 x NaN is NaN. With all inputs 0 a token adds exactly 0.
        return torch.where(kept_N, x_N, 0).to(logprobs_N.dtype)

    kept_logprobs_N, advantages_N = keep(logprobs_N), keep(advantages_N)
    log_ratio_N = kept_logprobs_N - keep(old_logprobs_N)
    if objective.ratio == "sequence":
        mean_N = _sequence_mean(log_ratio_N.detach(), kept_N, sequence_N, num_sequences)
        log_ratio_N = mean_N + log_ratio_N - log_ratio_N.detach()
    ratio_N = log_ratio_N.clamp(max=MAX_LOG_RATIO).exp()
    gain_N, binds_N = _clipped_gain(ratio_N, kept_logprobs_N, advantages_N, objective)
    loss_N = -keep(weights_N) * gain_N
    sums = {
        "tokens": kept_N,
        "masked": ~kept_N,
        "weight": weights_N,
        "clipped_low": binds_N & (ratio_N < 1),
        "clipped_high": binds_N & (ratio_N > 1),
    }
    if ref_logprobs_N is not None:
        sums["kl"] = kl_estimate(keep(ref_logprobs_N) - kept_logprobs_N, objective.kl_estimator)
        loss_N = loss_N + objective.beta * sums["kl"]
    if entropy_N is not None:
        sums["entropy"] = keep(entropy_N)
        loss_N = loss_N - objective.entropy_coef * sums["entropy"]
    if objective.aggregation == "sequence":
        loss_N = loss_N / _kept_tokens(kept_N, sequence_N, num_sequences).clamp(min=1)[sequence_N]
    return LossTerms(
        loss=loss_N.sum() / denominator,
        sums={name: x_N.detach().sum(dtype=torch.float64) for name, x_N in sums.items()},
    )


def _clipped_gain(
    ratio_N: Tensor, logprobs_N: Tensor, advantages_N: Tensor, objective: Objective
) -> tuple[Tensor, Tensor]:
    """Return what is to be raised, and where a bound decides it."""
    bounded_N = ratio_N.clamp(1 - objective.clip_low, 1 + objective.clip_high)
    if objective.clips_weight:
        return bounded_N.detach() * advantages_N * logprobs_N, bounded_N != ratio_N
    free_N = ratio_N * advantages_N
    gain_N = torch.minimum(free_N, bounded_N * advantages_N)
    if objective.dual_clip:
        # min() leaves a bad token's ratio unbounded above (dual clip, arXiv 1912.09729).
        floor_N = objective.dual_clip * advantages_N
        gain_N = torch.where(advantages_N < 0, torch.maximum(gain_N, floor_N), gain_N)
    return gain_N, gain_N != free_N


def kl_estimate(log_ratio: Tensor, estimator: KLEstimator) -> Tensor:
    """Estimate KL(pi || ref) at each token from the sampled one (joschu.net/blog/kl-approx.html).

    The estimates differ as losses, since the gradient passes through them but not through the
    sampling. On-policy, in expectation:

    - k1 = -x has no gradient at all. It belongs into the reward.
    - k2 = x^2 / 2 has the gradient of KL(pi || ref).
    - k3 = e^x - x - 1 has the gradient of KL(ref || pi), whose minimum is the same; it is never
      negative, and DeepSeekMath's choice (eq. 4).

    Args:
        log_ratio: x = log(ref / pi), in nats.
        estimator: Which one.
    """
    if estimator == "k1":
        return -log_ratio
    if estimator == "k2":
        return log_ratio.square() / 2
    # Bounded above alone: where the policy is the likelier one nothing overflows, and clamping
    # would take away the way back. expm1 keeps the digits that e^x - 1 loses near 0.
    log_ratio = log_ratio.clamp(max=MAX_LOG_RATIO)
    return torch.expm1(log_ratio) - log_ratio


def correction_weights(
    old_logprobs_N: Tensor,
    rollout_logprobs_N: Tensor,
    sequence_N: Tensor,
    num_sequences: int,
    config: Config,
) -> Tensor:
    """Weigh tokens by pi_old / pi_rollout, the trainer's probability against the sampler's.

    "truncate" caps the weight (TIS, fengyao.notion.site/off-policy-rl); "mask" lets what is
    outside 1/cap .. cap leave the loss (IcePop, arXiv 2510.18855). A completion's
    weight is the geometric mean of its tokens': their product drifts with length, so that a small
    bias of each token would mask nearly all long completions (trl 4772).

    Args:
        old_logprobs_N: Under the policy at the rollout, as the trainer computes it.
        rollout_logprobs_N: As the sampler reported it; NaN (none reported) counts as agreement.
        sequence_N: Index of the completion that a token belongs to.
        num_sequences: S.
        config: For the `rollout_correction` settings.

    Returns:
        Weights (N,) in float64; 0 means that the token leaves the loss.
    """
    if config.rollout_correction == "none":
        return torch.ones_like(rollout_logprobs_N, dtype=torch.float64)
    known_N = ~rollout_logprobs_N.isnan()
    log_ratio_N = torch.where(known_N, old_logprobs_N.double() - rollout_logprobs_N, 0)
    if config.rollout_correction_level == "sequence":
        everything_N = torch.ones_like(known_N)
        log_ratio_N = _sequence_mean(log_ratio_N, everything_N, sequence_N, num_sequences)
    # Bounded below as well: a weight that underflows to 0 would leave the denominator.
    weights_N = log_ratio_N.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()
    cap = config.rollout_correction_cap
    if config.rollout_correction == "truncate":
        return weights_N.clamp(max=cap)
    return torch.where((weights_N >= 1 / cap) & (weights_N <= cap), weights_N, 0)


def denominator_terms(weights_N: Tensor, sequence_N: Tensor, num_sequences: int) -> Tensor:
    """Count what takes part: (tokens, completions), float64; additive over micro-batches."""
    tokens_S = _kept_tokens(weights_N != 0, sequence_N, num_sequences)
    return torch.stack([tokens_S.sum(), (tokens_S > 0).sum()]).double()


def step_denominator(tokens: float, sequences: float, objective: Objective) -> float:
    """Return the denominator of an optimiser step, never 0.

    Args:
        tokens: Tokens that take part in the step, over all micro-batches and ranks.
        sequences: Completions of which any token does.
        objective: For its way of averaging.
    """
    counts = {
        "token": tokens,
        "sequence": sequences,
        "fixed": sequences * objective.max_new_tokens,
    }
    return max(1.0, counts[objective.aggregation])


def _kept_tokens(kept_N: Tensor, sequence_N: Tensor, num_sequences: int) -> Tensor:
    """Count the kept tokens of each completion, (S,)."""
    zeros_S = torch.zeros(num_sequences, dtype=torch.long, device=kept_N.device)
    return zeros_S.index_add(0, sequence_N, kept_N.long())


def _sequence_mean(x_N: Tensor, kept_N: Tensor, sequence_N: Tensor, num_sequences: int) -> Tensor:
    """Average over the kept tokens of each completion, handed to each of its tokens.

    `x_N` is 0 where it is not kept.
    """
    sum_S = x_N.new_zeros(num_sequences).index_add(0, sequence_N, x_N)
    mean_S = sum_S / _kept_tokens(kept_N, sequence_N, num_sequences).clamp(min=1)
    return mean_S[sequence_N]
