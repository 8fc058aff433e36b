"""Where Lean is on this machine, as its operator says.

Specs come out of data files, so none of this can be said there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Self

from rewards.errors import ConfigurationError

ASK_TIMEOUT_S = 60.0
DEFAULT_MEMORY_MB = 8192
VARIABLES = {
    name: f"REWARDS_LEAN_{name.upper()}" for name in ("repl", "dojo", "readable", "memory_mb")
}
"""The environment variables that are not called REWARDS_ and the field's name."""


class LeanMissing(RuntimeError):
    """There is no Lean here that could be used; the message says what to do."""


@dataclass(frozen=True)
class LeanSetup:
    """How Lean is reached. Each field is also an environment variable, named in its docstring."""

    lean: str | None = None
    """REWARDS_LEAN: a Lake project whose packages are built, or the `lean` executable; the one of
    the PATH by default."""
    repl: str | None = None
    """REWARDS_LEAN_REPL: the executable of leanprover-community/repl, of the same Lean version."""
    kimina_url: str | None = None
    """REWARDS_KIMINA_URL: a Kimina Lean server."""
    kimina_key: str | None = None
    """REWARDS_KIMINA_KEY: its API key, if it wants one."""
    safe_verify: str | None = None
    """REWARDS_SAFE_VERIFY: the executable of SafeVerify, of the same Lean version."""
    comparator: str | None = None
    """REWARDS_COMPARATOR: the executable of leanprover/comparator, of the same Lean version."""
    dojo: str | None = None
    """REWARDS_LEAN_DOJO: the repository that LeanDojo has traced, as URL@COMMIT or a local path."""
    readable: tuple[str, ...] = ()
    """REWARDS_LEAN_READABLE: more folders that Lean needs, with colons between them."""
    memory_mb: int = DEFAULT_MEMORY_MB
    """REWARDS_LEAN_MEMORY_MB: resident memory of one Lean, mapped library files included."""

    @classmethod
    def from_environment(cls, *, lean: str | None = None) -> Self:
        """Read the environment variables, but for what is given.

        Raises:
            ConfigurationError: If the memory is not a number.
        """
        given: dict[str, object] = {}
        for one in fields(cls):
            variable = VARIABLES.get(one.name, f"REWARDS_{one.name.upper()}")
            if text := os.environ.get(variable, ""):
                given[one.name] = text
        if "readable" in given:
            given["readable"] = tuple(str(given["readable"]).split(":"))
        if "memory_mb" in given:
            if not str(given["memory_mb"]).isdecimal():
                raise ConfigurationError(
                    f"REWARDS_LEAN_MEMORY_MB must be a number, not {given['memory_mb']!r}"
                )
            given["memory_mb"] = int(str(given["memory_mb"]))
        if lean is not None:
            given["lean"] = lean
        return cls(**given)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Toolchain:
    """A Lean that was found to run."""

    lean: str
    version: str
    """What it says of itself, with the commit."""
    prefix: str
    environment: Mapping[str, str] = field(default_factory=dict)
    """What `lean` needs to find the libraries of its project."""
    readable: tuple[str, ...] = ()
    """The folders that must be seen inside the sandbox."""
    project: str | None = None
    """The Lake project that it belongs to, if it is one's."""

    def tool(self, name: str) -> str | None:
        """Return the path of another program of the toolchain, if it has one of this name."""
        path = Path(self.prefix, "bin", name)
        return str(path) if path.is_file() else None


def find_toolchain(setup: LeanSetup) -> Toolchain:
    """Ask Lean what it is and where its libraries are.

    This runs programs of the operator, outside the sandbox: `lean`, and `lake env` in a project.

    Raises:
        LeanMissing: If there is none, or it does not answer.
    """
    environment: dict[str, str] = {}
    given = Path(setup.lean).expanduser().resolve() if setup.lean else None
    if given and given.is_dir():
        environment = _lake_environment(given)
        lean = str(Path(environment["LEAN_SYSROOT"], "bin", "lean"))
    else:
        lean = str(given) if given else shutil.which("lean") or ""
    if not lean:
        raise LeanMissing(
            "no `lean` on the PATH: install elan and a toolchain, or set REWARDS_LEAN to the"
            " executable or to a Lake project (see docs/lean.md)"
        )
    version, prefix = _ask(lean, "--version"), _ask(lean, "--print-prefix")
    real = str(Path(prefix, "bin", "lean"))  # elan's `lean` only starts the one of a toolchain
    readable = {prefix, *setup.readable, *([str(given)] if environment else [])}
    readable |= {str(Path(p).resolve()) for p in environment.get("LEAN_PATH", "").split(":") if p}
    tools = (setup.repl, setup.safe_verify, setup.comparator)
    readable |= {str(Path(tool).resolve().parent) for tool in tools if tool}
    kept = {"PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp"}
    kept |= {k: v for k, v in environment.items() if k in ("LEAN_PATH", "LEAN_SYSROOT")}
    project = str(given) if environment else None
    return Toolchain(real, version, prefix, kept, _outermost(readable), project)


def _lake_environment(project: Path) -> dict[str, str]:
    lake = shutil.which("lake")
    if lake is None:
        raise LeanMissing(f"no `lake` on the PATH to open the project {project} with: install elan")
    lines = _ask(lake, "env", folder=project).splitlines()
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    if "LEAN_SYSROOT" not in found:
        raise LeanMissing(f"`lake env` in {project} names no LEAN_SYSROOT: does it build there?")
    return found


def _ask(*command: str, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=True
        )
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip()[-500:]
        raise LeanMissing(f"`{' '.join(command)}` failed: {said}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LeanMissing(f"`{' '.join(command)}` does not answer: {error}") from None
    return done.stdout.strip()


def _outermost(paths: set[str]) -> tuple[str, ...]:
    """Drop what lies inside another one."""
    return tuple(
        sorted(p for p in paths if not any(p != q and Path(p).is_relative_to(q) for q in paths))
    )
