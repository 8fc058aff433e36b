"""What a hostile program cannot do, in Docker and in bubblewrap."""

from __future__ import annotations

import ast
import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sandbox
from sandbox import Job, Limits, Sandbox
from sandbox.process import PYTEST


def run(box: Sandbox, program: str, **limits: float) -> str:
    outcome = box.run(Job(program.encode(), limits=Limits(**limits)))  # type: ignore[arg-type]
    assert outcome.infra_error is None
    return outcome.stdout.decode()


@pytest.fixture
def host_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_network_of_the_host_is_out_of_reach(jail: Sandbox, host_port: int) -> None:
    socket.create_connection(("127.0.0.1", host_port)).close()  # it is there
    program = f"""
import socket
try:
    socket.create_connection(("127.0.0.1", {host_port}), timeout=2)
    print("connected")
except OSError as error:
    print("refused")
"""
    assert run(jail, program) == "refused\n"


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_NETLINK", "AF_VSOCK", "AF_PACKET"])
def test_only_unix_sockets_can_be_made(jail: Sandbox, family: str) -> None:
    program = f"""
import socket
socket.socket(socket.AF_UNIX).close()
try:
    socket.socket(socket.{family}, socket.SOCK_STREAM)
    print("made")
except OSError as error:
    print(error.strerror)
"""
    assert run(jail, program) == "Address family not supported by protocol\n"


def test_files_of_the_host_are_not_there(jail: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("expected values")
    program = f"""
import os
sockets = ("/run/docker.sock", "/var/run/docker.sock")
for path in ({str(secret)!r}, "/etc/shadow", {os.getcwd()!r}, *sockets):
    print(os.path.exists(path))
"""
    assert run(jail, program) == "False\n" * 5


def test_nothing_outside_its_own_tmp_can_be_written(jail: Sandbox) -> None:
    program = """
import os
for root, folders, files in os.walk("/"):
    if root.startswith(("/proc", "/tmp", "/dev/shm")):
        folders[:] = []
        continue
    for path in [root] + [os.path.join(root, f) for f in files]:
        if os.access(path, os.W_OK) and not path.startswith("/dev/") and not os.path.islink(path):
            print(path)
"""
    assert run(jail, program, cpu_s=30) == ""


def test_nothing_is_left_for_a_later_job(jail: Sandbox) -> None:
    leave = """
import os
for place in ("/tmp/x", "/dev/shm/x", "/var/tmp/x", "/run/x", "/x", os.path.expanduser("~/x")):
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        open(place, "w").write("left")
    except OSError:
        pass
"""
    find = """
import os
print([p for p in ("/tmp/x", "/dev/shm/x", "/var/tmp/x", "/run/x", "/x") if os.path.exists(p)])
"""
    for _ in range(2):  # each slot
        run(jail, leave)
    for _ in range(4):
        assert run(jail, find) == "[]\n"


THIEF = """
import gc, sys
frame = sys._getframe()
while frame:
    print([str(value) for value in frame.f_locals.values() if "honest" in str(value)])
    frame = frame.f_back
needle = b"honest" + b"-secret" + b"-1234"
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        try:
            memory.seek(start)
            print(memory.read(end - start).count(needle) - (needle in locals().values()))
        except (OSError, OverflowError):
            pass
"""


def test_nothing_of_an_earlier_job_is_in_a_later_ones_memory(jail: Sandbox) -> None:
    with sandbox.open_sandbox(jail.name, slots=1) as box:
        for _ in range(3):
            honest = Job(b"print(open('task').read())", files={"task": b"xhonest-secret-1234x"})
            assert box.run(honest).stdout == b"xhonest-secret-1234x\n"
        thief = THIEF.replace('needle = b"honest"', 'needle = b"x" + b"honest"')
        seen = run(box, thief.replace('b"-1234"', 'b"-1234" + b"x"'), cpu_s=30)
    assert "secret" not in seen
    assert sum(int(n) for n in seen.split() if n.lstrip("-").isdigit()) <= 2  # the needle itself


def test_a_large_job_leaves_the_next_one_its_memory(jail: Sandbox) -> None:
    with sandbox.open_sandbox(jail.name, slots=1) as box:
        box.run(Job(b"print('x' * 10_000_000)"))
        outcome = box.run(Job(b"import time\ntime.sleep(.2)", limits=Limits(memory_mb=48)))
    assert (outcome.limit, outcome.exit_code) == (None, 0)


def test_modes_and_scores_of_kernel_files_cannot_be_changed(jail: Sandbox) -> None:
    program = """
import os
keeper = f"/proc/{os.getppid()}/oom_score_adj"
for path in ("/proc/version", keeper, "/proc/1/oom_score_adj", "/dev/pts", "/tmp", "/dev/shm"):
    try:
        os.chmod(path, 0o444)
        print("changed", path)
    except OSError:
        pass
    try:
        open(path, "w").write("1")
        print("wrote", path)
    except OSError:
        pass
"""
    assert run(jail, program).replace("changed /tmp\n", "").replace("changed /dev/shm\n", "") == ""


def test_memory_that_belongs_to_no_process_cannot_be_had(jail: Sandbox) -> None:
    program = """
import ctypes, os
try:
    os.memfd_create("x")
    print("memfd")
except OSError:
    pass
print(ctypes.CDLL(None).shmget(0, 1 << 20, 0o1600))
"""
    assert run(jail, program) == "-1\n"


def test_packages_of_the_machine_are_not_there(bubblewrap: Sandbox) -> None:
    program = """
import os
found = []
for root, folders, _ in os.walk("/"):
    folders[:] = [f for f in folders if root + f not in ("/proc", "/dev")]
    found += [root for f in folders if f == "_data"]
print(found)
print(sorted(set(os.listdir("/run/packages")) - {"__pycache__"}))
"""
    data, packages = run(bubblewrap, program, cpu_s=30).splitlines()
    assert data == "[]"
    assert {name.removesuffix(".py") for name in ast.literal_eval(packages)} <= set(PYTEST)


def test_a_daemon_does_not_outlive_its_job(jail: Sandbox) -> None:
    mark = f"9{os.getpid()}.25"
    program = f"""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/usr/bin/sleep", ["sleep", "{mark}"])
    os._exit(0)
time.sleep(0.3)
print("done")
"""
    assert run(jail, program) == "done\n"
    assert mark not in subprocess.run(["ps", "ax"], capture_output=True, text=True).stdout


def test_a_fork_bomb_is_ended_and_the_next_job_runs(jail: Sandbox) -> None:
    outcome = jail.run(Job(b"import os\nwhile True:\n    os.fork()"))
    # The kernel refuses more, and we end it, whichever is first.
    assert outcome.limit in ("processes", "memory", "cpu") or b"BlockingIOError" in outcome.stderr
    assert run(jail, "print(1)") == "1\n"


def test_a_program_finds_itself_in_proc_by_its_number(jail: Sandbox) -> None:
    look = b"import os\nprint(os.path.samefile(f'/proc/{os.getpid()}/exe', '/proc/self/exe'))"
    assert jail.run(Job(look)).stdout == b"True\n"


def test_nothing_of_the_host_is_in_proc(bubblewrap: Sandbox) -> None:
    look = b"import os\nprint(os.listdir('/run/host-proc'), open('/proc/1/comm').read())"
    assert bubblewrap.run(Job(look)).stdout.split()[0] == b"[]"


def test_a_process_that_forks_while_it_is_killed_is_gone(jail: Sandbox) -> None:
    flee = b"""
import os, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        while True:
            if os.fork(): os._exit(0)
"""
    look = b"import os\nprint([p for p in os.listdir('/proc') if p.isdigit()])"
    with sandbox.open_sandbox(jail.name, slots=1) as box:
        box.run(Job(flee))
        processes = ast.literal_eval(box.run(Job(look)).stdout.decode())
        # The agent, unless it is out of sight; the keeper; the job.
        assert len(processes) == (3 if jail.name == "docker" else 2)


def test_the_agent_and_the_init_of_a_job_cannot_be_signalled(jail: Sandbox) -> None:
    program = """
import os, signal
for number in range(1, 65):
    if number not in (32, 33):
        for target in {1, os.getppid()} - {0}:  # a parent in another namespace has no number
            try:
                os.kill(target, number)
            except PermissionError:
                pass
print("alive")
"""
    outcome = jail.run(Job(program.encode()))
    assert (outcome.stdout, outcome.infra_error, outcome.exit_code) == (b"alive\n", None, 0)


def test_limits_and_priorities_of_others_cannot_be_set(jail: Sandbox) -> None:
    program = """
import ctypes, os, resource
libc, ioprio_set = ctypes.CDLL(None), 251 if os.uname().machine == "x86_64" else 30
for who in range(1, 40):
    if who != os.getpid():
        for change in (
            lambda: resource.prlimit(who, resource.RLIMIT_NOFILE, (9, 9)),
            lambda: os.setpriority(os.PRIO_PROCESS, who, 19),
            lambda: os.sched_setaffinity(who, {0}),
            lambda: os.sched_setscheduler(who, os.SCHED_IDLE, os.sched_param(0)),
        ):
            try:
                change()
                print("changed", who)
            except OSError:
                pass
        print(*(["ioprio"] if libc.syscall(ioprio_set, 1, who, 3 << 13) == 0 else []), end="")
for which in (os.PRIO_PGRP, os.PRIO_USER):
    try:
        os.setpriority(which, 0, 19)
        print("changed", which)
    except OSError:
        pass
os.nice(1)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
print("its own can")
"""
    assert run(jail, program) == "its own can\n"


def test_no_job_sees_what_an_earlier_one_set_for_itself(jail: Sandbox) -> None:
    program = """
import os, resource
print(os.nice(0), os.umask(0o77), os.sched_getscheduler(0), os.sched_getaffinity(0))
print([resource.getrlimit(n) for n in range(16)], os.stat("/tmp").st_mode)
os.nice(9)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
for n in range(16):
    resource.setrlimit(n, (min(99, resource.getrlimit(n)[0] % 2**62),) * 2)
os.chmod(os.getcwd(), 0o711)
"""
    with sandbox.open_sandbox(jail.name, slots=1) as box:
        outcomes = [box.run(Job(program.encode())) for _ in range(3)]
    assert all(outcome.ok for outcome in outcomes), outcomes
    assert len({outcome.stdout for outcome in outcomes}) == 1


def test_killing_everything_in_sight_is_only_its_own_end(jail: Sandbox) -> None:
    outcome = jail.run(Job(b"import os\nos.kill(-1, 9)\nprint('still here')"))
    assert outcome.infra_error is None
    assert run(jail, "print(1)") == "1\n"


def test_the_memory_of_agent_and_init_cannot_be_read(jail: Sandbox) -> None:
    program = """
import os
own = os.readlink("/proc/self")
for pid in os.listdir("/proc"):
    if pid.isdigit() and pid != own:
        for name in ("mem", "environ", "maps", *(f"fd/{n}" for n in range(300))):
            try:
                open(f"/proc/{pid}/{name}", "rb").read(1)
                print("read", pid, name)
            except OSError:
                pass
"""
    assert run(jail, program) == ""


def test_no_capability_is_left_and_none_can_be_had(jail: Sandbox) -> None:
    program = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
status = open("/proc/self/status").read()
print({line.split()[1] for line in status.splitlines() if line.startswith("Cap")})
print("NoNewPrivs:\\t1" in status, "Seccomp:\\t2" in status)
for flag in (0x10000000, 0x20000, 0x20000000):
    print(libc.unshare(flag))
print(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None), libc.ptrace(16, os.getppid(), 0, 0))
"""
    assert run(jail, program) == "{'0000000000000000'}\nTrue True\n-1\n-1\n-1\n-1 -1\n"


def test_only_four_descriptors_are_open(jail: Sandbox) -> None:
    program = """
