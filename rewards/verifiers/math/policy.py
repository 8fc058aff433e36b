"""The conventions of the math verifier that are choices, each with a switch."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Policy(BaseModel):
    """What is forgiven where mathematics alone does not decide; docs/math.md gives reasons."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    missing_unit: bool = True
    """A unit that only one of gold and answer has is forgiven; one that differs never is."""
    percent: bool = True
    """36% matches a gold of 36 as well as 0.36."""
    rounded_gold: bool = True
    """A decimal gold of three digits or more matches what rounds to it: 0.333 and 1/3."""
    double_precision: bool = True
    """A decimal of 15 digits or more matches the exact value that it rounds."""
    bare_value: bool = True
    """5 matches "x = 5", and "y = 2x" matches 2x."""
    brackets: bool = True
    """A list without brackets matches the set, or in order the tuple, with them."""
    constant: bool = True
    """A constant of integration may go by any of the names C, c, K, k."""
