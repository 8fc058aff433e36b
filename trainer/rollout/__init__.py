"""What a rollout is: token ids and their log-probabilities, never re-tokenised text.

`vllm.VLLMEngine` samples with vLLM in the same process, `hf.HFEngine` with transformers; both
implement the same Protocol, and both report each completion as soon as it is finished, so that it
can be scored while others are still being sampled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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


@dataclass(frozen=True)
class Sampling:
    """How completions are drawn."""

    num_samples: int
    """Completions a prompt (G)."""
    max_new_tokens: int
    """Length at which a completion is cut off."""
    stream: str
    """Name of the random stream, e.g. of seed and step. Sample k of a prompt depends on (stream,
    prompt id, k) alone, not on what else is sampled along with it."""
    temperature: float = 1.0
    """The logits are divided by it, and nothing else happens to them in training."""
    top_p: float = 1.0
    """Evaluation only: the log-probabilities are then those of the kept tokens (trl 6789)."""


@dataclass(frozen=True)
class Finished:
    """A completion that an engine has finished."""

    prompt: int
    """Index of its prompt in the call."""
    k: int
    """Its index in the group."""
    sample: Sample


class RolloutEngine(Protocol):
    """Samples completions from the current policy.

    With several ranks each rank has an engine, and all ranks make the same calls in the same order.
    """

    replica: int
    """Which share of the prompts is sampled here: `prompts[replica::num_replicas]`."""
    num_replicas: int
    leads: bool
    """Whether this rank is the first of its replica. The others of a tensor-parallel group sample
    the same completions along with it, and report none; all of them must exhaust `generate`."""

    def sync(self) -> None:
        """Take over the policy's current weights, and be ready to sample. Collective."""
        ...

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[Finished]:
        """Sample completions of each prompt, in the order in which they finish."""
        ...

    def release(self) -> None:
        """Give memory back to training; `sync` comes before the next sampling."""
        ...

    def close(self) -> None:
        """Shut down; nothing may follow."""
        ...


def stream_seed(stream: str, prompt_id: str, k: int) -> int:
    """Hash the name of a sample into the seed of its random generator, below 2**63."""
    name = json.dumps([stream, prompt_id, k])
    digest = hashlib.blake2b(name.encode(), digest_size=8, key=b"rollout").digest()
    return int.from_bytes(digest, "big") >> 1


def decode(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> str:
    """Return the text of a completion, without special tokens and with its spaces as they are."""
    text = tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return str(text)
