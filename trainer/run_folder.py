"""The folder of a run: where its files are, and whether a new run may be written there.

config.toml      every setting, and the versions and commit that ran it
metrics.jsonl    one object a step          samples.jsonl    one object a sampled completion
checkpoints/     see `checkpoint`           report.html      the curves
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rewards.errors import ConfigurationError
from trainer.config import PROVENANCE, TODAY, Config, to_toml

PACKAGES = ("assay-rl", "torch", "transformers", "safetensors", "pydantic")


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run's files."""

    path: Path

    @property
    def config(self) -> Path:
        """Resolved settings."""
        return self.path / "config.toml"

    @property
    def metrics(self) -> Path:
        """One JSON object a step."""
        return self.path / "metrics.jsonl"

    @property
    def samples(self) -> Path:
        """One JSON object a sampled completion."""
        return self.path / "samples.jsonl"

    @property
    def checkpoints(self) -> Path:
        """Folder of checkpoints."""
        return self.path / "checkpoints"

    @property
    def tensorboard(self) -> Path:
        """Folder of TensorBoard's event files, if it is the logger."""
        return self.path / "tensorboard"

    @property
    def report(self) -> Path:
        """The curves as a page."""
        return self.path / "report.html"


def check_free(config: Config) -> None:
    """Make sure that starting here destroys nothing.

    Raises:
        ConfigurationError: If the folder is not empty and neither resume nor overwrite is set, or
            one of them is set and what is there is no run.
    """
    assert config.output_dir is not None
    folder = RunFolder(Path(config.output_dir))
    if folder.path.exists() and not folder.path.is_dir():
        raise ConfigurationError(f"output_dir {config.output_dir!r} is a file; name a folder")
    if config.resume:
        if not folder.config.is_file():
            raise ConfigurationError(f"{folder.path} holds no run to resume (no config.toml)")
    elif folder.path.exists() and any(folder.path.iterdir()) and not config.overwrite:
        raise ConfigurationError(
            f"{folder.path} is not empty; give another --output-dir, or --resume to go on with "
            "the run in it, or --overwrite to replace that run"
        )
    elif folder.path.exists() and any(folder.path.iterdir()) and not _holds_run(folder):
        raise ConfigurationError(
            f"{folder.path} holds files but no run to overwrite (no config.toml that grpo-run "
            "wrote); give another --output-dir, or empty it yourself"
        )


def _holds_run(folder: RunFolder) -> bool:
    """Say whether a run of ours lies there; anyone may have a config.toml."""
    try:
        return PROVENANCE in tomllib.loads(folder.config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False


def prepare_folder(config: Config) -> RunFolder:
    """Make the run folder ready and write its config.toml.

    Raises:
        ConfigurationError: See `check_free`; also if the folder cannot be written.
    """
    check_free(config)
    assert config.output_dir is not None
    folder = RunFolder(Path(config.output_dir))
    try:
        if config.overwrite:
            _remove_run(folder)
        folder.checkpoints.mkdir(parents=True, exist_ok=True)
        # Renamed into place: a resume that is killed here must leave the old settings readable.
        temporary = folder.config.with_suffix(".tmp")
        temporary.write_text(to_toml(config, _provenance()), encoding="utf-8")
        temporary.replace(folder.config)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write to the run folder {folder.path}: {error.strerror}"
        ) from error
    return folder


def _remove_run(folder: RunFolder) -> None:
    """Remove what a run writes, and nothing else that may lie in its folder."""
    for path in (folder.config, folder.metrics, folder.samples, folder.report):
        path.unlink(missing_ok=True)
    for path in (folder.checkpoints, folder.tensorboard):
        if path.is_dir():
            shutil.rmtree(path)


def _provenance() -> dict[str, str]:
    facts = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "date_in_prompts": TODAY.date().isoformat(),
    }
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    if commit := _git_commit():
        facts["git_commit"] = commit
    return facts


def _git_commit() -> str | None:
    """Return the commit of the checkout this code runs from, if it is one."""
    # An environment may lie inside the checkout of another project.
    tracked = _git("ls-files", "--error-unmatch", Path(__file__).name)
    return _git("rev-parse", "HEAD") if tracked else None


def _git(*args: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), *args],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() or None if result.returncode == 0 else None
