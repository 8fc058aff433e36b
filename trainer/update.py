"""One rollout's worth of learning: log-probabilities, then loss, backward, optimiser step.

The examples of a rollout are cut into `minibatches`, by whole groups, and each is one optimiser
step; `epochs_per_rollout` passes are made over them. Within an optimiser step micro-batches, their
packing and the number of ranks change memory and speed and never the gradient: there is one
denominator, counted over all ranks after every mask.

The old log-probabilities of the ratio are the trainer's own, of before the first update. With one
optimiser step a rollout, they are those of the step's own forward pass, detached, and the ratio is
exactly 1; otherwise a pass without gradients comes first. How far they are from what the rollout
said is measured, logged and bounded, and corrected by importance weights (`loss`). A large
difference means that the two do not run the same weights, and nothing learned from it is worth
having.

Shapes: N completion tokens of a micro-batch.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rewards.errors import RewardsError
from trainer.batch import Example, MicroBatch, Row, collate, plan_micro_batches
from trainer.config import Config
from trainer.logprobs import TokenLogprobs
from trainer.loss import (
    Objective,
    correction_weights,
    denominator_terms,
    kl_estimate,
    objective_of,
    policy_loss,
    step_denominator,
)
from trainer.policy import Policy, apply_gradient

MAX_MEAN_DIFFERENCE = 0.1
"""Mean |log-prob difference| in nats; float32 differs by 1e-6 and bfloat16 by about 0.01."""


class DisagreementError(RewardsError, RuntimeError):
    """Rollout and trainer do not agree on what was sampled."""


@dataclass
class _Work:
    """A micro-batch of this rank, and the log-probabilities (N,) that its loss compares with."""

    batch: MicroBatch
    is_dummy: bool
    """Run so that ranks stay in step; it has no weight in anything."""
    old: Tensor | None = None
    ref: Tensor | None = None


@dataclass
class _Totals:
    """Sums over micro-batches and ranks; means are taken over all tokens at once."""

    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    diff_max: float = 0.0

    def add(self, terms: Mapping[str, Tensor]) -> None:
        """Add scalars on the device, and wait for it once."""
        for name, value in zip(terms, torch.stack(list(terms.values())).tolist(), strict=True):
            self.sums[name] += value


def update_policy(
    policy: Policy,
    examples: Sequence[Example],
    config: Config,
    *,
    learning_rate: float,
    shuffle: str = "",
) -> dict[str, float]:
    """Learn from the examples of one rollout, and return what happened as metrics. Collective.

    Without examples (every group unjudged or without spread) nothing changes and only the loss
    and gradient, both 0, are reported.

    Args:
        policy: What learns.
        examples: The same on all ranks.
        config: The settings.
        learning_rate: Of all optimiser steps made here.
        shuffle: Names the order in which groups go to minibatches.

    Raises:
        DisagreementError: Before anything is changed, if the trainer's log-probabilities are far
            from the rollout's.
    """
    if not examples:
        return {"loss": 0.0, "grad_norm": 0.0}
    return _Update(policy, config, learning_rate).run(_split(examples, config.minibatches, shuffle))


class _Update:
    """What the passes over one rollout share."""

    def __init__(self, policy: Policy, config: Config, learning_rate: float) -> None:
        self.policy, self.config, self.world = policy, config, policy.world
        self.learning_rate = learning_rate
        self.objective: Objective = objective_of(config)
        self.agreement, self.totals = _Totals(), _Totals()
        self.agrees = False

    def run(self, minibatches: Sequence[Sequence[Example]]) -> dict[str, float]:
        started = time.perf_counter()
        works = [list(self._works(examples)) for examples in minibatches]
        flat = [work for works_of_one in works for work in works_of_one]
        config = self.config
        if config.beta and config.kl_in == "loss":
            with self.policy.reference() as reference:
                for work in flat:
                    work.ref = self._logprobs(reference, work.batch)
        steps = len(minibatches) * config.epochs_per_rollout
        if steps > 1 or config.rollout_correction == "mask":
            for work in flat:
                self._anchor(work, self._logprobs(self.policy.scorer, work.batch))
            self._check_agreement()
        prepared = time.perf_counter()
        norms = [
            self._step(works_of_one)
            for _ in range(config.epochs_per_rollout)
            for works_of_one in works
        ]
        metrics = self._metrics(norms)
        metrics["time/logprobs_s"] = prepared - started
        metrics["time/update_s"] = time.perf_counter() - prepared
        return metrics

    def _works(self, examples: Sequence[Example]) -> Iterator[_Work]:
        """Cut this rank's share of an optimiser step into micro-batches."""
        plan = plan_micro_batches(
            examples,
            tokens=self.config.micro_batch_tokens,
            pack_tokens=self.policy.pack_tokens,
            ranks=self.world.size,
        )
        dummy: list[Row] = [[min(examples, key=lambda example: example.length)]]
        for rows in plan[self.world.rank]:
            yield _Work(collate(rows or dummy, self.policy.device), is_dummy=not rows)

    @torch.no_grad()
    def _logprobs(self, scorer: TokenLogprobs, batch: MicroBatch) -> Tensor:
        return _forward(self.policy, scorer, batch, self.config)[0]

    def _step(self, works: Sequence[_Work]) -> float:
        """Take one optimiser step, and return the gradient's norm."""
        denominator = self._denominator(works)
        for work in works:
            self._accumulate(work, denominator)
        self._check_agreement()
        return apply_gradient(
            self.policy,
            learning_rate=self.learning_rate,
            max_grad_norm=self.config.max_grad_norm,
        )

    def _denominator(self, works: Sequence[_Work]) -> float:
        """Count what takes part in an optimiser step on all ranks, after every mask."""
        counts = torch.zeros(2, dtype=torch.float64, device=self.policy.device)
        for work in works:
            batch = work.batch
            counts += denominator_terms(self._weights(work), batch.sequence_N, batch.num_sequences)
        tokens, sequences = self.world.sum(counts).tolist()
        return step_denominator(tokens, sequences, self.objective)

    def _weights(self, work: _Work) -> Tensor:
        """Return importance weights (N,), 0 for what leaves the loss.

        Without old log-probabilities none is masked, and all are 1 as far as anyone counts.
        """
        batch = work.batch
        if work.is_dummy:
            return torch.zeros_like(batch.advantages_N)
        if work.old is None:
            return torch.ones_like(batch.advantages_N)
        return correction_weights(
            work.old, batch.rollout_logprobs_N, batch.sequence_N, batch.num_sequences, self.config
        )

    def _accumulate(self, work: _Work, denominator: float) -> None:
        """Add one micro-batch to the gradient and to the sums."""
        batch = work.batch
        logprobs_N, entropy_N = _forward(
            self.policy,
            self.policy.scorer,
            batch,
            self.config,
            with_entropy=self.config.entropy_coef > 0,
        )
        if work.old is None:
            self._anchor(work, logprobs_N.detach())
        assert work.old is not None
        terms = policy_loss(
            logprobs_N,
            work.old,
            work.ref,
            entropy_N,
            batch.advantages_N,
            self._weights(work),
            batch.sequence_N,
            batch.num_sequences,
            objective=self.objective,
            denominator=denominator,
        )
        # FSDP takes the mean of the ranks' gradients, and theirs is a sum.
        (terms.loss * self.world.size).backward()  # type: ignore[no-untyped-call]
        if not work.is_dummy:
            self.totals.add({"loss": terms.loss.detach().double(), **terms.sums})

    def _anchor(self, work: _Work, old_N: Tensor) -> None:
        """Keep the log-probabilities of before the update, and compare the rollout with them."""
        work.old = old_N
        if work.is_dummy:
            return
        diff_N = old_N.double() - work.batch.rollout_logprobs_N
        known_N = ~work.batch.rollout_logprobs_N.isnan()
        diff_N = torch.where(known_N, diff_N, 0)
        self.agreement.add(
            {
                "tokens": known_N.sum().double(),
                "missing": (~known_N).sum().double(),
                "abs": diff_N.abs().sum(),
                # As NeMo-RL names and bounds them: k3 of KL(rollout || trainer), mean exp|diff|.
                "gen_kl": (diff_N.expm1() - diff_N).sum(),
                "mult": torch.where(known_N, diff_N.abs().exp(), 0).sum(),
            }
        )
        self.agreement.diff_max = max(self.agreement.diff_max, float(diff_N.abs().max()))

    def _check_agreement(self) -> None:
        """Refuse to learn from a rollout of other weights. Collective, once an update."""
        if self.agrees:
            return
        self.agreement = self._over_ranks(self.agreement)
        self.agrees, sums = True, self.agreement.sums
        mean = sums["abs"] / max(1, sums["tokens"])
        if not mean <= MAX_MEAN_DIFFERENCE:
            raise DisagreementError(
                f"rollout and trainer differ by {mean:.3f} nats a token (at most "
                f"{MAX_MEAN_DIFFERENCE} is normal): they do not run the same weights; the update "
                "was not made"
            )

    def _over_ranks(self, totals: _Totals) -> _Totals:
        everything: list[_Totals] = self.world.gather(totals)
        whole = _Totals(diff_max=max(one.diff_max for one in everything))
        for one in everything:
            for name, value in one.sums.items():
                whole.sums[name] += value
        return whole

    def _metrics(self, norms: Sequence[float]) -> dict[str, float]:
        """Average over tokens and optimiser steps."""
        sums, agreement = self._over_ranks(self.totals).sums, self.agreement.sums
        tokens, compared = max(1, sums["tokens"]), max(1, agreement["tokens"])
        all_tokens = max(1, sums["tokens"] + sums["masked"])
        metrics = {
            "loss": sums["loss"] / len(norms),
            "grad_norm": sum(norms) / len(norms),
            "clip_frac": (sums["clipped_low"] + sums["clipped_high"]) / tokens,
            "rollout/logprob_diff_mean": agreement["abs"] / compared,
            "rollout/logprob_diff_max": self.agreement.diff_max,
            "rollout/gen_kl_error": agreement["gen_kl"] / compared,
            "rollout/token_mult_prob_error": agreement["mult"] / compared,
            "rollout/logprob_missing_frac": agreement["missing"]
            / (agreement["tokens"] + agreement["missing"]),
        }
        if self.config.rollout_correction != "none":
            metrics["rollout/weight_mean"] = sums["weight"] / all_tokens
            metrics["rollout/masked_frac"] = sums["masked"] / all_tokens
        if self.config.beta and self.config.kl_in == "loss":
            metrics["kl"] = sums["kl"] / tokens
        return metrics


