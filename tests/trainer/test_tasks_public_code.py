"""Competitive programming rows, written in the layouts that their authors document.

None of the sets themselves is here: the rows are made up.
"""

import base64
import json
import logging
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

import rewards
from rewards.errors import ConfigurationError
from trainer.tasks import Row, read_apps, read_codecontests, read_livecodebench, read_verl

STDIN = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
CALLS = {"fn_name": "add", "inputs": [[1, 2], [3, 4]], "outputs": [[3], [7]]}
ADDS = "def add(a, b):\n    return a + b\n"
PRINTS = "print(sum(map(int, input().split())))\n"
APPS = {
    "problem_id": 7,
    "question": "Add two numbers.",
    "solutions": json.dumps([PRINTS]),
    "input_output": json.dumps(STDIN),
    "difficulty": "interview",
    "starter_code": "",
}
LCB = {
    "question_id": "abc001_a",
    "question_content": "Add two numbers.",
    "platform": "atcoder",
    "difficulty": "easy",
    "starter_code": "",
    "public_test_cases": json.dumps([{"input": "1 2", "output": "3", "testtype": "stdin"}]),
    "private_test_cases": "[]",
    "metadata": "{}",
}
FUNCTIONAL = {
    **LCB,
    "starter_code": "class Solution:\n    def add(self, xs: List[int], y: int) -> int:\n        ",
    "public_test_cases": json.dumps(
        [{"input": "[1, 2]\n3", "output": "6", "testtype": "functional"}]
    ),
    "metadata": json.dumps({"func_name": "add"}),
}


def put(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def packed(content: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(content))).decode()


def spec_of(row: Row) -> dict[str, Any]:
    assert isinstance(row.spec, dict)
    return row.spec


def verl(truth: object, prompt: str = "Add.") -> dict[str, Any]:
    return {
        "data_source": "taco",
        "prompt": [{"role": "user", "content": prompt}],
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {"split": "train", "index": 3},
    }


def test_apps_inputs_and_outputs_are_stdin_tests(tmp_path: Path) -> None:
    (row,) = read_apps(put(tmp_path, APPS))
    assert spec_of(row)["tests"][1] == {"input": "3 4\n", "output": "7\n"}
    assert (row.id, row.meta) == ("data-7", {"difficulty": "interview"})


def test_apps_gold_passes_its_tests(tmp_path: Path) -> None:
    (row,) = read_apps(put(tmp_path, APPS))
    assert rewards.score(row.gold or "", row.spec).value == 1.0


def test_apps_lists_of_lines_are_joined(tmp_path: Path) -> None:
    cases = {"inputs": [["1", "2"]], "outputs": [["3"]]}
    (row,) = read_apps(put(tmp_path, {**APPS, "input_output": json.dumps(cases)}))
    assert spec_of(row)["tests"] == [{"input": "1\n2", "output": "3"}]


def test_apps_calls_lose_the_list_around_each_result(tmp_path: Path) -> None:
    calls = {**APPS, "input_output": json.dumps(CALLS), "solutions": json.dumps([ADDS])}
    (row,) = read_apps(put(tmp_path, calls))
    assert spec_of(row)["tests"][0] == {"args": [1, 2], "expected": 3}
    assert rewards.score(row.gold or "", row.spec).value == 1.0


def test_apps_results_that_are_lists_stay_lists(tmp_path: Path) -> None:
    cases = {"fn_name": "f", "inputs": [[1], [2]], "outputs": [[1], [1, 2]]}
    (row,) = read_apps(put(tmp_path, {**APPS, "input_output": json.dumps(cases)}))
    assert [test["expected"] for test in spec_of(row)["tests"]] == [[1], [1, 2]]


