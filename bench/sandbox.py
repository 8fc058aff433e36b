"""How fast the sandbox is, and what is left after many jobs.

    python -m bench.sandbox [--backend docker] [--only rate overhead batch soak]

rate      trivial tests a second through `score_batch`; one job's latency; `docker run` and `docker
          exec` a test beside it.
overhead  one job against a bare fork in the same kind of container.
batch     completions of 8 tests each, 5 % of them hanging or bombing, against honest ones alone.
soak      what an agent holds after many jobs: memory, descriptors, files, processes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import rewards
import sandbox as sandboxes
import sandbox.slots
from bench.machine import heading
from sandbox import Job, Sandbox
from sandbox.docker import OWNER_LABEL, name_owner
from sandbox.image import DEFAULT_IMAGE

LIMITS = {"cpu_s": 0.5, "wall_s": 1.0}
SPEC = {
    "type": "code",
    "entry_point": "add",
    "tests": [{"args": [n, 1], "expected": n + 1} for n in range(8)],
    "limits": LIMITS,
}
HONEST = "def add(a, b):\n    return a + b  # {}\n"
HOSTILE = (
    "import time\ndef add(a, b):\n    time.sleep(60)  # {}\n",
    "def add(a, b):\n    while True: pass  # {}\n",
    "import os\ndef add(a, b):\n    while True: os.fork()  # {}\n",
    "def add(a, b):\n    x = []\n    while True: x.append(bytearray(b'x') * (1 << 24))  # {}\n",
    "def add(a, b):\n    while True: print('x' * 99999)  # {}\n",
)
HARDENED = ("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges")

BARE = """
import os, struct
def read(size):
    data = b""
    while len(data) < size and (piece := os.read(0, size - len(data))):
        data += piece
    return data
while head := read(4):
    code = read(struct.unpack("!I", head)[0])
    ours, theirs = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(theirs, 1)
        exec(compile(code, "job", "exec"), {"__name__": "__main__"})
        os._exit(0)
    os.close(theirs)
    output = b""
    while piece := os.read(ours, 65536):
        output += piece
    os.waitpid(child, 0)
    os.close(ours)
    os.write(1, struct.pack("!I", len(output)) + output)
"""
"""A warm interpreter that forks for each job, and does nothing else for anyone's safety."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="docker", choices=["docker", "bubblewrap"])
    parts = {"rate": rate, "overhead": overhead, "batch": batch, "soak": soak}
    parser.add_argument("--only", nargs="+", choices=list(parts), default=list(parts))
    args = parser.parse_args(argv)
    print(heading("docker"), f"back end {args.backend}", sep=", ")
    with sandboxes.open_sandbox(args.backend) as box:
        rewards.configure(sandbox=box, cache=0)
        for name in args.only:
            for line in parts[name](box):
                print(f"{name}: {line}", flush=True)
    return 0


def rate(box: Sandbox, n: int = 1000) -> list[str]:
    tests_s = tests_per_second(n)
    lines = [f"{tests_s:.0f} trivial tests a second through score_batch, {box.slots} slots"]
    job = Job(b"pass")
    times = sorted(time_ms(lambda: box.run(job)) for _ in range(300))
    lines.append(f"one job p50 {times[150]:.1f} ms, p95 {times[285]:.1f} ms")
    if box.name == "docker":
        for what, command, times_run in (("run", docker_run(), 16), ("exec", docker_exec(), 40)):
            with command as call:
                theirs = calls_per_second(call, times_run, box.slots)
            lines.append(
                f"docker {what} a test: {theirs:.1f} a second, {tests_s / theirs:.0f} times"
            )
    return lines


def tests_per_second(n: int) -> float:
    """Score n distinct completions of one test each on a warm pool."""
    spec = {**SPEC, "tests": [{"args": [2, 3], "expected": 5}]}
    rewards.score_batch([HONEST.format(f"warm {i}") for i in range(20)], spec)
    texts = [HONEST.format(i) for i in range(n)]
    started = time.perf_counter()
    scores = rewards.score_batch(texts, spec)
    elapsed_s = time.perf_counter() - started
    assert all(score.value == 1.0 for score in scores)
    return n / elapsed_s


