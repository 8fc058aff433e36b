"""The memory plan says what tensors really take, and what to change where they do not fit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config

from trainer.config import SETTINGS, Config, apply_settings
from trainer.footprint import LOGITS_COPIES, model_shape, peak_of
from trainer.logprobs import TokenLogprobs
from trainer.memory import MemoryPlan, plan_memory, published_accounting
from trainer.model import decoder_layers, recompute_in_backward
from trainer.rollout.vllm import FREE_SHARE

QWEN_1B = Qwen2Config(
    vocab_size=151936,
    hidden_size=1536,
    intermediate_size=8960,
    num_hidden_layers=28,
    num_attention_heads=12,
    num_key_value_heads=2,
    tie_word_embeddings=True,
)
QWEN_7B = Qwen2Config(
    vocab_size=152064,
    hidden_size=3584,
    intermediate_size=18944,
    num_hidden_layers=28,
    num_attention_heads=28,
    num_key_value_heads=4,
)
RUN = Config(gpus=8, max_new_tokens=4096, micro_batch_tokens=16384, gradient_checkpointing=True)
TOO_BIG = replace(RUN, gradient_checkpointing=False)
H100 = 80e9
PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text("utf-8")


def llama(layers: int = 2, vocabulary: int = 64) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=340,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
    )


def make(config: LlamaConfig) -> LlamaForCausalLM:
    return LlamaForCausalLM(config)  # type: ignore[no-untyped-call]


def plan(config: Config, *, tiny: bool = False, **settings: Any) -> MemoryPlan:
    return planned_once(replace(config, **settings), tiny)


@cache
def planned_once(config: Config, tiny: bool) -> MemoryPlan:
    model = llama() if tiny else QWEN_7B
    return plan_memory(config, model, longest_prompt=512, gpu_bytes=H100)


def part(of: MemoryPlan, name: str) -> float:
    return next((p.bytes for p in of.parts if p.name == name), 0.0)


def test_a_trained_copy_of_70b_takes_what_is_published() -> None:
    counted = published_accounting(70 * 10**9)
    gigabytes = [
        n / 1e9
        for n in (counted.weights, counted.optimizer, counted.gradients, counted.trained_copy)
    ]
    assert gigabytes == [140, 840, 280, 1260]


def test_ppo_and_grpo_of_70b_take_what_is_published() -> None:
    counted = published_accounting(70 * 10**9)
    assert (counted.ppo / 1e9, counted.grpo / 1e9) == (2660, 1400)


def test_the_optimiser_of_671b_takes_8_terabytes() -> None:
    assert f"{published_accounting(671 * 10**9).optimizer / 1e12:.2f} TB" == "8.05 TB"


@pytest.mark.parametrize(("model", "count"), [(QWEN_1B, 1_543_714_304), (QWEN_7B, 7_615_616_512)])
def test_parameters_are_those_of_the_published_checkpoints(model: Any, count: int) -> None:
    assert model_shape(model, RUN).parameters == count


def test_weights_gradients_and_moments_are_those_of_real_tensors() -> None:
    model = make(llama())
    optimizer = torch.optim.AdamW(model.parameters())
    model(input_ids=torch.zeros(1, 4, dtype=torch.long)).logits.sum().backward()
    optimizer.step()
    parameters = list(model.parameters())
    gradients = [p.grad for p in parameters if p.grad is not None]
    states = optimizer.state.values()
    moments = [state[key] for state in states for key in ("exp_avg", "exp_avg_sq")]
    real = [sum(t.nbytes for t in tensors) for tensors in (parameters, gradients, moments)]
    planned = plan(Config(), tiny=True)
    assert real == [part(planned, name) for name in ("weights", "gradients", "optimiser")]


def test_eight_ranks_keep_an_eighth_of_16_bytes_a_parameter() -> None:
    planned = plan(RUN)
    total = sum(part(planned, name) for name in ("weights", "gradients", "optimiser"))
    assert total == 16 * 7_615_616_512 / 8


def test_with_lora_adapters_alone_have_gradients_and_moments() -> None:
    model = make(llama())
    linear = [m for m in decoder_layers(model)[0].modules() if isinstance(m, torch.nn.Linear)]
    adapters = 2 * sum(8 * (m.in_features + m.out_features) for m in linear)
    planned = plan(Config(lora_rank=8), tiny=True)
    assert part(planned, "gradients") == 4 * adapters
    assert part(planned, "optimiser") == 8 * adapters


def test_lora_keeps_the_base_in_the_compute_dtype_and_no_reference() -> None:
    planned = plan(RUN, lora_rank=8)
    adapters = part(planned, "gradients")
    assert part(planned, "weights") == 2 * 7_615_616_512 / 8 + adapters
    assert part(planned, "reference") == 0


def test_the_cache_of_a_token_is_what_transformers_allocates() -> None:
    model = make(llama(layers=3))
    cache = model(input_ids=torch.zeros(1, 7, dtype=torch.long), use_cache=True).past_key_values
    real = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert real == 7 * model_shape(llama(layers=3), Config()).kv_token_bytes(4)


def test_the_cache_of_a_token_is_what_vllm_allocates() -> None:
    interface = pytest.importorskip("vllm.v1.kv_cache_interface")
    spec = interface.FullAttentionSpec(
        block_size=16, num_kv_heads=4, head_size=128, dtype=torch.bfloat16
    )
    assert 28 * spec.page_size_bytes == 16 * model_shape(QWEN_7B, RUN).kv_token_bytes(2)


def test_heads_that_tensor_parallelism_cannot_share_out_are_copied() -> None:
    shape = model_shape(QWEN_1B, RUN)
    assert shape.kv_token_bytes(2, 2) == shape.kv_token_bytes(2, 8)


def saved_bytes(layers: int, dtype: torch.dtype, *, autocast: bool = False) -> int:
    """Measure what a forward pass over 256 tokens keeps for its backward pass."""
    model = make(llama(layers))
    torch.nn.Module.to(model, dtype)
    constant = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept: dict[int, torch.Tensor] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        # Weights, and their casts, are not of the tokens.
        storage = tensor.untyped_storage().data_ptr()
        if storage not in constant and 256 in tensor.shape:
            kept[storage] = tensor
        return tensor

    positions = torch.arange(256)[None]
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), cast(autocast):
        model.model(input_ids=positions % 64, position_ids=positions, use_cache=False)
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


def cast(autocast: bool) -> AbstractContextManager[Any]:
    return torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext()


@pytest.mark.parametrize(
    ("dtype", "autocast"),
    [(torch.float32, False), (torch.bfloat16, False), (torch.float32, True)],
    ids=["float32", "bfloat16 as under FSDP", "autocast"],
)
def test_a_layer_keeps_the_activations_that_the_formula_says(
    dtype: torch.dtype, autocast: bool
) -> None:
    measured = saved_bytes(3, dtype, autocast=autocast) - saved_bytes(1, dtype, autocast=autocast)
    element = 2 if autocast else dtype.itemsize
    per_token = model_shape(llama(), Config()).layer_token_bytes(element, autocast=autocast)
    assert measured == pytest.approx(2 * 256 * per_token, rel=0.02)


def peak_bytes(run: Callable[[], object]) -> int:
    """Measure by how much memory rises while `run` runs."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    now = peak = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return peak


