from __future__ import annotations

import multiprocessing
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rewards
from rewards import Completion, ConfigurationError, Score, SpecError

Python = Callable[..., subprocess.CompletedProcess[str]]
FOUR = {"type": "math", "answer": "4"}


class CountSpec(rewards.Spec):
    type: Literal["counted"] = "counted"


calls: list[str] = []


@rewards.verifier(name="counted", spec=CountSpec)
def counted(completion: Completion, spec: CountSpec) -> Score:
    calls.append(completion.text)
    return Score.correct(text=completion.text)


class RankSpec(rewards.Spec):
    type: Literal["longest"] = "longest"


@rewards.verifier(name="longest", spec=RankSpec, group=True)
def longest(completions: list[Completion], spec: RankSpec) -> list[Score]:
    best = max(len(c.text) for c in completions)
    return [Score.fraction(float(len(c.text) == best)) for c in completions]


def test_equal_pairs_are_judged_once() -> None:
    calls.clear()
    rewards.score_batch(["once upon", "once upon", "a time"], {"type": "counted"})
    assert sorted(calls) == ["a time", "once upon"]


def test_a_verdict_is_remembered_between_calls() -> None:
    calls.clear()
    for _ in range(2):
        rewards.score("remember me", {"type": "counted"})
    assert calls == ["remember me"]


def test_a_different_length_is_a_different_pair() -> None:
    spec = {"type": "length", "budget": 1}
    values = [s.value for s in rewards.score_batch(["x", "x"], [spec, spec], num_tokens=[1, 11])]
    assert values == [0.0, -0.01]


def test_weight_and_name_do_not_leak_from_the_cache() -> None:
    one = rewards.score("4", [FOUR])
    two = rewards.score("4", [{**FOUR, "weight": 2.0, "name": "sum"}])
    assert (one.value, two.value, list(two.parts)) == (1.0, 2.0, ["sum"])


def test_no_completions_are_no_scores() -> None:
    assert rewards.score_batch([], []) == []


def test_one_spec_serves_all() -> None:
    assert [s.value for s in rewards.score_batch(["4", "5"], FOUR)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"specs": [FOUR]}, "1 specs for 2"),
        ({"specs": FOUR, "num_tokens": [1]}, "1 num_tokens for 2"),
        ({"specs": FOUR, "truncated": [True]}, "1 truncated for 2"),
        ({"specs": FOUR, "prompts": ["a"]}, "1 prompts for 2"),
        ({"specs": FOUR, "groups": ["a"]}, "1 groups for 2"),
    ],
)
def test_lengths_that_differ_are_refused(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        rewards.score_batch(["4", "5"], **arguments)  # type: ignore[arg-type]


def test_a_single_text_is_not_a_batch() -> None:
    with pytest.raises(ConfigurationError, match=r"rewards\.score"):
        rewards.score_batch("4", FOUR)


def test_group_verifiers_see_their_group_only() -> None:
    values = rewards.score_batch(
        ["a", "ccc", "bb", "d"], {"type": "longest"}, groups=["g", "h", "g", "h"]
    )
    assert [s.value for s in values] == [0.0, 1.0, 1.0, 0.0]


def test_group_verifiers_need_groups() -> None:
    with pytest.raises(SpecError, match="groups="):
        rewards.score("a", {"type": "longest"})


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("dies", "died"),
        ("raises", "ZeroDivisionError: by design"),
        ("hangs", "no answer within"),
        ("spins", "0.5 s of CPU time"),
        ("lies", "Score"),
    ],
)
def test_a_broken_verifier_is_unjudged_never_zero(name: str, reason: str) -> None:
    score = rewards.score("x", {"type": name})
    assert score.value is None
    assert reason in score.reason


@pytest.mark.usefixtures("hostile")
def test_the_traceback_is_in_the_evidence() -> None:
    assert "hostile.py" in rewards.score("x", {"type": "raises"}).evidence["traceback"]


@pytest.mark.usefixtures("hostile")
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(["a", "b", "c", "d", "die", "raise"]), max_size=12))
def test_order_and_length_hold_whatever_crashes(texts: list[str]) -> None:
    scores = rewards.score_batch(texts, {"type": "picky"})
    assert len(scores) == len(texts)
    for text, score in zip(texts, scores, strict=True):
        if text in ("die", "raise"):
            assert score.value is None
        else:
            assert score.evidence["text"] == text


@pytest.mark.usefixtures("hostile")
def test_one_hanging_row_costs_only_itself() -> None:
    started = time.monotonic()
    values = [s.value for s in rewards.score_batch(["u", "hang", "v"], {"type": "picky"})]
    assert values == [1.0, None, 1.0]
    assert time.monotonic() - started < 30


def test_scoring_works_from_another_thread() -> None:
    found: list[float | None] = []
    texts = ["4", "\\boxed{2+2}", "5"]
    thread = threading.Thread(
        target=lambda: found.extend(s.value for s in rewards.score_batch(texts, FOUR))
    )
    thread.start()
    thread.join(60)
    assert found == [1.0, 1.0, 0.0]


def test_many_threads_can_score_at_once() -> None:
    found: list[list[float | None]] = []

    def work(n: int) -> None:
        texts = [f"\\boxed{{{n}+1}}", f"\\boxed{{{n}}}"]
        spec = {"type": "math", "answer": n + 1}
        found.append([s.value for s in rewards.score_batch(texts, spec)])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [[1.0, 0.0]] * 16