def reference_kl(policy: Policy, examples: Sequence[Example], config: Config) -> list[float]:
    """Estimate KL(policy || reference) of each completion: the sum over its tokens. Collective.

    The policy's side is what the rollout said of its own samples.
    """
    numbered = {id(example): i for i, example in enumerate(examples)}
    found: dict[int, float] = {}
    plan = plan_micro_batches(
        examples,
        tokens=config.micro_batch_tokens,
        pack_tokens=policy.pack_tokens,
        ranks=policy.world.size,
    )
    with policy.reference() as reference, torch.no_grad():
        for rows in plan[policy.world.rank]:
            batch = collate(rows or [[examples[0]]], policy.device)
            ref_N = _forward(policy, reference, batch, config)[0]
            # Where the rollout does not know (NaN), nothing is known of the divergence.
            log_ratio_N = (ref_N.double() - batch.rollout_logprobs_N).nan_to_num(nan=0.0)
            kl_N = kl_estimate(log_ratio_N, config.kl_estimator)
            kl_S = kl_N.new_zeros(batch.num_sequences).index_add(0, batch.sequence_N, kl_N)
            for example, kl in zip((e for row in rows for e in row), kl_S.tolist(), strict=False):
                found[numbered[id(example)]] = kl
    for theirs in policy.world.gather(found):
        found |= theirs
    return [found[i] for i in range(len(examples))]


def _forward(
    policy: Policy,
    scorer: TokenLogprobs,
    batch: MicroBatch,
    config: Config,
    *,
    with_entropy: bool = False,
) -> tuple[Tensor, Tensor | None]:
    with policy.autocast():
        logprobs_N, entropy_N = scorer(
            batch.ids_BT,
            batch.position_BT,
            batch.source_N,
            batch.targets_N,
            packed=batch.packed,
            temperature=config.temperature,
            with_entropy=with_entropy,
        )
    return logprobs_N, entropy_N


def _split(examples: Sequence[Example], parts: int, shuffle: str) -> list[list[Example]]:
    """Deal the examples to minibatches, group by group, in a shuffled order."""
    if parts == 1:
        return [list(examples)]
    groups: dict[str, list[Example]] = {}
    for example in examples:
        groups.setdefault(example.prompt.id, []).append(example)
    order = list(groups.values())
    random.Random(shuffle).shuffle(order)
    minibatches = [[e for group in order[i::parts] for e in group] for i in range(parts)]
    return [examples for examples in minibatches if examples]
