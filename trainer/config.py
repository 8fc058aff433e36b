"""Settings of a run: one flat frozen dataclass, from defaults, task, file and flags.

Precedence: default < the task's task.toml `[train]` < `--config run.toml` < flag. What a run used
is written to its folder as config.toml, which `--config` reads back.
"""

from __future__ import annotations

import json
import math
import tomllib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from rewards.errors import ConfigurationError, did_you_mean

Loss = Literal["grpo", "dr_grpo", "dapo", "bnpo", "gspo", "cispo"]
Attention = Literal[
    "auto", "sdpa", "eager", "flash_attention_2", "flash_attention_3", "flex_attention"
]


@dataclass(frozen=True)
class Config:
    """Every setting of a run; the string under a field is its help text."""

    task: str = "code"
    """What to learn: code, math or lean (bundled); with --data gsm8k, math500, mbpp, humaneval,
    apps, taco, livecodebench, codecontests, verl, minif2f, numinalean, jsonl.
    code and math bring settings for the tiny model; other models start from the defaults. lean
    needs Lean 4 and a model that can read it, and brings settings for such models."""
    data: str | None = None
    """JSONL file with training rows, for tasks that bundle none."""
    eval_data: str | None = None
    """JSONL file with held-out rows; without it a part of --data is held out."""
    level: int | None = None
    """Difficulty of a bundled task; the task's own default when absent."""
    model: str = "tiny"
    """The bundled tiny model, a folder in Hugging Face layout, or a model id."""
    output_dir: str | None = None
    """Run folder; default outputs/TASK-MODEL-TIME."""
    config: str | None = None
    """TOML file with settings named as these flags (group_size = 8); flags win over it."""
    resume: bool = False
    """Go on from the latest checkpoint of --output-dir (or of the folder of --config)."""
    overwrite: bool = False
    """Replace the run that lies in --output-dir."""
    dry_run: bool = False
    """Print the resolved settings and what would be run, and exit."""

    steps: int = 100
    """Steps; each samples prompts_per_step x group_size completions and learns from them."""
    prompts_per_step: int = 16
    """Prompts in a step."""
    group_size: int = 8
    """Completions sampled for each prompt; they are compared with each other."""
    max_new_tokens: int = 512
    """Longest completion in tokens; a longer one is cut off and counts as truncated."""
    temperature: float = 1.0
    """Sampling temperature of training; the loss sees the same scaled distribution."""
    dynamic_sampling: bool = False
    """Sample more prompts for those whose completions are all equally right (DAPO)."""
    max_sampling_rounds: int = 4
    """With dynamic_sampling: rounds of sampling in a step; then what there is must do."""
    curriculum: bool = False
    """Remember each prompt's pass rate, and prefer prompts within curriculum_low..high."""
    curriculum_low: float = 0.2
    """Prompts that are solved less often come less often."""
    curriculum_high: float = 0.8
    """Prompts that are solved more often come less often."""

    rollout: Literal["auto", "hf", "vllm"] = "auto"
    """What samples: vLLM in this process, or transformers (auto: vLLM on a GPU if installed)."""
    rollout_batch_size: int = 512
    """Sequences decoded at once; changes speed and memory, never the samples (in float32)."""
    vllm_tensor_parallel: int = 1
    """GPUs that share one vLLM replica; each group of so many holds the weights once."""
    vllm_kv_gb: float | None = None
    """GB of KV cache per GPU; when absent a share of what is free."""
    vllm_kv_dtype: Literal["auto", "fp8"] = "auto"
    """fp8 halves the KV cache and biases the log-probabilities; see rollout_correction."""
    vllm_lora: Literal["merged", "adapter"] = "merged"
    """How LoRA reaches vLLM; adapter sends less and samples more slowly."""
    deterministic: bool = False
    """On a GPU: kernels whose results do not depend on the batch; slower."""

    loss: Loss = "dapo"
    """How tokens are clipped and averaged: grpo, dr_grpo, dapo, bnpo, gspo, cispo."""
    learning_rate: float = 1e-6
    """Peak learning rate of AdamW."""
    warmup_steps: int = 0
    """Steps over which the learning rate rises linearly to its peak."""
    lr_schedule: Literal["constant", "linear"] = "constant"
    """What follows: the peak to the end, or a line down to 0 after the last of `steps`."""
    weight_decay: float = 0.0
    """Decoupled weight decay of the matrices (not of norms and biases)."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this global norm; 0 = no clipping."""
    clip_eps: float | None = None
    """The probability ratio counts from 1 - clip_eps on; when absent 0.2 (gspo 3e-4)."""
    clip_eps_high: float | None = None
    """... up to 1 + clip_eps_high; when absent the loss's own (dapo 0.28, gspo 4e-4, cispo 4)."""
    dual_clip: float = 0.0
    """Most that the ratio of a completion below average counts (3 is usual); 0 = off."""
    beta: float = 0.04
    """Weight of the KL divergence to the starting model; 0 = off, and no reference is loaded."""
    kl_estimator: Literal["k1", "k2", "k3"] = "k3"
    """Estimator of the divergence from one sample."""
    kl_in: Literal["loss", "reward"] = "loss"
    """Where it is subtracted: from each token's loss, or from the completion's reward."""
    entropy_coef: float = 0.0
    """Weight of an entropy bonus."""
    advantage_scale: Literal["auto", "group", "batch", "none"] = "auto"
    """Advantages are divided by the std of this; auto: none for dr_grpo, group for the others."""
    leave_one_out: bool = False
    """Compare with the mean of the other completions of the group (RLOO)."""
    advantage_clip: float = 0.0
    """Advantages are clipped to this size; 0 = off."""
    advantage_eps: float = 1e-6
    """Added to a standard deviation; a group whose rewards spread less teaches nothing."""
    min_group_std: float = 0.0
    """Groups whose rewards have a smaller standard deviation leave the loss; 0 = off."""
    filter_by: Literal["outcome", "value"] = "value"
    """Whose spread makes a group teach: rewards with form and length, or correctness alone."""
    process_supervision: bool = False
    """Reward steps where a verifier scores them (DeepSeekMath 4.1.3), not the outcome."""
    mask_truncated: bool = False
    """Truncated completions leave the loss; they still count in their group's mean."""
    length_penalty: Literal["none", "budget", "overlong", "cosine"] = "none"
    """Length control on top of the reward: a slope, DAPO's soft overlong, or a cosine."""
    length_budget: int = 8192
    """Tokens that a completion may have under length_penalty."""
    length_buffer: int = 1024
    """Tokens over which the penalty grows to length_weight: after the budget, overlong: before."""
    length_weight: float = 0.5
    """The largest length penalty; below 1, so that no wrong answer beats a right one."""
    rollout_correction: Literal["none", "truncate", "mask"] = "truncate"
    """Importance weights between rollout and trainer: capped, or 0 outside 1/cap .. cap."""
    rollout_correction_level: Literal["token", "sequence"] = "token"
    """A weight for each token, or one for a completion (its geometric mean)."""
    rollout_correction_cap: float = 2.0
    """Largest importance weight."""
    epochs_per_rollout: int = 1
    """Passes over each rollout."""
    minibatches: int = 1
    """Optimiser steps in a pass; each takes an equal share of the prompts."""

    micro_batch_tokens: int = 8192
    """Tokens in one forward and backward pass; changes memory, never the gradient."""
    pack_tokens: int | None = None
    """Sequences share rows of so many tokens; 0 = a row each (absent: packed where attention is
    flash_attention_2 or 3, a row each elsewhere, where packing costs memory)."""
    attention: Attention = "auto"
    """Implementation of attention (auto: flash attention where it is installed, else sdpa)."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, a third more time."""
    offload_reference: bool = False
    """Keep the reference in CPU memory between uses."""
    offload_optimizer: bool = False
    """Keep the optimiser's moments in CPU memory between updates."""
    lora_rank: int = 0
    """Train LoRA adapters of this rank instead of all weights; 0 = all weights."""
    lora_alpha: int = 32
    """LoRA's scale is lora_alpha / lora_rank."""
    lora_targets: str = "all-linear"
    """Names of the layers that get adapters, comma-separated, or all-linear."""

    eval_every: int = 20
    """Steps between evaluations; 0 = only before the first step and after the last."""
    eval_prompts: int = 100
    """Held-out prompts of an evaluation; 0 = no evaluation."""
    eval_samples: int = 4
    """Completions for each of them; pass@k and majority@k are of these."""
    eval_temperature: float = 1.0
    """Sampling temperature of evaluations."""
    eval_top_p: float = 1.0
    """Evaluations sample from the most likely tokens of this total probability."""

    save_every: int = 50
    """Steps between checkpoints; 0 = only at the end."""
    keep_checkpoints: int = 2
    """Checkpoints kept; older ones are removed once a newer one is safely on disk."""
    logger: Literal["none", "wandb", "trackio", "tensorboard"] = "none"
    """Metrics go to metrics.jsonl always, and there as well."""

    sandbox: str = "auto"
    """Where model-written code runs: auto, bubblewrap, or process (no security boundary)."""
    workers: int | None = None
    """Completions judged at once on a machine; as many as CPUs when absent."""
    verifier: tuple[str, ...] = ()
    """Verifiers of your own to load: pkg.module:object or file.py:object."""

    seed: int = 0
    """Seed of everything random; equal seeds on equal machines give equal runs."""
    gpus: int = 1
    """Ranks to start on this machine, one a GPU; under torchrun its own ranks are used."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, ..."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of the passes (auto: bfloat16 on a GPU); weights are kept in float32."""

    def validate(self) -> Config:
        """Return self, or say which value is out of range.

        Raises:
            ConfigurationError: Naming the setting, its value, and what it may be.
        """
        for name, (accepts, rule) in _RULES.items():
            value = getattr(self, name)
            if isinstance(value, int) and value >= MAX_INT:
                raise ConfigurationError(f"{name} must be below 2**63, not {value:.3g}")
            if value is not None and not (math.isfinite(value) and accepts(value)):
                raise ConfigurationError(f"{name} must be {rule}, not {value}")
        if self.resume and self.overwrite:
            raise ConfigurationError("resume and overwrite exclude each other; give one of them")
        if self.loss not in get_args(Loss):
            raise ConfigurationError(
                f"loss must be one of {', '.join(get_args(Loss))}, not {self.loss!r}"
            )
        if self.curriculum_low >= self.curriculum_high:
            raise ConfigurationError("curriculum_low must be below curriculum_high")
        return self


