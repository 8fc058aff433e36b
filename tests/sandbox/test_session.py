"""A job that stays: what it is told it hears, what it says arrives, and it ends when we say so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

import sandbox
from sandbox import Job, Limits, Sandbox, SandboxError, Session

LONG = Limits(cpu_s=1e6, wall_s=1e6)
ECHO = b"""
import socket
talk = socket.socket(fileno=4)
while data := talk.recv(65536):
    talk.sendall(data.upper())
"""


def soon(seconds: float = 10) -> float:
    return time.monotonic() + seconds


def receive(session: Session, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += session.receive(soon())
    return data


def is_alive(marker: str) -> bool:
    """Whether a process of this machine has the marker on its command line."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in entry.read_bytes():
                return True
        except OSError:
            continue
    return False


def wait_until_gone(marker: str, seconds: float = 5) -> None:
    deadline = soon(seconds)
    while is_alive(marker):
        assert time.monotonic() < deadline, f"a process with {marker} is still alive"
        time.sleep(0.02)


def test_a_job_answers_again_and_again(box: Sandbox) -> None:
    session = box.open(Job(ECHO, limits=LONG))
    for word in (b"one", b"two"):
        session.send(word)
        assert receive(session, 3) == word.upper()
    assert session.close().dismissed


def test_much_can_be_said_both_ways(box: Sandbox) -> None:
    session = box.open(Job(ECHO, limits=LONG))
    session.send(b"x" * 5_000_000)
    assert receive(session, 5_000_000) == b"X" * 5_000_000
    session.close()


def test_a_silent_job_is_given_up_at_the_deadline(box: Sandbox) -> None:
    session = box.open(Job(b"import time\ntime.sleep(60)", limits=LONG))
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        session.receive(soon(0.3))
    assert 0.3 <= time.monotonic() - started < 1
    outcome = session.close()
    assert time.monotonic() - started < 2
    assert (outcome.dismissed, outcome.infra_error) == (True, None)


def test_the_last_words_arrive_before_the_end(box: Sandbox) -> None:
    program = b"import os, sys\nos.write(4, b'bye')\nprint('x', file=sys.stderr)\nsys.exit(3)"
    session = box.open(Job(program, limits=LONG))
    assert receive(session, 3) == b"bye"
    with pytest.raises(EOFError):
        session.receive(soon())
    outcome = session.close()
    assert (outcome.exit_code, outcome.stderr, outcome.dismissed) == (3, b"x\n", False)
    assert session.close() == outcome


def test_a_job_that_hangs_up_but_stays_is_ended(box: Sandbox) -> None:
    session = box.open(Job(b"import os, time\nos.close(4)\ntime.sleep(60)", limits=LONG))
    with pytest.raises(EOFError):
        session.receive(soon())
    assert session.close().dismissed


def test_its_limits_hold(box: Sandbox) -> None:
    hungry = b"x = b'x' * (400 << 20)\nimport time\ntime.sleep(60)"
    session = box.open(Job(hungry, limits=Limits(wall_s=60, memory_mb=128)))
    with pytest.raises(EOFError):
        session.receive(soon())
    outcome = session.close()
    assert outcome.limit == "memory" or b"MemoryError" in outcome.stderr


def test_the_facts_of_a_dismissed_job_hold_its_memory_and_time(box: Sandbox) -> None:
    program = b"""
import os, time
x = b'x' * (60 << 20)
while time.process_time() < .3: pass
time.sleep(.1)
os.write(4, b'.')
time.sleep(60)
"""
    session = box.open(Job(program, limits=LONG))
    receive(session, 1)
    outcome = session.close()
    assert outcome.peak_memory_mb > 60
    assert outcome.cpu_s >= 0.25


def test_its_children_end_with_it(box: Sandbox) -> None:
    marker = uuid.uuid4().hex
    program = f"""
import os, subprocess, sys, time
command = [sys.executable, "-c", "import time; time.sleep(1000)", "{marker}"]
subprocess.Popen(command, start_new_session=True)
os.write(4, b'.')
time.sleep(60)
"""
    session = box.open(Job(program.encode(), limits=LONG))
    receive(session, 1)
    assert is_alive(marker)
    session.close()
    wait_until_gone(marker, 1)


def test_a_job_that_floods_is_ended_all_the_same(box: Sandbox) -> None:
    program = b"import os\nwhile True: os.write(4, b'x' * 65536)"
    session = box.open(Job(program, limits=LONG))
    session.receive(soon())
    time.sleep(0.2)  # its keeper now waits for us
    started = time.monotonic()
    session.close()
    assert time.monotonic() - started < 1


def test_endless_talk_ends_at_the_output_limit(box: Sandbox) -> None:
    program = b"import os\nwhile True: os.write(4, b'x' * 4096)"
    session = box.open(Job(program, limits=Limits(wall_s=60, output_kb=64)))
    with pytest.raises(EOFError):
        receive(session, 10 << 20)
    assert session.close().limit == "output"


def test_sessions_take_no_slot_from_other_jobs() -> None:
    with sandbox.open_sandbox("bubblewrap", slots=1) as box:
        sessions = [box.open(Job(ECHO, limits=LONG)) for _ in range(2)]
        assert box.run(Job(b"print(1)")).stdout == b"1\n"
        for session in sessions:
            session.send(b"a")
            assert receive(session, 1) == b"A"
            session.close()


@pytest.mark.parametrize("backend", ["bubblewrap", "process"])
def test_closing_the_sandbox_ends_its_sessions(backend: str) -> None:
    with sandbox.open_sandbox(backend, slots=1) as box:
        session = box.open(Job(ECHO, limits=LONG))
        session.send(b"a")
        receive(session, 1)
    with pytest.raises(EOFError):
        session.receive(soon())
    session.send(b"b")
    assert session.close().infra_error
    with pytest.raises(SandboxError):
        box.open(Job(ECHO))


@pytest.mark.parametrize("backend", ["bubblewrap", "process"])
def test_a_session_leaves_nothing_behind(backend: str) -> None:
    with sandbox.open_sandbox(backend, slots=1) as box:
        box.open(Job(ECHO, limits=LONG)).close()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            box.open(Job(ECHO, limits=LONG)).close()
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("backend", ["bubblewrap", "process"])
def test_a_session_ends_when_its_owner_is_killed(backend: str) -> None:
    marker = uuid.uuid4().hex
    owner = f"""
import sandbox, sys, time
box = sandbox.open_sandbox("{backend}", slots=1)
program = b"import os; os.write(4, b'.'); os.execvp('sh', ['sh', '-c', 'sleep 99; : {marker}'])"
session = box.open(sandbox.Job(program, limits=sandbox.Limits(cpu_s=1e6, wall_s=1e6)))
session.receive(time.monotonic() + 10)
print(session._slot.channel.pid(), flush=True)
time.sleep(60)
"""
    child = subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE)
    assert child.stdout
    agent = Path("/proc", child.stdout.readline().decode().strip(), "cmdline")
    assert agent.read_bytes()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    wait_until_gone(marker)
    while agent.exists() and agent.read_bytes():  # that of a zombie is empty
        time.sleep(0.02)
