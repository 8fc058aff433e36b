"""Sampling and scoring of prompts, the second hidden behind the first.

A completion is handed to the verifiers as soon as it is sampled, while others are still being
sampled. With several ranks each samples and scores its share of the prompts; then every rank learns
everything, so that what follows is computed alike on all of them.

A completion that could not be judged (`value is None`) leaves its group: it is no evidence about
the policy. If nothing can be judged for several steps on end, the machine is broken and the run
stops with the cause.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import rewards
from rewards.errors import RewardsError
from rewards.machinery import machinery
from trainer.distributed import World
from trainer.rollout import Finished, Group, Prompt, RolloutEngine, Sample, Sampling

MAX_UNJUDGED_STEPS = 3


class UnjudgedError(RewardsError, RuntimeError):
    """Nothing could be judged for several steps on end."""


def correctness(score: rewards.Score) -> float | None:
    """Return the outcome, or where a spec is of shaping alone the value; None if unjudged."""
    return score.value if score.outcome is None else score.outcome


@dataclass(frozen=True)
class ScoredGroup:
    """A group with one score for each sample, in order."""

    group: Group
    scores: tuple[rewards.Score, ...]

    @property
    def outcomes(self) -> list[float]:
        """Correctness of those that were judged; their value where a spec is of shaping alone."""
        return [c for c in map(correctness, self.scores) if c is not None]

    def teaches(self, eps: float) -> bool:
        """Say whether the completions differ in correctness by more than `eps`."""
        outcomes = self.outcomes
        return len(outcomes) > 1 and max(outcomes) - min(outcomes) > eps


@dataclass(frozen=True)
class RolloutTimes:
    """Seconds of the slowest rank, and what the others waited for it."""

    rollout_s: float = 0.0
    """Sampling."""
    score_s: float = 0.0
    """Scoring that was left when all was sampled."""
    score_hidden_s: float = 0.0
    """Scoring that went on while others were being sampled: what the overlap saves."""
    idle_s: float = 0.0
    """Waiting for the slowest rank, on average over ranks."""

    def __add__(self, other: RolloutTimes) -> RolloutTimes:
        return RolloutTimes(
            self.rollout_s + other.rollout_s,
            self.score_s + other.score_s,
            self.score_hidden_s + other.score_hidden_s,
            self.idle_s + other.idle_s,
        )


def sample_and_score(
    engine: RolloutEngine,
    prompts: Sequence[Prompt],
    specs: Mapping[str, Any],
    sampling: Sampling,
    world: World,
) -> tuple[list[ScoredGroup], RolloutTimes]:
    """Sample completions of prompts on all ranks, and score them meanwhile. Collective.

    Args:
        engine: What samples.
        prompts: The same on all ranks; their ids differ.
        specs: Prompt id -> spec.
        sampling: How.
        world: The ranks.

    Returns:
        On every rank one scored group a prompt, in order, and where the time went.
    """
    started = time.perf_counter()
    mine = prompts[engine.replica :: engine.num_replicas]
    with closing(Scorer(mine, specs)) as scorer:
        for finished in engine.generate(mine, sampling):
            if engine.leads:
                scorer.submit(finished)
        sampled = time.perf_counter()
        hidden_s = scorer.busy_s
        scored = scorer.collect() if engine.leads else []
    times = (sampled - started, time.perf_counter() - sampled, hidden_s)
    everything = world.gather((scored, times))
    by_id = {group.group.prompt.id: group for groups, _ in everything for group in groups}
    return [by_id[prompt.id] for prompt in prompts], _combine([t for _, t in everything])


def _combine(times: Sequence[tuple[float, float, float]]) -> RolloutTimes:
    totals = [rollout_s + score_s for rollout_s, score_s, _ in times]
    slowest = max(range(len(times)), key=totals.__getitem__)
    waited = sum(totals[slowest] - total for total in totals) / len(totals)
    return RolloutTimes(*times[slowest], idle_s=waited)


class Scorer:
    """Scores completions on background threads, as many as completions are judged at once.

    The threads are daemons: a verifier that hangs must not keep alive a process that shall end.
    """

    def __init__(self, prompts: Sequence[Prompt], specs: Mapping[str, Any]) -> None:
        self._prompts = prompts
        self._specs = [specs[prompt.id] for prompt in prompts]
        self._compares = [_compares(spec) for spec in self._specs]
        self._samples: list[dict[int, Sample]] = [{} for _ in prompts]
        self._scores: list[dict[int, rewards.Score]] = [{} for _ in prompts]
        self._queue: SimpleQueue[list[Finished]] = SimpleQueue()
        self._changed = threading.Condition()
        self._open = 0
        self._error: BaseException | None = None
        self._active, self._since, self._busy_s = 0, 0.0, 0.0
        self._num_threads = machinery().num_workers
        for _ in range(self._num_threads):
            threading.Thread(target=self._work, name="score", daemon=True).start()

    def submit(self, finished: Finished) -> None:
        """Have a completion scored; one that is compared with its group waits for `collect`."""
        self._samples[finished.prompt][finished.k] = finished.sample
        if not self._compares[finished.prompt]:
            self._put([finished])

    def collect(self) -> list[ScoredGroup]:
        """Wait for all scores, and return the groups in the order of their prompts."""
        for p, compares in enumerate(self._compares):
            if compares:
                self._put([Finished(p, k, sample) for k, sample in self._samples[p].items()])
        with self._changed:
            self._changed.wait_for(lambda: self._open == 0 or self._error)
        if self._error:
            raise self._error
        return [
            ScoredGroup(
                Group(prompt, tuple(samples[k] for k in sorted(samples))),
                tuple(scores[k] for k in sorted(samples)),
            )
            for prompt, samples, scores in zip(
                self._prompts, self._samples, self._scores, strict=True
            )
        ]

    @property
    def busy_s(self) -> float:
        """Seconds in which anything was being scored."""
        with self._changed:
            return self._busy_s + (time.perf_counter() - self._since if self._active else 0.0)

    def _put(self, items: list[Finished]) -> None:
        with self._changed:
            self._open += len(items)
        self._queue.put(items)

    def _work(self) -> None:
        while items := self._queue.get():
            # A fair share of what waits: verifiers do many quick ones at once.
            for _ in range(self._queue.qsize() // self._num_threads):
                with suppress(Empty):
                    items += self._queue.get_nowait()
            self._enter(+1)
            try:
                self._score(items)
            except BaseException as error:  # raised again by `collect`
                self._error = error
            self._enter(-1, done=len(items))

    def _score(self, items: Sequence[Finished]) -> None:
        scores = rewards.score_batch(
            [one.sample.text for one in items],
            [self._specs[one.prompt] for one in items],
            groups=[one.prompt for one in items],
            num_tokens=[len(one.sample.ids) for one in items],
            truncated=[one.sample.truncated for one in items],
            prompts=[self._prompts[one.prompt].text for one in items],
        )
        for one, score in zip(items, scores, strict=True):
            self._scores[one.prompt][one.k] = score

    def _enter(self, change: int, *, done: int = 0) -> None:
        """Count the threads at work, the time in which there were any, and what is left."""
        with self._changed:
            now = time.perf_counter()
            if self._active:
                self._busy_s += now - self._since
            self._active, self._since = self._active + change, now
            self._open -= done
            self._changed.notify_all()

    def close(self) -> None:
        """Let the threads end; what nobody waits for any more is not scored."""
        with suppress(Empty):
            while True:
                self._queue.get_nowait()
        for _ in range(self._num_threads):
            self._queue.put([])


def _compares(spec: Any) -> bool:
    """Say whether a spec has a part that compares the members of a group."""
    return any(part.verifier.group for part in rewards.compile_spec(spec).parts)


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