# How a run is started, not what it computes: not read from files, not written to config.toml.
COMMAND_KEYS = frozenset({"config", "resume", "overwrite", "dry_run"})
SETTINGS = tuple(f.name for f in fields(Config) if f.name not in COMMAND_KEYS)
# A table of config.toml that says where the run came from; ignored when read back.
PROVENANCE = "provenance"

TODAY = datetime(2026, 1, 1)
"""What chat templates that write the date take for today: prompts must not depend on the day."""

MAX_INT = 2**63
"""Integers must be below; larger ones fit into no tensor, counter or seed."""

_Rule = tuple[Callable[[Any], bool], str]
_AT_LEAST_0: _Rule = (lambda x: x >= 0, "at least 0")
_AT_LEAST_1: _Rule = (lambda x: x >= 1, "at least 1")
_ABOVE_0: _Rule = (lambda x: x > 0, "above 0")
_RULES: dict[str, _Rule] = {
    "group_size": (lambda x: x >= 2, "at least 2 (a group of one has nothing to compare)"),
    "clip_eps": (lambda x: 0 < x < 1, "between 0 and 1"),
    "dual_clip": (lambda x: x == 0 or x > 1, "0 or above 1"),
    "length_weight": (lambda x: 0 < x < 1, "between 0 and 1"),
    "rollout_correction_cap": (lambda x: x > 1, "above 1"),
    **dict.fromkeys(
        ("temperature", "learning_rate", "advantage_eps", "clip_eps_high", "eval_temperature",
         "lora_alpha", "vllm_kv_gb"), _ABOVE_0),
    **dict.fromkeys(
        ("curriculum_low", "curriculum_high"), (lambda x: 0 <= x <= 1, "between 0 and 1")),
    "eval_top_p": (lambda x: 0 < x <= 1, "above 0 and at most 1"),
    **dict.fromkeys(
        ("warmup_steps", "weight_decay", "max_grad_norm", "beta", "steps", "eval_every",
         "eval_prompts", "save_every", "seed", "entropy_coef", "advantage_clip", "min_group_std",
         "lora_rank", "pack_tokens"), _AT_LEAST_0),
    **dict.fromkeys(
        ("prompts_per_step", "max_new_tokens", "rollout_batch_size", "epochs_per_rollout",
         "micro_batch_tokens", "eval_samples", "keep_checkpoints", "workers", "gpus",
         "minibatches", "max_sampling_rounds", "vllm_tensor_parallel", "length_budget",
         "length_buffer"), _AT_LEAST_1),
}  # fmt: skip


