"""The code verifier: a program is worth the tests it passes.

The model's code runs in the sandbox, one fresh process a test. Expected values stay on this side:
a stdin test compares printed text, a function test compares the plain data that came back. Asserts
of the form `f(literals) == literal` are function tests too. Other asserts and pytest modules still
run in the model's own process, where code could reach them; their evidence says
`"isolation": "shared"`.
"""

from __future__ import annotations

from rewards.completion import Completion
from rewards.machinery import machinery
from rewards.registry import verifier
from rewards.score import Score, Verdict
from rewards.verifiers.code.extract import extract_program
from rewards.verifiers.code.run import Result, run_tests
from rewards.verifiers.code.spec import CodeSpec
from sandbox import SandboxError

MAX_PROGRAM_CHARS = 1_000_000

__all__ = ["CodeSpec", "code"]


@verifier(name="code", spec=CodeSpec, runs="sandbox")
def code(completion: Completion, spec: CodeSpec) -> Score:
    """Extract a program, run its tests in the sandbox, grade what passed."""
    program = extract_program(completion)
    if program is None:
        why = "the reasoning never ended" if completion.reasoning_open else "no Python code"
        return Score.malformed(f"no program found: {why}", code="no_program")
    if len(program.text) > MAX_PROGRAM_CHARS:
        reason = f"the program has {len(program.text)} characters, more than {MAX_PROGRAM_CHARS}"
        return Score(0.0, Verdict.LIMIT, reason, evidence={"code": "program_size"})
    try:
        sandbox = machinery().sandbox()
    except SandboxError as error:
        return Score.unjudged(f"the sandbox cannot start: {error}", code="sandbox_unavailable")
    results = run_tests(sandbox, program.text, spec)
    return _grade(results, spec, program.source)


def _grade(results: list[Result], spec: CodeSpec, source: str) -> Score:
    lost = [r for r in results if r.verdict == "infra_error"]
    if lost:
        reason = f"the sandbox failed: {lost[0].detail}"
        return Score.unjudged(reason, code="infra_error", tests=[r.as_dict() for r in results])
    passed = sum(r.verdict == "passed" for r in results)
    fraction = passed / len(results)
    value = fraction if spec.grade == "fraction" else float(passed == len(results))
    failures = [r for r in results if r.verdict != "passed"]
    evidence = {
        "code": failures[0].verdict if failures else "passed",
        "extracted_from": source,
        "passed": passed,
        "num_tests": len(results),
        "isolation": "shared" if any(r.shared for r in results) else "separate",
        "tests": [r.as_dict() for r in results],
    }
    score = Score.fraction(value, _explain(passed, results), **evidence)
    if passed == 0:
        return score.replace(verdict=_verdict_of_failures(failures, source))
    return score


def _explain(passed: int, results: list[Result]) -> str:
    summary = f"{passed} of {len(results)} tests passed"
    for number, result in enumerate(results, 1):
        if result.verdict != "passed":
            return f"{summary}; test {number} {result.explain()}"
    return summary


def _verdict_of_failures(failures: list[Result], source: str) -> Verdict:
    """Name the one kind of failure that all tests share, if they share one."""
    kinds = {r.verdict for r in failures}
    if kinds == {"timeout"}:
        return Verdict.TIMEOUT
    if kinds <= {"memory", "output", "processes"}:
        return Verdict.LIMIT
    if kinds == {"syntax"} and source == "unfenced text":
        return Verdict.MALFORMED  # prose, most likely
    return Verdict.INCORRECT
