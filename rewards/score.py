"""What a completion is worth, and why."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Self


class Verdict(StrEnum):
    """The seven outcomes of a judgement; a verifier's own terms go into `evidence["code"]`."""

    CORRECT = "correct"
    PARTIAL = "partial"
    INCORRECT = "incorrect"
    MALFORMED = "malformed"
    """No answer was found in the completion."""
    TIMEOUT = "timeout"
    """The completion's own code ran over its CPU limit."""
    LIMIT = "limit"
    """The completion broke another limit: memory, output, processes, size."""
    UNJUDGED = "unjudged"
    """The machine failed; says nothing about the completion."""


@dataclass(frozen=True, slots=True)
class Score:
    """The judgement of one completion against one spec.

    Frozen, picklable, and equal to itself after `Score.from_json(score.to_json())` when its
    evidence is plain data.

    Raises:
        ValueError: If value or outcome is not finite, outcome leaves [0, 1], or exactly one of
            "value is None" and "verdict is unjudged" holds.
    """

    value: float | None
    """The reward, shaping included. None means that it could not be judged; never the same as 0."""
    verdict: Verdict
    reason: str = ""
    """One sentence that a person can act on."""
    outcome: float | None = None
    """Correctness alone, in [0, 1]; None for pure shaping and for the unjudged."""
    parts: Mapping[str, Score] = field(default_factory=dict)
    """Name -> Score of each part of a composition."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """Plain data that shows how the verdict came about."""
    steps: tuple[tuple[int, float], ...] = ()
    """Process supervision: (end offset in characters of the completion's text, value) pairs."""
    elapsed_s: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", Verdict(self.verdict))
        if (self.value is None) != (self.verdict is Verdict.UNJUDGED):
            raise ValueError(f"value {self.value!r} does not go with verdict {self.verdict!s}")
        for name in ("value", "outcome"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{name} must be finite, not {number!r}")
        if self.outcome is not None and not 0 <= self.outcome <= 1:
            raise ValueError(f"outcome must be in [0, 1], not {self.outcome!r}")

    @property
    def judged(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    @classmethod
    def correct(cls, reason: str = "", **evidence: Any) -> Self:
        """Build a full score."""
        return cls(1.0, Verdict.CORRECT, reason, evidence=evidence)

    @classmethod
    def incorrect(cls, reason: str, **evidence: Any) -> Self:
        """Build a zero: an answer was there and it is wrong."""
        return cls(0.0, Verdict.INCORRECT, reason, evidence=evidence)

    @classmethod
    def malformed(cls, reason: str, **evidence: Any) -> Self:
        """Build a zero: there was no answer to judge."""
        return cls(0.0, Verdict.MALFORMED, reason, evidence=evidence)

    @classmethod
    def fraction(cls, value: float, reason: str = "", **evidence: Any) -> Self:
        """Build a graded score; 1 is correct, 0 incorrect, anything between partial."""
        verdict = Verdict.PARTIAL
        if value >= 1:
            verdict = Verdict.CORRECT
        elif value <= 0:
            verdict = Verdict.INCORRECT
        return cls(value, verdict, reason, evidence=evidence)

    @classmethod
    def unjudged(cls, reason: str, **evidence: Any) -> Self:
        """Build the third state: the machine failed and nothing is known of the completion."""
        return cls(None, Verdict.UNJUDGED, reason, evidence=evidence)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without empty fields."""
        data: dict[str, Any] = {"value": self.value, "verdict": str(self.verdict)}
        for name in ("reason", "outcome", "evidence", "steps"):
            if (item := getattr(self, name)) not in (None, "", {}, ()):
                data[name] = item
        if self.parts:
            data["parts"] = {name: part.to_dict() for name, part in self.parts.items()}
        data["elapsed_s"] = round(self.elapsed_s, 6)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a score from `to_dict`'s data; unknown keys raise TypeError."""
        known = {f.name for f in fields(cls)}
        if unknown := set(data) - known:
            raise TypeError(f"not a field of Score: {sorted(unknown)}")
        items = dict(data)
        items["steps"] = tuple((int(end), float(v)) for end, v in items.get("steps", ()))
        items["parts"] = {k: cls.from_dict(part) for k, part in items.get("parts", {}).items()}
        return cls(**items)

    def to_json(self) -> str:
        """Return one line of JSON; evidence that JSON lacks is written as its repr."""
        return json.dumps(self.to_dict(), ensure_ascii=False, default=repr)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a score from `to_json`'s line."""
        return cls.from_dict(json.loads(text))
