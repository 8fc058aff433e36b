"""The bundled data is what its generators write, without overlap, and tells right from wrong."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import making.code
import making.math
from making.probes import MAX_TESTS, MIN_TESTS, call, choose_tests, compile_function, mutate
from trainer.tasks import Row, load_task, read_rows
from trainer.tasks.load import BUNDLED, data_folder, read_card

GENERATORS = {"code": making.code, "math": making.math}
LEVELS = (1, 2, 3, 4, 5)
PROBES = [(x,) for x in range(-150, 151)]


def rows_of(task: str, split: str) -> list[Row]:
    return read_rows(data_folder() / task / f"{split}.jsonl")


def source_of(row: Row) -> str:
    assert row.gold is not None
    match = re.fullmatch(r"```python\n(.*)```", row.gold, re.DOTALL)
    assert match
    return match[1]


def hidden_tests(row: Row) -> list[dict[str, Any]]:
    assert isinstance(row.spec, dict)
    tests: list[dict[str, Any]] = row.spec["tests"]
    return tests


def passed(source: str, row: Row) -> float:
    function = compile_function(source)
    tests = hidden_tests(row)
    return sum(call(function, t["args"]) == t["expected"] for t in tests) / len(tests)


def behaviour(row: Row) -> str:
    function = compile_function(source_of(row))
    return repr([call(function, args) for args in PROBES])


@pytest.mark.parametrize(("task", "generator"), GENERATORS.items())
def test_level_1_is_what_the_generator_writes(task: str, generator: ModuleType) -> None:
    rows = {row.id: row for row in rows_of(task, "train")}
    made, _ = generator.make_level(1, 20, 0)
    assert made == [rows[row.id] for row in made]


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("task", "generator"), GENERATORS.items())
def test_every_level_is_what_the_generator_writes(
    task: str, generator: ModuleType, level: int
) -> None:
    for split, made in zip(
        ("train", "test"), generator.make_level(level, *generator.ROWS[level]), strict=True
    ):
        assert made == [row for row in rows_of(task, split) if row.meta["level"] == level]


@pytest.mark.parametrize("task", BUNDLED)
def test_no_prompt_is_in_both_splits(task: str) -> None:
    train, test = ({str(r.prompt) for r in rows_of(task, split)} for split in ("train", "test"))
    assert not train & test


@pytest.mark.parametrize("task", BUNDLED)
def test_ids_are_unique_over_both_splits(task: str) -> None:
    ids = [row.id for split in ("train", "test") for row in rows_of(task, split)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("level", [1, 2])
def test_no_function_is_in_both_splits(level: int) -> None:
    task = load_task("code", level=level)
    assert not {behaviour(row) for row in task.train} & {behaviour(row) for row in task.test}


@pytest.mark.parametrize("task", GENERATORS)
def test_a_hundred_rows_of_level_1_are_held_out(task: str) -> None:
    assert len(load_task(task).test) >= 100


@pytest.mark.parametrize("split", ["train", "test"])
def test_golds_pass_all_their_tests(split: str) -> None:
    assert [row.id for row in rows_of("code", split) if passed(source_of(row), row) != 1] == []


def test_rows_have_four_to_six_tests() -> None:
    assert all(MIN_TESTS <= len(hidden_tests(row)) <= MAX_TESTS for row in rows_of("code", "train"))


def test_other_programs_of_the_level_fail_and_some_pass_in_part() -> None:
    rows = load_task("code").test
    fractions = [
        passed(source_of(other), row)
        for row in rows[:20]
        for other in rows[20:]
        if behaviour(other) != behaviour(row)
    ]
    assert sum(f == 1 for f in fractions) / len(fractions) < 0.005
    assert any(0 < f < 1 for f in fractions)


@pytest.mark.parametrize("level", LEVELS)
def test_programs_that_always_answer_the_same_fail(level: int) -> None:
    for row in load_task("code", level=level).test:
        constants = {repr(test["expected"]) for test in hidden_tests(row)}
        assert len(constants) > 1, row.id


def test_math_golds_answer_in_tags_what_the_spec_says() -> None:
    for row in rows_of("math", "train") + rows_of("math", "test"):
        match = re.fullmatch(r"<think> [^<]+ </think> <answer> ([^<]+) </answer>", row.gold or "")
        assert match, row.id
        assert match[1] == row.spec[0]["answer"]  # type: ignore[index]


def test_math_weights_of_a_row_sum_to_one() -> None:
    assert sum(part["weight"] for part in rows_of("math", "test")[0].spec) == 1  # type: ignore


@pytest.mark.parametrize("task", BUNDLED)
def test_a_card_names_its_task_and_only_settings_there_are(task: str) -> None:
    from trainer.config import SETTINGS

    card = read_card(task)
    assert card["task"]["name"] == task
    assert set(card["train"]) <= set(SETTINGS)


@pytest.mark.parametrize("task", GENERATORS)
def test_what_the_tiny_model_learns_is_level_1(task: str) -> None:
    card = read_card(task)
    assert (card["task"]["level"], card["train"]["model"]) == (1, "tiny")


def test_the_data_folder_holds_no_code_and_less_than_2_mb() -> None:
    files = [path for path in data_folder().rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".jsonl", ".toml", ".md"}
    assert sum(path.stat().st_size for path in files) < 2_000_000


def test_generators_write_both_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making.math, "ROWS", dict.fromkeys(LEVELS, (3, 2)))
    monkeypatch.setattr("sys.argv", ["math", "--out", str(tmp_path)])
    making.math.main()
    assert len(read_rows(tmp_path / "train.jsonl")) == 15
    assert len(read_rows(tmp_path / "test.jsonl")) == 10


def test_mutants_change_constants_operators_names_and_statements() -> None:
    mutants = set(mutate("def f(x):\n    x = x + 3\n    return max(x, 5)\n"))
    bodies = {mutant.removeprefix("def f(x):\n    ").replace("\n    ", "; ") for mutant in mutants}
    assert bodies == {
        "x = x + 4; return max(x, 5)",
        "x = x + 2; return max(x, 5)",
        "x = x - 3; return max(x, 5)",
        "x = x + 3; return max(x, 6)",
        "x = x + 3; return max(x, 4)",
        "x = x + 3; return min(x, 5)",
        "return max(x, 5)",
    }


def test_chosen_tests_kill_every_mutant_that_differs() -> None:
    source = "def f(x):\n    x = x % 7\n    return max(x, 5)\n"
    tests = choose_tests(source, PROBES)
    for mutant in map(compile_function, mutate(source)):
        if any(call(mutant, a) != call(compile_function(source), a) for a in PROBES):
            assert any(call(mutant, t["args"]) != t["expected"] for t in tests)
