"""The rules that hold the rooms apart."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from rewards import ConfigurationError
from rewards._guard import check_packages
from rewards.cli import main

ROOT = Path(__file__).parents[1]
NOT_INSTALLED = {"making", "bench", "tests"}
FORBIDDEN = {
    "sandbox": {"rewards", "trainer", "torch", "pydantic"} | NOT_INSTALLED,
    "rewards": {"trainer", "torch", "transformers"} | NOT_INSTALLED,
    "trainer": NOT_INSTALLED,
}


def imported(file: Path) -> set[str]:
    """Return the top-level names of everything that a file imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("room", sorted(FORBIDDEN))
def test_imports_run_one_way(room: str) -> None:
    files = [f for f in (ROOT / room).rglob("*.py") if "adapters" not in f.parts]
    against = {str(f): imported(f) & FORBIDDEN[room] for f in files}
    assert files
    assert not {file: names for file, names in against.items() if names}


def test_the_data_folder_holds_no_code() -> None:
    assert (ROOT / "datasets" / "code" / "train.jsonl").is_file()
    assert list((ROOT / "datasets").rglob("*.py")) == []


def test_the_editable_install_does_not_make_the_data_folder_importable(tmp_path: Path) -> None:
    program = "import importlib.util as u; s = u.find_spec('datasets'); print(s and s.origin)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert str(ROOT) not in done.stdout


def test_our_own_packages_pass_the_guard() -> None:
    check_packages()


def test_another_package_of_the_same_name_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "sandbox" / "__init__.py").write_text("# somebody else's\n")
    other = PathFinder.find_spec("sandbox", [str(tmp_path)])
    monkeypatch.setattr("rewards._guard.find_spec", lambda name: other)
    assert main(["list"]) == 2
    assert "is not assay-rl's" in capsys.readouterr().err


def test_a_missing_package_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewards._guard.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match="not found"):
        check_packages()
