"""What is a completion worth? Verifiers for reinforcement learning with verifiable rewards.

>>> import rewards
>>> rewards.score("4", {"type": "math", "answer": "2+2"}).verdict
<Verdict.CORRECT: 'correct'>
"""

from __future__ import annotations

import logging

from rewards.completion import Completion
from rewards.engine import compile_cached as compile_spec
from rewards.engine import score, score_batch
from rewards.errors import (
    ConfigurationError,
    MissingExtraError,
    PluginError,
    RewardsError,
    SpecError,
    VerifierNotFoundError,
)
from rewards.machinery import configure
from rewards.registry import Verifier, get_verifier, list_verifiers, load, verifier
from rewards.score import Score, Verdict
from rewards.spec import Spec

__all__ = [
    "Completion",
    "ConfigurationError",
    "MissingExtraError",
    "PluginError",
    "RewardsError",
    "Score",
    "Spec",
    "SpecError",
    "Verdict",
    "Verifier",
    "VerifierNotFoundError",
    "compile_spec",
    "configure",
    "get_verifier",
    "list_verifiers",
    "load",
    "score",
    "score_batch",
    "verifier",
]

__distribution__ = "assay-rl"

logging.getLogger(__name__).addHandler(logging.NullHandler())
