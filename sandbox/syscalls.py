"""The few calls to the kernel that Python's standard library does not have."""

from __future__ import annotations

import ctypes
import os
import struct

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_NOSUID_NODEV, MS_RDONLY_NOEXEC, MNT_DETACH = 2 | 4, 1 | 8, 2
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 4, 22, 24
PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 38, 36
CAPABILITY_VERSION_3 = 0x20080522

LIBC = ctypes.CDLL(None, use_errno=True)
for _name in ("capset", "prctl"):  # found once here, not once a job
    getattr(LIBC, _name)


def unshare(flags: int) -> None:
    """Move into new namespaces; a PID namespace is for children alone."""
    if LIBC.unshare(flags):
        error = ctypes.get_errno()
        raise OSError(error, f"cannot make namespaces for jobs: {os.strerror(error)}")


def mount(kind: str, target: str, options: str = "", *, read_only: bool = False) -> None:
    """Mount a new file system over a folder: "tmpfs", or "proc" for this PID namespace."""
    flags = MS_NOSUID_NODEV | (MS_RDONLY_NOEXEC if read_only else 0)
    if LIBC.mount(kind.encode(), target.encode(), kind.encode(), flags, options.encode()):
        error = ctypes.get_errno()
        raise OSError(error, f"cannot mount {target}: {os.strerror(error)}")


def unmount(target: str) -> None:
    """Take the topmost file system at a folder away, even if a descriptor in flight holds it."""
    if LIBC.umount2(target.encode(), MNT_DETACH):
        error = ctypes.get_errno()
        raise OSError(error, f"cannot unmount {target}: {os.strerror(error)}")


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process."""
    if LIBC.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def forgo_privileges() -> None:
    """See that neither this process nor any that it starts gets more privileges than it has."""
    for capability in range(64):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails past the last one, harmlessly
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up all capabilities."""
    if LIBC.capset(struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24)):
        raise OSError(ctypes.get_errno(), "capset")


def filter_system_calls(code: bytes) -> None:
    """Install a classic BPF program as seccomp filter, if there is one."""
    if not code:
        return
    array = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(array))
    if LIBC.prctl(PR_SET_SECCOMP, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def write_all(descriptor: int, data: bytes) -> None:
    """Write to a descriptor until nothing is left."""
    while data:
        data = data[os.write(descriptor, data) :]
