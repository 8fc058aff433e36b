"""One REPL in the sandbox: a header that it keeps warm, and one body after the other on top of it.

What goes wrong is somebody's fault, and who is to blame shows by trying again. A REPL that has
worked before may have grown, or have been tampered with, by others; so nothing that happens on it
is believed of the present submission but that it used up its time. `Lost.sightings` says how often
the same must be seen on fresh REPLs before it counts.
"""

from __future__ import annotations

import json
import signal
import time
from typing import Any

from rewards.verifiers.lean.backends import Compiled, Limit
from rewards.verifiers.lean.backends.answers import read_answer
from rewards.verifiers.lean.messages import MACHINE, Message, find_trouble
from sandbox import Outcome, Session

HEADER_S = 300.0
"""For the imports, which may come from a cold disk; they are no part of a submission's time."""
GRACE_S = 0.5
BUSY_SHARE = 0.5
"""Of its time a submission must have kept a core busy, for the overrun to be its own."""
MAX_COMMANDS = 200
"""After so many bodies it is replaced: it keeps the environment of each in memory."""
OUTPUT_KB = 16 << 10
MAX_SAID = 48 << 20
"""In its life; the sandbox ends a session at four times its output limit."""
MAX_ANSWER = 8 << 20
LIMITS: dict[str, Limit] = {"memory": "memory", "output": "output", "processes": "processes"}


class Lost(Exception):
    """A REPL that is gone, or must be."""

    def __init__(self, result: Compiled, sightings: int) -> None:
        super().__init__(result)
        self.result = result
        """What to answer once it has been seen often enough."""
        self.sightings = sightings
        """On how many fresh REPLs it must be seen; 0 if this once will do."""


class Repl:
    """A REPL for one header. For one thread at a time."""

    def __init__(self, session: Session, header: str) -> None:
        self.session, self.header = session, header
        self.answered = 0
        """The bodies it has answered."""
        self._env: int | None = None
        self._messages: tuple[Message, ...] = ()
        self._busy_s = 0.0
        self._said = 0
        self._asking = False

    @property
    def worn(self) -> bool:
        """Whether it should take no further body."""
        return self._asking or self.answered >= MAX_COMMANDS or self._said > MAX_SAID

    def check(self, body: str, header_lines: int, timeout_s: float) -> Compiled:
        """Have it read a body.

        Raises:
            Lost: If it cannot be used any more, with what that says.
        """
        if self._env is None:
            self._warm_up(header_lines)
        self._expect_silence()
        try:
            answer = self._ask({"cmd": body, "env": self._env}, timeout_s + GRACE_S)
            if "env" not in answer:
                raise ValueError(f"it says: {str(answer.get('message'))[:300]}")
            messages = self._messages + read_answer(answer, header_lines)
        except TimeoutError:
            raise self._overran(timeout_s, self.session.close()) from None
        except EOFError:
            raise self._died(self.session.close()) from None
        except OverflowError:
            raise Lost(Compiled(limit="output"), 1) from None
        except ValueError as error:
            raise Lost(Compiled(crash=f"the REPL broke its protocol: {error}"), 2) from None
        self.answered += 1
        return Compiled(messages, failed=any(m.severity == "error" for m in messages))

    def _warm_up(self, header_lines: int) -> None:
        try:
            answer = self._ask({"cmd": self.header}, HEADER_S)
            self._messages = read_answer(answer, 0)
        except (TimeoutError, EOFError, OverflowError, ValueError) as error:
            ended = self.session.close()
            said_last = ended.stderr.decode(errors="replace").strip()[-300:]
            how = ended.infra_error or (f"limit {ended.limit}" if ended.limit else said_last)
            trouble = f"the REPL fails at the header: {error or type(error).__name__}: {how}"
            raise Lost(Compiled(trouble=trouble), 2) from None
        if "env" not in answer:  # it has read none of it, and says why
            self._messages = (Message("error", str(answer.get("message")), line=1),)
        if trouble := find_trouble(self._messages, header_lines):
            raise Lost(Compiled(self._messages, trouble=trouble), 2)
        if any(message.severity == "error" for message in self._messages):
            raise Lost(Compiled(self._messages, failed=True), 0)
        self._env = answer["env"]

    def _ask(self, command: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Return its answer to a command.

        Raises:
            TimeoutError: If there is none in time.
            EOFError: If it is gone.
            OverflowError: If there is no end to it.
            ValueError: If it is none.
        """
        self._asking, started = True, time.monotonic()
        self.session.send(json.dumps(command).encode() + b"\n\n")
        data = self._receive(started + timeout_s)
        answer = parse(data)
        self._said += len(data)
        self._asking = False
        self._busy_s += time.monotonic() - started
        return answer

    def _receive(self, deadline: float) -> bytearray:
        data, ended = bytearray(), False
        while not ended:
            said = self.session.receive(deadline)
            data += said
            ended = data.find(b"\n\n", max(0, len(data) - len(said) - 1)) >= 0
            if len(data) > MAX_ANSWER:
                raise OverflowError("an answer without end")
            if time.monotonic() > deadline:  # there may always be a little more
                raise TimeoutError("an answer that does not end in time")
        return data

    def _expect_silence(self) -> None:
        """Refuse to ask what has answered already, or is gone: an earlier body has left traces."""
        try:
            said = self.session.receive(0.0)
            trouble = f"the REPL spoke out of turn: {said[:200]!r}"
        except EOFError:
            trouble = "the REPL ended between two commands"
        except TimeoutError:
            return
        raise Lost(Compiled(trouble=trouble), 2)

    def _overran(self, timeout_s: float, outcome: Outcome) -> Lost:
        """Tell a body that computes from one that waits, or is not given a core."""
        if self.answered:  # at least so much of the time is this body's
            busy = outcome.cpu_s - self._busy_s >= BUSY_SHARE * timeout_s
        else:
            busy = outcome.cpu_s >= BUSY_SHARE * (self._busy_s + timeout_s)
        if busy:
            return Lost(Compiled(limit="time"), 0)
        trouble = f"no answer in {timeout_s:g} s, most of which it waited; is there a free core?"
        return Lost(Compiled(trouble=trouble), 1)

    def _died(self, outcome: Outcome) -> Lost:
        said = outcome.stderr.decode(errors="replace").strip()[-300:]
        if outcome.limit in LIMITS:
            return Lost(Compiled(limit=LIMITS[outcome.limit]), 1)
        if outcome.infra_error or MACHINE.search(said) or outcome.signal == signal.SIGKILL:
            trouble = outcome.infra_error or said or "the REPL was killed"
            return Lost(Compiled(trouble=trouble), 2)
        signalled = f"signal {outcome.signal}" if outcome.signal else None
        how = signalled or f"exit status {outcome.exit_code}"
        return Lost(Compiled(crash=f"the REPL ended with {how}: {said}".rstrip(": ")), 2)


def parse(data: bytearray) -> dict[str, Any]:
    """Read an object of JSON.

    Raises:
        ValueError: If it is none.
    """
    try:
        answer = json.loads(data)
    except RecursionError:
        raise ValueError("JSON of a depth without end") from None
    if not isinstance(answer, dict):
        raise ValueError(f"no object: {str(answer)[:200]}")
    return answer
