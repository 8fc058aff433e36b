"""Run the tests of a spec against a program, and judge each from outside the sandbox."""

from __future__ import annotations

import reprlib
import secrets
from dataclasses import dataclass
from typing import Any

from rewards.verifiers.code import drivers
from rewards.verifiers.code.apart import Apart, Item
from rewards.verifiers.code.asserts import CallTest, SnippetTest
from rewards.verifiers.code.channel import (
    REASONS,
    RESULT_ROOM,
    ask_checker,
    make_job,
    read_frame,
)
from rewards.verifiers.code.compare import same_output, same_relation, same_value
from rewards.verifiers.code.spec import CodeSpec, StdinTest, count_pytest_items
from rewards.verifiers.code.values import dumps
from sandbox import Job, Outcome, Sandbox

STARVED_SHARE = 0.5
"""An overrun of wall time is the machine's fault if the job waited this much of it for a core: one
that would have run for all of its wall time has at most a third of it in its CPU limit."""


@dataclass(frozen=True)
class Result:
    """One test: passed, wrong, exception, syntax, exit, not_plain, a limit, or infra_error."""

    verdict: str
    test: str
    got: str = ""
    wanted: str = ""
    detail: str = ""
    cpu_s: float = 0.0
    shared: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return plain data without empty fields, for a Score's evidence."""
        texts = {k: _short(getattr(self, k)) for k in ("test", "got", "wanted", "detail")}
        full = {"verdict": self.verdict, **texts, "cpu_s": round(self.cpu_s, 4)}
        return {key: value for key, value in full.items() if value != ""}

    def explain(self) -> str:
        """Say in a few words what happened."""
        if self.verdict == "wrong" and not self.detail:
            return f"wrong: {_short(self.test)} gave {_short(self.got)}, not {_short(self.wanted)}"
        return f"{self.verdict}: {_short(self.detail or self.test)}"


def run_tests(sandbox: Sandbox, program: str, spec: CodeSpec) -> list[Result]:
    """Run every test, each in a fresh process; a program that does not compile runs once."""
    source = program.encode("utf-8", "surrogatepass")
    runner = _Runner(sandbox, source, spec)
    if spec.kind == "pytest":
        return runner.pytest()
    results: list[Result] = []
    for test in spec.compiled:
        if results and results[0].verdict == "syntax":
            results.append(results[0])
        elif isinstance(test, StdinTest):
            results.append(runner.stdin(test))
        elif isinstance(test, CallTest):
            results.append(runner.call(test))
        elif spec.isolation == "split":
            results.append(runner.snippet(test))
        else:
            results.append(runner.shared(test))
    return results


class _Runner:
    def __init__(self, sandbox: Sandbox, source: bytes, spec: CodeSpec) -> None:
        self.sandbox, self.source, self.spec = sandbox, source, spec
        self.limits = spec.sandbox_limits()

    def stdin(self, test: StdinTest) -> Result:
        outcome = self._run(Job(self.source, stdin=test.input.encode(), limits=self.limits))
        if failed := _failure(outcome, test.input):
            return failed
        if self.spec.checker is not None:
            text = outcome.stdout.decode("utf-8", "replace")
            return self._check(test.input, text, test.output, outcome)
        passed = same_output(outcome.stdout, test.output, self.spec.float_tolerance)
        got = outcome.stdout.decode("utf-8", "backslashreplace")
        return _compared(passed, _show(test.input), _show(got), _show(test.output), outcome)

    def call(self, test: CallTest) -> Result:
        task = {"entry_point": test.entry_point, "args": list(test.args), "kwargs": test.kwargs}
        room = 4 * len(dumps(test.expected)) + RESULT_ROOM
        outcome, frame = self._drive(drivers.CALL, task, "value", room)
        if failed := _failure(outcome, test.source, frame, "value"):
            return failed
        value = frame["value"]
        if self.spec.checker is not None:
            return self._check(list(test.args), value, test.expected, outcome)
        if self.spec.kind == "function":
            passed = same_value(value, test.expected, self.spec.float_tolerance)
        else:
            passed = same_relation(value, test.relation, test.expected)
        wanted = _show(test.expected) if test.relation in ("equals", "is") else test.relation
        return _compared(passed, test.source, _show(value), wanted, outcome)

    def snippet(self, test: SnippetTest) -> Result:
        return _item_result(self._apart().run_snippet(test))

    def split_pytest(self) -> list[Result]:
        code = self.spec.test_code or ""
        counted = count_pytest_items(code)
        return [
            _item_result(item)
            for item in self._apart().run_items(code, self.spec.num_tests, counted)
        ]

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
            return Result("infra_error", _show(given), detail=f"the checker: {lost}")
        if trouble:
            detail = f"the output made the checker fail: {trouble}"
            return Result("wrong", _show(given), _show(output), "", detail, outcome.cpu_s)
        wanted = f"what the checker accepts (e.g. {_show(expected)})"
        return _compared(accepted, _show(given), _show(output), wanted, outcome)

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
        if outcome.limit == "wall" and _starved(outcome):
            outcome = self.sandbox.run(job)
        return outcome


def _starved(outcome: Outcome) -> bool:
    return outcome.starved_s > STARVED_SHARE * outcome.wall_s


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
    return Result(verdict, test, detail=detail, cpu_s=outcome.cpu_s, shared=shared)


def _diagnose(
    outcome: Outcome, frame: dict[str, Any] | None, answer: str
) -> tuple[str | None, str]:
    if outcome.infra_error is not None:
        return "infra_error", outcome.infra_error
    if outcome.limit == "wall" and _starved(outcome):
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
                return verdict, frame[key]
    if outcome.signal is not None:
        return "exit", f"ended by signal {outcome.signal}"
    if outcome.exit_code != 0:
        last = outcome.stderr[-2000:].decode("utf-8", "replace").strip().rpartition("\n")[2]
        return "exception" if outcome.exit_code == 1 else "exit", (
            last or f"exit status {outcome.exit_code}"
        )
    if frame is not None and answer not in frame:
        return "exit", "the program ended before the test did"
    return None, ""


def _item_result(item: Item) -> Result:
    return Result(item.verdict, item.test, detail=item.detail, cpu_s=item.cpu_s)


def _compared(passed: bool, test: str, got: str, wanted: str, outcome: Outcome) -> Result:
    verdict = "passed" if passed else "wrong"
    return Result(verdict, test, got, wanted, cpu_s=outcome.cpu_s)


class _Repr(reprlib.Repr):
    """A repr whose cost does not grow with the value: a model chooses how large that is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 200
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 20

    def repr_int(self, x: int, level: int) -> str:
        """Show an integer, or its size where its decimal digits would take long to compute."""
        bits = x.bit_length()
        return repr(x) if bits < 1024 else f"<an integer of {bits} bits>"


_show = _Repr().repr


def _text(name: object) -> str:
    return name if type(name) is str else _show(name)


def _short(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
