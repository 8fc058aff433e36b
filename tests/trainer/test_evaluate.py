from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewards
from rewards import Score
from tests.trainer.ranks import run_ranks
from trainer.config import Config
from trainer.distributed import World
from trainer.evaluate import answer_of, eval_metrics, evaluate, majority_at_k, pass_at_k
from trainer.rollout import Finished, FinishReason, Group, Prompt, Sample, Sampling
from trainer.scoring import ScoredGroup

RIGHT = Score(1.0, "correct", outcome=1.0)  # type: ignore[arg-type]
HALF = Score(0.5, "partial", outcome=0.5)  # type: ignore[arg-type]
WRONG = Score(0.0, "incorrect", outcome=0.0)  # type: ignore[arg-type]
UNJUDGED = Score.unjudged("the sandbox is down")


def group(*scores: Score) -> ScoredGroup:
    samples = tuple(
        Sample((5,) * (k + 1), (-0.5,) * (k + 1), "stop" if k else "length", f"text {k}")
        for k in range(len(scores))
    )
    return ScoredGroup(Group(Prompt("p", (3,), "ask"), samples), scores)


def said(answers: str, gold: str = "7") -> ScoredGroup:
    """Judge answers of one word each; "-" gives none, "?" cannot be judged."""
    spec = {"type": "math", "answer": gold}
    return group(
        *(
            UNJUDGED
            if answer == "?"
            else rewards.score(
                "I do not know.\nSorry." if answer == "-" else rf"\boxed{{{answer}}}", spec
            )
            for answer in answers.split()
        )
    )


# ---- pass@k -------------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_pass_at_k_is_the_share_of_the_choices_of_k_with_a_right_one(
    right: list[bool], k: int
) -> None:
    rate = pass_at_k([group(*(RIGHT if r else WRONG for r in right))], k)
    choices = list(itertools.combinations(right, k))
    assert rate == (pytest.approx(sum(map(any, choices)) / len(choices)) if choices else None)


def test_pass_at_k_is_the_mean_over_prompts() -> None:
    scored = [group(RIGHT, WRONG), group(WRONG, WRONG), group(RIGHT, RIGHT)]
    assert pass_at_k(scored, 2) == pytest.approx(2 / 3)


def test_pass_at_k_counts_only_what_is_wholly_right() -> None:
    assert pass_at_k([group(RIGHT, HALF, WRONG)], 1) == pytest.approx(1 / 3)


def test_pass_at_k_reads_the_outcome_and_not_the_shaped_reward() -> None:
    assert pass_at_k([group(RIGHT.replace(value=0.7))], 1) == 1.0


def test_the_unjudged_count_neither_way() -> None:
    assert pass_at_k([group(RIGHT, WRONG, UNJUDGED)], 1) == 0.5


def test_a_prompt_of_which_too_few_were_judged_is_left_out() -> None:
    scored = [group(RIGHT, WRONG), group(RIGHT, UNJUDGED)]
    assert (pass_at_k(scored, 1), pass_at_k(scored, 2)) == (0.75, 1.0)
    assert pass_at_k([group(RIGHT, UNJUDGED)], 2) is None


def test_the_ks_are_powers_of_two_up_to_the_number_of_samples() -> None:
    names = [name for name in eval_metrics([group(*[RIGHT] * 6)]) if "pass@" in name]
    assert names == ["eval/pass@1", "eval/pass@2", "eval/pass@4"]


# ---- majority@k ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "rate"),
    [
        ("7 7 3 4", 1.0),
        ("7 3 3 4", 0.0),
        ("7 3", 0.5),  # a tie
        ("7 3 4", pytest.approx(1 / 3)),
        ("7 7 3 3 4", 0.5),
        (r"7.0 \frac{14}{2} 3 3 4", 0.5),  # equal answers, written differently
        ("7 3.5 7/2 4", 0.0),
        ("7 - - -", 1.0),  # no answer, no vote
        ("- - - 3", 0.0),
    ],
)
def test_the_most_frequent_answer_decides(answers: str, rate: float) -> None:
    assert majority_at_k([said(answers)], 2) == rate


def test_a_prompt_that_nobody_answers_is_not_solved() -> None:
    assert majority_at_k([said("- -"), said("7 7")], 2) == 0.5


def test_a_majority_among_too_few_judged_is_left_out() -> None:
    assert majority_at_k([said("7 7 7"), said("3 3 ?")], 3) == 1.0


def test_without_extracted_answers_there_is_no_majority() -> None:
    assert majority_at_k([group(RIGHT, WRONG)], 2) is None
    assert "eval/maj@2" not in eval_metrics([group(RIGHT, WRONG)])


def test_the_answer_is_found_in_the_part_that_has_one() -> None:
    spec = [{"type": "format", "weight": 0.1}, {"type": "math", "answer": "7"}]
    score = rewards.score(r"<think>a</think><answer>14/2</answer>", spec)
    assert answer_of(score) == answer_of(rewards.score("<answer>7</answer>", spec)) == "7"
    assert answer_of(rewards.score("<answer>8</answer>", spec)) == "8"


