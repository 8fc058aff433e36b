from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from trainer.config import LossAggregation
from trainer.loss import grpo_loss, k3, step_denominator

EPS, BETA = 0.2, 0.04


def case(seed: int = 0) -> dict[str, Tensor]:
    """Random log-probabilities of three completions of 5, 2 and 4 tokens."""
    torch.manual_seed(seed)
    shape = (3, 5)
    return {
        "logprobs": (-3 * torch.rand(shape, dtype=torch.float64)).requires_grad_(),
        "old": -3 * torch.rand(shape, dtype=torch.float64),
        "ref": -3 * torch.rand(shape, dtype=torch.float64),
        "advantages": torch.randn(3, dtype=torch.float64),
        "mask": torch.arange(5) < torch.tensor([[5], [2], [4]]),
    }


def loss_of(
    case: dict[str, Tensor],
    aggregation: LossAggregation = "token",
    beta: float = BETA,
    denominator: int | None = None,
) -> Tensor:
    lengths = case["mask"].sum(1).tolist()
    return grpo_loss(
        case["logprobs"],
        case["old"],
        case["ref"] if beta else None,
        case["advantages"],
        case["mask"],
        clip_eps=EPS,
        beta=beta,
        aggregation=aggregation,
        denominator=denominator or step_denominator(lengths, aggregation),
    ).loss


def reference_loss(case: dict[str, Tensor], aggregation: LossAggregation) -> float:
    """The equations, one token at a time."""
    means, everything = [], []
    for b in range(3):
        tokens = []
        for c in range(5):
            if case["mask"][b, c]:
                now, old, ref = (float(case[k].detach()[b, c]) for k in ("logprobs", "old", "ref"))
                a, ratio = float(case["advantages"][b]), math.exp(now - old)
                surrogate = min(ratio * a, min(max(ratio, 1 - EPS), 1 + EPS) * a)
                kl = math.exp(ref - now) - (ref - now) - 1
                tokens.append(-(surrogate - BETA * kl))
        means.append(sum(tokens) / len(tokens))
        everything += tokens
    numbers = everything if aggregation == "token" else means
    return sum(numbers) / len(numbers)


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
@pytest.mark.parametrize("seed", range(5))
def test_loss_equals_the_equations(aggregation: LossAggregation, seed: int) -> None:
    numbers = case(seed)
    expected = reference_loss(numbers, aggregation)
    assert loss_of(numbers, aggregation).item() == pytest.approx(expected, rel=1e-12)


def test_on_policy_the_loss_gradient_is_the_policy_gradient() -> None:
    numbers = case()
    numbers["old"] = numbers["logprobs"].detach()
    loss_of(numbers, beta=0.0).backward()  # type: ignore[no-untyped-call]
    expected = torch.where(numbers["mask"], -numbers["advantages"][:, None] / 11, 0.0)
    assert torch.allclose(numbers["logprobs"].grad, expected)  # type: ignore[arg-type]


def test_the_kl_term_has_a_gradient() -> None:
    # SkyRL 1353: a KL computed from detached values trained nothing.
    numbers = case()
    numbers["advantages"] = torch.zeros(3, dtype=torch.float64)
    loss_of(numbers).backward()  # type: ignore[no-untyped-call]
    gradient = numbers["logprobs"].grad
    assert gradient is not None
    assert (gradient[numbers["mask"]] != 0).all()


def test_k3_pulls_towards_the_reference() -> None:
    logprob = torch.tensor(-1.0, requires_grad=True)
    k3(torch.tensor(-2.0) - logprob).backward()  # type: ignore[no-untyped-call]
    assert float(logprob.grad) > 0  # type: ignore[arg-type]  # descending lowers it towards -2


@pytest.mark.parametrize("log_ratio", [-5.0, -1e-4, 0.0, 1e-4, 5.0])
def test_k3_is_never_negative(log_ratio: float) -> None:
    assert float(k3(torch.tensor(log_ratio))) >= 0


def test_k3_stays_finite_where_exp_overflows() -> None:
    assert torch.isfinite(k3(torch.tensor(500.0)))


@pytest.mark.parametrize("aggregation", ["token", "sequence"])
def test_padding_never_matters(aggregation: LossAggregation) -> None:
    numbers, garbage = case(), case()
    for name in ("old", "ref"):
        garbage[name] = torch.where(garbage["mask"], garbage[name], float("nan"))
    losses = [loss_of(n, aggregation) for n in (numbers, garbage)]
    assert losses[0].item() == losses[1].item()


def test_nan_behind_the_mask_does_not_reach_the_gradient() -> None:
    # SkyRL 1635: 0 x NaN is NaN.
    numbers = case()
    numbers["old"] = torch.where(numbers["mask"], numbers["old"], float("nan"))
    loss_of(numbers).backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(numbers["logprobs"].grad).all()  # type: ignore[arg-type]


def test_clipping_stops_the_gradient_outside_the_trust_region() -> None:
    numbers = case()
    numbers["old"] = numbers["logprobs"].detach() - 1  # ratio e, beyond 1.2
    numbers["advantages"] = torch.ones(3, dtype=torch.float64)
    loss_of(numbers, beta=0.0).backward()  # type: ignore[no-untyped-call]
    assert not numbers["logprobs"].grad.any()  # type: ignore[union-attr]


def test_clipping_leaves_the_way_back_open() -> None:
    numbers = case()
    numbers["old"] = numbers["logprobs"].detach() - 1
    numbers["advantages"] = -torch.ones(3, dtype=torch.float64)
    loss_of(numbers, beta=0.0).backward()  # type: ignore[no-untyped-call]
    assert numbers["logprobs"].grad[numbers["mask"]].all()  # type: ignore[index]


def test_token_aggregation_weighs_long_completions_by_their_length() -> None:
    numbers = case()
    numbers["old"] = numbers["logprobs"].detach()
    numbers["advantages"] = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    assert loss_of(numbers, "token", beta=0.0).item() == pytest.approx(-5 / 11)
    assert loss_of(numbers, "sequence", beta=0.0).item() == pytest.approx(-1 / 3)


def test_the_loss_of_parts_sums_to_the_loss_of_the_whole() -> None:
    numbers = case()
    whole = loss_of(numbers, denominator=11).item()
    parts = [
        loss_of({k: v[rows] for k, v in numbers.items()}, denominator=11).item()
        for rows in (slice(0, 1), slice(1, 3))
    ]
    assert sum(parts) == pytest.approx(whole, rel=1e-12)


def test_the_denominator_of_nothing_is_not_zero() -> None:
    assert step_denominator([], "token") == 1
