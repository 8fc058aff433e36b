"""How good the policy is on held-out prompts, at temperature 1 whatever training samples at.

Every evaluation of a run uses the same prompts and the same random streams, so that two of them
differ by the policy and not by luck.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trainer.config import Config
from trainer.metrics import score_metrics
from trainer.rollout import Group, Prompt, RolloutEngine
from trainer.scoring import ScoredGroup, score_groups

PASS_AT_1 = "eval/pass@1"


def evaluate(
    engine: RolloutEngine,
    prompts: Sequence[Prompt],
    specs: Mapping[str, Any],
    config: Config,
    *,
    stop: Callable[[], bool],
) -> dict[str, float] | None:
    """Sample, score, and return the metrics, all named `eval/...` but the time.

    Between batches `stop` is asked whether to give up; None is returned if so.
    """
    start = time.perf_counter()
    groups: list[Group] = []
    size = max(1, config.rollout_batch_size // config.eval_samples)
    for first in range(0, len(prompts), size):
        groups += engine.generate(
            prompts[first : first + size],
            num_samples=config.eval_samples,
            max_new_tokens=config.max_new_tokens,
            temperature=1.0,
            stream=f"{config.seed}/eval",
        )
        if stop():
            return None
    scored = score_groups(groups, specs)
    samples = [sample for group in groups for sample in group.samples]
    metrics = {
        f"eval/{name}": value
        for name, value in score_metrics(scored).items()
        if name != "reward/std"
    }
    if (rate := pass_at_1(scored)) is not None:
        metrics[PASS_AT_1] = rate
    metrics["eval/length_mean"] = sum(len(s.ids) for s in samples) / len(samples)
    metrics["eval/truncated_frac"] = sum(s.truncated for s in samples) / len(samples)
    metrics["time/eval_s"] = time.perf_counter() - start
    return metrics


def pass_at_1(scored: Sequence[ScoredGroup]) -> float | None:
    """Return the share of completions whose outcome is 1, or None if none has an outcome.

    Unjudged completions count neither way. Shaping does not enter: a right answer in a bad form
    is right.
    """
    outcomes = [s.outcome for group in scored for s in group.scores if s.outcome is not None]
    return sum(outcome == 1 for outcome in outcomes) / len(outcomes) if outcomes else None
