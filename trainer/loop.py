"""The training loop: group relative policy optimisation (DeepSeekMath, arXiv 2402.03300).

A step:

1. take the next prompts                                                        (`curriculum`)
2. sample G completions of each from the policy                                 (`rollout`)
3. ask the verifiers what each completion is worth, while others are sampled    (`scoring`)
4. compare each completion with the others of its group                         (`advantages`)
5. raise the probability of the better ones within a trust region               (`update`, `loss`)

Departures from the paper, each explained where it is made:

- strictly on-policy by default: one optimiser step on each rollout, so the clip is inactive until
  `epochs_per_rollout` or `minibatches` is raised                               (`update`)
- the reference stays the starting model; it is never replaced by the policy (the paper's outer
  loop)                                                                         (`policy`)
- groups without spread leave the loss; the unjudged leave their group          (`advantages`)
- one denominator for the whole optimiser step, over tokens by default          (`loss`)
- importance weights between what sampled and what is trained, where the two differ by rounding
                                                                                (`loss`)

With several ranks all of them run this loop. They sample and score their shares of the prompts and
then tell each other everything, so that all else is computed alike on each of them; the passes over
the model are shared again, and the first rank alone writes files.

Resuming equals never having stopped, bit for bit on a CPU: whatever the next step depends on is in
the checkpoint or is a function of (seed, step, prompt id, k).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from trainer.allocator import keep_freed_memory
from trainer.checkpoint import Checkpointer, discard_after, latest_checkpoint, load_checkpoint
from trainer.compare import compare_groups
from trainer.config import Config
from trainer.curriculum import open_order
from trainer.curves import write_report
from trainer.distributed import World, open_world
from trainer.evaluate import PASS_AT_1, evaluate
from trainer.interrupt import InterruptGuard
from trainer.loggers import check_logger
from trainer.metrics import (
    RunFiles,
    drop_non_finite,
    peak_memory_gb,
    rollout_metrics,
    sample_records,
)
from trainer.policy import Policy, learning_rate_at, load_policy
from trainer.preflight import CheckedTask, check_task
from trainer.prompts import encode_prompts
from trainer.report import Reporter, SilentReporter
from trainer.rollout import Prompt, RolloutEngine, Sampling
from trainer.rollout.engines import open_engine
from trainer.run_folder import RunFolder, check_free, prepare_folder
from trainer.scoring import (
    RolloutTimes,
    ScoredGroup,
    UnjudgedError,
    UnjudgedWatch,
    sample_and_score,
)
from trainer.tasks import Row, Task
from trainer.tasks.rows import read_jsonl
from trainer.update import DisagreementError, update_policy


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    folder: Path
    step: int
    """Steps taken, those before a resume included."""
    interrupted: bool
    """Stopped by Ctrl-C; a checkpoint is saved."""
    eval_start: float | None
    """eval/pass@1 before the first step."""
    eval_end: float | None
    """The newest eval/pass@1."""


def train(config: Config, task: Task, reporter: Reporter | None = None) -> RunResult:
    """Train as `config` says on `task`, and leave a run folder. Collective under torchrun.

    Args:
        config: The settings; `output_dir` must be set.
        task: Rows to train on and rows to evaluate on.
        reporter: Told what happens; nothing is printed without one.

    Raises:
        RewardsError: If settings, specs, model or folder are no good (before anything is written),
            or if nothing can be judged for several steps, or rollout and trainer disagree.
        OSError: If the disk is full.
    """
    world = open_world(config.validate().device)
    reporter = reporter if reporter and world.is_main else SilentReporter()
    # The ranks may have made up different names for it.
    config = replace(config, output_dir=world.gather(config.output_dir)[0])
    run = _Run.open(config, task, world, reporter)
    try:
        with InterruptGuard() as interrupt:
            interrupted = run.train(interrupt)
        evals = [row[PASS_AT_1] for row in read_jsonl(run.folder.metrics) if PASS_AT_1 in row]
    finally:
        run.close()
    result = RunResult(
        folder=run.folder.path,
        step=run.step,
        interrupted=interrupted,
        eval_start=evals[0] if evals else None,
        eval_end=evals[-1] if evals else None,
    )
    reporter.end(result.eval_start, result.eval_end)
    return result


class _Run:
    """Everything a run holds on to between steps."""

    def __init__(
        self,
        config: Config,
        folder: RunFolder,
        policy: Policy,
        engine: RolloutEngine,
        checked: CheckedTask,
        prompts: list[Prompt],
        eval_prompts: list[Prompt],
        reporter: Reporter,
        saved: tuple[int, dict[str, Any]] | None,
    ) -> None:
        self.config = config
        self.folder = folder
        self.policy, self.world = policy, policy.world
        self.engine = engine
        self.engine_is_ready = False
        self.prompts = prompts
        self.eval_prompts = eval_prompts
        self.train_specs, self.eval_specs = checked.train_specs, checked.eval_specs
        self.reporter = reporter
        self.order = open_order(config, len(prompts))
        self.watch = UnjudgedWatch()
        self.checkpointer = Checkpointer(folder.checkpoints, policy, keep=config.keep_checkpoints)
        self.step = 0
        self.saved = False
        # The metrics of a step whose eval is still to come. An eval that Ctrl-C ends is made anew
        # after the resume.
        self.pending: dict[str, float] | None = {"step": 0}
        sizes = self._restore(*saved) if saved else {}
        # The order of prompts as of the last whole step; a step that is given up comes again.
        self.cursor = self.order.state_dict()
        self.files = (
            RunFiles(config, folder, sizes.get("metrics", 0), sizes.get("samples", 0))
            if self.world.is_main
            else None
        )

    def train(self, interrupt: InterruptGuard) -> bool:
        """Run the remaining steps; return whether Ctrl-C ended them early."""
        # What is loaded now stays; with vLLM, each collection would look at a million objects.
        gc.collect()
        gc.freeze()
        self.reporter.start(self.config, self.folder.path, self.step)
        try:
            if self.pending is not None:
                self._finish_step(self.pending, interrupt)
            while self.step < self.config.steps and not self._stopped(interrupt):
                self._take_step(self.step + 1, interrupt)
                self.checkpointer.poll()
        except (UnjudgedError, DisagreementError):
            self._save(wait=True)  # the weights are still those of the last whole step
            raise
        self._save(wait=True)
        return self.step < self.config.steps or self.pending is not None

    def _take_step(self, step: int, interrupt: InterruptGuard) -> None:
        """Take one step, or leave everything as it was if Ctrl-C comes before the update."""
        config = self.config
        started = time.perf_counter()
        self._ready_engine()
        synced = time.perf_counter()
        scored, times, rounds = self._roll_out(step)
        if self._stopped(interrupt):
            return
        self.watch.see(scored)
        self.engine.release()
        self.engine_is_ready = False
        compared = compare_groups(self.policy, scored, config)
        learning_rate = learning_rate_at(step, config)
        update = update_policy(
            self.policy,
            compared.examples,
            config,
            learning_rate=learning_rate,
            shuffle=f"{config.seed}/{step}",
        )
        step_s = time.perf_counter() - started

        self.step, self.cursor, self.saved = step, self.order.state_dict(), False
        if self.files:
            self.files.samples.append(*sample_records(step, scored, compared))
        num_tokens = sum(len(s.ids) for group in scored for s in group.group.samples)
        row = {
            "step": step,
            **rollout_metrics(scored, compared),
            **update,
            **self.order.metrics(),
            "groups/rounds": rounds,
            "lr": learning_rate,
            "tokens_per_s": num_tokens / step_s,
            "tokens_per_s_per_gpu": num_tokens / step_s / self.world.size,
            "memory/peak_gb": max(self.world.gather(peak_memory_gb())),
            "time/sync_s": synced - started,
            **{f"time/{name}": value for name, value in asdict(times).items()},
            "time/step_s": step_s,
        }
        self._finish_step(row, interrupt)

    def _ready_engine(self) -> None:
        if not self.engine_is_ready:
            self.engine.sync()
            self.engine_is_ready = True

    def _roll_out(self, step: int) -> tuple[list[ScoredGroup], RolloutTimes, int]:
        """Sample and score the prompts of a step.

        With dynamic sampling (DAPO, arXiv 2503.14476, section 3.2) as many more prompts follow as
        there were groups without spread in correctness, a bounded number of times; then what there
        is must do.
        """
        config = self.config
        scored: list[ScoredGroup] = []
        times, rounds, missing = RolloutTimes(), 0, config.prompts_per_step
        self.order.begin_step()
        while missing and (indices := self.order.next_batch(missing)):
            new, took = sample_and_score(
                self.engine,
                [self.prompts[i] for i in indices],
                self.train_specs,
                Sampling(
                    num_samples=config.group_size,
                    max_new_tokens=config.max_new_tokens,
                    temperature=config.temperature,
                    stream=f"{config.seed}/{step}",
                ),
                self.world,
            )
            for index, group in zip(indices, new, strict=True):
                self.order.see(index, group.outcomes)
            scored, times, rounds = scored + new, times + took, rounds + 1
            missing -= sum(group.teaches(config.advantage_eps) for group in new)
            if not config.dynamic_sampling or rounds == config.max_sampling_rounds:
                break
        return scored, times, rounds

    def _finish_step(self, row: dict[str, float], interrupt: InterruptGuard) -> None:
        """Evaluate where that is due, and log; left pending if Ctrl-C ends the eval."""
        due = self._is_due(self.config.eval_every) or self.step in (0, self.config.steps)
        if due and self.eval_prompts:
            self.reporter.note("evaluating")
            self._ready_engine()
            metrics = evaluate(
                self.engine,
                self.eval_prompts,
                self.eval_specs,
                self.config,
                world=self.world,
                stop=lambda: self._stopped(interrupt),
            )
            if metrics is None:
                self.pending = row
                return
            row = row | metrics
        self.pending, self.saved = None, False
        row = drop_non_finite(row)
        if self.files:
            self.files.log(row)
        self.reporter.step(row)
        if self.step and self._is_due(self.config.save_every):
            self._save()

    def _is_due(self, every: int) -> bool:
        return every > 0 and self.step % every == 0

    def _stopped(self, interrupt: InterruptGuard) -> bool:
        """Say whether any rank was asked to stop, the same on all of them. Collective."""
        return self.world.agree(interrupt.requested)

    def _save(self, *, wait: bool = False) -> None:
        if not self.saved:
            state = {
                "order": self.cursor,
                "unjudged_steps": self.watch.steps,
                "pending": self.pending,
                "sizes": self.files.sync() if self.files else {},
            }
            self.checkpointer.save(self.step, state)
            self.saved = True
            if self.files:
                write_report(self.folder)
        if wait:
            self.checkpointer.wait()

    def _restore(self, step: int, state: dict[str, Any]) -> dict[str, int]:
        """Go back to a checkpoint; return how much of each file belongs to it."""
        self.step = step
        self.order.load_state_dict(state["order"])
        self.watch.steps = state["unjudged_steps"]
        self.pending = state["pending"]
        self.saved = True
        sizes: dict[str, int] = state["sizes"]
        return sizes

    def close(self) -> None:
        """Close what is open, whatever fails; vLLM late, for it takes the process group along."""
        with ExitStack() as stack:  # from the last to the first
            stack.callback(gc.unfreeze)
            stack.callback(self.world.close)
            stack.callback(self.engine.close)
            stack.callback(self.checkpointer.close)
            if self.files:
                stack.callback(self.files.close)
            stack.callback(self.reporter.close)

    @classmethod
    def open(cls, config: Config, task: Task, world: World, reporter: Reporter) -> _Run:
        """Check everything, load the model, and only then touch the run folder."""
        if world.is_main:
            check_free(config)
        checked = check_task(config, task, ranks_here=world.local_size)
        check_logger(config.logger)
        torch.manual_seed(config.seed)
        if world.device.type == "cpu":
            keep_freed_memory()
        policy = load_policy(config, world)

        def encode(rows: Sequence[Row]) -> list[Prompt]:
            return encode_prompts(
                policy.tokenizer,
                rows,
                max_new_tokens=config.max_new_tokens,
                max_length=policy.max_length,
            )

        prompts, eval_prompts = encode(checked.train), encode(checked.eval)
        longest = max(len(prompt.ids) for prompt in [*prompts, *eval_prompts])
        engine = open_engine(policy, config, max_length=longest + config.max_new_tokens)
        saved = _restored(config, policy)  # random states too: opening vLLM seeds them anew
        world.barrier()  # every rank has seen the folder as it was
        folder = (
            prepare_folder(config) if world.is_main else RunFolder(Path(config.output_dir or ""))
        )
        if world.is_main:
            discard_after(folder.checkpoints, saved[0] if saved else 0)
        world.barrier()
        return cls(config, folder, policy, engine, checked, prompts, eval_prompts, reporter, saved)


def _restored(config: Config, policy: Policy) -> tuple[int, dict[str, Any]] | None:
    """Bring the policy to the latest checkpoint of a resumed run; return its step and state.

    Without a checkpoint the run was stopped before the first one, and starts over.
    """
    assert config.output_dir is not None
    if not config.resume:
        return None
    checkpoint = latest_checkpoint(RunFolder(Path(config.output_dir)).checkpoints)
    return load_checkpoint(checkpoint, policy) if checkpoint else None
