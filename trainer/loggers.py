"""Where metrics go besides metrics.jsonl: wandb, trackio or TensorBoard, each an extra."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from rewards.errors import missing_extra
from trainer.config import Config
from trainer.run_folder import RunFolder


class Logger(Protocol):
    """Takes the metrics of each step."""

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Take the metrics of one step."""
        ...

    def close(self) -> None:
        """Send what is left."""
        ...


def check_logger(name: str) -> None:
    """Make sure that the packages of a logger are there, before anything expensive begins.

    Raises:
        MissingExtraError: Naming the extra to install.
    """
    if name != "none":
        _import(name)


def open_logger(config: Config, settings: Mapping[str, Any], folder: Path) -> Logger | None:
    """Open the logger that the settings ask for.

    Args:
        config: Names the logger.
        settings: Recorded with the run.
        folder: The run folder; its name is the name of the run.

    Raises:
        MissingExtraError: If its package is not installed.
    """
    if config.logger == "none":
        return None
    module = _import(config.logger)
    if config.logger == "tensorboard":
        return _TensorBoard(module, RunFolder(folder).tensorboard)
    return _Tracker(module, config.logger, settings, folder)


def _import(name: str) -> ModuleType:
    try:
        if name == "tensorboard":
            importlib.import_module("tensorboard")
            return importlib.import_module("torch.utils.tensorboard")
        return importlib.import_module(name)
    except ImportError as error:
        raise missing_extra(f"the logger {name!r}", name) from error


class _Tracker:
    """wandb, or trackio, which has the same calls."""

    def __init__(
        self, module: ModuleType, name: str, settings: Mapping[str, Any], folder: Path
    ) -> None:
        self._module = module
        place = {"dir": str(folder)} if name == "wandb" else {}
        module.init(project="assay-rl", name=folder.name, config=dict(settings), **place)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        self._module.log(dict(metrics), step=step)

    def close(self) -> None:
        self._module.finish()


class _TensorBoard:
    def __init__(self, module: ModuleType, folder: Path) -> None:
        self._writer = module.SummaryWriter(str(folder))

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()
