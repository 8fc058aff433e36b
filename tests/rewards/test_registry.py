from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import rewards
from rewards import PluginError, VerifierNotFoundError

PLUGIN = """
from typing import Literal
import rewards

class {cls}(rewards.Spec):
    type: Literal["{name}"] = "{name}"

@rewards.verifier(name="{name}", spec={cls}, runs="{runs}")
def {name}(completion, spec):
    return rewards.Score.fraction(float("yes" in completion.text), "said so")

not_a_verifier = 3
"""


def _write(folder: Path, name: str, runs: str = "inline") -> Path:
    file = folder / f"{name}_plugin.py"
    file.write_text(PLUGIN.format(cls=name.title(), name=name, runs=runs))
    return file


def test_the_built_ins_are_listed() -> None:
    listed = rewards.list_verifiers()
    assert {n for n, origin in listed.items() if origin == "built-in"} == {
        "code",
        "format",
        "lean",
        "length",
        "math",
        "steps",
    }


@pytest.mark.parametrize("runs", ["inline", "worker"])
def test_a_file_can_be_loaded_and_used_by_name(tmp_path: Path, runs: str) -> None:
    name = f"loaded_{runs}"
    rewards.load(f"{_write(tmp_path, name, runs)}:{name}")
    assert rewards.score("yes", {"type": name}).value == 1.0


def test_loading_twice_is_loading_once(tmp_path: Path) -> None:
    path = f"{_write(tmp_path, 'twice')}:twice"
    assert rewards.load(path) is rewards.load(path)


def test_a_spec_cannot_load_code() -> None:
    with pytest.raises(VerifierNotFoundError, match=r"rewards\.load"):
        rewards.score("x", {"type": "os:system"})


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("no_such_module_at_all:x", "cannot import no_such_module_at_all"),
        ("/nowhere/x.py:x", "no such file"),
        ("json:nothing", "json has no 'nothing'"),
        ("json:loads", r"declare it with @rewards\.verifier"),
    ],
)
def test_a_bad_path_says_what_is_wrong(path: str, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        rewards.load(path)


def test_a_module_that_raises_is_a_plugin_error(tmp_path: Path) -> None:
    file = tmp_path / "broken_plugin.py"
    file.write_text("1 / 0")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        rewards.load(f"{file}:x")


def test_two_verifiers_of_one_name_are_refused() -> None:
    class Twin(rewards.Spec):
        type: Literal["twin"] = "twin"

    def first(completion: rewards.Completion, spec: Twin) -> rewards.Score:
        return rewards.Score.correct()

    def second(completion: rewards.Completion, spec: Twin) -> rewards.Score:
        return rewards.Score.correct()

    rewards.verifier(name="twin", spec=Twin)(first)
    with pytest.raises(PluginError, match="declared twice"):
        rewards.verifier(name="twin", spec=Twin)(second)


def test_a_verifier_can_be_called_directly() -> None:
    verifier = rewards.get_verifier("format")
    spec = verifier.spec.model_validate({"type": "format", "tags": ["a"]})
    assert verifier(rewards.Completion("<a>x</a>"), spec).value == 1.0


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for folder, name in (("a", "first_of_two"), ("b", "second_of_two")):
        (tmp_path / folder).mkdir()
        file = _write(tmp_path / folder, name, "worker").rename(tmp_path / folder / "same.py")
        rewards.load(f"{file}:{name}")
    for name in ("first_of_two", "second_of_two"):
        assert rewards.score("yes", {"type": name}).value == 1.0


def test_a_module_can_be_mended_and_loaded_again(tmp_path: Path) -> None:
    file = _write(tmp_path, "mended")
    good = file.read_text()
    file.write_text("1 / 0")
    with pytest.raises(PluginError):
        rewards.load(f"{file}:mended")
    file.write_text(good)
    assert rewards.load(f"{file}:mended").name == "mended"
