"""A system call filter for jobs, as classic BPF.

A namespace takes away most of what a program could reach, but not all: AF_VSOCK sockets ignore
network namespaces and lead from a virtual machine to its host; io_uring, keyrings, perf and new
user namespaces are attack surface that no graded program needs. And where a job has its keeper's
user id, limits and priorities of the keeper would be a job's to set, for all jobs that follow.

See https://docs.kernel.org/userspace-api/seccomp_filter.html for the layout.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

CLONE_NEWUSER = 0x10000000
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, JUMP_EQUAL, JUMP_MASK, JUMP_GREATER, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

# name: (x86_64, aarch64)
DENIED = {
    "ptrace": (101, 117),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "pidfd_getfd": (438, 438),
    # Memory that belongs to no process, so that no limit on processes sees it.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "ioprio_set": (251, 30),
}
# The first argument is a process or thread, and 0 the caller.
FOR_ONESELF = {
    "prlimit64": (302, 261),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
}
SETPRIORITY = (141, 140)
CLONE, CLONE3, SOCKET, SOCKETPAIR = (56, 220), (435, 435), (41, 198), (53, 199)


def build_filter(machine: str | None = None) -> bytes:
    """Return the filter for this kind of processor; empty where the numbers are not known."""
    machine = machine or os.uname().machine
    if machine not in AUDIT:
        return b""
    column = list(AUDIT).index(machine)
    code = [
        _step(LOAD, 0, 0, ARCHITECTURE),
        _step(JUMP_EQUAL, 1, 0, AUDIT[machine]),
        _step(RETURN, 0, 0, KILL),  # 32-bit calls have other numbers
        _step(LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":
        code += [_step(JUMP_GREATER, 0, 1, X32_BIT), _step(RETURN, 0, 0, KILL)]
    for numbers in DENIED.values():
        code += _when(numbers[column], [_step(RETURN, 0, 0, ERRNO | errno.EPERM)])
    # The C library falls back to clone, whose flags a filter can see.
    code += _when(CLONE3[column], [_step(RETURN, 0, 0, ERRNO | errno.ENOSYS)])
    code += _when(CLONE[column], _argument(JUMP_MASK, CLONE_NEWUSER, deny=errno.EPERM))
    for call in (SOCKET, SOCKETPAIR):
        only_unix = _argument(JUMP_EQUAL, socket.AF_UNIX, refuse_others=errno.EAFNOSUPPORT)
        code += _when(call[column], only_unix)
    oneself = _argument(JUMP_EQUAL, 0, refuse_others=errno.EPERM)
    for numbers in FOR_ONESELF.values():
        code += _when(numbers[column], oneself)
    of_a_process = [
        _step(LOAD, 0, 0, FIRST_ARGUMENT),
        _step(JUMP_EQUAL, 1, 0, os.PRIO_PROCESS),
        _step(RETURN, 0, 0, ERRNO | errno.EPERM),
    ]
    oneself = _argument(JUMP_EQUAL, 0, refuse_others=errno.EPERM, place=SECOND_ARGUMENT)
    code += _when(SETPRIORITY[column], of_a_process + oneself)
    return b"".join([*code, _step(RETURN, 0, 0, ALLOW)])


def _when(number: int, then: list[bytes]) -> list[bytes]:
    return [_step(JUMP_EQUAL, 0, len(then), number), *then]


def _argument(
    test: int, value: int, deny: int = 0, refuse_others: int = 0, place: int = FIRST_ARGUMENT
) -> list[bytes]:
    """Test an argument; `deny` refuses what matches, `refuse_others` what does not."""
    verdicts = [ERRNO | deny, ALLOW] if deny else [ALLOW, ERRNO | refuse_others]
    return [
        _step(LOAD, 0, 0, place),
        _step(test, 0, 1, value),
        *(_step(RETURN, 0, 0, verdict) for verdict in verdicts),
    ]


def _step(operation: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", operation, if_true, if_false, value)