# ---- the evaluation -----------------------------------------------------------------------------

Results = list[tuple[dict[str, float] | None, int]]
TEXTS = ["<answer>7</answer>", "<answer>3</answer>", "hm", "<answer>7</answer>"]
SPEC = [{"type": "math", "answer": "7", "weight": 0.9}, {"type": "format", "tags": ["answer"],
        "weight": 0.1}]  # fmt: skip
PROMPTS = [Prompt(f"p{i}", (3,) * (i + 1), "seven?") for i in range(5)]
SPECS: dict[str, Any] = {prompt.id: SPEC for prompt in PROMPTS}
CONFIG = Config(eval_samples=4, rollout_batch_size=4, max_new_tokens=9)


class Recital:
    """An engine that recites TEXTS, last first, starting one later for every prompt id."""

    def __init__(self, replica: int = 0, num_replicas: int = 1, *, leads: bool = True) -> None:
        self.replica, self.num_replicas, self.leads = replica, num_replicas, leads
        self.calls: list[tuple[list[str], Sampling]] = []

    def sync(self) -> None: ...

    def release(self) -> None: ...

    def close(self) -> None: ...

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[Finished]:
        self.calls.append(([prompt.id for prompt in prompts], sampling))
        for p, prompt in reversed(list(enumerate(prompts))):
            for k in range(sampling.num_samples):
                text = TEXTS[k % (1 + int(prompt.id[1:]) % 4)]
                reason: FinishReason = "length" if text == "hm" else "stop"
                yield Finished(p, k, Sample((5,) * (k + 1), (-0.5,) * (k + 1), reason, text))


def evaluation(
    world: World, engine: Recital | None = None, config: Config = CONFIG, give_up_after: int = 99
) -> tuple[dict[str, float] | None, int]:
    """Evaluate, and return the metrics without the time, and how often `stop` was asked."""
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return world.agree(asked > give_up_after and world.rank == 0)

    engine = engine or Recital(world.rank, world.size)
    metrics = evaluate(engine, PROMPTS, SPECS, config, world=world, stop=stop)
    if metrics is not None:
        assert metrics.pop("time/eval_s") >= 0
    return metrics, asked


def test_an_evaluation_tells_pass_and_majority_rewards_lengths_and_truncation() -> None:
    metrics, _ = evaluation(World())
    # The right ones of four are 4, 2, 2, 2 and 4; of p1 half say 7 and half 3.
    assert metrics == {
        "eval/pass@1": pytest.approx(14 / 20),
        "eval/pass@2": pytest.approx((2 + 3 * (1 - 1 / 6)) / 5),
        "eval/pass@4": 1.0,
        "eval/maj@4": pytest.approx(4.5 / 5),
        "eval/verify/unjudged_frac": 0.0,
        "eval/reward/mean": pytest.approx((0.9 * 14 + 0.1 * 18) / 20),
        "eval/outcome/mean": pytest.approx(14 / 20),
        "eval/reward/math/mean": pytest.approx(14 / 20),
        "eval/reward/format/mean": pytest.approx(18 / 20),
        "eval/length_mean": 2.5,
        "eval/truncated_frac": pytest.approx(2 / 20),
    }


def test_an_evaluation_samples_by_its_own_settings_and_always_from_the_same_stream() -> None:
    engine = Recital()
    config = Config(
        eval_samples=4, eval_temperature=0.6, eval_top_p=0.95, temperature=1.3, group_size=16,
        max_new_tokens=9, seed=5,
    )  # fmt: skip
    evaluation(World(), engine, config)
    evaluation(World(), engine, config)
    sampling = Sampling(4, 9, "5/eval", temperature=0.6, top_p=0.95)
    assert [call[1] for call in engine.calls] == [sampling, sampling]


def test_an_evaluation_that_is_stopped_has_no_result() -> None:
    engine = Recital()
    assert evaluation(World(), engine, give_up_after=1) == (None, 2)
    assert [ids for ids, _ in engine.calls] == [["p0"], ["p1"]]


def _on_a_rank(world: World) -> Results:
    tensor_parallel = Recital(leads=world.is_main)
    return [
        evaluation(world),
        evaluation(world, give_up_after=1),
        evaluation(world, tensor_parallel),
    ]


@pytest.fixture(scope="module")
def two_ranks() -> list[Results]:
    return run_ranks(_on_a_rank)


def test_all_ranks_have_the_metrics_that_one_alone_would_have(
    two_ranks: list[Results],
) -> None:
    # Five prompts, one a rank and batch: the last batch of the second rank is empty.
    alone, _ = evaluation(World())
    assert [results[0] for results in two_ranks] == [(alone, 3), (alone, 3)]


def test_all_ranks_stop_together(
    two_ranks: list[Results],
) -> None:
    assert [results[1] for results in two_ranks] == [(None, 2), (None, 2)]


def test_ranks_of_one_replica_count_each_completion_once(
    two_ranks: list[Results],
) -> None:
    assert [results[2] for results in two_ranks] == [evaluation(World())] * 2
