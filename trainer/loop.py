"""The training loop: group relative policy optimisation (DeepSeekMath, arXiv 2402.03300).

A step:

1. take the next prompts and sample G completions of each from the policy       (`rollout`)
2. ask the verifiers what each completion is worth                              (`scoring`)
3. compare each completion with the others of its group                         (`advantages`)
4. raise the probability of the better ones within a trust region               (`update`, `loss`)

Departures from the paper, each explained where it is made:

- strictly on-policy by default: one optimiser step on each rollout, so the clip is inactive until
  `epochs_per_rollout` is raised                                                (`update`)
- the reference stays the starting model; it is never replaced by the policy (the paper's outer
  loop)                                                                         (`policy`)
- groups without spread leave the loss, where the spread is that of the whole reward, shaping
  included; the unjudged leave their group                                      (`advantages`)
- one denominator for the whole optimiser step, over tokens by default          (`loss`)

Resuming equals never having stopped, bit for bit on a CPU: whatever the next step depends on is in
the checkpoint or is a function of (seed, step, prompt id, k).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from trainer.checkpoint import discard_after, latest_checkpoint, load_state, save_checkpoint
from trainer.config import Config
from trainer.curriculum import PromptOrder
from trainer.curves import write_report
from trainer.evaluate import PASS_AT_1, evaluate
from trainer.interrupt import InterruptGuard
from trainer.loggers import check_logger, open_logger
from trainer.metrics import JsonlFile, drop_non_finite, rollout_metrics, sample_records
from trainer.policy import Policy, choose_device, choose_dtype, learning_rate_at, load_policy
from trainer.preflight import CheckedTask, check_task
from trainer.prompts import encode_prompts
from trainer.report import Reporter, SilentReporter
from trainer.rollout import Prompt
from trainer.rollout.hf import HFEngine
from trainer.run_folder import RunFolder, check_free, prepare_folder
from trainer.scoring import UnjudgedError, UnjudgedWatch, advantages_of, examples_of, score_groups
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
    """Train as `config` says on `task`, and leave a run folder.

    Args:
        config: The settings; `output_dir` must be set.
        task: Rows to train on and rows to evaluate on.
        reporter: Told what happens; nothing is printed without one.

    Raises:
        RewardsError: If settings, specs, model or folder are no good (before anything is written),
            or if nothing can be judged for several steps, or rollout and trainer disagree.
        OSError: If the disk is full.
    """
    run = _Run.open(config.validate(), task, reporter or SilentReporter())
    try:
        with InterruptGuard() as interrupt:
            interrupted = run.train(interrupt)
    finally:
        run.close()
    evals = [row[PASS_AT_1] for row in read_jsonl(run.folder.metrics) if PASS_AT_1 in row]
    result = RunResult(
        folder=run.folder.path,
        step=run.step,
        interrupted=interrupted,
        eval_start=evals[0] if evals else None,
        eval_end=evals[-1] if evals else None,
    )
    run.reporter.end(result.eval_start, result.eval_end)
    return result


class _Run:
    """Everything a run holds on to between steps."""

    def __init__(
        self,
        config: Config,
        folder: RunFolder,
        policy: Policy,
        checked: CheckedTask,
        prompts: list[Prompt],
        eval_prompts: list[Prompt],
        reporter: Reporter,
        saved: tuple[int, dict[str, Any]] | None,
    ) -> None:
        self.config = config
        self.folder = folder
        self.policy = policy
        self.prompts = prompts
        self.eval_prompts = eval_prompts
        self.train_specs, self.eval_specs = checked.train_specs, checked.eval_specs
        self.reporter = reporter
        self.engine = HFEngine(policy, max_rows=config.rollout_batch_size)
        self.order = PromptOrder(len(prompts), config.seed)
        self.watch = UnjudgedWatch()
        self.step = 0
        self.saved = False
        # The metrics of a step whose eval is still to come. An eval that Ctrl-C ends is made anew
        # after the resume.
        self.pending: dict[str, float] | None = {"step": 0}
        sizes = self._restore(*saved) if saved else {}
        # The order of prompts as of the last whole step; a step that is given up comes again.
        self.cursor = self.order.state_dict()
        self.metrics_file = JsonlFile(folder.metrics, size=sizes.get("metrics", 0))
        self.samples_file = JsonlFile(folder.samples, size=sizes.get("samples", 0))
        self.logger = open_logger(config, asdict(config), folder.path)

    def train(self, interrupt: InterruptGuard) -> bool:
        """Run the remaining steps; return whether Ctrl-C ended them early."""
        self.reporter.start(self.config, self.folder.path, self.step)
        try:
            if self.pending is not None:
                self._finish_step(self.pending, interrupt)
            while self.step < self.config.steps and not interrupt.requested:
                self._take_step(self.step + 1, interrupt)
        except (UnjudgedError, DisagreementError):
            self._save()  # the weights are still those of the last whole step
            raise
        self._save()
        return self.step < self.config.steps or self.pending is not None

    def _take_step(self, step: int, interrupt: InterruptGuard) -> None:
        """Take one step, or leave everything as it was if Ctrl-C comes before the update."""
        config = self.config
        started = time.perf_counter()
        prompts = [self.prompts[i] for i in self.order.next_batch(config.prompts_per_step)]
        groups = self.engine.generate(
            prompts,
            num_samples=config.group_size,
            max_new_tokens=config.max_new_tokens,
            temperature=config.temperature,
            stream=f"{config.seed}/{step}",
        )
        if interrupt.requested:
            return
        rolled_out = time.perf_counter()

        scored = score_groups(groups, self.train_specs)
        if interrupt.requested:
            return
        self.watch.see(scored)
        advantages = advantages_of(scored, eps=config.advantage_eps)
        judged = time.perf_counter()

        learning_rate = learning_rate_at(step, config)
        update = update_policy(
            self.policy, examples_of(scored, advantages), config, learning_rate=learning_rate
        )
        updated = time.perf_counter()

        self.step, self.cursor, self.saved = step, self.order.state_dict(), False
        self.samples_file.append(*sample_records(step, scored, advantages))
        num_tokens = sum(len(s.ids) for group in groups for s in group.samples)
        row = {
            "step": step,
            **rollout_metrics(scored, advantages),
            **update,
            "lr": learning_rate,
            "tokens_per_s": num_tokens / (updated - started),
            "time/rollout_s": rolled_out - started,
            "time/score_s": judged - rolled_out,
            "time/update_s": updated - judged,
            "time/step_s": updated - started,
        }
        self._finish_step(row, interrupt)

    def _finish_step(self, row: dict[str, float], interrupt: InterruptGuard) -> None:
        """Evaluate where that is due, and log; left pending if Ctrl-C ends the eval."""
        due = self._is_due(self.config.eval_every) or self.step in (0, self.config.steps)
        if due and self.eval_prompts:
            self.reporter.note("evaluating")
            metrics = evaluate(
                self.engine,
                self.eval_prompts,
                self.eval_specs,
                self.config,
                stop=lambda: interrupt.requested,
            )
            if metrics is None:
                self.pending = row
                return
            row = row | metrics
        self.pending, self.saved = None, False
        self._log(row)
        if self.step and self._is_due(self.config.save_every):
            self._save()

    def _is_due(self, every: int) -> bool:
        return every > 0 and self.step % every == 0

    def _log(self, row: Mapping[str, float]) -> None:
        row = drop_non_finite(row)
        self.metrics_file.append(row)
        if self.logger is not None:
            self.logger.log(row, int(row["step"]))
        self.reporter.step(row)

    def _save(self) -> None:
        if self.saved:
            return
        state = {
            "order": self.cursor,
            "unjudged_steps": self.watch.steps,
            "pending": self.pending,
            "sizes": {"metrics": self.metrics_file.sync(), "samples": self.samples_file.sync()},
        }
        save_checkpoint(
            self.folder.checkpoints,
            self.step,
            self.policy,
            state,
            keep=self.config.keep_checkpoints,
        )
        self.saved = True
        write_report(self.folder)

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
        """Close what is open."""
        self.reporter.close()
        self.metrics_file.close()
        self.samples_file.close()
        if self.logger is not None:
            self.logger.close()

    @classmethod
    def open(cls, config: Config, task: Task, reporter: Reporter) -> _Run:
        """Check everything, load the model, and only then touch the run folder."""
        check_free(config)
        checked = check_task(config, task)
        check_logger(config.logger)
        torch.manual_seed(config.seed)
        policy, saved = _load(config)

        def encode(rows: Sequence[Row]) -> list[Prompt]:
            return encode_prompts(
                policy.tokenizer,
                rows,
                max_new_tokens=config.max_new_tokens,
                max_length=policy.max_length,
            )

        prompts, eval_prompts = encode(checked.train), encode(checked.eval)
        folder = prepare_folder(config)
        discard_after(folder.checkpoints, saved[0] if saved else 0)
        return cls(config, folder, policy, checked, prompts, eval_prompts, reporter, saved)


def _load(config: Config) -> tuple[Policy, tuple[int, dict[str, Any]] | None]:
    """Load the policy; if the run is resumed, from its latest checkpoint with step and state."""
    assert config.output_dir is not None
    device = choose_device(config.device)
    checkpoint = None
    if config.resume:
        checkpoint = latest_checkpoint(RunFolder(Path(config.output_dir)).checkpoints)
    policy = load_policy(
        config.model,
        start=str(checkpoint) if checkpoint else None,
        device=device,
        compute_dtype=choose_dtype(config.dtype, device),
        with_reference=config.beta > 0,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
    )
    # Without a checkpoint the run was stopped before the first one, and starts over.
    return policy, load_state(checkpoint, policy) if checkpoint else None
