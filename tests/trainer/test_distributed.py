from __future__ import annotations

import pytest
import torch
import torch.distributed as dist

from rewards.errors import ConfigurationError
from tests.trainer.ranks import run_ranks
from trainer.distributed import World, choose_device, open_world


def _everything(world: World) -> dict[str, object]:
    seen: dict[str, object] = {
        "gathered": world.gather({"rank": world.rank}),
        "sum": world.sum(torch.tensor([1.0, world.rank])).tolist(),
        "agree": (world.agree(world.rank == 1), world.agree(False)),
        "main": world.is_main,
    }
    world.barrier()
    dist.destroy_process_group()  # as vLLM's engine does when it shuts down
    world.close()
    return seen


@pytest.fixture(scope="module")
def two_ranks() -> list[dict[str, object]]:
    return run_ranks(_everything)


def test_every_rank_gets_every_ranks_object_in_their_order(
    two_ranks: list[dict[str, object]],
) -> None:
    assert [seen["gathered"] for seen in two_ranks] == [[{"rank": 0}, {"rank": 1}]] * 2


def test_a_sum_is_over_all_ranks(two_ranks: list[dict[str, object]]) -> None:
    assert [seen["sum"] for seen in two_ranks] == [[2.0, 1.0]] * 2


def test_one_rank_that_says_yes_is_enough(two_ranks: list[dict[str, object]]) -> None:
    assert [seen["agree"] for seen in two_ranks] == [(True, False)] * 2


def test_the_first_rank_alone_writes_and_talks(two_ranks: list[dict[str, object]]) -> None:
    assert [seen["main"] for seen in two_ranks] == [True, False]


def test_a_group_that_is_already_gone_is_left_alone(two_ranks: list[dict[str, object]]) -> None:
    assert len(two_ranks) == 2  # closing it a second time would have failed


def test_without_other_ranks_there_is_no_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    world = open_world("cpu")
    assert (world, dist.is_initialized()) == (World(), False)
    assert (world.gather(1), world.agree(True)) == ([1], True)
    world.close()


def test_one_device_for_several_ranks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigurationError, match="'cuda:0' names one device for 2 ranks"):
        open_world("cuda:0")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "meta", "hpu", "mps:7"])
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"device '{name}' cannot be used"):
        choose_device(name)
