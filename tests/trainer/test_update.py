from __future__ import annotations

import copy
import random
from dataclasses import replace

import pytest
import torch

from trainer.batch import Example, collate
from trainer.config import Config, LossAggregation
from trainer.logprobs import completion_logprobs
from trainer.policy import Policy
from trainer.rollout import Prompt
from trainer.rollout.hf import HFEngine
from trainer.update import DisagreementError, update_policy


@pytest.fixture
def examples(policy: Policy, prompts: list[Prompt]) -> list[Example]:
    groups = HFEngine(policy).generate(
        prompts[:5], num_samples=3, max_new_tokens=8, temperature=1.0, stream="t"
    )
    rng = random.Random(0)
    return [Example(g.prompt, s, rng.gauss(0, 1)) for g in groups for s in g.samples]


@pytest.fixture
def double_policy(policy: Policy) -> Policy:
    """In float64, and away from its reference so that the KL has a gradient."""
    policy.model.double()
    assert policy.reference is not None
    policy.reference.double()
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
    return policy


def gradient(policy: Policy, examples: list[Example], config: Config) -> torch.Tensor:
    """The gradient of a step, read from plain gradient descent with learning rate 1."""
    trial = copy.deepcopy(policy)
    trial.optimizer = torch.optim.SGD(trial.model.parameters(), lr=1.0)
    update_policy(trial, examples, replace(config, max_grad_norm=0.0), learning_rate=1.0)
    return torch.cat(
        [
            (before - after).detach().flatten()
            for before, after in zip(
                policy.model.parameters(), trial.model.parameters(), strict=True
            )
        ]
    )


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
def test_the_gradient_does_not_depend_on_the_micro_batch_size(
    double_policy: Policy, examples: list[Example], config: Config, aggregation: LossAggregation
) -> None:
    # trl 5619, OpenRLHF 1249, prime-rl 2562, verl 6957.
    config = replace(config, loss_aggregation=aggregation)
    gradients = [
        gradient(double_policy, examples, replace(config, micro_batch_size=size))
        for size in (1, 4, 15)
    ]
    assert gradients[0].abs().max() > 1e-3
    for other in gradients[1:]:
        assert (gradients[0] - other).abs().max() < 1e-9


def test_the_loss_does_not_depend_on_the_micro_batch_size(
    double_policy: Policy, examples: list[Example], config: Config
) -> None:
    metrics = [
        update_policy(
            copy.deepcopy(double_policy),
            examples,
            replace(config, micro_batch_size=size),
            learning_rate=1e-3,
        )
        for size in (2, 15)
    ]
    assert metrics[0]["loss"] == pytest.approx(metrics[1]["loss"], abs=1e-9)
    assert metrics[0]["kl"] == pytest.approx(metrics[1]["kl"], abs=1e-9)


def test_at_the_reference_the_kl_is_zero(
    policy: Policy, examples: list[Example], config: Config
) -> None:
    assert update_policy(policy, examples, config, learning_rate=1e-3)["kl"] == 0.0


def test_without_a_reference_there_is_no_kl(
    policy: Policy, examples: list[Example], config: Config
) -> None:
    policy.reference = None
    assert "kl" not in update_policy(policy, examples, config, learning_rate=1e-3)


def test_rollout_and_trainer_agree_on_log_probabilities(
    policy: Policy, examples: list[Example], config: Config
) -> None:
    metrics = update_policy(policy, examples, config, learning_rate=1e-3)
    assert 0 < metrics["rollout/logprob_diff_max"] < 1e-4


def test_a_rollout_of_other_weights_stops_the_run(
    policy: Policy, examples: list[Example], config: Config
) -> None:
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    before = copy.deepcopy(policy.model.state_dict())
    with pytest.raises(DisagreementError, match="do not run the same weights"):
        update_policy(policy, examples, config, learning_rate=1e-3)
    assert all(torch.equal(before[k], v) for k, v in policy.model.state_dict().items())


def test_the_first_epoch_never_clips(
    policy: Policy, examples: list[Example], config: Config
) -> None:
    assert update_policy(policy, examples, config, learning_rate=1e-3)["clip_frac"] == 0.0


def test_later_epochs_compare_with_the_policy_that_sampled(
    policy: Policy, examples: list[Example], config: Config
) -> None:
    config = replace(config, epochs_per_rollout=4)
    assert update_policy(policy, examples, config, learning_rate=0.05)["clip_frac"] > 0


def test_without_examples_nothing_changes(policy: Policy, config: Config) -> None:
    before = copy.deepcopy(policy.model.state_dict())
    metrics = update_policy(policy, [], config, learning_rate=1.0)
    assert metrics == {"loss": 0.0, "grad_norm": 0.0}
    assert all(torch.equal(before[k], v) for k, v in policy.model.state_dict().items())


def test_an_update_raises_what_was_better_and_lowers_what_was_worse(
    policy: Policy, examples: list[Example], config: Config
) -> None:
    pair = [replace(examples[0], advantage=1.0), replace(examples[5], advantage=-1.0)]
    update_policy(policy, pair, config, learning_rate=1e-3)
    with torch.no_grad():
        logprobs_BC = completion_logprobs(
            policy.model, collate(pair, policy.device), temperature=1.0
        )
    better, worse = logprobs_BC.sum(1).tolist()
    assert better > sum(pair[0].sample.logprobs)
    assert worse < sum(pair[1].sample.logprobs)


def test_a_gradient_that_is_not_finite_is_dropped(
    policy: Policy, examples: list[Example], config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    before = copy.deepcopy(policy.model.state_dict())
    broken = [replace(example, advantage=float("inf")) for example in examples]
    update_policy(policy, broken, config, learning_rate=1e-3)
    assert all(torch.equal(before[k], v) for k, v in policy.model.state_dict().items())
    assert "skipped" in caplog.text
