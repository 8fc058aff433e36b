"""LoRA (arXiv 2106.09685): W + (alpha / r) B A, where A and B alone learn.

peft puts the adapters into the model in place. There is no dropout, and linear layers alone have
adapters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from torch import Tensor, nn

from rewards.errors import ConfigurationError
from trainer.config import Config
from trainer.distributed import full_tensor

_NAME = "default"
_BASE = ".base_layer"


def add_adapters(model: transformers.PreTrainedModel, config: Config) -> None:
    """Freeze a model on the CPU, and give its layers adapters that change nothing yet.

    All ranks and all runs with the same seed get the same ones, in float32.

    Raises:
        ConfigurationError: If `lora_targets` names what is not there, or no linear layer.
    """
    import peft
    from peft.tuners.lora import Linear as LoraLinear
    from peft.tuners.lora import LoraLayer

    targets: str | list[str] = config.lora_targets
    if targets != "all-linear":
        targets = [target.strip() for target in config.lora_targets.split(",")]
    settings = peft.LoraConfig(
        r=config.lora_rank, lora_alpha=config.lora_alpha, target_modules=targets
    )
    model.requires_grad_(False)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            peft.inject_adapter_in_model(settings, model, _NAME)
    except ValueError as error:
        raise ConfigurationError(f"lora_targets {config.lora_targets!r}: {error}") from error
    for name, module in model.named_modules():
        # peft also puts adapters on embeddings and on experts that are stacked in one tensor, which
        # `merge` would leave out without a word.
        if isinstance(module, LoraLayer) and not isinstance(module, LoraLinear):
            raise ConfigurationError(
                f"lora_targets {config.lora_targets!r} includes {name}, which is not a linear "
                "layer; name linear layers, such as q_proj,k_proj,v_proj,o_proj"
            )
        if isinstance(module, LoraLinear):
            for adapter in (module.lora_A, module.lora_B):
                adapter.float()


@contextmanager
def switched_off(model: nn.Module) -> Iterator[None]:
    """Let the model compute without its adapters meanwhile."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    layers = [module for module in model.modules() if isinstance(module, BaseTunerLayer)]
    # Not by peft's `enable_adapters`, which also ends their learning: FSDP, should it gather them
    # here for the first time, would never again ask for their gradients.
    for layer in layers:
        layer._disable_adapters = True
    try:
        yield
    finally:
        for layer in layers:
            layer._disable_adapters = False


def is_adapter(name: str) -> bool:
    """Return whether a parameter of this name belongs to an adapter."""
    return ".lora_" in name


def base_name(name: str) -> str:
    """Return the name that a parameter has in the model without adapters."""
    return name.replace(f"{_BASE}.", ".")


def merge(model: nn.Module, name: str, weight: Tensor) -> Tensor:
    """Return the whole weight of this name with its adapter, if it has one, added. Collective."""
    path = name.removesuffix(f"{_BASE}.weight")
    if path == name:
        return weight
    layer: Any = model.get_submodule(path)
    a, b = (full_tensor(part[_NAME].weight) for part in (layer.lora_A, layer.lora_B))
    delta = layer.scaling[_NAME] * (b @ a)
    merged: Tensor = weight + (delta.T if layer.fan_in_fan_out else delta)
    return merged


def save_adapter(model: nn.Module, folder: Path) -> None:
    """Write the adapters where peft and vLLM's LoRARequest read them. Collective.

    Each rank writes a folder: ranks on other machines share no disk.
    """
    weights = {
        f"base_model.model.{name.replace(f'.{_NAME}.', '.')}": full_tensor(parameter).detach()
        for name, parameter in model.named_parameters()
        if is_adapter(name)
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "adapter_model.safetensors")
    settings: Any = model.peft_config
    settings[_NAME].save_pretrained(folder)
