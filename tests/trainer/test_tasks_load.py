"""Tasks are loaded by name; what cannot be loaded says what to do."""

import json
from pathlib import Path

import pytest

from rewards.errors import ConfigurationError
from trainer.tasks import available_tasks, load_task


def put(path: Path, count: int, **extra: object) -> Path:
    records = [
        {"id": f"{path.stem}-{i}", "prompt": str(i), "spec": {"type": "math", "answer": "1"}}
        for i in range(count)
    ]
    path.write_text("".join(json.dumps({**record, **extra}) + "\n" for record in records))
    return path


def test_available_tasks_are_these() -> None:
    assert available_tasks() == [
        "apps",
        "code",
        "codecontests",
        "gsm8k",
        "humaneval",
        "jsonl",
        "lean",
        "livecodebench",
        "math",
        "math500",
        "mbpp",
        "minif2f",
        "numinalean",
        "taco",
        "verl",
    ]


@pytest.mark.parametrize("name", ["code", "math"])
def test_bundled_tasks_start_at_level_1_with_settings(name: str) -> None:
    task = load_task(name)
    assert {row.meta["level"] for row in task.train + task.test} == {1}
    assert len(task.test) >= 100
    assert task.settings["model"] == "tiny"


def test_the_lean_task_has_all_levels_and_settings_for_any_model() -> None:
    task = load_task("lean")
    assert {row.meta["level"] for row in task.train} == {1, 2, 3, 4, 5}
    assert {row.meta["level"] for row in load_task("lean", level=4).train} == {4}
    assert "model" not in task.settings
    assert task.settings["learning_rate"] == 1e-6


@pytest.mark.parametrize("level", [2, 3, 4, 5])
def test_bundled_tasks_have_higher_levels(level: int) -> None:
    assert {row.meta["level"] for row in load_task("code", level=level).train} == {level}


def test_the_seed_orders_the_training_rows() -> None:
    first, again, other = (load_task("math", seed=seed) for seed in (0, 0, 1))
    assert first.train == again.train
    assert first.train != other.train
    assert {row.id for row in first.train} == {row.id for row in other.train}
    assert first.test == other.test


def test_own_data_is_split(tmp_path: Path) -> None:
    task = load_task("jsonl", data=put(tmp_path / "mine.jsonl", 50))
    assert len(task.train) + len(task.test) == 50
    assert not {row.id for row in task.train} & {row.id for row in task.test}
    assert task.settings == {}


def test_eval_data_is_the_test_split(tmp_path: Path) -> None:
    train, test = put(tmp_path / "train.jsonl", 5), put(tmp_path / "test.jsonl", 1)
    task = load_task("jsonl", data=train, eval_data=test)
    assert (len(task.train), len(task.test)) == (5, 1)


def test_own_data_takes_the_settings_of_a_bundled_task(tmp_path: Path) -> None:
    task = load_task("math", data=put(tmp_path / "mine.jsonl", 50))
    assert task.settings == load_task("math").settings


def test_own_data_may_have_levels(tmp_path: Path) -> None:
    path = put(tmp_path / "mine.jsonl", 20, meta={"level": 3})
    assert len(load_task("jsonl", data=path, level=3).train) > 0
    with pytest.raises(ConfigurationError, match="no rows of level 1; levels: 3"):
        load_task("jsonl", data=path, level=1)


def test_rows_without_level_say_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="its rows have no level"):
        load_task("jsonl", data=put(tmp_path / "mine.jsonl", 20), level=1)


def test_a_public_layout_is_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps({"question": "?", "answer": "#### 1"}) + "\n")
    task = load_task("gsm8k", data=path, eval_data=path)
    assert task.test[0].spec == {"type": "math", "answer": "1"}


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    for name in ("jsonl", "gsm8k"):
        with pytest.raises(ConfigurationError, match=r"empty\.jsonl has no rows"):
            load_task(name, data=tmp_path / "empty.jsonl")


def test_an_unknown_task_suggests_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r"'gsm8'\. Did you mean 'gsm8k'\?"):
        load_task("gsm8")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("gsm8k", "grade-school-math"),
        ("mbpp", "google-research"),
        ("humaneval", "human-eval"),
        ("math500", "MATH-500"),
        ("jsonl", "prompt"),
    ],
)
def test_a_task_without_its_file_says_where_from(name: str, source: str) -> None:
    with pytest.raises(ConfigurationError, match=f"needs a data file.*{source}"):
        load_task(name)


def test_eval_data_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="without data to train on"):
        load_task("code", eval_data=tmp_path / "test.jsonl")


def test_a_wrong_level_names_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match="level 9; levels: 1, 2, 3, 4, 5"):
        load_task("code", level=9)