def read_toml(path: Path) -> dict[str, Any]:
    """Read a settings file.

    Raises:
        ConfigurationError: If it cannot be read, or is not TOML.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigurationError(f"cannot read the settings file {path}: {why}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from error
    data.pop(PROVENANCE, None)
    return data


def apply_settings(base: Config, settings: Mapping[str, Any], source: str) -> Config:
    """Return `base` with `settings` on top.

    Args:
        base: What holds where the settings are silent.
        settings: Names and values, as TOML gives them.
        source: Where they come from, for error messages.

    Raises:
        ConfigurationError: On an unknown name or a value of the wrong type.
    """
    hints = get_type_hints(Config)
    changes: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in SETTINGS:
            flag = name in COMMAND_KEYS
            hint = f" Give it as a flag: --{name.replace('_', '-')}" if flag else ""
            raise ConfigurationError(
                f"{source}: unknown setting {name!r}.{hint or did_you_mean(name, SETTINGS)}"
            )
        changes[name] = _coerce(value, hints[name], f"{source}: {name}")
    return replace(base, **changes)


def _coerce(value: Any, hint: Any, where: str) -> Any:
    """Check a TOML value against a field's type; an integer may stand for a float."""
    if get_origin(hint) is Literal:
        if value in get_args(hint):
            return value
        raise ConfigurationError(f"{where} must be one of {_choices(hint)}, not {value!r}")
    if get_origin(hint) is tuple:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise ConfigurationError(f"{where} must be a list of strings, not {value!r}")
    kind = hint
    if get_origin(hint) in (Union, types.UnionType):
        kind = next(arg for arg in get_args(hint) if arg is not type(None))
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ConfigurationError(f"{where} must be {_NAMES[kind]}, not {value!r}")
    return value


_NAMES = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}


def _choices(hint: Any) -> str:
    return ", ".join(repr(choice) for choice in get_args(hint))


def to_toml(config: Config, provenance: Mapping[str, str] | None = None) -> str:
    """Write the settings as TOML that `read_toml` and `apply_settings` read back."""
    lines = []
    for name in SETTINGS:
        value = getattr(config, name)
        if value is not None:  # TOML has no null; an absent key is the default, None
            lines.append(f"{name} = {_to_toml_value(value)}")
    if provenance:
        lines += ["", f"[{PROVENANCE}]"]
        lines += [f'"{key}" = {_to_toml_value(value)}' for key, value in provenance.items()]
    return "\n".join(lines) + "\n"


def _to_toml_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_to_toml_value(item) for item in value) + "]"
    raise TypeError(f"no TOML for {value!r}")


def _quote(text: str) -> str:
    """Quote as a TOML basic string: the escapes of JSON, and DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
