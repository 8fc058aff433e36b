"""The GPU benchmark, where there is none."""

from __future__ import annotations

import pytest
import torch

from bench import gpu

NEEDS = 1000


def test_the_benchmark_says_what_it_would_run_without_enough_gpus(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert gpu.main(["--gpus", str(NEEDS), "--dtype", "bfloat16"]) == 2
    said = capsys.readouterr().err
    assert f"torch sees {torch.cuda.device_count()}" in said
    assert f"--gpus {NEEDS}" in said
    assert said.rstrip().endswith("--dtype bfloat16")


def test_the_benchmark_reports_a_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # several test processes share the cores
    sizes = ["--prompts", "4", "--group-size", "4", "--max-new-tokens", "32", "--steps", "1"]
    assert gpu.main(["--device", "cpu", "--model", "tiny", *sizes]) == 0
    said = capsys.readouterr().out
    for name in ("time/rollout_s", "time/update_s", "tokens_per_s per GPU", "memory/peak_gb"):
        assert name in said
