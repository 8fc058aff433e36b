"""Atomic checkpoints, written in the background: the run's state, and weights that others can load.

    checkpoints/latest         the name of the newest complete one
    checkpoints/step-000050/   config.json, model.safetensors, tokenizer files: Hugging Face layout
        shards/                float32 weights and AdamW's moments, from each rank its part
        trainer_state.pt       what else the next step depends on

`save` copies everything to CPU memory and returns; a thread writes the copy while training goes on.
A checkpoint is written under a temporary name, flushed to disk, then renamed; `latest` follows, and
only then are older ones removed. Whatever moment the machine dies at, `latest` names a whole one.
A run that goes on from an older one (`latest` can be edited) first removes those after it: they
belong to a future that will not come.

The shards are torch's distributed checkpoint (DCP): a run resumes from them bit for bit, on any
number of ranks. They hold what is trained alone, so of LoRA the adapters; the model beside them has
the adapters merged in, and is in the dtype of the passes.
"""

from __future__ import annotations

import copy
import os
import pickle
import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from huggingface_hub import save_torch_state_dict
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from rewards.errors import ConfigurationError
from trainer.distributed import TIMEOUT, World
from trainer.policy import Policy

STATE_FILE = "trainer_state.pt"
STATE_VERSION = 3
SHARDS = "shards"
LATEST = "latest"
_TEMPORARY = ".tmp-"
_NAME = re.compile(r"step-(\d+)")
_MODEL = "model"
# What torch and pickle raise on files that are not what they were when written.
_UNREADABLE = (
    OSError, EOFError, RuntimeError, ValueError, LookupError, AttributeError, ImportError,
    pickle.UnpicklingError, CheckpointException,
)  # fmt: skip


class Checkpointer:
    """Saves the checkpoints of a run, one at a time."""

    def __init__(self, folder: Path, policy: Policy, *, keep: int) -> None:
        """Make ready to save. Collective.

        Args:
            folder: The run's checkpoints folder.
            policy: Weights, tokenizer and optimiser.
            keep: Checkpoints to leave, the newest included.
        """
        self.folder = folder
        self.policy = policy
        self.keep = keep
        # Training has the default group; two threads on the same group wait for each other forever.
        self._group = (
            dist.new_group(backend="gloo", timeout=TIMEOUT) if policy.world.size > 1 else None
        )
        config = copy.deepcopy(policy.model.config)
        config.dtype = policy.compute_dtype
        # A copy, because tokenizers refuse to be read by one thread while another one uses them.
        tokenizer = copy.deepcopy(policy.tokenizer)
        self._describing = (config, policy.model.generation_config, tokenizer)
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._saving: Future[object] | None = None
        self._target = folder

    def save(self, step: int, state: Mapping[str, Any]) -> None:
        """Copy everything, and write the copy while training goes on. Collective.

        Until it is written, each rank keeps the copy of its shards in memory, and rank 0 also that
        of the whole model in the dtype of the passes.

        Args:
            step: Steps taken.
            state: What else a resumed run needs, as plain data and tensors.

        Raises:
            OSError: If the save before this one failed.
        """
        self.wait()
        world = self.policy.world
        self._target = self.folder / f"step-{step:06d}"
        temporary = self.folder / f"{_TEMPORARY}{self._target.name}"
        if world.is_main:
            shutil.rmtree(temporary, ignore_errors=True)  # left by a save that failed
        everything = {
            "version": STATE_VERSION,
            "step": step,
            "torch_rng": world.gather(torch.get_rng_state()),
            "state": copy.deepcopy(dict(state)),
        }
        weights = {}
        for name, tensor in self.policy.full_weights():
            if world.is_main:
                weights[name] = _on_cpu(tensor)
        finish = partial(self._finish, temporary, weights, everything)
        self._saving = self._thread.submit(
            save,
            {name: _on_cpu(tensor) for name, tensor in _trained(self.policy)},
            storage_writer=_Writer(temporary / SHARDS, finish),
            process_group=self._group,
            no_dist=_alone(world),
        )

    def _finish(
        self, temporary: Path, weights: dict[str, torch.Tensor], everything: dict[str, Any]
    ) -> None:
        """Add the files of rank 0, and put the checkpoint in charge."""
        for part in self._describing:
            part.save_pretrained(temporary)
        save_torch_state_dict(weights, temporary)
        torch.save(everything, temporary / STATE_FILE)
        _publish(temporary, self._target, self.keep)

    def poll(self) -> None:
        """Report on all ranks alike if a save has failed meanwhile, without waiting. Collective.

        Raises:
            OSError: If it has.
        """
        saving = self._saving
        if self.policy.world.agree(
            saving is not None and saving.done() and saving.exception() is not None
        ):
            self.wait()

    def wait(self) -> None:
        """Wait until what was saved is on disk.

        Raises:
            OSError: If it cannot be written, as on a full disk; the older ones are untouched.
        """
        if self._saving is None:
            return
        error = self._saving.exception()
        self._saving = None
        if error is not None:
            raise OSError(f"cannot write the checkpoint {self._target}: {_cause(error)}") from error

    def close(self) -> None:
        """Wait as `wait` does, and end the thread."""
        self._thread.shutdown()
        self.wait()


