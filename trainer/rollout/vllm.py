"""Rollout with vLLM in the same process as training (vLLM 0.32).

- A rank is a replica of its own, or a tensor-parallel group of adjacent ranks is one. All ranks of
  a group hand vLLM the same requests in the same order.
- Between rollouts the engine sleeps: on a GPU it then holds neither weights nor KV cache. Waking
  up takes two steps with the weights written between them, as both at once run out of memory where
  gathered tensors are still around (vllm 15254, verl 302).
- Weights go through `reload_weights` with an iterator: without one it would read the checkpoint on
  disk again (vllm 29341), and the model's own `load_weights` knows nothing of layers that were
  repacked after loading.
- Each sample is a request of its own, with its own seed: one seed for all made groups of copies
  (verl 5179, SkyRL 1042).
- Log-probabilities are vLLM's "processed" ones, of the distribution that was drawn from; its
  default are those of temperature 1 (trl 4159).

On the CPU, constructing the engine makes `torch.set_num_threads` do nothing from then on.
"""

from __future__ import annotations

import gc
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import torch
from torch import nn

from rewards.errors import ConfigurationError, RewardsError, missing_extra
from trainer import lora
from trainer.config import Config
from trainer.model import model_path
from trainer.policy import Policy
from trainer.rollout import Finished, Prompt, Sample, Sampling, decode, stream_seed

if TYPE_CHECKING:
    from vllm import LLM, CompletionOutput, SamplingParams

FREE_SHARE = 0.4
"""Share of a GPU's free memory that becomes KV cache: the optimiser's moments, vLLM's weights and
its activations are not there yet when the cache is made."""

CPU_KV_GB = 1.0
"""GB of KV cache on a CPU."""


class StaleCacheError(RewardsError, RuntimeError):
    """vLLM kept keys and values of old weights."""


class VLLMEngine:
    """Samples with vLLM on the devices that train."""

    def __init__(self, policy: Policy, config: Config, max_length: int) -> None:
        """Load the model into vLLM. Collective.

        Args:
            policy: What is sampled from.
            config: The settings.
            max_length: Most tokens of a prompt and its completion.

        Raises:
            ConfigurationError: If the ranks cannot be grouped as asked, or the device is not the
                one that vLLM takes.
            MissingExtraError: If vLLM is not installed.
        """
        world, size = policy.world, config.vllm_tensor_parallel
        if world.size % size:
            raise ConfigurationError(
                f"vllm_tensor_parallel {size} must divide the number of ranks, {world.size}"
            )
        if world.device.type == "cuda" and world.device.index not in (None, world.local_rank):
            raise ConfigurationError(
                f"vLLM takes the first GPU, not {world.device}; give --device cuda and choose the "
                "GPU by CUDA_VISIBLE_DEVICES"
            )
        self.replica, self.num_replicas = world.rank // size, world.size // size
        self.leads = world.rank % size == 0
        self._policy = policy
        self._sends_adapter = bool(config.lora_rank) and config.vllm_lora == "adapter"
        self._asleep = False
        self._syncs = 0
        self._llm = _start(policy, config, max_length)
        self._folder = tempfile.TemporaryDirectory(prefix="adapter-")

    def sync(self) -> None:
        """Wake up with the policy's current weights; see `RolloutEngine`.

        Raises:
            StaleCacheError: If vLLM does not forget what it computed with the last ones.
        """
        self._syncs += 1
        self._empty_cache()  # what training has freed is still torch's, and vLLM cannot have it
        if self._asleep:
            self._llm.wake_up(["weights"])
        if self._sends_adapter:
            lora.save_adapter(self._policy.model, Path(self._folder.name))
        else:
            self._write_weights()
        self._empty_cache()
        if self._asleep:
            self._llm.wake_up(["kv_cache"])
            self._asleep = False
        if not self._llm.reset_prefix_cache():
            raise StaleCacheError("vLLM still uses parts of its prefix cache after a sync")

    def _empty_cache(self) -> None:
        if self._policy.device.type == "cuda":
            gc.collect()
            torch.cuda.empty_cache()

    def _write_weights(self) -> None:
        weights = self._policy.full_weights()
        self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": weights})
        tied = self._policy.model.config.get_text_config().tie_word_embeddings
        if tied and self._policy.device.type == "cpu":
            self._llm.apply_model(_repack_head)

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[Finished]:
        """Sample completions; see `RolloutEngine`.

        The ranks of a tensor-parallel group must all exhaust the iterator. Elsewhere it may be
        closed early.
        """
        engine: Any = self._llm.llm_engine
        open_requests: dict[str, tuple[int, int]] = {}
        try:
            for p, prompt in enumerate(prompts):
                for k in range(sampling.num_samples):
                    open_requests[f"{p}/{k}"] = p, k
                    engine.add_request(
                        f"{p}/{k}",
                        {"prompt_token_ids": list(prompt.ids)},
                        self._sampling_params(sampling, prompt, k),
                        lora_request=self._lora_request(),
                    )
            while open_requests:
                for output in engine.step():
                    p, k = open_requests.pop(output.request_id)
                    if self.leads:
                        yield Finished(p, k, self._sample(output.outputs[0]))
        finally:
            engine.abort_request(list(open_requests))

    def _sampling_params(self, sampling: Sampling, prompt: Prompt, k: int) -> SamplingParams:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        return SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_new_tokens,
            seed=stream_seed(sampling.stream, prompt.id, k),
            stop_token_ids=sorted(self._policy.eos_ids),
            logprobs=0,  # of the sampled token alone
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _lora_request(self) -> Any:
        """Name the adapter; vLLM would go on with the old one under an id that it knows."""
        if not self._sends_adapter:
            return None
        from vllm.lora.request import LoRARequest

        return LoRARequest(f"policy-{self._syncs}", self._syncs, self._folder.name)

    def _sample(self, drawn: CompletionOutput) -> Sample:
        return Sample(
            ids=tuple(drawn.token_ids),
            logprobs=sampled_logprobs(drawn),
            finish_reason="stop" if drawn.finish_reason == "stop" else "length",
            text=decode(self._policy.tokenizer, drawn.token_ids),
        )

    def release(self) -> None:
        """Give memory back to training; see `RolloutEngine`."""
        if not self._asleep:
            # Level 2 forgets the weights. Under an adapter nobody writes them again, so that they
            # go to CPU memory instead.
            self._llm.sleep(1 if self._sends_adapter else 2)
            self._asleep = True

    def close(self) -> None:
        """Shut down. This ends torch's process group as well."""
        self._llm.llm_engine.engine_core.shutdown()
        self._folder.cleanup()


