"""Length control: what a completion's length costs, on top of what it is worth.

    reward = value - length_penalty        0 <= length_penalty <= length_weight < 1

A right answer (1) at its longest is worth more than a wrong one (0) at its best. This holds for
outcomes of 0 and 1; between 0.6 and 0.7 length may decide. Filters read the value or the outcome,
never this reward (`advantages`).

With n tokens, and c = correctness in [0, 1]:

- budget: a line from 0 at length_budget to length_weight at length_budget + length_buffer.
- overlong: the soft overlong punishment of DAPO (arXiv 2503.14476, eq. 13), a line from 0 at
  length_budget - length_buffer to length_weight at length_budget. Departures: times length_weight,
  where DAPO's -1 makes a right answer worth a wrong one; a buffer longer than the budget is the
  budget, so that nothing costs nothing.
- cosine: arXiv 2502.03373. A right answer loses more the longer it is, a wrong one
  the shorter it is (it should have thought on), and what reaches the budget loses all:

      penalty / length_weight = c (1 - x) + (1 - c) x,   x = (1 + cos(pi n / length_budget)) / 2

  Departures: their rewards (1 to 2 if right, -10 to 0 if wrong) are penalties of one size here, on
  top of the value; what is partly right gets a mixture.
"""

from __future__ import annotations

import math

from trainer.config import Config


def length_penalty(num_tokens: int, correctness: float, config: Config) -> float:
    """Return what a completion's length costs, between 0 and length_weight.

    Args:
        num_tokens: Tokens of the completion, end-of-sequence included; may be 0.
        correctness: Its outcome, or where it has none its value; used by "cosine".
        config: For the `length_` settings.
    """
    budget, buffer = config.length_budget, config.length_buffer
    if config.length_penalty == "none":
        return 0.0
    if config.length_penalty == "cosine":
        share = _cosine(num_tokens / budget, min(1.0, max(0.0, correctness)))
    elif config.length_penalty == "budget":
        share = (num_tokens - budget) / buffer
    else:
        share = 1 + (num_tokens - budget) / min(buffer, budget)
    return config.length_weight * min(1.0, max(0.0, share))


def _cosine(progress: float, correctness: float) -> float:
    """Return the share of the penalty at `progress`, tokens / budget."""
    if progress >= 1:
        return 1.0
    x = (1 + math.cos(math.pi * progress)) / 2
    return correctness * (1 - x) + (1 - correctness) * x
