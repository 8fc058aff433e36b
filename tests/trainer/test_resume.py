from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rewards.errors import ConfigurationError
from trainer import checkpoint as checkpoint_module
from trainer.checkpoint import STATE_FILE, latest_checkpoint, load_state, save_checkpoint
from trainer.config import Config
from trainer.loop import train
from trainer.policy import Policy, make_optimizer
from trainer.rollout import Group
from trainer.rollout.hf import HFEngine
from trainer.tasks import Task


def steps_of(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").glob("step-*"))


def weights(run: Path, step: int) -> dict[str, torch.Tensor]:
    folder = run / "checkpoints" / f"step-{step:06d}"
    return AutoModelForCausalLM.from_pretrained(folder).state_dict()  # type: ignore[no-any-return]


def timeless(path: Path) -> list[dict[str, Any]]:
    """The lines of a file without times and rates."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        for key in [k for k in row if k.startswith("time/") or k == "tokens_per_s"]:
            del row[key]
        row.get("score", {}).pop("elapsed_s", None)
    return rows


def run_to(config: Config, task: Task, folder: Path, steps: int, **changes: Any) -> Path:
    config = replace(config, output_dir=str(folder), steps=steps, **changes)
    return train(config, task).folder


@pytest.fixture(scope="module")
def whole(base_config: Config, shared_task: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_to(base_config, shared_task, tmp_path_factory.mktemp("runs") / "whole", 6)


@pytest.fixture(scope="module")
def resumed(
    base_config: Config, shared_task: Task, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run that was killed in step 6, after the checkpoint of step 4, and went on."""
    folder = tmp_path_factory.mktemp("runs") / "resumed"
    run_to(base_config, shared_task, folder, 5, save_every=4)
    (folder / "checkpoints" / "latest").write_text("step-000004\n")
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 6, "half a li')
    return run_to(base_config, shared_task, folder, 6, resume=True)


def test_resuming_gives_the_same_weights(whole: Path, resumed: Path) -> None:
    expected, got = weights(whole, 6), weights(resumed, 6)
    assert all(torch.equal(expected[name], got[name]) for name in expected)


def test_resuming_gives_the_same_metrics(whole: Path, resumed: Path) -> None:
    rows = [timeless(run / "metrics.jsonl") for run in (whole, resumed)]
    # The killed run was told to end at 5 and evaluated there; the rest must agree to the bit.
    assert [row["step"] for row in rows[1]] == list(range(7))
    assert rows[0] == rows[1]


def test_resuming_gives_the_same_samples(whole: Path, resumed: Path) -> None:
    assert timeless(whole / "samples.jsonl") == timeless(resumed / "samples.jsonl")


def test_resuming_gives_the_same_optimizer_state(whole: Path, resumed: Path) -> None:
    states = [
        torch.load(run / "checkpoints" / "step-000006" / STATE_FILE)["optimizer"]["state"]
        for run in (whole, resumed)
    ]
    assert states[0].keys() == states[1].keys()
    for index in states[0]:
        for name in states[0][index]:
            assert torch.equal(states[0][index][name], states[1][index][name])


@pytest.mark.parametrize(
    "call", [1, 2, 5, 9], ids=["first eval", "rollout", "eval of step 3", "last eval"]
)
def test_a_run_that_ctrl_c_stopped_goes_on_as_if_it_never_had(
    config: Config,
    task: Task,
    whole: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    call: int,
) -> None:
    generate, calls = HFEngine.generate, 0

    def press(self: HFEngine, *args: Any, **kwargs: Any) -> list[Group]:
        nonlocal calls
        calls += 1
        if calls == call:
            signal.raise_signal(signal.SIGINT)
            assert "Ctrl-C again stops at once" in capfd.readouterr().err
        return generate(self, *args, **kwargs)

    monkeypatch.setattr(HFEngine, "generate", press)
    stopped = train(config, task)
    assert (stopped.interrupted, calls) == (True, call)
    folder = train(replace(config, resume=True), task).folder
    assert timeless(folder / "metrics.jsonl") == timeless(whole / "metrics.jsonl")
    assert timeless(folder / "samples.jsonl") == timeless(whole / "samples.jsonl")
    expected, got = weights(whole, 6), weights(folder, 6)
    assert all(torch.equal(expected[name], got[name]) for name in expected)


def test_going_on_from_an_older_checkpoint_removes_the_later_ones(
    config: Config, task: Task, whole: Path, tmp_path: Path
) -> None:
    folder = run_to(config, task, tmp_path / "run", 4)
    (folder / "checkpoints" / ".tmp-step-000009").mkdir()
    (folder / "checkpoints" / "latest").write_text("step-000002\n")
    run_to(config, task, folder, 3, resume=True)
    assert steps_of(folder) == ["step-000002", "step-000003"]
    assert not list((folder / "checkpoints").glob(".tmp-*"))


def test_going_on_from_an_older_checkpoint_gives_the_weights_of_the_new_way(
    config: Config, task: Task, tmp_path: Path
) -> None:
    folder = run_to(config, task, tmp_path / "run", 4)
    before = weights(folder, 4)
    (folder / "checkpoints" / "latest").write_text("step-000002\n")
    run_to(config, task, folder, 4, resume=True, learning_rate=0.1)
    assert not torch.equal(before["lm_head.weight"], weights(folder, 4)["lm_head.weight"])


def test_a_damaged_checkpoint_is_an_error_that_changes_no_settings(
    config: Config, task: Task, tmp_path: Path
) -> None:
    folder = run_to(config, task, tmp_path / "run", 2)
    state = folder / "checkpoints" / "step-000002" / STATE_FILE
    state.write_bytes(state.read_bytes()[:1000])
    before = (folder / "config.toml").read_text()
    with pytest.raises(ConfigurationError, match=r"trainer_state\.pt cannot be read"):
        run_to(config, task, folder, 3, resume=True)
    assert (folder / "config.toml").read_text() == before


def test_a_resumed_run_decays_weights_as_its_own_settings_say(
    policy: Policy, tmp_path: Path
) -> None:
    saved = save_checkpoint(tmp_path, 1, policy, {}, keep=1)
    policy.optimizer = make_optimizer(policy.model, 1e-3, weight_decay=0.5)
    load_state(saved, policy)
    assert [group["weight_decay"] for group in policy.optimizer.param_groups] == [0.5, 0.0]


def test_a_run_without_a_checkpoint_starts_over(config: Config, task: Task, tmp_path: Path) -> None:
    folder = run_to(config, task, tmp_path / "run", 2)
    (folder / "checkpoints" / "latest").unlink()
    before = timeless(folder / "metrics.jsonl")
    run_to(config, task, folder, 2, resume=True)
    assert timeless(folder / "metrics.jsonl") == before


def test_a_finished_run_is_left_as_it_is(config: Config, task: Task, tmp_path: Path) -> None:
    folder = run_to(config, task, tmp_path / "run", 2)
    before = (folder / "metrics.jsonl").read_text()
    run_to(config, task, folder, 2, resume=True)
    assert (folder / "metrics.jsonl").read_text() == before


def test_a_checkpoint_loads_with_transformers_alone(whole: Path) -> None:
    folder = whole / "checkpoints" / "step-000006"
    assert (folder / "model.safetensors").is_file()
    assert AutoTokenizer.from_pretrained(folder).eos_token == "<eos>"


def test_latest_names_the_newest_checkpoint(whole: Path) -> None:
    assert latest_checkpoint(whole / "checkpoints") == whole / "checkpoints" / "step-000006"


def test_dying_while_saving_leaves_the_old_checkpoint_in_charge(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = save_checkpoint(tmp_path, 1, policy, {}, keep=1)

    def die(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint_module.torch, "save", die)
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(tmp_path, 2, policy, {}, keep=1)
    assert latest_checkpoint(tmp_path) == first


def test_a_half_written_checkpoint_is_replaced(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leftover = tmp_path / ".tmp-step-000001"
    leftover.mkdir()
    (leftover / "junk").touch()
    folder = save_checkpoint(tmp_path, 1, policy, {}, keep=1)
    assert not (folder / "junk").exists()


def test_a_stale_checkpoint_of_the_same_step_is_replaced(policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "step-000001").mkdir()
    (tmp_path / "step-000001" / "junk").touch()
    folder = save_checkpoint(tmp_path, 1, policy, {}, keep=1)
    assert (folder / STATE_FILE).is_file()
    assert not (folder / "junk").exists()


def test_the_checkpoint_in_charge_is_kept_whatever_the_others_are_called(
    policy: Policy, tmp_path: Path
) -> None:
    for name in ("step-000009", "step-1000000", "step-mine"):
        (tmp_path / name).mkdir()
    newest = save_checkpoint(tmp_path, 2, policy, {}, keep=2)
    assert latest_checkpoint(tmp_path) == newest
    names = {path.name for path in tmp_path.glob("step-*")}
    assert names == {"step-000002", "step-1000000", "step-mine"}


def test_old_checkpoints_go_only_after_the_new_one_is_in_charge(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # verl 4873: the only good checkpoint was deleted before the next one was on disk.
    save_checkpoint(tmp_path, 1, policy, {}, keep=1)
    seen = []
    remove = checkpoint_module.shutil.rmtree

    def watch(path: Path, **kwargs: Any) -> None:
        if path.name.startswith("step-"):
            seen.append((path.name, latest_checkpoint(tmp_path)))
        remove(path, **kwargs)

    monkeypatch.setattr(checkpoint_module.shutil, "rmtree", watch)
    second = save_checkpoint(tmp_path, 2, policy, {}, keep=1)
    assert seen == [("step-000001", second)]


def test_as_many_checkpoints_are_kept_as_asked_for(
    config: Config, task: Task, tmp_path: Path
) -> None:
    folder = run_to(config, task, tmp_path / "run", 6, save_every=1, keep_checkpoints=2)
    assert steps_of(folder) == ["step-000005", "step-000006"]


def test_a_pointer_to_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text("step-000009\n")
    with pytest.raises(ConfigurationError, match="step-000009, which is not there"):
        latest_checkpoint(tmp_path)
