"""The policy: scorer, tokenizer, frozen reference, optimiser.

Choices:

- Weights, gradients and AdamW's moments are float32 whatever the arithmetic is: at a learning rate
  of 1e-6 an update is below bfloat16's resolution and would be lost. With `dtype="bfloat16"` the
  passes of a single rank run under autocast; several ranks gather their shards in bfloat16 (FSDP2)
  and reduce gradients in float32.
- The model stays in eval mode: dropout would make the probability ratio differ from 1 before the
  first update.
- The reference of the KL term is the model at the start of the run, also after a resume: a frozen
  copy, or with LoRA the same weights without their adapters. With beta 0 none is loaded.
- What learns nothing (that copy, and the base weights under LoRA) is held on a GPU in the dtype of
  the passes, at half the memory.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers.core_model_loading import revert_weight_conversion

from trainer import lora
from trainer.config import Config
from trainer.distributed import World, full_tensor, shard
from trainer.logprobs import TokenLogprobs
from trainer.model import (
    choose_attention,
    choose_dtype,
    decoder_layers,
    eos_ids,
    load_model,
    load_model_config,
    load_tokenizer,
    longest_sequence,
    recompute_in_backward,
)

log = logging.getLogger(__name__)


@dataclass
class Policy:
    """What is trained, with all that its passes need."""

    scorer: TokenLogprobs
    tokenizer: transformers.PreTrainedTokenizerBase
    optimizer: torch.optim.Optimizer
    config: Config
    world: World
    compute_dtype: torch.dtype
    frozen: TokenLogprobs | None
    """The reference, where it is a copy."""

    @property
    def model(self) -> transformers.PreTrainedModel:
        """The model that learns, adapters included."""
        return self.scorer.model

    @property
    def device(self) -> torch.device:
        """Where the passes run."""
        return self.world.device

    @property
    def eos_ids(self) -> frozenset[int]:
        """All ids that end a completion; several models have more than their tokenizer says."""
        return eos_ids(self.model, self.tokenizer)

    @property
    def max_length(self) -> int | None:
        """Longest sequence, prompt included, that the model has positions for."""
        return longest_sequence(self.model.config)

    @property
    def pack_tokens(self) -> int:
        """Tokens of a row that sequences share; 0 = a row each.

        Flash attention alone reads where sequences begin; what others need for a packed row is a
        mask as large as the row's square.
        """
        if self.config.pack_tokens is not None:
            return self.config.pack_tokens
        return self.config.micro_batch_tokens if self.scorer.uses_flash_attention else 0

    def autocast(self) -> AbstractContextManager[Any]:
        """Return the context that every forward pass runs in."""
        if self.compute_dtype != torch.bfloat16 or self.world.size > 1:  # FSDP casts by itself
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.compute_dtype)

    @contextmanager
    def reference(self) -> Iterator[TokenLogprobs]:
        """Lend the scorer of the starting model."""
        if self.frozen is None:
            with lora.switched_off(self.model):
                yield self.scorer
            return
        self.frozen.to(self.device)
        yield self.frozen
        if self.config.offload_reference:
            self.frozen.to("cpu")

    @torch.no_grad()
    def merged_weights(self) -> Iterator[tuple[str, Tensor]]:
        """Yield each weight's name in the model without adapters, and the whole of it. Collective.

        They are in the dtype of the passes; LoRA is merged in, and tied weights come once. One is
        alive at a time: it may be the policy's own memory, so copy what is to be kept.
        """
        for name, parameter in self.model.named_parameters():
            if not lora.is_adapter(name):
                weight = lora.merge(self.model, name, full_tensor(parameter))
                yield lora.base_name(name), weight.to(self.compute_dtype)

    @torch.no_grad()
    def full_weights(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the merged weights as a Hugging Face checkpoint names them. Collective.

        Experts that are one tensor here are one each there.
        """
        for name, weight in self.merged_weights():
            yield from revert_weight_conversion(self.model, {name: weight}).items()


def load_policy(config: Config, world: World) -> Policy:
    """Load all parts of a policy, sharded where there are several ranks. Collective.

    Raises:
        ConfigurationError: If a part cannot be loaded, or this machine cannot run it.
    """
    compute_dtype = choose_dtype(config.dtype, world.device)
    scorer = _load_scorer(config, world, compute_dtype, learns=True)
    frozen = None
    if config.beta and not config.lora_rank:
        frozen = _load_scorer(config, world, compute_dtype, learns=False)
    return Policy(
        scorer=scorer,
        tokenizer=load_tokenizer(config.model),
        optimizer=make_optimizer(scorer, config.learning_rate, config.weight_decay),
        config=config,
        world=world,
        compute_dtype=compute_dtype,
        frozen=frozen,
    )


def _load_scorer(
    config: Config, world: World, compute_dtype: torch.dtype, *, learns: bool
) -> TokenLogprobs:
    """Load the model into a scorer; ranks take turns, so that one whole copy exists at a time."""
    attention = choose_attention(
        config.attention, world.device, compute_dtype, load_model_config(config.model)
    )
    # On the CPU all is in float32: the KL divergence is then exactly 0 at the start.
    learns_in_full = learns and not config.lora_rank
    dtype = torch.float32 if learns_in_full or world.device.type == "cpu" else compute_dtype

    def load() -> TokenLogprobs:
        model = load_model(config.model, torch.device("cpu"), dtype, attention=attention)
        if not learns:
            model.requires_grad_(False)
        elif config.lora_rank:
            lora.add_adapters(model, config)
        layers = decoder_layers(model)
        if learns and config.gradient_checkpointing:
            for layer in layers:
                recompute_in_backward(layer)
        scorer = TokenLogprobs(model)
        if world.size > 1:
            shard(scorer, layers, world, compute_dtype)
        stays_away = not learns and config.offload_reference
        return scorer.to("cpu" if stays_away else world.device)

    return world.in_turns(load)


def make_optimizer(
    model: nn.Module, learning_rate: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Make AdamW that decays matrices and leaves norms and biases alone."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    # Fused: one pass over each parameter, without copies of all of them.
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.999), eps=1e-8, fused=True)


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
    """Clip the gradient, take one optimiser step, and return the norm before clipping. Collective.

    A gradient that is not finite is dropped with a warning: one overflowing batch shall not
    destroy the weights. The norm is that of all shards, so all ranks decide alike.
    """
    optimizer = policy.optimizer
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    limit = max_grad_norm or float("inf")
    norm = float(full_tensor(nn.utils.clip_grad_norm_(policy.scorer.parameters(), limit)))
    if math.isfinite(norm):
        if policy.config.offload_optimizer:
            _move_moments(optimizer, policy.device)
        optimizer.step()
        if policy.config.offload_optimizer:
            _move_moments(optimizer, torch.device("cpu"))
    else:
        log.warning("the gradient norm is %s; this update is skipped", norm)
    optimizer.zero_grad(set_to_none=True)
    return norm


def _move_moments(optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    for state in optimizer.state.values():
        for key in ("exp_avg", "exp_avg_sq"):
            if key in state:
                state[key] = state[key].to(device)
