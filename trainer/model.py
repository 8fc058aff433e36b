"""A model and its tokenizer as they come from disk, and the models that are refused.

Only attention's keys and values are cached while sampling; models that keep another state (linear
attention, state spaces, convolutions) are refused, and so are those that change logits after their
head.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import safetensors
import torch
import transformers
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.utils.import_utils import (
    is_flash_attn_2_available,
    is_flash_attn_3_available,
)

from rewards.errors import ConfigurationError

TINY = "tiny"

_CACHED_LAYERS = frozenset({"full_attention", "sliding_attention", "chunked_attention"})


def eos_ids(
    model: transformers.PreTrainedModel, tokenizer: transformers.PreTrainedTokenizerBase
) -> frozenset[int]:
    """Unite the end-of-sequence ids of the generation config and the tokenizer.

    Those that the model has no logit for are left out: they end nothing, and vLLM fails on them.
    """
    ids: set[int] = set()
    for source in (getattr(model.generation_config, "eos_token_id", None), tokenizer.eos_token_id):
        if source is not None:
            ids |= set(source) if isinstance(source, (list, tuple)) else {source}
    return frozenset(i for i in ids if i < model.config.get_text_config().vocab_size)


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """Turn the dtype setting into the arithmetic of the passes."""
    if name == "auto":
        bf16 = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if bf16 else torch.float32
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[name]


def choose_attention(
    name: str,
    device: torch.device,
    compute_dtype: torch.dtype,
    config: transformers.PretrainedConfig,
) -> str | None:
    """Turn the attention setting into an implementation; None leaves it to transformers.

    Raises:
        ConfigurationError: If this machine cannot run what was asked for.
    """
    flash_works = device.type == "cuda" and compute_dtype == torch.bfloat16
    installed = {
        "flash_attention_3": is_flash_attn_3_available,
        "flash_attention_2": is_flash_attn_2_available,
    }
    if name == "auto":
        kind = transformers.AutoModelForCausalLM._model_mapping[type(config)]
        if not flash_works or not getattr(kind, "_supports_flash_attn", False):
            return None
        if torch.cuda.get_device_capability(device)[0] != 9:  # what version 3 was written for
            del installed["flash_attention_3"]
        return next((name for name, is_there in installed.items() if is_there()), None)
    if name in installed and not flash_works:
        raise ConfigurationError(f"attention {name!r} needs a GPU and dtype bfloat16; try auto")
    if name in installed and not installed[name]():
        raise ConfigurationError(f"attention {name!r} needs the package flash-attn; try auto")
    if name == "flex_attention" and device.type == "cpu":
        raise ConfigurationError(f"attention {name!r} does not learn on a CPU; try auto")
    return name


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


def longest_sequence(config: transformers.PretrainedConfig) -> int | None:
    """Return how many positions a model has, prompt and completion together."""
    return getattr(config.get_text_config(), "max_position_embeddings", None)


def count_parameters(config: transformers.PretrainedConfig) -> int:
    """Count the parameters of a model without loading it."""
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    return sum(p.numel() for p in model.parameters())


def load_model(
    name: str,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    *,
    attention: str | None = None,
) -> transformers.PreTrainedModel:
    """Load a causal language model in eval mode.

    Args:
        name: The model setting.
        device: Where to put it.
        dtype: Of its weights.
        attention: Implementation of attention; transformers' own choice when absent.

    Raises:
        ConfigurationError: If it cannot be loaded.
    """
    config = load_model_config(name)
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            model_path(name), dtype=dtype, attn_implementation=attention
        )
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


def decoder_layers(model: nn.Module) -> list[nn.Module]:
    """Return the layers whose activations and weights are worth handling one at a time."""
    return [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]


def recompute_in_backward(layer: nn.Module) -> None:
    """Let a layer keep its inputs alone for the backward pass.

    transformers' own switch does this in train mode alone, where there is dropout.
    """
    forward = layer.forward

    def recomputed(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        return checkpoint(forward, *args, use_reentrant=False, preserve_rng_state=False, **kwargs)

    layer.forward = recomputed


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
