"""Completions as tensors without padding in what the loss sees, cut into micro-batches.

Shapes: B rows, T tokens of a row, N completion tokens of a micro-batch, S its completions.

A row holds one sequence (prompt and completion), or several one after the other whose positions
each start at 0. Rows are padded on the right to the longest. No attention mask is passed: in a
causal model no real token sees what lies to its right, and transformers keeps the sequences of a
row apart by their positions.

Everything the loss reads is flat, (N,): completion tokens alone, sequence after sequence, with the
sequence each belongs to beside it. Which tokens these are comes from lengths, never from token
values: an end-of-sequence token counts, even where the padding id is the same.
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
    advantages: tuple[float, ...]
    """One for each token of the completion."""

    @property
    def length(self) -> int:
        """Tokens of prompt and completion."""
        return len(self.prompt.ids) + len(self.sample.ids)


@dataclass(frozen=True)
class MicroBatch:
    """Examples as tensors.

    With prompts [p q] and [p], completions [x y] and [z], in one row:

        ids_BT      = [[p q x y p z]]
        position_BT = [[0 1 2 3 0 1]]
        source_N    = [1 2 4]            the flat positions whose outputs predict x, y and z
        targets_N   = [x y z]
        sequence_N  = [0 0 1]
    """

    ids_BT: Tensor
    position_BT: Tensor
    source_N: Tensor
    targets_N: Tensor
    sequence_N: Tensor
    rollout_logprobs_N: Tensor
    """float64"""
    advantages_N: Tensor
    """float64"""
    num_sequences: int
    packed: bool
    """Whether a row holds more than one sequence."""


Row = list[Example]


def collate(rows: Sequence[Row], device: torch.device) -> MicroBatch:
    """Put rows of examples into one micro-batch."""
    width = max(sum(e.length for e in row) for row in rows)
    ids: list[list[int]] = []
    positions: list[list[int]] = []
    sources: list[int] = []
    for b, row in enumerate(rows):
        row_ids: list[int] = []
        row_positions: list[int] = []
        for e in row:
            first = b * width + len(row_ids) + len(e.prompt.ids) - 1
            sources += range(first, first + len(e.sample.ids))
            row_ids += [*e.prompt.ids, *e.sample.ids]
            row_positions += range(e.length)
        padding = width - len(row_ids)
        # Padding goes on counting: it must not look like the start of another sequence.
        end = row_positions[-1] + 1
        ids.append(row_ids + [0] * padding)
        positions.append(row_positions + list(range(end, end + padding)))
    examples = [e for row in rows for e in row]

    def flat(values: Sequence[Sequence[float]], dtype: torch.dtype) -> Tensor:
        return torch.tensor([x for part in values for x in part], dtype=dtype, device=device)

    return MicroBatch(
        ids_BT=torch.tensor(ids, device=device),
        position_BT=torch.tensor(positions, device=device),
        source_N=torch.tensor(sources, device=device),
        targets_N=flat([e.sample.ids for e in examples], torch.long),
        sequence_N=flat([[s] * len(e.sample.ids) for s, e in enumerate(examples)], torch.long),
        rollout_logprobs_N=flat([e.sample.logprobs for e in examples], torch.float64),
        advantages_N=flat([e.advantages for e in examples], torch.float64),
        num_sequences=len(examples),
        packed=any(len(row) > 1 for row in rows),
    )


def plan_rows(examples: Sequence[Example], pack_tokens: int) -> list[Row]:
    """Lay examples into rows, the longest first: first fit by decreasing length.

    Args:
        examples: What is to be learned from.
        pack_tokens: Tokens that sequences sharing a row may have together; 0 = a row each. A
            longer sequence has a row of its own.
    """
    rows: list[Row] = []
    room: list[int] = []
    for example in sorted(examples, key=lambda e: -e.length):
        fit = next((i for i, left in enumerate(room) if left >= example.length), None)
        if fit is None:
            rows.append([example])
            room.append(pack_tokens - example.length)
        else:
            rows[fit].append(example)
            room[fit] -= example.length
    return sorted(rows, key=lambda row: -sum(e.length for e in row))


def plan_micro_batches(
    examples: Sequence[Example], *, tokens: int, pack_tokens: int, ranks: int = 1
) -> list[list[list[Row]]]:
    """Share the rows of an optimiser step among ranks, and cut each share into micro-batches.

    Each rank gets as many micro-batches as every other, since ranks wait for each other in each;
    the n-th ones of all ranks are about equally large. Where there are too few rows, some are
    empty lists.

    Args:
        examples: What is to be learned from; the same on all ranks.
        tokens: Padded tokens that a micro-batch may have; a longer row has one of its own.
        pack_tokens: See `plan_rows`.
        ranks: How many share the work.

    Returns:
        For each rank its micro-batches, each a list of rows.
    """
    batches: list[list[Row]] = []
    width = 0
    for row in plan_rows(examples, pack_tokens):
        if batches and (len(batches[-1]) + 1) * width <= tokens:
            batches[-1].append(row)
        else:
            width = sum(e.length for e in row)  # the longest of its micro-batch
            batches.append([row])
    while len(batches) % ranks:
        largest = max(range(len(batches)), key=lambda i: len(batches[i]))
        if len(batches[largest]) < 2:
            batches.append([])
            continue
        whole = batches[largest]
        batches[largest : largest + 1] = [whole[::2], whole[1::2]]
    return [batches[rank::ranks] for rank in range(ranks)]
