"""Which engine samples."""

from __future__ import annotations

from importlib.util import find_spec

from trainer.config import Config
from trainer.policy import Policy
from trainer.rollout import RolloutEngine


def open_engine(policy: Policy, config: Config, max_length: int) -> RolloutEngine:
    """Open the engine that the settings ask for. Collective.

    Args:
        policy: What is sampled from.
        config: The settings; `rollout` "auto" is vLLM on a GPU where it is installed.
        max_length: Most tokens of a prompt and its completion.

    Raises:
        ConfigurationError: If the engine cannot run as asked.
        MissingExtraError: If vLLM is asked for and not installed.
    """
    name = config.rollout
    if name == "auto":
        name = "vllm" if policy.device.type == "cuda" and find_spec("vllm") else "hf"
    if name == "vllm":
        from trainer.rollout.vllm import VLLMEngine

        return VLLMEngine(policy, config, max_length)
    from trainer.rollout.hf import HFEngine

    return HFEngine(policy, config)
