"""Will it fit: the memory plan of `grpo-run --dry-run`.

Phases, of which the largest must fit: `rollout` (vLLM is awake), `backward` (it sleeps, and holds
neither weights nor cache) and `step` (the optimiser's). The passes without gradients that come
before `backward` take less than it does. `footprint` says what is counted and how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers

from trainer.config import Config
from trainer.footprint import (
    GB,
    PHASES,
    ModelShape,
    Part,
    bytes_of,
    cache_token_bytes,
    model_shape,
    peak_of,
    rollout_parts,
    samples_at_once,
    total_of,
    training_parts,
)

H100_BYTES = 80e9
"""What is assumed where no GPU is seen."""
USABLE = 0.9
"""Share of a GPU's memory that may be planned."""


@dataclass(frozen=True)
class Change:
    """Settings that lower the peak."""

    settings: Mapping[str, Any]
    peak: float
    """Bytes a GPU with them."""

    @property
    def flags(self) -> str:
        """The settings as flags of `grpo-run`."""
        pairs = ((name.replace("_", "-"), value) for name, value in self.settings.items())
        return " ".join(
            f"--{name}" if value is True else f"--{name} {value}" for name, value in pairs
        )


@dataclass(frozen=True)
class MemoryPlan:
    """The parts of a run on each GPU, and whether they fit."""

    parts: tuple[Part, ...]
    gpu_bytes: float
    changes: tuple[Change, ...] = ()
    """If it does not fit: what lowers the peak, what helps most first; where nothing is enough
    alone, the first of them that are enough together come last."""
    notes: tuple[str, ...] = ()

    @property
    def peak(self) -> float:
        """Bytes a GPU in the largest phase."""
        return peak_of(self.parts)

    @property
    def fits(self) -> bool:
        """Whether the largest phase is within what may be planned."""
        return self.peak <= USABLE * self.gpu_bytes

    @property
    def remedy(self) -> Change | None:
        """The first change with which it fits."""
        return next((c for c in self.changes if c.peak <= USABLE * self.gpu_bytes), None)

    def lines(self) -> list[str]:
        """Write the plan as a table, with what to change if it does not fit."""
        rows: list[tuple[str, ...]] = [("GB per GPU", *PHASES)]
        for part in self.parts:
            rows.append((part.name, *(_gb(part.bytes) if p in part.phases else "" for p in PHASES)))
        rows.append(("total", *(_gb(total_of(self.parts, phase)) for phase in PHASES)))
        table = [
            f"{row[0]:<20}{''.join(f'{cell:>10}' for cell in row[1:])}".rstrip() for row in rows
        ]
        limit = f"{_gb(self.peak)} GB of {_gb(USABLE * self.gpu_bytes)}, {USABLE:.0%} of a GPU"
        verdict = [f"{'fits' if self.fits else 'DOES NOT FIT'}: {limit}"]
        verdict += [f"{_gb(c.peak):>10} GB with {c.flags}" for c in self.changes]
        if not self.fits:
            remedy = self.remedy.flags if self.remedy else "all of these, and the model or the GPUs"
            verdict.append(f"change: {remedy}")
        return [*table, *verdict, *self.notes]


@dataclass(frozen=True)
class PublishedAccounting:
    """Bytes of all GPUs together as papers count them: weights in bfloat16, AdamW."""

    weights: int
    """2 a parameter."""
    optimizer: int
    """12: a float32 master and two moments."""
    gradients: int
    """4: float32."""

    @property
    def trained_copy(self) -> int:
        """A model that learns."""
        return self.weights + self.optimizer + self.gradients

    @property
    def grpo(self) -> int:
        """Actor and reference."""
        return self.trained_copy + self.weights

    @property
    def ppo(self) -> int:
        """Actor, critic and reference."""
        return 2 * self.trained_copy + self.weights


def published_accounting(parameters: int) -> PublishedAccounting:
    """Count as is usual in print: 18 bytes a parameter; ours has no bfloat16 weights and is 16."""
    return PublishedAccounting(2 * parameters, 12 * parameters, 4 * parameters)


