"""Turn the results of a program's tests into a Score.

`fraction` is passed / tests; `all` is 1 if all passed, else 0; `stages` adds a little for having
come that far (see `StageWeights.value`). `outcome` never holds what a stage added.
"""

from __future__ import annotations

from rewards.score import Score, Verdict
from rewards.verifiers.code.extract import UNFENCED, Program
from rewards.verifiers.code.forms import StageWeights
from rewards.verifiers.code.result import Result
from rewards.verifiers.code.spec import CodeSpec

_UNPARSED = ("syntax", "compile_error")
_RAN = ("passed", "wrong", "not_plain")


def grade_results(results: list[Result], spec: CodeSpec, program: Program) -> Score:
    """Return the score of a program whose tests had these results."""
    declared = spec.kind in ("stdin", "function")
    shown = [result.without(spec.withhold, asserted=not declared) for result in results]
    tests = [result.as_dict("input" if declared else "test") for result in shown]
    lost = [result for result in shown if result.verdict == "infra_error"]
    if lost:
        reason = f"the sandbox failed: {lost[0].detail}"
        return Score.unjudged(reason, code="infra_error", tests=tests)
    passed = sum(result.verdict == "passed" for result in shown)
    failures = [result for result in shown if result.verdict != "passed"]
    outcome = passed / len(shown) if spec.grade != "all" else float(not failures)
    evidence = {
        "code": failures[0].verdict if failures else "passed",
        "extracted_from": program.source,
        "extraction": program.why,
        "passed": passed,
        "num_tests": len(shown),
        "isolation": "shared" if any(r.shared for r in shown) else "separate",
        "tests": tests,
    }
    score = Score.fraction(outcome, _explain(passed, shown), **evidence)
    if passed == 0:
        score = score.replace(verdict=_verdict_of_failures(failures, program.source))
    return _with_stages(score, shown, spec)


def _with_stages(score: Score, results: list[Result], spec: CodeSpec) -> Score:
    if spec.grade != "stages" or score.value is None:
        return score
    weights = spec.stage_weights or StageWeights()
    parses = all(result.verdict not in _UNPARSED for result in results)
    ran = any(result.verdict in _RAN for result in results)
    stages = {"parses": parses, "runs": ran}
    value = weights.value(score.value, **stages)
    return score.replace(
        value=value, outcome=score.value, evidence={**score.evidence, "stages": stages}
    )


def _explain(passed: int, results: list[Result]) -> str:
    summary = f"{passed} of {len(results)} tests passed"
    for number, result in enumerate(results, 1):
        if result.verdict != "passed":
            return f"{summary}; test {number} {result.explain()}"
    return summary


def _verdict_of_failures(failures: list[Result], source: str) -> Verdict:
    """Name the one kind of failure that all tests share, if they share one."""
    kinds = {r.verdict for r in failures} - {"skipped"}
    if kinds == {"timeout"}:
        return Verdict.TIMEOUT
    if kinds <= {"memory", "output", "processes"}:
        return Verdict.LIMIT
    if kinds == {"syntax"} and source == UNFENCED:
        return Verdict.MALFORMED  # prose, most likely
    return Verdict.INCORRECT
