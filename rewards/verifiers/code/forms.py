"""The parts of a code spec: its tests, limits and weights."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Style = Literal["stdin", "function", "pytest", "assert"]
Language = Literal["python", "c", "cpp", "java", "javascript", "go", "rust"]
Grade = Literal["fraction", "all", "stages"]
Withheld = Literal["input", "got", "wanted"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LimitsSpec(_Part):
    """Limits of each test; what is absent is the sandbox's default."""

    cpu_s: float | None = Field(None, gt=0, le=3600)
    """CPU seconds of the whole process tree: they decide. 5 when neither time is given."""
    wall_s: float | None = Field(None, gt=0, le=3600)
    """A loose backstop, 3 x cpu_s + 1 when absent; given alone it limits CPU time too."""
    memory_mb: int | None = Field(None, ge=32, le=1 << 20)
    """512 when absent, and what the language's machine needs for Java and JavaScript."""
    output_kb: int = Field(10_240, ge=1, le=1 << 20)
    processes: int = Field(64, ge=1, le=1 << 16)


class StageWeights(_Part):
    """What each stage of `grade: "stages"` is worth; together 1.

    The shaped rewards of CodeRL (Le et al. 2022, section 3.2) tell apart what does not compile,
    what fails at run time, what fails a test and what passes all: -1, -0.6, -0.3, 1. Here that
    order is kept and its first three steps are small.
    """

    parses: float = Field(0.05, ge=0, lt=1)
    """For a program that parses, or compiles."""
    runs: float = Field(0.05, ge=0, lt=1)
    """For one that ran to its end in at least one test, with the right answer or not."""
    tests: float | None = Field(None, gt=0, le=1)
    """For the tests, in proportion to those passed; what the others leave when absent."""

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        left = 1 - self.parses - self.runs
        if left < 0.5:
            raise ValueError(
                f"parses and runs come to {self.parses + self.runs:g}; they are shaping: give them"
                " at most 0.5 together"
            )
        if self.tests is not None and abs(self.tests - left) > 1e-9:
            raise ValueError(
                f"parses, runs and tests come to {1 - left + self.tests:g}: make it 1, or leave"
                f" tests out, which is then {left:g}"
            )
        return self

    def value(self, fraction: float, *, parses: bool, runs: bool) -> float:
        """Return parses * [it parses] + runs * [it ran] + (the rest) * (the fraction passed).

        A test passed implies both stages, so one more test passed is worth more than any stage.
        """
        if fraction >= 1:
            return 1.0
        rest = 1 - self.parses - self.runs
        return self.parses * parses + self.runs * runs + rest * fraction


class StdinTest(_Part):
    """A program gets `input` on stdin and must print `output`."""

    input: str
    output: str


class FunctionTest(_Part):
    """The entry point is called with `args` and `kwargs` and must return `expected`.

    Where it works in place, `expected_args` says what the arguments must be after the call; what it
    returns is then free, unless `expected` is given too and not null. Data that JSON lacks is
    written {"$tuple": [...]}, {"$set": [...]}, {"$float": "nan"}, {"$dict": [[key, value], ...]},
    {"$bytes": base64} or {"$complex": [re, im]}.
    """

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    expected: Any = None
    expected_args: list[Any] | None = None

    @model_validator(mode="after")
    def _expects_something(self) -> Self:
        if "expected" not in self.model_fields_set and self.expected_args is None:
            raise ValueError("a function test needs 'expected', or 'expected_args'")
        if self.expected_args is not None and len(self.expected_args) != len(self.args):
            raise ValueError(
                f"'expected_args' has {len(self.expected_args)} values for {len(self.args)}"
                " arguments: give each argument as it must be after the call"
            )
        return self


def without_nulls(test: dict[str, Any]) -> dict[str, Any]:
    """Drop what a columnar format filled in: `expected` alone may really be null."""
    is_call = test.get("input") is None and test.get("expected_args") is None
    return {k: v for k, v in test.items() if v is not None or (is_call and k == "expected")}
