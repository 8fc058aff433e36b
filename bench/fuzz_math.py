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
import os
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import track

import rewards
from bench.machine import heading
from bench.paraphrase import read_cases

MAX_CHARS = 20_000
MOST_CPU_S, GRACE_S = 1.0, 0.3
HANGS_S = 300.0
"""With no progress for this long, the traceback is written and the process ends."""
SYMMETRY_EVERY = 5


class Pair(NamedTuple):
    """What one judgement takes."""

    gold: str
    completion: str


class Finding(NamedTuple):
    """A call that did what none may do."""

    kind: str
    pair: Pair
    detail: str


# ---- inputs -------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\\[A-Za-z]+|\d+|\s+|.", re.DOTALL)
_MACROS = r"""\frac \sqrt \boxed{ \text{ \left( \right \pm \cup \in \begin{pmatrix} \end{pmatrix} \\
\{ \} \infty \circ \overline{ e999999 10^{10^{10}} <think> </think> <answer> </answer> ** $$ ####
or AM and cm Answer: Thursday dozen"""
_SIGNS = "{}()[]|$%^_&~#'\"!=<>,;:./*+-\\0123456789xyein \n\t\x00−²½∞π√°٣х𝟙\u202e\ufeff\ud800"
_LONG = ("The answer is ", "9" * 300, "!" * 9, "^{9" * 9, "(" * 40, r"\frac{1}{" * 30)
_NASTY = (*_SIGNS, *_MACROS.split(), *_LONG)
_FRAMES = r"""\boxed{%s};\text{%s};\frac{%s}{%s};\sqrt{%s};%s^{%s};(%s);\{%s\};$%s$;|%s|;%s = %s;%s!
\left(%s\right);%s, %s;%s \text{ or } %s;-(%s);<think>%s;<answer>%s</answer>;**%s**;%s_{%s};%s\%%
x \in [%s, %s);\sum_{k=1}^{%s} %s;%s:%s;\begin{pmatrix} %s & %s \end{pmatrix};The answer is %s."""
_WRAPPERS = re.split("[;\n]", _FRAMES)
Edit = Callable[[list[str], Random], list[str]]


def _span(pieces: list[str], rng: Random) -> tuple[int, int]:
    start = rng.randrange(len(pieces) + 1)
    return start, min(len(pieces), start + rng.choice((1, 1, 1, 2, 3, 8, 30)))


def _delete(pieces: list[str], rng: Random) -> list[str]:
    start, end = _span(pieces, rng)
    return pieces[:start] + pieces[end:]


def _insert(pieces: list[str], rng: Random) -> list[str]:
    at = rng.randrange(len(pieces) + 1)
    return [*pieces[:at], rng.choice(_NASTY), *pieces[at:]]


def _replace(pieces: list[str], rng: Random) -> list[str]:
    start, end = _span(pieces, rng)
    return [*pieces[:start], rng.choice(_NASTY), *pieces[end:]]


def _repeat(pieces: list[str], rng: Random) -> list[str]:
    start, end = _span(pieces, rng)
    return pieces[:start] + pieces[start:end] * rng.choice((2, 2, 2, 3, 20, 300)) + pieces[end:]


def _swap(pieces: list[str], rng: Random) -> list[str]:
    (a, b), (c, d) = sorted((_span(pieces, rng), _span(pieces, rng)))
    return pieces if b > c else pieces[:a] + pieces[c:d] + pieces[b:c] + pieces[a:b] + pieces[d:]


def _digits(pieces: list[str], rng: Random) -> list[str]:
    return [str(rng.randrange(10)) if p.isdecimal() and rng.random() < 0.3 else p for p in pieces]


def _wrap(pieces: list[str], rng: Random) -> list[str]:
    wrapper, inside = rng.choice(_WRAPPERS), "".join(pieces)
    return [wrapper % ((inside,) * wrapper.replace("%%", "").count("%s"))]


