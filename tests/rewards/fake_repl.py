#!/usr/bin/env python3
"""Speaks the protocol of leanprover-community/repl, and misbehaves as the text asks it to.

Lines of a body: `error`, `warning`, `sorry`, `silent sorry`, or one of the methods of `Deeds`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

grown: list[bytes] = []


class Deeds:
    """What a line of a body can make the REPL do; the argument is the rest of the line."""

    def sleep(self, seconds: str) -> None:
        time.sleep(float(seconds))

    def spin(self, seconds: str) -> None:
        end = time.process_time() + float(seconds)
        while time.process_time() < end:
            pass

    def exit(self, status: str) -> None:
        os._exit(int(status))

    def signal(self, number: str) -> None:
        os.kill(os.getpid(), int(number))
        time.sleep(10)

    def abort(self, words: str) -> None:
        os.write(2, words.encode())
        os.kill(os.getpid(), signal.SIGABRT)

    def say(self, words: str) -> None:
        os.write(1, words.replace("|", "\n").encode())

    def deep(self, _: str) -> None:
        os.write(1, b"[" * 200_000 + b"\n\n")

    def grow(self, megabytes: str) -> None:
        grown.append(b"x" * (int(megabytes) << 20))
        time.sleep(0.1)  # or it would be too quick to be seen

    def flood(self, megabytes: str) -> None:
        for _ in range(int(megabytes)):
            os.write(1, b"x" * (1 << 20))

    def dribble(self, seconds: str) -> None:
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            os.write(1, b"x")

    def fork(self, marker: str) -> None:
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(1000)", marker],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
        )

    def later(self, words: str) -> None:
        """Have a child answer the question after this one."""
        if os.fork() == 0:
            time.sleep(0.2)
            self.say(words)
            os._exit(0)

    def worn(self, deed: str) -> None:
        """Do something else, but on a REPL that has answered a body before."""
        if states > 2:
            perform(deed)


def perform(line: str) -> None:
    name, _, argument = line.partition(" ")
    if deed := getattr(Deeds, name, None):
        deed(Deeds(), argument)


def message(severity: str, line: int, text: str) -> dict[str, object]:
    return {"severity": severity, "pos": {"line": line, "column": 2}, "data": text}


def read(text: str) -> dict[str, object]:
    messages, sorries = [], []
    for number, line in enumerate(text.splitlines(), 1):
        perform(line)
        if line.startswith(("error", "import Missing")):
            messages.append(message("error", number, line))
        elif line == "whoami":
            messages.append(message("info", number, str(os.getpid())))
        elif line == "huge":
            messages.append(message("info", number, "x" * (4 << 20)))
        elif line.endswith("sorry"):
            sorries.append({"pos": {"line": number, "column": 4}, "goal": "⊢ True"})
            if line == "sorry":
                messages.append(message("warning", number, "declaration uses `sorry`"))
    return {"messages": messages, "sorries": sorries}


def write(answer: dict[str, object], in_pieces: bool) -> None:
    data = json.dumps(answer, indent=1, ensure_ascii=False).encode() + b"\n\n"
    for at in range(0, len(data), 7 if in_pieces else len(data)):
        os.write(1, data[at : at + (7 if in_pieces else len(data))])
        if in_pieces:
            time.sleep(0.001)


states = 0
lines: list[str] = []
for line in sys.stdin:
    if line.strip():
        lines.append(line)
        continue
    command = json.loads("".join(lines))
    lines.clear()
    states += 1
    if "lost env" in command["cmd"] and (states > 2 or "worn" not in command["cmd"]):
        write({"message": "Unknown environment."}, False)
        continue
    write({**read(command["cmd"]), "env": states - 1}, "in pieces" in command["cmd"])
