"""What only a GPU can show; `test_options` runs on it as well."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from trainer.config import Config, to_toml
from trainer.loop import train
from trainer.tasks import Task

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]


def steps_of(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if row["step"]]


@pytest.mark.parametrize("lora", [0, 4])
def test_vllm_and_the_trainer_agree_through_sleep_and_sync(
    config: Config, task: Task, lora: int
) -> None:
    pytest.importorskip("vllm")
    config = replace(
        config, device="cuda", rollout="vllm", vllm_kv_gb=1.0, lora_rank=lora, dtype="float32"
    )
    rows = steps_of(train(config, task).folder)
    assert max(row["rollout/logprob_diff_max"] for row in rows) < 1e-3


def test_vllm_gives_its_memory_to_training(config: Config, task: Task) -> None:
    pytest.importorskip("vllm")
    config = replace(config, device="cuda", rollout="vllm", vllm_kv_gb=4.0, eval_prompts=0)
    rows = steps_of(train(config, task).folder)
    assert rows[-1]["memory/peak_gb"] < 4.0  # torch's own, while the KV cache sleeps


@pytest.mark.parametrize("rollout", ["hf", "vllm"])
def test_bfloat16_stays_within_what_is_normal(config: Config, task: Task, rollout: str) -> None:
    if rollout == "vllm":
        pytest.importorskip("vllm")
    config = replace(
        config,
        device="cuda",
        dtype="bfloat16",
        rollout=rollout,
        vllm_kv_gb=1.0,  # type: ignore[arg-type]
    )
    rows = steps_of(train(config, task).folder)
    assert max(row["rollout/logprob_diff_mean"] for row in rows) < 0.1
    assert max(row["rollout/gen_kl_error"] for row in rows) < 5e-3


def test_flash_attention_packs_sequences_that_do_not_see_each_other(
    config: Config, task: Task
) -> None:
    pytest.importorskip("flash_attn")
    config = replace(config, device="cuda", dtype="bfloat16", attention="flash_attention_2")
    rows = steps_of(train(config, task).folder)
    assert max(row["rollout/logprob_diff_mean"] for row in rows) < 0.1


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
@pytest.mark.parametrize("rollout", ["hf", "vllm"])
def test_all_gpus_train_together(config: Config, task: Task, tmp_path: Path, rollout: str) -> None:
    lines = [json.dumps({"id": r.id, "prompt": r.prompt, "spec": r.spec}) for r in task.train]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    config = replace(
        config,
        task="jsonl",
        data=str(tmp_path / "rows.jsonl"),
        device="cuda",
        gpus=torch.cuda.device_count(),
        rollout=rollout,  # type: ignore[arg-type]
        vllm_kv_gb=1.0,
        eval_prompts=0,
    )
    (tmp_path / "run.toml").write_text(to_toml(config), encoding="utf-8")
    command = [sys.executable, "-m", "trainer.cli", "--config", str(tmp_path / "run.toml")]
    subprocess.run(command, check=True, timeout=600)
    rows = steps_of(Path(str(config.output_dir)))
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert max(row["rollout/logprob_diff_mean"] for row in rows) < 0.1
