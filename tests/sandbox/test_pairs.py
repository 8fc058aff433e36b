"""Two jobs that talk: each in a container of its own, what one says the other hears."""

from __future__ import annotations

import time

import pytest

import sandbox
from sandbox import Job, Limits, Sandbox

ECHO = b"""
import socket
talk = socket.socket(fileno=4)
while data := talk.recv(65536):
    talk.sendall(data.upper())
"""


def test_what_one_says_the_other_hears(box: Sandbox) -> None:
    ask = b"""
import socket
talk = socket.socket(fileno=4)
for word in ("one", "two"):
    talk.sendall(word.encode())
    print(talk.recv(100).decode())
"""
    tests, program = box.run_pair(Job(ask), Job(ECHO))
    assert tests.stdout == b"ONE\nTWO\n"
    assert tests.ok
    assert program.ok or program.dismissed  # it reads the end, or is ended


def test_much_can_be_said_both_ways_at_once(box: Sandbox) -> None:
    ask = b"""
import socket, threading
talk = socket.socket(fileno=4)
threading.Thread(target=talk.sendall, args=(b"x" * 5_000_000,)).start()
heard = 0
while heard < 5_000_000:
    heard += len(talk.recv(1 << 20))
print(heard)
"""
    tests, _ = box.run_pair(Job(ask), Job(ECHO))
    assert tests.stdout == b"5000000\n"


@pytest.mark.parametrize(
    "program", ["raise SystemExit(3)", "import os\nos.close(4)\nos.read(3, 1)"]
)
def test_the_tests_read_the_end_when_the_program_is_gone(box: Sandbox, program: str) -> None:
    ask = b"import socket\nprint(socket.socket(fileno=4).recv(10))"
    started = time.monotonic()
    tests, _ = box.run_pair(Job(ask), Job(program.encode()))
    assert tests.stdout == b"b''\n"
    assert time.monotonic() - started < 5


def test_each_keeps_its_own_limits(box: Sandbox) -> None:
    ask = b"import socket\nprint(socket.socket(fileno=4).recv(10))"
    endless = Job(b"while True: pass", limits=Limits(cpu_s=0.5))
    tests, program = box.run_pair(Job(ask), endless)
    assert program.limit == "cpu"
    assert tests.stdout == b"b''\n"


def test_endless_talk_ends_at_the_output_limit(box: Sandbox) -> None:
    chatter = b"import socket\ntalk = socket.socket(fileno=4)\nwhile True: talk.send(b'x' * 4096)"
    listen = b"import socket\ntalk = socket.socket(fileno=4)\nwhile talk.recv(4096): pass"
    _, program = box.run_pair(Job(listen), Job(chatter, limits=Limits(output_kb=64)))
    assert program.limit == "output"


def test_what_was_said_too_late_does_not_reach_the_next_job() -> None:
    late = b"import socket\ntalk = socket.socket(fileno=4)\nwhile True: talk.send(b'secret')"
    with sandbox.open_sandbox("bubblewrap", slots=1) as box:
        for _ in range(5):
            box.run_pair(Job(b"import time\ntime.sleep(.05)"), Job(late))
            tests, program = box.run_pair(Job(b"import os\nprint(os.read(4, 9))"), Job(b"pass"))
            assert (tests.stdout, program.ok) == (b"b''\n", True)
            assert box.run(Job(b"print(1)")).stdout == b"1\n"


def test_trusted_code_has_an_agent_with_pytest_of_its_own(box: Sandbox) -> None:
    job = Job(b"import sys\nprint('_pytest.python' in sys.modules)")
    assert box.run(job, trusted=True).stdout == b"True\n"
    assert box.run(job).stdout == b"False\n"


def test_a_job_without_a_partner_has_no_fifth_descriptor(box: Sandbox) -> None:
    assert b"OSError" in box.run(Job(b"import os\nos.fstat(4)")).stderr
