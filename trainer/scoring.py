"""Groups of completions to scores, and scores to what the loss sees.

A completion that could not be judged (`value is None`) leaves its group: it is no evidence about
the policy. If nothing can be judged for several steps on end, the machine is broken and the run
stops with the cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

import rewards
from rewards.errors import RewardsError
from trainer.advantages import Advantages, group_advantages
from trainer.batch import Example
from trainer.rollout import Group

MAX_UNJUDGED_STEPS = 3


class UnjudgedError(RewardsError, RuntimeError):
    """Nothing could be judged for several steps on end."""


@dataclass(frozen=True)
class ScoredGroup:
    """A group with one score for each sample, in order."""

    group: Group
    scores: tuple[rewards.Score, ...]


def score_groups(groups: Sequence[Group], specs: Mapping[str, Any]) -> list[ScoredGroup]:
    """Score all samples of all groups in one batch, so that equal ones are judged once.

    Args:
        groups: What was sampled.
        specs: Prompt id -> spec.
    """
    flat = [(group, sample) for group in groups for sample in group.samples]
    scores = iter(
        rewards.score_batch(
            [sample.text for _, sample in flat],
            [specs[group.prompt.id] for group, _ in flat],
            groups=[group.prompt.id for group, _ in flat],
            num_tokens=[len(sample.ids) for _, sample in flat],
            truncated=[sample.truncated for _, sample in flat],
            prompts=[group.prompt.text for group, _ in flat],
        )
    )
    return [ScoredGroup(group, tuple(next(scores) for _ in group.samples)) for group in groups]


def advantages_of(scored: Sequence[ScoredGroup], *, eps: float) -> Advantages:
    """Compute the advantages of scored groups."""
    values_PG = [[score.value for score in group.scores] for group in scored]
    return group_advantages(
        torch.tensor(
            [[0.0 if v is None else v for v in values] for values in values_PG],
            dtype=torch.float64,
        ),
        torch.tensor([[v is not None for v in values] for values in values_PG]),
        eps=eps,
    )


def examples_of(scored: Sequence[ScoredGroup], advantages: Advantages) -> list[Example]:
    """Collect the samples that take part in the loss."""
    return [
        Example(group.group.prompt, sample, float(advantages.advantages_PG[p, k]))
        for p, group in enumerate(scored)
        for k, sample in enumerate(group.group.samples)
        if bool(advantages.kept_PG[p, k])
    ]


@dataclass
class UnjudgedWatch:
    """Stops a run in which nothing can be judged any more."""

    steps: int = 0
    """Steps on end in which no completion could be judged."""

    def see(self, scored: Sequence[ScoredGroup]) -> None:
        """Count a step.

        Raises:
            UnjudgedError: At the third step on end without a single judgement, with the cause.
        """
        scores = [score for group in scored for score in group.scores]
        self.steps = 0 if any(score.value is not None for score in scores) else self.steps + 1
        if self.steps >= MAX_UNJUDGED_STEPS:
            cause, count = Counter(score.reason for score in scores).most_common(1)[0]
            raise UnjudgedError(
                f"no completion could be judged in {self.steps} steps on end; the cause of "
                f"{count} of the last {len(scores)}: {cause} (mend it, then go on with --resume)"
            )
