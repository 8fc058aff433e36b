from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from trainer import report
from trainer.config import Config
from trainer.curves import render
from trainer.loop import train
from trainer.report import LiveReporter, PlainReporter, summarise, summarise_eval
from trainer.scoring import UnjudgedError
from trainer.tasks import Task

ROW = {
    "step": 3, "reward/mean": 0.5, "loss": -0.01, "kl": 0.002, "completions/length_mean": 31.0,
    "tokens_per_s": 4321.0, "eval/pass@1": 0.75,
}  # fmt: skip


def test_a_summary_has_reward_loss_kl_length_and_speed() -> None:
    assert summarise(ROW) == "reward 0.500  loss -0.0100  kl 0.0020  len 31.0  tok/s 4,321"


def test_a_summary_names_what_could_not_be_judged() -> None:
    assert summarise({"step": 1, "verify/unjudged_frac": 1.0}) == "unjudged 100%"


def test_an_eval_line_has_pass_and_majority_in_order() -> None:
    row = ROW | {"eval/pass@4": 0.9, "eval/maj@4": 0.8, "eval/length_mean": 31.0}
    assert summarise_eval(row) == "eval/pass@1 0.750  pass@4 0.900  maj@4 0.800"
    assert summarise_eval({"step": 1}) == ""


def test_plain_lines_tell_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = PlainReporter()
    reporter.start(Config(steps=4), Path("outputs/x"), 2)
    reporter.step(ROW)
    reporter.end(0.25, 0.75)
    out = capsys.readouterr().out
    assert "step 3/4  reward 0.500" in out
    assert "left 0:00" in out
    assert "eval/pass@1  0.250 -> 0.750" in out
    assert "\x1b" not in out


def test_the_live_line_shows_steps_and_metrics() -> None:
    screen = io.StringIO()
    reporter = LiveReporter(Console(file=screen, force_terminal=True, width=140))
    reporter.start(Config(steps=4), Path("outputs/x"), 0)
    reporter.note("evaluating")
    reporter.step(ROW)
    reporter.close()
    reporter.end(0.25, 0.75)
    assert "3/4" in screen.getvalue()
    assert "reward 0.500" in screen.getvalue()
    assert "outputs/x" in screen.getvalue()


def test_the_time_left_counts_from_the_first_step_and_not_from_the_eval_before_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 0.0, 1000.0, 1010.0])  # made, start, the eval's row, the first step's row
    monkeypatch.setattr(report.time, "monotonic", lambda: next(clock))
    reporter = PlainReporter()
    reporter.start(Config(steps=4), Path("x"), 0)
    reporter.step({"step": 0, "eval/pass@1": 0.5})
    reporter.step({"step": 1})
    assert "left 0:30" in capsys.readouterr().out


def test_the_live_line_tells_the_time_left_of_slow_steps() -> None:
    reporter = LiveReporter(Console(file=io.StringIO(), force_terminal=True))
    now = 0.0
    reporter._progress.get_time = lambda: now
    reporter.start(Config(steps=4), Path("x"), 0)
    for step in (1, 2):
        now += 300
        reporter.step({"step": step})
    reporter.close()
    assert reporter._progress.tasks[0].time_remaining == 600


def test_a_run_that_fails_gives_the_terminal_back(config: Config, unjudgeable_task: Task) -> None:
    screen, streams = io.StringIO(), (sys.stdout, sys.stderr)
    with pytest.raises(UnjudgedError):
        train(config, unjudgeable_task, LiveReporter(Console(file=screen, force_terminal=True)))
    hidden, shown = screen.getvalue().rfind("\x1b[?25l"), screen.getvalue().rfind("\x1b[?25h")
    assert -1 < hidden < shown
    assert (sys.stdout, sys.stderr) == streams


def test_the_page_escapes_what_it_shows() -> None:
    page = render("<b>run", [ROW], "model = '<script>'")
    assert "<b>run" not in page
    assert "<script" not in page


@pytest.mark.parametrize("rows", [[], [{"step": 0}], [ROW], [{"step": 1, "loss": 0.0}] * 2])
def test_the_page_can_be_drawn_from_little(rows: list[dict[str, float]]) -> None:
    assert "</html>" in render("run", rows, "")


def test_a_curve_has_a_point_for_every_step() -> None:
    page = render("run", [{"step": s, "reward/mean": s / 10} for s in range(1, 8)], "")
    assert page.count("L") >= 6
    assert "reward 0.100 → 0.700" in page


def test_the_page_shows_evals_and_where_the_seconds_go() -> None:
    rows = [
        {
            "step": s,
            "eval/pass@1": 0.2,
            "eval/maj@4": 0.3,
            "time/rollout_s": 2.0,
            "time/idle_s": 1.0,
        }
        for s in (1, 2)
    ]
    page = render("run", rows, "")
    charts = [chart.partition("<svg")[0] for chart in page.split("<figcaption>")[1:]]
    assert [chart.partition("<")[0] for chart in charts] == ["eval", "where the seconds go"]
    assert "pass@1" in charts[0]
    assert "maj@4" in charts[0]
    assert "rollout" in charts[1]
    assert "score" not in charts[1]
