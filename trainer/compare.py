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
from dataclasses import dataclass

from torch import Tensor

from trainer.advantages import Advantages, group_advantages, pad_groups
from trainer.batch import Example
from trainer.config import Config
from trainer.policy import Policy
from trainer.scoring import ScoredGroup, correctness
from trainer.shaping import length_penalty
from trainer.supervision import step_rewards, token_advantages
from trainer.update import reference_kl

TokenAdvantages = list[list[tuple[float, ...] | None]]
"""For each completion of each group one advantage a token; None for what leaves the loss."""


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
    values_PG, judged_PG = pad_groups([[score.value for score in g.scores] for g in scored])
    rewards_PG = values_PG - pad_groups([_length_penalties(g, config) for g in scored])[0]
    kl = None
    if config.beta and config.kl_in == "reward":
        kl_PG, kl = _divergence(policy, scored, config)
        rewards_PG = rewards_PG - config.beta * kl_PG
    filter_PG = values_PG
    if config.filter_by == "outcome":
        filter_PG = pad_groups([[correctness(score) for score in g.scores] for g in scored])[0]
    advantages = group_advantages(rewards_PG, judged_PG, config, filter_PG=filter_PG)
    tokens = _by_outcome(scored, advantages)
    if config.process_supervision:
        for p, of_group in _by_step(policy, scored, rewards_PG, config).items():
            tokens[p] = of_group
    examples = [
        Example(group.group.prompt, sample, of_tokens)
        for group, of_group in zip(scored, tokens, strict=True)
        for sample, of_tokens in zip(group.group.samples, of_group, strict=True)
        if of_tokens is not None and not (config.mask_truncated and sample.truncated)
    ]
    return Compared(advantages, examples, kl)


def _length_penalties(group: ScoredGroup, config: Config) -> list[float]:
    return [
        length_penalty(len(sample.ids), correctness(score) or 0.0, config)
        for sample, score in zip(group.group.samples, group.scores, strict=True)
    ]


def _divergence(
    policy: Policy, scored: Sequence[ScoredGroup], config: Config
) -> tuple[Tensor, float]:
    """Return the divergence (P, G) of each completion from the reference, and the mean a token."""
    everything = [
        Example(g.group.prompt, sample, (0.0,) * len(sample.ids))
        for g in scored
        for sample in g.group.samples
    ]
    kls = reference_kl(policy, everything, config)
    num_tokens = sum(len(example.sample.ids) for example in everything)
    rest = iter(kls)
    kl_PG, _ = pad_groups([[next(rest) for _ in g.scores] for g in scored])
    return kl_PG, sum(kls) / num_tokens


def _by_outcome(scored: Sequence[ScoredGroup], advantages: Advantages) -> TokenAdvantages:
    """Give each token of a completion the completion's advantage."""
    return [
        [
            (float(advantages.advantages_PG[p, k]),) * len(sample.ids)
            if bool(advantages.kept_PG[p, k])
            else None
            for k, sample in enumerate(group.group.samples)
        ]
        for p, group in enumerate(scored)
    ]


def _by_step(
    policy: Policy, scored: Sequence[ScoredGroup], rewards_PG: Tensor, config: Config
) -> dict[int, list[tuple[float, ...] | None]]:
    """Give each token what the steps from there on are worth, in groups that have steps."""
    stepped = [p for p, group in enumerate(scored) if any(s.steps for s in group.scores)]
    rewards = [
        [
            step_rewards(sample, score, float(rewards_PG[p, k]), policy.tokenizer)
            if score.judged
            else None
            for k, (sample, score) in enumerate(
                zip(scored[p].group.samples, scored[p].scores, strict=True)
            )
        ]
        for p in stepped
    ]
    return dict(zip(stepped, token_advantages(rewards, config), strict=True))
