"""Theorems of a traced repository, by file and name, through LeanDojo.

LeanDojo supplies the text of the file before the theorem, the statement, and the project's folder;
all else is the process back end's, in that project. Its `check_proof` is not used: it has no time
limit, takes a theorem with `sorry` for proved since Lean 4.28, and looks at neither axioms nor the
statement.

Tracing clones a repository, builds it and runs its code. So the operator names it, in
REWARDS_LEAN_DOJO, and traces it, by the command that the error message gives; no spec can. LeanDojo
asks GitHub about repositories there each time, but not about a local one.

A real trace was never read here: the tests have LeanDojo 4.20.0 read one that was made by hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rewards.errors import ConfigurationError, SpecError, did_you_mean, missing_extra
from rewards.verifiers.lean.setup import LeanMissing, LeanSetup

READER = Path(__file__).with_name("lean_dojo_reader.py")
READ_TIMEOUT_S = 600.0
"""To read the trace of one file, some of which are large."""


@dataclass(frozen=True)
class DojoTheorem:
    """A theorem of a repository, and all that stands before it."""

    header: str
    """The imports, and what stands before them."""
    preamble: str
    """The file from the imports to the theorem."""
    statement: str
    """The theorem without its proof, with its attributes and with `open ... in` and the like."""
    project: str
    """The folder of the traced repository, which is a Lake project that is built."""

    @property
    def text(self) -> str:
        """The file up to the proof."""
        return self.header + self.preamble + self.statement


def find_theorem(setup: LeanSetup, file: str, name: str) -> DojoTheorem:
    """Find a theorem of the operator's repository by its file and its full name.

    Raises:
        MissingExtraError: If LeanDojo is not installed.
        ConfigurationError: If the operator names no repository.
        LeanMissing: If it was not traced, or LeanDojo fails.
        SpecError: If there is no such file or theorem, or it cannot be asked for.
    """
    if not setup.dojo:
        raise ConfigurationError(
            'set REWARDS_LEAN_DOJO to the traced repository, as "URL@COMMIT" or a local path'
        )
    if "@" not in setup.dojo and not Path(setup.dojo).is_dir():
        raise ConfigurationError(
            f"REWARDS_LEAN_DOJO is neither a folder nor URL@COMMIT: {setup.dojo!r}"
        )
    if not file.endswith(".lean") or Path(file).is_absolute() or ".." in Path(file).parts:
        raise SpecError(f"lean spec: 'file' is a .lean file within its repository, not {file!r}")
    found = read_file(setup.dojo, file)
    if "untraced" in found:
        command = f"{sys.executable} {READER} {setup.dojo}"
        raise LeanMissing(f"{found['untraced']} was not traced; do it once, by: {command}")
    if "absent" in found:
        raise SpecError(f"lean spec: {setup.dojo} has no trace of a file {file!r}")
    return cut_out(found, file, name)


def cut_out(found: dict[str, Any], file: str, name: str) -> DojoTheorem:
    """Cut a theorem out of a file.

    Raises:
        SpecError: If it is not there, or of a kind that cannot be asked for.
    """
    theorem = found["theorems"].get(name)
    if theorem is None:
        hint = did_you_mean(name, found["theorems"])
        raise SpecError(f"lean spec: {file} has no theorem {name!r}; give its full name.{hint}")
    text: str = found["text"]
    lines = text.split("\n")
    header, start, proof = (
        sum(len(one) + 1 for one in lines[: line - 1]) + column - 1
        for line, column in (found["header"], theorem["start"], theorem["proof"])
    )
    statement = text[start:proof].rstrip()
    if theorem["private"]:
        raise SpecError(f"lean spec: {name} is private: its true name is that of its module")
    if statement.startswith("mutual") or statement.endswith(" where"):
        raise SpecError(f"lean spec: {name} is mutual or a structure: it cannot be asked for alone")
    return DojoTheorem(text[:header], text[header:start], statement, found["project"])


@lru_cache(maxsize=256)
def read_file(repository: str, file: str) -> dict[str, Any]:
    """Return what LeanDojo knows of a file; a failure is not remembered.

    Raises:
        MissingExtraError: If LeanDojo is not installed.
        LeanMissing: If it fails.
    """
    if find_spec("lean_dojo") is None:
        if sys.version_info >= (3, 13):
            raise LeanMissing("LeanDojo has no release for Python 3.13 or newer: use Python 3.12")
        raise missing_extra("the back end 'lean-dojo'", "lean")
    command = [sys.executable, "-P", str(READER), repository, file]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=READ_TIMEOUT_S, check=True
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        raise LeanMissing(f"LeanDojo fails: {error.stderr.strip()[-500:]}") from None
    except (subprocess.TimeoutExpired, ValueError, OSError) as error:
        raise LeanMissing(f"LeanDojo does not answer: {error}") from None
    return found
