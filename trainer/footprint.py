"""What takes memory on each GPU, counted before anything is loaded.

For P parameters, T trained ones (P, or LoRA's), R ranks, c bytes of compute dtype:

- weights 4T / R, gradients 4T / R, Adam's moments 8T / R: 16 bytes a trained parameter, in float32,
  sharded over ranks; under LoRA cP / R for what it does not train.
- reference cP / R; none with beta 0, and none with LoRA, whose adapters are switched off.
- compute weights: under FSDP the root (embedding, norm, head) is gathered for a whole pass, with
  the layer in use and the next one on its way: c each. Alone in bfloat16, autocast keeps cT.
- unsharded gradients under FSDP: root and one layer in c, and one of the two in float32 to reduce.
- activations that a layer keeps for the backward pass, a token; d hidden, f intermediate, q and k
  the widths of queries and keys; attention keeps no T x T matrix (flash attention, sdpa):

      (8 + 4c) d     two norms: input and normalised input in float32 and c, and output
      c (2q + 2k)    queries, keys, values, output of attention
      4c f           gate, its activation, up, their product

  Under autocast the stream stays in float32 and each matmul casts it anew: 26 d for (8 + 4c) d.
  With checkpointing a layer keeps its input alone, and one layer at a time is computed again. On
  top come the final norm and, for what is on its way backward, half a layer.
- logits 5 x 1024 x V x 4: of one chunk of `logprobs.CHUNK` tokens, five float32 copies are alive.
- rollout weights cP / tensor_parallel, and the KV cache: as large as `vllm_kv_gb`, or the engine's
  share of what is free. A token takes 2 x layers x kv_heads x head_dim x bytes. transformers
  samples from the policy on one rank and from a full copy on several, and caches all completions.

tests/trainer/test_memory.py measures these on a CPU; nothing was measured on a GPU. A tenth of the
GPU is left for CUDA, NCCL, vLLM's workspace and fragmentation: an assumption. Experts of a mixture
keep other activations than these, and sliding windows shorten no cache here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
import transformers

from trainer.config import Config
from trainer.logprobs import CHUNK
from trainer.lora import add_adapters
from trainer.model import decoder_layers
from trainer.rollout.vllm import FREE_SHARE

GB = 1e9
LOGITS_COPIES = 5
PHASES = ("rollout", "backward", "step")
TRAINING = PHASES[1:]


@dataclass(frozen=True)
class ModelShape:
    """Sizes of a model, in parameters."""

    text: Any
    """The config of its language model."""
    trained: int
    """All of them, or the adapters of LoRA."""
    frozen: int
    layer: int
    """Those of a decoder layer; layers are taken to be alike."""
    trained_layer: int

    @property
    def parameters(self) -> int:
        """Those of the model without adapters."""
        return self.frozen or self.trained

    @property
    def head_dim(self) -> int:
        """Width of an attention head."""
        text = self.text
        return int(getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads)

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        text = self.text
        return int(getattr(text, "num_key_value_heads", None) or text.num_attention_heads)

    def kv_token_bytes(self, element: int, tensor_parallel: int = 1) -> int:
        """Return the bytes of one token's keys and values on one GPU, `element` bytes a number."""
        heads = ceil(self.kv_heads / tensor_parallel)  # what cannot be shared out is copied
        return int(2 * self.text.num_hidden_layers * heads * self.head_dim * element)

    def layer_token_bytes(self, element: int, *, autocast: bool = False) -> int:
        """Return the bytes that one layer keeps of one token for the backward pass."""
        text = self.text
        intermediate = getattr(text, "intermediate_size", None) or 4 * text.hidden_size
        attention = 2 * (text.num_attention_heads + self.kv_heads) * self.head_dim
        norms = (26 if autocast else 8 + 4 * element) * text.hidden_size
        return int(norms + element * (attention + 4 * intermediate))


@dataclass(frozen=True)
class Part:
    """Something that takes memory on each GPU."""

    name: str
    bytes: float
    phases: Sequence[str] = PHASES


def total_of(parts: Sequence[Part], phase: str) -> float:
    """Return the bytes a GPU of one phase."""
    return sum(part.bytes for part in parts if phase in part.phases)


def peak_of(parts: Sequence[Part]) -> float:
    """Return the bytes a GPU of the largest phase."""
    return max(total_of(parts, phase) for phase in PHASES)


