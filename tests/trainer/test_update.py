from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.trainer.ranks import run_ranks
from trainer.batch import Example
from trainer.config import Config
from trainer.distributed import World, full_tensor
from trainer.policy import Policy, load_policy
from trainer.rollout import Prompt, Sample
from trainer.update import DisagreementError, _split, reference_kl, update_policy

LOSSES = ["grpo", "dr_grpo", "dapo", "bnpo", "gspo", "cispo"]


def scored_by(policy: Policy, prompt: Prompt, ids: tuple[int, ...]) -> tuple[float, ...]:
    """Log-probabilities of a completion by a plain forward pass."""
    with torch.no_grad():
        logits_TV = policy.model(torch.tensor([[*prompt.ids, *ids]])).logits[0].double()
    start = len(prompt.ids) - 1
    logprobs_CV = logits_TV.log_softmax(-1)[start : start + len(ids)]
    return tuple(float(logprobs_CV[t, token]) for t, token in enumerate(ids))


@pytest.fixture(scope="module")
def examples(base_config: Config, prompts: list[Prompt]) -> list[Example]:
    """Three completions for each of five prompts, of one to nine tokens."""
    policy, rng = load_policy(base_config, World()), random.Random(0)
    made = []
    for prompt in prompts[:5]:
        for _ in range(3):
            ids = tuple(rng.randrange(1, 19) for _ in range(rng.randint(1, 9)))
            sample = Sample(ids, scored_by(policy, prompt, ids), "length", "")
            made.append(Example(prompt, sample, (rng.gauss(0, 1),) * len(ids)))
    return made