@pytest.mark.parametrize("with_entropy", [False, True])
def test_a_chunk_of_logits_is_alive_as_often_as_planned(with_entropy: bool) -> None:
    scorer = TokenLogprobs(make(llama(1, 8000))).bfloat16()
    for parameter in scorer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    hidden = torch.randn(256, 128, dtype=torch.bfloat16, requires_grad=True)
    targets = torch.arange(256)

    def run() -> None:
        logprobs, entropy = torch.utils.checkpoint.checkpoint(
            scorer._score_chunk, hidden, targets, 0.9, with_entropy, use_reentrant=False
        )
        (logprobs.sum() if entropy is None else (logprobs + entropy).sum()).backward()

    copies = peak_bytes(run) / (256 * 8000 * 4)
    assert copies == pytest.approx(LOGITS_COPIES, rel=0.05)


@pytest.mark.parametrize("gradient_checkpointing", [False, True])
def test_the_backward_pass_peaks_where_planned(gradient_checkpointing: bool) -> None:
    config = Config(
        dtype="float32",
        micro_batch_tokens=512,
        max_new_tokens=8,
        gradient_checkpointing=gradient_checkpointing,
    )
    model = make(llama(layers=4))
    for layer in decoder_layers(model) if gradient_checkpointing else []:
        recompute_in_backward(layer)
    scorer = TokenLogprobs(model)
    for parameter in scorer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    ids, completion = torch.zeros(1, 512, dtype=torch.long), torch.arange(256)

    def run() -> None:
        positions = torch.arange(512)[None]
        scorer(ids, positions, completion, completion % 64, packed=False)[0].sum().backward()

    planned = plan_memory(config, llama(layers=4), longest_prompt=8)
    assert peak_bytes(run) == pytest.approx(part(planned, "activations"), rel=0.25)


