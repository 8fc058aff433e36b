from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.trainer.ranks import run_ranks
from trainer.checkpoint import latest_checkpoint
from trainer.config import Config, to_toml
from trainer.distributed import World
from trainer.loop import train
from trainer.rollout import Finished
from trainer.rollout.hf import HFEngine
from trainer.tasks import Task, load_task


def steps_of(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").glob("step-*"))


def weights(run: Path, step: int) -> dict[str, torch.Tensor]:
    folder = run / "checkpoints" / f"step-{step:06d}"
    return AutoModelForCausalLM.from_pretrained(folder).state_dict()  # type: ignore[no-any-return]


def timeless(path: Path) -> list[dict[str, Any]]:
    """The lines of a file without times and rates."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        for key in [k for k in row if k.startswith(("time/", "tokens_per_s", "memory/"))]:
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

    def press(self: HFEngine, *args: Any, **kwargs: Any) -> Iterator[Finished]:
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


def test_as_many_checkpoints_are_kept_as_asked_for(
    config: Config, task: Task, tmp_path: Path
) -> None:
    folder = run_to(config, task, tmp_path / "run", 6, save_every=1, keep_checkpoints=2)
    assert steps_of(folder) == ["step-000005", "step-000006"]


@pytest.fixture(scope="module")
def settings(
    base_config: Config, shared_task: Task, tmp_path_factory: pytest.TempPathFactory
) -> Config:
    """The run as a process of its own can be told of it."""
    folder = tmp_path_factory.mktemp("data")
    for name, rows in {"train": shared_task.train, "eval": shared_task.test}.items():
        lines = [json.dumps({"id": r.id, "prompt": r.prompt, "spec": r.spec}) for r in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    data, eval_data = str(folder / "train.jsonl"), str(folder / "eval.jsonl")
    return replace(base_config, task="jsonl", data=data, eval_data=eval_data, save_every=1)


def as_loaded(settings: Config) -> Task:
    data, eval_data = (Path(str(name)) for name in (settings.data, settings.eval_data))
    return load_task("jsonl", data=data, eval_data=eval_data)


@pytest.fixture(scope="module")
def never_killed(settings: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_to(settings, as_loaded(settings), tmp_path_factory.mktemp("runs") / "never", 6)


@pytest.mark.parametrize("kill", range(3))
def test_verl_3754_a_run_that_was_killed_goes_on_as_if_it_never_had(
    settings: Config, never_killed: Path, tmp_path: Path, kill: int
) -> None:
    # trl 3247, verl 3754, 4156, NeMo-RL 3599, prime-rl 3164: data repeated or lost, RNG lost.
    rng, folder = random.Random(kill), tmp_path / "run"
    file = tmp_path / "run.toml"
    file.write_text(to_toml(replace(settings, output_dir=str(folder))), encoding="utf-8")
    run = subprocess.Popen(
        [sys.executable, "-m", "trainer.cli", "--config", str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        deadline, wanted = time.monotonic() + 120, rng.randint(2, 5)
        while not (folder / "metrics.jsonl").exists() or (
            len((folder / "metrics.jsonl").read_text().splitlines()) < wanted
        ):
            assert run.poll() is None, run.stderr and run.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(rng.random() * 0.2)
    finally:
        run.kill()  # SIGKILL
        run.communicate()
    run_to(settings, as_loaded(settings), folder, 6, resume=True)
    assert timeless(folder / "metrics.jsonl") == timeless(never_killed / "metrics.jsonl")
    assert timeless(folder / "samples.jsonl") == timeless(never_killed / "samples.jsonl")
    expected, got = weights(never_killed, 6), weights(folder, 6)
    assert all(torch.equal(expected[name], got[name]) for name in expected)


def _train(world: World, config: Config, task: Task) -> int:
    world.close()  # the run opens its own
    return train(config, task).step


def test_two_ranks_resume_as_two_and_as_one(
    config: Config, task: Task, whole: Path, tmp_path: Path
) -> None:
    def on_two(folder: Path, steps: int, **changes: Any) -> None:
        run_ranks(_train, replace(config, output_dir=str(folder), steps=steps, **changes), task)

    straight, halted, alone = (tmp_path / name for name in ("straight", "halted", "alone"))
    on_two(straight, 5)
    on_two(halted, 4)
    shutil.copytree(halted, alone)
    on_two(halted, 5, resume=True)
    run_to(config, task, alone, 5, resume=True)

    expected, got = weights(straight, 5), weights(halted, 5)
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    assert timeless(straight / "samples.jsonl") == timeless(halted / "samples.jsonl")
    # On one rank sums are taken in another order.
    got = weights(alone, 5)
    assert all((expected[name] - got[name]).abs().max() < 1e-5 for name in expected)
    texts = [
        [row["completion"] for row in timeless(run / "samples.jsonl")]
        for run in (straight, alone, whole)
    ]
    assert texts[0] == texts[1] == texts[2][: len(texts[0])]
