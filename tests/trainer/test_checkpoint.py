from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.tensor import DTensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from rewards.errors import ConfigurationError
from tests.trainer.ranks import run_ranks
from trainer.checkpoint import (
    SHARDS,
    STATE_FILE,
    Checkpointer,
    discard_after,
    latest_checkpoint,
    load_checkpoint,
)
from trainer.config import Config
from trainer.distributed import World
from trainer.policy import Policy, load_policy

STATE = {"order": [3, 1, 2], "pending": {"reward": 0.5}}


ALONE = World()


def make_policy(config: Config, world: World = ALONE) -> Policy:
    return load_policy(config, world)


def advance(policy: Policy) -> None:
    """Move the weights as an update does, by a gradient that any number of ranks agrees on."""
    for parameter in policy.scorer.parameters():
        if parameter.requires_grad:
            parameter.grad = parameter.detach() * 0.1 + 0.01
    policy.optimizer.step()
    policy.optimizer.zero_grad()


def everything(policy: Policy) -> dict[str, Tensor]:
    """Whole copies of what is trained and of the optimiser's state."""
    tensors = {}
    for name, parameter in policy.scorer.named_parameters():
        if parameter.requires_grad:
            tensors[name] = whole(parameter.detach())
            for key, value in policy.optimizer.state.get(parameter, {}).items():
                tensors[f"{key} of {name}"] = whole(value)
    return tensors


def whole(tensor: Tensor) -> Tensor:
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).clone()


def differing(a: dict[str, Tensor], b: dict[str, Tensor]) -> list[str]:
    return [key for key in sorted(a.keys() | b.keys())
            if key not in a or key not in b or not torch.equal(a[key], b[key])]  # fmt: skip


def save(policy: Policy, folder: Path, step: int = 1, keep: int = 1) -> Path:
    checkpointer = Checkpointer(folder, policy, keep=keep)
    checkpointer.save(step, STATE)
    checkpointer.close()
    return folder / f"step-{step:06d}"


@pytest.fixture
def checkpointer(policy: Policy, tmp_path: Path) -> Iterator[Checkpointer]:
    made = Checkpointer(tmp_path, policy, keep=1)
    yield made
    made.close()


# What one run leaves, another one finds: on one rank, on two, and between them.


@dataclass(frozen=True)
class Run:
    """A run that took two updates and saved; then one more update and some random numbers."""

    at_save: dict[str, Tensor]
    later: dict[str, Tensor]
    drawn: Tensor


@dataclass(frozen=True)
class Resumed(Run):
    step: int
    state: dict[str, Any]


def first_run(world: World, config: Config, folder: Path) -> Run:
    policy = make_policy(config, world)
    torch.manual_seed(world.rank)
    advance(policy)
    advance(policy)
    checkpointer = Checkpointer(folder, policy, keep=1)
    checkpointer.save(2, STATE)
    checkpointer.close()
    at_save = everything(policy)
    advance(policy)
    return Run(at_save, everything(policy), torch.rand(4))


def resumed_run(world: World, config: Config, folder: Path) -> Resumed:
    policy = make_policy(config, world)
    found = latest_checkpoint(folder)
    assert found is not None
    step, state = load_checkpoint(found, policy)
    at_load = everything(policy)
    advance(policy)
    return Resumed(at_load, everything(policy), torch.rand(4), step, state)


def failing_run(world: World, config: Config, folder: Path) -> str:
    """Save where rank 0 cannot put the checkpoint in charge; return what this rank hears."""
    (folder / "latest").mkdir(parents=True, exist_ok=True)
    checkpointer = Checkpointer(folder, make_policy(config, world), keep=1)
    checkpointer.save(1, STATE)
    with pytest.raises(OSError, match="cannot write the checkpoint") as raised:
        poll_on_and_on(checkpointer)
    return str(raised.value)


def poll_on_and_on(checkpointer: Checkpointer) -> None:
    while True:  # each call is answered by all ranks, so all leave by the same one
        checkpointer.poll()


@dataclass(frozen=True)
class Exchange:
    folder: Path
    saved: dict[int, list[Run]]
    """Number of ranks -> what they had."""
    loaded: dict[tuple[int, int], list[Resumed]]
    """Ranks that saved, ranks that loaded -> what these found."""
    failed: list[str]