def plan_memory(
    config: Config,
    model_config: transformers.PretrainedConfig,
    *,
    longest_prompt: int,
    gpu_bytes: float | None = None,
) -> MemoryPlan:
    """Plan the memory of a run on each of `config.gpus` GPUs.

    Args:
        config: The settings. dtype auto counts as bfloat16 and rollout auto as vLLM, as on a GPU.
        model_config: The model's config; its parameters are counted on the meta device.
        longest_prompt: Tokens.
        gpu_bytes: Memory of a GPU; when absent that of the one here, else an H100's 80 GB.
    """
    assumed = gpu_bytes is None and not torch.cuda.is_available()
    size = gpu_bytes or (H100_BYTES if assumed else torch.cuda.mem_get_info()[1])
    shapes: dict[int, ModelShape] = {}

    def parts_of(settings: Config, *, ppo: bool = False) -> tuple[Part, ...]:
        rank, length = settings.lora_rank, longest_prompt + settings.max_new_tokens
        shape = shapes[rank] = shapes.get(rank) or model_shape(model_config, settings)
        training = training_parts(settings, shape, length, ppo=ppo)
        return (*training, *rollout_parts(settings, shape, length, training, size))

    plan = MemoryPlan(parts_of(config), size)
    shape, length = shapes[config.lora_rank], longest_prompt + config.max_new_tokens
    published = published_accounting(shape.parameters)
    return replace(
        plan,
        changes=() if plan.fits else _changes(config, longest_prompt, USABLE * size, parts_of),
        notes=(
            f"a GPU has {_gb(size)} GB{' (an H100: none is here to ask)' if assumed else ''}",
            _kv_note(config, shape, length, plan.parts),
            f"as PPO, with critic and reward model: {_gb(peak_of(parts_of(config, ppo=True)))} GB",
            "published accounting (bf16, AdamW, all GPUs): a trained copy "
            f"{_gb(published.trained_copy)} GB, GRPO {_gb(published.grpo)} GB, "
            f"PPO {_gb(published.ppo)} GB",
        ),
    )


def _gb(size: float) -> str:
    return f"{size / GB:,.2f}"


def _kv_note(config: Config, shape: ModelShape, length: int, parts: Sequence[Part]) -> str:
    held = bytes_of(parts, "KV cache") // (length * cache_token_bytes(config, shape))
    return (
        f"the KV cache holds {held:,.0f} completions of full length; a replica samples up to "
        f"{samples_at_once(config):,} at once"
    )


def _changes(
    config: Config,
    longest_prompt: int,
    room: float,
    parts_of: Callable[[Config], Sequence[Part]],
) -> tuple[Change, ...]:
    """Try settings alone; where none is enough, add them up from the most helpful on."""

    def change(settings: Mapping[str, Any]) -> Change:
        return Change(settings, peak_of(parts_of(replace(config, **settings))))

    longest = longest_prompt + config.max_new_tokens
    half_cache = round(bytes_of(parts_of(config), "KV cache") / 2 / GB, 2)  # fp8 holds as many
    candidates: list[dict[str, Any]] = [  # those already taken do not lower the peak
        {"gpus": 2 * config.gpus},
        {"lora_rank": config.lora_rank or 32},
        {"offload_reference": True},
        {"offload_optimizer": True},
        {"gradient_checkpointing": True},
        {"micro_batch_tokens": min(config.micro_batch_tokens, longest)},
        {"vllm_tensor_parallel": min(2 * config.vllm_tensor_parallel, config.gpus)},
        {"vllm_kv_gb": half_cache, "vllm_kv_dtype": "fp8"},
        {"rollout_batch_size": max(1, config.rollout_batch_size // 2)},
    ]
    now = change({}).peak
    alone = sorted(map(change, candidates), key=lambda one: one.peak)
    alone = [one for one in alone if one.peak < now]
    both: dict[str, Any] = {}
    for one in alone:
        both = {**both, **one.settings}
        if (together := change(both)).peak <= room:
            return (*alone, together) if len(both) > 1 else tuple(alone)
    return tuple(alone)
