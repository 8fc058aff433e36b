"""What a person sees while a run goes on: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from trainer.config import Config
from trainer.curves import EVALS

EVAL = "eval/pass@1"


class Reporter(Protocol):
    """Told what happens in a run."""

    def start(self, config: Config, folder: Path, step: int) -> None:
        """Take note that steps after `step` are about to run."""
        ...

    def note(self, text: str) -> None:
        """Take note of what happens between steps."""
        ...

    def step(self, row: Mapping[str, float]) -> None:
        """Take the metrics of a step."""
        ...

    def close(self) -> None:
        """Give the terminal back, however the run ended; only `end` may follow."""
        ...

    def end(self, eval_start: float | None, eval_end: float | None) -> None:
        """Take note that the run is over."""
        ...


class SilentReporter:
    """Says nothing."""

    def start(self, config: Config, folder: Path, step: int) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""

    def step(self, row: Mapping[str, float]) -> None:
        """Ignore it."""

    def close(self) -> None:
        """Do nothing."""

    def end(self, eval_start: float | None, eval_end: float | None) -> None:
        """Ignore it."""


def open_reporter() -> Reporter:
    """Choose the live line where there is a terminal that can show it."""
    console = Console()
    return LiveReporter(console) if console.is_terminal else PlainReporter()


# Heading, metric, format: what fits into one line and says whether learning goes on.
_COLUMNS = (
    ("reward", "reward/mean", ".3f"),
    ("loss", "loss", "+.4f"),
    ("kl", "kl", ".4f"),
    ("len", "completions/length_mean", ".1f"),
    ("tok/s", "tokens_per_s", ",.0f"),
)


def summarise(row: Mapping[str, float]) -> str:
    """Write a step's most telling metrics in one line."""
    parts = [f"{head} {row[key]:{form}}" for head, key, form in _COLUMNS if key in row]
    if unjudged := row.get("verify/unjudged_frac", 0.0):
        parts.append(f"unjudged {unjudged:.0%}")
    return "  ".join(parts)


def summarise_eval(row: Mapping[str, float]) -> str:
    """Write pass@k and majority@k in one line, beginning with pass@1; "" if there was no eval."""
    rates = {k: v for k, v in row.items() if k.startswith(EVALS)}
    return "  ".join(
        f"{name if name == EVAL else name.removeprefix('eval/')} {rate:.3f}"
        for name, rate in rates.items()
    )


def final_lines(folder: Path, start: float | None, end: float | None) -> list[str]:
    """Write what a run has come to."""
    lines = []
    if start is not None and end is not None:
        lines.append(f"{EVAL}  {start:.3f} -> {end:.3f}")
    return [*lines, f"run folder   {folder}", f"curves       {folder / 'report.html'}"]


class PlainReporter:
    """Prints one line a step."""

    def __init__(self) -> None:
        self._last, self._first_step, self._folder = 0, 0, Path()
        self._started = time.monotonic()

    def start(self, config: Config, folder: Path, step: int) -> None:
        """Say where the run is."""
        self._last, self._first_step, self._folder = config.steps, step, folder
        self._started = time.monotonic()
        verb = f"resuming after step {step}" if step else "starting"
        self._print(f"{verb}: task {config.task}, model {config.model}, in {folder}")

    def note(self, text: str) -> None:
        """Ignore it: the next line tells the result."""

    def step(self, row: Mapping[str, float]) -> None:
        """Print the step."""
        step = int(row["step"])
        parts = [f"step {step}/{self._last}", summarise(row), summarise_eval(row)]
        if done := step - self._first_step:
            left = (time.monotonic() - self._started) / done * (self._last - step)
            parts.append(f"left {_duration(left)}")
        else:  # an eval before the first step, which tells nothing of the steps
            self._started = time.monotonic()
        self._print("  ".join(part for part in parts if part))

    def close(self) -> None:
        """Do nothing."""

    def end(self, eval_start: float | None, eval_end: float | None) -> None:
        """Say what the run has come to."""
        for line in final_lines(self._folder, eval_start, eval_end):
            self._print(line)

    @staticmethod
    def _print(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class LiveReporter:
    """Keeps a progress bar with the newest metrics; evals stay as lines above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[summary]}"),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=console,
            speed_estimate_period=3600,  # a step of a large model takes minutes
        )
        self._bar: TaskID | None = None
        self._folder = Path()

    def start(self, config: Config, folder: Path, step: int) -> None:
        """Show the bar."""
        self._folder = folder
        self._console.print(f"task {config.task}, model {config.model}, in {folder}")
        self._bar = self._progress.add_task(
            "training", total=config.steps, completed=step, summary=""
        )
        self._progress.start()

    def note(self, text: str) -> None:
        """Show it on the bar until the next step."""
        if self._bar is not None:
            self._progress.update(self._bar, description=text)

    def step(self, row: Mapping[str, float]) -> None:
        """Move the bar on."""
        if self._bar is None:
            return
        if evals := summarise_eval(row):
            self._progress.console.print(f"step {int(row['step'])}: {evals}")
        self._progress.update(
            self._bar,
            description="training",
            completed=int(row["step"]),
            summary=summarise(row),
        )

    def close(self) -> None:
        """Stop redrawing the bar; the cursor and the standard streams are as before."""
        self._progress.stop()

    def end(self, eval_start: float | None, eval_end: float | None) -> None:
        """Say what the run has come to."""
        for line in final_lines(self._folder, eval_start, eval_end):
            self._console.print(line, soft_wrap=True, highlight=False)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
