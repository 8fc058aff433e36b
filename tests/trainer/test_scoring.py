from __future__ import annotations

import time
from contextlib import closing

import pytest

import rewards
from trainer.distributed import World
from trainer.rollout import Finished, Prompt, Sample
from trainer.scoring import RolloutTimes, ScoredGroup, Scorer, _combine

SLOW = '''
"""Takes its time, and pays for "a"."""
import time
import rewards


class SlowSpec(rewards.Spec):
    type: str = "slow_a"
    seconds: float = 0.0


@rewards.verifier(name="slow_a", spec=SlowSpec)
def slow_a(completion, spec):
    time.sleep(spec.seconds)
    return rewards.Score.fraction(float(completion.text == "a"), "read")


class RankSpec(rewards.Spec):
    type: str = "longest_member"


@rewards.verifier(name="longest_member", spec=RankSpec, group=True)
def longest_member(completions, spec):
    most = max(len(c.text) for c in completions)
    return [rewards.Score.fraction(float(len(c.text) == most), "compared") for c in completions]
'''


@pytest.fixture(scope="module", autouse=True)
def _plugins(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("plugin") / "slow_a.py"
    path.write_text(SLOW, encoding="utf-8")
    rewards.load(f"{path}:slow_a")
    rewards.load(f"{path}:longest_member")


PROMPTS = [Prompt("p", (3,), "p?"), Prompt("q", (4,), "q?")]


def finished(prompt: int, k: int, text: str) -> Finished:
    return Finished(prompt, k, Sample((5, 1), (-0.5, -0.1), "stop", text))


def test_scores_come_back_in_the_order_of_prompts_and_samples() -> None:
    specs = {"p": {"type": "slow_a"}, "q": {"type": "slow_a"}}
    with closing(Scorer(PROMPTS, specs)) as scorer:
        for prompt, k, text in ((1, 1, "b"), (0, 1, "a"), (1, 0, "a"), (0, 0, "c")):
            scorer.submit(finished(prompt, k, text))
        scored = scorer.collect()
    assert [g.group.prompt.id for g in scored] == ["p", "q"]
    assert [[s.text for s in g.group.samples] for g in scored] == [["c", "a"], ["a", "b"]]
    assert [[s.value for s in g.scores] for g in scored] == [[0, 1], [1, 0]]


def test_scoring_goes_on_while_others_are_sampled() -> None:
    specs = {"p": {"type": "slow_a", "seconds": 0.3}}
    with closing(Scorer(PROMPTS[:1], specs)) as scorer:
        scorer.submit(finished(0, 0, "a"))
        time.sleep(0.6)  # sampling of others
        hidden_s = scorer.busy_s
        started = time.perf_counter()
        scorer.collect()
        waited_s = time.perf_counter() - started
    assert hidden_s >= 0.25
    assert waited_s < 0.2


def test_a_verifier_that_compares_sees_the_whole_group() -> None:
    specs = {"p": {"type": "longest_member"}, "q": {"type": "slow_a"}}
    with closing(Scorer(PROMPTS, specs)) as scorer:
        for prompt, k, text in ((0, 1, "aaa"), (1, 0, "a"), (0, 0, "a")):
            scorer.submit(finished(prompt, k, text))
        scored = scorer.collect()
    assert [[s.value for s in g.scores] for g in scored] == [[0, 1], [1]]


def test_trl_6533_every_completion_has_a_score_of_its_own() -> None:
    # trl 6533, 6534: a list of rewards of the wrong length was spread over the batch.
    specs = {"p": {"type": "slow_a"}}
    with closing(Scorer(PROMPTS[:1], specs)) as scorer:
        for k in range(100):
            scorer.submit(finished(0, k, "a" if k % 3 else f"{k}"))
        (group,) = scorer.collect()
    assert [s.value for s in group.scores] == [float(k % 3 > 0) for k in range(100)]


def test_verl_5635_math_is_judged_off_the_main_thread() -> None:
    # verl 5635, 5839, open-r1 620: a grader with signal.alarm judges nothing there, silently.
    with closing(Scorer(PROMPTS[:1], {"p": {"type": "math", "answer": "1/2"}})) as scorer:
        for k, text in enumerate(("\\boxed{0.5}", "\\boxed{\\frac{2}{4}}", "\\boxed{2}")):
            scorer.submit(finished(0, k, text))
        (group,) = scorer.collect()
    assert [s.value for s in group.scores] == [1, 1, 0]


def test_a_mistake_in_a_spec_is_raised_where_it_is_waited_for() -> None:
    with pytest.raises(rewards.SpecError):
        Scorer(PROMPTS[:1], {"p": {"type": "slow_a", "typo": 1}})


def test_outcomes_leave_out_the_unjudged() -> None:
    scores = (
        rewards.Score(0.7, "correct", outcome=1.0),  # type: ignore[arg-type]
        rewards.Score.unjudged("down"),
        rewards.Score(-0.2, "partial"),  # type: ignore[arg-type]
    )
    samples = tuple(finished(0, k, "").sample for k in range(3))
    from trainer.rollout import Group

    assert ScoredGroup(Group(PROMPTS[0], samples), scores).outcomes == [1.0, -0.2]


def test_times_are_those_of_the_slowest_rank() -> None:
    times = _combine([(1.0, 0.5, 0.2), (2.0, 0.5, 0.3)])
    assert times == RolloutTimes(2.0, 0.5, 0.3, idle_s=0.5)
    assert World().gather(times) == [times]