def model_shape(model_config: transformers.PretrainedConfig, config: Config) -> ModelShape:
    """Measure a model on the meta device, with its adapters if it is trained by LoRA."""
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(model_config)  # type: ignore[no-untyped-call]
        if config.lora_rank:
            add_adapters(model, config)
    layer = decoder_layers(model)[0]
    return ModelShape(
        text=model_config.get_text_config(),
        trained=sum(p.numel() for p in model.parameters() if p.requires_grad),
        frozen=sum(p.numel() for p in model.parameters() if not p.requires_grad),
        layer=sum(p.numel() for p in layer.parameters()),
        trained_layer=sum(p.numel() for p in layer.parameters() if p.requires_grad),
    )


def training_parts(
    config: Config, shape: ModelShape, length: int, *, ppo: bool
) -> tuple[Part, ...]:
    """List what the trainer keeps, for sequences of up to `length` tokens; see the file's top."""
    c, ranks, layers = _element(config), config.gpus, shape.text.num_hidden_layers
    autocast = _autocast(config)
    weights = (4 * shape.trained + c * shape.frozen) / ranks
    trained, whole = shape.trained / ranks, shape.parameters / ranks
    moments = ("step",) if config.offload_optimizer else PHASES
    has_reference = config.beta and not config.lora_rank and not config.offload_reference
    compute, unsharded = c * shape.trained * autocast, 0
    if ranks > 1:
        compute = c * (shape.parameters - (layers - 2) * shape.layer)
        root = shape.trained - layers * shape.trained_layer
        unsharded = c * (root + shape.trained_layer) + 4 * max(root, shape.trained_layer)
    # A row that is longer than the budget is a micro-batch of its own.
    tokens = max(config.micro_batch_tokens, config.pack_tokens or 0, length)
    layer = tokens * shape.layer_token_bytes(c, autocast=autocast)
    kept = layers * layer
    if config.gradient_checkpointing:
        kept = layers * tokens * shape.text.hidden_size * (4 if autocast else c) + layer
    final_norm = tokens * shape.text.hidden_size * (4 + 2 * c)
    logits = LOGITS_COPIES * min(CHUNK, tokens) * shape.text.vocab_size * 4
    parts = [
        Part("weights", weights),
        Part("optimiser", 8 * trained, moments),
        Part("reference", c * whole if has_reference else 0),
        Part("gradients", 4 * trained, TRAINING),
        Part("compute weights", compute, ("backward",)),
        Part("unsharded gradients", unsharded, ("backward",)),
        Part("activations", kept + layer / 2 + final_norm, ("backward",)),
        Part("logits", logits, ("backward",)),
    ]
    if ppo:  # the critic is as large as the actor, and its gradients come when the actor's are gone
        parts += [
            Part("critic", weights),
            Part("critic's optimiser", 8 * trained, moments),
            Part("reward model", c * whole),
        ]
    return tuple(part for part in parts if part.bytes)


def rollout_parts(
    config: Config, shape: ModelShape, length: int, training: Sequence[Part], gpu_bytes: float
) -> tuple[Part, ...]:
    """List what sampling needs."""
    c, one = _element(config), length * cache_token_bytes(config, shape)
    if config.rollout == "hf":
        weights = c * shape.parameters * (config.gpus > 1 or _autocast(config))
        cache: float = samples_at_once(config) * one
    else:
        weights = c * shape.parameters // config.vllm_tensor_parallel
        # The engine is made when these are loaded, and takes this share of the rest.
        cache = FREE_SHARE * (gpu_bytes - bytes_of(training, "weights", "reference"))
        if config.vllm_kv_gb is not None:
            cache = config.vllm_kv_gb * GB
    return (Part("rollout weights", weights, PHASES[:1]), Part("KV cache", cache, PHASES[:1]))


def samples_at_once(config: Config) -> int:
    """Return how many completions a replica samples at once."""
    ranks = 1 if config.rollout == "hf" else config.vllm_tensor_parallel
    share = ceil(config.prompts_per_step * ranks / config.gpus) * config.group_size
    return min(share, config.rollout_batch_size)


def cache_token_bytes(config: Config, shape: ModelShape) -> int:
    """Return the bytes of a token's keys and values on one GPU, as the engine keeps them."""
    if config.rollout == "hf":
        return shape.kv_token_bytes(_element(config))
    element = 1 if config.vllm_kv_dtype == "fp8" else _element(config)
    return shape.kv_token_bytes(element, config.vllm_tensor_parallel)


def bytes_of(parts: Sequence[Part], *names: str) -> float:
    """Return the bytes of the parts with these names."""
    return sum(part.bytes for part in parts if part.name in names)


def _element(config: Config) -> int:
    """Return the bytes of the compute dtype."""
    return 4 if config.dtype == "float32" else 2


def _autocast(config: Config) -> bool:
    """Say whether bfloat16 is autocast's; over several ranks it is FSDP's."""
    return config.gpus == 1 and _element(config) == 2
