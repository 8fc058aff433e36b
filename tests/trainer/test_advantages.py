from __future__ import annotations

import statistics

import pytest
import torch

from trainer.advantages import Advantages, group_advantages

NAN = float("nan")


def advantages(rewards: list[list[float]], eps: float = 1e-6) -> Advantages:
    values = torch.tensor(rewards, dtype=torch.float64)
    return group_advantages(values, ~values.isnan(), eps=eps)


def test_advantage_is_the_distance_from_the_mean_in_population_stds() -> None:
    rewards = [0.0, 1.0, 0.5, 1.0]
    mean, std = statistics.mean(rewards), statistics.pstdev(rewards)
    expected = [(r - mean) / (std + 1e-6) for r in rewards]
    assert advantages([rewards]).advantages_PG[0].tolist() == pytest.approx(expected, abs=1e-12)


def test_a_group_of_equal_rewards_leaves_the_loss() -> None:
    result = advantages([[1.0, 1.0, 1.0]])
    assert result.zero_variance_P.tolist() == [True]
    assert not result.kept_PG.any()


def test_rounding_noise_between_equal_rewards_is_no_signal() -> None:
    # NeMo-RL 4158: 0.1 + 0.2 against 0.3 gave advantages near 1.
    result = advantages([[0.1 + 0.2, 0.3, 0.3]], eps=1e-12)
    assert result.advantages_PG.tolist() == [[0.0, 0.0, 0.0]]


def test_an_unjudged_completion_changes_nothing_for_its_group() -> None:
    with_gap = advantages([[0.0, NAN, 1.0, 0.5]]).advantages_PG[0, [0, 2, 3]]
    without = advantages([[0.0, 1.0, 0.5]]).advantages_PG[0]
    assert with_gap.tolist() == without.tolist()


def test_an_unjudged_completion_is_not_a_zero() -> None:
    assert not advantages([[1.0, NAN, 1.0]]).kept_PG.any()


def test_a_single_judged_completion_has_nothing_to_compare_with() -> None:
    result = advantages([[1.0, NAN, NAN]])
    assert not result.kept_PG.any()
    assert result.zero_variance_P.tolist() == [False]


def test_groups_do_not_influence_each_other() -> None:
    alone = advantages([[0.0, 1.0]]).advantages_PG[0]
    beside = advantages([[0.0, 1.0], [100.0, -5.0]]).advantages_PG[0]
    assert alone.tolist() == beside.tolist()


def test_a_wholly_unjudged_group_gives_no_nan() -> None:
    assert advantages([[NAN, NAN]]).advantages_PG.tolist() == [[0.0, 0.0]]
