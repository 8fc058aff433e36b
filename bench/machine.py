"""Say on what a measurement was made."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version


def describe(*packages: str) -> dict[str, str]:
    """Return cores, memory, system and the versions of the packages that matter."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    facts = {
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory_gb:.0f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package in packages:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "absent"
    return facts


def heading(*packages: str) -> str:
    """Return `describe` as one line."""
    return ", ".join(f"{name} {value}" for name, value in describe(*packages).items())
