"""vLLM in processes of their own, whose threads, random state and process group it takes over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from trainer.batch import Example, collate
from trainer.config import Config
from trainer.policy import Policy
from trainer.rollout import Group, Prompt, Sampling, collect

pytest.importorskip("vllm", reason="vLLM is not installed")

SAMPLING = Sampling(num_samples=4, max_new_tokens=12, stream="0/1", temperature=0.7)
MAX_LENGTH = 32


@pytest.fixture(scope="module")
def configs(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Config]:
    """All weights with an untied head, and LoRA both ways with a tied one.

    vLLM's CPU attention has no heads as small as those of the model of the other tests.
    """
    tokenizer = PreTrainedTokenizerFast.from_pretrained(model_folder)
    folders = {}
    for tied in (False, True):
        folders[tied] = str(tmp_path_factory.mktemp("model"))
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=64,
            tie_word_embeddings=tied,
            initializer_range=0.2,
            bos_token_id=None,
            eos_token_id=1,
        )
        LlamaForCausalLM(config).save_pretrained(folders[tied])
        tokenizer.save_pretrained(folders[tied])
    base = Config(
        rollout="vllm", device="cpu", learning_rate=0.01, beta=0.0, vllm_kv_gb=0.05,
        rollout_batch_size=32,
    )  # fmt: skip
    lora = replace(base, model=folders[True], lora_rank=4)
    return {
        "full": replace(base, model=folders[False]),
        "tied": replace(base, model=folders[True]),
        "merged": lora,
        "adapter": replace(lora, vllm_lora="adapter"),
    }


def distance(policy: Policy, groups: list[Group], temperature: float) -> float:
    """Return the largest difference from the trainer's log-probabilities."""
    rows = [
        [Example(group.prompt, s, (0.0,) * len(s.ids))] for group in groups for s in group.samples
    ]
    batch = collate(rows, policy.device)
    with torch.no_grad():
        logprobs_N, _ = policy.scorer(
            batch.ids_BT, batch.position_BT, batch.source_N, batch.targets_N,
            packed=False, temperature=temperature, with_entropy=False,
        )  # fmt: skip
    return float((logprobs_N - batch.rollout_logprobs_N).abs().max())


def update(policy: Policy) -> None:
    """Take ten optimiser steps in a random direction."""
    torch.manual_seed(1)
    for parameter in policy.model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.randn_like(parameter)
    for _ in range(10):
        policy.optimizer.step()


@dataclass
class Facts:
    """What came out before and after ten updates."""

    before: list[Group]
    after: list[Group]
    distances: list[float]
    """Of vLLM before, vLLM after, transformers after."""
    leads: bool


def compare(policy: Policy, engine: Any, prompts: list[Prompt]) -> Facts:
    """Sample, update, sample again, with both engines."""
    mine = prompts[engine.replica :: engine.num_replicas]

    def draw(engine: Any) -> list[Group]:
        engine.sync()
        return collect(mine, engine.generate(mine, SAMPLING))

    drawn = [draw(engine)]
    distances = [distance(policy, drawn[0], 0.7)] if engine.leads else []
    engine.release()
    update(policy)
    drawn.append(draw(engine))
    return drawn, distances  # type: ignore[return-value]
