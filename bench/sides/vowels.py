"""A reward that costs nothing and differs between completions: the share of vowels."""

from __future__ import annotations

from typing import Literal

import rewards


class VowelsSpec(rewards.Spec):
    """Asks for nothing more."""

    type: Literal["vowels"] = "vowels"


@rewards.verifier(name="vowels", spec=VowelsSpec)
def vowels(completion: rewards.Completion, spec: VowelsSpec) -> rewards.Score:
    """Return the share of the letters a, e, i, o and u."""
    text = completion.text
    share = sum(map(text.count, "aeiou")) / max(1, len(text))
    return rewards.Score.fraction(share, f"{share:.0%} vowels")
