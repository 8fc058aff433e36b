"""Runs a function on several real ranks, processes of their own that talk through gloo.

    def _sum(world: World, x: float) -> float:
        return float(world.sum(torch.tensor(x)))

    def test_the_sum_is_over_all_ranks() -> None:
        assert run_ranks(_sum, 2.0) == [4.0, 4.0]

Functions of a test module, lambdas and nested functions all work; arguments and results are
pickled. Whatever a rank writes is shown if one of them fails.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle

ROOT = Path(__file__).parents[2]


def run_ranks(
    function: Callable[..., Any], *args: Any, ranks: int = 2, timeout_s: float = 120
) -> list[Any]:
    """Call `function(world, *args)` on each rank, and return their results in rank order."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "call").write_bytes(cloudpickle.dumps((function, args)))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        processes = []
        try:
            for rank in range(ranks):
                with (folder / f"log-{rank}").open("wb") as log:
                    command = [sys.executable, "-m", "tests.trainer.ranks", name]
                    env = _environment(rank, ranks, port)
                    processes.append(
                        subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log)
                    )
            codes = [process.wait(timeout_s) for process in processes]
        finally:
            for process in processes:
                process.kill()
        if any(codes):
            logs = [(folder / f"log-{rank}").read_text() for rank in range(ranks)]
            raise AssertionError(f"ranks ended with {codes}:\n" + "\n----\n".join(logs))
        results = [(folder / f"result-{rank}").read_bytes() for rank in range(ranks)]
        return [pickle.loads(result) for result in results]


def _environment(rank: int, ranks: int, port: int) -> dict[str, str]:
    return os.environ | {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


def _main() -> None:
    import torch

    from trainer.distributed import open_world

    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    function, args = pickle.loads((folder / "call").read_bytes())
    world = open_world("cpu")
    result = function(world, *args)
    (folder / f"result-{world.rank}").write_bytes(cloudpickle.dumps(result))
    world.close()


if __name__ == "__main__":
    _main()