class docker_run:
    """Start a container a test."""

    def __enter__(self) -> Callable[[], object]:
        command = ["docker", "run", "--rm", *HARDENED, DEFAULT_IMAGE, "python3", "-c", "pass"]
        return lambda: subprocess.run(command, check=True, capture_output=True)

    def __exit__(self, *exc: object) -> None: ...


class docker_exec:
    """Start a process a test in a running container."""

    def __enter__(self) -> Callable[[], object]:
        start = ["docker", "run", "-d", "--rm", *HARDENED, DEFAULT_IMAGE, "python3", "-c"]
        said = subprocess.check_output([*start, "import time\ntime.sleep(600)"], text=True)
        self.container = said.strip()
        command = ["docker", "exec", self.container, "python3", "-c", "pass"]
        return lambda: subprocess.run(command, check=True, capture_output=True)

    def __exit__(self, *exc: object) -> None:
        subprocess.run(["docker", "rm", "-f", self.container], capture_output=True, check=True)


def calls_per_second(call: Callable[[], object], n: int, workers: int) -> float:
    """Call from several threads at once."""
    call()
    with ThreadPoolExecutor(workers) as pool:
        started = time.perf_counter()
        for future in [pool.submit(call) for _ in range(n)]:
            future.result()
        return n / (time.perf_counter() - started)


def overhead(box: Sandbox, n: int = 300) -> list[str]:
    """Take turns between a job of ours and a bare fork, so that load troubles both alike."""
    command = ["python3", "-s", "-c", BARE]
    if box.name == "docker":
        command = ["docker", "run", "-i", "--rm", *HARDENED, DEFAULT_IMAGE, *command]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bare:
        ours, theirs = [], []
        job = Job(b"print(6 * 7)")
        for _ in range(n):
            ours.append(time_ms(lambda: box.run(job)))
            theirs.append(time_ms(lambda: ask_bare(bare, job.program)))
        assert bare.stdin
        bare.stdin.close()
    ours_ms, bare_ms = statistics.median(ours), statistics.median(theirs)
    return [f"a job {ours_ms:.2f} ms, a bare fork {bare_ms:.2f} ms: {ours_ms / bare_ms:.2f} times"]


def ask_bare(bare: subprocess.Popen[bytes], code: bytes) -> bytes:
    assert bare.stdin
    assert bare.stdout
    bare.stdin.write(struct.pack("!I", len(code)) + code)
    bare.stdin.flush()
    return bare.stdout.read(struct.unpack("!I", bare.stdout.read(4))[0])


def time_ms(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - started)


class BatchTimes(NamedTuple):
    """Seconds of a batch with some hostile completions, and of what they may account for."""

    mixed_s: float
    honest_s: float
    hostile_s: float
    workers: int

    @property
    def allowed_s(self) -> float:
        """Return what the mixed batch may take."""
        return 1.3 * self.honest_s + self.hostile_s / self.workers


