"""What users install: the wheel, built from the source distribution, in a clean environment."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def run(*command: str | Path, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that has the wheel and its core dependencies, and nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    (wheel,) = built.glob("*.whl")
    run(folder / "venv/bin/pip", "install", "-q", wheel, cwd=folder)
    return folder


def test_the_wheel_holds_the_packages_and_the_data_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"rewards", "sandbox", "trainer"}
    assert "rewards/_data/code/train.jsonl" in names
    assert "trainer/tiny/model/model.safetensors" in names
    assert "sandbox/image/Dockerfile" in names
    assert {f"{package}/py.typed" for package in tops} <= set(names)
    assert wheel.stat().st_size < 8_000_000


def test_the_source_distribution_holds_tests_and_data(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"datasets/code/task.toml", "tests/data/mbpp.jsonl", "Makefile"} <= names


def test_the_installed_library_judges(environment: Path) -> None:
    program = (
        "import rewards\n"
        'print(rewards.score(r"so \\boxed{\\frac12}", {"type": "math", "answer": "0.5"}).value)\n'
        'print(rewards.score(r"\\boxed{x(x+1)}", {"type": "math", "answer": "x^2+x"}).value)\n'
    )
    (environment / "script.py").write_text(program)
    done = run(environment / "venv/bin/python", "script.py", cwd=environment)
    assert done.stdout == "1.0\n1.0\n"


def test_the_installed_command_finds_the_bundled_data(environment: Path) -> None:
    done = run(environment / "venv/bin/grpo-run", "--task", "nothing", cwd=environment, check=False)
    assert done.returncode == 2
    assert "code" in done.stderr
    assert "math" in done.stderr


def test_training_without_torch_names_the_extra(environment: Path) -> None:
    done = run(environment / "venv/bin/grpo-run", "--task", "code", cwd=environment, check=False)
    assert done.returncode == 2
    assert "pip install 'assay-rl[train]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (environment / "outputs").exists()


def test_code_without_a_sandbox_is_unjudged_and_names_the_extra(environment: Path) -> None:
    spec = '{"type": "code", "tests": [{"input": "", "output": "1"}]}'
    program = f"import rewards\ns = rewards.score('print(1)', {spec!r})\nprint(s.value, s.reason)"
    done = run("/usr/bin/env", "PATH=/nowhere", environment / "venv/bin/python", "-c", program,
               cwd=environment)  # fmt: skip
    assert done.stdout.startswith("None the sandbox cannot start")
    assert "pip install 'assay-rl[sandbox]'" in done.stdout


def test_hugging_face_datasets_is_not_shadowed(environment: Path) -> None:
    program = "import importlib.util as u; print(u.find_spec('datasets'), u.find_spec('tests'))"
    done = run(environment / "venv/bin/python", "-c", program, cwd=environment)
    assert done.stdout == "None None\n"
