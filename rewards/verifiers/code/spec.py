"""The spec of code tasks, and the tests it compiles to."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from rewards.errors import SpecError
from rewards.machinery import machinery
from rewards.spec import Spec
from rewards.verifiers.code.asserts import CallTest, SharedTest, compile_asserts, parse_quietly
from rewards.verifiers.code.channel import ask_checker
from rewards.verifiers.code.forms import (
    FunctionTest,
    Grade,
    Language,
    LimitsSpec,
    StageWeights,
    StdinTest,
    Style,
    Withheld,
    without_nulls,
)
from rewards.verifiers.code.languages import LANGUAGES, default_memory_mb
from rewards.verifiers.code.values import decode
from sandbox import Limits, SandboxError

Test = Annotated[
    Annotated[StdinTest, Tag("stdin")] | Annotated[FunctionTest, Tag("function")],
    Discriminator(lambda test: _form_of(test)),
]


class CodeSpec(Spec):
    """Code that must pass tests.

    Give `tests`, or `test_code` (asserts, or a pytest module that imports from `solution`).
    """

    type: Literal["code"] = "code"
    style: Style | None = None
    """How tests are run; inferred from the tests when absent."""
    tests: tuple[Test, ...] = ()
    test_code: str | None = None
    entry_point: str | None = Field(None, pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")
    """The function to call; "Solution.method" makes an instance first."""
    language: Language = "python"
    """What the program is written in; other languages than Python take stdin tests only."""
    limits: LimitsSpec = LimitsSpec()
    """Limits of each test."""
    num_tests: int | None = Field(None, ge=1)
    """Number of pytest items, when parametrisation hides it from a reader."""
    grade: Grade = "fraction"
    """What passing some tests earns: their fraction, nothing, or the stages reached as well."""
    stage_weights: StageWeights | None = None
    """What each stage is worth under `grade: "stages"`."""
    float_tolerance: float | None = Field(None, gt=0)
    """Relative and absolute; floats are compared exactly when absent, integers always."""
    checker: str | None = None
    """Trusted Python text that defines check(input, output, expected) -> bool."""
    stop_early: bool = False
    """Whether the first failure ends it: the tests after it are skipped and count as failed."""
    withhold: tuple[Withheld, ...] = ()
    """What evidence and reason must not show, when the model may come to see them."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        # Columnar formats merge the keys of all rows and fill the gaps with nulls.
        if not isinstance(data, dict):
            return data
        filled = dict(data)
        if isinstance(data.get("tests"), list):
            filled["tests"] = [
                without_nulls(t) if isinstance(t, dict) else t for t in data["tests"]
            ]
        for name in ("limits", "stage_weights"):
            if isinstance(data.get(name), dict):
                filled[name] = {k: v for k, v in data[name].items() if v is not None}
        return filled

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
        self._check_language()
        if self.stage_weights is not None and self.grade != "stages":
            raise SpecError(
                f"code spec: 'stage_weights' goes with grade 'stages', not {self.grade!r}"
            )
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

    def _check_language(self) -> None:
        if self.language != "python" and self.kind != "stdin":
            raise SpecError(
                f"code spec: language {self.language!r} takes stdin tests, not style {self.kind!r}:"
                " give tests with 'input' and 'output'"
            )
        least_mb = LANGUAGES[self.language].least_mb if self.language in LANGUAGES else 0
        if (self.limits.memory_mb or least_mb) < least_mb:
            raise SpecError(
                f"code spec: no {self.language} program starts under limits.memory_mb"
                f" {self.limits.memory_mb}: give at least {least_mb}"
            )

    def sandbox_limits(self) -> Limits:
        """Return the limits of one test."""
        given = self.limits
        memory_mb = given.memory_mb or default_memory_mb(self.language)
        return Limits(
            given.cpu_s, given.wall_s, memory_mb, given.output_kb, processes=given.processes
        )

    @cached_property
    def compiled(self) -> tuple[StdinTest | CallTest | SharedTest, ...]:
        """The tests as the verifier runs them."""
        if self.kind == "assert":
            assert self.test_code is not None
            return tuple(compile_asserts(self.test_code, self.entry_point))
        if self.kind == "pytest":
            assert self.test_code is not None
            return (SharedTest(self.test_code, "pytest"),)
        return tuple(self._declared(test) for test in self.tests)

    def _declared(self, test: StdinTest | FunctionTest) -> StdinTest | CallTest:
        if isinstance(test, StdinTest):
            return test
        assert self.entry_point is not None
        args, kwargs, expected = decode(test.args), decode(test.kwargs), decode(test.expected)
        after = None if test.expected_args is None else tuple(decode(test.expected_args))
        words = [repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
        source = f"{self.entry_point}({', '.join(words)})"
        return CallTest(self.entry_point, tuple(args), kwargs, "equals", expected, source, after)

    def _check_declared(self) -> None:
        wanted = StdinTest if self.kind == "stdin" else FunctionTest
        if self.test_code is not None or not self.tests:
            raise SpecError(f"code spec: style {self.kind!r} takes 'tests' and no 'test_code'")
        for number, test in enumerate(self.tests, 1):
            if not isinstance(test, wanted):
                raise SpecError(f"code spec: test {number} is not of style {self.kind!r}")
        if self.kind == "function" and not self.entry_point:
            raise SpecError("code spec: function tests need 'entry_point', the function to call")
        if self.num_tests not in (None, len(self.tests)):
            raise SpecError(
                f"code spec: 'num_tests' is {self.num_tests}, but there are {len(self.tests)}"
                " tests: leave it out, it is for pytest"
            )
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
        if any(isinstance(t, FunctionTest) and t.expected_args is not None for t in self.tests):
            raise SpecError("code spec: a 'checker' sees what is returned, not 'expected_args'")
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


def _form_of(test: Any) -> str:
    """Tell a test's form by its keys, so that errors speak of one form only."""
    if isinstance(test, dict):
        return "stdin" if "input" in test or "output" in test else "function"
    return "stdin" if isinstance(test, StdinTest) else "function"


def _sides(test: StdinTest | FunctionTest) -> tuple[str, Any]:
    if isinstance(test, StdinTest):
        return repr(test.input), test.output
    return repr((test.args, test.kwargs)), decode([test.expected, test.expected_args])


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