class _Writer(FileSystemWriter):
    """Writes shards; when those of all ranks are on disk, rank 0 does the rest.

    What the rest raises reaches all ranks, as errors in writing a shard do.
    """

    def __init__(self, path: Path, then: Callable[[], None]) -> None:
        super().__init__(path)
        self._then = then

    def finish(self, *args: Any, **kwargs: Any) -> None:
        super().finish(*args, **kwargs)
        self._then()


def _alone(world: World) -> bool:
    """Return whether DCP is to do without process groups."""
    # It warns at each save and load that a single process is what we want.
    warnings.filterwarnings("ignore", "torch.distributed is disabled, unavailable or uninit")
    return world.size == 1


def _cause(error: BaseException) -> BaseException:
    """Return what a rank raised, from what DCP makes of it on all ranks."""
    if isinstance(error, CheckpointException):
        return next(iter(error.failures.values()))[0]
    return error


def _trained(policy: Policy) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield what training changes: parameters, and the optimiser's state of each."""
    for name, parameter in policy.scorer.named_parameters():
        if parameter.requires_grad:
            yield f"{_MODEL}/{name}", parameter
            # Nothing before the first update.
            for key, value in policy.optimizer.state.get(parameter, {}).items():
                yield f"{key}/{name}", value


def _on_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor, or this rank's shard of one, to CPU memory."""
    return tensor.detach().to("cpu", copy=True)


def _publish(temporary: Path, target: Path, keep: int) -> None:
    """Put a written checkpoint in charge, and remove the older ones."""
    folder = target.parent
    _sync_tree(temporary)
    if target.exists():  # this step once more; the old one stays whole until this one is
        target.rename(_replaced(target))
    temporary.rename(target)
    _sync(folder)
    shutil.rmtree(_replaced(target), ignore_errors=True)
    _point_to(folder, target.name)
    _prune(folder, target, keep)


def _replaced(target: Path) -> Path:
    """Return the name that a checkpoint has while another one takes its place."""
    return target.with_name(f"{_TEMPORARY}{target.name}-replaced")


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
    # A run that died between the two renames of `_publish` left the old one; else this fails.
    with suppress(OSError):
        _replaced(target).rename(target)
    if not (target / STATE_FILE).is_file():
        raise ConfigurationError(
            f"{pointer} names {target.name}, which is not there; write the name of another "
            "checkpoint into it, or start again with --overwrite"
        )
    return target


def load_checkpoint(checkpoint: Path, policy: Policy) -> tuple[int, dict[str, Any]]:
    """Restore weights, optimiser and random state; return the step and the rest. Collective.

    The optimiser's settings are not in it: those of the new run hold.

    Raises:
        ConfigurationError: If the checkpoint is damaged, of another version or another model.
    """
    try:
        saved = torch.load(checkpoint / STATE_FILE, map_location="cpu", weights_only=True)
        if saved["version"] != STATE_VERSION:
            raise ConfigurationError(
                f"{checkpoint} has state version {saved['version']}, this program reads "
                f"{STATE_VERSION}; start again with --overwrite"
            )
        _load_shards(checkpoint / SHARDS, policy)
    except ConfigurationError:
        raise
    except _UNREADABLE as error:
        raise ConfigurationError(
            f"{checkpoint} cannot be read ({str(_cause(error))[:80]}); write the name of another "
            f"checkpoint into {checkpoint.with_name(LATEST)}"
        ) from error
    # A rank that was not there when it was saved takes over another's.
    states = saved["torch_rng"]
    torch.set_rng_state(states[policy.world.rank % len(states)])
    return saved["step"], saved["state"]


def _load_shards(folder: Path, policy: Policy) -> None:
    """Read the weights in place, and the optimiser's state."""
    parameters = {name: p for name, p in policy.scorer.named_parameters() if p.requires_grad}
    found = FileSystemReader(folder).read_metadata().state_dict_metadata
    sizes = {key: saved.size for key, saved in found.items() if hasattr(saved, "size")}
    _check_same_model(folder.parent, parameters, sizes)
    policy.optimizer.state.clear()
    tensors = {}
    for key, size in sizes.items():
        kind, name = key.split("/", 1)
        like = parameters[name].detach()
        if kind == _MODEL:
            tensors[key] = like
            continue
        if size != like.shape:  # the number of updates
            tensors[key] = torch.empty(size, device=like.device)
        elif policy.config.offload_optimizer:
            tensors[key] = _on_cpu(like)
        else:
            tensors[key] = torch.empty_like(like)
        policy.optimizer.state[parameters[name]][kind] = tensors[key]
    load(tensors, checkpoint_id=folder, no_dist=_alone(policy.world))


def _check_same_model(
    checkpoint: Path, parameters: Mapping[str, torch.Tensor], sizes: Mapping[str, torch.Size]
) -> None:
    """Raise a ConfigurationError unless a checkpoint holds exactly these parameters."""
    here = {f"{_MODEL}/{name}": list(parameter.shape) for name, parameter in parameters.items()}
    there = {key: list(size) for key, size in sizes.items() if key.startswith(f"{_MODEL}/")}
    for key in sorted(here.keys() | there.keys()):
        if here.get(key) != there.get(key):
            raise ConfigurationError(
                f"{checkpoint} is of another model or LoRA setting ({key} is "
                f"{there.get(key, 'absent')} there and {here.get(key, 'absent')} here); resume "
                "with the settings in the config.toml of its run, or start again with --overwrite"
            )
