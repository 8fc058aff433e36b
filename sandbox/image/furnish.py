"""Runs in `docker build`: installs the packages, compiles all, takes away what no job needs.

Standard library only, and nothing of the toolkit, which the image does not have.
"""

from __future__ import annotations

import compileall
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path
from py_compile import PycInvalidationMode

HERE = Path(__file__).parent
PACKAGES = Path("/opt/packages")
TOOLS = ("pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources", "ensurepip")
STARTED_BY = Path("/usr/bin/python3")
"""Jobs look in /usr/local/bin, /usr/bin and /bin, wherever the image keeps its Python."""


def main() -> None:
    """Make an image out of a container in which Python and pip are."""
    pip = [sys.executable, "-m", "pip", "install", "--no-cache-dir", "--no-compile", "--no-color"]
    what = ["--target", str(PACKAGES), "-r", str(HERE / "requirements.txt")]
    subprocess.run([*pip, "--quiet", "--root-user-action", "ignore", *what], check=True)
    shutil.rmtree(PACKAGES / "bin", ignore_errors=True)
    libraries = Path(sysconfig.get_path("purelib"))
    libraries.mkdir(parents=True, exist_ok=True)
    (libraries / "sandbox.pth").write_text(f"{PACKAGES}\n")
    remove_tools([libraries, Path(os.__file__).parent])
    for folder in (PACKAGES, Path(os.__file__).parent):
        # The root is read-only later, and file times mean nothing in layers.
        mode = PycInvalidationMode.UNCHECKED_HASH
        compileall.compile_dir(folder, quiet=2, workers=0, invalidation_mode=mode)
    remove_setuid_bits()
    if not STARTED_BY.exists():
        STARTED_BY.symlink_to(os.path.realpath(sys.executable))
    shutil.rmtree(HERE)


def remove_tools(folders: list[Path]) -> None:
    """Take away installers: their packages, metadata and commands."""
    for folder in folders:
        for tool in TOOLS:
            for path in [folder / tool, *folder.glob(f"{tool}-*.dist-info")]:
                shutil.rmtree(path, ignore_errors=True)
    for command in Path(sys.executable).parent.glob("pip*"):
        command.unlink()


def remove_setuid_bits() -> None:
    """Leave no file that makes its caller somebody else."""
    for root, folders, files in os.walk("/"):
        if root in ("/proc", "/sys", "/dev"):
            folders.clear()
        for name in files:
            path = os.path.join(root, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                os.chmod(path, stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID))


if __name__ == "__main__":
    main()
