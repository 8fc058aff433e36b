"""The demo, shortened: the tiny model really samples, the sandbox really judges, rewards rise."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
STEPS = 24


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "run"
    command = [sys.executable, "-m", "trainer.cli", "--task", "code", "--seed", "1"]
    sizes = ["--steps", str(STEPS), "--eval-every", str(STEPS)]
    done = subprocess.run(
        [*command, *sizes, "--output-dir", str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert str(folder) in done.stdout
    return folder


@pytest.fixture(scope="module")
def metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_the_first_row_is_the_eval_at_step_0(metrics: list[dict[str, Any]]) -> None:
    assert metrics[0]["step"] == 0
    assert 0.25 < metrics[0]["eval/pass@1"] < 0.5


def test_rewards_and_eval_rise(metrics: list[dict[str, Any]]) -> None:
    rewards = [row["reward/mean"] for row in metrics if "reward/mean" in row]
    assert len(rewards) == STEPS
    assert statistics.mean(rewards[-4:]) > statistics.mean(rewards[:4]) + 0.1
    assert metrics[-1]["eval/pass@1"] > metrics[0]["eval/pass@1"] + 0.1


def test_nothing_is_left_unjudged(metrics: list[dict[str, Any]]) -> None:
    assert {row.get("verify/unjudged_frac", 0.0) for row in metrics} == {0.0}


def test_samples_say_what_the_sandbox_saw(run: Path) -> None:
    samples = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    assert {s["verdict"] for s in samples} >= {"correct", "incorrect"}
    assert any("tests passed" in s["reason"] for s in samples)
    assert {s["score"]["evidence"]["isolation"] for s in samples if s["verdict"] == "correct"} == {
        "separate"
    }


def test_the_run_folder_is_complete(run: Path) -> None:
    names = {path.name for path in run.iterdir()}
    assert names >= {"config.toml", "metrics.jsonl", "samples.jsonl", "checkpoints", "report.html"}
