"""The code verifier: a program is worth the tests it passes.

The model's code runs in the sandbox, one fresh process a test. Expected values stay on this side:
a stdin test compares printed text, a function test compares the plain data that came back. Asserts
of the form `f(literals) == literal` are function tests too. Other asserts and pytest modules run in
a process of their own and ask the one with the model's code (`split`).
"""

from __future__ import annotations

from rewards.completion import Completion
from rewards.machinery import machinery
from rewards.registry import verifier
from rewards.score import Score, Verdict
from rewards.verifiers.code.extract import extract_program
from rewards.verifiers.code.grade import grade_results
from rewards.verifiers.code.run import run_tests
from rewards.verifiers.code.spec import CodeSpec
from sandbox import SandboxError

MAX_PROGRAM_CHARS = 1_000_000

__all__ = ["CodeSpec", "code"]


@verifier(name="code", spec=CodeSpec, runs="sandbox")
def code(completion: Completion, spec: CodeSpec) -> Score:
    """Extract a program, run its tests in the sandbox, grade what passed."""
    program = extract_program(completion, spec.language, spec.entry_point)
    if program is None:
        why = "the reasoning never ended" if completion.reasoning_open else _what_is_missing(spec)
        return Score.malformed(f"no program found: {why}", code="no_program")
    if len(program.text) > MAX_PROGRAM_CHARS:
        reason = f"the program has {len(program.text)} characters, more than {MAX_PROGRAM_CHARS}"
        return Score(0.0, Verdict.LIMIT, reason, evidence={"code": "program_size"})
    try:
        sandbox = machinery().sandbox()
    except SandboxError as error:
        return Score.unjudged(f"the sandbox cannot start: {error}", code="sandbox_unavailable")
    return grade_results(run_tests(sandbox, program.text, spec), spec, program)


def _what_is_missing(spec: CodeSpec) -> str:
    return f"no {spec.language.replace('python', 'Python')} code"
