"""From scored groups to what the loss sees: shaping, comparison, and what is left out.

Shapes: P prompts, G completions of each.

The reward that is compared is the score's value, with length control on top and, with `kl_in =
"reward"`, less the divergence from the reference:

    r = shaped(value) - beta * sum_t kl_t

Which groups teach anything is asked of the value or of the outcome (`filter_by`), before these
come in: noise of length alone shall not make a gradient (NeMo-RL 2478).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trainer.advantages import Advantages, group_advantages
from trainer.batch import Example
from trainer.config import Config
from trainer.policy import Policy
from trainer.scoring import ScoredGroup
from trainer.shaping import shape
from trainer.supervision import step_advantages
from trainer.update import reference_kl


@dataclass(frozen=True)
class Compared:
    """A rollout's groups after comparison."""

    advantages: Advantages
    examples: list[Example]
    """Completions that take part in the loss."""
    kl: float | None
    """Mean divergence a token, where it went into the rewards."""


def compare_groups(policy: Policy, scored: Sequence[ScoredGroup], config: Config) -> Compared:
    """Compare the completions of each group with each other. Collective if `kl_in` is "reward"."""
    judged_PG = torch.tensor([[s.value is not None for s in g.scores] for g in scored])
    rewards_PG = torch.tensor(
        [
            [
                shape(score, len(sample.ids), config) if score.value is not None else 0.0
                for score, sample in zip(g.scores, g.group.samples, strict=True)
            ]
            for g in scored
        ],
        dtype=torch.float64,
    )
    kl = None
    if config.beta and config.kl_in == "reward":
        kl_PG, kl = _divergence(policy, scored, config)
        rewards_PG -= config.beta * kl_PG
    advantages = group_advantages(
        rewards_PG,
        judged_PG,
        _filtered_by(scored, config),
        config=config,
    )
    return Compared(advantages, _examples(policy, scored, advantages, config), kl)


def _filtered_by(scored: Sequence[ScoredGroup], config: Config) -> Tensor:
    """Return what groups must differ in to teach anything (P, G); 0 for the unjudged."""
    by_outcome = config.filter_by == "outcome"
    return torch.tensor(
        [
            [
                score.outcome if by_outcome and score.outcome is not None else score.value or 0.0
                for score in group.scores
            ]
            for group in scored
        ],
        dtype=torch.float64,
    )


def _divergence(
    policy: Policy, scored: Sequence[ScoredGroup], config: Config
) -> tuple[Tensor, float]:
    """Return the divergence (P, G) of each completion from the reference, and the mean a token."""
    everything = [
        Example(g.group.prompt, sample, (0.0,) * len(sample.ids))
        for g in scored
        for sample in g.group.samples
    ]
    kls = torch.tensor(reference_kl(policy, everything, config), dtype=torch.float64)
    num_tokens = sum(len(example.sample.ids) for example in everything)
    return kls.reshape(len(scored), -1), float(kls.sum()) / num_tokens


def _examples(
    policy: Policy, scored: Sequence[ScoredGroup], advantages: Advantages, config: Config
) -> list[Example]:
    """Collect the samples that take part in the loss, with an advantage for each token."""
    examples = [
        Example(
            group.group.prompt, sample, (float(advantages.advantages_PG[p, k]),) * len(sample.ids)
        )
        for p, group in enumerate(scored)
        for k, sample in enumerate(group.group.samples)
        if bool(advantages.kept_PG[p, k]) and not (config.mask_truncated and sample.truncated)
    ]
    if not config.process_supervision:
        return examples
    raise NotImplementedError
