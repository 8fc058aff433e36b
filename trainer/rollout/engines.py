"""Which engine a run samples with."""

from __future__ import annotations

import importlib.util

from trainer.config import Config
from trainer.policy import Policy
from trainer.rollout import RolloutEngine


def open_engine(policy: Policy, config: Config, max_length: int) -> RolloutEngine:
    """Open the engine that the settings ask for; `sync` comes before it samples. Collective.

    Args:
        policy: What is sampled from.
        config: The settings; `rollout="auto"` is vLLM on a GPU where it is installed.
        max_length: Most tokens that a prompt and its completion have together.

    Raises:
        ConfigurationError: If vLLM cannot run as asked.
        MissingExtraError: If it is asked for and not installed.
    """
    kind = config.rollout
    if kind == "auto":
        found = importlib.util.find_spec("vllm") is not None
        kind = "vllm" if policy.device.type == "cuda" and found else "hf"
    if kind == "vllm":
        from trainer.rollout.vllm import VLLMEngine

        return VLLMEngine(policy, config, max_length)
    from trainer.rollout.hf import HFEngine

    return HFEngine(policy, config)
