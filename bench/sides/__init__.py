"""Trainers side by side: what each is asked for, and what it did, in a process of its own.

`measure` starts `python -m bench.sides.NAME`, which reads a `Job`, trains, and writes an `Outcome`.
Nothing here imports torch: the other side runs in an environment of its own.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
JOB, OUTCOME, LOG = "job.json", "outcome.json", "log.txt"


@dataclass(frozen=True)
class Job:
    """A training run that any side can do; `options` are the side's own settings."""

    folder: str
    """Where the side may write."""
    model: str
    """A folder in Hugging Face layout."""
    rows: list[dict[str, Any]]
    """id, prompt and spec of each training row."""
    prompts_per_step: int
    group_size: int
    max_new_tokens: int
    learning_rate: float
    beta: float
    steps: int
    warmup_steps: int = 0
    budget_s: float = math.inf
    """Training ends with the first step that ends after so many seconds."""
    verifier: str | None = None
    """A verifier to load, as pkg.module:object."""
    seed: int = 0
    threads: int = 2
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    ends_s: list[float]
    """When each step ended, in seconds since training began."""
    rewards: list[float]
    lengths: list[float]
    """Mean completion length of each step, in tokens."""
    phases: dict[str, list[float]]
    """Seconds that each step spent in the phases that the side can tell apart."""
    loaded_mb: float
    """Resident memory when training began, the model being loaded."""
    peak_mb: float
    """The most that the process held at any time up to the end of the last step."""
    weights: str
    """The trained model, in Hugging Face layout."""
    versions: dict[str, str]

    @property
    def step_s(self) -> float:
        """Median wall time of a step from end to end, the first step aside."""
        return statistics.median(b - a for a, b in pairwise(self.ends_s))

    def phase_s(self, name: str) -> float:
        """Median seconds that a step spends in a phase, the first step aside."""
        return statistics.median(self.phases[name][1:])


class Clock:
    """Notes when steps end, and says when the time is up."""

    def __init__(self, budget_s: float) -> None:
        self._budget_s = budget_s
        self._ends_s: list[float] = []

    def start(self) -> None:
        """Take note that training begins, with everything loaded."""
        self._loaded_mb = _memory_mb("VmRSS")
        self._started = time.perf_counter()

    def step_ends(self) -> bool:
        """Take note that a step has ended; return whether it is the last."""
        self._ends_s.append(time.perf_counter() - self._started)
        self._peak_mb = _memory_mb("VmHWM")  # saving the model, which follows, is no part of a step
        return self._ends_s[-1] >= self._budget_s

    def outcome(self, *packages: str, **facts: Any) -> Outcome:
        """Put together what the clock and the side know."""
        return Outcome(
            ends_s=self._ends_s,
            loaded_mb=self._loaded_mb,
            peak_mb=self._peak_mb,
            versions={name: version(name) for name in packages},
            **facts,
        )


def _memory_mb(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def serve(train: Callable[[Job], Outcome]) -> None:
    """Do the job of the folder that the command line names; the end of a side's module."""
    folder = Path(sys.argv[1])
    outcome = train(Job(**json.loads((folder / JOB).read_text())))
    (folder / OUTCOME).write_text(json.dumps(asdict(outcome)))


def measure(side: str, job: Job, python: str = sys.executable) -> Outcome:
    """Run a job on a side, with the given interpreter.

    Raises:
        SystemExit: If the side fails, with the end of what it printed.
    """
    folder = Path(job.folder)
    folder.mkdir(parents=True)
    (folder / JOB).write_text(json.dumps(asdict(job)))
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment = os.environ | dict.fromkeys(names, str(job.threads)) | quiet
    with (folder / LOG).open("w") as log:
        done = subprocess.run(
            [python, "-m", f"bench.sides.{side}", job.folder],
            cwd=ROOT,
            env=environment | {"PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    if done.returncode:
        end = (folder / LOG).read_text().splitlines()[-15:]
        sys.exit("\n".join([f"{side} failed with status {done.returncode}:", *end]))
    return Outcome(**json.loads((folder / OUTCOME).read_text()))
