from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.checkpoint import FileSystemReader

from rewards.errors import ConfigurationError, SpecError
from trainer import loop, run_folder, scoring
from trainer.config import Config
from trainer.loop import train
from trainer.preflight import describe_plan
from trainer.scoring import UnjudgedError
from trainer.tasks import Row, Task
from trainer.update import DisagreementError

EVERY_STEP = {
    "step", "reward/mean", "reward/std", "outcome/mean", "loss", "kl", "grad_norm", "clip_frac",
    "entropy", "advantages/abs_mean", "groups/zero_variance_frac", "groups/shaping_only_frac",
    "completions/length_mean",
    "completions/truncated_frac", "completions/unique_frac", "tokens_per_s", "time/rollout_s",
    "time/score_s", "time/update_s", "time/step_s", "verify/unjudged_frac",
    "rollout/logprob_diff_mean", "rollout/logprob_diff_max", "lr", "rollout/gen_kl_error",
    "rollout/token_mult_prob_error", "rollout/weight_mean", "rollout/masked_frac",
    "rollout/logprob_missing_frac", "groups/sampled", "groups/rounds", "tokens_per_s_per_gpu",
    "memory/peak_gb", "time/score_hidden_s", "time/logprobs_s", "time/sync_s", "time/idle_s",
}  # fmt: skip


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_leaves_its_folder_complete(config: Config, task: Task) -> None:
    folder = train(config, task).folder
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "config.toml", "metrics.jsonl", "samples.jsonl", "report.html", "checkpoints"
    }  # fmt: skip


def test_every_step_has_every_metric(config: Config, task: Task) -> None:
    rows = lines(train(config, task).folder / "metrics.jsonl")
    assert [row["step"] for row in rows] == [0, 1, 2, 3, 4, 5, 6]
    assert all(row.keys() >= EVERY_STEP for row in rows[1:])


def test_eval_runs_before_during_and_after(config: Config, task: Task) -> None:
    rows = lines(train(replace(config, steps=5), task).folder / "metrics.jsonl")
    assert [row["step"] for row in rows if "eval/pass@1" in row] == [0, 3, 5]


def test_every_sample_is_logged(config: Config, task: Task) -> None:
    records = lines(train(config, task).folder / "samples.jsonl")
    assert len(records) == 6 * 4 * 4
    assert {r["group"] for r in records} == {0, 1, 2, 3}


def test_the_model_learns(config: Config, task: Task) -> None:
    config = replace(config, steps=25, prompts_per_step=8, eval_prompts=0, save_every=0)
    rows = lines(train(config, task).folder / "metrics.jsonl")[1:]
    start, end = ([row["reward/mean"] for row in part] for part in (rows[:5], rows[-5:]))
    assert sum(end) / 5 > sum(start) / 5 + 0.3


def test_two_runs_with_one_seed_are_equal(config: Config, task: Task, tmp_path: Path) -> None:
    losses = []
    for name in "ab":
        folder = train(replace(config, output_dir=str(tmp_path / name)), task).folder
        losses.append([row.get("loss") for row in lines(folder / "metrics.jsonl")])
    assert losses[0] == losses[1]


def test_seeds_make_runs_differ(config: Config, task: Task, tmp_path: Path) -> None:
    texts = []
    for seed in (1, 2):
        changed = replace(config, seed=seed, output_dir=str(tmp_path / str(seed)), steps=1)
        texts.append(
            [r["completion"] for r in lines(train(changed, task).folder / "samples.jsonl")]
        )
    assert texts[0] != texts[1]


def test_an_unjudged_sample_leaves_its_group(config: Config, task: Task) -> None:
    records = lines(train(config, task).folder / "samples.jsonl")
    unjudged = [r for r in records if r["verdict"] == "unjudged"]
    assert unjudged  # the plug-in cannot judge what begins with "b"
    assert all(r["advantage"] is None and r["score"]["value"] is None for r in unjudged)
    by_group: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for record in records:
        by_group.setdefault((record["step"], record["group"]), []).append(record)
    for group in by_group.values():
        advantages = [r["advantage"] for r in group if r["advantage"] is not None]
        assert sum(advantages) == pytest.approx(0.0, abs=1e-9)


