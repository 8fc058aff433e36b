"""What each option changes in a whole run; what it computes is tested beside its module."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

import rewards
from tests.trainer.ranks import run_ranks
from trainer.config import Config
from trainer.distributed import World
from trainer.loop import train
from trainer.tasks import Task

PLUGIN = '''
"""Pays for words, with steps; or the same whatever comes."""
import rewards


class AlwaysSpec(rewards.Spec):
    type: str = "always"
    value: float = 1.0


@rewards.verifier(name="always", spec=AlwaysSpec)
def always(completion, spec):
    return rewards.Score.fraction(spec.value, "whatever it is")


class WordsSpec(rewards.Spec):
    type: str = "words"


@rewards.verifier(name="words", spec=WordsSpec)
def words(completion, spec):
    steps, at = [], 0
    for word in completion.text.split():
        at = completion.text.index(word, at) + len(word)
        steps.append((at, float(word == "a")))
    share = sum(v for _, v in steps) / max(1, len(steps))
    return rewards.Score.fraction(share, "read").replace(steps=tuple(steps))
'''


@pytest.fixture(scope="module", autouse=True)
def _plugins(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("plugin") / "always.py"
    path.write_text(PLUGIN, encoding="utf-8")
    rewards.load(f"{path}:always")
    rewards.load(f"{path}:words")


needs_gpu = (
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=needs_gpu)])
def short(config: Config, request: pytest.FixtureRequest) -> Config:
    """Three steps without evaluation, in float32."""
    device = str(request.param)
    return replace(
        config, steps=3, eval_prompts=0, save_every=0, device=device, dtype="float32", rollout="hf"
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(config: Config, task: Task) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the metrics of each step, and the samples."""
    folder = train(config, task).folder
    return lines(folder / "metrics.jsonl")[1:], lines(folder / "samples.jsonl")


def half_constant(task: Task) -> Task:
    """Every other prompt teaches nothing."""
    rows = [
        replace(row, spec={"type": "always"}) if i % 2 else row for i, row in enumerate(task.train)
    ]
    return replace(task, train=rows)


def test_dynamic_sampling_refills_until_enough_groups_teach(short: Config, task: Task) -> None:
    config = replace(short, group_size=8, prompts_per_step=2, max_sampling_rounds=8)
    plain, _ = run(config, half_constant(task))
    config = replace(config, dynamic_sampling=True, output_dir=f"{short.output_dir}-2")
    rows, samples = run(config, half_constant(task))
    assert any(row["groups/zero_variance_frac"] > 0 for row in plain)
    assert any(row["groups/rounds"] > 1 for row in rows)
    for row in rows:
        taught = row["groups/sampled"] * (1 - row["groups/zero_variance_frac"])
        assert taught == pytest.approx(2)
        ids = [(r["prompt_id"], r["sample"]) for r in samples if r["step"] == row["step"]]
        assert len(ids) == len(set(ids)) == 8 * row["groups/sampled"]


def test_verl_953_dynamic_sampling_that_finds_nothing_ends_at_its_bound(
    short: Config, task: Task
) -> None:
    # verl 876, 953: reaching the bound ended the run.
    task = replace(task, train=[replace(row, spec={"type": "always"}) for row in task.train])
    config = replace(short, dynamic_sampling=True, max_sampling_rounds=3, prompts_per_step=2)
    rows, _ = run(config, task)
    assert [(row["groups/rounds"], row["grad_norm"]) for row in rows] == [(3, 0.0)] * 3


def test_dynamic_sampling_stops_where_prompts_run_out(short: Config, task: Task) -> None:
    task = replace(task, train=[replace(row, spec={"type": "always"}) for row in task.train])
    config = replace(short, dynamic_sampling=True, max_sampling_rounds=50)
    rows, _ = run(config, task)
    assert all(row["groups/sampled"] == len(task.train) for row in rows)


def test_nemo_2478_length_control_alone_teaches_nothing(short: Config, task: Task) -> None:
    # verl-recipe 125, NeMo-RL 2478: the penalty's noise made gradients of groups without spread.
    task = replace(task, train=[replace(row, spec={"type": "always"}) for row in task.train])
    config = replace(short, length_penalty="budget", length_budget=1, length_buffer=4)
    rows, samples = run(config, task)
    assert len({r["num_tokens"] for r in samples}) > 1
    assert all(row["grad_norm"] == 0 and row["groups/zero_variance_frac"] == 1 for row in rows)


def test_length_control_moves_advantages_and_leaves_the_score(short: Config, task: Task) -> None:
    _, plain = run(short, task)
    config = replace(short, length_penalty="overlong", length_budget=6, length_buffer=6, steps=1)
    _, shaped = run(replace(config, output_dir=f"{short.output_dir}-2"), task)
    first = [r for r in plain if r["step"] == 1]
    assert [r["score"]["value"] for r in shaped] == [r["score"]["value"] for r in first]
    assert [r["advantage"] for r in shaped] != [r["advantage"] for r in first]