def test_what_is_offloaded_is_on_the_gpu_only_where_it_is_used() -> None:
    kept, gone = plan(RUN), plan(RUN, offload_reference=True, offload_optimizer=True)
    moments = next(p for p in gone.parts if p.name == "optimiser")
    assert moments.phases == ("step",)
    assert part(kept, "reference") == 2 * 7_615_616_512 / 8
    assert part(gone, "reference") == 0


def test_without_beta_there_is_no_reference() -> None:
    assert part(plan(RUN, beta=0.0), "reference") == 0


def test_tensor_parallelism_shares_out_the_rollout_weights() -> None:
    assert part(plan(RUN, vllm_tensor_parallel=2), "rollout weights") == 7_615_616_512


def completions_held(planned: MemoryPlan) -> int:
    note = next(note for note in planned.notes if "KV cache holds" in note)
    return int(note.split("holds ")[1].split()[0].replace(",", ""))


def test_an_fp8_cache_holds_twice_as_many_completions() -> None:
    full, fp8 = plan(RUN, vllm_kv_gb=33.0), plan(RUN, vllm_kv_gb=33.0, vllm_kv_dtype="fp8")
    assert completions_held(full) == int(33e9 / (57_344 * (512 + 4096)))
    assert completions_held(fp8) == int(33e9 / (28_672 * (512 + 4096)))


def test_without_a_size_the_cache_is_the_share_that_the_engine_takes() -> None:
    planned = plan(RUN)
    loaded = part(planned, "weights") + part(planned, "reference")
    assert part(planned, "KV cache") == pytest.approx(FREE_SHARE * (H100 - loaded))


def test_one_rank_of_transformers_samples_from_the_weights_it_trains() -> None:
    assert part(plan(Config(rollout="hf", dtype="float32")), "rollout weights") == 0


def test_sequences_longer_than_the_budget_are_counted_whole() -> None:
    short, long = plan(RUN, micro_batch_tokens=1), plan(RUN, micro_batch_tokens=4096 + 512)
    assert part(short, "activations") == part(long, "activations")


def test_ppo_adds_a_trained_critic_and_a_frozen_reward_model() -> None:
    note = next(note for note in plan(RUN).notes if "PPO, with critic" in note)
    more = (4 + 8 + 2) * 7_615_616_512 / 8
    assert f"{(plan(RUN).peak + more) / 1e9:,.2f} GB" in note


def test_what_does_not_fit_says_what_helps_and_that_fits() -> None:
    planned = plan(TOO_BIG)
    assert not planned.fits
    remedy = planned.remedy
    assert remedy is not None
    assert remedy.flags == "--gradient-checkpointing"
    assert plan(TOO_BIG, **remedy.settings).fits


def test_changes_come_with_what_helps_most_first() -> None:
    peaks = [change.peak for change in plan(TOO_BIG).changes]
    assert peaks == sorted(peaks)
    assert len(peaks) > 3


def test_where_no_change_is_enough_several_are_added_up() -> None:
    planned = plan(Config())
    remedy = planned.remedy
    assert remedy is not None
    assert len(remedy.settings) > 1
    assert plan(Config(), **remedy.settings).fits


def test_what_cannot_fit_has_no_remedy() -> None:
    planned = plan_memory(Config(), llama(), longest_prompt=512, gpu_bytes=1e6)
    assert planned.remedy is None
    assert "change: all of these, and the model or the GPUs" in planned.lines()


def test_what_fits_is_left_alone() -> None:
    planned = plan(RUN)
    assert planned.fits
    assert planned.changes == ()


def test_the_peak_is_that_of_the_largest_phase() -> None:
    planned = plan(RUN)
    by_phase = [
        sum(p.bytes for p in planned.parts if phase in p.phases)
        for phase in ("rollout", "backward", "step")
    ]
    assert planned.peak == peak_of(planned.parts) == max(by_phase)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("recipe", "model", "longest_prompt"), [(0, QWEN_1B, 512), (1, QWEN_7B, 1024)]
)
def test_the_recipes_in_the_docs_have_the_plans_that_stand_there(
    recipe: int, model: Any, longest_prompt: int
) -> None:
    config = apply_settings(Config(), tomllib.loads(blocks("toml")[recipe]), "docs").validate()
    planned = plan_memory(config, model, longest_prompt=longest_prompt, gpu_bytes=H100)
    assert planned.fits
    assert planned.lines() == blocks("text")[recipe].splitlines()


def test_the_docs_speak_of_every_setting() -> None:
    words = set(re.findall(r"\w+", PAGE))
    assert set(SETTINGS) - words == set()
