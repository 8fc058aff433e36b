from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from rewards.errors import ConfigurationError
from trainer.launch import is_launched, launch, launch_command

ROOT = Path(__file__).parents[2]


def run(body: str, *, ranks: int = 3, grace_s: float = 0.2) -> int:
    """Run Python code that knows `rank` on several ranks."""
    program = f"import os, sys, signal, time\nrank = int(os.environ['RANK'])\n{body}"
    return launch_command([sys.executable, "-c", program], ranks, grace_s=grace_s)


def wait_for(paths: list[Path]) -> None:
    deadline = time.monotonic() + 30
    while not all(path.exists() and path.read_text() for path in paths):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def test_all_ranks_that_succeed_give_0() -> None:
    assert run("") == 0


def test_ranks_get_the_environment_that_torchrun_gives(tmp_path: Path) -> None:
    names = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"]
    program = f"print(*(os.environ[n] for n in {names}), file=open(f'{tmp_path}/{{rank}}', 'w'))"
    assert run(program) == 0
    seen = [(tmp_path / str(rank)).read_text().split() for rank in range(3)]
    assert [values[:4] for values in seen] == [[r, r, "3", "127.0.0.1"] for r in ("0", "1", "2")]
    assert len({values[4] for values in seen}) == 1


def test_the_first_failure_ends_the_others_and_gives_the_exit_code() -> None:
    started = time.monotonic()
    assert run("if rank == 1: sys.exit(7)\ntime.sleep(60)") == 7
    assert time.monotonic() - started < 20


def test_a_rank_ended_by_a_signal_gives_128_and_its_number() -> None:
    assert run("if rank == 2: os.kill(os.getpid(), 9)\ntime.sleep(60)") == 137


def test_the_others_have_a_grace_to_end_by_themselves(tmp_path: Path) -> None:
    program = f"if rank: sys.exit(7)\ntime.sleep(0.5)\nopen('{tmp_path}/done', 'w')"
    assert run(program, grace_s=30) == 7
    assert (tmp_path / "done").exists()


def test_rank_0_is_shown_and_the_others_are_not(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("print('I am', rank); print('and', rank, file=sys.stderr)") == 0
    assert capfd.readouterr() == ("I am 0\n", "and 0\n")


def test_a_rank_that_fails_alone_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("if rank == 2: raise ValueError('what went wrong')\ntime.sleep(60)") == 1
    error = capfd.readouterr().err
    assert "ValueError: what went wrong\n" in error
    assert error.endswith("rank 2 ended with exit code 1, and with it the run\n")


def test_a_rank_that_fails_first_is_shown_though_rank_0_fails_alike(
    capfd: pytest.CaptureFixture[str],
) -> None:
    program = "time.sleep(0 if rank else 0.5); raise ValueError('cause' if rank else 'effect')"
    assert run(program, ranks=2, grace_s=30) == 1
    assert "ValueError: cause\n" in capfd.readouterr().err


def test_a_mistake_that_all_ranks_complain_of_is_shown_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    program = "time.sleep(0 if rank else 0.5); print('a mistake', file=sys.stderr); sys.exit(2)"
    assert run(program, grace_s=30) == 2
    assert capfd.readouterr().err == "a mistake\n"


LAUNCHER = """
import sys
from trainer.launch import launch_command
sys.exit(launch_command([sys.executable, "-c", sys.argv[1]], 2, grace_s=0.2))
"""


def start(body: str) -> subprocess.Popen[bytes]:
    program = f"import os, sys, signal, time\nrank = int(os.environ['RANK'])\n{body}"
    return subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )


def test_each_ctrl_c_reaches_each_rank_once(tmp_path: Path) -> None:
    # The whole foreground group gets the terminal's Ctrl-C; ranks are not in it.
    launcher = start(f"""
presses = 0
def press(*_):
    global presses
    presses += 1
signal.signal(signal.SIGINT, press)
print('ready', file=open(f'{tmp_path}/ready-{{rank}}', 'w'))
while presses < 2: time.sleep(0.02)
time.sleep(0.5 * (rank + 1))  # longer than the grace: an orderly stop may take its time
print(presses, file=open(f'{tmp_path}/presses-{{rank}}', 'w'))
sys.exit(130)
""")
    wait_for([tmp_path / "ready-0", tmp_path / "ready-1"])
    for _ in range(2):
        os.killpg(launcher.pid, signal.SIGINT)
        time.sleep(0.3)
    assert launcher.wait(30) == 130
    assert [(tmp_path / f"presses-{rank}").read_text() for rank in (0, 1)] == ["2\n"] * 2


def test_who_kills_the_launcher_kills_the_ranks(tmp_path: Path) -> None:
    launcher = start(f"""
from trainer.launch import end_with_launcher
end_with_launcher()
print(os.getpid(), file=open(f'{tmp_path}/{{rank}}', 'w'))
time.sleep(60)
""")
    files = [tmp_path / "0", tmp_path / "1"]
    wait_for(files)
    launcher.kill()
    launcher.wait()
    deadline = time.monotonic() + 10
    while any(is_running(int(file.read_text())) for file in files):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_rank_whose_launcher_is_gone_already_ends_at_once() -> None:
    program = "from trainer.launch import end_with_launcher as end; end(); print('still here')"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "GRPO_LAUNCHER_PID": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, cwd=ROOT, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")


def test_more_ranks_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    with pytest.raises(ConfigurationError, match="gpus is 8, and this machine has 4; lower it"):
        launch([], 8)


def test_a_rank_starts_no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    assert not is_launched()
    monkeypatch.setenv("RANK", "0")
    assert is_launched()


def test_what_is_launched_is_the_command_itself(capfd: pytest.CaptureFixture[str]) -> None:
    assert launch(["--no-such-flag"], 2, device="cpu") == 2
    assert capfd.readouterr().err.startswith("grpo-run: unknown flag --no-such")
