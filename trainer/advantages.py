"""Group-relative advantages (DeepSeekMath, arXiv 2402.03300, section 4.1.2).

    A_i = (r_i - mean(r)) / (std(r) + eps)        over the completions of one prompt

Shapes: P prompts, G completions of each.

Choices where the paper is silent, and departures from it:

- std is the population's (divided by G): the group is all there is, not a sample of something.
- Completions that could not be judged leave the group: they enter neither mean nor std and get no
  advantage. They are not zeros.
- A group whose judged rewards do not spread (max - min <= eps) leaves the loss entirely, KL and
  denominator included, as in DAPO (arXiv 2503.14476, section 3.2). Spread is asked of max - min:
  the std of equal floats can be 1e-8 and not 0, and dividing by it would invent a signal.
- The spread is that of the reward, shaping included. DAPO's filter reads correctness alone; here a
  group that is all right or all wrong and differs in form or length still teaches those, at full
  strength, since dividing by the std forgets how small the shaping's weight is. A run that is to
  learn a form alone needs these groups; `groups/shaping_only_frac` tells how many they are.
- A group with fewer than two judged completions has nothing to compare and leaves as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Advantages:
    """Advantages of a batch of groups, and what takes part in the loss."""

    advantages_PG: Tensor
    """float64; 0 where `kept_PG` is false."""
    kept_PG: Tensor
    """Judged, and in a group with spread."""
    zero_variance_P: Tensor
    """Groups with at least two judged completions, all of the same reward."""


def group_advantages(rewards_PG: Tensor, judged_PG: Tensor, *, eps: float) -> Advantages:
    """Compare each reward with those of its group.

    Args:
        rewards_PG: Rewards; whatever stands where `judged_PG` is false is ignored, NaN included.
        judged_PG: Which completions could be judged.
        eps: Added to the std, and the spread up to which a group counts as constant.
    """
    rewards_PG = rewards_PG.double()
    count_P1 = judged_PG.sum(1, keepdim=True)
    safe_count_P1 = count_P1.clamp(min=1)
    zeros_PG = torch.zeros_like(rewards_PG)
    mean_P1 = torch.where(judged_PG, rewards_PG, zeros_PG).sum(1, keepdim=True) / safe_count_P1
    centred_PG = torch.where(judged_PG, rewards_PG - mean_P1, zeros_PG)
    std_P1 = (centred_PG.square().sum(1, keepdim=True) / safe_count_P1).sqrt()
    spread_P1 = _masked_range(rewards_PG, judged_PG)
    informative_P1 = (count_P1 >= 2) & (spread_P1 > eps)
    kept_PG = judged_PG & informative_P1
    return Advantages(
        advantages_PG=torch.where(kept_PG, centred_PG / (std_P1 + eps), zeros_PG),
        kept_PG=kept_PG,
        zero_variance_P=((count_P1 >= 2) & (spread_P1 <= eps)).squeeze(1),
    )


def _masked_range(values_PG: Tensor, mask_PG: Tensor) -> Tensor:
    """Return max - min (P, 1) over the masked entries; -inf where there are none."""
    infinity = torch.tensor(float("inf"), dtype=values_PG.dtype, device=values_PG.device)
    highest_P1 = torch.where(mask_PG, values_PG, -infinity).amax(1, keepdim=True)
    lowest_P1 = torch.where(mask_PG, values_PG, infinity).amin(1, keepdim=True)
    return highest_P1 - lowest_P1
