"""Notice when another distribution's files sit where ours should be.

`rewards`, `sandbox` and `trainer` are names that others use too (PyPI has a `rewards` and a
`trainer`); installed side by side, pip lets the later one overwrite the earlier one silently.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from rewards.errors import ConfigurationError

MARK = '__distribution__ = "assay-rl"'


def check_packages() -> None:
    """Check that all three packages are this distribution's.

    Raises:
        ConfigurationError: If one is missing, or is somebody else's.
    """
    for name in ("rewards", "sandbox", "trainer"):
        found = find_spec(name)
        file = Path(found.origin) if found and found.origin else None
        if file is None or MARK not in file.read_text("utf-8", "replace"):
            raise ConfigurationError(
                f"the package {name!r} ({file or 'not found'}) is not assay-rl's: a file or another"
                " distribution of that name is in its place. See which with"
                f" `pip list | grep -i {name}`, remove it, and run"
                " `pip install --force-reinstall --no-deps assay-rl`"
            )
