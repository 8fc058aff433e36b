"""Which prompts next: seeded shuffled passes over the data, plain or by what is being learnt.

Prompts whose completions are all right or all wrong teach nothing (their group has no spread), and
which ones these are changes as the policy does. The curriculum remembers how often each prompt is
solved and leaves the others more room; nobody is left out for good.

Both orders are functions of the seed and of what they were told, and their state is plain data.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trainer.config import Config

MEMORY = 0.5
"""Weight of what was known of a prompt before its newest visit: the policy has moved on since."""
LONGEST_REST = 16
"""Passes after which every prompt is checked again."""


def open_order(config: Config, num_rows: int) -> PromptOrder:
    """Return the order that the settings ask for."""
    if config.curriculum:
        return Curriculum(
            num_rows, config.seed, low=config.curriculum_low, high=config.curriculum_high
        )
    return PromptOrder(num_rows, config.seed)


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
    dealt: set[int] = field(default_factory=set)
    """Rows of the current step, which it never gets twice; between steps it means nothing."""

    def begin_step(self) -> None:
        """Let rows of the last step be dealt again."""
        self.dealt.clear()

    def next_batch(self, size: int) -> list[int]:
        """Return the next `size` distinct row indices; fewer if the step has had the others.

        Raises:
            ValueError: If there are fewer rows than that.
        """
        if size > self.num_rows:
            raise ValueError(f"cannot draw {size} distinct rows of {self.num_rows}")
        batch = self._deal(min(size, self.num_rows - len(self.dealt)))
        self.dealt.update(batch)
        return batch

    def _deal(self, size: int) -> list[int]:
        while True:
            rest = self._permutation()[self.position :]
            batch = [row for row in rest if row not in self.dealt][:size]
            if len(batch) == size:
                self.position += rest.index(batch[-1]) + 1 if batch else 0
                return batch
            self.epoch, self.position = self.epoch + 1, 0

    def _permutation(self) -> list[int]:
        order = list(range(self.num_rows))
        random.Random(f"{self.seed}/{self.epoch}").shuffle(order)
        return order

    def see(self, row: int, outcomes: Sequence[float]) -> None:
        """Take note of how right the judged completions of a row were."""

    def metrics(self) -> dict[str, float]:
        """Describe the state."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return the cursor."""
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put the cursor back."""
        self.epoch, self.position = state["epoch"], state["position"]


@dataclass
class Curriculum(PromptOrder):
    """Deals rows that are solved sometimes more often than rows that are not.

    Of each row it keeps the pass rate: the mean outcome of its judged completions, averaged over
    visits with exponentially falling weights. (The mean, and not the share that is wholly right:
    completions that pass different numbers of tests can be learnt from.) After a visit

    - a row whose rate lies within `low`..`high` takes part in the next pass again;
    - one outside of it rests for a pass;
    - one outside of it that was solved always or never rests for 2 passes, then 4, 8, at most 16.

    A pass begins with what found no room in the one before; then rows of the band and rows never
    seen come before those that are back from a rest.
    """

    low: float = 0.2
    high: float = 0.8
    rate: list[float | None] = field(default_factory=list)
    """Pass rate of each row; None before its first judged visit."""
    streak: list[int] = field(default_factory=list)
    """Visits on end that left the row outside of the band, solved always or never."""
    due: list[int] = field(default_factory=list)
    """First pass in which the row may be dealt again."""

    def __post_init__(self) -> None:
        self.rate = self.rate or [None] * self.num_rows
        self.streak = self.streak or [0] * self.num_rows
        self.due = self.due or [0] * self.num_rows

    def _deal(self, size: int) -> list[int]:
        while True:
            due = [row for row in self._permutation() if self.due[row] <= self.epoch]
            rows = [row for row in due if row not in self.dealt]
            if len(rows) >= size:
                batch = sorted(rows, key=self._rank)[:size]  # stable: still shuffled
                for row in batch:
                    self.due[row] = self.epoch + 1
                return batch
            self.epoch += 1  # what was left stays due; every rest ends

    def see(self, row: int, outcomes: Sequence[float]) -> None:
        """Take note of how right the judged completions of a row were, and let it rest or not."""
        if not outcomes:
            return
        now, before = sum(outcomes) / len(outcomes), self.rate[row]
        self.rate[row] = now if before is None else MEMORY * before + (1 - MEMORY) * now
        outside = self._is_outside(row)
        self.streak[row] = self.streak[row] + 1 if outside and now in (0, 1) else 0
        rest = min(2 ** self.streak[row], LONGEST_REST) if outside else 0
        self.due[row] = self.epoch + 1 + rest

    def _rank(self, row: int) -> int:
        if self.due[row] < self.epoch:
            return 0
        return 2 if self._is_outside(row) else 1

    def _is_outside(self, row: int) -> bool:
        rate = self.rate[row]
        return rate is not None and not self.low <= rate <= self.high

    def metrics(self) -> dict[str, float]:
        """Describe the state: shares of rows seen, of those within the band, and of rows resting.

        A row rests if it sits out the next pass.
        """
        seen = [row for row in range(self.num_rows) if self.rate[row] is not None]
        inside = len(seen) - sum(map(self._is_outside, seen))
        return {
            "curriculum/pass": self.epoch,
            "curriculum/seen_frac": len(seen) / self.num_rows,
            "curriculum/in_band_frac": inside / max(1, len(seen)),
            "curriculum/resting_frac": sum(d > self.epoch + 1 for d in self.due) / self.num_rows,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the pass and what is known of each row."""
        memory = {name: list(getattr(self, name)) for name in ("rate", "streak", "due")}
        return {"epoch": self.epoch, **memory}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put the state back."""
        self.epoch = state["epoch"]
        for name in ("rate", "streak", "due"):
            setattr(self, name, list(state[name]))
