"""The spec of code tasks, and the tests it compiles to."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rewards.errors import SpecError
from rewards.machinery import machinery
from rewards.spec import Spec
from rewards.verifiers.code.asserts import CallTest, SnippetTest, compile_asserts, parse_quietly
from rewards.verifiers.code.channel import ask_checker
from rewards.verifiers.code.values import decode
from sandbox import Limits, SandboxError

Style = Literal["stdin", "function", "pytest", "assert"]


class LimitsSpec(BaseModel):
    """Limits of each test; what is absent is the sandbox's default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cpu_s: float | None = Field(None, gt=0, le=3600)
    wall_s: float | None = Field(None, gt=0, le=3600)
    memory_mb: int = Field(512, ge=32, le=1 << 20)
    output_kb: int = Field(10_240, ge=1, le=1 << 20)
    processes: int = Field(64, ge=1, le=1 << 16)


class StdinTest(BaseModel):
    """A program gets `input` on stdin and must print `output`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: str
    output: str


class FunctionTest(BaseModel):
    """The entry point is called with `args` and `kwargs` and must return `expected`.

    Data that JSON lacks is written {"$tuple": [...]}, {"$set": [...]}, {"$float": "nan"},
    {"$dict": [[key, value], ...]}, {"$bytes": base64} or {"$complex": [re, im]}.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    expected: Any