def away(policy: Policy, dtype: torch.dtype, by: float = 0.002) -> Policy:
    """Move a policy away from its reference, so that the KL has a gradient."""
    for scorer in (policy.scorer, policy.frozen):
        if scorer is not None:
            scorer.to(dtype)
    for i, (_, parameter) in enumerate(sorted(policy.model.named_parameters())):
        with torch.no_grad():
            whole = full_tensor(parameter)
            noise = torch.randn(whole.shape, generator=torch.Generator().manual_seed(i))
            local = parameter.to_local() if hasattr(parameter, "to_local") else parameter
            rows = -(-whole.shape[0] // policy.world.size)  # FSDP shards the first dimension
            first = rows * policy.world.rank
            local += by * noise[first : first + len(local)].to(dtype)
    return policy


def gradient(
    world: World, config: Config, examples: list[Example], dtype: torch.dtype
) -> tuple[torch.Tensor, float]:
    """The gradient of a step, read from plain gradient descent with learning rate 1."""
    config = replace(config, max_grad_norm=0.0)
    policy = away(load_policy(config, world), dtype)
    before = [full_tensor(p.detach()).clone() for p in policy.model.parameters()]
    policy.optimizer = torch.optim.SGD(policy.model.parameters(), lr=1.0)
    loss = update_policy(policy, examples, config, learning_rate=1.0)["loss"]
    after = [full_tensor(p.detach()) for p in policy.model.parameters()]
    return torch.cat([(b - a).flatten() for b, a in zip(before, after, strict=True)]), loss


def same(config: Config, examples: list[Example], dtype: torch.dtype, bound: float) -> None:
    """Compare ways of cutting up one step, micro-batches of one sequence first."""
    ways = [
        replace(config, micro_batch_tokens=tokens, pack_tokens=pack)
        for tokens, pack in ((1, 0), (40, 0), (10_000, 0), (40, 40), (10_000, 10_000))
    ]
    reference, loss = gradient(World(), ways[0], examples, dtype)
    assert reference.abs().max() > 1e-3
    for way in ways[1:]:
        other, other_loss = gradient(World(), way, examples, dtype)
        assert (reference - other).norm() < bound * reference.norm()
        assert abs(loss - other_loss) < bound * max(1.0, abs(loss))


@pytest.mark.parametrize("loss", LOSSES)
def test_trl_5619_the_gradient_does_not_depend_on_micro_batches_or_packing(
    base_config: Config, examples: list[Example], loss: str
) -> None:
    # trl 5619, OpenRLHF 1249, prime-rl 2562, verl 6957.
    same(replace(base_config, loss=loss), examples, torch.float64, 1e-9)  # type: ignore[arg-type]


def test_in_float32_it_depends_on_them_by_rounding_alone(
    base_config: Config, examples: list[Example]
) -> None:
    same(base_config, examples, torch.float32, 1e-5)


CASES: dict[str, tuple[dict[str, Any], int, torch.dtype, float]] = {
    "dapo": ({}, 15, torch.float64, 1e-9),
    "grpo": ({"loss": "grpo"}, 15, torch.float64, 1e-9),
    "float32": ({}, 15, torch.float32, 1e-5),
    "packed": ({"pack_tokens": 40}, 15, torch.float64, 1e-9),
    "a rank without work of its own": ({}, 1, torch.float64, 1e-9),
}
"""Settings, how many examples, arithmetic, and how far the gradients may differ."""


def _on_ranks(world: World, config: Config, examples: list[Example]) -> dict[str, Any]:
    """All that is asked of several ranks: to start them takes longer than what they do."""
    results: dict[str, Any] = {
        name: gradient(world, replace(config, **changes), examples[:count], dtype)
        for name, (changes, count, dtype, _) in CASES.items()
    }
    results["kl"] = reference_kl(away(load_policy(config, world), torch.float64), examples, config)
    return results


@pytest.fixture(scope="module")
def on_two_ranks(base_config: Config, examples: list[Example]) -> list[dict[str, Any]]:
    return run_ranks(_on_ranks, base_config, examples)


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_does_not_depend_on_the_number_of_ranks(
    base_config: Config,
    examples: list[Example],
    on_two_ranks: list[dict[str, Any]],
    name: str,
) -> None:
    changes, count, dtype, bound = CASES[name]
    alone, loss_alone = gradient(World(), replace(base_config, **changes), examples[:count], dtype)
    for results in on_two_ranks:
        shared, loss = results[name]
        assert (alone - shared).norm() < bound * alone.norm()
        assert abs(loss_alone - loss) < bound


def test_trl_6369_masked_tokens_leave_the_denominator(
    base_config: Config, examples: list[Example]
) -> None:
    # A completion whose every token is masked leaves the step as if it had never been there.
    config = replace(base_config, rollout_correction="mask", beta=0.0)
    shortest = min(examples, key=lambda e: e.length)
    others = [e for e in examples if e is not shortest]
    lower = tuple(x - 1.0 for x in shortest.sample.logprobs)
    odd = replace(shortest, sample=replace(shortest.sample, logprobs=lower))
    with_odd, _ = gradient(World(), config, [odd, *others], torch.float64)
    without, _ = gradient(World(), config, others, torch.float64)
    assert (with_odd - without).norm() < 1e-9 * without.norm()


def test_at_the_reference_the_kl_is_zero(
    policy: Policy, examples: list[Example], base_config: Config
) -> None:
    metrics = update_policy(policy, examples, base_config, learning_rate=1e-3)
    assert metrics["kl"] == 0.0


def test_without_beta_no_reference_is_loaded(base_config: Config, examples: list[Example]) -> None:
    config = replace(base_config, beta=0.0)
    policy = load_policy(config, World())
    assert policy.frozen is None
    assert "kl" not in update_policy(policy, examples, config, learning_rate=1e-3)


def test_rollout_and_trainer_agree(
    policy: Policy, examples: list[Example], base_config: Config
) -> None:
    metrics = update_policy(policy, examples, base_config, learning_rate=1e-3)
    assert 0 <= metrics["rollout/logprob_diff_mean"] <= metrics["rollout/logprob_diff_max"] < 1e-4
    assert abs(metrics["rollout/gen_kl_error"]) < 1e-8
    assert metrics["rollout/token_mult_prob_error"] == pytest.approx(1.0, abs=1e-4)
    assert metrics["rollout/weight_mean"] == pytest.approx(1.0, abs=1e-4)


def unchanged_by(
    policy: Policy, update: Callable[[], object], error: type[Exception] | None = None
) -> bool:
    before = copy.deepcopy(policy.model.state_dict())
    if error is None:
        update()
    else:
        with pytest.raises(error):
            update()
    return all(torch.equal(before[k], v) for k, v in policy.model.state_dict().items())


@pytest.mark.parametrize("changes", [{}, {"epochs_per_rollout": 2}])
def test_a_rollout_of_other_weights_stops_the_run_and_changes_nothing(
    policy: Policy, examples: list[Example], base_config: Config, changes: dict[str, int]
) -> None:
    off = [
        replace(e, sample=replace(e.sample, logprobs=tuple(x - 0.5 for x in e.sample.logprobs)))
        for e in examples
    ]
    config = replace(base_config, **changes)  # type: ignore[arg-type]
    assert unchanged_by(
        policy, lambda: update_policy(policy, off, config, learning_rate=1.0), DisagreementError
    )


def test_trl_6166_a_missing_log_probability_is_counted_and_poisons_nothing(
    policy: Policy, examples: list[Example], base_config: Config
) -> None:
    holes = replace(
        examples[0],
        sample=replace(
            examples[0].sample, logprobs=(float("nan"),) * len(examples[0].sample.logprobs)
        ),
    )
    metrics = update_policy(policy, [holes, *examples[1:]], base_config, learning_rate=1e-3)
    num_tokens = sum(len(e.sample.ids) for e in examples)
    assert metrics["rollout/logprob_missing_frac"] == pytest.approx(
        len(holes.sample.ids) / num_tokens
    )
    assert all(x == x for x in metrics.values())
    assert all(bool(p.isfinite().all()) for p in policy.model.parameters())


def test_the_first_step_never_clips(
    policy: Policy, examples: list[Example], base_config: Config
) -> None:
    assert update_policy(policy, examples, base_config, learning_rate=1e-3)["clip_frac"] == 0.0


@pytest.mark.parametrize("changes", [{"epochs_per_rollout": 4}, {"minibatches": 3}])
def test_later_steps_compare_with_the_policy_that_sampled(
    policy: Policy, examples: list[Example], base_config: Config, changes: dict[str, int]
) -> None:
    config = replace(base_config, **changes)  # type: ignore[arg-type]
    assert update_policy(policy, examples, config, learning_rate=0.05)["clip_frac"] > 0


def test_minibatches_hold_whole_groups_and_everything_once(examples: list[Example]) -> None:
    parts = _split(examples, 3, "0/1")
    assert sorted(id(e) for part in parts for e in part) == sorted(map(id, examples))
    names = [{e.prompt.id for e in part} for part in parts]
    assert sum(map(len, names)) == 5
    assert _split(examples, 3, "0/1") == parts
    assert _split(examples, 3, "0/2") != parts


def test_more_minibatches_than_groups_are_no_harm(
    policy: Policy, examples: list[Example], base_config: Config
) -> None:
    config = replace(base_config, minibatches=50)
    assert update_policy(policy, examples, config, learning_rate=1e-3)["grad_norm"] > 0


def test_without_examples_nothing_changes(policy: Policy, base_config: Config) -> None:
    metrics = update_policy(policy, [], base_config, learning_rate=1.0)
    assert metrics == {"loss": 0.0, "grad_norm": 0.0}


def test_an_update_raises_what_was_better_and_lowers_what_was_worse(
    policy: Policy, examples: list[Example], base_config: Config
) -> None:
    pair = [
        replace(e, advantages=(sign,) * len(e.sample.ids))
        for e, sign in ((examples[0], 1.0), (examples[5], -1.0))
    ]
    update_policy(policy, pair, base_config, learning_rate=1e-3)
    better, worse = (sum(scored_by(policy, e.prompt, e.sample.ids)) for e in pair)
    assert better > sum(pair[0].sample.logprobs)
    assert worse < sum(pair[1].sample.logprobs)


def test_a_gradient_that_is_not_finite_is_dropped(
    policy: Policy,
    examples: list[Example],
    base_config: Config,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = [replace(e, advantages=(float("inf"),) * len(e.sample.ids)) for e in examples]
    assert unchanged_by(
        policy, lambda: update_policy(policy, broken, base_config, learning_rate=1e-3)
    )
    assert "skipped" in caplog.text


def test_verl_6699_no_graph_is_kept_over_micro_batches(
    policy: Policy, examples: list[Example], base_config: Config
) -> None:
    sums = []
    real = torch.Tensor.backward

    def watch(self: torch.Tensor, *args: object, **kwargs: object) -> None:
        real(self, *args, **kwargs)  # type: ignore[arg-type]
        sums.append(self)
        with pytest.raises(RuntimeError, match="second time"):
            real(self)  # its graph was freed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "backward", watch)
        config = replace(base_config, micro_batch_tokens=1)
        update_policy(policy, examples, config, learning_rate=1e-3)
    assert len(sums) == len(examples)


def test_kl_in_the_reward_is_that_of_the_sampled_tokens(
    base_config: Config, examples: list[Example]
) -> None:
    policy = away(load_policy(base_config, World()), torch.float64)
    moved = [
        replace(e, sample=replace(e.sample, logprobs=scored_by(policy, e.prompt, e.sample.ids)))
        for e in examples
    ]
    found = reference_kl(policy, moved, replace(base_config, kl_estimator="k1"))
    for example, before, kl in zip(moved, examples, found, strict=True):
        # `examples` were scored by the starting model.
        expected = sum(example.sample.logprobs) - sum(before.sample.logprobs)
        assert kl == pytest.approx(expected, abs=1e-4)


def test_kl_in_the_reward_is_the_same_on_all_ranks(
    base_config: Config, examples: list[Example], on_two_ranks: list[dict[str, Any]]
) -> None:
    policy = away(load_policy(base_config, World()), torch.float64)
    alone = reference_kl(policy, examples, base_config)
    for results in on_two_ranks:
        assert results["kl"] == pytest.approx(alone, abs=1e-9)