def test_masked_truncated_completions_have_no_gradient(short: Config, task: Task) -> None:
    _, samples = run(replace(short, mask_truncated=True), task)
    cut = [r for r in samples if r["finish_reason"] == "length"]
    assert cut
    assert all(r["advantage"] is None for r in cut)
    assert any(r["advantage"] for r in samples)


def test_steps_are_supervised_token_by_token(short: Config, task: Task) -> None:
    task = replace(task, train=[replace(row, spec={"type": "words"}) for row in task.train])
    config = replace(short, steps=30, prompts_per_step=8, process_supervision=True)
    rows, _ = run(config, task)
    start, end = ([row["reward/mean"] for row in part] for part in (rows[:5], rows[-5:]))
    assert sum(end) / 5 > sum(start) / 5 + 0.3


def test_kl_in_the_reward_leaves_the_loss_alone(short: Config, task: Task) -> None:
    rows, _ = run(replace(short, kl_in="reward", kl_estimator="k1", beta=0.5, steps=5), task)
    assert rows[0]["kl"] == pytest.approx(0.0, abs=1e-5)
    assert abs(rows[-1]["kl"]) > 1e-4


def test_a_curriculum_lets_prompts_rest_that_teach_nothing(short: Config, task: Task) -> None:
    config = replace(short, curriculum=True, steps=12)
    rows, samples = run(config, half_constant(task))
    visits: dict[str, set[int]] = defaultdict(set)
    for record in samples:
        visits[record["prompt_id"]].add(record["step"])
    constant = {row.id for row in half_constant(task).train if row.spec == {"type": "always"}}
    resting = sum(len(visits[name]) for name in constant)
    assert resting < sum(len(steps) for name, steps in visits.items() if name not in constant)
    assert rows[-1]["curriculum/resting_frac"] > 0


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "bnpo", "gspo", "cispo"])
def test_every_loss_learns(short: Config, task: Task, loss: str) -> None:
    config = replace(short, loss=loss, steps=25, prompts_per_step=8)  # type: ignore[arg-type]
    if loss == "dr_grpo":  # its advantages are not divided by a std, nor its sums by lengths
        config = replace(config, learning_rate=1e-2)
    rows, _ = run(config, task)
    start, end = ([row["reward/mean"] for row in part] for part in (rows[:5], rows[-5:]))
    assert sum(end) / 5 > sum(start) / 5 + 0.2


def test_lora_trains_adapters_and_saves_the_whole_model(
    short: Config, task: Task, model_folder: Path
) -> None:
    config = replace(short, lora_rank=4, lora_alpha=8, learning_rate=1e-2)
    rows, _ = run(config, task)
    assert rows[0]["kl"] == 0.0 < rows[-1]["kl"]
    saved = AutoModelForCausalLM.from_pretrained(
        Path(str(config.output_dir)) / "checkpoints" / "step-000003"
    ).state_dict()
    base = AutoModelForCausalLM.from_pretrained(model_folder).state_dict()
    assert saved.keys() == base.keys()
    name = "model.layers.0.self_attn.q_proj.weight"
    assert not torch.equal(saved[name], base[name])
    assert torch.equal(saved["lm_head.weight"], base["lm_head.weight"])


def test_minibatches_and_epochs_clip(short: Config, task: Task) -> None:
    rows, _ = run(replace(short, minibatches=2, epochs_per_rollout=2, learning_rate=0.05), task)
    assert any(row["clip_frac"] > 0 for row in rows)


def _train(world: World, config: Config, task: Task, plugins: list[str]) -> int:
    world.close()  # the run opens its own
    for plugin in plugins:
        rewards.load(plugin)
    return train(config, task).step


def test_two_ranks_learn_what_one_does(short: Config, task: Task) -> None:
    # Options that need every rank to know what all did.
    config = replace(
        short,
        advantage_scale="batch",
        leave_one_out=True,
        dynamic_sampling=True,
        minibatches=2,
        kl_in="reward",
        rollout_correction="mask",
        entropy_coef=0.01,
        learning_rate=1e-3,
    )
    alone, samples = run(config, task)
    folder = Path(f"{short.output_dir}-2")
    assert run_ranks(_train, replace(config, output_dir=str(folder)), task, []) == [3, 3]
    shared = lines(folder / "metrics.jsonl")[1:]
    for name in ("reward/mean", "loss", "kl", "grad_norm", "groups/sampled", "clip_frac"):
        assert [row[name] for row in shared] == pytest.approx(
            [row[name] for row in alone], rel=1e-3, abs=1e-5
        )
    texts = [[r["completion"] for r in part] for part in (samples, lines(folder / "samples.jsonl"))]
    assert texts[0] == texts[1]