_EDITS: tuple[Edit, ...] = (_delete, _insert, _replace, _repeat, _swap, _digits, _wrap)


def mutate(text: str, other: str, rng: Random) -> str:
    """Return `text` after one to four edits of characters or tokens, maybe spliced with `other`."""
    if rng.random() < 0.1:
        text = text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]
    for _ in range(rng.choice((1, 1, 2, 4))):
        pieces = list(text) if rng.random() < 0.5 else _TOKEN.findall(text)
        text = "".join(rng.choice(_EDITS)(pieces, rng))[:MAX_CHARS]
    return text


def mutations(cases: Sequence[Mapping[str, Any]], n: int, seed: int = 0) -> Iterator[Pair]:
    """Yield `n` pairs, of which the gold, the completion or both are a case's after some edits."""
    rng = Random(seed)
    for _ in range(n):
        case, other, side = rng.choice(cases), rng.choice(cases), rng.random()
        gold, completion = str(case["gold"]), str(case["answer"])
        if side < 0.7:
            completion = mutate(completion, str(other["answer"]), rng)
        if side > 0.4:
            gold = mutate(gold, str(other["gold"]), rng)
        yield Pair(gold, completion)


# @ is a number that makes each of them new
_BOMBS = r"""9^{9^{9^{@}}};9**9**@99;e^{e^{e^{e^{@}}}};@00000000!;(((@!)!)!);@e999999999;@7^{@^{@@}}
\binom{10^9+@}{5\cdot10^8};\sum_{k=1}^{10^{12}+@} \frac1k;\prod_{k=1}^{10^7+@} (x+k);\Gamma(10^9+@)
\int_0^{@} x^{x^x} \, dx;\lim_{n \to \infty} n^{@};(x+y+z+w+@)^{200} - (x+y+z+w+@)^{200};0/(@-@)
\sqrt[99999999]{@} + \sin(10^{10^{10}});@011_{99999999} + 1_{-@};__import__('os').system('@')
x^{@} + \sin^{99}(x)\cos^{99}(y) - \tan^{@}(x+y)"""
# what stands before the number, how often, and what after it
_NESTS = r"""(;600;);\sqrt{;300;};\frac{1}{;200;};\{;200;\};|;200;|;x_{1}+;1500;;7;5000;;12,;1500;
x=;500;;3:;700;;one million ;300;;(0,1) \cup ;300;;;60; \pm 1;;50; \text{ cm}^{99999} / ;;300;!
x-;700;y;-;900;;\begin{pmatrix} 1 & ;40; \\ 2 & 3 \end{pmatrix};0.\overline{142857;1;}"""
# _ is a space
_FLOODS = r"""\boxed{ \boxed{2} \[ \( $ $$_ 1_ { } <think> ** </think> <answer> ####_ =2 ,1 \text{
The_answer_is_ < ` ( \left( \frac _"""
_GOLDS = r"2;\frac{1}{2};x^2+1;\{1,2\};(0,1];x=3;\sqrt{2};5 \text{ cm};B"


def bombs(n: int) -> Iterator[Pair]:
    """Yield `n` completions, no two of them equal, that were made to hang or to bloat a grader."""
    boxed = [lambda i, bomb=bomb: bomb.replace("@", str(i)) for bomb in re.split("[;\n]", _BOMBS)]
    nests = re.split("[;\n]", _NESTS)
    for head, times, tail in zip(nests[::3], map(int, nests[1::3]), nests[2::3], strict=True):
        boxed.append(lambda i, h=head, n=times, t=tail: h * n + str(i) + t * n)
    floods = [text.replace("_", " ") for text in (*_FLOODS.split(), "\n", "\u202e")]
    golds = _GOLDS.split(";")
    for i in range(n):
        turn, kind = divmod(i, len(boxed) + len(floods))
        if kind < len(boxed):
            completion = rf"So it is \boxed{{{boxed[kind](turn + 3)}}}."
        else:
            flood = floods[kind - len(boxed)]
            completion = f"{turn} {flood * (60_000 // len(flood))} {turn}"
        yield Pair(golds[i % len(golds)], completion)