def time_batch(box: Sandbox, n: int) -> BatchTimes:
    """Score n completions, 1 of 20 hostile, and the honest ones alone; see every verdict right."""
    texts = [
        (HOSTILE[i // 20 % len(HOSTILE)] if i % 20 == 7 else HONEST).format(i) for i in range(n)
    ]
    mixed, mixed_s = scored(texts)
    for i, score in enumerate(mixed):
        assert score.value == (0.0 if i % 20 == 7 else 1.0), score
    honest_s = scored([HONEST.format(f"honest {i}") for i in range(n) if i % 20 != 7])[1]
    hostile_s = sum(s.elapsed_s for i, s in enumerate(mixed) if i % 20 == 7)
    return BatchTimes(mixed_s, honest_s, hostile_s, box.slots)


def scored(texts: list[str]) -> tuple[list[rewards.Score], float]:
    started = time.perf_counter()
    scores = rewards.score_batch(texts, SPEC)
    return scores, time.perf_counter() - started


def batch(box: Sandbox, n: int = 1000) -> list[str]:
    before = leftovers(box)
    times = time_batch(box, n)
    return [
        f"{n} completions of 8 tests, {n // 20} hostile: {times.mixed_s:.1f} s;"
        f" honest ones alone {times.honest_s:.1f} s,"
        f" hostile ones {times.hostile_s:.1f} s over {times.workers} workers:"
        f" {times.mixed_s / times.allowed_s:.2f} of what is allowed",
        f"left: {leftovers(box)} (before: {before})",
    ]


def leftovers(box: Sandbox) -> dict[str, int]:
    """Count what belongs to this process: containers, and processes of theirs, and open files."""
    facts = {"descriptors": len(os.listdir("/proc/self/fd"))}
    seen = [json.loads(box.run(Job(LOOK)).stdout) for _ in range(box.slots)]
    facts |= {name: max(one[name] for one in seen) for name in ("processes", "files")}
    if box.name == "docker":
        named = ["docker", "ps", "-aq", "--filter", f"label={OWNER_LABEL}={name_owner()}"]
        facts["containers"] = len(subprocess.check_output(named).split())
    return facts


LOOK = b"""
import json, os
files = [f for place in ("/tmp", "/dev/shm") for f in os.listdir(place)]
processes = [p for p in os.listdir("/proc") if p.isdigit()]
used = os.statvfs("/tmp")
print(json.dumps({"files": len(files), "processes": len(processes),
                  "tmpfs_kb": (used.f_blocks - used.f_bfree) * used.f_bsize // 1024}))
"""


def soak(box: Sandbox, n: int = 20_000) -> list[str]:
    first, last = soaked(box.name, n)
    return [f"after {n // 10}: {first}", f"after {n}: {last}"]


def soaked(backend: str, n: int) -> tuple[dict[str, int], dict[str, int]]:
    """Run n jobs on two agents that are never replaced; what they hold early and at the end."""
    usual, sandbox.slots.MAX_JOBS = sandbox.slots.MAX_JOBS, 10**9
    jobs = [Job(b"open('f', 'w').write('x' * 9999)\nprint(len(str(7 ** 999)))"), Job(b"1 / 0")]
    try:
        with sandboxes.open_sandbox(backend, slots=2) as box, ThreadPoolExecutor(2) as pool:
            failed = sum(bool(o.infra_error) for o in pool.map(box.run, jobs * (n // 20)))
            early = holdings(box)
            for _ in range(9):  # in parts, for the outcomes of all would be kept till the end
                failed += sum(bool(o.infra_error) for o in pool.map(box.run, jobs * (n // 20)))
            assert failed == 0
            return early, holdings(box)
    finally:
        sandbox.slots.MAX_JOBS = usual


def holdings(box: Any) -> dict[str, int]:
    """Return what this process and the agents hold."""
    facts = {"own_mb": rss_mb(os.getpid()), **leftovers(box)}
    facts["tmpfs_kb"] = json.loads(box.run(Job(LOOK)).stdout)["tmpfs_kb"]
    agents = [slot.channel.pid() for slot in box._programs._alive]
    facts["agent_mb"] = max(rss_mb(pid) for pid in agents)
    facts["container_mb"] = max(sum(map(rss_mb, tree(pid))) for pid in agents)
    # Now and then an agent passes on the descriptors of the next job: the least of several looks.
    facts["agent_descriptors"] = max(min(map(count_descriptors, [pid] * 9)) for pid in agents)
    return facts


def count_descriptors(pid: int) -> int:
    time.sleep(0.01)
    return len(os.listdir(f"/proc/{pid}/fd"))


def tree(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for parent in found:  # grows as it is walked
        with contextlib.suppress(OSError):
            listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
            found += map(int, listed.split())
    return found


def rss_mb(pid: int) -> int:
    """Return the resident memory of a process; 0 if it has ended."""
    with contextlib.suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) // 1024
    return 0


if __name__ == "__main__":
    sys.exit(main())
