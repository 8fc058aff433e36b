from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Python = Callable[..., subprocess.CompletedProcess[str]]
PACKAGE = Path(__file__).parents[1] / "plugin_package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the plug-in as its users would, into a folder of its own, without a network."""
    source = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(PACKAGE, source)  # so that no build leftovers stay in the checkout
    target = tmp_path_factory.mktemp("site")
    flags = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", "-q", *flags, "--target", str(target)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.parametrize(("text", "value"), [("Never odd or even", 1.0), ("No palindrome", 0.0)])
def test_an_installed_verifier_scores_by_its_name(
    python: Python, installed: Path, text: str, value: float
) -> None:
    code = f"import rewards; print(rewards.score({text!r}, {{'type': 'palindrome'}}).value)"
    done = python("-c", code, path=installed)
    assert (done.stdout, done.stderr) == (f"{value}\n", "")


def test_an_installed_verifier_is_part_of_a_composition(python: Python, installed: Path) -> None:
    spec = [{"type": "palindrome"}, {"type": "math", "answer": "1221"}]
    done = python(
        "-c", f"import rewards; print(rewards.score('1221', {spec}).value)", path=installed
    )
    assert (done.stdout, done.stderr) == ("1.0\n", "")


def test_list_names_the_plugin_and_its_distribution(python: Python, installed: Path) -> None:
    done = python("-m", "rewards.cli", "list", path=installed)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("palindrome")]
    assert line.split() == ["palindrome", "inline", "outcome", "palindrome-verifier", "1.2.3"]


def test_the_score_command_uses_the_plugin(python: Python, installed: Path, tmp_path: Path) -> None:
    row = {"completion": "level", "spec": {"type": "palindrome"}}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    done = python("-m", "rewards.cli", "score", "rows.jsonl", path=installed)
    assert json.loads(done.stdout)["value"] == 1.0


def test_the_schema_knows_the_plugin(python: Python, installed: Path) -> None:
    done = python("-m", "rewards.cli", "schema", "palindrome", path=installed)
    assert json.loads(done.stdout)["properties"]["min_letters"]["default"] == 3


def test_a_mistake_in_the_plugins_spec_gets_a_suggestion(python: Python, installed: Path) -> None:
    code = "import rewards; rewards.score('x', {'type': 'palindrome', 'min_leters': 3})"
    assert "Did you mean 'min_letters'" in python("-c", code, path=installed).stderr


def test_importing_rewards_does_not_import_the_plugin(python: Python, installed: Path) -> None:
    code = (
        "import sys, rewards; rewards.list_verifiers(); print('palindrome_verifier' in sys.modules)"
    )
    assert python("-c", code, path=installed).stdout == "False\n"


def test_without_the_plugin_its_name_is_unknown(python: Python) -> None:
    done = python("-c", "import rewards; rewards.score('x', {'type': 'palindrome'})")
    assert "no verifier 'palindrome'; installed: code, format, lean, length, math" in done.stderr


@pytest.mark.slow
def test_a_training_run_uses_the_plugin(python: Python, installed: Path, tmp_path: Path) -> None:
    rows = [{"id": str(n), "prompt": f"say {n}", "spec": {"type": "palindrome"}} for n in range(12)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ["--task", "jsonl", "--data", "rows.jsonl", "--model", "tiny", "--steps", "1"]
    small = ["--prompts-per-step", "2", "--group-size", "2", "--max-new-tokens", "8"]
    more = ["--eval-prompts", "1", "--output-dir", "run"]
    done = python("-m", "trainer.cli", *flags, *small, *more, path=installed)
    assert done.returncode == 0, done.stderr
    samples = [
        json.loads(line) for line in (tmp_path / "run/samples.jsonl").read_text().splitlines()
    ]
    assert len(samples) == 4
    assert all("letters" in s["reason"] or s["reason"] == "read backwards" for s in samples)
