"""Run the tests of a spec against a program, and judge each from outside the sandbox."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

from rewards.verifiers.code import drivers
from rewards.verifiers.code.apart import Apart
from rewards.verifiers.code.asserts import CallTest, SnippetTest
from rewards.verifiers.code.builds import Build
from rewards.verifiers.code.channel import (
    REASONS,
    RESULT_ROOM,
    ask_checker,
    make_job,
    read_frame,
)
from rewards.verifiers.code.compare import same_output, same_relation, same_value
from rewards.verifiers.code.forms import StdinTest
from rewards.verifiers.code.languages import LANGUAGES, absent
from rewards.verifiers.code.result import Result, explain_exit, show
from rewards.verifiers.code.spec import CodeSpec, count_pytest_items
from rewards.verifiers.code.values import dumps
from sandbox import Job, Outcome, Sandbox


def run_tests(sandbox: Sandbox, program: str, spec: CodeSpec) -> list[Result]:
    """Run every test, each in a fresh process.

    A program that does not compile runs once, and so does one that fails a test under `stop_early`.
    When the machine fails, what is left is not run: the completion cannot be judged.
    """
    source = program.encode("utf-8", "surrogatepass")
    runner = _Runner(sandbox, source, spec)
    if spec.kind == "pytest":
        return runner.pytest()
    failed = runner.build()
    results: list[Result] = []
    for test in spec.compiled:
        name = show(test.input) if isinstance(test, StdinTest) else test.source
        if failed is not None:
            results.append(replace(failed, test=name, detail="" if results else failed.detail))
            continue
        results.append(runner.run(test, name))
        verdict = results[-1].verdict
        if verdict == "infra_error":
            break
        if verdict == "syntax":
            failed = results[-1]
        elif spec.stop_early and verdict != "passed":
            failed = Result("skipped", name)
    return results


class _Runner:
    def __init__(self, sandbox: Sandbox, source: bytes, spec: CodeSpec) -> None:
        self.sandbox, self.source, self.spec = sandbox, source, spec
        self.limits = spec.sandbox_limits()
        self.program = b""
        language = LANGUAGES.get(spec.language)
        self.to_build = Build(language, source) if language else None

    def build(self) -> Result | None:
        """Compile the program, where its language asks for it; return why that failed."""
        if self.to_build is None:
            return None
        outcome = self._run(self.to_build.compile_job())
        frame = read_frame(outcome, "built")
        if failed := _failure(outcome, "", frame, "built"):
            return replace(failed, detail=f"the compiler: {failed.detail}")
        built = frame["built"] if isinstance(frame["built"], dict) else {}
        if type(built.get("program")) is bytes:
            self.program = built["program"]
            return None
        if "absent" in built:
            return Result(
                "infra_error", "", detail=absent(self.to_build.language, self.sandbox.name)
            )
        return Result("compile_error", "", detail=_text(built.get("failed"))).timed(outcome)

    def run(self, test: StdinTest | CallTest | SnippetTest, name: str) -> Result:
        """Run one test."""
        if isinstance(test, StdinTest):
            return self.stdin(test, name)
        if isinstance(test, CallTest):
            return self.call(test)
        return self.snippet(test) if self.spec.isolation == "split" else self.shared(test)

    def stdin(self, test: StdinTest, name: str) -> Result:
        stdin = test.input.encode()
        job = Job(self.source, stdin=stdin, limits=self.limits)
        if self.to_build is not None:
            job = self.to_build.run_job(self.program, stdin, self.limits)
        outcome = self._run(job)
        if failed := _failure(outcome, name):
            return failed
        if self.spec.checker is not None:
            text = outcome.stdout.decode("utf-8", "replace")
            return self._check(test.input, text, test.output, outcome)
        passed = same_output(outcome.stdout, test.output, self.spec.float_tolerance)
        got = outcome.stdout.decode("utf-8", "backslashreplace")
        return _compared(passed, name, show(got), show(test.output), outcome)

    def call(self, test: CallTest) -> Result:
        after = test.expected_args
        wanted = ["args"] if after is not None else []
        if after is None or test.expected is not None:
            wanted.append("value")
        task = {
            "entry_point": test.entry_point,
            "args": list(test.args),
            "kwargs": test.kwargs,
            "wanted": wanted,
        }
        room = 4 * len(dumps([test.expected, after])) + RESULT_ROOM
        outcome, frame = self._drive(drivers.CALL, task, "value", room)
        if failed := _failure(outcome, test.source, frame, "value"):
            return failed
        value = frame["value"]
        if self.spec.checker is not None:
            return self._check(list(test.args), value, test.expected, outcome)
        if self.spec.kind != "function":
            passed = same_relation(value, test.relation, test.expected)
            relation = show(test.expected) if test.relation in ("equals", "is") else test.relation
            return _compared(passed, test.source, show(value), relation, outcome)
        if "value" in wanted and not same_value(value, test.expected, self.spec.float_tolerance):
            return _compared(False, test.source, show(value), show(test.expected), outcome)
        if after is None:
            return _compared(True, test.source, show(value), show(test.expected), outcome)
        args = frame.get("args")
        passed = same_value(args, list(after), self.spec.float_tolerance)
        got, left = (f"arguments {show(a)}" for a in (args, list(after)))
        return _compared(passed, test.source, got, left, outcome)

    def snippet(self, test: SnippetTest) -> Result:
        return self._apart().run_snippet(test)

    def split_pytest(self) -> list[Result]:
        spec, code = self.spec, self.spec.test_code or ""
        counted = count_pytest_items(code)
        return self._apart().run_items(code, spec.num_tests, counted, stop_early=spec.stop_early)

    def _apart(self) -> Apart:
        return Apart(self.sandbox, self.source, self.limits, lambda o: _diagnose(o, None, ""))

    def shared(self, test: SnippetTest) -> Result:
        nonce = secrets.token_hex(16)
        task = {"nonce": nonce, "test": test.code}
        outcome, frame = self._drive(drivers.ASSERT, task, "passed")
        failed = _failure(outcome, test.source, frame, "passed", shared=True)
        passed = frame.get("passed") == nonce
        return failed or Result(
            "passed" if passed else "wrong", test.source, cpu_s=outcome.cpu_s, shared=True
        )

    def pytest(self) -> list[Result]:
        code = self.spec.test_code or ""
        declared = self.spec.num_tests or count_pytest_items(code)
        packages = self.sandbox.packages
        if packages is None:
            detail = "pytest is not installed: pip install 'assay-rl[sandbox]'"
            return [Result("infra_error", "pytest", detail=detail, shared=True)]
        if self.spec.isolation == "split":
            return self.split_pytest()
        nonce = secrets.token_hex(16)
        task = {"nonce": nonce, "test": code, "packages": packages}
        outcome, frame = self._drive(drivers.PYTEST, task, "results", 1 << 20)
        if failed := _failure(outcome, "pytest", frame, "results", shared=True):
            return [failed] * declared
        items = frame["results"] if frame.get("passed") == nonce else None
        results = [
            Result("passed" if ok is True else "wrong", _text(name), shared=True)
            for name, ok in (items.items() if isinstance(items, dict) else ())
        ]
        # Every declared test needs positive evidence; what did not report has failed.
        missing = Result("wrong", "pytest", detail="the test reported nothing", shared=True)
        return results + [missing] * (declared - len(results))

    def _check(self, given: Any, output: Any, expected: Any, outcome: Outcome) -> Result:
        """Ask the trusted checker, in a process that never saw the model's code.

        It was seen to accept the expected output when the spec was made, so an output that makes it
        raise or run out of time is the program's fault.
        """
        accepted, trouble, lost = ask_checker(
            self.sandbox, self.spec.checker, given, output, expected
        )
        if lost:
            return Result("infra_error", show(given), detail=f"the checker: {lost}")
        if trouble:
            detail = f"what the checker accepts; it failed: {trouble}"
            return Result("wrong", show(given), show(output), detail).timed(outcome)
        wanted = f"what the checker accepts (e.g. {show(expected)})"
        return _compared(accepted, show(given), show(output), wanted, outcome)

    def _drive(
        self, driver: drivers.Driver, task: dict[str, Any], answer: str, room: int = RESULT_ROOM
    ) -> tuple[Outcome, dict[str, Any]]:
        outcome = self._run(make_job(driver, task, self.limits, self.source))
        # Decoding and comparing take our time: what is far too large to be right is not read.
        if len(outcome.result) > room:
            size = f"{len(outcome.result)} bytes, far more than expected"
            return outcome, {"not_plain": f"the result takes {size}"}
        return outcome, read_frame(outcome, answer)

    def _run(self, job: Job) -> Outcome:
        """Run a job; one that ran out of wall time while it waited for a core runs once more."""
        outcome = self.sandbox.run(job)
        if outcome.starved:
            outcome = self.sandbox.run(job)
        return outcome


def _failure(
    outcome: Outcome,
    test: str,
    frame: dict[str, Any] | None = None,
    answer: str = "",
    *,
    shared: bool = False,
) -> Result | None:
    """Return why a program did not get as far as an answer; None if it did."""
    verdict, detail = _diagnose(outcome, frame, answer)
    if verdict is None:
        return None
    return Result(verdict, test, detail=detail, shared=shared).timed(outcome)


def _diagnose(
    outcome: Outcome, frame: dict[str, Any] | None, answer: str
) -> tuple[str | None, str]:
    if outcome.infra_error is not None:
        return "infra_error", outcome.infra_error
    if outcome.starved:
        waited = f"{outcome.starved_s:.1f} s of {outcome.wall_s:.1f} s waiting for a core"
        return "infra_error", f"the machine is overloaded: the program spent {waited}, twice"
    if outcome.limit in ("cpu", "wall"):
        return "timeout", f"stopped after {outcome.cpu_s:.1f} s of CPU, {outcome.wall_s:.1f} s wall"
    if outcome.limit is not None:
        return outcome.limit, f"over the {outcome.limit} limit"
    if outcome.compile_error is not None:
        return "syntax", outcome.compile_error
    if frame is not None and answer not in frame:
        for key, verdict in REASONS.items():
            if key in frame:
                is_memory = key == "error" and frame[key].startswith("MemoryError")
                return "memory" if is_memory else verdict, frame[key]
    if outcome.signal is not None or outcome.exit_code != 0:
        return explain_exit(outcome)
    if frame is not None and answer not in frame:
        return "exit", "the program ended before the test did"
    return None, ""


def _compared(passed: bool, test: str, got: str, wanted: str, outcome: Outcome) -> Result:
    verdict = "passed" if passed else "wrong"
    return Result(verdict, test, got, wanted).timed(outcome)


def _text(name: object) -> str:
    return name if type(name) is str else show(name)
