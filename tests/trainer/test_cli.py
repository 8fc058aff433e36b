from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from trainer import loop
from trainer.cli import main, resolve
from trainer.config import Config
from trainer.tasks import load_task


@pytest.fixture
def data(tmp_path: Path, task: object) -> Path:
    """The task of the tests as a file."""
    path = tmp_path / "rows.jsonl"
    rows = [
        {"id": row.id, "prompt": row.prompt, "spec": row.spec}
        for row in task.train  # type: ignore[attr-defined]
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


@pytest.fixture
def flags(config: Config, data: Path) -> list[str]:
    """A run that a few seconds suffice for."""
    return [
        *("--task", "jsonl", "--data", str(data), "--model", config.model),
        *("--verifier", *config.verifier, "--output-dir", str(config.output_dir)),
        *("--steps", "2", "--prompts-per-step", "4", "--group-size", "4"),
        *("--max-new-tokens", "8", "--eval-prompts", "1", "--device", "cpu"),
    ]


def test_a_run_ends_with_0_and_says_where_it_is(
    flags: list[str], config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags) == 0
    out = capsys.readouterr().out
    assert f"run folder   {config.output_dir}" in out
    assert "step 2/2  reward" in out


def test_a_dry_run_prints_the_settings_and_writes_nothing(
    flags: list[str], config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*flags, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "group_size = 4" in out
    assert "4 prompts x 4 = 16 completions, at most 128 tokens" in out
    assert not Path(str(config.output_dir)).exists()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--grup-size", "3"], "unknown flag --grup-size. Did you mean '--group-size'?"),
        (["--group-size", "x"], "--group-size: invalid literal"),
        (["--group-size"], "Missing value for argument '--group-size'"),
        (["--group-size", "1"], "group_size must be at least 2"),
        (["--dtype", "float16"], "invalid choice 'float16'"),
        (["stray"], "Unrecognized options: stray"),
        (["--task", "coed"], "unknown task 'coed'. Did you mean 'code'?"),
        (["--data", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--config", "nowhere.toml"], "nowhere.toml: No such file"),
        (["--model", "./nowhere"], "model './nowhere' is not a folder"),
        (["--verifier", "nowhere.py:x"], "nowhere.py"),
        (["--sandbox", "cardboard"], "cardboard"),
        (["--prompts-per-step", "999"], "prompts_per_step 999 is more than"),
        (["--model", "no/such/folder"], "model 'no/such/folder' is not a folder"),
        (["--device", "meta"], "device 'meta' cannot be used"),
        (["--seed", str(10**20)], "seed must be below 2**63"),
        (["--resume"], "holds no run to resume"),
    ],
)
def test_a_mistake_is_one_line_and_2_and_nothing_is_written(
    flags: list[str],
    config: Config,
    capsys: pytest.CaptureFixture[str],
    extra: list[str],
    message: str,
) -> None:
    assert main([*flags, *extra]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("grpo-run: ")
    assert captured.err.count("\n") == 1
    assert not Path(str(config.output_dir)).exists()


def test_a_bad_spec_is_a_mistake_that_names_the_row(
    flags: list[str], data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text(data.read_text().replace('"count_a"}', '"count_a", "oops": 1}'))
    assert main(flags) == 2
    assert "bad spec in training row 'p" in capsys.readouterr().err


def test_a_run_in_the_way_is_a_mistake(
    flags: list[str], config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags) == 0
    metrics = Path(str(config.output_dir)) / "metrics.jsonl"
    before = metrics.read_text()
    assert main(flags) == 2
    assert "--resume to go on" in capsys.readouterr().err
    assert metrics.read_text() == before


def test_flags_win_over_the_file_and_the_file_over_the_task(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('task = "code"\nsteps = 7\nseed = 3\n')
    task_says = resolve(["--task", "code"])[0]
    file_says = resolve(["--config", str(path)])[0]
    flag_says = resolve(["--config", str(path), "--steps", "9"])[0]
    assert (file_says.steps, flag_says.steps) == (7, 9)
    assert (file_says.seed, flag_says.seed) == (3, 3)
    assert file_says.learning_rate == task_says.learning_rate != Config().learning_rate


def test_a_flag_equal_to_the_default_still_wins(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("seed = 3\n")
    assert resolve(["--config", str(path), "--seed", "0"])[0].seed == 0


def test_a_key_of_the_file_with_a_typo_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text("grup_size = 3\n")
    assert main(["--config", str(path)]) == 2
    assert "unknown setting 'grup_size'. Did you mean 'group_size'?" in capsys.readouterr().err


def test_the_settings_of_a_bundled_task_are_for_its_model_alone(config: Config) -> None:
    tiny, other = (resolve(["--task", "code", *m])[0] for m in ([], ["--model", config.model]))
    own = load_task("code").settings
    assert {name: getattr(tiny, name) for name in own} == own
    assert own["learning_rate"] != Config().learning_rate
    defaults = Config(output_dir=other.output_dir, model=config.model, task="code")
    assert other == defaults


@pytest.mark.parametrize("model", ["tiny", "./other"])
def test_settings_that_name_no_model_are_for_any(model: str) -> None:
    config, _ = resolve(["--task", "lean", "--model", model])
    own = load_task("lean").settings
    assert {name: getattr(config, name) for name in own} == own


@pytest.mark.parametrize(
    ("tiny", "says"),
    [
        (True, "those of the task for the model 'tiny'"),
        (False, "the defaults; the task's own are for the model 'tiny' alone"),
    ],
)
def test_a_dry_run_says_where_the_settings_come_from(
    config: Config, capsys: pytest.CaptureFixture[str], tiny: bool, says: str
) -> None:
    model = "tiny" if tiny else config.model
    short = ["--max-new-tokens", "8"]  # the random model has few positions
    assert main(["--task", "code", "--model", model, "--dry-run", *short]) == 0
    assert f"settings:    {says}" in capsys.readouterr().out


def test_a_full_disk_is_1_and_one_line(
    flags: list[str], config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        assert main(flags) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "the run cannot go on: cannot write the checkpoint" in err
    assert f"grpo-run --resume --output-dir {config.output_dir}" in err


def test_a_full_gpu_is_1_and_one_line_that_says_what_to_lower(
    flags: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*args: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has")

    monkeypatch.setattr(loop, "train", run_out)
    assert main(flags) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "CUDA out of memory" in err
    assert "lower rollout_batch_size" in err
    assert "micro_batch_tokens" in err


def test_the_run_folder_is_named_after_task_model_and_time() -> None:
    name = str(resolve(["--task", "code"])[0].output_dir)
    assert name.startswith("outputs/code-tiny-20")


@pytest.mark.parametrize("by", ["folder", "file"])
def test_resuming_reads_the_settings_of_the_run(flags: list[str], config: Config, by: str) -> None:
    assert main(flags) == 0
    folder = Path(str(config.output_dir))
    moved = folder.rename(folder.with_name("moved"))
    where = ["--output-dir", str(moved)] if by == "folder" else ["--config", f"{moved}/config.toml"]
    assert main([*where, "--resume", "--steps", "3"]) == 0
    rows = (moved / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in rows] == [0, 1, 2, 3]
    assert not folder.exists()


def test_help_is_fast_for_it_loads_no_torch() -> None:
    code = (
        "import sys; from trainer.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "grpo-run --task code" in done.stdout


def _wait_for_line(path: Path, text: str, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < deadline, f"no {text} in {path}"
        time.sleep(0.05)


def test_ctrl_c_saves_a_checkpoint_and_exits_130(flags: list[str], config: Config) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "trainer.cli", *flags, "--steps", "100000", "--eval-every", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    folder = Path(str(config.output_dir))
    try:
        _wait_for_line(folder / "metrics.jsonl", '"step": 2')
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 130
    assert f"grpo-run --resume --output-dir {folder}" in err
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["step"]
    latest = (folder / "checkpoints" / "latest").read_text().strip()
    assert latest == f"step-{last:06d}"
    assert main(["--resume", "--output-dir", str(folder), "--steps", str(last + 1)]) == 0


SLOW_PLUGIN = """
import pathlib, time
import rewards


class SlowSpec(rewards.Spec):
    type: str = "slow"
    started: str


@rewards.verifier(name="slow", spec=SlowSpec)
def slow(completion, spec):
    pathlib.Path(spec.started).touch()
    time.sleep(600)
"""


def test_a_second_ctrl_c_stops_at_once_though_a_verifier_runs(
    flags: list[str], data: Path, tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(SLOW_PLUGIN)
    started = tmp_path / "started"
    spec = {"type": "slow", "started": str(started)}
    rows = [json.loads(line) | {"spec": spec} for line in data.read_text().splitlines()]
    data.write_text("\n".join(json.dumps(row) for row in rows))
    flags = [*flags, "--verifier", f"{tmp_path / 'slow.py'}:slow"]
    run = subprocess.Popen(
        [sys.executable, "-m", "trainer.cli", *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        deadline = time.monotonic() + 60
        while not started.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=20)
    finally:
        run.kill()
    assert run.returncode == 130
    assert "stopping after this phase; Ctrl-C again stops at once" in err
    assert "stopped at once; nothing was saved" in err
