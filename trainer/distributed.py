"""The ranks of a run: one process a GPU, or a single process that needs none of this."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor

from rewards.errors import ConfigurationError
from trainer.launch import end_with_launcher

T = TypeVar("T")

TIMEOUT = timedelta(hours=2)
"""How long a rank waits for the others. Each judgement has a wall-clock bound of minutes, but a
rank may have thousands to make while the others wait; torch's own 10 to 30 minutes have ended runs
whose verifiers were slow (open-r1 478)."""


@dataclass(frozen=True)
class World:
    """All ranks, seen from one of them."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    """This rank's number on its machine."""
    local_size: int = 1
    """How many ranks this machine has."""
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    """Where this rank computes."""

    @property
    def is_main(self) -> bool:
        """Whether this rank writes files and talks to people."""
        return self.rank == 0

    def gather(self, mine: Any) -> list[Any]:
        """Return every rank's object, in the order of the ranks, by way of the CPU. Collective."""
        if self.size == 1:
            return [mine]
        everyone: list[Any] = [None] * self.size
        dist.all_gather_object(everyone, mine)
        return everyone

    def agree(self, yes: bool) -> bool:
        """Return whether any rank says yes. Collective."""
        return any(self.gather(yes))

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum over all ranks, which replaces `values`. Collective."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def barrier(self) -> None:
        """Wait for all ranks. Collective."""
        self.gather(None)

    def in_turns(self, make: Callable[[], T]) -> T:
        """Return what `make` makes; the ranks of a machine make one after the other. Collective."""
        made = []
        for turn in range(self.size):
            if turn == self.local_rank:
                made.append(make())
            self.barrier()
        return made[0]

    def close(self) -> None:
        """Leave the process group; vLLM's engine, which shuts down first, may have ended it."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()


def open_world(device: str) -> World:
    """Join the ranks that `launch` or torchrun has started; without them, be the only one.

    Args:
        device: The device setting.

    Raises:
        ConfigurationError: If the device cannot be used.
    """
    rank, size, local_rank = (
        int(os.environ.get(name, default))
        for name, default in (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0))
    )
    if size == 1:
        return World(device=choose_device(device))
    if ":" in device:
        raise ConfigurationError(f"device {device!r} names one device for {size} ranks; try auto")
    end_with_launcher()
    chosen = choose_device(device, local_rank)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    # Objects and asynchronous checkpoints travel by gloo, tensors on a GPU by NCCL.
    backend = "cpu:gloo,cuda:nccl" if chosen.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=TIMEOUT)
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    return World(rank, size, local_rank, local_size, chosen)


def choose_device(name: str, local_rank: int = 0) -> torch.device:
    """Turn the device setting into a device that is there.

    Raises:
        ConfigurationError: If torch does not know it or the machine does not have it.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        name = f"cuda:{local_rank}"
    try:
        device = torch.device(name)
        # Computes and reads back in float64, as sampling does; "meta" and others cannot.
        torch.ones(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, AssertionError, ImportError, TypeError) as error:
        first_line = str(error).split("\n")[0]
        raise ConfigurationError(
            f"device {name!r} cannot be used ({first_line}); try auto or cpu"
        ) from error
    return device


def shard(
    root: nn.Module, layers: Iterable[nn.Module], world: World, compute_dtype: torch.dtype
) -> None:
    """Spread the parameters of `root` over all ranks, in place (FSDP2, `fully_shard`).

    A layer is gathered while it runs. The rest, which is embedding, last norm and head, belongs to
    the root and is gathered during its forward pass and again during the backward pass: left
    gathered, as is torch's default, it would be stale after an update that followed a pass without
    gradients.
    """
    mesh = init_device_mesh(world.device.type, (world.size,))
    precision = MixedPrecisionPolicy()
    if compute_dtype != torch.float32:
        precision = MixedPrecisionPolicy(param_dtype=compute_dtype, reduce_dtype=torch.float32)
    for module in (*layers, root):
        fully_shard(module, mesh=mesh, mp_policy=precision, reshard_after_forward=True)


def full_tensor(tensor: Tensor) -> Tensor:
    """Return the whole of a tensor of which this rank may hold a shard. Collective if so."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
