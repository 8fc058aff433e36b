"""The pool of REPLs, in the real sandbox, with a REPL that misbehaves on demand."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sandbox
from rewards.verifiers.lean.assemble import Source
from rewards.verifiers.lean.backends import Compiled
from rewards.verifiers.lean.backends import repl_process as wire
from rewards.verifiers.lean.backends.repl import ReplBackend
from rewards.verifiers.lean.messages import Message
from rewards.verifiers.lean.setup import Toolchain
from sandbox import Sandbox

FOLDER = Path(f"/var/tmp/fake-repl-{os.getpid()}")
"""Not below /tmp, of which each job has its own, and where this checkout may be."""
FAKE = str(FOLDER / "fake_repl.py")
HEADER = "import Mathlib\nopen Nat\n"
TOOLCHAIN = Toolchain("lean", "Lean 4.35", "/", {"PATH": f"{sys.base_prefix}/bin:/usr/bin:/bin"})


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    FOLDER.mkdir()
    shutil.copy(Path(__file__).with_name("fake_repl.py"), FAKE)
    with sandbox.open_sandbox("bubblewrap", slots=1, read_only=[str(FOLDER)]) as opened:
        yield opened
    shutil.rmtree(FOLDER)


@pytest.fixture
def pool(box: Sandbox) -> Iterator[ReplBackend]:
    """A pool of one."""
    backend = ReplBackend(box, TOOLCHAIN, FAKE, 256, size=1)
    yield backend
    backend.close()


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not ask that whoever computes is given a core: the tests' machine may be busy."""
    monkeypatch.setattr(wire, "BUSY_SHARE", 0.02)


def check(pool: ReplBackend, body: str, header: str = HEADER, timeout_s: float = 10) -> Compiled:
    return pool.compile(Source(header, body), timeout_s)


def who(pool: ReplBackend, header: str = HEADER) -> str:
    """Return which REPL answers."""
    return check(pool, "whoami", header).messages[0].text


def count(marker: str) -> int:
    found = 0
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += marker.encode() in entry.read_bytes()
        except OSError:
            continue
    return found


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_a_proof_without_messages_passes(pool: ReplBackend) -> None:
    result = check(pool, "theorem t : True := trivial\n")
    assert (result.messages, result.failed, result.trouble) == ((), False, "")
    assert 0 < result.elapsed_s < 5


def test_messages_are_placed_where_they_are_in_the_whole_file(pool: ReplBackend) -> None:
    result = check(pool, "theorem\nerror: no\n")
    assert result.messages == (Message("error", "error: no", "", 4, 2),)
    assert result.failed


def test_a_sorry_counts_though_no_message_says_so(pool: ReplBackend) -> None:
    result = check(pool, "silent sorry")
    (message,) = result.messages
    assert message.is_sorry
    assert (message.kind, message.line) == ("hasSorry", 3)


def test_a_sorry_that_is_reported_is_reported_once(pool: ReplBackend) -> None:
    assert [m.is_sorry for m in check(pool, "sorry").messages] == [True]


def test_an_answer_in_pieces_is_put_together(pool: ReplBackend) -> None:
    assert check(pool, "error ⊢ in pieces").messages[0].text == "error ⊢ in pieces"


def test_a_large_answer_arrives(pool: ReplBackend) -> None:
    assert len(check(pool, "huge").messages[0].text) == 4 << 20


def test_a_header_stays_warm(pool: ReplBackend) -> None:
    assert who(pool) == who(pool)


def test_another_header_has_another_repl(box: Sandbox) -> None:
    pool = ReplBackend(box, TOOLCHAIN, FAKE, 256, size=2)
    check(pool, "", "import A\n")
    check(pool, "", "import B\n")
    assert [p.repl.header for p in pool._free if p.repl] == ["import A\n", "import B\n"]
    check(pool, "", "import A\n")
    check(pool, "", "import C\n")  # for which B, not used for longest, has to go
    assert [p.repl.header for p in pool._free if p.repl] == ["import A\n", "import C\n"]
    pool.close()


