"""Our own trainer as a side of a comparison."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path

from bench.sides import Clock, Job, Outcome, serve
from trainer.config import Config, apply_settings
from trainer.loop import train as run
from trainer.report import SilentReporter
from trainer.tasks import Row, Task
from trainer.tasks.rows import read_jsonl


class Watch(SilentReporter):
    """Follows a training, and ends it as Ctrl-C would when its time is up."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def start(self, config: Config, folder: Path, step: int) -> None:
        """Start the clock: the model is loaded."""
        self.clock.start()

    def step(self, row: Mapping[str, float]) -> None:
        """Note the time; step 0 is no step."""
        if row["step"] and self.clock.step_ends():
            signal.raise_signal(signal.SIGINT)


def train(job: Job) -> Outcome:
    """Train as the job says."""
    rows = [Row(row["id"], row["prompt"], row["spec"]) for row in job.rows]
    watch = Watch(Clock(job.budget_s))
    folder = run(_settings(job), Task("bench", rows, []), watch).folder
    steps = [row for row in read_jsonl(folder / "metrics.jsonl") if row["step"]]
    phases = [name for name in steps[-1] if name.startswith("time/") and name != "time/step_s"]
    checkpoints = folder / "checkpoints"
    return watch.clock.outcome(
        *("torch", "transformers"),
        rewards=[row["reward/mean"] for row in steps],
        lengths=[row["completions/length_mean"] for row in steps],
        phases={name[5:-2]: [row.get(name, 0.0) for row in steps] for name in phases},
        weights=str(checkpoints / (checkpoints / "latest").read_text().strip()),
    )


def _settings(job: Job) -> Config:
    config = Config(
        task="jsonl",
        model=job.model,
        output_dir=str(Path(job.folder) / "run"),
        steps=job.steps,
        prompts_per_step=job.prompts_per_step,
        group_size=job.group_size,
        max_new_tokens=job.max_new_tokens,
        learning_rate=job.learning_rate,
        warmup_steps=job.warmup_steps,
        beta=job.beta,
        eval_every=0,
        eval_prompts=0,
        save_every=0,
        verifier=(job.verifier,) if job.verifier else (),
        seed=job.seed,
        device="cpu",
        dtype="float32",
    )
    return apply_settings(config, job.options, "options")


if __name__ == "__main__":
    serve(train)
