from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from trainer.config import Config, Loss
from trainer.loss import (
    LossTerms,
    correction_weights,
    denominator_terms,
    kl_estimate,
    objective_of,
    policy_loss,
    step_denominator,
)

LENGTHS = (5, 2, 4, 1)
LOSSES = get_args(Loss)
CLIPS = {"grpo": (0.2, 0.2), "dr_grpo": (0.2, 0.2), "dapo": (0.2, 0.28), "bnpo": (0.2, 0.2)}
CLIPS["gspo"] = (3e-4, 4e-4)
NAN = float("nan")


@dataclass
class Case:
    """The tokens of four completions."""

    logprobs: Tensor
    old: Tensor
    ref: Tensor
    entropy: Tensor
    advantages: Tensor
    weights: Tensor
    sequence: Tensor

    def pick(self, tokens: list[int]) -> Case:
        """Return these tokens alone."""
        chosen = torch.tensor(tokens, dtype=torch.long)
        return Case(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def take(self, *sequences: int) -> Case:
        """Return the tokens of these completions alone, as a micro-batch holds them."""
        part = self.pick([n for s in sequences for n in range(12) if self.sequence[n] == s])
        part.sequence = torch.tensor([sequences.index(int(s)) for s in part.sequence])
        return part

    def terms(self, denominator: float | None = None, **settings: Any) -> LossTerms:
        config = Config(max_new_tokens=8, **settings)
        objective = objective_of(config)
        if denominator is None:
            denominator = self.denominator(config)
        return policy_loss(
            self.logprobs,
            self.old,
            self.ref if config.beta else None,
            self.entropy if config.entropy_coef else None,
            self.advantages,
            self.weights,
            self.sequence,
            len(LENGTHS),
            objective=objective,
            denominator=denominator,
        )

    def denominator(self, config: Config) -> float:
        tokens, sequences = denominator_terms(self.weights, self.sequence, len(LENGTHS)).tolist()
        return step_denominator(tokens, sequences, objective_of(config))

    def gradient(self, **settings: Any) -> Tensor:
        return gradient(self.terms(**settings).loss, self.logprobs)


def gradient(loss: Tensor, logprobs: Tensor) -> Tensor:
    return torch.autograd.grad(loss, logprobs)[0]


def case(seed: int = 0, scale: float = 0.5) -> Case:
    """Random numbers; `scale` is about how far the log-probabilities have moved, in nats."""
    torch.manual_seed(seed)
    count = sum(LENGTHS)
    logprobs = -3 * torch.rand(count, dtype=torch.float64)
    return Case(
        logprobs=logprobs.requires_grad_(),
        old=logprobs.detach() + scale * torch.randn(count, dtype=torch.float64),
        ref=logprobs.detach() + torch.randn(count, dtype=torch.float64),
        entropy=torch.rand(count, dtype=torch.float64).requires_grad_(),
        advantages=torch.randn(count, dtype=torch.float64),
        weights=0.5 + torch.rand(count, dtype=torch.float64),
        sequence=torch.repeat_interleave(torch.arange(len(LENGTHS)), torch.tensor(LENGTHS)),
    )


def moved(log_ratio: float, advantage: float) -> Case:
    """Every token's log-probability has moved by `log_ratio` and has this advantage."""
    numbers = case()
    numbers.old = numbers.logprobs.detach() - log_ratio
    numbers.advantages = torch.full_like(numbers.old, advantage)
    numbers.weights = torch.ones_like(numbers.old)
    return numbers


def one_by_one(loss: str, c: Case, beta: float = 0.04) -> Tensor:
    """Write out the equations, one token at a time."""
    completions = []
    for s, length in enumerate(LENGTHS):
        tokens = [n for n in range(len(c.sequence)) if c.sequence[n] == s]
        ratio = {n: (c.logprobs[n] - c.old[n]).exp() for n in tokens}
        if loss == "gspo":
            whole = math.exp(sum((c.logprobs[n] - c.old[n]).item() for n in tokens) / length)
            ratio = {n: whole * c.logprobs[n].exp() / c.logprobs[n].exp().item() for n in tokens}
        terms = []
        for n in tokens:
            if loss == "cispo":
                gain = min(ratio[n].item(), 5.0) * c.advantages[n] * c.logprobs[n]
            else:
                low, high = CLIPS[loss]
                clipped = max(min(ratio[n].item(), 1 + high), 1 - low) * c.advantages[n]
                gain = min(ratio[n] * c.advantages[n], clipped)
            r = (c.ref[n] - c.logprobs[n]).exp()
            terms.append(-c.weights[n] * gain + beta * (r - r.log() - 1))
        completions.append(terms)
    if loss in ("grpo", "gspo"):
        return torch.stack([torch.stack(terms).mean() for terms in completions]).mean()
    total = torch.cat([torch.stack(terms) for terms in completions]).sum()
    return total / (len(completions) * 8 if loss == "dr_grpo" else sum(LENGTHS))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_each_loss_and_its_gradient_equal_the_equations(loss: Loss, seed: int) -> None:
    numbers = case(seed, scale=5e-4 if loss == "gspo" else 0.5)
    expected = one_by_one(loss, numbers)
    got = numbers.terms(loss=loss).loss
    assert got.item() == pytest.approx(expected.item(), rel=1e-12)
    wanted = gradient(expected, numbers.logprobs)
    assert torch.allclose(gradient(got, numbers.logprobs), wanted, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("loss", LOSSES)
def test_on_policy_the_gradient_is_the_policy_gradient(loss: Loss) -> None:
    numbers = moved(0.0, 1.0)
    numbers.advantages = torch.randn(12, dtype=torch.float64)
    shares = {
        "grpo": [1 / (length * 4) for length in LENGTHS for _ in range(length)],
        "dr_grpo": [1 / 32] * 12,
    }
    share = torch.tensor(
        shares.get("grpo" if loss == "gspo" else loss, [1 / 12] * 12), dtype=torch.float64
    )
    got = numbers.gradient(loss=loss, beta=0.0)
    assert torch.allclose(got, -numbers.advantages * share, atol=1e-15)


def test_trl_3452_on_policy_a_loss_of_zero_still_teaches() -> None:
    numbers = moved(0.0, 1.0)
    numbers.advantages = torch.tensor([1.0, -1.0] * 6, dtype=torch.float64)
    terms = numbers.terms(beta=0.0)
    assert terms.loss.item() == pytest.approx(0.0, abs=1e-15)
    assert (gradient(terms.loss, numbers.logprobs).abs() > 0.05).all()


def test_gspo_with_one_advantage_a_completion_is_the_loss_over_sequence_ratios() -> None:
    numbers = case(scale=5e-4)
    numbers.weights = torch.ones_like(numbers.weights)
    numbers.advantages = numbers.advantages[:4][numbers.sequence]
    total = torch.zeros((), dtype=torch.float64)
    for s in range(4):
        mine = numbers.sequence == s
        ratio = (numbers.logprobs - numbers.old)[mine].mean().exp()
        advantage = numbers.advantages[mine][0]
        total = total - torch.minimum(
            ratio * advantage, ratio.clamp(1 - 3e-4, 1 + 4e-4) * advantage
        )
    expected = gradient(total / 4, numbers.logprobs)
    assert torch.allclose(numbers.gradient(loss="gspo", beta=0.0), expected, atol=1e-15)


def test_gspo_bounds_completions_where_grpo_bounds_tokens() -> None:
    # Two tokens moved far, in opposite directions: the completion as a whole has not moved.
    numbers = moved(0.0, 1.0)
    numbers.old = numbers.old + torch.tensor([0.5, -0.5] + [0.0] * 10, dtype=torch.float64)
    clipped = {loss: numbers.terms(loss=loss).sums["clipped_high"] for loss in ("grpo", "gspo")}
    assert clipped == {"grpo": 1.0, "gspo": 0.0}


@pytest.mark.parametrize(
    ("loss", "settings", "low", "high"),
    [
        ("grpo", {}, 0.2, 0.2),
        ("dapo", {}, 0.2, 0.28),
        ("gspo", {}, 3e-4, 4e-4),
        ("cispo", {}, math.inf, 4.0),
        ("bnpo", {"clip_eps": 0.1}, 0.1, 0.1),
        ("dapo", {"clip_eps": 0.1}, 0.1, 0.28),
        ("cispo", {"clip_eps": 0.1}, 0.1, 4.0),
        ("dr_grpo", {"clip_eps_high": 0.3}, 0.2, 0.3),
        ("gspo", {"clip_eps": 0.1, "clip_eps_high": 0.3}, 0.1, 0.3),
    ],
)
def test_absent_bounds_are_those_of_the_loss(
    loss: Loss, settings: dict[str, float], low: float, high: float
) -> None:
    objective = objective_of(Config(loss=loss, **settings))  # type: ignore[arg-type]
    assert (objective.clip_low, objective.clip_high) == (low, high)


@pytest.mark.parametrize(
    ("log_ratio", "advantage", "settings", "teaches"),
    [
        (0.24, 1.0, {}, True),  # within dapo's 1.28
        (0.24, 1.0, {"clip_eps_high": 0.2}, False),
        (0.26, 1.0, {}, False),
        (-0.3, 1.0, {}, True),  # the way back is open
        (-0.3, -1.0, {}, False),
        (-0.3, -1.0, {"clip_eps": 0.4}, True),
        (0.3, -1.0, {}, True),
        (1.2, -1.0, {"dual_clip": 3.0}, False),
        (1.2, -1.0, {"dual_clip": 4.0}, True),
        (-1.2, 1.0, {"dual_clip": 3.0}, True),
        (2.0, 1.0, {"loss": "cispo"}, True),
    ],
)
def test_a_token_beyond_its_bound_teaches_nothing(
    log_ratio: float, advantage: float, settings: dict[str, Any], teaches: bool
) -> None:
    numbers = moved(log_ratio, advantage)
    assert bool(numbers.gradient(beta=0.0, **settings).any()) == teaches


def test_dual_clip_bounds_the_loss_of_a_bad_token() -> None:
    numbers = moved(5.0, -2.0)
    assert numbers.terms(beta=0.0, dual_clip=3.0).loss.item() == pytest.approx(6.0)
    assert numbers.terms(beta=0.0).loss.item() == pytest.approx(2 * math.exp(5.0))


def test_cispo_bounds_the_weight_of_a_token_and_keeps_its_gradient() -> None:
    for log_ratio, weight in [(3.0, 5.0), (0.5, math.exp(0.5)), (-3.0, math.exp(-3.0))]:
        got = moved(log_ratio, 1.0).gradient(loss="cispo", beta=0.0)
        assert torch.allclose(got, torch.full_like(got, -weight / 12))


def test_clipped_tokens_are_counted_by_side() -> None:
    numbers = moved(0.0, 1.0)
    changes = torch.tensor([0.5, 0.5, -0.5, 0.1, *[0.0] * 8], dtype=torch.float64)
    numbers.old = numbers.old - changes
    numbers.advantages[1] = -1.0  # high and bad: the free term binds
    numbers.advantages[2] = -1.0  # low and bad: clipped
    sums = numbers.terms().sums
    assert (float(sums["clipped_high"]), float(sums["clipped_low"])) == (1.0, 1.0)


def test_a_log_ratio_that_overflows_exp_stays_finite() -> None:
    numbers = moved(1000.0, -1.0)
    assert torch.isfinite(numbers.terms(beta=0.0).loss)
    assert torch.isfinite(numbers.gradient(beta=0.0)).all()


# KL and entropy


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
@pytest.mark.parametrize("loss", LOSSES)
def test_skyrl_1353_the_kl_term_has_a_gradient(loss: Loss, estimator: str) -> None:
    numbers = moved(0.0, 0.0)
    assert numbers.gradient(loss=loss, kl_estimator=estimator).all()


@pytest.mark.parametrize(
    ("estimator", "value", "slope"),
    [
        ("k1", lambda x: -x, lambda x: 1.0),
        ("k2", lambda x: x * x / 2, lambda x: -x),
        ("k3", lambda x: math.exp(x) - x - 1, lambda x: 1 - math.exp(x)),
    ],
)
@pytest.mark.parametrize("x", [-5.0, -1e-4, 0.3, 4.0])
def test_kl_estimators_equal_their_formulas(
    estimator: Any, value: Any, slope: Any, x: float
) -> None:
    logprob = torch.tensor(-1.0 - x, dtype=torch.float64, requires_grad=True)
    estimate = kl_estimate(-1.0 - logprob, estimator)
    assert estimate.item() == pytest.approx(value(x), rel=1e-6)
    assert float(gradient(estimate, logprob)) == pytest.approx(slope(x), rel=1e-6)


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
def test_kl_gradients_in_expectation_are_what_the_docstring_says(estimator: Any) -> None:
    torch.manual_seed(0)
    logits = torch.randn(5, dtype=torch.float64, requires_grad=True)
    logp, logq = logits.log_softmax(0), torch.randn(5, dtype=torch.float64).log_softmax(0)
    p = logp.detach().exp()
    (got,) = torch.autograd.grad((p * kl_estimate(logq - logp, estimator)).sum(), logits)
    logp = logits.log_softmax(0)
    divergence = {
        "k1": 0 * logp.sum(),
        "k2": (logp.exp() * (logp - logq)).sum(),
        "k3": (logq.exp() * (logq - logp)).sum(),
    }[estimator]
    (expected,) = torch.autograd.grad(divergence, logits)
    assert torch.allclose(got, expected, atol=1e-14)


@pytest.mark.parametrize("x", [-1e-4, 0.0, 1e-4])
def test_k3_is_never_negative_in_float32(x: float) -> None:
    assert float(kl_estimate(torch.tensor(x), "k3")) >= 0


def test_k3_stays_finite_where_exp_overflows() -> None:
    assert torch.isfinite(kl_estimate(torch.tensor(500.0), "k3"))


def test_k3_pulls_back_a_policy_that_is_far_too_sure() -> None:
    logprob = torch.tensor(-0.1, requires_grad=True)
    assert float(gradient(kl_estimate(-50.0 - logprob, "k3"), logprob)) == pytest.approx(1.0)


def test_kl_in_the_reward_leaves_the_loss() -> None:
    numbers = case()
    in_reward = numbers.terms(kl_in="reward", beta=0.5)
    assert in_reward.loss.item() == numbers.terms(beta=0.0).loss.item()
    assert float(in_reward.sums["kl"]) > 0  # still a metric


def test_the_entropy_bonus_raises_the_entropy() -> None:
    numbers = case()
    loss = numbers.terms(entropy_coef=0.1).loss
    assert torch.allclose(
        gradient(loss, numbers.entropy), torch.full((12,), -0.1 / 12, dtype=torch.float64)
    )


# What is cut up, and what leaves


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("parts", [[(0, 1, 2, 3)], [(2, 0), (3, 1)], [(0,), (1,), (2,), (3,)]])
def test_the_terms_of_micro_batches_sum_to_those_of_the_whole(
    loss: Loss, parts: list[tuple[int, ...]]
) -> None:
    numbers = case()
    numbers.weights[[1, 3, 7, 8, 9, 10]] = 0.0  # among them all of a completion
    settings: dict[str, Any] = {"loss": loss, "entropy_coef": 0.1}
    whole = numbers.terms(**settings)
    denominator = numbers.denominator(Config(loss=loss, max_new_tokens=8))
    shares = [numbers.take(*part).terms(denominator, **settings) for part in parts]
    total = sum((share.loss for share in shares), torch.zeros(()))
    assert total.item() == pytest.approx(whole.loss.item(), rel=1e-12)
    assert torch.allclose(
        gradient(total, numbers.logprobs), gradient(whole.loss, numbers.logprobs), rtol=1e-12
    )
    for name, expected in whole.sums.items():
        assert sum(float(s.sums[name]) for s in shares) == pytest.approx(expected.item(), rel=1e-12)


def test_denominator_terms_of_micro_batches_sum_to_those_of_the_whole() -> None:
    numbers = case()
    numbers.weights[[0, 5, 6]] = 0.0
    parts = [numbers.take(0, 2), numbers.take(1, 3)]
    terms = [denominator_terms(part.weights, part.sequence, 2) for part in parts]
    assert sum(terms).tolist() == [9.0, 3.0]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("loss", "expected"), [("dapo", 90.0), ("cispo", 90.0), ("gspo", 7.0), ("dr_grpo", 7 * 8.0)]
)
def test_the_denominator_is_tokens_completions_or_their_budget(loss: Loss, expected: float) -> None:
    objective = objective_of(Config(loss=loss, max_new_tokens=8))
    assert step_denominator(90, 7, objective) == expected


@pytest.mark.parametrize("loss", LOSSES)
def test_the_denominator_of_nothing_is_not_zero(loss: Loss) -> None:
    assert step_denominator(0, 0, objective_of(Config(loss=loss))) == 1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_an_empty_micro_batch_adds_nothing(loss: Loss) -> None:
    terms = case().pick([]).terms(loss=loss, denominator=12.0)
    assert terms.loss.item() == 0.0
    assert not any(terms.sums.values())


@pytest.mark.parametrize("loss", LOSSES)
def test_verl_6675_a_completion_without_tokens_divides_nothing_by_zero(loss: Loss) -> None:
    numbers = case().take(0, 2, 3)  # the shapes still say four completions
    assert torch.isfinite(numbers.terms(loss=loss).loss)
    assert denominator_terms(numbers.weights, numbers.sequence, 4).tolist() == [10.0, 3.0]


@pytest.mark.parametrize("loss", LOSSES)
def test_trl_6369_masked_tokens_leave_the_denominator(loss: Loss) -> None:
    numbers = case()
    numbers.weights[7:11] = 0.0  # the third completion
    settings: dict[str, Any] = {"loss": loss, "entropy_coef": 0.1}
    alone = numbers.take(0, 1, 3).terms(**settings)
    assert numbers.terms(**settings).loss.item() == pytest.approx(alone.loss.item(), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_masked_token_counts_neither_in_its_completions_mean_nor_ratio(loss: Loss) -> None:
    numbers = case(scale=5e-4)
    numbers.weights[4] = 0.0
    shorter = numbers.pick([n for n in range(12) if n != 4])
    assert numbers.terms(loss=loss).loss.item() == pytest.approx(
        shorter.terms(loss=loss).loss.item(), rel=1e-12
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("poison", [NAN, math.inf, -math.inf])
def test_skyrl_1635_nan_at_masked_tokens_leaks_nowhere(loss: Loss, poison: float) -> None:
    numbers, poisoned = case(), case()
    masked = torch.tensor([1, 6, 11])
    numbers.weights[masked] = poisoned.weights[masked] = 0.0
    for name in ("old", "ref", "advantages"):
        getattr(poisoned, name)[masked] = poison
    for name in ("logprobs", "entropy"):
        clean = getattr(poisoned, name).detach().clone()
        clean[masked] = poison
        setattr(poisoned, name, clean.requires_grad_())
    settings: dict[str, Any] = {"loss": loss, "entropy_coef": 0.1}
    expected, got = numbers.terms(**settings), poisoned.terms(**settings)
    assert got.loss.item() == expected.loss.item()
    assert {k: float(v) for k, v in got.sums.items()} == {
        k: float(v) for k, v in expected.sums.items()
    }
    got_gradient = gradient(got.loss, poisoned.logprobs)
    assert torch.equal(got_gradient, gradient(expected.loss, numbers.logprobs))
    assert not got_gradient[masked].any()


def test_verl_6699_the_sums_hold_no_graph() -> None:
    sums = case().terms(entropy_coef=0.1).sums
    assert "kl" in sums
    assert "entropy" in sums
    assert not any(x.requires_grad for x in sums.values())


def test_trl_6380_what_is_averaged_is_the_sum_over_all_tokens() -> None:
    numbers = case()
    parts = [numbers.take(0), numbers.take(1, 2, 3)]  # 5 and 7 tokens
    sums = [part.terms().sums for part in parts]
    mean = sum(float(s["kl"]) for s in sums) / sum(float(s["tokens"]) for s in sums)
    x = numbers.ref - numbers.logprobs.detach()
    assert mean == pytest.approx(float((x.exp() - x - 1).mean()))


# The correction between rollout and trainer


def weights_of(log_ratios: list[list[float]], **settings: Any) -> list[list[float]]:
    """Return the weights of completions whose tokens have these log-ratios."""
    flat = torch.tensor([x for one in log_ratios for x in one], dtype=torch.float64)
    sequence = torch.tensor([s for s, one in enumerate(log_ratios) for _ in one])
    old = torch.full_like(flat, -1.5)
    config = replace(Config(), **settings)
    weights = correction_weights(old, old - flat, sequence, len(log_ratios), config)
    return [weights[sequence == s].tolist() for s in range(len(log_ratios))]


@pytest.mark.parametrize(("mode", "expected"), [("none", 1.0), ("truncate", 2.0), ("mask", 0.0)])
def test_a_token_that_the_trainer_finds_far_likelier(mode: str, expected: float) -> None:
    assert weights_of([[0.8, 0.1]], rollout_correction=mode)[0][0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("mode", "expected"), [("none", 1.0), ("truncate", math.exp(-0.8)), ("mask", 0.0)]
)
def test_a_token_that_the_trainer_finds_far_less_likely(mode: str, expected: float) -> None:
    assert weights_of([[-0.8, 0.1]], rollout_correction=mode)[0][0] == pytest.approx(expected)


@pytest.mark.parametrize("mode", ["truncate", "mask"])
def test_a_token_within_the_cap_weighs_its_ratio(mode: str) -> None:
    assert weights_of([[0.5, -0.5]], rollout_correction=mode)[0] == pytest.approx(
        [math.exp(0.5), math.exp(-0.5)]
    )


def test_a_larger_cap_masks_less() -> None:
    settings = {"rollout_correction": "mask", "rollout_correction_cap": 3.0}
    assert weights_of([[1.0, 1.2]], **settings)[0] == pytest.approx([math.e, 0.0])


@pytest.mark.parametrize("mode", ["truncate", "mask"])
def test_at_sequence_level_each_completion_has_one_weight(mode: str) -> None:
    settings = {"rollout_correction": mode, "rollout_correction_level": "sequence"}
    one, other = weights_of([[1.2, 0.0, 0.0], [-0.3]], **settings)
    assert one == pytest.approx([math.exp(0.4)] * 3)
    assert other == pytest.approx([math.exp(-0.3)])


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_trl_4772_long_completions_are_not_masked_for_their_length(level: str) -> None:
    settings = {"rollout_correction": "mask", "rollout_correction_level": level}
    assert min(weights_of([[0.012] * 1000], **settings)[0]) > 1  # e^12 as a product


@pytest.mark.parametrize("mode", ["truncate", "mask"])
@pytest.mark.parametrize("level", ["token", "sequence"])
def test_trl_6166_a_token_without_a_rollout_log_prob_counts_as_agreement(
    mode: str, level: str
) -> None:
    settings = {"rollout_correction": mode, "rollout_correction_level": level}
    assert weights_of([[NAN, NAN]], **settings) == [[1.0, 1.0]]
    assert weights_of([[NAN, 0.2]], **settings)[0][1] == pytest.approx(
        math.exp(0.2 if level == "token" else 0.1)
    )


def test_a_nan_of_the_trainer_is_not_hidden() -> None:
    broken, fine = torch.tensor([NAN]), torch.tensor([-1.0])
    weights = correction_weights(broken, fine, torch.tensor([0]), 1, Config())
    assert weights.isnan().all()


def test_a_truncated_weight_never_leaves_the_denominator() -> None:
    assert 0 < weights_of([[-1000.0]], rollout_correction="truncate")[0][0] < 1e-8


def test_weights_scale_the_policy_gradient_and_not_the_kl() -> None:
    numbers, heavier = case(), case()
    heavier.weights = 2 * numbers.weights
    kl = numbers.gradient() - numbers.gradient(beta=0.0)
    assert torch.allclose(heavier.gradient(), 2 * numbers.gradient(beta=0.0) + kl)


def test_weights_and_masked_tokens_are_counted() -> None:
    numbers = case()
    numbers.weights[:3] = 0.0
    sums = numbers.terms().sums
    assert (float(sums["tokens"]), float(sums["masked"])) == (9.0, 3.0)
    assert float(sums["weight"]) == pytest.approx(numbers.weights.sum().item())
