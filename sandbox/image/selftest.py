"""Runs inside a new image: imports all it should have and prints what it found, as JSON.

Sent as text to `python3 -s -P -B -c`, as the agent is, with the folder of packages as argument.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import warnings
from importlib.util import cache_from_source
from pathlib import Path

NOT_FOR_JOBS = ("_test", "_xx", "xx", "_tkinter", "_ctypes_test")


def compiled_modules() -> set[str]:
    """Return the names of all modules that are not Python text."""
    files = {file for entry in sys.path for file in Path(entry).glob("*.so")}
    names = {file.name.partition(".")[0] for file in files} | set(sys.builtin_module_names)
    return {name for name in names if not name.startswith(NOT_FOR_JOBS)}


def installed(folder: str) -> set[str]:
    """Return the names of the packages in a folder; private ones and tests need not import."""
    entries = os.listdir(folder) if os.path.isdir(folder) else []
    names = {entry.removesuffix(".py") for entry in entries}
    return {n for n in names if n.isidentifier() and not n.startswith(("_", "test"))}


def complaints(names: set[str]) -> dict[str, str]:
    """Import modules and return why some could not be."""
    found = {}
    for name in sorted(names):
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever a broken module does
            found[name] = f"{type(error).__name__}: {error}"
    return found


def main() -> None:
    """Print one line of JSON."""
    warnings.simplefilter("ignore")
    modules = compiled_modules()
    broken = complaints(modules | {"asyncio", "pytest", "zoneinfo"} | installed(sys.argv[1]))
    found = {
        "python": platform.python_version(),
        "pytest": getattr(sys.modules.get("pytest"), "__version__", None),
        "modules": len(modules),
        "compiled": os.path.exists(cache_from_source(json.__file__)),
        "broken": broken,
    }
    print(json.dumps(found))


main()
