"""Public layouts are read into rows whose specs and golds say what the authors meant."""

import json
from pathlib import Path
from typing import Any

import pytest

from rewards.errors import ConfigurationError
from trainer.tasks import read_gsm8k, read_humaneval, read_math, read_mbpp

GSM8K = {
    "question": "Ann has 1,000 pens and buys twice as many. How many now?",
    "answer": "She buys 1000*2=<<1000*2=2000>>2000.\nIn all <<1000+2000=3000>>3,000.\n#### 3,000",
}
MATH = {
    "problem": "What is $\\frac12+\\frac12$?",
    "solution": "It is \\boxed{0} at first, then $\\boxed{\\frac{2}{2}}$.",
    "level": "Level 3",
    "type": "Prealgebra",
}
MBPP = {
    "task_id": 7,
    "text": "Write a function to double a number.",
    "code": "def double(x):\r\n  return 2 * x",
    "test_list": ["assert double(1) == 2", "assert double(0) == 0"],
    "test_setup_code": "",
}
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'def inc(x: int) -> int:\n    """ Add one. """\n',
    "entry_point": "inc",
    "canonical_solution": "    return x + 1\n",
    "test": "def check(candidate):\n    assert candidate(1) == 2\n",
}


def put(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_gsm8k_answer_is_the_number_without_commas(tmp_path: Path) -> None:
    (row,) = read_gsm8k(put(tmp_path, GSM8K))
    assert row.spec == {"type": "math", "answer": "3000"}


def test_gsm8k_gold_boxes_the_number_and_drops_calculator_calls(tmp_path: Path) -> None:
    (row,) = read_gsm8k(put(tmp_path, GSM8K))
    assert row.gold is not None
    assert row.gold.endswith("\\boxed{3000}.")
    assert "<<" not in row.gold


def test_gsm8k_answer_without_mark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="row 1 has an answer that ends in '= 3'"):
        read_gsm8k(put(tmp_path, {"question": "?", "answer": "= 3"}))


def test_math_answer_is_the_last_box_of_the_solution(tmp_path: Path) -> None:
    (row,) = read_math(put(tmp_path, MATH))
    assert row.spec == {"type": "math", "answer": "\\frac{2}{2}"}
    assert row.gold == MATH["solution"]


def test_math_answer_field_wins(tmp_path: Path) -> None:
    (row,) = read_math(put(tmp_path, {"problem": "?", "solution": "so 7", "answer": "7"}))
    assert row.spec == {"type": "math", "answer": "7"}
    assert row.gold == "The answer is $\\boxed{7}$."


@pytest.mark.parametrize("level", ["Level 3", 3])
def test_math_level_is_a_number(tmp_path: Path, level: object) -> None:
    (row,) = read_math(put(tmp_path, {**MATH, "level": level}))
    assert row.meta == {"level": 3, "subject": "Prealgebra"}


def test_math_without_answer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="neither an 'answer'"):
        read_math(put(tmp_path, {"problem": "?", "solution": "unclear"}))


def test_mbpp_tests_are_its_asserts(tmp_path: Path) -> None:
    (row,) = read_mbpp(put(tmp_path, MBPP))
    assert row.spec == {
        "type": "code",
        "style": "assert",
        "test_code": "assert double(1) == 2\nassert double(0) == 0\n",
    }


def test_mbpp_setup_comes_before_the_asserts(tmp_path: Path) -> None:
    (row,) = read_mbpp(put(tmp_path, {**MBPP, "test_setup_code": "one = 1\r\ntwo = 2"}))
    assert isinstance(row.spec, dict)
    assert row.spec["test_code"].startswith("one = 1\ntwo = 2\nassert")


def test_mbpp_prompt_shows_the_first_test_only(tmp_path: Path) -> None:
    (row,) = read_mbpp(put(tmp_path, MBPP))
    assert "double(1) == 2" in row.prompt
    assert "double(0)" not in row.prompt


def test_mbpp_gold_is_fenced_with_unix_newlines(tmp_path: Path) -> None:
    (row,) = read_mbpp(put(tmp_path, MBPP))
    assert row.gold == "```python\ndef double(x):\n  return 2 * x\n```"
    assert row.id == "mbpp-7"


def test_humaneval_test_calls_check_on_the_entry_point(tmp_path: Path) -> None:
    (row,) = read_humaneval(put(tmp_path, HUMANEVAL))
    assert isinstance(row.spec, dict)
    assert row.spec["entry_point"] == "inc"
    assert row.spec["test_code"].endswith("\ncheck(inc)\n")


def test_humaneval_gold_is_prompt_and_solution(tmp_path: Path) -> None:
    (row,) = read_humaneval(put(tmp_path, HUMANEVAL))
    assert row.gold == (
        '```python\ndef inc(x: int) -> int:\n    """ Add one. """\n    return x + 1\n```'
    )


@pytest.mark.parametrize("read", [read_gsm8k, read_math, read_mbpp, read_humaneval])
def test_another_layout_is_refused_with_its_fields(tmp_path: Path, read: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"row 1 lacks .* \(it has text, title\)"):
        read(put(tmp_path, {"title": "a", "text": "b"}))


@pytest.mark.parametrize(
    ("read", "record", "complaint"),
    [
        (read_humaneval, {**HUMANEVAL, "prompt": None}, "row 1 lacks 'prompt'"),
        (read_humaneval, {**HUMANEVAL, "test": 5}, "row 1 has 5 where text is expected"),
        (read_mbpp, {**MBPP, "text": None}, "row 1 lacks 'text'"),
        (read_mbpp, {**MBPP, "test_list": [None]}, "row 1 has None where text is expected"),
        (read_gsm8k, {**GSM8K, "question": None}, "row 1 lacks 'question'"),
        (read_math, {"problem": "?", "answer": None}, "row 1 has neither an 'answer'"),
    ],
)
def test_what_is_null_or_no_text_is_refused_with_its_row(
    tmp_path: Path, read: Any, record: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        read(put(tmp_path, record))