def sampled_logprobs(drawn: CompletionOutput) -> tuple[float, ...]:
    """Return the log-probability of each sampled token, NaN where vLLM has none (trl 6166)."""
    assert drawn.logprobs is not None
    found = [
        None if at is None else at[token].logprob
        for at, token in zip(drawn.logprobs, drawn.token_ids, strict=True)
    ]
    return tuple(math.nan if logprob is None else logprob for logprob in found)


def _start(policy: Policy, config: Config, max_length: int) -> LLM:
    """Import vLLM and load the model into it."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    os.environ["VLLM_NO_USAGE_STATS"] = "1"
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    if config.deterministic and policy.device.type == "cuda":
        os.environ["VLLM_BATCH_INVARIANT"] = "1"
    try:
        from vllm import LLM
    except ImportError as error:
        raise missing_extra("rollout with vLLM", "vllm") from error
    options = _options(policy, config, max_length)
    try:
        return LLM(**options)
    except ValueError as error:
        raise ConfigurationError(
            f"vLLM does not run {config.model!r} like this: {' '.join(str(error).split())[:400]} "
            "(vllm_kv_gb is the size of its KV cache; its max_model_len is the longest prompt and "
            "max_new_tokens)"
        ) from error


def _options(policy: Policy, config: Config, max_length: int) -> dict[str, Any]:
    """Say how vLLM runs. Collective."""
    from vllm.config.lora import MaxLoRARanks

    on_cpu = policy.device.type == "cpu"
    options: dict[str, Any] = {}
    if config.lora_rank and config.vllm_lora == "adapter":
        ranks = [rank for rank in get_args(MaxLoRARanks) if rank >= config.lora_rank]
        options |= {"enable_lora": True, "max_lora_rank": min(ranks, default=config.lora_rank)}
    if policy.world.size > 1:
        options["distributed_executor_backend"] = "external_launcher"
    return options | {
        "model": model_path(config.model),
        "dtype": policy.compute_dtype,
        "tensor_parallel_size": config.vllm_tensor_parallel,
        "skip_tokenizer_init": True,
        "generation_config": "vllm",  # no defaults from the model's folder
        "logprobs_mode": "processed_logprobs",
        "enable_prefix_caching": True,
        "enable_sleep_mode": not on_cpu,
        "kv_cache_memory_bytes": _kv_cache_bytes(policy, config),
        "kv_cache_dtype": config.vllm_kv_dtype,
        "max_num_seqs": config.rollout_batch_size,
        "max_model_len": max_length,
        "enforce_eager": on_cpu,
        "use_tqdm_on_load": False,
        "seed": config.seed,
        # Where a prompt is read in two parts, vLLM winds the request's generator back, and a CPU's
        # cannot be.
        "enable_chunked_prefill": False if on_cpu else None,
    }


def _kv_cache_bytes(policy: Policy, config: Config) -> int:
    """Return the size of the KV cache on each rank, the same on all. Collective."""
    if config.vllm_kv_gb is not None:
        return int(config.vllm_kv_gb * 1e9)
    if policy.device.type == "cpu":
        return int(CPU_KV_GB * 1e9)
    free, _ = torch.cuda.mem_get_info(policy.device)
    return int(FREE_SHARE * min(policy.world.gather(free)))


def _repack_head(model: nn.Module) -> None:
    """Refresh the copy of a tied head that the CPU build packed at loading (0.6 nats off else)."""
    head: Any = model.lm_head
    head.quant_method.process_weights_after_loading(head)