import os
def open_ones():
    for descriptor in range(5000):
        try:
            os.fstat(descriptor)
            yield descriptor
        except OSError:
            pass
print(list(open_ones()))
"""
    assert run(jail, program) == "[0, 1, 2, 3]\n"


def test_nothing_of_the_environment_gets_in(jail: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    assert run(jail, "import os\nprint(sorted(os.environ))") == (
        "['HOME', 'LANG', 'PATH', 'TMPDIR']\n"
    )


def test_the_disk_is_limited(jail: Sandbox) -> None:
    program = """
try:
    with open("/tmp/big", "wb") as file:
        for _ in range(1000):
            file.write(bytes(1 << 20))
except OSError as error:
    print(error.strerror)
"""
    assert run(jail, program, cpu_s=20) in (
        "No space left on device\n",
        "File too large\n",
    )


def test_a_killed_agent_is_replaced_and_the_job_runs_again(jail: Sandbox) -> None:
    with sandbox.open_sandbox(jail.name, slots=1) as box:
        assert box.run(Job(b"print(1)")).ok
        (victim,) = box._programs._alive  # type: ignore[attr-defined]
        threading.Timer(0.5, victim.channel.end).start()
        outcome = box.run(Job(b"import time\ntime.sleep(1)\nprint('finished')"))
        assert outcome.stdout == b"finished\n"


def test_an_agent_outlives_the_thread_that_started_it(jail: Sandbox) -> None:
    with sandbox.open_sandbox(jail.name, slots=2) as box:
        for _ in range(3):
            threads = [
                threading.Thread(target=box.run, args=(Job(b"import time\ntime.sleep(.2)"),))
                for _ in range(2)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        time.sleep(0.2)
        before = set(box._programs._alive)  # type: ignore[attr-defined]
        assert box.run(Job(b"print(1)")).stdout == b"1\n"
        assert before == set(box._programs._alive)  # type: ignore[attr-defined]


def test_nothing_is_left_when_the_owner_is_killed(jail: Sandbox) -> None:
    script = (
        "import sandbox, sys\n"
        f"box = sandbox.open_sandbox({jail.name!r}, slots=1)\n"
        "print('open', flush=True)\n"
        "box.run(sandbox.Job(b'import time\\ntime.sleep(60)', limits=sandbox.Limits(wall_s=60)))\n"
    )
    before = agents()
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "open\n"
    time.sleep(0.3)
    left = agents() - before
    assert left
    owner.kill()
    owner.wait()
    owner.stdout.close()
    deadline = time.monotonic() + 10
    while left & agents() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left & agents()


def agents() -> set[str]:
    """The processes of this machine that are agents, keepers, jobs, or wait for one."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = process.joinpath("cmdline").read_bytes()
            if b"sandbox.agent" in command:
                found.add(process.name)
    return found