@pytest.fixture(scope="module")
def exchange(base_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Exchange:
    folder = tmp_path_factory.mktemp("exchange")
    one, two = folder / "1", folder / "2"
    config = base_config
    saved_alone = first_run(ALONE, config, one)

    def on_two_ranks(world: World) -> tuple[Run, Resumed, Resumed, str]:
        return (
            first_run(world, config, two),
            resumed_run(world, config, two),
            resumed_run(world, config, one),
            failing_run(world, config, folder / "failing"),
        )

    saved, same, spread, failed = zip(*run_ranks(on_two_ranks), strict=True)
    return Exchange(
        folder,
        {1: [saved_alone], 2: list(saved)},
        {
            (1, 1): [resumed_run(ALONE, config, one)],
            (2, 2): list(same),
            (1, 2): list(spread),
            (2, 1): [resumed_run(ALONE, config, two)],
        },
        list(failed),
    )


WAYS = pytest.mark.parametrize("way", [(1, 1), (2, 2), (1, 2), (2, 1)], ids="{0[0]}to{0[1]}".format)


@WAYS
def test_weights_and_optimizer_come_back_bit_for_bit(
    exchange: Exchange, way: tuple[int, int]
) -> None:
    expected = exchange.saved[way[0]][0].at_save
    assert any(key.startswith("exp_avg_sq of ") for key in expected)
    assert [differing(expected, run.at_save) for run in exchange.loaded[way]] == [[]] * way[1]


@WAYS
def test_the_next_update_is_that_of_the_run_that_never_stopped(
    exchange: Exchange, way: tuple[int, int]
) -> None:
    expected = exchange.saved[way[0]][0].later
    assert [differing(expected, run.later) for run in exchange.loaded[way]] == [[]] * way[1]


@WAYS
def test_step_and_state_come_back(exchange: Exchange, way: tuple[int, int]) -> None:
    assert all((run.step, run.state) == (2, STATE) for run in exchange.loaded[way])


@pytest.mark.parametrize("ranks", [1, 2])
def test_each_rank_draws_the_random_numbers_it_would_have_drawn(
    exchange: Exchange, ranks: int
) -> None:
    drawn = [run.drawn.tolist() for run in exchange.saved[ranks]]
    assert [run.drawn.tolist() for run in exchange.loaded[ranks, ranks]] == drawn
    assert len({tuple(numbers) for numbers in drawn}) == ranks


@pytest.mark.parametrize("ranks", [1, 2])
def test_any_number_of_ranks_leaves_a_model_that_transformers_loads(
    exchange: Exchange, ranks: int
) -> None:
    folder = exchange.folder / str(ranks) / "step-000002"
    weights = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    masters = exchange.saved[ranks][0].at_save
    assert all(torch.equal(masters[f"model.{name}"], weights[name]) for name in weights)


def test_an_error_of_the_main_rank_reaches_all_ranks(exchange: Exchange) -> None:
    assert len(exchange.failed) == 2
    assert all("Is a directory" in text for text in exchange.failed)


# The folder is one that others can load.


def test_the_saved_model_gives_the_logits_of_the_trained_one(
    policy: Policy, tmp_path: Path
) -> None:
    advance(policy)
    ids_BT = torch.tensor([[3, 4, 5, 6]])
    loaded = AutoModelForCausalLM.from_pretrained(save(policy, tmp_path))
    assert torch.equal(loaded(ids_BT).logits, policy.scorer.model(ids_BT).logits)


def test_a_model_with_tied_weights_is_saved_with_them_once(config: Config, tmp_path: Path) -> None:
    # prime-rl 1765: exported models with tied weights that would not load.
    tied = tmp_path / "tied"
    shutil.copytree(config.model, tied)
    settings = AutoConfig.from_pretrained(tied, tie_word_embeddings=True)
    AutoModelForCausalLM.from_config(settings).save_pretrained(tied)
    policy = make_policy(replace(config, model=str(tied)))
    advance(policy)
    ids_BT = torch.tensor([[3, 4, 5, 6]])
    folder = save(policy, tmp_path)
    assert "lm_head.weight" not in load_file(folder / "model.safetensors")
    loaded = AutoModelForCausalLM.from_pretrained(folder)
    assert torch.equal(loaded(ids_BT).logits, policy.scorer.model(ids_BT).logits)


def test_the_tokenizer_lies_beside_the_model(policy: Policy, tmp_path: Path) -> None:
    assert AutoTokenizer.from_pretrained(save(policy, tmp_path)).eos_token == "<eos>"


def test_the_saved_model_is_in_the_dtype_of_the_passes(config: Config, tmp_path: Path) -> None:
    policy = make_policy(replace(config, dtype="bfloat16"))
    folder = save(policy, tmp_path)
    assert AutoModelForCausalLM.from_pretrained(folder).dtype == torch.bfloat16
    stored = load_file(folder / "model.safetensors").values()
    assert {tensor.dtype for tensor in stored} == {torch.bfloat16}


def test_masters_are_float32_whatever_the_passes_are(config: Config, tmp_path: Path) -> None:
    policy = make_policy(replace(config, dtype="bfloat16"))
    advance(policy)
    before = everything(policy)
    resumed = make_policy(replace(config, dtype="bfloat16"))
    load_checkpoint(save(policy, tmp_path), resumed)
    assert differing(before, everything(resumed)) == []


# LoRA.


@pytest.fixture
def lora_config(config: Config) -> Config:
    return replace(config, lora_rank=2)


def test_with_lora_the_model_has_the_adapters_merged_in(
    lora_config: Config, tmp_path: Path
) -> None:
    policy = make_policy(lora_config)
    ids_BT = torch.tensor([[3, 4, 5, 6]])
    untrained = policy.scorer.model(ids_BT).logits
    for _ in range(3):
        advance(policy)
    loaded = AutoModelForCausalLM.from_pretrained(save(policy, tmp_path))
    trained = policy.scorer.model(ids_BT).logits
    torch.testing.assert_close(loaded(ids_BT).logits, trained)
    assert not torch.allclose(untrained, trained, atol=1e-3)


def test_with_lora_the_adapters_alone_are_kept_for_resuming(
    lora_config: Config, tmp_path: Path
) -> None:
    policy = make_policy(lora_config)
    advance(policy)
    folder = save(policy, tmp_path)
    stored = FileSystemReader(folder / SHARDS).read_metadata().state_dict_metadata
    assert all("lora_" in key for key in stored)
    resumed = make_policy(lora_config)
    load_checkpoint(folder, resumed)
    assert differing(everything(policy), everything(resumed)) == []


# Training goes on while a checkpoint is written.


@contextmanager
def held_up(checkpointer: Checkpointer) -> Iterator[None]:
    """Nothing reaches the disk meanwhile."""
    gate = threading.Event()
    checkpointer._thread.submit(gate.wait)
    yield
    gate.set()
    checkpointer.wait()


def test_saving_returns_before_anything_is_written(
    checkpointer: Checkpointer, tmp_path: Path
) -> None:
    with held_up(checkpointer):
        checkpointer.save(1, STATE)
        checkpointer.poll()
        assert list(tmp_path.iterdir()) == []
    assert latest_checkpoint(tmp_path) == tmp_path / "step-000001"


def test_training_meanwhile_does_not_change_what_is_saved(
    checkpointer: Checkpointer, config: Config, tmp_path: Path
) -> None:
    policy, state = checkpointer.policy, {"cursor": [1]}
    advance(policy)
    before = everything(policy)
    with held_up(checkpointer):
        checkpointer.save(1, state)
        advance(policy)
        state["cursor"].append(2)
    resumed = make_policy(config)
    _, found = load_checkpoint(tmp_path / "step-000001", resumed)
    assert differing(before, everything(resumed)) == []
    assert found == {"cursor": [1]}
    weights = AutoModelForCausalLM.from_pretrained(tmp_path / "step-000001").state_dict()
    assert all(torch.equal(before[f"model.{name}"], weights[name]) for name in weights)


def test_a_save_waits_for_the_one_before_it(checkpointer: Checkpointer, tmp_path: Path) -> None:
    checkpointer.save(1, STATE)
    checkpointer.save(2, STATE)
    assert latest_checkpoint(tmp_path) is not None


# Errors come back from the background.

NEXT_CALLS: dict[str, Callable[[Checkpointer], None]] = {
    "save": lambda checkpointer: checkpointer.save(3, STATE),
    "poll": lambda checkpointer: checkpointer.poll(),
    "wait": lambda checkpointer: checkpointer.wait(),
    "close": lambda checkpointer: checkpointer.close(),
}


@pytest.mark.parametrize("call", NEXT_CALLS)
def test_an_error_in_the_background_is_raised_by_the_next_call(
    policy: Policy, tmp_path: Path, call: str
) -> None:
    checkpointer = Checkpointer(tmp_path, policy, keep=1)
    (tmp_path / ".tmp-step-000002").touch()  # a file where a folder is needed
    checkpointer.save(2, STATE)
    checkpointer._thread.submit(int).result()  # when this is done, the save is
    with pytest.raises(OSError, match=r"cannot write the checkpoint .*step-000002: "):
        NEXT_CALLS[call](checkpointer)
    checkpointer.close()


@pytest.mark.parametrize(("lora_rank", "limit"), [(0, 1_000), (2, 60_000)], ids=["shard", "model"])
def test_a_full_disk_is_an_error_that_leaves_the_old_checkpoint_in_charge(
    config: Config, tmp_path: Path, lora_rank: int, limit: int
) -> None:
    config = replace(config, lora_rank=lora_rank)
    policy = make_policy(config)
    first = save(policy, tmp_path)
    with files_of_at_most(limit), pytest.raises(OSError, match="step-000002") as raised:
        save(policy, tmp_path, step=2)
    assert ("afetensor" in repr(raised.value.__cause__)) == (lora_rank > 0)
    assert latest_checkpoint(tmp_path) == first
    load_checkpoint(first, make_policy(config))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The kernel refuses to write larger files, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# Death at any moment.


def killed_at_random(world: World, config: Config, folder: Path, times: int) -> list[int]:
    """Kill a run that saves all the time, again and again; return the steps found in charge."""
    policy, rng, found = make_policy(config, world), random.Random(0), [0]
    for _ in range(times):
        child = os.fork()  # safe: nothing here has started a thread
        if child == 0:
            try:
                save_on_and_on(policy, folder, found[-1])
            finally:
                os._exit(1)
        wait_for_a_step_after(found[-1], folder)
        time.sleep(rng.uniform(0, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found.append(check_latest(make_policy(config), folder))
    return found


def save_on_and_on(policy: Policy, folder: Path, last: int) -> None:
    discard_after(folder, last)
    checkpointer = Checkpointer(folder, policy, keep=1)
    for step in range(last, last + 300):
        for parameter in policy.scorer.parameters():
            parameter.data.fill_(step)
        checkpointer.save(step, {"step": step})
        checkpointer.save(step, {"step": step})  # once more, as after an evaluation


def wait_for_a_step_after(last: int, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        pointer = folder / "latest"
        if pointer.exists() and int(pointer.read_text().removeprefix("step-")) > last:
            return
        time.sleep(0.002)
    raise AssertionError("nothing was saved")


def check_latest(policy: Policy, folder: Path) -> int:
    """Load the checkpoint in charge, check that all of it is of the same step, and return that."""
    latest = latest_checkpoint(folder)
    assert latest is not None
    step, state = load_checkpoint(latest, policy)
    assert latest.name == f"step-{step:06d}"
    assert state == {"step": step}
    weights = [*policy.scorer.parameters(), *load_file(latest / "model.safetensors").values()]
    assert all((weight == step).all() for weight in weights)
    return step


def test_a_run_killed_at_random_moments_always_leaves_a_whole_checkpoint_in_charge(
    base_config: Config, tmp_path: Path
) -> None:
    [steps] = run_ranks(killed_at_random, base_config, tmp_path, 8, ranks=1)
    assert steps == sorted(set(steps))


def test_dying_while_a_step_is_saved_once_more_leaves_the_old_one(
    policy: Policy, tmp_path: Path
) -> None:
    folder = save(policy, tmp_path)
    folder.rename(tmp_path / ".tmp-step-000001-replaced")  # where the new one is renamed next
    assert latest_checkpoint(tmp_path) == folder
    load_checkpoint(folder, policy)


def test_dying_after_a_step_was_saved_once_more_leaves_the_new_one(
    policy: Policy, tmp_path: Path
) -> None:
    folder = save(policy, tmp_path)
    shutil.copytree(folder, tmp_path / ".tmp-step-000001-replaced")
    (folder / "new").touch()
    assert latest_checkpoint(tmp_path) == folder
    assert (folder / "new").exists()


# Which checkpoints there are.


def test_nothing_is_in_charge_before_the_first_save(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path) is None


def test_old_checkpoints_go_only_after_the_new_one_is_in_charge(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # verl 4873: the only good checkpoint was deleted before the next one was on disk.
    save(policy, tmp_path)
    seen = []
    remove = shutil.rmtree

    def watch(path: Path, **kwargs: Any) -> None:
        if path.name.startswith("step-"):
            seen.append((path.name, latest_checkpoint(tmp_path)))
        remove(path, **kwargs)

    monkeypatch.setattr(shutil, "rmtree", watch)
    second = save(policy, tmp_path, step=2)
    assert seen == [("step-000001", second)]


def test_as_many_checkpoints_are_kept_as_asked_for(policy: Policy, tmp_path: Path) -> None:
    checkpointer = Checkpointer(tmp_path, policy, keep=2)
    for step in (1, 2, 3):
        checkpointer.save(step, STATE)
    checkpointer.close()
    assert names(tmp_path) == {"step-000002", "step-000003", "latest"}


def test_the_checkpoint_in_charge_is_kept_whatever_the_others_are_called(
    policy: Policy, tmp_path: Path
) -> None:
    for name in ("step-000009", "step-1000000", "step-mine"):
        (tmp_path / name).mkdir()
    newest = save(policy, tmp_path, step=2, keep=2)
    assert latest_checkpoint(tmp_path) == newest
    assert names(tmp_path) == {"step-000002", "step-1000000", "step-mine", "latest"}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("leftover", ["step-000001", ".tmp-step-000001"])
def test_what_lies_in_the_way_is_replaced(policy: Policy, tmp_path: Path, leftover: str) -> None:
    (tmp_path / leftover).mkdir()
    (tmp_path / leftover / "junk").touch()
    folder = save(policy, tmp_path)
    assert (folder / STATE_FILE).is_file()
    assert not (folder / "junk").exists()
    assert names(tmp_path) == {"step-000001", "latest"}


def test_going_on_from_an_older_checkpoint_removes_the_later_ones(tmp_path: Path) -> None:
    for name in ("step-000001", "step-000002", "step-000003", ".tmp-step-000004"):
        (tmp_path / name).mkdir()
    discard_after(tmp_path, 2)
    assert names(tmp_path) == {"step-000001", "step-000002"}


# Checkpoints that cannot be resumed from.


def test_a_pointer_to_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text("step-000009\n")
    with pytest.raises(ConfigurationError, match="step-000009, which is not there"):
        latest_checkpoint(tmp_path)


@pytest.mark.parametrize("name", [STATE_FILE, f"{SHARDS}/.metadata", f"{SHARDS}/__0_0.distcp"])
@pytest.mark.parametrize("damage", ["cut", "overwritten", "gone"])
def test_a_damaged_checkpoint_is_an_error_that_says_what_to_do(
    policy: Policy, tmp_path: Path, name: str, damage: str
) -> None:
    folder = save(policy, tmp_path)
    content = (folder / name).read_bytes()
    half = len(content) // 2
    (folder / name).unlink()
    if damage != "gone":
        (folder / name).write_bytes(content[:half] + b"?" * half * (damage == "overwritten"))
    with pytest.raises(ConfigurationError, match=r"step-000001 cannot be read .*/latest$"):
        load_checkpoint(folder, policy)


def test_a_checkpoint_of_another_model_is_an_error(
    policy: Policy, config: Config, tmp_path: Path
) -> None:
    folder = save(policy, tmp_path)
    other = AutoModelForCausalLM.from_pretrained(config.model)
    other.lm_head = torch.nn.Linear(32, 20, bias=False)
    policy.scorer.model = other
    with pytest.raises(ConfigurationError, match=r"lm_head.weight is \[19, 32\] there and \[20, "):
        load_checkpoint(folder, policy)


@pytest.mark.parametrize("ranks", [(0, 2), (2, 0), (2, 4)], ids="{0[0]}to{0[1]}".format)
def test_other_lora_settings_are_an_error(
    config: Config, tmp_path: Path, ranks: tuple[int, int]
) -> None:
    saved, resumed = (make_policy(replace(config, lora_rank=rank)) for rank in ranks)
    with pytest.raises(ConfigurationError, match=r"another model or LoRA setting.*config\.toml"):
        load_checkpoint(save(saved, tmp_path), resumed)


def test_a_checkpoint_of_another_version_is_an_error(policy: Policy, tmp_path: Path) -> None:
    folder = save(policy, tmp_path)
    state = torch.load(folder / STATE_FILE)
    torch.save(state | {"version": 2}, folder / STATE_FILE)
    with pytest.raises(ConfigurationError, match=r"state version 2, this program reads 3"):
        load_checkpoint(folder, policy)


# The optimiser.


def test_before_the_first_update_there_is_no_optimizer_state(
    policy: Policy, config: Config, tmp_path: Path
) -> None:
    resumed = make_policy(config)
    load_checkpoint(save(policy, tmp_path), resumed)
    assert not resumed.optimizer.state


def test_moments_that_are_kept_on_the_cpu_come_back(config: Config, tmp_path: Path) -> None:
    config = replace(config, offload_optimizer=True)
    policy, resumed = make_policy(config), make_policy(config)
    advance(policy)
    load_checkpoint(save(policy, tmp_path), resumed)
    assert differing(everything(policy), everything(resumed)) == []


def test_a_resumed_run_has_the_learning_rate_and_decay_of_its_own_settings(
    policy: Policy, config: Config, tmp_path: Path
) -> None:
    advance(policy)
    resumed = make_policy(replace(config, learning_rate=0.25, weight_decay=0.5))
    load_checkpoint(save(policy, tmp_path), resumed)
    groups = resumed.optimizer.param_groups
    assert [(group["lr"], group["weight_decay"]) for group in groups] == [(0.25, 0.5), (0.25, 0.0)]
