"""Will it fit: bytes on each GPU, counted before anything is loaded.

Phases, of which the largest must fit: `rollout` (vLLM is awake), `backward` (it sleeps, and holds
neither weights nor cache) and `step` (the optimiser's). The passes without gradients that come
before `backward` take less than it does.

What is counted, for P parameters, T trained ones (P, or LoRA's), R ranks, c bytes of compute dtype:

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
H100_BYTES = 80e9
"""What is assumed where no GPU is seen."""
USABLE = 0.9
"""Share of a GPU's memory that may be planned."""
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
        training = _training_parts(settings, shape, length, ppo=ppo)
        return (*training, *_rollout_parts(settings, shape, length, training, size))

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


def total_of(parts: Sequence[Part], phase: str) -> float:
    """Return the bytes a GPU of one phase."""
    return sum(part.bytes for part in parts if phase in part.phases)


def peak_of(parts: Sequence[Part]) -> float:
    """Return the bytes a GPU of the largest phase."""
    return max(total_of(parts, phase) for phase in PHASES)


def _gb(size: float) -> str:
    return f"{size / GB:,.2f}"


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


def _training_parts(
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


def _rollout_parts(
    config: Config, shape: ModelShape, length: int, training: Sequence[Part], gpu_bytes: float
) -> tuple[Part, ...]:
    """List what sampling needs."""
    c, one = _element(config), length * _kv_token_bytes(config, shape)
    if config.rollout == "hf":
        weights = c * shape.parameters * (config.gpus > 1 or _autocast(config))
        cache: float = _samples_at_once(config) * one
    else:
        weights = c * shape.parameters // config.vllm_tensor_parallel
        # The engine is made when these are loaded, and takes this share of the rest.
        cache = FREE_SHARE * (gpu_bytes - _bytes_of(training, "weights", "reference"))
        if config.vllm_kv_gb is not None:
            cache = config.vllm_kv_gb * GB
    return (Part("rollout weights", weights, PHASES[:1]), Part("KV cache", cache, PHASES[:1]))


def _samples_at_once(config: Config) -> int:
    """Return how many completions a replica samples at once."""
    ranks = 1 if config.rollout == "hf" else config.vllm_tensor_parallel
    share = ceil(config.prompts_per_step * ranks / config.gpus) * config.group_size
    return min(share, config.rollout_batch_size)


def _kv_token_bytes(config: Config, shape: ModelShape) -> int:
    if config.rollout == "hf":
        return shape.kv_token_bytes(_element(config))
    element = 1 if config.vllm_kv_dtype == "fp8" else _element(config)
    return shape.kv_token_bytes(element, config.vllm_tensor_parallel)


def _kv_note(config: Config, shape: ModelShape, length: int, parts: Sequence[Part]) -> str:
    cache = _bytes_of(parts, "KV cache")
    return (
        f"the KV cache holds {cache // (length * _kv_token_bytes(config, shape)):,.0f} completions "
        f"of full length; a replica samples up to {_samples_at_once(config):,} at once"
    )


def _bytes_of(parts: Sequence[Part], *names: str) -> float:
    return sum(part.bytes for part in parts if part.name in names)


def _element(config: Config) -> int:
    """Return the bytes of the compute dtype."""
    return 4 if config.dtype == "float32" else 2


def _autocast(config: Config) -> bool:
    """Say whether bfloat16 is autocast's; over several ranks it is FSDP's."""
    return config.gpus == 1 and _element(config) == 2


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
    half_cache = round(_bytes_of(parts_of(config), "KV cache") / 2 / GB, 2)  # fp8 holds as many
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
