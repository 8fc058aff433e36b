"""Copy this machine's Python, and every library that it loads, into a folder: an image's root.

Everything keeps its path, so that whatever made the loader find a library here (an RPATH, the
cache, a default) does so there too, and Python finds its own files beside its executable.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.image import PACKAGES
from sandbox.process import find_packages
from sandbox.types import SandboxError

LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "*.pyc", "site-packages", "dist-packages", "sitecustomize.py", "config-*",
    "test", "tests", "idle_test", "_test*.so", "_ctypes_test*.so", "xx*.so", "_xx*test*.so",
    "idlelib", "tkinter", "_tkinter*.so", "turtle.py", "turtledemo", "lib2to3", "ensurepip", "venv",
)  # fmt: skip
MERGED = ("bin", "sbin", "lib", "lib32", "lib64")
"""Folders that many systems have as links into /usr."""
MOUNT_POINTS = ("proc", "sys", "dev/shm", "tmp", "run", "etc", "usr/bin")
LOADED_BY_NAME = ("libgcc_s.so.1", "libnss_files.so.2")
"""What glibc itself loads when it is needed: for the end of threads, for user names."""
DATA = ("/usr/lib/locale/C.utf8", "/usr/share/zoneinfo", "/etc/ld.so.cache")
ACCOUNTS = {
    "passwd": "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
}
ASK = (
    "import json, os, sys, sysconfig;"
    "print(json.dumps([sysconfig.get_path('purelib'), *filter(os.path.isdir, sys.path)]))"
)


@dataclass(frozen=True)
class Interpreter:
    """The Python that a virtual environment is made of."""

    executable: Path
    libraries: tuple[Path, ...]
    """The folders of the standard library."""
    site: Path
    """Where its `site` module looks for packages."""


def find_interpreter() -> Interpreter:
    """Return the interpreter that runs this, without its virtual environment."""
    executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    answer = subprocess.run(
        [executable, "-I", "-S", "-c", ASK], capture_output=True, text=True, check=True
    )
    site, *libraries = (Path(path) for path in json.loads(answer.stdout))
    return Interpreter(executable, tuple(libraries), site)


def harvest(root: Path, requirements: Path | None, say: Callable[[str], None]) -> None:
    """Fill an empty folder with all that an image needs.

    Raises:
        SandboxError: If pytest or a library is missing, or pip fails.
    """
    python = find_interpreter()
    say(f"copying {python.executable} and its standard library")
    lay_out(root)
    copy(python.executable, root)
    for folder in python.libraries:
        copy(folder, root)
    for name in ("python3", "python"):
        link = root / "usr/bin" / name
        if not link.exists() and not link.is_symlink():
            link.symlink_to(python.executable)
    add_packages(root, requirements, say)
    write(root, python.site / "sandbox.pth", f"{PACKAGES}\n")
    for library in find_libraries(root, python.executable, say):
        copy(library, root)
    say("compiling")
    folders = [inside(root, path) for path in (*python.libraries, Path(PACKAGES))]
    compile_all(python.executable, root, folders)


def lay_out(root: Path) -> None:
    """Make mount points, accounts and the links of a merged /usr."""
    for name in MERGED:
        if (link := Path("/", name)).is_symlink():
            target = str(link.readlink()).lstrip("/")  # relative, or we would write to the host's
            (root / target).mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(target)
    for name in MOUNT_POINTS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in ACCOUNTS.items():
        write(root, Path("/etc", name), text)
    for path in map(Path, DATA):
        if path.exists():
            copy(path, root, shutil.ignore_patterns("right", "posix", "localtime"))


def add_packages(root: Path, requirements: Path | None, say: Callable[[str], None]) -> None:
    """Install the requirements, and pytest from this environment unless they bring their own."""
    target = inside(root, Path(PACKAGES))
    target.mkdir(parents=True)
    if requirements:
        say(f"installing what {requirements} names")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
        run([*command, "--target", str(target), "-r", str(requirements)], "pip")
        shutil.rmtree(target / "bin", ignore_errors=True)
    if (target / "pytest").exists():
        return
    if not (found := find_packages()):
        raise SandboxError("pytest is not installed here: pip install 'assay-rl[sandbox]'")
    for package in found:
        if package.is_dir():
            shutil.copytree(package, target / package.name, ignore=LEFT_OUT, dirs_exist_ok=True)
        else:
            shutil.copy(package, target)


def find_libraries(root: Path, executable: Path, say: Callable[[str], None]) -> set[Path]:
    """Return all shared libraries of the host that the binaries below a root load."""
    modules = (file for file in root.rglob("*.so*") if file.is_file() and not file.is_symlink())
    # Where a binary lies decides what it finds: ask for the original where there is one.
    originals = [Path("/", file.relative_to(root)) for file in modules]
    binaries = [path if path.exists() else inside(root, path) for path in originals]
    listing = run(["ldd", executable, *binaries], "ldd", check=False)
    for name in sorted(set(re.findall(r"^\s+(\S+) => not found", listing, re.MULTILINE))):
        say(f"warning: {name} is not on this machine; what needs it will not work in the image")
    paths = re.findall(r"(?:=> |^\s+)(/.+) \(0x", listing, re.MULTILINE)
    found = {Path(os.path.normpath(path)) for path in paths if not Path(path).is_relative_to(root)}
    beside = {path.parent / name for path in found for name in LOADED_BY_NAME}
    return found | {path for path in beside if path.exists()}


def compile_all(executable: Path, root: Path, folders: Iterable[Path]) -> None:
    """Write .pyc files, which a read-only root could not have written later."""
    options = ["-q", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-p", "/", "-s"]
    command: list[str | Path] = [executable, "-I", "-m", "compileall", *options, root, *folders]
    run(command, "compileall", check=False)  # a package's templates need not compile


def copy(path: Path, root: Path, ignore: Callable[..., set[str]] = LEFT_OUT) -> None:
    """Copy a file or a folder to the same place below a root; links become what they mean."""
    target = inside(root, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(
            path, target, ignore=ignore, ignore_dangling_symlinks=True, dirs_exist_ok=True
        )
    elif not target.exists():
        shutil.copy(path, target)


def write(root: Path, path: Path, text: str) -> None:
    """Write a file below a root."""
    target = inside(root, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def inside(root: Path, path: Path) -> Path:
    """Return where an absolute path lies below a root."""
    return root / path.relative_to("/")


def run(command: Sequence[str | Path], name: str, *, check: bool = True) -> str:
    """Run a tool and return what it printed.

    Raises:
        SandboxError: If it is missing, or fails although it must not.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SandboxError(f"{name} is not installed; building from the host needs it") from None
    if check and done.returncode:
        raise SandboxError(f"{name} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout
