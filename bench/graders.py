r"""Graders side by side: ours in all the ways it is called, and others where they can be killed."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import rewards
from bench.hostile import Pair

MATH_VERIFY = "bench.graders:math_verify"
KILLED_AFTER_S = 5.0
MEMORY_BYTES = 4 << 30

# Imports and the starts of workers are no part of anything that is measured.
WARM_UP = [
    Pair(gold, f"\\boxed{{{answer}}}")
    for gold, answer in (
        ("2", "3"),
        ("x+1", "1+x"),
        (r"\sqrt{2}", r"\frac{2}{\sqrt{2}}"),
        (r"\{1,2\}", r"\{2,1\}"),
        ("(0,1]", r"0 < x \le 1"),
        ("x=3", "3=x"),
        ("5", "2^x"),
        (r"1+\sqrt{2}", r"\sqrt{3+2\sqrt{2}}"),  # needs the second opinion
    )
]


class Reply(NamedTuple):
    """What a grader said: 1 or 0, None for "cannot judge"; and what that took."""

    value: float | None
    code: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def accepts(self) -> bool:
        """Whether it pays."""
        return (self.value or 0.0) >= 0.5


def compile_gold(gold: str) -> Any:
    """Compile the spec of a gold; what is compiled once is kept."""
    return rewards.compile_spec({"type": "math", "answer": gold})


def math_verify(completion: str, gold: str) -> float | None:
    """Judge as verl's wrapper of math-verify does; None if it cannot read the gold."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    if not (wanted := _math_verify_gold(gold)):
        return None
    configs = [ExprExtractionConfig(), LatexExtractionConfig()]
    return float(
        verify(wanted, parse(completion, configs, parsing_timeout=None), timeout_seconds=None)
    )


@lru_cache(maxsize=16384)
def _math_verify_gold(gold: str) -> list[Any]:
    from math_verify import LatexExtractionConfig, parse

    found: list[Any] = parse(f"\\boxed{{{gold}}}", [LatexExtractionConfig()], parsing_timeout=None)
    return found


class Peer:
    """A grader "file.py:function" or "module:function" in a process that can be killed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._start()

    def __call__(self, pair: Pair) -> Reply:
        """Judge; no answer in time is a 0, and a new process."""
        self._connection.send(pair)
        try:
            if self._connection.poll(KILLED_AFTER_S):
                return Reply(*self._connection.recv())
            code = "killed"
        except (EOFError, OSError):
            code = "crashed"
        self.close()
        self._start()
        return Reply(0.0, code, KILLED_AFTER_S, KILLED_AFTER_S)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.path), daemon=True)
        self._process.start()
        theirs.close()
        if (complaint := self._connection.recv()) is not None:
            raise SystemExit(f"cannot load {self.path!r}: {complaint}")


def _serve(connection: Any, path: str) -> None:
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        grade = _load(path)
        grade(r"\boxed{x+1}", "x + 1")  # imports are not part of the first case
    except Exception as error:  # to be told on the other side
        return connection.send(f"{type(error).__name__}: {error}")
    connection.send(None)
    while True:
        pair, code = connection.recv(), ""
        started, cpu_s = time.perf_counter(), time.process_time()
        try:
            value = grade(pair.completion, pair.gold)
            code = "abstained" if value is None else ""
        except Exception:  # as its users have it: no reward
            value, code = 0.0, "raised"
        spent = (time.perf_counter() - started, time.process_time() - cpu_s)
        connection.send((None if value is None else float(value), code, *spent))


def _load(path: str) -> Callable[[str, str], Any]:
    place, _, name = path.rpartition(":")
    if not place.endswith(".py"):
        return getattr(importlib.import_module(place), name)
    spec = importlib.util.spec_from_file_location(Path(place).stem, place)
    if not spec or not spec.loader:
        raise ImportError(f"{place} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def ours(pair: Pair) -> Reply:
    """Judge as a user does."""
    if refusal(pair.gold):
        return _reply(None)
    return _reply(rewards.score(pair.completion, {"type": "math", "answer": pair.gold}))


def batch(pairs: Sequence[Pair]) -> list[Reply]:
    """Judge as a trainer does; a gold that is refused is told apart."""
    fit = [pair for pair in pairs if not refusal(pair.gold)]
    specs = [{"type": "math", "answer": pair.gold} for pair in fit]
    scores = iter(rewards.score_batch([pair.completion for pair in fit], specs))
    return [_reply(None if refusal(pair.gold) else next(scores)) for pair in pairs]


def _reply(score: rewards.Score | None) -> Reply:
    if score is None:
        return Reply(None, "refused")
    return Reply(score.value, "killed" if score.value is None else str(score.verdict))


def in_process(pair: Pair) -> Reply:
    """Call the verifier's function here, with a spec that was made before."""
    part = compile_gold(pair.gold).parts[0]
    started = time.perf_counter()
    score = part.verifier(rewards.Completion(pair.completion), part.spec)
    return Reply(score.value, str(score.verdict), time.perf_counter() - started)


@lru_cache(maxsize=16384)
def refusal(gold: str) -> str | None:
    """Return why a spec refuses a gold; None if it does not."""
    try:
        compile_gold(gold)
    except rewards.SpecError as error:
        return str(error)
    return None