def _score_in_child(queue: multiprocessing.SimpleQueue[list[float | None]]) -> None:
    queue.put([s.value for s in rewards.score_batch(["\\boxed{2+2}", "5"], FOUR)])


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_scoring_works_in_a_daemonic_process(method: str) -> None:
    context = multiprocessing.get_context(method)
    queue: multiprocessing.SimpleQueue[list[float | None]] = context.SimpleQueue()
    process = context.Process(target=_score_in_child, args=(queue,), daemon=True)
    process.start()
    try:
        assert queue.get() == [1.0, 0.0]
    finally:
        process.join(30)


SCRIPT = """
import rewards
spec = {"type": "math", "answer": "4"}
print([s.value for s in rewards.score_batch(["\\\\boxed{2+2}", "5"], spec)])
"""


def test_scoring_works_in_a_script_from_standard_input(python: Python) -> None:
    done = python("-", stdin=SCRIPT)
    assert (done.stdout, done.stderr) == ("[1.0, 0.0]\n", "")


def test_scoring_works_in_a_script_without_a_main_guard(python: Python, tmp_path: Path) -> None:
    (tmp_path / "unguarded.py").write_text(SCRIPT)
    done = python("unguarded.py")
    assert (done.stdout, done.stderr) == ("[1.0, 0.0]\n", "")


MAIN_VERIFIER = """
from typing import Literal
import rewards

class ShoutSpec(rewards.Spec):
    type: Literal["shout"] = "shout"

@rewards.verifier(name="shout", spec=ShoutSpec, runs="worker")
def shout(completion, spec):
    return rewards.Score.fraction(float(completion.text.isupper()))

print([s.value for s in rewards.score_batch(["HI", "hi"], {"type": "shout"})])
"""


@pytest.mark.parametrize("how", ["-", "shout_script.py"])
def test_a_verifier_of_the_main_script_runs_in_a_worker(
    python: Python, tmp_path: Path, how: str
) -> None:
    (tmp_path / "shout_script.py").write_text(MAIN_VERIFIER)
    done = python(how, stdin=MAIN_VERIFIER)
    assert (done.stdout, done.stderr) == ("[1.0, 0.0]\n", "")


CHILD_OF_MAIN = """
import multiprocessing
from typing import Literal
import rewards

class WhisperSpec(rewards.Spec):
    type: Literal["whisper"] = "whisper"

@rewards.verifier(name="whisper", spec=WhisperSpec, runs="worker")
def whisper(completion, spec):
    return rewards.Score.fraction(float(completion.text.islower()))

def work():
    print([s.value for s in rewards.score_batch(["HI", "hi"], {"type": "whisper"})], flush=True)

if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=work, daemon=True)
    child.start()
    child.join()
"""


def test_a_verifier_of_the_main_script_runs_in_a_child_process(
    python: Python, tmp_path: Path
) -> None:
    (tmp_path / "parent_script.py").write_text(CHILD_OF_MAIN)
    done = python("parent_script.py")
    assert (done.stdout, done.stderr) == ("[0.0, 1.0]\n", "")


def test_a_value_outside_the_range_of_its_spec_is_unjudged() -> None:
    class BoundedSpec(rewards.Spec):
        type: str = "bounded_test"
        value: float = 0.0

    @rewards.verifier(name="bounded_test", spec=BoundedSpec, role="shaping")
    def bounded(completion: rewards.Completion, spec: BoundedSpec) -> rewards.Score:
        return rewards.Score(spec.value, rewards.Verdict.CORRECT)

    assert rewards.score("x", {"type": "bounded_test", "value": 1.0}).value == 1.0
    score = rewards.score("x", {"type": "bounded_test", "value": 7.0})
    assert score.value is None
    assert "outside of 0 to 1" in score.reason


def test_a_verifier_that_is_declared_anew_replaces_the_old_one() -> None:
    class AnewSpec(rewards.Spec):
        type: str = "anew_test"

    def declare(value: float) -> None:
        @rewards.verifier(name="anew_test", spec=AnewSpec)
        def anew(completion: rewards.Completion, spec: AnewSpec) -> rewards.Score:
            return rewards.Score.fraction(value)

    declare(0.0)
    assert rewards.score("x", {"type": "anew_test"}).value == 0.0
    declare(1.0)
    assert rewards.score("x", {"type": "anew_test"}).value == 1.0


def test_a_plugin_that_exits_is_unjudged() -> None:
    class ExitSpec(rewards.Spec):
        type: str = "exit_test"

    @rewards.verifier(name="exit_test", spec=ExitSpec)
    def leave(completion: rewards.Completion, spec: ExitSpec) -> rewards.Score:
        raise SystemExit(3)

    assert rewards.score("x", {"type": "exit_test"}).value is None


@pytest.mark.parametrize(
    "raw", [{"type": "math", 1: 2}, "[" * 100_000, {"type": "math", "answer": {1, 2}}]
)
def test_specs_that_are_no_plain_data_are_bad_specs(raw: object) -> None:
    with pytest.raises(rewards.SpecError):
        rewards.score("x", raw)


def test_a_composition_may_hold_spec_objects() -> None:
    from rewards.verifiers.code import CodeSpec

    spec = CodeSpec.model_validate(
        {"type": "code", "entry_point": "f", "tests": [{"args": [], "expected": None}]}
    )
    assert rewards.score("def f(): return None", [spec]).value == 1.0


def test_configuring_leaves_a_sandbox_of_ones_own_open() -> None:
    import sandbox

    spec = {"type": "code", "tests": [{"input": "", "output": "1"}]}
    with sandbox.open_sandbox(slots=1) as own:
        rewards.configure(sandbox=own, cache=0)
        assert rewards.score("print(1)", spec).value == 1.0
        rewards.configure(workers=1)
        assert rewards.score("print(1)", spec).value == 1.0
        rewards.configure(sandbox="auto", workers=2, cache=4096)
