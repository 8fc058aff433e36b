"""Errors raised to users: only ever for the *user's* mistakes.

A wrong or crashing completion is a `Score`; a broken machine is a `Score` whose value is None.
Neither is an exception.

    RewardsError
    ├── SpecError             (ValueError)    a spec that cannot be understood or contradicts itself
    ├── VerifierNotFoundError (LookupError)   a type that no verifier answers to
    ├── PluginError           (ImportError)   a verifier's module that cannot be imported or used
    ├── ConfigurationError    (ValueError)    settings, arguments or data files that make no sense
    └── MissingExtraError     (ImportError)   an optional dependency that is not installed

Each also inherits the built-in error it stands for, and all of them survive pickling: no
constructor takes more than the message.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RewardsError(Exception):
    """Root of everything this library raises to its users."""


class SpecError(RewardsError, ValueError):
    """A spec is malformed, or its gold answer cannot be used."""


class VerifierNotFoundError(RewardsError, LookupError):
    """No verifier answers to this type."""


class PluginError(RewardsError, ImportError):
    """A verifier's module cannot be imported, or does not hold a verifier."""


class ConfigurationError(RewardsError, ValueError):
    """Settings, arguments or files do not make sense together."""


class MissingExtraError(RewardsError, ImportError):
    """A feature needs an optional dependency that is not installed."""


def missing_extra(feature: str, extra: str) -> MissingExtraError:
    """Name the exact command that makes `feature` available."""
    return MissingExtraError(f"{feature} needs an extra: pip install 'assay-rl[{extra}]'")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known word, or the empty string."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""
