"""The policy: model, tokenizer, frozen reference, optimiser.

Choices:

- Weights, gradients and AdamW's moments are float32 whatever the arithmetic is: at a learning rate
  of 1e-6 an update is below bfloat16's resolution and would be lost. With `dtype="bfloat16"` the
  passes run under autocast.
- The model stays in eval mode: dropout would make the probability ratio differ from 1 before the
  first update.
- The reference of the KL term is a frozen copy of the model at the start of the run, also after a
  resume; with beta 0 none is loaded. It learns nothing, so on a GPU it is held in the dtype of
  the passes, at half the memory.
- Only attention's keys and values are cached while sampling; models that keep another state
  (linear attention, state spaces, convolutions) are refused.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import safetensors
import torch
import transformers
from torch import nn

from rewards.errors import ConfigurationError
from trainer.config import Config

log = logging.getLogger(__name__)

TINY = "tiny"

_CACHED_LAYERS = frozenset({"full_attention", "sliding_attention", "chunked_attention"})


@dataclass
class Policy:
    """What is trained, with all that its passes need."""

    model: transformers.PreTrainedModel
    tokenizer: transformers.PreTrainedTokenizerBase
    reference: transformers.PreTrainedModel | None
    optimizer: torch.optim.Optimizer
    compute_dtype: torch.dtype = torch.float32

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.model.device

    @property
    def eos_ids(self) -> frozenset[int]:
        """All ids that end a completion; several models have more than their tokenizer says."""
        return eos_ids(self.model, self.tokenizer)

    @property
    def max_length(self) -> int | None:
        """Longest sequence, prompt included, that the model has positions for."""
        return getattr(self.model.config.get_text_config(), "max_position_embeddings", None)

    def autocast(self) -> AbstractContextManager[Any]:
        """Return the context that every forward pass runs in."""
        if self.compute_dtype == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.compute_dtype)


def eos_ids(
    model: transformers.PreTrainedModel, tokenizer: transformers.PreTrainedTokenizerBase
) -> frozenset[int]:
    """Unite the end-of-sequence ids of the generation config and the tokenizer."""
    ids: set[int] = set()
    for source in (getattr(model.generation_config, "eos_token_id", None), tokenizer.eos_token_id):
        if source is not None:
            ids |= set(source) if isinstance(source, (list, tuple)) else {source}
    return frozenset(ids)


def choose_device(name: str) -> torch.device:
    """Turn the device setting into a device that is there.

    Raises:
        ConfigurationError: If torch does not know it or the machine does not have it.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        # Computes and reads back in float64, as sampling does; "meta" and others cannot.
        torch.ones(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, AssertionError, ImportError, TypeError) as error:
        first_line = str(error).split("\n")[0]
        raise ConfigurationError(
            f"device {name!r} cannot be used ({first_line}); try auto or cpu"
        ) from error
    return device


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """Turn the dtype setting into the arithmetic of the passes."""
    if name == "auto":
        bf16 = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if bf16 else torch.float32
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[name]


def model_path(name: str) -> str:
    """Return the folder or id that transformers loads for a model setting.

    Raises:
        ConfigurationError: If it names a folder that is not there or holds no model.
    """
    if name == TINY:
        from trainer.tiny import TINY_PATH

        return str(TINY_PATH)
    path = Path(name).expanduser()
    # The hub has ids of the form name and owner/name; anything else can only be a folder.
    looks_local = name.startswith(("/", ".", "~")) or name.count("/") > 1 or path.exists()
    if looks_local and not (path / "config.json").is_file():
        state = "holds no config.json" if path.is_dir() else "is not a folder"
        raise ConfigurationError(
            f"model {name!r} {state}; give 'tiny', a folder in Hugging Face layout, or a model id"
        )
    return str(path) if looks_local else name


def load_model_config(name: str) -> transformers.PretrainedConfig:
    """Load a model's config alone, which says whether the model is there.

    Raises:
        ConfigurationError: If it cannot be loaded.
    """
    path = model_path(name)
    try:
        config = transformers.AutoConfig.from_pretrained(path)
    except (OSError, ValueError, KeyError) as error:
        raise _unloadable(name, error) from error
    _refuse_scaled_logits(config)
    if others := set(getattr(config.get_text_config(), "layer_types", None) or ()) - _CACHED_LAYERS:
        raise _stateful(config, f"layers of type {', '.join(sorted(others))}")
    return cast(transformers.PretrainedConfig, config)


def count_parameters(config: transformers.PretrainedConfig) -> int:
    """Count the parameters of a model without loading it."""
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    return sum(p.numel() for p in model.parameters())


