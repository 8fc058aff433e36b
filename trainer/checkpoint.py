"""Atomic checkpoints: weights in Hugging Face layout, and the rest of the run beside them.

    checkpoints/step-000050/   config.json, model.safetensors, tokenizer files, trainer_state.pt
    checkpoints/latest         the name of the newest complete one

A checkpoint is written under a temporary name, flushed to disk, then renamed; `latest` follows, and
only then are older ones removed. Whatever moment the machine dies at, `latest` names a whole one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from rewards.errors import ConfigurationError
from trainer.policy import Policy

STATE_FILE = "trainer_state.pt"
STATE_VERSION = 1
LATEST = "latest"
_TEMPORARY = ".tmp-"


def save_checkpoint(
    folder: Path, step: int, policy: Policy, state: Mapping[str, Any], *, keep: int
) -> Path:
    """Save a checkpoint of `step` and return its folder.

    Args:
        folder: The run's checkpoints folder.
        step: Optimisation steps taken.
        policy: Weights, tokenizer and optimiser.
        state: What else a resumed run needs, as plain data and tensors.
        keep: Checkpoints to leave, this one included.
    """
    target = folder / f"step-{step:06d}"
    if not target.exists():
        temporary = folder / f"{_TEMPORARY}{target.name}"
        shutil.rmtree(temporary, ignore_errors=True)  # left by a run that died here
        temporary.mkdir(parents=True)
        _write(temporary, step, policy, state)
        _sync_tree(temporary)
        temporary.rename(target)
        _sync(folder)
    _point_to(folder, target.name)
    _prune(folder, keep)
    return target


def _write(folder: Path, step: int, policy: Policy, state: Mapping[str, Any]) -> None:
    policy.model.save_pretrained(folder)
    policy.tokenizer.save_pretrained(folder)
    everything = {
        "version": STATE_VERSION,
        "step": step,
        "optimizer": policy.optimizer.state_dict(),
        "torch_rng": torch.get_rng_state(),
        "state": dict(state),
    }
    torch.save(everything, folder / STATE_FILE)


def _point_to(folder: Path, name: str) -> None:
    temporary = folder / f"{_TEMPORARY}{LATEST}"
    temporary.write_text(name + "\n", encoding="utf-8")
    _sync(temporary)
    temporary.replace(folder / LATEST)
    _sync(folder)


def _prune(folder: Path, keep: int) -> None:
    for old in sorted(folder.glob("step-*"))[:-keep]:
        shutil.rmtree(old)


def _sync_tree(folder: Path) -> None:
    for path in folder.rglob("*"):
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    """Flush a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def latest_checkpoint(folder: Path) -> Path | None:
    """Return the newest complete checkpoint, or None if there is none yet.

    Raises:
        ConfigurationError: If `latest` names one that is gone.
    """
    pointer = folder / LATEST
    if not pointer.exists():
        return None
    target = folder / pointer.read_text(encoding="utf-8").strip()
    if not (target / STATE_FILE).is_file():
        raise ConfigurationError(
            f"{pointer} names {target.name}, which is not there; write the name of another "
            "checkpoint into it, or start again with --overwrite"
        )
    return target


def load_state(checkpoint: Path, policy: Policy) -> tuple[int, dict[str, Any]]:
    """Restore optimiser and random state; return the step and the rest of the state.

    The weights are not touched: `load_policy(start=checkpoint)` reads those.

    Raises:
        ConfigurationError: If the checkpoint is of another version.
    """
    saved = torch.load(checkpoint / STATE_FILE, map_location="cpu", weights_only=True)
    if saved["version"] != STATE_VERSION:
        raise ConfigurationError(
            f"{checkpoint} has state version {saved['version']}, this program reads {STATE_VERSION}"
        )
    policy.optimizer.load_state_dict(saved["optimizer"])
    torch.set_rng_state(saved["torch_rng"])
    return saved["step"], saved["state"]