def test_rows_without_tests_are_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "trainer.tasks"):
        rows = read_apps(put(tmp_path, APPS, {**APPS, "problem_id": 8, "input_output": ""}))
    assert [row.id for row in rows] == ["data-7"]
    assert "1 of 2 rows" in caplog.text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"question": None}, "lacks 'question'"),
        ({"input_output": "{"}, "input_output that is no JSON"),
        ({"input_output": '{"inputs": ["1"], "outputs": []}'}, "1 inputs and 0 outputs"),
        ({"input_output": "[1]"}, "give inputs, outputs"),
    ],
)
def test_apps_rows_of_another_layout_are_refused(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        read_apps(put(tmp_path, {**APPS, **change}))


def test_livecodebench_private_tests_follow_the_public_ones(tmp_path: Path) -> None:
    hidden = json.dumps([{"input": "5 6", "output": "11", "testtype": "stdin"}])
    for private in (hidden, packed(hidden)):
        (row,) = read_livecodebench(put(tmp_path, {**LCB, "private_test_cases": private}))
        assert [test["output"] for test in spec_of(row)["tests"]] == ["3", "11"]


class Runs:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("unpickled",)


@pytest.mark.parametrize("content", [Runs(), [1], b"[]", Path("x")])
def test_livecodebench_unpickles_nothing_but_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object
) -> None:
    with pytest.raises(ConfigurationError, match="nothing but a text is unpickled"):
        read_livecodebench(put(tmp_path, {**LCB, "private_test_cases": packed(content)}))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text", ["?", "AAAA", packed("[]")[:20], packed("{")])
def test_livecodebench_tests_that_cannot_be_read_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match="private_test_cases"):
        read_livecodebench(put(tmp_path, {**LCB, "private_test_cases": text}))


def test_livecodebench_functional_tests_call_a_method(tmp_path: Path) -> None:
    (row,) = read_livecodebench(put(tmp_path, FUNCTIONAL))
    assert spec_of(row)["entry_point"] == "Solution.add"
    assert spec_of(row)["tests"] == [{"args": [[1, 2], 3], "expected": 6}]


def test_a_starter_that_says_list_comes_with_its_import(tmp_path: Path) -> None:
    (row,) = read_livecodebench(put(tmp_path, FUNCTIONAL))
    assert "from typing import List\n\nclass Solution" in str(row.prompt)


def test_codecontests_takes_all_tests_and_a_python_3_solution(tmp_path: Path) -> None:
    record = {
        "name": "1_A. Sum",
        "description": "Add two numbers.",
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": {"input": ["3 4\n"], "output": ["7\n"]},
        "generated_tests": {"input": [], "output": []},
        "solutions": {"language": [2, 3], "solution": ["int main(){}", PRINTS]},
        "time_limit": {"seconds": 2, "nanos": 500_000_000},
    }
    (row,) = read_codecontests(put(tmp_path, record))
    assert spec_of(row)["limits"] == {"cpu_s": 2.5}
    assert rewards.score(row.gold or "", row.spec).reason == "2 of 2 tests passed"


def test_verl_prime_code_is_stdin_tests(tmp_path: Path) -> None:
    (row,) = read_verl(put(tmp_path, verl(json.dumps(STDIN))))
    assert (row.id, spec_of(row)["style"]) == ("taco-train-3", "stdin")
    assert rewards.score(PRINTS, row.spec).value == 1.0


def test_verl_calls_are_function_tests(tmp_path: Path) -> None:
    (row,) = read_verl(put(tmp_path, verl(json.dumps(CALLS))))
    assert rewards.score(ADDS, row.spec).value == 1.0
    (row,) = read_verl(put(tmp_path, verl(json.dumps(CALLS), "class Solution: ...")))
    assert spec_of(row)["entry_point"] == "Solution.add"


def test_verl_assert_cases_are_assert_tests(tmp_path: Path) -> None:
    truth = json.dumps({"assert_case": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]})
    (row,) = read_verl(put(tmp_path, verl(truth)))
    assert rewards.score(ADDS, row.spec).reason == "2 of 2 tests passed"


def test_verl_answers_without_tests_are_math(tmp_path: Path) -> None:
    (row,) = read_verl(put(tmp_path, verl("72")))
    assert row.spec == {"type": "math", "answer": "72"}


def test_verl_rows_without_ground_truth_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="ground_truth"):
        read_verl(put(tmp_path, verl(None)))
