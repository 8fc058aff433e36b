"""Scored completions as padded tensors, cut into micro-batches.

Shapes: B sequences, T tokens of prompt and completion, C completion tokens.

Sequences are padded on the right. In a causal model no real token can see what lies to its right,
so the passes need no attention mask at all. The completion mask comes from lengths: an
end-of-sequence token counts, even where the padding id is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.rollout import Prompt, Sample


@dataclass(frozen=True)
class Example:
    """One completion that the loss sees."""

    prompt: Prompt
    sample: Sample
    advantage: float

    @property
    def length(self) -> int:
        """Tokens of prompt and completion."""
        return len(self.prompt.ids) + len(self.sample.ids)


@dataclass(frozen=True)
class MicroBatch:
    """Examples as tensors.

    With prompts [p q] and [p], completions [x y] and [z]:

        ids_BT    = [[p q x y], [p z 0 0]]
        source_BT = [[0 1 1 0], [1 0 0 0]]    whose outputs predict the completion tokens
        mask_BC   = [[1 1], [1 0]]
    """

    ids_BT: Tensor
    source_BT: Tensor
    targets_BC: Tensor
    mask_BC: Tensor
    rollout_logprobs_BC: Tensor
    advantages_B: Tensor

    @property
    def num_tokens(self) -> int:
        """Completion tokens without padding."""
        return int(self.mask_BC.sum())


def collate(examples: Sequence[Example], device: torch.device) -> MicroBatch:
    """Pad examples into one micro-batch."""
    width_T = max(example.length for example in examples)
    width_C = max(len(example.sample.ids) for example in examples)
    prompt_B1 = torch.tensor([[len(e.prompt.ids)] for e in examples])
    length_B1 = torch.tensor([[len(e.sample.ids)] for e in examples])
    column_T = torch.arange(width_T)
    return MicroBatch(
        ids_BT=_pad([(*e.prompt.ids, *e.sample.ids) for e in examples], width_T).to(device),
        source_BT=((column_T >= prompt_B1 - 1) & (column_T < prompt_B1 - 1 + length_B1)).to(device),
        targets_BC=_pad([e.sample.ids for e in examples], width_C).to(device),
        mask_BC=(torch.arange(width_C) < length_B1).to(device),
        rollout_logprobs_BC=_pad([e.sample.logprobs for e in examples], width_C, torch.float64).to(
            device
        ),
        advantages_B=torch.tensor([e.advantage for e in examples], dtype=torch.float64).to(device),
    )


def micro_batches(examples: Sequence[Example], size: int, device: torch.device) -> list[MicroBatch]:
    """Cut the examples of a step into micro-batches of similar lengths."""
    ordered = sorted(examples, key=lambda example: example.length)
    return [collate(ordered[i : i + size], device) for i in range(0, len(ordered), size)]


def _pad(rows: Sequence[Sequence[float]], width: int, dtype: torch.dtype = torch.long) -> Tensor:
    padded = torch.zeros(len(rows), width, dtype=dtype)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = torch.tensor(row, dtype=dtype)
    return padded