def load_model(
    name: str, device: torch.device, dtype: torch.dtype = torch.float32
) -> transformers.PreTrainedModel:
    """Load a causal language model in eval mode.

    Raises:
        ConfigurationError: If it cannot be loaded.
    """
    config = load_model_config(name)
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(model_path(name), dtype=dtype)
    except (OSError, ValueError, KeyError, RuntimeError, safetensors.SafetensorError) as error:
        raise _unloadable(name, error) from error
    if model._is_stateful:
        raise _stateful(config, "a state")
    # Sampling is ours, so the file's settings for it mean nothing here; some of them contradict
    # each other, and saving would refuse those.
    model.generation_config = _special_ids_alone(model.generation_config)
    for parameter in model.parameters():
        # Weights are loaded as a map of their file: whoever rewrites it would change a running
        # model, reference included, without a trace.
        parameter.data = parameter.data.clone()
    module: nn.Module = model  # transformers wraps `to` in a way that hides its signature
    return cast(transformers.PreTrainedModel, module.to(device).eval())


def load_tokenizer(name: str) -> transformers.PreTrainedTokenizerBase:
    """Load the tokenizer that goes with a model.

    Raises:
        ConfigurationError: If it cannot be loaded.
    """
    try:
        return transformers.AutoTokenizer.from_pretrained(model_path(name))
    except (OSError, ValueError, KeyError) as error:
        raise _unloadable(name, error) from error


def _unloadable(name: str, error: Exception) -> ConfigurationError:
    why = " ".join(str(error).split())
    return ConfigurationError(
        f"cannot load the model {name!r} ({why[:160]}); give 'tiny', a folder in Hugging Face "
        "layout, or a model id"
    )


def _special_ids_alone(config: transformers.GenerationConfig) -> transformers.GenerationConfig:
    keys = ("bos_token_id", "eos_token_id", "pad_token_id")
    ids = {key: getattr(config, key) for key in keys}
    return transformers.GenerationConfig(**ids)  # type: ignore[no-untyped-call]


def _stateful(config: transformers.PretrainedConfig, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"models with {what} besides attention's cache ({config.model_type}) are not supported; "
        "choose a model of attention layers alone"
    )


def _refuse_scaled_logits(config: transformers.PretrainedConfig) -> None:
    """Refuse models that change logits after their head, which `logprobs` would leave out."""
    text = config.get_text_config()
    for key in ("final_logit_softcapping", "logit_scale", "logits_scaling"):
        if getattr(text, key, None) not in (None, 1, 1.0):
            raise ConfigurationError(
                f"models with {key} ({config.model_type}) are not supported; choose another model"
            )


def load_policy(
    name: str,
    *,
    start: str | None = None,
    device: torch.device,
    compute_dtype: torch.dtype,
    with_reference: bool,
    learning_rate: float,
    weight_decay: float,
) -> Policy:
    """Load all parts of a policy.

    Args:
        name: The model setting; the reference and the tokenizer come from there.
        start: Folder of a checkpoint whose weights to start from instead.
        device: Where everything lives.
        compute_dtype: Arithmetic of the passes.
        with_reference: Whether a frozen reference is needed (beta > 0).
        learning_rate: Peak learning rate.
        weight_decay: Decoupled decay of matrices.

    Raises:
        ConfigurationError: If a part cannot be loaded.
    """
    model = load_model(start or name, device)
    reference = None
    if with_reference:
        # On the CPU in float32: the KL divergence is then exactly 0 at the start.
        dtype = compute_dtype if device.type == "cuda" else torch.float32
        reference = load_model(name, device, dtype).requires_grad_(False)
    return Policy(
        model=model,
        tokenizer=load_tokenizer(name),
        reference=reference,
        optimizer=make_optimizer(model, learning_rate, weight_decay),
        compute_dtype=compute_dtype,
    )


def make_optimizer(
    model: nn.Module, learning_rate: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Make AdamW that decays matrices and leaves norms and biases alone."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.999), eps=1e-8)


def learning_rate_at(step: int, config: Config) -> float:
    """Return the learning rate of a step counted from 1: a linear rise, then the schedule."""
    if step <= config.warmup_steps:
        return config.learning_rate * step / config.warmup_steps
    if config.lr_schedule == "constant":
        return config.learning_rate
    # The last step still moves the weights: the line meets 0 one step later.
    left = (config.steps + 1 - step) / (config.steps + 1 - config.warmup_steps)
    return config.learning_rate * max(0.0, left)


def apply_gradient(policy: Policy, *, learning_rate: float, max_grad_norm: float) -> float:
    """Clip the gradient, take one optimiser step, and return the norm before clipping.

    A gradient that is not finite is dropped with a warning: one overflowing batch shall not
    destroy the weights.
    """
    for group in policy.optimizer.param_groups:
        group["lr"] = learning_rate
    limit = max_grad_norm or float("inf")
    norm = float(nn.utils.clip_grad_norm_(policy.model.parameters(), limit))
    if norm == norm and norm != float("inf"):
        policy.optimizer.step()
    else:
        log.warning("the gradient norm is %s; this update is skipped", norm)
    policy.optimizer.zero_grad(set_to_none=True)
    return norm