def test_an_error_in_the_header_is_told_and_its_repl_not_kept(pool: ReplBackend) -> None:
    result = check(pool, "whoami", "open Nat\nimport Missing\n")
    assert result.messages == (Message("error", "import Missing", "", 2, 2),)
    assert (result.failed, result.trouble) == (True, "")
    assert pool._free[0].repl is None


def test_a_missing_library_is_trouble(pool: ReplBackend) -> None:
    header = "import Missing -- unknown module prefix 'Missing'\n"
    assert "unknown module prefix" in check(pool, "", header).trouble


@pytest.mark.parametrize("header", ["exit 1\n", "say what?||\n", "lost env\n"])
def test_a_repl_that_fails_at_the_header_is_trouble(pool: ReplBackend, header: str) -> None:
    result = check(pool, "", header)
    assert result.trouble or result.failed
    assert (result.crash, result.limit) == ("", None)


def test_a_repl_that_is_not_there_is_trouble(box: Sandbox) -> None:
    pool = ReplBackend(box, TOOLCHAIN, str(FOLDER / "no_repl"), 256)
    assert "cannot be started" in check(pool, "").trouble


def test_a_repl_can_be_named_by_a_link(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "repl").symlink_to(FAKE)
    pool = ReplBackend(box, TOOLCHAIN, str(tmp_path / "repl"), 256)
    assert check(pool, "error").failed
    pool.close()


@pytest.mark.usefixtures("lenient")
def test_a_body_that_computes_too_long_is_ended_in_time(pool: ReplBackend) -> None:
    check(pool, "spin 0.1")
    started = time.monotonic()
    result = check(pool, "spin 60", timeout_s=2)
    assert time.monotonic() - started < 3
    assert (result.limit, result.trouble) == ("time", "")
    assert who(pool)


@pytest.mark.usefixtures("lenient")
def test_a_first_body_that_computes_too_long_is_ended_too(pool: ReplBackend) -> None:
    assert check(pool, "spin 60", timeout_s=0.5).limit == "time"


@pytest.mark.usefixtures("lenient")
def test_an_answer_that_never_ends_is_given_up_in_time(pool: ReplBackend) -> None:
    assert check(pool, "dribble 0.1").crash
    started = time.monotonic()
    assert check(pool, "dribble 30", timeout_s=1).limit == "time"
    assert time.monotonic() - started < 3


def test_a_body_that_waits_is_tried_again_and_then_unjudged(pool: ReplBackend) -> None:
    check(pool, "")
    started = time.monotonic()
    result = check(pool, "sleep 60", timeout_s=0.3)
    assert "waited" in result.trouble
    assert result.limit is None
    assert time.monotonic() - started > 2 * 0.8  # on the warm one, and on a fresh one


def test_what_ends_a_worn_repl_is_no_fault_of_the_body(pool: ReplBackend) -> None:
    for deed in ("exit 0", "signal 9", "say garbage||", "grow 400", "sleep 60", "lost env"):
        check(pool, "")
        result = check(pool, f"worn {deed}\nerror: no\n", timeout_s=1)
        assert [m.text for m in result.messages] == ["error: no"], deed


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("exit 0", "exit status 0"),
        (f"signal {int(signal.SIGSEGV)}", "signal 11"),
        ("abort Stack overflow detected. Aborting.", "Stack overflow"),
        ("say no json||", "protocol"),
        ("say 7||", "protocol"),
        ("deep", "protocol"),
        ('say {"messages": 7, "env": 1}||', "protocol"),
        ("lost env", "Unknown environment"),
    ],
)
def test_a_body_that_ends_every_repl_has_crashed_it(pool: ReplBackend, body: str, how: str) -> None:
    result = check(pool, body)
    assert how in result.crash
    assert (result.trouble, result.limit) == ("", None)


