"""Process supervision: rewarded steps become token advantages (DeepSeekMath, 2402.03300, 4.1.3).

    r~_j = (r_j - mean(R)) / std(R)                 over all steps R of all completions of a group
    A_t  = the sum of r~_j over the steps j that end at token t or later

A verifier says where steps end in characters (`Score.steps`). The tokens that were sampled are
decoded to find which of them completes a step; text is never encoded again.

Choices where the paper is silent:

- A judged completion without steps, beside others that have some, is one step worth its reward:
  were it left out, a policy could escape the judgement by giving nothing to judge.
- What the trainer adds to a value (length control, KL) is added to the last step, and so counts
  for every token up to it.
- Unjudged completions are left out. Step rewards that do not spread teach nothing, and eps, scale
  and min_group_std hold, as for outcomes (`advantages`); steps are compared with the mean of all
  of them, so leave_one_out does not apply; advantage_clip bounds the sums.
- Tokens after the last step, the end of the sequence among them, get 0, as the equation says.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from transformers import PreTrainedTokenizerBase

from rewards import Score
from trainer.advantages import group_advantages, pad_groups
from trainer.config import Config
from trainer.rollout import Sample

STRIDE = 32
"""Tokens decoded together on the way to the next step's end."""


@dataclass(frozen=True)
class StepRewards:
    """The rewarded steps of a completion, in their order."""

    ends: tuple[int, ...]
    """Index of the last token of each step."""
    values: tuple[float, ...]
    """As the verifier gave them; their spread makes a group teach."""
    rewards: tuple[float, ...]
    """With what the trainer added."""
    num_tokens: int
    """Tokens of the whole completion."""


def step_rewards(
    sample: Sample, score: Score, reward: float, tokenizer: PreTrainedTokenizerBase
) -> StepRewards:
    """Find the tokens that end a judged completion's steps.

    Args:
        sample: The completion.
        score: Its judgement.
        reward: Its value with what the trainer added.
        tokenizer: Decodes the sampled ids.
    """
    assert score.value is not None, "what is unjudged has no steps"
    last = len(sample.ids) - 1
    ends: tuple[int, ...] = (last,)
    values: tuple[float, ...] = (score.value,)
    if score.steps:
        offsets, values = zip(*sorted(score.steps), strict=True)
        ends = end_tokens(sample.ids, offsets, tokenizer)
    rewards = (*values[:-1], values[-1] + reward - score.value)
    return StepRewards(ends, values, rewards, num_tokens=last + 1)


def end_tokens(
    ids: Sequence[int], offsets: Sequence[int], tokenizer: PreTrainedTokenizerBase
) -> tuple[int, ...]:
    """Return for each offset the index of the first token up to which the text is that long.

    The text of a window of ids grows by what its last ids add; how it begins (a space that some
    tokenizers drop, half a character) is the same before and after, and cancels out. So windows of
    2 x STRIDE ids are enough, and the whole is linear in the number of ids.

    Args:
        ids: Sampled token ids.
        offsets: Ascending offsets in characters of their text without special tokens. Those beyond
            its end belong to the last token.
        tokenizer: Decodes the ids.
    """

    def length(first: int, stop: int) -> int:
        # A character that is still incomplete decodes to U+FFFD.
        text = str(tokenizer.decode(list(ids[first:stop]), skip_special_tokens=True))
        return len(text.rstrip("\ufffd"))

    ends = []
    first = start = stop = 0  # ids[start:stop] are searched, in a window that begins at `first`
    before = after = 0  # characters up to start, and up to stop
    for offset in offsets:
        while after < offset and stop < len(ids):
            first, start, stop = start, stop, min(stop + STRIDE, len(ids))
            before, after = after, after + length(first, stop) - length(first, start)
        shift = before - length(first, start)
        inside = bisect_left(range(start, stop), offset, key=lambda i: shift + length(first, i + 1))
        ends.append(min(start + inside, len(ids) - 1))
    return tuple(ends)


def token_advantages(
    groups: Sequence[Sequence[StepRewards | None]], config: Config
) -> list[list[tuple[float, ...] | None]]:
    """Compare the steps of each group, and sum over the future of each token.

    Args:
        groups: The completions of each prompt; None for one that could not be judged.
        config: For the `advantage_` settings and min_group_std.

    Returns:
        An advantage for each token of each completion; None for what leaves the loss.
    """
    judged = [[steps for steps in group if steps] for group in groups]
    values_PG, judged_PG = pad_groups([[v for s in group for v in s.values] for group in judged])
    rewards_PG, _ = pad_groups([[r for s in group for r in s.rewards] for group in judged])
    compared = group_advantages(
        rewards_PG,
        judged_PG,
        replace(config, leave_one_out=False, advantage_clip=0.0),
        filter_PG=values_PG,
    )
    result = []
    for p, group in enumerate(groups):
        normalised = iter(compared.advantages_PG[p].tolist())
        teaches = bool(compared.kept_PG[p].any())
        result.append(
            [
                _sum_over_future(steps, [next(normalised) for _ in steps.rewards], config)
                if steps and teaches
                else None
                for steps in group
            ]
        )
    return result


def _sum_over_future(
    steps: StepRewards, normalised: Sequence[float], config: Config
) -> tuple[float, ...]:
    ending = [0.0] * max(1, steps.num_tokens)  # an empty completion's step ends nowhere
    for end, reward in zip(steps.ends, normalised, strict=True):
        ending[end] += reward
    sums = tuple(accumulate(reversed(ending)))[::-1][: steps.num_tokens]
    bound = config.advantage_clip or math.inf
    return tuple(min(bound, max(-bound, a)) for a in sums)
