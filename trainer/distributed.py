"""The ranks of a run: one process a GPU, or a single process that needs none of this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class World:
    """All ranks, seen from one of them."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def is_main(self) -> bool:
        """Whether this rank writes files and talks to people."""
        return self.rank == 0

    def gather(self, mine: Any) -> list[Any]:
        """Return every rank's object, in the order of the ranks. Collective."""
        if self.size == 1:
            return [mine]
        everyone: list[Any] = [None] * self.size
        dist.all_gather_object(everyone, mine)
        return everyone

    def agree(self, yes: bool) -> bool:
        """Return whether any rank says yes. Collective."""
        return any(self.gather(yes))

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum over all ranks. Collective."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def barrier(self) -> None:
        """Wait for all ranks. Collective."""
        if self.size > 1:
            dist.barrier()
