"""What became of one test, and what of it may be shown."""

from __future__ import annotations

import re
import reprlib
import signal
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from rewards.verifiers.code.forms import Withheld
from sandbox import Outcome

_BY_THE_PROGRAM = ("exception", "exit", "memory", "not_plain", "wrong")
"""Verdicts whose detail may be the program's own words."""


@dataclass(frozen=True)
class Result:
    """What became of one test."""

    verdict: str
    """passed, wrong, exception, exit, not_plain, syntax, compile_error, skipped, one of the limits
    timeout, memory, output and processes, or infra_error."""
    test: str
    got: str = ""
    wanted: str = ""
    detail: str = ""
    cpu_s: float = 0.0
    shared: bool = False
    wall_s: float = 0.0

    def as_dict(self, label: str = "test") -> dict[str, Any]:
        """Return plain data of bounded size, without empty fields, for a Score's evidence."""
        texts = {label: self.test, "got": self.got, "wanted": self.wanted}
        facts: dict[str, Any] = {"verdict": self.verdict, **{k: short(v) for k, v in texts.items()}}
        facts["detail"] = short(self.detail, 1000)
        if self.wall_s or self.cpu_s:
            facts |= {"cpu_s": round(self.cpu_s, 4), "wall_s": round(self.wall_s, 4)}
        return {key: value for key, value in facts.items() if value != ""}

    def timed(self, outcome: Outcome) -> Result:
        """Return a copy with the times of the job that it came from."""
        return replace(self, cpu_s=outcome.cpu_s, wall_s=outcome.wall_s)

    def explain(self) -> str:
        """Say in a few words what happened."""
        test, got, wanted = short(self.test), short(self.got), short(self.wanted)
        said = test
        if got:
            said = f"{test} gave {got}" + (f", not {wanted}" if wanted else "")
        elif wanted:
            said = f"{test} must give {wanted}"
        if self.detail and not (got and wanted):
            said = short(self.detail)
        return f"{self.verdict}: {said.strip()}" if said else self.verdict

    def without(self, withheld: Collection[Withheld], *, asserted: bool) -> Result:
        """Blank what must not be shown.

        A program can print its input, so what it printed, returned or raised goes with the input.
        The text of an assert says what goes in and what is wanted, and so may why it failed.
        """
        told = {*withheld, *(("got",) if "input" in withheld else ())}
        hide_test = "input" in told or (asserted and "wanted" in told)
        hide_detail = "got" in told or (asserted and bool(told))
        return replace(
            self,
            test="" if hide_test else self.test,
            got="" if "got" in told else self.got,
            wanted="" if "wanted" in told else self.wanted,
            detail="" if hide_detail and self.verdict in _BY_THE_PROGRAM else self.detail,
        )


_OUT_OF_MEMORY = re.compile(
    r"^MemoryError|std::bad_alloc|java\.lang\.OutOfMemoryError|JavaScript heap out of memory|"
    r"^runtime: out of memory|^memory allocation of \d+ bytes failed",
    re.MULTILINE,
)
_CAUSE = re.compile(r"Exception|Error|panicked at|terminate called|fatal error|what\(\)")
# A traceback ends with its cause; those of other languages begin with it.
_TRACEBACK = "Traceback (most recent call last)"


def explain_exit(outcome: Outcome) -> tuple[str, str]:
    """Return the verdict on a program that a signal or a failing status ended, and why it did."""
    said = outcome.stderr[-8000:].decode("utf-8", "replace").strip()
    lines = said.split("\n")
    causes = [] if _TRACEBACK in said else [line for line in lines if _CAUSE.search(line)]
    last = (causes or lines[-1:])[0].strip()
    ended = f"exit status {outcome.exit_code}"
    if outcome.signal is not None:
        ended = f"ended by signal {outcome.signal} ({_signal_name(outcome.signal)})"
    detail = f"{last} ({ended})" if last and outcome.exit_code != 1 else last or ended
    if _OUT_OF_MEMORY.search(said):
        return "memory", detail
    return "exception" if outcome.exit_code == 1 else "exit", detail


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "a real-time one"


class _Repr(reprlib.Repr):
    """A repr whose cost does not grow with the value: a model chooses how large that is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 200
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 20

    def repr_int(self, x: int, level: int) -> str:
        """Show an integer, or its size where its decimal digits would take long to compute."""
        bits = x.bit_length()
        return repr(x) if bits < 1024 else f"<an integer of {bits} bits>"


show = _Repr().repr


def short(text: str, limit: int = 200) -> str:
    """Cut a text to a size that fits a report."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
