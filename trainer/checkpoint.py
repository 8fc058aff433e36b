"""Atomic checkpoints: weights in Hugging Face layout, and the rest of the run beside them.

    checkpoints/step-000050/   config.json, model.safetensors, tokenizer files, trainer_state.pt
    checkpoints/latest         the name of the newest complete one

A checkpoint is written under a temporary name, flushed to disk, then renamed; `latest` follows, and
only then are older ones removed. Whatever moment the machine dies at, `latest` names a whole one.
A run that goes on from an older one (`latest` can be edited) first removes those after it: they
belong to a future that will not come.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import torch

from rewards.errors import ConfigurationError
from trainer.policy import Policy

STATE_FILE = "trainer_state.pt"
STATE_VERSION = 2
LATEST = "latest"
_TEMPORARY = ".tmp-"
_NAME = re.compile(r"step-(\d+)")


def save_checkpoint(
    folder: Path, step: int, policy: Policy, state: Mapping[str, Any], *, keep: int
) -> Path:
    """Save a checkpoint of `step` and return its folder.

    Args:
        folder: The run's checkpoints folder.
        step: Steps taken.
        policy: Weights, tokenizer and optimiser.
        state: What else a resumed run needs, as plain data and tensors.
        keep: Checkpoints to leave, this one included.

    Raises:
        OSError: If it cannot be written, as on a full disk; the older ones are untouched.
    """
    target = folder / f"step-{step:06d}"
    temporary = folder / f"{_TEMPORARY}{target.name}"
    shutil.rmtree(temporary, ignore_errors=True)  # left by a run that died here
    temporary.mkdir(parents=True)
    try:
        _write(temporary, step, policy, state)
    except (safetensors.SafetensorError, RuntimeError) as error:
        # Neither library lets the operating system's own error through.
        raise OSError(f"cannot write the checkpoint {target}: {error}") from error
    _sync_tree(temporary)
    replaced = temporary.with_name(f"{temporary.name}-replaced")
    if target.exists():  # this step once more; the old one stays whole until this one is
        target.rename(replaced)
    temporary.rename(target)
    _sync(folder)
    shutil.rmtree(replaced, ignore_errors=True)
    _point_to(folder, target.name)
    _prune(folder, target, keep)
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


def _prune(folder: Path, newest: Path, keep: int) -> None:
    steps = _steps(folder)
    others = sorted(steps.keys() - {newest}, key=steps.__getitem__, reverse=True)
    for old in others[keep - 1 :]:
        shutil.rmtree(old)


def _steps(folder: Path) -> dict[Path, int]:
    """Return the checkpoints in a folder, complete or not, with their steps."""
    found = ((path, _NAME.fullmatch(path.name)) for path in folder.glob("step-*"))
    return {path: int(match[1]) for path, match in found if match}


def discard_after(folder: Path, step: int) -> None:
    """Remove the checkpoints after `step`, and what runs that died left half-written."""
    later = [path for path, number in _steps(folder).items() if number > step]
    for path in [*later, *folder.glob(f"{_TEMPORARY}step-*")]:
        shutil.rmtree(path)


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
        ConfigurationError: If the checkpoint is damaged, of another version or another model.
    """
    path = checkpoint / STATE_FILE
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, pickle.UnpicklingError) as error:
        raise ConfigurationError(
            f"{path} cannot be read ({str(error)[:80]}); write the name of another checkpoint "
            f"into {checkpoint.with_name(LATEST)}"
        ) from error
    if saved["version"] != STATE_VERSION:
        raise ConfigurationError(
            f"{checkpoint} has state version {saved['version']}, this program reads {STATE_VERSION}"
        )
    # The state brings the settings of the run that wrote it; those of this run hold.
    decays = [group["weight_decay"] for group in policy.optimizer.param_groups]
    try:
        policy.optimizer.load_state_dict(saved["optimizer"])
    except ValueError as error:
        raise ConfigurationError(f"{path} is of another model: {error}") from error
    for group, decay in zip(policy.optimizer.param_groups, decays, strict=True):
        group["weight_decay"] = decay
    torch.set_rng_state(saved["torch_rng"])
    return saved["step"], saved["state"]
