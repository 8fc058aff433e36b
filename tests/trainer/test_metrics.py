from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

import rewards
from rewards import Score
from trainer.compare import Compared, compare_groups
from trainer.config import Config
from trainer.metrics import (
    JsonlFile,
    drop_non_finite,
    rollout_metrics,
    sample_records,
    score_metrics,
)
from trainer.policy import Policy
from trainer.rollout import Group, Prompt, Sample
from trainer.scoring import ScoredGroup
from trainer.tasks.rows import read_jsonl

RIGHT = Score(1.0, "correct", outcome=1.0)  # type: ignore[arg-type]
HALF = Score(0.5, "partial", outcome=0.5)  # type: ignore[arg-type]
WRONG = Score(0.0, "incorrect", outcome=0.0)  # type: ignore[arg-type]
UNJUDGED = Score.unjudged("the sandbox is down")


def group(*scores: Score, length: int = 2) -> ScoredGroup:
    samples = tuple(
        Sample((5,) * length, (-0.5,) * length, "stop" if k else "length", f"text {k}")
        for k in range(len(scores))
    )
    return ScoredGroup(Group(Prompt("p", (3,), "ask"), samples), scores)


def compare(scored: list[ScoredGroup]) -> Compared:
    return compare_groups(cast(Policy, None), scored, Config())  # asked for KL and steps alone


def test_unjudged_completions_enter_no_mean() -> None:
    metrics = score_metrics([group(RIGHT, UNJUDGED, RIGHT)])
    assert metrics["reward/mean"] == metrics["outcome/mean"] == 1.0
    assert metrics["verify/unjudged_frac"] == pytest.approx(1 / 3)


def test_where_nothing_is_judged_there_is_no_mean() -> None:
    assert score_metrics([group(UNJUDGED)]) == {"verify/unjudged_frac": 1.0}


def test_openrlhf_1219_a_reward_of_zero_counts() -> None:
    # OpenRLHF 1219: a score of 0.0 was taken for a missing one.
    assert score_metrics([group(WRONG, RIGHT)])["reward/mean"] == 0.5


def test_parts_have_their_own_means() -> None:
    whole = RIGHT.replace(parts={"code": HALF, "length": UNJUDGED})
    metrics = score_metrics([group(whole, whole)])
    assert metrics["reward/code/mean"] == 0.5
    assert "reward/length/mean" not in metrics


def test_trl_5353_the_reward_logged_is_the_weighted_one() -> None:
    # trl 5353: the mean that was logged left out the weights that the gradient had.
    spec = [
        {"type": "format", "tags": ["answer"], "weight": 0.5},
        {"type": "math", "answer": "2", "weight": 2.0},
    ]
    score = rewards.score("<answer>2</answer>", spec)
    metrics = score_metrics([group(score, score)])
    assert metrics["reward/mean"] == 2.5
    assert metrics["reward/format/mean"] == metrics["reward/math/mean"] == 1.0


def test_trl_5242_what_is_learned_from_are_the_ids_that_were_sampled() -> None:
    # trl 5242, 5330: text that was encoded again came back as other ids.
    scored = [group(RIGHT, WRONG)]
    examples = compare(scored).examples
    assert [e.sample for e in examples] == list(scored[0].group.samples)
    assert all(e.sample.ids == (5, 5) for e in examples)  # their text is "text 0", "text 1"


def test_rollout_metrics_describe_lengths_and_spread() -> None:
    scored = [group(RIGHT, WRONG), group(RIGHT, RIGHT, length=4)]
    metrics = rollout_metrics(scored, compare(scored))
    assert metrics["completions/length_mean"] == 3.0
    assert metrics["completions/truncated_frac"] == 0.5
    assert metrics["completions/unique_frac"] == 0.5
    assert metrics["groups/zero_variance_frac"] == 0.5
    assert metrics["entropy"] == pytest.approx(0.5)
    assert metrics["advantages/abs_mean"] == pytest.approx(1.0, rel=1e-5)


def test_a_sample_record_says_why_it_got_what_it_got() -> None:
    scored = [group(RIGHT, UNJUDGED, WRONG)]
    first, second, third = sample_records(7, scored, compare(scored))
    assert (first["schema_version"], first["step"], first["group"]) == (1, 7, 0)
    assert (first["prompt"], first["completion"]) == ("ask", "text 0")
    assert (first["verdict"], first["finish_reason"], first["num_tokens"]) == (
        "correct",
        "length",
        2,
    )
    assert first["advantage"] == pytest.approx(1.0, rel=1e-5)
    assert (second["advantage"], second["reason"]) == (None, "the sandbox is down")
    assert third["score"]["value"] == 0.0


def test_sample_records_are_json() -> None:
    scored = [group(RIGHT.replace(evidence={"odd": {1, 2}}), WRONG)]
    for record in sample_records(1, scored, compare(scored)):
        json.dumps(record, default=repr)


def test_what_is_not_finite_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert drop_non_finite({"step": 3, "kl": float("nan"), "loss": 1.0}) == {"step": 3, "loss": 1.0}
    assert "step 3: not finite, left out: kl" in caplog.text


def test_a_file_is_cut_to_its_checkpoint_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    file = JsonlFile(path)
    file.append({"step": 1})
    size = file.sync()
    file.append({"step": 2})
    file.close()
    again = JsonlFile(path, size=size)
    again.append({"step": "two"})
    again.close()
    assert read_jsonl(path) == [{"step": 1}, {"step": "two"}]


def test_a_file_that_lost_lines_goes_on_after_its_last_whole_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"step": 1}\n{"st')
    file = JsonlFile(path, size=1000)
    file.append({"step": 2})
    file.close()
    assert read_jsonl(path) == [{"step": 1}, {"step": 2}]
    assert "has lost lines" in caplog.text


def test_any_text_a_model_writes_can_be_logged(tmp_path: Path) -> None:
    file = JsonlFile(tmp_path / "x.jsonl")
    file.append({"completion": "\ud800 \u2028 \x00"})
    file.close()
    assert len((tmp_path / "x.jsonl").read_text().split("\n")) == 2


def test_groups_that_differ_by_shaping_alone_are_counted() -> None:
    long_but_right = Score(0.8, "correct", outcome=1.0)  # type: ignore[arg-type]
    scored = [
        group(RIGHT, long_but_right),
        group(RIGHT, WRONG),
        group(RIGHT, RIGHT),
        group(RIGHT, long_but_right.replace(outcome=None)),
    ]
    metrics = rollout_metrics(scored, compare(scored))
    assert metrics["groups/shaping_only_frac"] == 0.25


def test_a_group_without_outcomes_is_not_called_shaping_alone() -> None:
    scored = [group(RIGHT.replace(outcome=None), WRONG.replace(outcome=None))]
    metrics = rollout_metrics(scored, compare(scored))
    assert metrics["groups/shaping_only_frac"] == 0.0
