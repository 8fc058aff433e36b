"""How strictly a proof is judged."""

from __future__ import annotations

from typing import Literal

Level = Literal["messages", "axioms", "replay", "comparator"]
"""What a proof must pass, each level more than the one before it; see docs/lean.md."""
STANDARD_AXIOMS = ("propext", "Quot.sound", "Classical.choice")
"""What Lean's own library, and so any proof, may rest on."""
