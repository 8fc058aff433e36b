"""What the generators of the Lean task draw: a theorem, what it speaks of, and a proof.

Names are canonical: the first proposition, function or type of a theorem has always the same name.
So two theorems that differ by names alone are the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NAME = "target"
"""What every theorem of the task is called."""


@dataclass(frozen=True)
class Theorem:
    """A statement with one proof."""

    binders: str
    """Its hypotheses and variables, as Lean writes them before the colon."""
    claim: str
    proof: str
    """What follows ":="."""
    preamble: str = ""
    """The definitions that it speaks of."""
    lemmas: str = ""
    """What the proof needs before it."""

    @property
    def statement(self) -> str:
        """The theorem without its proof."""
        binders = f" {self.binders}" if self.binders else ""
        return f"theorem {NAME}{binders} : {self.claim}"

    @property
    def code(self) -> str:
        """The theorem with its proof, after the lemmas that the proof needs."""
        lemmas = f"{self.lemmas}\n\n" if self.lemmas else ""
        return f"{lemmas}{self.statement} := {self.proof}"


def tactics(lines: Iterable[str]) -> str:
    """Write a tactic proof; ``intro`` lines that follow each other become one."""
    merged: list[str] = []
    for line in lines:
        if merged and merged[-1].startswith("intro ") and line.startswith("intro "):
            merged[-1] += line.removeprefix("intro")
        else:
            merged.append(line)
    return "\n".join(["by", *indent(merged)])


def indent(lines: Iterable[str]) -> list[str]:
    """Move lines to the right by one step."""
    return [f"  {line}" for line in lines]


def induction(variable: str, cases: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Write a proof by induction.

    Args:
        variable: What the induction is over.
        cases: For each constructor its name with the names of what it brings, and the tactics.
    """
    lines = [f"induction {variable} with"]
    for pattern, steps in cases:
        if len(steps) == 1:
            lines.append(f"| {pattern} => {steps[0]}")
        else:
            lines += [f"| {pattern} =>", *indent(steps)]
    return tactics(lines)
