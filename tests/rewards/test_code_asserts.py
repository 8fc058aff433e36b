from __future__ import annotations

import pytest

from rewards import SpecError
from rewards.verifiers.code.asserts import CallTest, SnippetTest, compile_asserts

HUMANEVAL = """
METADATA = {'author': 'x'}

def check(candidate):
    values = [1, 2]
    assert candidate([1.0, 2.0], 0.3) == True
    assert True, "This prints if this assert fails 1 (good for debugging!)"
    assert abs(candidate(values, 1) - 2) < 1e-6
    for x in range(3):
        assert candidate(x) == x
"""


def test_an_assert_about_a_literal_call_is_a_call_test() -> None:
    (test,) = compile_asserts("assert f([1, (2, 'x')], key=-1.5) == {1: {2}}, 'message'", None)
    assert isinstance(test, CallTest)
    assert (test.entry_point, test.args, test.kwargs) == ("f", ([1, (2, "x")],), {"key": -1.5})
    assert (test.relation, test.expected) == ("equals", {1: {2}})


@pytest.mark.parametrize(
    ("code", "relation", "expected"),
    [
        ("assert 3 == f(1)", "equals", 3),
        ("assert f(1) is None", "is", None),
        ("assert f(1) is True", "is", True),
        ("assert f(1)", "truthy", None),
        ("assert not f(1)", "falsy", None),
    ],
)
def test_relations_that_can_be_decided_outside(code: str, relation: str, expected: object) -> None:
    (test,) = compile_asserts(code, None)
    assert isinstance(test, CallTest)
    assert (test.relation, test.expected) == (relation, expected)


@pytest.mark.parametrize(
    "code",
    [
        "assert f(1) == f(2)",
        "assert f(g(1)) == 2",
        "assert f(1) != 2",
        "assert f(1) is 1",
        "assert f(*[1]) == 2",
        "assert f(**{'a': 1}) == 2",
        "assert len(f(1)) == 2",
        "assert sorted(f([2, 1])) == [1, 2]",
        "assert obj.f(1) == 2",
        "def f(x): return x\nassert f(1) == 1",
        "from math import f\nassert f(1) == 1",
        "for i in range(3):\n    assert f(i) == i",
    ],
)
def test_what_cannot_be_decided_outside_is_a_snippet(code: str) -> None:
    (test,) = compile_asserts(code, None)
    assert isinstance(test, SnippetTest)


def test_a_snippet_keeps_the_setup_and_no_other_assert() -> None:
    code = "import math\nx = 2\nassert g(x) == 1\nassert math.isclose(f(x), 4)\ny = 3"
    test = compile_asserts(code, None)[1]
    assert isinstance(test, SnippetTest)
    assert test.code == "import math\nx = 2\nassert math.isclose(f(x), 4)"


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    f(-1)\n    assert False\nexcept ValueError:\n    pass",
        "import pytest\nwith pytest.raises(ValueError):\n    f(1)",
        "if f(1) != 2:\n    raise AssertionError",
    ],
)
def test_tests_that_are_no_plain_asserts_count(code: str) -> None:
    assert len(compile_asserts(code + "\nassert f(1) == 1", None)) == 2


def test_unittest_classes_are_left_to_pytest() -> None:
    code = (
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\nassert f(1) == 1"
    )
    with pytest.raises(SpecError, match="give style 'pytest'"):
        compile_asserts(code, None)


@pytest.mark.parametrize(
    "code",
    [
        "init(5)\nassert get() == 5\nassert get() == 5",
        "assert gen() == 1\nassert gen() == 2",
        "s = Stack()\nassert size(1) == 1\nassert s.pop() == 1",
    ],
)
def test_tests_that_depend_on_each_other_are_snippets_and_run_in_order(code: str) -> None:
    tests = compile_asserts(code, None)
    assert all(isinstance(test, SnippetTest) for test in tests)
    last = tests[-1]
    assert isinstance(last, SnippetTest)
    assert "except Exception" in last.code


@pytest.mark.parametrize(
    "code",
    [
        "def check(candidate):\n    g = candidate\n    assert g(1) == 1",
        "def check(candidate):\n    def h(x): return x\n    assert h(1) == 1",
        "a, b = 1, 2\nassert a(1) == 1",
    ],
)
def test_names_that_the_test_code_binds_are_not_the_models(code: str) -> None:
    (test,) = compile_asserts(code, "f")
    assert isinstance(test, SnippetTest)


def test_odd_escapes_in_test_code_are_no_concern_of_ours() -> None:
    (test,) = compile_asserts(r"assert f('\w') == '\d'", None)
    assert isinstance(test, CallTest)
    assert test.args == (r"\w",)


def test_setup_calls_are_no_tests() -> None:
    assert len(compile_asserts("import random\nrandom.seed(0)\nassert f(1) == 2", None)) == 1


def test_calls_of_test_helpers_are_tests() -> None:
    code = "def run(n):\n    assert f(n) == n\nrun(1)\nrun(2)"
    tests = compile_asserts(code, None)
    assert [t.source for t in tests] == ["run(1)", "run(2)"]


@pytest.mark.parametrize(
    ("code", "entry_point"), [(HUMANEVAL, "has_close"), (HUMANEVAL + "\ncheck(has_close)", None)]
)
def test_a_check_function_counts_as_its_body(code: str, entry_point: str | None) -> None:
    call, near, loop = compile_asserts(code, entry_point)
    assert isinstance(call, CallTest)
    assert call.entry_point == "has_close"
    assert isinstance(near, SnippetTest)
    assert near.code.endswith("check(has_close)")
    assert "values = [1, 2]" in near.code
    assert "for x" not in near.code
    assert isinstance(loop, SnippetTest)


def test_a_check_function_that_is_never_called_needs_an_entry_point() -> None:
    with pytest.raises(SpecError, match="give entry_point"):
        compile_asserts(HUMANEVAL, None)


def test_a_built_in_name_is_the_programs_only_where_the_tests_name_nothing_else() -> None:
    (test,) = compile_asserts("assert sum(10, 15) == 6", None)
    assert isinstance(test, CallTest)
    (test,) = compile_asserts("assert sum(f(10)) == 6", None)
    assert isinstance(test, SnippetTest)
    (test,) = compile_asserts("assert sum(10, 15) == 6", "sum")
    assert isinstance(test, CallTest)
