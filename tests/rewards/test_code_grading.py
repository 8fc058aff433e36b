"""How tests make a value, what the evidence shows, and which specs are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import rewards
from rewards import Score, SpecError
from rewards._cli_schema import schema_of
from rewards.verifiers.code.forms import StageWeights
from rewards.verifiers.code.result import Result

TESTS = [{"args": [n], "expected": 2 * n} for n in (1, 2, 3, 4)]
DOUBLE = {"type": "code", "entry_point": "f", "tests": TESTS}
ECHO = {"type": "code", "tests": [{"input": "secret in", "output": "secret out"}]}


def score(program: str, **more: Any) -> Score:
    return rewards.score(f"```python\n{program}\n```", {**DOUBLE, **more})


@pytest.mark.parametrize(
    ("program", "value", "outcome"),
    [
        ("def f(x", 0.0, 0.0),
        ("raise OSError", 0.05, 0.0),
        ("def f(x): return 7", 0.1, 0.0),
        ("def f(x): return object()", 0.1, 0.0),
        ("def f(x): return 2 if x == 1 else 1 / 0", 0.1 + 0.9 / 4, 0.25),
        ("def f(x): return x * 2", 1.0, 1.0),
    ],
)
def test_stages_pay_a_little_for_coming_that_far(
    program: str, value: float, outcome: float
) -> None:
    judged = score(program, grade="stages")
    assert (judged.value, judged.outcome) == (pytest.approx(value), outcome)


def test_stages_say_which_were_reached() -> None:
    assert score("1 / 0", grade="stages").evidence["stages"] == {"parses": True, "runs": False}


def test_one_more_test_passed_beats_any_stage() -> None:
    weights = StageWeights(parses=0.25, runs=0.25)
    for passed in range(100):
        fewer = weights.value(passed / 100, parses=True, runs=True)
        assert fewer < weights.value((passed + 1) / 100, parses=True, runs=True)


def test_a_stage_reached_is_never_worth_less() -> None:
    weights = StageWeights()
    steps = [
        weights.value(0, parses=False, runs=False),
        weights.value(0, parses=True, runs=False),
        weights.value(0, parses=True, runs=True),
        weights.value(0.001, parses=True, runs=True),
        weights.value(1, parses=True, runs=True),
    ]
    assert steps == sorted(set(steps))
    assert steps[-1] == 1.0


def test_stage_weights_are_the_specs_to_give() -> None:
    judged = score("1 / 0", grade="stages", stage_weights={"parses": 0.2, "tests": None})
    assert judged.value == pytest.approx(0.2)


def test_stopping_early_skips_the_tests_after_the_first_failure() -> None:
    judged = score("def f(x): return 2 * x if x != 2 else 0", stop_early=True)
    assert [t["verdict"] for t in judged.evidence["tests"]] == [
        "passed",
        "wrong",
        "skipped",
        "skipped",
    ]
    assert judged.value == 0.25


def test_what_is_skipped_does_not_change_the_verdict() -> None:
    judged = score("while True: pass", stop_early=True, limits={"cpu_s": 0.5})
    assert judged.verdict == "timeout"


def test_each_test_leaves_its_input_result_and_times() -> None:
    (first, *_) = score("def f(x): return x").evidence["tests"]
    assert (first["verdict"], first["input"], first["got"], first["wanted"]) == (
        "wrong",
        "f(1)",
        "1",
        "2",
    )
    assert first["cpu_s"] > 0
    assert first["wall_s"] > 0


def test_evidence_is_bounded_whatever_a_program_says() -> None:
    judged = score("def f(x): raise ValueError('x' * 10**6)")
    assert len(json.dumps(judged.evidence)) < 10_000
    assert len(json.dumps(score("def f(x): return 'x' * 10**5").evidence)) < 10_000


@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        ("def f(x): return [0] * (10**12)", "memory"),
        ("def f(x): return 1 / 0", "exception"),
        ("def f(x): import os; os._exit(0)", "exit"),
        ("def f(x): import os; os.abort()", "exit"),
        ("def f(x): return lambda: 0", "not_plain"),
        ("def f(x): print('x' * 10**5)", "output"),
    ],
)
def test_each_failure_has_its_name(program: str, verdict: str) -> None:
    judged = score(program, tests=TESTS[:1], limits={"output_kb": 16})
    assert judged.evidence["tests"][0]["verdict"] == verdict


def test_a_signal_is_called_by_its_name() -> None:
    assert "SIGABRT" in score("import os; os.abort()").reason


LEAKS = [
    "import sys\nprint(sys.stdin.read())",
    "import sys\nraise ValueError(sys.stdin.read())",
    "import sys\nsys.exit(sys.stdin.read())",
    "import sys, os\nos.write(2, os.read(0, 99))\nos._exit(9)",
]


@pytest.mark.parametrize("program", LEAKS)
def test_an_input_that_is_withheld_is_not_echoed_either(program: str) -> None:
    judged = rewards.score(program, {**ECHO, "withhold": ["input"]})
    assert "secret in" not in judged.to_json()
    assert "secret in" in rewards.score(program, ECHO).to_json()


def test_what_is_wanted_can_be_withheld() -> None:
    judged = rewards.score("print(1)", {**ECHO, "withhold": ["wanted"]})
    assert judged.reason == "0 of 1 tests passed; test 1 wrong: 'secret in' gave '1\\n'"
    assert "secret out" not in judged.to_json()


def test_what_a_program_did_can_be_withheld() -> None:
    judged = rewards.score("print('mine')", {**ECHO, "withhold": ["got"]})
    assert "mine" not in judged.to_json()
    assert "secret out" in judged.reason


def test_an_assert_says_what_is_wanted_and_goes_with_it() -> None:
    spec = {"type": "code", "test_code": "assert f(1) == 1234", "withhold": ["wanted"]}
    assert "1234" not in rewards.score("def f(x): return x", spec).to_json()


def test_what_a_checker_says_goes_with_what_is_wanted() -> None:
    checker = (
        "def check(inp, out, exp):\n    if out == exp: return True\n    raise ValueError(exp)\n"
    )
    spec = {**ECHO, "checker": checker}
    assert "secret out" in rewards.score("print(1)", spec).to_json()
    hidden = rewards.score("print(1)", {**spec, "withhold": ["wanted"]})
    assert "secret out" not in hidden.to_json()


@pytest.mark.parametrize("missing", ["test", "got", "wanted", "detail"])
def test_a_result_is_explained_with_whatever_is_known(missing: str) -> None:
    known = {"test": "f(1)", "got": "2", "wanted": "3", "detail": "because"}
    for verdict in ("wrong", "exception"):
        said = Result(verdict, **{**known, missing: ""}).explain()
        assert said.startswith(f"{verdict}: ")
        assert "  " not in said


SORT = {
    "type": "code",
    "entry_point": "f",
    "tests": [{"args": [[3, 1, 2]], "expected_args": [[1, 2, 3]]}],
}


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("xs.sort()", 1.0),
        ("xs[:] = sorted(xs); return xs", 1.0),
        ("xs.sort(); return lambda: 0", 1.0),
        ("return sorted(xs)", 0.0),
        ("xs[:] = [True, 2, 3]", 0.0),
        ("xs[:] = [type('A', (), {'__eq__': lambda s, o: True})()] * 3", 0.0),
        ("xs.sort(); xs.append(4)", 0.0),
    ],
)
def test_arguments_that_a_call_changes_can_be_expected(body: str, value: float) -> None:
    assert rewards.score(f"def f(xs): {body}", SORT).value == value


def test_a_returned_value_counts_beside_the_arguments() -> None:
    test = {"args": [[2, 1]], "expected": 2, "expected_args": [[1, 2]]}
    spec = {**SORT, "tests": [test]}
    assert rewards.score("def f(xs): xs.sort(); return len(xs)", spec).value == 1.0
    assert rewards.score("def f(xs): xs.sort()", spec).value == 0.0


def test_arguments_changed_otherwise_are_shown() -> None:
    reason = rewards.score("def f(xs): pass", SORT).reason
    assert "gave arguments [[3, 1, 2]], not arguments [[1, 2, 3]]" in reason


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"grade": "best"}, "grade"),
        ({"stage_weights": {"parses": 0.1}}, "goes with grade 'stages'"),
        ({"grade": "stages", "stage_weights": {"parses": 0.4, "runs": 0.3}}, "at most 0.5"),
        ({"grade": "stages", "stage_weights": {"parses": 0.1, "tests": 0.5}}, "make it 1"),
        ({"withhold": ["answers"]}, "'input', 'got' or 'wanted'"),
        ({"num_tests": 3}, "'num_tests' is 3, but there are 4 tests"),
        ({"tests": [{"args": [1]}]}, "needs 'expected', or 'expected_args'"),
        ({"tests": [{"args": [1], "expected_args": []}]}, "has 0 values for 1"),
        ({"tests": [{"input": "1"}]}, "tests.0.stdin.output"),
        ({"tests": [{"args": [1], "expect": 2}]}, "tests.0.function.expect"),
    ],
)
def test_specs_that_make_no_sense_say_where_and_what_to_do(
    change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(SpecError, match=complaint):
        rewards.compile_spec({**DOUBLE, **change})


def test_nulls_in_limits_are_as_good_as_nothing() -> None:
    limits = {"cpu_s": 1, "wall_s": None, "output_kb": None, "processes": None, "memory_mb": None}
    assert score("def f(x): return 2 * x", limits=limits).value == 1.0


def test_the_schema_has_every_field() -> None:
    schema = schema_of("code")
    assert {"language", "grade", "stage_weights", "stop_early", "withhold"} <= set(
        schema["properties"]
    )
    assert schema["$defs"]["FunctionTest"]["properties"].keys() == {
        "args",
        "kwargs",
        "expected",
        "expected_args",
    }
