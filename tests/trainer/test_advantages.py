from __future__ import annotations

import math
import statistics
from typing import Any

import pytest

from rewards.errors import ConfigurationError
from trainer.advantages import Advantages, group_advantages, pad_groups
from trainer.config import Config
from trainer.shaping import length_penalty

Values = list[list[float | None]]


def advantages(rewards: Values, filters: Values | None = None, **settings: Any) -> Advantages:
    values_PG, judged_PG = pad_groups(rewards)
    filter_PG = pad_groups(filters)[0] if filters else None
    return group_advantages(values_PG, judged_PG, Config(**settings), filter_PG=filter_PG)


def numbers(rewards: Values, **settings: Any) -> list[list[float]]:
    got: list[list[float]] = advantages(rewards, **settings).advantages_PG.tolist()
    return got


def test_advantage_is_the_distance_from_the_mean_in_population_stds() -> None:
    rewards: list[float | None] = [0.0, 1.0, 0.5, 1.0]
    mean, std = 0.625, statistics.pstdev([0.0, 1.0, 0.5, 1.0])
    expected = [(r - mean) / (std + 1e-6) for r in (0.0, 1.0, 0.5, 1.0)]
    assert numbers([rewards])[0] == pytest.approx(expected, abs=1e-12)


def test_a_group_of_two_is_enough() -> None:
    assert numbers([[0.0, 1.0]])[0] == pytest.approx([-1.0, 1.0], abs=1e-5)


def test_openrlhf_1250_a_group_of_one_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="group_size must be at least 2"):
        Config(group_size=1).validate()


def test_openrlhf_1250_a_single_judged_completion_has_nothing_to_compare_with() -> None:
    for scale in ("group", "batch", "none"):
        result = advantages([[1.0, None, None]], advantage_scale=scale, leave_one_out=True)
        assert result.advantages_PG.tolist() == [[0.0, 0.0, 0.0]]
        assert not result.kept_PG.any()
        assert result.zero_variance_P.tolist() == [False]


def test_a_group_of_equal_rewards_leaves_the_loss() -> None:
    result = advantages([[1.0, 1.0, 1.0]])
    assert result.zero_variance_P.tolist() == [True]
    assert not result.kept_PG.any()


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_nemo_rl_4158_rounding_noise_between_equal_rewards_is_no_signal(scale: str) -> None:
    result = advantages([[0.1 + 0.2, 0.3, 0.3]], advantage_eps=1e-12, advantage_scale=scale)
    assert result.advantages_PG.tolist() == [[0.0, 0.0, 0.0]]
    assert not result.kept_PG.any()


def test_nemo_rl_4158_noise_is_no_signal_where_only_the_filter_spreads() -> None:
    result = advantages([[0.1 + 0.2, 0.3]], [[0.0, 1.0]], advantage_eps=1e-12)
    assert not result.kept_PG.any()


def test_openrlhf_1270_a_group_of_halves_is_as_void_as_one_of_zeros() -> None:
    # Its mean lies between 0 and 1, and still nothing can be learned.
    result = advantages([[0.5, 0.5], [0.0, 0.0], [0.0, 1.0]])
    assert result.kept_PG.any(1).tolist() == [False, False, True]


def test_verl_recipe_125_length_alone_makes_no_group_teach() -> None:
    config = Config(length_penalty="overlong", length_budget=20, length_buffer=10)
    value: Values = [[1.0, 1.0], [1.0, 0.0]]
    shaped: Values = [
        [
            v - length_penalty(n, v, config)
            for v, n in zip(group, (12, 18), strict=True)
            if v is not None
        ]
        for group in value
    ]
    assert advantages(shaped).kept_PG.any(1).tolist() == [True, True]
    result = advantages(shaped, value)
    assert result.kept_PG.any(1).tolist() == [False, True]
    assert result.zero_variance_P.tolist() == [True, False]


def test_rewards_are_learned_and_not_what_the_filter_reads() -> None:
    assert advantages([[0.0, 0.5, 1.0]], [[1.0, 0.0, 0.0]]).advantages_PG.tolist() == numbers(
        [[0.0, 0.5, 1.0]]
    )


def test_an_unjudged_completion_changes_nothing_for_its_group() -> None:
    with_gap = numbers([[0.0, None, 1.0, 0.5]])[0]
    assert with_gap[:1] + with_gap[2:] == numbers([[0.0, 1.0, 0.5]])[0]
    assert with_gap[1] == 0.0