def test_unjudged_samples_are_counted(config: Config, task: Task) -> None:
    folder = train(config, task).folder
    counts = {
        row["step"]: row["verify/unjudged_frac"] * 16
        for row in lines(folder / "metrics.jsonl")
        if row["step"]
    }
    for step, count in counts.items():
        records = [r for r in lines(folder / "samples.jsonl") if r["step"] == step]
        assert count == pytest.approx(sum(r["verdict"] == "unjudged" for r in records))


def test_a_broken_machine_stops_the_run_with_the_cause(
    config: Config, unjudgeable_task: Task
) -> None:
    with pytest.raises(UnjudgedError, match=r"3 steps on end.*the counter is out of order"):
        train(config, unjudgeable_task)


def test_a_broken_machine_never_becomes_a_reward_of_zero(
    config: Config, unjudgeable_task: Task
) -> None:
    with pytest.raises(UnjudgedError):
        train(config, unjudgeable_task)
    rows = lines(Path(str(config.output_dir)) / "metrics.jsonl")
    assert all("reward/mean" not in row for row in rows)
    assert [row["verify/unjudged_frac"] for row in rows[1:]] == [1.0, 1.0]


def test_a_run_that_a_broken_machine_stopped_can_be_resumed(
    config: Config, task: Task, unjudgeable_task: Task
) -> None:
    with pytest.raises(UnjudgedError):
        train(config, unjudgeable_task)
    assert train(replace(config, resume=True), task).step == 6


def test_a_machine_that_recovers_is_forgiven(
    config: Config, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(100))
    real = scoring.rewards.score_batch

    def flaky(completions: list[str], specs: list[Any], **kwargs: Any) -> list[Any]:
        scores = real(completions, specs, **kwargs)
        if next(calls) % 3:  # two of three calls fail, never three on end
            return [scoring.rewards.Score.unjudged("down") for _ in scores]
        return scores

    monkeypatch.setattr(scoring.rewards, "score_batch", flaky)
    assert train(replace(config, eval_prompts=0), task).step == 6


def test_a_run_folder_in_use_is_refused(config: Config, task: Task) -> None:
    folder = Path(str(config.output_dir))
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    with pytest.raises(ConfigurationError, match="is not empty"):
        train(config, task)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_overwriting_replaces_the_run_and_nothing_else(config: Config, task: Task) -> None:
    folder = train(replace(config, save_every=1), task).folder
    (folder / "notes.txt").write_text("precious")
    train(replace(config, overwrite=True, steps=1), task)
    assert (folder / "notes.txt").read_text() == "precious"
    assert [p.name for p in folder.glob("checkpoints/step-*")] == ["step-000001"]
    assert [row["step"] for row in lines(folder / "metrics.jsonl")] == [0, 1]


def test_overwriting_removes_the_old_runs_tensorboard(config: Config, task: Task) -> None:
    config = replace(config, steps=0, eval_prompts=0)
    folder = train(config, task).folder
    (folder / "tensorboard").mkdir()
    (folder / "tensorboard" / "events.out").touch()
    train(replace(config, overwrite=True), task)
    assert not (folder / "tensorboard").exists()


def test_a_folder_that_holds_no_run_is_not_overwritten(config: Config, task: Task) -> None:
    folder = Path(str(config.output_dir))
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.toml").write_text("mine = true\n")
    with pytest.raises(ConfigurationError, match="holds files but no run to overwrite"):
        train(replace(config, overwrite=True), task)
    assert (folder / "config.toml").read_text() == "mine = true\n"
    assert (folder / "checkpoints").is_dir()