@pytest.mark.parametrize(
    "body", ["signal 9", "abort terminate called after throwing an instance of 'std::bad_alloc'"]
)
def test_what_the_machine_does_is_trouble(pool: ReplBackend, body: str) -> None:
    result = check(pool, body)
    assert result.trouble
    assert (result.crash, result.limit) == ("", None)


def test_memory_is_limited(pool: ReplBackend) -> None:
    result = check(pool, "grow 400")
    assert (result.limit, result.trouble) == ("memory", "")


def test_growth_over_several_bodies_is_no_fault_of_the_last(pool: ReplBackend) -> None:
    for _ in range(6):
        result = check(pool, "grow 60")
        assert (result.limit, result.trouble) == (None, "")


def test_an_answer_without_end_is_an_output_limit(pool: ReplBackend) -> None:
    assert check(pool, "flood 20").limit == "output"


def test_an_answer_before_the_question_is_not_taken(pool: ReplBackend) -> None:
    check(pool, 'later {"env": 7}||')
    time.sleep(0.4)
    assert check(pool, "error: no\n").failed


def test_a_repl_is_replaced_after_so_many_commands(
    pool: ReplBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MAX_COMMANDS", 2)
    first = pool._free[0]
    check(pool, "")
    assert first.repl
    check(pool, "")
    assert first.repl is None


def test_a_repl_that_has_said_much_is_replaced(
    pool: ReplBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MAX_SAID", 6 << 20)
    check(pool, "huge")
    assert pool._free[0].repl
    check(pool, "huge")
    assert pool._free[0].repl is None


@pytest.mark.usefixtures("lenient")
def test_children_of_a_body_end_with_its_repl(pool: ReplBackend) -> None:
    marker = uuid.uuid4().hex
    result = check(pool, f"fork {marker}\nspin 60", timeout_s=1)
    assert result.limit == "time"
    assert count(marker) == 0


def test_no_more_than_size_are_alive_and_all_are_answered(box: Sandbox) -> None:
    pool = ReplBackend(box, TOOLCHAIN, FAKE, 256, size=2)
    bodies = [f"error {n}" for n in range(12)]
    headers = ["import A\n", "import B\n", "import C\n"]
    with ThreadPoolExecutor(12) as threads:
        jobs = [threads.submit(check, pool, b, headers[n % 3]) for n, b in enumerate(bodies)]
        results = [job.result() for job in jobs]
    assert [result.messages[0].text for result in results] == bodies
    assert count(FAKE) == 2
    pool.close()
    assert count(FAKE) == 0


def test_who_waits_for_a_repl_is_told_when_the_pool_is_closed(pool: ReplBackend) -> None:
    with ThreadPoolExecutor(2) as threads:
        working = threads.submit(check, pool, "sleep 1")
        while pool._free:
            time.sleep(0.01)
        waiting = threads.submit(check, pool, "")
        time.sleep(0.2)
        pool.close()
        assert waiting.result().trouble
        assert not working.result().trouble
    assert count(FAKE) == 0


@pytest.mark.usefixtures("lenient")
def test_a_hundred_checks_leave_nothing_behind(box: Sandbox) -> None:
    pool = ReplBackend(box, TOOLCHAIN, FAKE, 256, size=2)
    deeds = ["", "error", "sorry", "exit 1", "say garbage||", "grow 400", "huge", "spin 9", "", ""]

    def leftovers() -> tuple[int, int, int]:
        return count(FAKE), len(os.listdir("/proc/self/fd")), threading.active_count()

    def run(number: int) -> Compiled:
        return check(pool, f"worn {deeds[number % 10]}\n", f"import M{number // 50}\n", 0.3)

    before = leftovers()
    with ThreadPoolExecutor(4) as threads:
        early = list(threads.map(run, range(20)))
        memory_mb = resident_mb()
        late = list(threads.map(run, range(20, 100)))
    pool.close()
    assert not any(result.trouble for result in (*early, *late))
    assert leftovers() == before
    assert resident_mb() < memory_mb + 4 * 8 + 16  # the large answers, which `late` still holds