def test_an_unjudged_completion_is_not_a_zero() -> None:
    assert not advantages([[1.0, None, 1.0]]).kept_PG.any()


def test_a_wholly_unjudged_group_gives_no_nan() -> None:
    assert numbers([[None, None]]) == [[0.0, 0.0]]


@pytest.mark.parametrize("loo", [False, True])
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_groups_may_be_of_different_sizes(scale: str, loo: bool) -> None:
    uneven: Values = [[0.0, 1.0], [0.25, 0.5, 1.0, 1.0], [], [0.5]]
    padded: Values = [[None, 0.0, 1.0, None], [0.25, 0.5, 1.0, 1.0], [None], [0.5]]
    settings: dict[str, Any] = {"advantage_scale": scale, "leave_one_out": loo}
    got, expected = advantages(uneven, **settings), advantages(padded, **settings)
    assert got.advantages_PG[0, :2].tolist() == expected.advantages_PG[0, 1:3].tolist()
    assert got.advantages_PG[1].tolist() == expected.advantages_PG[1].tolist()
    assert got.kept_PG.sum(1).tolist() == [2, 4, 0, 0]


def test_no_groups_give_no_advantages() -> None:
    assert not advantages([]).kept_PG.any()


def test_groups_do_not_influence_each_other() -> None:
    assert numbers([[0.0, 1.0]])[0] == numbers([[0.0, 1.0], [100.0, -5.0]])[0]


def test_without_scale_the_advantage_is_the_distance_from_the_mean() -> None:
    assert numbers([[0.0, 0.0, 0.3]], advantage_scale="none")[0] == pytest.approx([-0.1, -0.1, 0.2])


def test_the_scale_is_none_for_dr_grpo_and_the_group_for_others_unless_chosen() -> None:
    rewards: Values = [[0.0, 0.5]]
    assert numbers(rewards, loss="dr_grpo") == numbers(rewards, advantage_scale="none")
    assert numbers(rewards, loss="grpo") == numbers(rewards, advantage_scale="group")
    assert numbers(rewards, loss="dr_grpo", advantage_scale="group") == numbers(rewards)


def test_batch_scale_is_the_std_of_all_that_take_part() -> None:
    rewards: Values = [[0.0, 1.0], [0.2, 0.4], [0.7, 0.7], [5.0, None]]
    std = math.sqrt((0.25 + 0.25 + 0.01 + 0.01) / 4)
    got = numbers(rewards, advantage_scale="batch")
    assert got[0] == pytest.approx([-0.5 / std, 0.5 / std], rel=1e-5)
    assert got[1] == pytest.approx([-0.1 / std, 0.1 / std], rel=1e-5)
    assert got[2:] == [[0.0, 0.0], [0.0, 0.0]]


def test_leave_one_out_compares_with_the_mean_of_the_others() -> None:
    got = numbers([[0.0, 1.0, 0.5, None]], advantage_scale="none", leave_one_out=True)[0]
    assert got == pytest.approx([0.0 - 0.75, 1.0 - 0.25, 0.5 - 0.5, 0.0])


def test_advantages_are_clipped_to_both_sides() -> None:
    rewards: Values = [[*[0.0] * 9, 1.0], [*[1.0] * 9, 0.0]]
    assert max(map(abs, numbers(rewards)[0])) == pytest.approx(3.0, rel=1e-5)
    clipped = numbers(rewards, advantage_clip=2.0)
    assert (clipped[0][-1], clipped[1][-1]) == (2.0, -2.0)
    assert clipped[0][0] == pytest.approx(-1 / 3, rel=1e-5)


def test_eps_is_added_to_the_std() -> None:
    assert numbers([[0.0, 1.0]], advantage_eps=0.5)[0] == [-0.5, 0.5]


def test_groups_under_the_std_threshold_leave() -> None:
    rewards: Values = [[0.0, 1.0], [0.4, 0.6]]
    assert advantages(rewards).kept_PG.all()
    result = advantages(rewards, min_group_std=0.2)
    assert result.kept_PG.any(1).tolist() == [True, False]
    assert result.zero_variance_P.tolist() == [False, False]


def test_the_std_threshold_reads_what_the_filter_reads() -> None:
    result = advantages([[0.4, 0.6]], [[0.0, 1.0]], min_group_std=0.2)
    assert result.kept_PG.all()