# ---- measuring ----------------------------------------------------------------------------------


class Cost(NamedTuple):
    """What a call took, in this process and in those that it had started before."""

    cpu_s: float
    wall_s: float


class Meter:
    """Measures calls. A process born during a call is left out: it may be a spare that warms up."""

    def __init__(self) -> None:
        self._pids, self._calls = descendants(), 0

    def measure(self, call: Callable[[], Any]) -> tuple[Any, Cost]:
        """Return the call's result, which may be the exception that it raised, and its cost."""
        before = self._living()
        buried_s, own_s, started = _buried_s(), time.process_time(), time.perf_counter()
        try:
            result = call()
        except Exception as error:  # whether it may is for others to say
            result = error
        wall_s, own_s = time.perf_counter() - started, time.process_time() - own_s
        after = _cpu_s_of(before)
        gone_s = sum(cpu_s for pid, cpu_s in before.items() if pid not in after)
        alive_s = sum(cpu_s - before[pid] for pid, cpu_s in after.items())
        return result, Cost(own_s + alive_s + max(0.0, _buried_s() - buried_s - gone_s), wall_s)

    def _living(self) -> dict[int, float]:
        self._calls += 1
        found = _cpu_s_of(self._pids)
        if len(found) < len(self._pids) or self._calls % 100 == 0:  # to look at all of them is slow
            self._pids = descendants()
            found = _cpu_s_of(self._pids)
        return found


def descendants() -> list[int]:
    """Return the ids of all processes that this one started, and those started by them."""
    parents = {
        int(p): stat[1] for p in os.listdir("/proc") if p.isdecimal() and (stat := _stat(int(p)))
    }
    found = [os.getpid()]
    for pid in found:  # grows as it is walked
        found += [child for child, parent in parents.items() if int(parent) == pid]
    return found[1:]


def rss_mb() -> float:
    """Return the resident memory of this process and its descendants."""
    stats = [_stat(pid) for pid in (os.getpid(), *descendants())]
    return sum(int(stat[21]) for stat in stats if stat) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _stat(pid: int) -> list[str] | None:
    """Return what follows the name in /proc/PID/stat: state, parent, ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None


def _cpu_s_of(pids: Iterable[int]) -> dict[int, float]:
    ticks = os.sysconf("SC_CLK_TCK")
    stats = {pid: stat for pid in pids if (stat := _stat(pid)) and stat[0] != "Z"}
    return {pid: sum(map(int, stat[11:15])) / ticks for pid, stat in stats.items()}


def _buried_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---- judging ------------------------------------------------------------------------------------


class Fuzzer:
    """Judges pairs, and keeps what went wrong and how much was judged."""

    def __init__(self, black_box: Path) -> None:
        self.findings: list[Finding] = []
        self.one_way: list[Pair] = []
        self.counts: Counter[str] = Counter()
        self.worst = Cost(0.0, 0.0)
        self._black_box = black_box
        self._meter = Meter()
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
        result, cost = self._meter.measure(call)
        if self._excess(cost) == "late":  # nobody else's load is to be taken for ours
            time.sleep(1.0)
            result, cost = self._meter.measure(call)
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


def compile_gold(gold: str) -> Any:
    """Compile the spec of a gold; what is compiled once is kept."""
    return rewards.compile_spec({"type": "math", "answer": gold})


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
    for case in cases[:20]:  # imports and the starts of workers are nobody's CPU time
        rewards.score(str(case["answer"]), {"type": "math", "answer": str(case["gold"])})
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


def progress(items: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    """Show a bar on a terminal, and nothing anywhere else."""
    console = Console(stderr=True)
    return track(items, what, total, console=console, disable=not console.is_terminal)


if __name__ == "__main__":
    sys.exit(main())
