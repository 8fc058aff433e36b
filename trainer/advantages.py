"""Group-relative advantages (DeepSeekMath, arXiv 2402.03300, section 4.1.2).

    A_i = (r_i - baseline_i) / (scale + eps)        over the completions of one prompt

- The baseline is the group's mean, or with `leave_one_out` the mean of the others (RLOO,
  arXiv 2402.14740): n / (n - 1) times as far away.
- The scale is the std of the group; of the batch, that is of all that take part in the step, each
  measured from its group's mean; or 1 (Dr. GRPO, arXiv 2503.20783: dividing by a group's std makes
  prompts count most that are nearly always or nearly never solved).

Shapes: P prompts, G completions of the largest group. Smaller groups are padded: a completion that
is not there is treated as one that could not be judged.

Choices where the paper is silent, and departures from it:

- std is the population's (divided by the count): the group is all there is, not a sample of
  something. It is taken around the mean under leave_one_out as well.
- Completions that could not be judged leave the group: they enter neither mean nor std and get no
  advantage. They are not zeros.
- A group that does not spread (max - min <= eps) leaves the loss entirely, KL and denominator
  included, as in DAPO (arXiv 2503.14476, section 3.2), and with `min_group_std` one whose std is
  smaller. Spread is asked of max - min: the std of equal floats can be 1e-8 and not 0, and dividing
  by it would invent a signal. It is never asked of the mean: a group of halves is as void as one of
  zeros.
- Whose spread is asked is apart from what is learned. With filter_by = "outcome", as in DAPO, a
  group that is all right or all wrong leaves. With "value" one that differs in form or length as
  verifiers see them still teaches those, at full strength, since dividing by the std forgets how
  small the shaping's weight is; a run that is to learn a form alone needs these groups. What the
  trainer adds (length control, KL) never makes a group teach.
- A group with fewer than two judged completions has nothing to compare and leaves as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from trainer.config import Config


@dataclass(frozen=True)
class Advantages:
    """Advantages of a batch of groups, and what takes part in the loss."""

    advantages_PG: Tensor
    """float64; 0 where `kept_PG` is false."""
    kept_PG: Tensor
    """Judged, and in a group that teaches."""
    zero_variance_P: Tensor
    """Groups with at least two judged completions, all the same to the filter."""


def pad_groups(values: Sequence[Sequence[float | None]]) -> tuple[Tensor, Tensor]:
    """Put groups of any size side by side.

    Returns:
        The values (P, G) in float64, NaN where there is none, and where there is one.
    """
    width = max([1, *map(len, values)])
    rows = [
        [math.nan if v is None else v for v in g] + [math.nan] * (width - len(g)) for g in values
    ]
    values_PG = torch.tensor(rows, dtype=torch.float64).reshape(-1, width)
    return values_PG, ~values_PG.isnan()


def scale_of(config: Config) -> Literal["group", "batch", "none"]:
    """Resolve advantage_scale."""
    if config.advantage_scale == "auto":
        return "none" if config.loss == "dr_grpo" else "group"
    return config.advantage_scale


def group_advantages(
    rewards_PG: Tensor, judged_PG: Tensor, config: Config, *, filter_PG: Tensor | None = None
) -> Advantages:
    """Compare each reward with those of its group.

    Args:
        rewards_PG: What is learned; whatever stands where `judged_PG` is false is ignored, NaN
            included.
        judged_PG: Which completions are there and could be judged.
        config: For the `advantage_` settings, leave_one_out and min_group_std.
        filter_PG: Whose spread makes a group teach; the rewards themselves when absent.
    """
    eps, rewards_PG = config.advantage_eps, rewards_PG.double()
    filter_PG = rewards_PG if filter_PG is None else filter_PG.double()
    count_P1 = judged_PG.sum(1, keepdim=True)
    constant_P1 = _range(filter_PG, judged_PG) <= eps
    steady_P1 = _std(_centred(filter_PG, judged_PG), count_P1) < config.min_group_std
    unlearnable_P1 = _range(rewards_PG, judged_PG) <= eps
    # Fewer than two do not spread.
    kept_PG = judged_PG & ~(constant_P1 | steady_P1 | unlearnable_P1)

    centred_PG = torch.where(kept_PG, _centred(rewards_PG, judged_PG), 0)
    advantages_PG = centred_PG
    if config.leave_one_out:
        advantages_PG = centred_PG * count_P1 / (count_P1 - 1).clamp(min=1)
    if (scale := scale_of(config)) == "group":
        advantages_PG = advantages_PG / (_std(centred_PG, count_P1) + eps)
    elif scale == "batch":
        spread = (centred_PG.square().sum() / kept_PG.sum().clamp(min=1)).sqrt()
        advantages_PG = advantages_PG / (spread + eps)
    if config.advantage_clip:
        advantages_PG = advantages_PG.clamp(-config.advantage_clip, config.advantage_clip)
    return Advantages(
        advantages_PG=advantages_PG,
        kept_PG=kept_PG,
        zero_variance_P=((count_P1 >= 2) & constant_P1).squeeze(1),
    )


def _centred(values_PG: Tensor, mask_PG: Tensor) -> Tensor:
    """Subtract each group's mean over the masked entries; 0 elsewhere."""
    count_P1 = mask_PG.sum(1, keepdim=True).clamp(min=1)
    mean_P1 = torch.where(mask_PG, values_PG, 0).sum(1, keepdim=True) / count_P1
    return torch.where(mask_PG, values_PG - mean_P1, 0)


def _std(centred_PG: Tensor, count_P1: Tensor) -> Tensor:
    return (centred_PG.square().sum(1, keepdim=True) / count_P1.clamp(min=1)).sqrt()


def _range(values_PG: Tensor, mask_PG: Tensor) -> Tensor:
    """Return max - min (P, 1) over the masked entries; -inf where there are none."""
    highest_P1 = torch.where(mask_PG, values_PG, -math.inf).amax(1, keepdim=True)
    lowest_P1 = torch.where(mask_PG, values_PG, math.inf).amin(1, keepdim=True)
    return highest_P1 - lowest_P1
