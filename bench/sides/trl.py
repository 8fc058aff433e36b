"""TRL's GRPOTrainer as a side of a comparison; runs in an environment that has TRL.

Its defaults hold except where the job says otherwise, or a CPU needs something else (float32).
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

import rewards
from bench.sides import Clock, Job, Outcome, serve


class Watch(TrainerCallback):  # type: ignore[misc]
    """Follows a training, and ends it when its time is up."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.rewards: list[float] = []
        self.lengths: list[float] = []

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        """Start the clock: the model is loaded."""
        self.clock.start()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Note the time."""
        if self.clock.step_ends():
            control.should_training_stop = True

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, float], **kwargs: Any
    ) -> None:
        """Take what is logged after each step."""
        if "reward" in logs:
            self.rewards.append(logs["reward"])
            self.lengths.append(logs["completions/mean_length"])


class TimedTrainer(GRPOTrainer):  # type: ignore[misc]
    """Notes how long sampling takes."""

    rollout_s: list[float]

    def _generate(self, prompts: list[Any]) -> Any:
        started = time.perf_counter()
        result = super()._generate(prompts)
        self.rollout_s.append(time.perf_counter() - started)
        return result


def verify(completions: list[Any], spec: list[str], **_: Any) -> list[float | None]:
    """Judge completions by our verifiers, as TRL's users would."""
    texts = [completion[0]["content"] for completion in completions]
    scores = rewards.score_batch(texts, [json.loads(one) for one in spec])
    return [score.value for score in scores]


def train(job: Job) -> Outcome:
    """Train as the job says."""
    if job.verifier:
        rewards.load(job.verifier)
    watch = Watch(Clock(job.budget_s))
    weights = str(Path(job.folder) / "weights")
    trainer = TimedTrainer(
        model=job.model,
        reward_funcs=verify,
        args=_settings(job),
        train_dataset=Dataset.from_list([_record(row) for row in job.rows]),
        processing_class=AutoTokenizer.from_pretrained(job.model, padding_side="left"),
        callbacks=[watch],
    )
    trainer.rollout_s = []
    trainer.train()
    trainer.save_model(weights)
    return watch.clock.outcome(
        *("trl", "torch", "transformers"),
        rewards=watch.rewards,
        lengths=watch.lengths,
        phases={"rollout": trainer.rollout_s},
        weights=weights,
    )


def _settings(job: Job) -> GRPOConfig:
    """Translate the job; the batch is one accumulation of all completions of a step."""
    completions = job.prompts_per_step * job.group_size
    batch = min(completions, job.options.pop("per_device_train_batch_size", completions))
    return GRPOConfig(
        output_dir=str(Path(job.folder) / "trl"),
        use_cpu=True,
        bf16=False,
        model_init_kwargs={"dtype": "float32"},
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=completions // batch,
        num_generations=job.group_size,
        max_completion_length=job.max_new_tokens,
        learning_rate=job.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=job.warmup_steps,
        beta=job.beta,
        max_steps=job.steps,
        seed=job.seed,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        **job.options,
    )


def _record(row: dict[str, Any]) -> dict[str, Any]:
    prompt = row["prompt"]
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return {"prompt": messages, "spec": json.dumps(row["spec"])}


if __name__ == "__main__":
    serve(train)
