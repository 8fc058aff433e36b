"""Checks before a run: what is wrong with settings, rows or specs shows before the first step."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import rewards
from rewards.errors import ConfigurationError, RewardsError, SpecError
from rewards.machinery import machinery, usable_cores
from rewards.spec import CompiledSpec, Spec
from trainer.config import Config
from trainer.tasks import Row, Task
from trainer.tasks.rows import choose_rows

PROBES = 3
"""How many answers a verifier may fail to judge before a run is refused: one may meet a bad moment
of the machine. Nothing is remembered, so the next start asks anew."""

STAND_IN = "```\nx\n```"
"""What is judged where no right answer is known: code, so that it is tried and not only read."""


@dataclass(frozen=True)
class CheckedTask:
    """Rows of a run whose specs all compile, and the specs by row id."""

    train: list[Row]
    eval: list[Row]
    train_specs: dict[str, Any]
    eval_specs: dict[str, Any]


def check_task(config: Config, task: Task, *, ranks_here: int = 1) -> CheckedTask:
    """Set up the verifiers, compile every spec of the task, and see that answers can be judged.

    Args:
        config: The settings.
        task: The task.
        ranks_here: Ranks that share this machine's cores.

    Raises:
        RewardsError: If a verifier cannot be loaded, a spec is bad (the row is named), there are
            too few rows, or this machine lacks what a verifier needs.
    """
    for path in config.verifier:
        rewards.load(path)
    sandbox = None if config.sandbox == "auto" else config.sandbox
    workers = config.workers
    if ranks_here > 1:
        workers = max(1, (workers or machinery().num_workers) // ranks_here)
    if sandbox or workers:
        # "auto" leaves the choice to rewards, which also heeds the environment.
        rewards.configure(sandbox=sandbox, workers=workers)
    if config.prompts_per_step > len(task.train):
        raise ConfigurationError(
            f"prompts_per_step {config.prompts_per_step} is more than the {len(task.train)} "
            f"training rows of task {task.name!r}; lower it"
        )
    if config.eval_prompts and not task.test:
        raise ConfigurationError(
            f"task {task.name!r} has no held-out rows; give --eval-data, or --eval-prompts 0"
        )
    held_out = choose_rows(task.test, config.eval_prompts)
    compiled = _compile(task.train, "training"), _compile(held_out, "held-out")
    _check_judges(task, [pair for split in compiled for pair in split])
    return CheckedTask(
        task.train, held_out, *({row.id: row.spec for row, _ in s} for s in compiled)
    )


def _compile(rows: Sequence[Row], split: str) -> list[tuple[Row, CompiledSpec]]:
    """Compile the specs of a split."""
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise ConfigurationError(
                f"two {split} rows have the id {row.id!r}; ids name the random streams of samples "
                "and must differ"
            )
        seen.add(row.id)
    with ThreadPoolExecutor(usable_cores()) as pool:  # some ask a compiler, and wait for it
        compiled = list(zip(rows, pool.map(_compile_or_complain, rows), strict=True))
    bad = [f"{row.id!r}: {result}" for row, result in compiled if isinstance(result, RewardsError)]
    if bad:
        more = f" (and {len(bad) - 1} more rows)" if len(bad) > 1 else ""
        raise SpecError(f"bad spec in {split} row {bad[0]}{more}")
    return [(row, result) for row, result in compiled if isinstance(result, CompiledSpec)]


def _compile_or_complain(row: Row) -> CompiledSpec | RewardsError:
    try:
        return rewards.compile_spec(row.spec)
    except RewardsError as error:
        return error


def _check_judges(task: Task, compiled: Sequence[tuple[Row, CompiledSpec]]) -> None:
    """Have each verifier that needs a sandbox judge an answer, a right one where one is known.

    Raises:
        ConfigurationError: If one of them cannot judge any of the first few.
    """
    probes: dict[str, list[tuple[Row, Spec]]] = {}
    for row, whole in sorted(compiled, key=lambda pair: pair[0].gold is None):
        for part in whole.parts:
            if part.verifier.runs == "sandbox":
                probes.setdefault(part.verifier.name, []).append((row, part.spec))
    for rows in probes.values():
        for row, spec in rows[:PROBES]:
            answer = STAND_IN if row.gold is None else row.gold
            score = rewards.score_batch([answer], [spec], groups=[row.id])[0]
            if score.judged:
                break
        else:
            raise ConfigurationError(f"task {task.name!r} cannot be judged here: {score.reason}")


def _settings_from(suited: str | None, model: str) -> str:
    if suited is None:
        return "those of the task, where nothing else is given"
    if suited == model:
        return f"those of the task for the model {suited!r}, where nothing else is given"
    return f"the defaults; the task's own are for the model {suited!r} alone"


def describe_plan(config: Config, task: Task, model: str) -> list[tuple[str, str]]:
    """Say what a run would do, as (name, sentence) pairs.

    Args:
        config: The resolved settings.
        task: The loaded task.
        model: What is known of the model, e.g. its size.
    """
    per_step = config.prompts_per_step * config.group_size
    rows_seen = config.steps * config.prompts_per_step
    held_out = min(config.eval_prompts, len(task.test))
    between = max(0, config.steps - 1) // config.eval_every if config.eval_every else 0
    evals = 1 + between + (config.steps > 0)
    suited = task.settings.get("model")
    return [
        ("task", f"{task.name}: {len(task.train):,} training rows, {len(task.test):,} held out"),
        ("model", model),
        *([("settings", _settings_from(suited, config.model))] if task.settings else []),
        (
            "a step",
            f"{config.prompts_per_step} prompts x {config.group_size} = {per_step:,} completions, "
            f"at most {per_step * config.max_new_tokens:,} tokens",
        ),
        (
            "the run",
            f"{config.steps:,} steps, {config.steps * per_step:,} completions, "
            f"{rows_seen / len(task.train):.1f} passes over the training rows",
        ),
        (
            "an eval",
            f"{held_out} prompts x {config.eval_samples} = {held_out * config.eval_samples:,} "
            f"completions at temperature 1, {evals if held_out else 0} times",
        ),
        ("run folder", str(config.output_dir)),
    ]