def test_an_empty_folder_may_be_overwritten(config: Config, task: Task) -> None:
    Path(str(config.output_dir)).mkdir()
    assert train(replace(config, overwrite=True, steps=0, eval_prompts=0), task).step == 0


def test_a_run_whose_rollout_disagrees_is_saved_before_it_stops(
    config: Config, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = loop.update_policy, iter(range(9))

    def update(*args: Any, **kwargs: Any) -> dict[str, float]:
        if next(calls) == 1:
            raise DisagreementError("they differ")
        return real(*args, **kwargs)

    monkeypatch.setattr(loop, "update_policy", update)
    with pytest.raises(DisagreementError):
        train(config, task)
    checkpoints = Path(str(config.output_dir)) / "checkpoints"
    assert (checkpoints / "latest").read_text() == "step-000001\n"


def test_the_plan_of_a_run_without_steps_has_one_eval(config: Config, task: Task) -> None:
    for steps, evals in ((0, 1), (1, 2), (3, 2), (4, 3)):
        plan = dict(describe_plan(replace(config, steps=steps), task, "a model"))
        assert plan["an eval"].endswith(f"{evals} times")


@pytest.mark.parametrize("tracked", [True, False])
def test_the_commit_is_recorded_only_where_it_holds_this_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracked: bool
) -> None:
    # An environment inside the checkout of another project has nothing of its commit.
    def git(*args: str) -> None:
        names = ("-c", "user.name=x", "-c", "user.email=x@y")
        subprocess.run(["git", "-C", str(tmp_path), *names, *args], check=True, capture_output=True)

    (tmp_path / "run_folder.py").touch()
    git("init")
    if tracked:
        git("add", "run_folder.py")
    git("commit", "--allow-empty", "-m", "x")
    monkeypatch.setattr(run_folder, "__file__", str(tmp_path / "run_folder.py"))
    assert (run_folder._git_commit() is not None) == tracked


@pytest.mark.parametrize("changes", [{"prompts_per_step": 17}, {"max_new_tokens": 60}])
def test_a_setting_that_cannot_work_leaves_no_folder(
    config: Config, task: Task, changes: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError):
        train(replace(config, **changes), task)
    assert not Path(str(config.output_dir)).exists()


def test_a_bad_spec_names_its_row(config: Config, task: Task) -> None:
    task.train[3] = Row("the-bad-one", "a", {"type": "count_a", "typo": 1})
    with pytest.raises(SpecError, match="training row 'the-bad-one'"):
        train(config, task)


def test_two_rows_of_one_id_are_refused(config: Config, task: Task) -> None:
    task.train[3] = task.train[2]
    with pytest.raises(ConfigurationError, match=r"two training rows have the id 'p2'"):
        train(config, task)


def test_the_report_needs_nothing_from_elsewhere(config: Config, task: Task) -> None:
    page = (train(config, task).folder / "report.html").read_text()
    assert "<svg" in page
    assert "eval pass@1" in page
    assert not any(word in page for word in ("http:", "https:", "<script", "<link", "src="))


def test_bfloat16_passes_still_train_float32_weights(config: Config, task: Task) -> None:
    config = replace(config, dtype="bfloat16", steps=2)
    folder = train(config, task).folder
    rows = lines(folder / "metrics.jsonl")[1:]
    assert all(0 < row["rollout/logprob_diff_mean"] < 0.1 for row in rows)
    checkpoint = folder / "checkpoints" / "step-000002"
    metadata = FileSystemReader(checkpoint / "shards").read_metadata().state_dict_metadata
    assert {saved.properties.dtype for saved in metadata.values()} == {torch.float32}
    # What others load is in the dtype that it was trained to be used in.
    assert json.loads((checkpoint / "config.json").read_text())["dtype"] == "bfloat16"


def test_without_beta_no_reference_is_loaded(config: Config, task: Task) -> None:
    rows = lines(train(replace(config, beta=0.0), task).folder / "metrics.jsonl")
    assert all("kl" not in row for row in rows)
