"""What a rollout is: token ids and their log-probabilities, never re-tokenised text.

`hf.HFEngine` samples with the policy's own transformers model; other engines implement the same
Protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True)
class Prompt:
    """A prompt as it enters the model."""

    id: str
    ids: tuple[int, ...]
    """Token ids, chat template included."""
    text: str
    """The same as text, for people and logs."""


@dataclass(frozen=True)
class Sample:
    """One completion, as it was sampled."""

    ids: tuple[int, ...]
    """Sampled token ids; the last one is an end-of-sequence id exactly if it finished by "stop"."""
    logprobs: tuple[float, ...]
    """Log-probability of each sampled id under the distribution it was drawn from, in nats."""
    finish_reason: FinishReason
    text: str
    """Decoded without special tokens, for scoring; never encoded again."""

    @property
    def truncated(self) -> bool:
        """Whether the length limit cut it off."""
        return self.finish_reason == "length"


@dataclass(frozen=True)
class Group:
    """The completions of one prompt, which are compared with each other."""

    prompt: Prompt
    samples: tuple[Sample, ...]


class RolloutEngine(Protocol):
    """Samples completions from the current policy."""

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        num_samples: int,
        max_new_tokens: int,
        temperature: float,
        stream: str,
    ) -> list[Group]:
        """Sample `num_samples` completions for each prompt, in order.

        Args:
            prompts: What to complete.
            num_samples: Completions a prompt (G).
            max_new_tokens: Length at which a completion is cut off.
            temperature: The logits are divided by it, and nothing else happens to them.
            stream: Name of the random stream, e.g. of seed and step. Sample k of a prompt depends
                on (stream, prompt id, k) alone, not on what else is sampled along with it.
        """
        ...
