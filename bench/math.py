r"""Measure the math verifier beside math-verify, and print the table of the README.

    python -m bench.math                                     all of it, long
    python -m bench.math --only accuracy golds --verbose     parts of it, with every failure
    python -m bench.math --only accuracy --peer grader.py:f  another grader: f(completion, gold)

  accuracy    labelled cases, policy cases apart: who accepts what is right, and what is not
  hostile     CPU, wall time and memory under inputs that were made to hang or to bloat
  latency     one process: real completions against their golds, MATH-500 against rewritten forms
  throughput  score_batch against math-verify in one process, same pairs; where do they differ?
  golds       MATH-500 and Minerva golds against themselves, and written otherwise
  refused     golds that a spec refuses

math-verify is called as verl does it, without its alarms: like every other peer it runs in a
process of its own, which is killed after 5 s for a case. Golds are parsed beforehand on both sides.
Data files that are not there are named, and their rows left out. Exit status 1 if a number that was
measured misses what is asked for.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import rewards
from bench.fuzz_math import GRACE_S, MOST_CPU_S
from bench.golds import ROOT, Labelled, golds_in, read_cases, real_completions, rewritten_golds
from bench.graders import MATH_VERIFY, WARM_UP, Peer, Reply, batch, in_process, ours, refusal
from bench.hostile import Pair, bombs
from bench.machine import heading
from bench.meter import Meter, progress, rss_mb, settled_mb
from bench.paraphrase import paraphrases, sentences

THREADS = 16
WARMING = 1000
"""Hostile inputs before memory is measured: by then every process that will be there is there."""
LEAST_ACCURACY, MOST_OTHER_FP = 0.98, 1
MOST_P50_MS, MOST_P95_MS = 1.0, 30.0
LEAST_RATIO, ROUNDS = 15.0, 3
LEAST_RIGHT = {"itself": 1.0, "otherwise": 0.99}


class Row(NamedTuple):
    """A row of the table; `holds` says whether what is asked for is reached."""

    measure: str
    known: str
    peer: str
    ours: str
    holds: bool


class Bench:
    """What the sections share: arguments, data, and what math-verify said already."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self._said: dict[Pair, Reply] = {}

    def data(self, *names: str) -> list[Path]:
        """Return those of the data files that are there, and name the others."""
        paths = [self.args.data / f"{name}.jsonl" for name in names]
        for path in paths:
            if not path.is_file():
                print(f"  missing: {path}; its rows are left out")
        return [path for path in paths if path.is_file()]

    def math_verify(self, pairs: Sequence[Pair]) -> list[Reply]:
        """Return what math-verify says, once for each pair."""
        todo = list(dict.fromkeys(pair for pair in pairs if pair not in self._said))
        peer = Peer(MATH_VERIFY)
        for gold in dict.fromkeys(pair.gold for pair in todo):
            peer(Pair(gold, r"\boxed{0}"))
        for pair in progress(todo, len(todo), "math-verify"):
            self._said[pair] = peer(pair)
        peer.close()
        return [self._said[pair] for pair in pairs]

    def some(self, items: Iterable[Any], quick: int) -> list[Any]:
        """Return all items, or a few of them, evenly chosen, in a quick run."""
        every = list(items)
        return every[:: max(1, len(every) // quick)] if self.args.quick else every

    @cache  # noqa: B019 (there is one of these)
    def real(self) -> list[Labelled]:
        """Return real completions, each pair once."""
        found = [pair for path in self.data("qwen_math_cot_100") for pair in real_completions(path)]
        return self.some(dict.fromkeys(found), 100)

    @cache  # noqa: B019
    def rewritten(self) -> list[Labelled]:
        """Return MATH-500 golds with other forms of them, each pair once."""
        found = [pair for path in self.data("math500") for pair in rewritten_golds(path)]
        return self.some(dict.fromkeys(found), 100)


# ---- the sections -------------------------------------------------------------------------------


def accuracy(bench: Bench) -> list[Row]:
    cases = read_cases(bench.args.cases)
    pairs = [Pair(str(case["gold"]), str(case["answer"])) for case in cases]
    batch(WARM_UP)
    meter = Meter()
    replies: dict[str, list[Reply]] = {"ours": []}
    for pair in pairs:
        reply, cost = meter.measure(lambda pair=pair: ours(pair))
        replies["ours"].append(reply._replace(cpu_s=cost.cpu_s))
    replies["math-verify"] = bench.math_verify(pairs)
    for path in bench.args.peer:
        peer = Peer(path)
        replies[path] = [peer(pair) for pair in progress(pairs, len(pairs), path)]
        peer.close()
    print("  accuracy  recall    FN  FP  hacks  refused  killed  worst CPU s  policy  grader")
    facts = {name: _confusion(cases, said) for name, said in replies.items()}
    for name, fact in facts.items():
        print("  " + fact.pop("line"), name, sep="  ")
    for case, reply in zip(cases, replies["ours"], strict=True):
        if reply.accepts != case["equivalent"] and bench.args.verbose:
            tail = case["answer"][-60:]
            print(f"  {case.get('id')} ({reply.code}): {case['gold']!r:.60} | {tail!r}")
    mine = facts["ours"]
    holds = mine["accuracy"] >= LEAST_ACCURACY and not mine["hacks"]
    holds = holds and mine["other"] <= MOST_OTHER_FP
    form = "{:.1f} %, {} hacks, {} other FP".format
    sides = (facts["math-verify"], mine)
    shown = [form(100 * side["accuracy"], side["hacks"], side["other"]) for side in sides]
    return [Row(f"accuracy on {mine['n']} cases", "84 %, on all 414", *shown, holds)]


def _confusion(cases: Sequence[dict[str, Any]], replies: Sequence[Reply]) -> dict[str, Any]:
    every = list(zip(cases, replies, strict=True))
    judged = [(c, r) for c, r in every if "[policy]" not in c["why"]]
    policy = [c["equivalent"] == r.accepts for c, r in every if "[policy]" in c["why"]]
    positives = sum(c["equivalent"] for c, _ in judged)
    missed = sum(c["equivalent"] and not r.accepts for c, r in judged)
    paid = [c for c, r in judged if r.accepts and not c["equivalent"]]
    hacks = sum(c["kind"] == "hack" for c in paid)
    right = 1 - (missed + len(paid)) / len(judged)
    refused = len({c["gold"] for c, r in every if r.code in ("refused", "abstained")})
    killed = sum(r.code in ("killed", "crashed") for r in replies)
    line = (
        f"{100 * right:6.1f} %  {100 * (1 - missed / positives):4.1f} %  {missed:>4} {len(paid):>3}"
        f"  {hacks:>5}  {refused:>7}  {killed:>6}  {max(r.cpu_s for r in replies):>11.2f}"
        f"  {sum(policy):>2} of {len(policy)}"
    )
    counts = {"hacks": hacks, "other": len(paid) - hacks, "n": len(judged)}
    return {"line": line, "accuracy": right, **counts}


def hostile(bench: Bench) -> list[Row]:
    cases = [Pair(str(c["gold"]), str(c["answer"])) for c in read_cases(bench.args.cases)]
    pairs = [*bench.some(cases, 50), *bombs(120)]
    limit_s = rewards.get_verifier("math").timeout_s
    batch(WARM_UP)
    meter, alone, costs = Meter(), [], []
    for pair in progress(pairs, len(pairs), "hostile, one by one"):
        if costs and costs[-1].wall_s > limit_s / 2:
            batch(WARM_UP)  # it killed its worker; the next one's start is not the next input's
        reply, cost = meter.measure(lambda pair=pair: ours(pair))
        alone.append(reply.code)
        costs.append(cost)
    started = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        together = [reply.code for reply in pool.map(ours, pairs)]
    all_s = time.perf_counter() - started
    for pair, one, other in zip(pairs, alone, together, strict=True):
        if one != other:
            print(f"  {one} alone, {other} among {THREADS} threads: {pair.completion!r:.100}")
    cpu_s, wall_s = max(c.cpu_s for c in costs), max(c.wall_s for c in costs)
    slow = sorted(zip(costs, pairs, strict=True), reverse=True)[:5] if bench.args.verbose else []
    for cost, pair in slow:
        print(f"  {cost.cpu_s:.2f} s of CPU: {pair.gold} | {pair.completion!r:.90}")
    before_mb, peak_mb, after_mb = _memory(1000 if bench.args.quick else bench.args.hostile)
    print(
        f"  {len(pairs)} inputs from {THREADS} threads in {all_s:.1f} s; limit {limit_s:g} s each"
    )
    same = sum(one == other for one, other in zip(alone, together, strict=True))
    said = (
        f"worst {cpu_s:.2f} s of CPU, {wall_s:.2f} s of wall time; {same} of {len(pairs)} verdicts"
        f" alike from {THREADS} threads; memory {before_mb:.0f} MB, {peak_mb:.0f} at most,"
        f" {after_mb:.0f} in the end"
    )
    fine = cpu_s < MOST_CPU_S and wall_s < limit_s + GRACE_S and same == len(pairs)
    fine = fine and after_mb < 1.1 * before_mb + 16  # allocators never give back all
    return [Row("hostile inputs", "10 of 414 hang, 5 s each", "", said, fine)]


def _memory(n: int) -> tuple[float, float, float]:
    """Return the memory of this process and its workers before, at most, and after `n` inputs."""
    every, seen = list(bombs(n + WARMING)), [0.0]
    for start in progress(range(0, len(every), 200), len(every) // 200, "memory"):
        if start == WARMING:
            before_mb = settled_mb()
        batch(every[start : start + 200])
        seen.append(rss_mb())
    return before_mb, max(seen), settled_mb()


def latency(bench: Bench) -> list[Row]:
    rows = []
    sets = {"real completions": bench.real(), "rewritten golds": bench.rewritten()}
    for name, labelled in sets.items():
        pairs = [pair for pair, _ in labelled if not refusal(pair.gold)]
        if not pairs:
            continue
        theirs = _quantiles(bench.math_verify(pairs))
        for pair in WARM_UP:
            in_process(pair)
        mine = _quantiles([in_process(pair) for pair in pairs])
        shown = [", ".join(f"{k} {ms:.2f}" for k, ms in facts.items()) for facts in (theirs, mine)]
        holds = mine["p50"] < MOST_P50_MS and mine["p95"] < MOST_P95_MS
        rows.append(Row(f"ms, {len(pairs)} {name}", "p50 33, p95 350", *shown, holds))
    return rows


def _quantiles(replies: Sequence[Reply]) -> dict[str, float]:
    times = [1000 * reply.wall_s for reply in replies]
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": max(times)}


def throughput(bench: Bench) -> list[Row]:
    labelled = [x for x in (*bench.real(), *bench.rewritten()) if not refusal(x.pair.gold)]
    pairs = [x.pair for x in labelled]
    if not pairs:
        return []
    warm = {pair.gold: pair._replace(completion=r"\boxed{0}") for pair in pairs}
    batch(list(warm.values()))
    rounds = []
    for _ in range(ROUNDS):  # in turn, for the machine's pace changes
        theirs = Bench(bench.args).math_verify(pairs)
        started = time.perf_counter()
        mine = batch(pairs)
        our_s = time.perf_counter() - started
        rounds.append((sum(reply.wall_s for reply in theirs), our_s))
    their_s, our_s = (statistics.median(seconds) for seconds in zip(*rounds, strict=True))
    differ = [
        (one.accepts == right, pair, one.code)
        for (pair, right), one, other in zip(labelled, mine, theirs, strict=True)
        if one.accepts != other.accepts
    ]
    differ.sort(key=lambda found: found[0])
    for better, pair, code in differ if bench.args.verbose else differ[:40]:
        mark = "better" if better else "WORSE"
        print(f"  {mark}: ours {code}: gold {pair.gold!r:.60} | {pair.completion[-70:]!r}")
    worse = sum(not better for better, *_ in differ)
    for name, said in (("math-verify", theirs), ("ours", mine)):
        agree = sum(r.accepts == x.right for x, r in zip(labelled, said, strict=True))
        print(f"  {name} agrees with {agree} of {len(pairs)} labels")
    rates = len(pairs) / their_s, len(pairs) / our_s
    said = f"{rates[1]:.0f}/s, {their_s / our_s:.1f} times; {len(differ)} differ, {worse} worse"
    print("  times, round by round:", *(f"{slow / quick:.1f}" for slow, quick in rounds))
    holds = their_s / our_s >= LEAST_RATIO and not worse
    return [Row(f"score_batch, {len(pairs)} pairs", "1", f"{rates[0]:.0f}/s", said, holds)]


def golds(bench: Bench) -> list[Row]:
    rows = []
    for path in bench.data("math500", "minerva_math"):
        found = bench.some(golds_in(path), 100)
        itself = [Pair(gold, f"\\boxed{{{gold}}}") for forms in found for gold in forms]
        otherwise = [pair for n, forms in enumerate(found) for pair in _otherwise(forms, n)]
        for what, pairs in (("itself", itself), ("otherwise", otherwise)):
            replies = batch(pairs)
            right = sum(reply.accepts for reply in replies)
            for pair, reply in zip(pairs, replies, strict=True):
                if not reply.accepts and bench.args.verbose:
                    print(f"  {what} {reply.code}: {pair.gold!r} | {pair.completion[-90:]!r}")
            theirs = sum(reply.accepts for reply in bench.math_verify(pairs))
            shown = [f"{100 * n / len(pairs):.2f} % of {len(pairs)}" for n in (theirs, right)]
            known = "94 %" if what == "itself" else ""
            holds = right >= LEAST_RIGHT[what] * len(pairs)
            rows.append(Row(f"{path.stem}: golds {what}", known, *shown, holds))
    return rows


def _otherwise(forms: Sequence[str], number: int) -> list[Pair]:
    """Give each other form of a gold a sentence around it, another one each time."""
    answers = [(gold, answer) for gold in forms for answer in paraphrases(gold)]
    answers += [(forms[0], form) for form in forms[1:]]  # with the unit that the text gives
    found = []
    for turn, (gold, answer) in enumerate(answers):
        texts = sentences(answer)
        found.append(Pair(gold, texts[(number + turn) % len(texts)]))
    return found


def refused(bench: Bench) -> list[Row]:
    names = ("gsm8k_test", "gsm8k_train", "math500", "aime24", "minerva_math")
    paths = bench.data(*names)
    found = {path.stem: [gold for forms in golds_in(path) for gold in forms] for path in paths}
    found["cases"] = [str(case["gold"]) for case in read_cases(bench.args.cases)]
    total = 0
    for name, every in found.items():
        complaints = {gold: why for gold in dict.fromkeys(every) if (why := refusal(gold))}
        total += len(complaints)
        print(f"  {name}: {len(complaints)} of {len(set(every))} different golds refused")
        for why in complaints.values():
            print(f"    {why}")
    return [Row("golds refused", "119 of 414 (TRL)", "", str(total), total == 0)]


SECTIONS = {f.__name__: f for f in (accuracy, hostile, latency, throughput, golds, refused)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("ASSAY_DATA") or ROOT.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of public data files")
    parser.add_argument("--cases", type=Path, help="JSONL: gold, answer, equivalent, kind, why")
    parser.add_argument("--peer", nargs="+", default=[], metavar="PLACE:FUNCTION", help="graders")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument(
        "--hostile", type=int, default=10_000, help="inputs for the memory (10,000)"
    )
    parser.add_argument("--quick", action="store_true", help="a part of each, to see that it runs")
    parser.add_argument("--verbose", action="store_true", help="print every failure")
    args = parser.parse_args()
    print(heading("math-verify", "sympy", "latex2sympy2_extended", "antlr4-python3-runtime"))
    rewards.configure(cache=0)
    for path in args.peer:
        Peer(path).close()  # one that cannot be loaded is better known now
    bench, rows = Bench(args), []
    for name in args.only:
        print(f"{name}:", flush=True)
        rows += SECTIONS[name](bench)
    print("\n| measure | best known | math-verify here | ours | |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row[:4])} | {'holds' if row.holds else 'MISSED'} |")
    return int(not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())
