"""Which prompts next: seeded shuffled epochs with a cursor that a checkpoint keeps."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass
class PromptOrder:
    """Deals row indices in shuffled epochs.

    A batch never crosses an epoch: the few rows left at an epoch's end are skipped (the next
    shuffle brings them again), since a prompt twice in a batch would get the same samples twice.
    """

    num_rows: int
    seed: int
    epoch: int = 0
    position: int = 0

    def next_batch(self, size: int) -> list[int]:
        """Return the next `size` distinct row indices.

        Raises:
            ValueError: If there are fewer rows than that.
        """
        if size > self.num_rows:
            raise ValueError(f"cannot draw {size} distinct rows of {self.num_rows}")
        if self.position + size > self.num_rows:
            self.epoch, self.position = self.epoch + 1, 0
        batch = self._permutation()[self.position : self.position + size]
        self.position += size
        return batch

    def _permutation(self) -> list[int]:
        order = list(range(self.num_rows))
        random.Random(f"{self.seed}/{self.epoch}").shuffle(order)
        return order

    def state_dict(self) -> dict[str, int]:
        """Return the cursor."""
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Put the cursor back."""
        self.epoch, self.position = state["epoch"], state["position"]
