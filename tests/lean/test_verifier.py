"""The verifier from completion to score, around a Lean that says what it is told to say."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import rewards
from rewards import Score, SpecError, Verdict
from rewards.verifiers.lean.backends.process import ProcessBackend
from rewards.verifiers.lean.machine import lean_machine
from tests.lean.fakes import RecordedComparer, fake_toolchain, tell

SPEC = {"type": "lean", "statement": "theorem target : 2 + 2 = 4", "timeout_s": 20}
ERROR = {"severity": "error", "data": "no such thing", "pos": {"line": 3, "column": 0}}
SORRY = {"severity": "warning", "kind": "hasSorry", "data": "declaration uses `sorry`"}

Told = Callable[..., Score]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with fake_toolchain([]) as lean:
        rewards.configure(sandbox="bubblewrap", lean=str(lean), cache=0)
        lean_machine().workshop().comparer = RecordedComparer()
        yield lean.parents[1]
    rewards.configure(sandbox="auto", lean="", cache=4096)


@pytest.fixture
def told(folder: Path) -> Told:
    """Score a proof whose compilation ends as told."""

    def score(proof: str = "by answered", spec: Mapping[str, Any] = SPEC, **answer: Any) -> Score:
        tell(folder, [{"marker": "answered", **answer}])
        return rewards.score(proof, dict(spec))

    return score


def test_a_proof_is_paid(told: Told) -> None:
    score = told(olean={})
    assert (score.value, score.outcome, score.evidence["code"]) == (1.0, 1.0, "proved")


def test_the_verdict_names_level_profile_back_end_and_version(told: Told) -> None:
    evidence = told(olean={}).evidence
    assert [evidence[k] for k in ("level", "profile", "backend")] == ["axioms", "strict", "process"]
    assert evidence["lean"].startswith("Lean (version 4.35.0")


def test_an_error_counts_the_lines_of_the_submission(told: Told) -> None:
    proof = "```lean4\n-- a lemma\ntheorem target : 2 + 2 = 4 := answered\n```"
    score = told(proof, {**SPEC, "header": "open Nat\n"}, messages=[ERROR], status=1)
    assert (score.value, score.verdict) == (0.0, Verdict.INCORRECT)
    assert "no such thing" in score.reason
    line = lean_line = score.evidence["messages"][0]["line"]
    assert score.reason.startswith(f"line {line}:")
    assert lean_line == 3 - 3  # the header's line, and the two of the barrier


def test_an_error_counts_whatever_the_exit_status(told: Told) -> None:
    assert told(messages=[ERROR], status=0, olean={}).evidence["code"] == "error"


def test_a_proof_that_goes_on_with_a_command_is_said_to(told: Told) -> None:
    score = told("by\n  exact answered\ndef more := 1", messages=[ERROR], status=1)
    assert score.evidence["escape_line"] == 3


def test_an_exit_status_counts_whatever_the_messages(told: Told) -> None:
    assert told(messages=[], status=1, olean={}).evidence["code"] == "error"


def test_who_leaves_early_has_proved_nothing(told: Told) -> None:
    score = told(status=0)  # as `IO.Process.exit 0` does: no error, and no compiled file
    assert (score.value, score.evidence["code"]) == (0.0, "no_olean")


@pytest.mark.parametrize(
    ("compare", "code"),
    [
        ({"code": "type", "reason": "another"}, "statement_changed"),
        ({"code": "kind", "reason": "a definition"}, "statement_changed"),
        ({"code": "missing", "reason": "none"}, "statement_changed"),
        ({"code": "statement_constant", "reason": "Small"}, "statement_changed"),
        ({"code": "axiom", "reason": "cheat", "foreign": ["cheat"]}, "axiom"),
        ({"code": "axiom", "reason": "s", "foreign": ["sorryAx"], "sorry": True}, "sorry"),
        ({"code": "unsafe", "reason": "unsafe"}, "unsafe"),
    ],
)
def test_what_the_comparison_finds_is_a_rejection(
    told: Told, compare: dict[str, Any], code: str
) -> None:
    score = told(olean={"compare": compare})
    assert (score.value, score.evidence["code"], score.reason) == (0.0, code, compare["reason"])


@pytest.mark.parametrize(
    "answer",
    [
        {"raw": ["libc++abi: terminating due to uncaught exception: std::bad_alloc"], "status": 1},
        {"raw": ["INTERNAL PANIC: failed to create thread"], "status": 1},
        {"raw": ["incompatible header"], "status": 1},
        {"signal": int(signal.SIGKILL)},
    ],
    ids=["bad_alloc", "thread", "header", "killed"],
)
def test_a_failure_of_the_machine_is_no_zero(told: Told, answer: dict[str, Any]) -> None:
    score = told(**answer)
    assert (score.value, score.verdict, score.evidence["code"]) == (None, "unjudged", "lean_failed")


@pytest.mark.parametrize("line", [1, 2, 3], ids=["statement", "by", "proof"])
def test_words_of_a_failure_in_a_message_about_the_proof_are_the_proofs(
    told: Told, line: int
) -> None:
    place = {"line": line, "column": 0}
    forged = {**ERROR, "pos": place, "data": "unsolved goals\n«failed to create thread» : 1 = 1"}
    assert told(messages=[forged], status=1).value == 0.0


@pytest.mark.parametrize("end", ["\u2028", "\x85"])
def test_only_a_line_feed_ends_a_message(told: Told, end: str) -> None:
    forged = json.dumps({**ERROR, "data": f"{end}failed to create thread{end}"}, ensure_ascii=False)
    score = told(raw=[forged], status=1)
    assert (score.value, score.evidence["messages"][0]["severity"]) == (0.0, "error")


def test_a_missing_import_is_the_machines_lack_and_no_bad_spec(folder: Path) -> None:
    lost = {"severity": "error", "data": "unknown module prefix 'Mathlib'", "pos": {"line": 1}}
    tell(folder, [{"marker": "import Mathlib", "messages": [lost], "status": 1}])
    score = rewards.score("by simp", {**SPEC, "header": "import Mathlib\n"})
    assert (score.value, "unknown module prefix" in score.reason) == (None, True)


def test_a_stack_that_overflows_is_the_proofs_fault(told: Told) -> None:
    said = ["Stack overflow detected. Aborting."]
    assert told(raw=said, signal=int(signal.SIGABRT)).evidence["code"] == "error"


def test_a_proof_that_always_crashes_lean_is_at_fault(told: Told) -> None:
    score = told(signal=int(signal.SIGSEGV))
    assert (score.value, score.evidence["code"]) == (0.0, "error")
    assert "signal 11" in score.reason


def test_a_lean_that_crashes_on_the_bare_statement_too_is_no_zero(told: Told, folder: Path) -> None:
    told(olean={})  # the target is compiled
    tell(folder, [{"marker": "", "signal": int(signal.SIGSEGV)}])
    assert rewards.score("by crashes", SPEC).value is None


def test_an_uncaught_exception_about_the_depth_of_a_proof_is_the_proofs_fault(told: Told) -> None:
    said = ["uncaught exception of type lean::throwable: deep recursion was detected at 'x'"]
    assert told(raw=said, signal=int(signal.SIGABRT)).evidence["code"] == "error"


@pytest.mark.parametrize("how", ["spin_s", "sleep_s"])
def test_an_elaboration_that_hangs_ends_with_its_children(
    folder: Path, told: Told, how: str
) -> None:
    told(olean={})  # the target, whose time is not meant
    started = time.monotonic()
    score = told(spec={**SPEC, "timeout_s": 1.5}, fork=True, **{how: 60})
    assert (score.value, score.verdict) == (0.0, Verdict.TIMEOUT)
    assert time.monotonic() - started < 3 * 1.5 + 2  # one that waits for a core has more time
    assert not _leans(folder)


def test_an_elaboration_that_eats_memory_is_ended(folder: Path, told: Told) -> None:
    lean_machine().workshop().process.memory_mb = 256
    try:
        score = told(eat_mb=2048, fork=True, olean={})
    finally:
        lean_machine().workshop().process.memory_mb = 8192
    assert (score.value, score.verdict, score.evidence["code"]) == (0.0, "limit", "memory")
    assert not _leans(folder)


def test_a_partial_proof_is_paid_only_if_the_spec_says_so(told: Told) -> None:
    found = {"code": "axiom", "reason": "s", "foreign": ["sorryAx"], "sorry": True}
    proof = "by\n  have answered : 1 = 1 := by sorry\n  exact rest"
    paid = {**SPEC, "partial": 0.25}
    assert told(proof, paid, messages=[SORRY], olean={"compare": found}).value == 0.25
    assert told(proof, SPEC, messages=[SORRY], olean={"compare": found}).value == 0.0
    # Hidden, not alone, or all of the proof: nothing.
    assert told(proof, paid, messages=[], olean={"compare": found}).value == 0.0
    more = {**found, "foreign": ["cheat", "sorryAx"]}
    assert told(proof, paid, messages=[SORRY], olean={"compare": more}).value == 0.0
    only = {**found, "only_sorry": True}
    assert told(proof, paid, messages=[SORRY], olean={"compare": only}).value == 0.0


def test_a_partial_proof_is_no_correct_one(told: Told) -> None:
    found = {"code": "axiom", "reason": "s", "foreign": ["sorryAx"], "sorry": True}
    proof = "by\n  have answered : 1 = 1 := by sorry\n  exact rest"
    score = told(proof, {**SPEC, "partial": 0.25}, messages=[SORRY], olean={"compare": found})
    assert (score.verdict, score.outcome) == (Verdict.PARTIAL, 0.25)


def test_a_comparison_that_fails_is_the_machines(told: Told) -> None:
    assert told(olean={"compare": {"trouble": "no memory"}}).value is None


def test_a_forbidden_word_never_reaches_lean(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    told(olean={})
    monkeypatch.setattr(ProcessBackend, "compile", lambda *_: pytest.fail("it was compiled"))
    score = rewards.score("```lean4\naxiom cheat : False\n```", SPEC)
    assert (score.value, score.evidence["code"]) == (0.0, "forbidden_token")


def test_a_group_of_duplicates_is_compiled_once(
    told: Told, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(olean={})
    compile_file, calls = ProcessBackend.compile, []

    def counted(self: ProcessBackend, *given: Any) -> Any:
        calls.append(given)
        return compile_file(self, *given)

    monkeypatch.setattr(ProcessBackend, "compile", counted)
    machine = lean_machine()
    machine.verdicts.size = 100
    group = [f"{'So ' * n}```lean4\ntheorem target : 2 + 2 = 4 := answered\n```" for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        scores = list(pool.map(lambda text: rewards.score(text, SPEC), group))
    machine.verdicts.size = 0
    assert ([s.value for s in scores], len(calls)) == ([1.0] * 8, 1)


def test_a_statement_that_does_not_compile_is_refused_at_load(folder: Path) -> None:
    tell(folder, [{"marker": "nonsense", "messages": [ERROR], "status": 1}])
    with pytest.raises(SpecError, match="does not compile: line 3: no such thing"):
        rewards.compile_spec({**SPEC, "statement": "theorem target : nonsense"})


def test_a_name_that_the_statement_does_not_declare_is_refused_at_load(folder: Path) -> None:
    tell(folder, [{"marker": "elsewhere", "olean": {"no_theorem": True}}])
    with pytest.raises(SpecError, match=r"no theorem of the name A\.elsewhere"):
        rewards.compile_spec(
            {**SPEC, "statement": "theorem elsewhere : 1 = 1", "name": "A.elsewhere"}
        )


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"statement": ""}, "'statement' is missing"),
        ({"statement": "def x := 1"}, "theorem or lemma"),
        ({"statement": "theorem t : 1 = 1 /- never closed"}, "cannot be read"),
        ({"backend": "lean-dojo"}, "takes 'file' and 'name'"),
        ({"file": "A.lean"}, "give its 'name'"),
        ({"partial": 0.5, "level": "messages"}, "needs a look at the compiled proof"),
        ({"partial": 1.0}, "less than 1"),
        ({"level": "axiom"}, "axioms"),
    ],
)
def test_a_spec_that_contradicts_itself_is_refused(
    folder: Path, fields: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(SpecError, match=complaint):
        rewards.compile_spec({**SPEC, **fields})


def test_without_lean_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    rewards.configure(lean="")
    score = rewards.score("by decide", SPEC)
    assert (score.value, score.evidence["code"]) == (None, "lean_missing")
    assert "REWARDS_LEAN" in score.reason


def test_without_lean_what_gives_messages_only_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    rewards.configure(lean="")
    for backend in ("repl", "kimina"):
        with pytest.raises(SpecError, match="messages can be forged"):
            rewards.compile_spec({**SPEC, "backend": backend})
        rewards.compile_spec({**SPEC, "backend": backend, "level": "messages"})


def _leans(folder: Path) -> list[bytes]:
    """Return the command lines of the Leans of a toolchain that are alive."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            found.append(folder.joinpath("cmdline").read_bytes())
    return [line for line in found if bytes(folder) in line and b"--json" in line]
