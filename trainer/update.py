"""One rollout's worth of learning: forward, loss, backward, optimiser step.

There is one optimiser step an epoch, over everything the rollout brought. In the first epoch the
policy is still the one that sampled, so its own detached log-probabilities are the old ones and the
ratio is exactly 1; later epochs compare with those. The rollout's log-probabilities are not used
for the ratio: how far they are from the trainer's is measured, logged and bounded instead. A large
difference means that the two do not run the same weights, and nothing learned from it is worth
having.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rewards.errors import RewardsError
from trainer.batch import Example, MicroBatch, micro_batches
from trainer.config import Config
from trainer.logprobs import completion_logprobs
from trainer.loss import grpo_loss, step_denominator
from trainer.policy import Policy, apply_gradient

MAX_MEAN_DIFFERENCE = 0.1
"""Mean |log-prob difference| in nats; float32 differs by 1e-6 and bfloat16 by about 0.01."""


class DisagreementError(RewardsError, RuntimeError):
    """Rollout and trainer do not agree on what was sampled."""


@dataclass
class _Sums:
    """Running sums over the micro-batches of one epoch; means are taken over all tokens at once."""

    loss: float = 0.0
    kl: float = 0.0
    clipped: int = 0
    tokens: int = 0
    diff: float = 0.0
    diff_max: float = 0.0


@dataclass
class _Anchors:
    """Log-probabilities (B, C) that a micro-batch's loss compares with."""

    old: Tensor | None = None
    ref: Tensor | None = None


def update_policy(
    policy: Policy, examples: Sequence[Example], config: Config, *, learning_rate: float
) -> dict[str, float]:
    """Learn from the examples of one rollout, and return what happened as metrics.

    Without examples (every group unjudged or without spread) nothing changes and only the loss
    and gradient, both 0, are reported.

    Raises:
        DisagreementError: Before anything is changed, if the trainer's log-probabilities are far
            from the rollout's.
    """
    if not examples:
        return {"loss": 0.0, "grad_norm": 0.0}
    batches = micro_batches(examples, config.micro_batch_size, policy.device)
    denominator = step_denominator(
        [len(example.sample.ids) for example in examples], config.loss_aggregation
    )
    anchors = [_Anchors() for _ in batches]
    epochs = []
    for _ in range(config.epochs_per_rollout):
        sums = _Sums()
        for batch, anchor in zip(batches, anchors, strict=True):
            _accumulate(policy, batch, anchor, config, denominator, sums)
        _check_agreement(sums)
        norm = apply_gradient(
            policy, learning_rate=learning_rate, max_grad_norm=config.max_grad_norm
        )
        epochs.append((sums, norm))
    return _metrics(epochs, with_kl=policy.reference is not None)


def _accumulate(
    policy: Policy,
    batch: MicroBatch,
    anchor: _Anchors,
    config: Config,
    denominator: int,
    sums: _Sums,
) -> None:
    """Add one micro-batch to the gradient and to the sums."""
    with policy.autocast():
        logprobs_BC = completion_logprobs(policy.model, batch, temperature=config.temperature)
        if policy.reference is not None and anchor.ref is None:
            with torch.no_grad():
                anchor.ref = completion_logprobs(
                    policy.reference, batch, temperature=config.temperature
                )
    if anchor.old is None:  # the first epoch
        anchor.old = logprobs_BC.detach()
        diff_BC = (anchor.old.double() - batch.rollout_logprobs_BC).abs()
        sums.diff += float(diff_BC[batch.mask_BC].sum())
        sums.diff_max = max(sums.diff_max, float(diff_BC[batch.mask_BC].max()))
    terms = grpo_loss(
        logprobs_BC,
        anchor.old,
        anchor.ref,
        batch.advantages_B,
        batch.mask_BC,
        clip_eps=config.clip_eps,
        beta=config.beta,
        aggregation=config.loss_aggregation,
        denominator=denominator,
    )
    terms.loss.backward()  # type: ignore[no-untyped-call]
    sums.loss += float(terms.loss.detach())
    sums.kl += terms.kl_sum
    sums.clipped += terms.clipped_count
    sums.tokens += batch.num_tokens


def _check_agreement(sums: _Sums) -> None:
    mean = sums.diff / sums.tokens  # of the first epoch; 0 in the others
    if mean > MAX_MEAN_DIFFERENCE:
        raise DisagreementError(
            f"rollout and trainer differ by {mean:.3f} nats a token (at most "
            f"{MAX_MEAN_DIFFERENCE} is normal): they do not run the same weights; the update was "
            "not made"
        )


def _metrics(epochs: Sequence[tuple[_Sums, float]], *, with_kl: bool) -> dict[str, float]:
    """Average over epochs; the rollout is compared with the trainer in the first one alone."""
    first = epochs[0][0]
    metrics = {
        "loss": sum(sums.loss for sums, _ in epochs) / len(epochs),
        "grad_norm": sum(norm for _, norm in epochs) / len(epochs),
        "clip_frac": sum(sums.clipped / sums.tokens for sums, _ in epochs) / len(epochs),
        "rollout/logprob_diff_mean": first.diff / first.tokens,
        "rollout/logprob_diff_max": first.diff_max,
    }
    if with_kl:
        metrics["kl"] = sum(sums.kl / sums.tokens for sums, _ in epochs) / len(epochs)
    return metrics
