r"""Throw broken mathematics at the verifier: does anything crash, hang, or contradict itself?

    python -m bench.fuzz_math                       100,000 mutations of the labelled cases
    python -m bench.fuzz_math --n 1000 --seed 7     fewer, and others; equal seeds, equal inputs

Golds and completions of the cases are cut, doubled, spliced, wrapped and sprinkled with what breaks
parsers; then the verifier's function is called in this process, whose second opinions may run in
workers. A failure, printed with its input, is a call that

  raised    anything but a SpecError for a gold, which is counted as refused
  slow      took over 1 s of CPU, here and in the workers together
  late      took more than 0.3 s over the verifier's limit of wall time, twice in a row
  value     gave another value than 0, 1 or None
  reflexive rejected a gold, which had been accepted as such, as its own answer in a box

Pairs that are equal one way round only are counted and shown: a rounded gold may accept what an
exact one does not. They fail the run with --strict. Exit status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import rewards
from bench.golds import read_cases
from bench.graders import WARM_UP, batch, compile_gold
from bench.hostile import Pair, mutations
from bench.machine import heading
from bench.meter import Cost, Meter, progress

MOST_CPU_S, GRACE_S = 1.0, 0.3
HANGS_S = 300.0
"""With no progress for this long, the traceback is written and the process ends."""
SYMMETRY_EVERY = 5


class Finding(NamedTuple):
    """A call that did what none may do."""

    kind: str
    pair: Pair
    detail: str


class Fuzzer:
    """Judges pairs, and keeps what went wrong and how much was judged."""

    def __init__(self, black_box: Path) -> None:
        self.findings: list[Finding] = []
        self.one_way: list[Pair] = []
        self.counts: Counter[str] = Counter()
        self.worst = Cost(0.0, 0.0)
        self._black_box = black_box
        self._meter, self._cold = Meter(), True
        self._limit_s = rewards.get_verifier("math").timeout_s + GRACE_S

    def fuzz(self, pair: Pair, *, gold_changed: bool, mirrored: bool) -> None:
        """Judge a pair, its gold against itself, and now and then gold and answer exchanged."""
        self._black_box.write_text(json.dumps(pair), "utf-8")
        score = self.judge(pair)
        if score is None:
            return
        self.counts[str(score.verdict)] += 1
        if gold_changed and boxable(pair.gold):
            self.counts["reflexive"] += 1
            itself = Pair(pair.gold, f"\\boxed{{{pair.gold}}}")
            again = self.judge(itself)
            if again and again.value == 0.0:
                self.findings.append(Finding("reflexive", itself, again.reason))
        answer = score.evidence.get("extracted")
        if mirrored and isinstance(answer, str) and boxable(answer) and boxable(pair.gold):
            self._mirror(pair.gold, answer)

    def _mirror(self, gold: str, answer: str) -> None:
        one = self.judge(Pair(gold, f"\\boxed{{{answer}}}"))
        other = self.judge(Pair(answer, f"\\boxed{{{gold}}}"))
        if one and other and one.judged and other.judged:
            self.counts["symmetric"] += 1
            if one.value != other.value:
                self.one_way.append(Pair(gold, answer) if one.value else Pair(answer, gold))

    def judge(self, pair: Pair) -> rewards.Score | None:
        """Return the score; None, and a note of it, if the gold is refused or something raised."""
        part = self._measured(pair, lambda: compile_gold(pair.gold).parts[0])
        if isinstance(part, rewards.SpecError):
            self.counts["gold refused"] += 1
            return None
        completion = rewards.Completion(pair.completion)
        score = part
        if not isinstance(part, Exception):
            score = self._measured(pair, lambda: part.verifier(completion, part.spec))
        if isinstance(score, rewards.Score) and score.value in (0.0, 1.0, None):
            return score
        kind = "raised" if isinstance(score, Exception) else "value"
        self.findings.append(Finding(kind, pair, repr(score)))
        return None

    def _measured(self, pair: Pair, call: Callable[[], Any]) -> Any:
        if self._cold:
            batch(
                WARM_UP
            )  # the last call killed its worker; the next one's start is not the call's
        result, cost = self._meter.measure(call)
        if self._excess(cost) == "late":  # nobody else's load is to be taken for ours
            time.sleep(1.0)
            result, cost = self._meter.measure(call)
        self._cold = cost.wall_s > self._limit_s / 2
        self.worst = Cost(*map(max, self.worst, cost))
        self.counts["calls"] += 1
        if kind := self._excess(cost):
            detail = f"{cost.cpu_s:.2f} s of CPU, {cost.wall_s:.2f} s of wall time"
            self.findings.append(Finding(kind, pair, detail))
        return result

    def _excess(self, cost: Cost) -> str | None:
        if cost.cpu_s > MOST_CPU_S:
            return "slow"
        return "late" if cost.wall_s > self._limit_s else None


def boxable(text: str) -> bool:
    r"""Whether text stays what it is within a box: braces balance, and no markers hide in it."""
    depth = 0
    for match in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth < 0:
            return False
    odd = len(text) - len(text.rstrip("\\"))
    return depth == 0 and odd % 2 == 0 and not re.search(r"</?(?:think|answer)>|\\f?box", text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default, what in (
        ("--n", 100_000, "mutations"),
        ("--seed", 0, "of the mutations"),
        ("--most", 20, "failures after which it ends"),
    ):
        parser.add_argument(name, type=int, default=default, help=f"{what} ({default:,})")
    parser.add_argument("--cases", type=Path, help="JSONL with gold and answer")
    parser.add_argument("--strict", action="store_true", help="fail for lacking symmetry too")
    args = parser.parse_args()
    print(heading("sympy", "math-verify", "pydantic"))
    cases = read_cases(args.cases)
    black_box = Path(tempfile.mkdtemp(prefix="fuzz_math_")) / "input.json"
    print(f"should this process die, its last input lies in {black_box}", flush=True)
    faulthandler.enable()
    rewards.configure(cache=0)
    started = time.perf_counter()
    fuzzer = run(cases, args.n, args.seed, black_box, args.most)
    report(fuzzer, time.perf_counter() - started)
    return int(bool(fuzzer.findings or (args.strict and fuzzer.one_way)))


def run(
    cases: Sequence[Mapping[str, Any]], n: int, seed: int, black_box: Path, most: int
) -> Fuzzer:
    """Fuzz with `n` mutations, or until there are `most` findings."""
    fuzzer = Fuzzer(black_box)
    golds = {str(case["gold"]) for case in cases}
    for number, pair in enumerate(progress(mutations(cases, n, seed), n, "mutations")):
        if number % 50 == 0:
            faulthandler.dump_traceback_later(HANGS_S, exit=True)
        fuzzer.fuzz(
            pair, gold_changed=pair.gold not in golds, mirrored=number % SYMMETRY_EVERY == 0
        )
        if len(fuzzer.findings) >= most:
            break
    faulthandler.cancel_dump_traceback_later()
    return fuzzer


def report(fuzzer: Fuzzer, elapsed_s: float) -> None:
    """Print the counts, then each failure with its input."""
    calls = fuzzer.counts.pop("calls", 0)
    print(", ".join(f"{name} {count}" for name, count in sorted(fuzzer.counts.items())))
    print(
        f"{calls} calls, {calls / elapsed_s:.0f} a second; the worst took"
        f" {fuzzer.worst.cpu_s:.2f} s of CPU, {fuzzer.worst.wall_s:.2f} s of wall time"
    )
    for one in fuzzer.one_way[:10]:
        print(f"one way only: gold {one.gold!r:.200} accepts {one.completion!r:.200}")
    print(f"{len(fuzzer.one_way)} pairs are equal one way only; {len(fuzzer.findings)} failures")
    for found in fuzzer.findings:
        print(f"{found.kind}: {found.detail}")
        print(f"  gold {found.pair.gold!r}\n  completion {found.pair.completion!r}")


if __name__ == "__main__":
    sys.exit(main())
