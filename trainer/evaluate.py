"""How good the policy is on held-out prompts, sampled as the evaluation's own settings say.

Every evaluation of a run uses the same prompts and the same random streams, so that two of them
differ by the policy and not by luck. Correctness alone counts: shaping does not enter, and what
could not be judged counts neither way.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewards import Score
from trainer.config import Config
from trainer.distributed import World
from trainer.metrics import score_metrics
from trainer.rollout import Prompt, RolloutEngine, Sampling
from trainer.scoring import ScoredGroup, sample_and_score

PASS_AT_1 = "eval/pass@1"


def evaluate(
    engine: RolloutEngine,
    prompts: Sequence[Prompt],
    specs: Mapping[str, Any],
    config: Config,
    *,
    world: World,
    stop: Callable[[], bool],
) -> dict[str, float] | None:
    """Sample, score, and return the metrics, all named `eval/...` but the time. Collective.

    Between batches `stop`, which must be the same on all ranks, is asked whether to give up; None
    is returned if so.
    """
    start = time.perf_counter()
    sampling = Sampling(
        num_samples=config.eval_samples,
        max_new_tokens=config.max_new_tokens,
        stream=f"{config.seed}/eval",
        temperature=config.eval_temperature,
        top_p=config.eval_top_p,
    )
    scored: list[ScoredGroup] = []
    size = max(1, config.rollout_batch_size // config.eval_samples) * engine.num_replicas
    for first in range(0, len(prompts), size):
        scored += sample_and_score(engine, prompts[first : first + size], specs, sampling, world)[0]
        if stop():
            return None
    return {**eval_metrics(scored), "time/eval_s": time.perf_counter() - start}


def eval_metrics(scored: Sequence[ScoredGroup]) -> dict[str, float]:
    """Describe scored groups of equal size: pass@k, majority@k, rewards by part, lengths."""
    samples = [sample for group in scored for sample in group.group.samples]
    num_samples = max(len(group.scores) for group in scored)
    ks = [2**i for i in range(num_samples.bit_length())]
    metrics = {f"pass@{k}": pass_at_k(scored, k) for k in ks}
    metrics[f"maj@{num_samples}"] = majority_at_k(scored, num_samples)
    metrics |= {k: v for k, v in score_metrics(scored).items() if k != "reward/std"}
    metrics["length_mean"] = sum(len(s.ids) for s in samples) / len(samples)
    metrics["truncated_frac"] = sum(s.truncated for s in samples) / len(samples)
    return {f"eval/{name}": value for name, value in metrics.items() if value is not None}


def pass_at_k(scored: Sequence[ScoredGroup], k: int) -> float | None:
    """Return the chance that at least one of k completions of a prompt is wholly right.

    The unbiased estimate from n >= k of them, c of which are right: 1 - C(n - c, k) / C(n, k), mean
    over prompts (Chen et al., arXiv 2107.03374, eq. 1). A prompt of which fewer than k could be
    judged is left out; None if all are.
    """
    rates = []
    for outcomes in map(_outcomes, scored):
        n, c = len(outcomes), outcomes.count(1)
        if n >= k:
            rates.append(1 - math.comb(n - c, k) / math.comb(n, k))
    return math.fsum(rates) / len(rates) if rates else None


def majority_at_k(scored: Sequence[ScoredGroup], k: int) -> float | None:
    """Return how often the most frequent answer of a prompt is wholly right.

    Completions without an answer have no vote. Where answers tie, each counts in proportion: what
    choosing one at random gives on average. A prompt of which fewer than k could be judged is left
    out; None if all are, or if the verifiers extract no answers (as for code).
    """
    rates, votes = [], 0
    for group in scored:
        right: dict[str, list[bool]] = defaultdict(list)
        for score in group.scores:
            if score.outcome is not None and (answer := answer_of(score)) is not None:
                right[answer].append(score.outcome == 1)
        votes += len(right)
        if len(_outcomes(group)) >= k:
            most = max(map(len, right.values()), default=0)
            tied = [sum(votes) / most for votes in right.values() if len(votes) == most]
            rates.append(sum(tied) / len(tied) if tied else 0.0)
    return math.fsum(rates) / len(rates) if rates and votes else None


def answer_of(score: Score) -> str | None:
    """Return the canonical form of the answer that a verifier extracted, its own or a part's.

    That is `evidence["answer"]`, or for a right one `evidence["gold"]`, since equal answers may
    have been written in ways that only the comparison with the gold answer brings together.
    """
    if "answer" in score.evidence:
        key = "gold" if score.outcome == 1 and "gold" in score.evidence else "answer"
        return str(score.evidence[key])
    return next(filter(None, map(answer_of, score.parts.values())), None)


def _outcomes(group: ScoredGroup) -> list[float]:
    return [score.outcome for score in group.scores if score.outcome is not None]