class CodeSpec(Spec):
    """Code that must pass tests.

    Give `tests`, or `test_code` (asserts, or a pytest module that imports from `solution`).
    """

    type: Literal["code"] = "code"
    style: Style | None = None
    """How tests are run; inferred from the tests when absent."""
    tests: tuple[StdinTest | FunctionTest, ...] = ()
    test_code: str | None = None
    entry_point: str | None = Field(None, pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")
    """The function to call; "Solution.method" makes an instance first."""
    limits: LimitsSpec = LimitsSpec()
    grade: Literal["fraction", "all"] = "fraction"
    """Whether passing some tests earns some of the reward."""
    float_tolerance: float | None = Field(None, gt=0)
    """Relative and absolute; floats are compared exactly when absent, integers always."""
    checker: str | None = None
    """Trusted Python text that defines check(input, output, expected) -> bool."""
    isolation: Literal["split", "shared"] = "split"
    """Whether asserts and pytest items run in a process of their own, or in the program's, where
    the program can reach them; see docs/code.md."""
    num_tests: int | None = Field(None, ge=1)
    """Number of pytest items, when parametrisation hides it from a reader."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls_in_tests(cls, data: Any) -> Any:
        # Columnar formats merge the keys of all tests and fill the gaps with nulls. `expected` may
        # really be null, unless the test is a stdin test.
        if isinstance(data, dict) and isinstance(data.get("tests"), list):
            tests = [_without_nulls(t) if isinstance(t, dict) else t for t in data["tests"]]
            return {**data, "tests": tests}
        return data

    @property
    def kind(self) -> Style:
        """The style, given or inferred."""
        if self.style:
            return self.style
        if self.test_code is not None:
            return "pytest" if _looks_like_pytest(self.test_code) else "assert"
        return "stdin" if self.tests and isinstance(self.tests[0], StdinTest) else "function"

    def check(self) -> None:
        """Refuse tests that contradict the style or themselves.

        Raises:
            SpecError: With what is missing or superfluous.
        """
        try:
            self._check()
        except SpecError:
            raise
        except (ValueError, TypeError) as error:  # decoding what "$" forms stand for
            raise SpecError(f"code spec: {error}") from None

    def _check(self) -> None:
        if self.kind in ("stdin", "function"):
            self._check_declared()
        elif self.test_code is None or self.tests:
            raise SpecError(f"code spec: style {self.kind!r} takes 'test_code' and no 'tests'")
        elif self.float_tolerance is not None:
            raise SpecError("code spec: 'float_tolerance' goes with 'tests'; asserts say their own")
        elif self.kind == "pytest":
            self._check_pytest()
        if self.checker is not None:
            self._check_checker()
        self.sandbox_limits()
        _ = self.compiled

    def sandbox_limits(self) -> Limits:
        """Return the limits of one test."""
        given = self.limits
        return Limits(
            given.cpu_s, given.wall_s, given.memory_mb, given.output_kb, processes=given.processes
        )

    @cached_property
    def compiled(self) -> tuple[StdinTest | CallTest | SnippetTest, ...]:
        """The tests as the verifier runs them."""
        if self.kind == "assert":
            assert self.test_code is not None
            return tuple(compile_asserts(self.test_code, self.entry_point))
        if self.kind == "pytest":
            assert self.test_code is not None
            return (SnippetTest(self.test_code, "pytest"),)
        return tuple(self._declared(test) for test in self.tests)

    def _declared(self, test: StdinTest | FunctionTest) -> StdinTest | CallTest:
        if isinstance(test, StdinTest):
            return test
        assert self.entry_point is not None
        args, kwargs, expected = decode(test.args), decode(test.kwargs), decode(test.expected)
        words = [repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
        source = f"{self.entry_point}({', '.join(words)})"
        return CallTest(self.entry_point, tuple(args), kwargs, "equals", expected, source)

    def _check_declared(self) -> None:
        wanted = StdinTest if self.kind == "stdin" else FunctionTest
        if self.test_code is not None or not self.tests:
            raise SpecError(f"code spec: style {self.kind!r} takes 'tests' and no 'test_code'")
        for number, test in enumerate(self.tests, 1):
            if not isinstance(test, wanted):
                raise SpecError(f"code spec: test {number} is not of style {self.kind!r}")
        if self.kind == "function" and not self.entry_point:
            raise SpecError("code spec: function tests need 'entry_point', the function to call")
        seen: dict[str, Any] = {}
        for test in self.tests:
            given, expected = _sides(test)
            first = seen.setdefault(given, expected)
            if repr(first) != repr(expected) and first != expected and self.checker is None:
                raise SpecError(f"code spec: two tests want different results for {given:.120}")

    def _check_pytest(self) -> None:
        try:
            count = count_pytest_items(self.test_code or "")
        except (SyntaxError, ValueError) as error:
            raise SpecError(f"code spec: test_code does not parse: {error}") from None
        if not (count or self.num_tests):
            raise SpecError("code spec: test_code has no test that pytest would collect")

    def _check_checker(self) -> None:
        if self.kind not in ("stdin", "function"):
            raise SpecError("code spec: a 'checker' goes with stdin and function tests only")
        try:
            parsed = parse_quietly(self.checker or "")
        except (SyntaxError, ValueError) as error:
            raise SpecError(f"code spec: the checker does not parse: {error}") from None
        if not any(isinstance(n, ast.FunctionDef) and n.name == "check" for n in parsed.body):
            raise SpecError("code spec: the checker must define check(input, output, expected)")
        self._try_checker()

    def _try_checker(self) -> None:
        """See the checker accept an expected output, so that what it refuses later is wrong."""
        given, expected = _checker_sides(self.tests[0])
        if expected in ("", None):  # there is none: any that the checker accepts will do
            return
        try:
            sandbox = machinery().sandbox()
        except SandboxError:
            return  # the machine's failure: scoring meets it too, and says "unjudged"
        accepted, trouble, lost = ask_checker(sandbox, self.checker, given, expected, expected)
        if not (accepted or lost):
            why = f"fails on it: {trouble}" if trouble else "refuses it"
            raise SpecError(f"code spec: expected output {expected!r:.80}, but the checker {why}")


def _without_nulls(test: dict[str, Any]) -> dict[str, Any]:
    keep = () if test.get("input") is not None else ("expected",)
    return {k: v for k, v in test.items() if v is not None or k in keep}


def _sides(test: StdinTest | FunctionTest) -> tuple[str, Any]:
    if isinstance(test, StdinTest):
        return repr(test.input), test.output
    return repr((test.args, test.kwargs)), decode(test.expected)


def _checker_sides(test: StdinTest | FunctionTest) -> tuple[Any, Any]:
    if isinstance(test, StdinTest):
        return test.input, test.output
    return decode(test.args), decode(test.expected)


def _looks_like_pytest(test_code: str) -> bool:
    """Whether the module defines tests that pytest would collect."""
    try:
        return bool(count_pytest_items(test_code))
    except (SyntaxError, ValueError):
        return False


def _holds_tests(node: ast.ClassDef) -> bool:
    bases = [ast.unparse(base) for base in node.bases]
    return node.name.startswith("Test") or any(base.endswith("TestCase") for base in bases)


def count_pytest_items(test_code: str) -> int:
    """Count test functions as a reader can: parametrised ones count once."""
    count = 0
    for node in parse_quietly(test_code).body:
        inside = node.body if isinstance(node, ast.ClassDef) and _holds_tests(node) else [node]
        count += sum(
            isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) and f.name.startswith("test")
            for f in inside
        )
    return count
