#!/usr/bin/env python3
"""A `lean` that replays answers, for what no real one can be made to do everywhere.

It answers a file with what `answers.json` beside its folder says about it: the first answer whose
`text` is the file's, or whose `marker` stands in it. An answer has `messages` (as Lean's JSON),
`raw` (lines printed as they are), `status`, `olean` (plain data, written in place of a compiled
file), and what is done before: `sleep_s`, `spin_s`, `eat_mb`, `fork`
(a child that does the same), `signal`. By another name it is a tool that judges compiled files by
their `replay`: "ok", or why not.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

PREFIX = Path(__file__).resolve().parent.parent


def main(words: list[str]) -> int:
    """Behave like the command line of Lean, as far as the verifier uses it."""
    if words == ["--version"]:
        print(
            "Lean (version 4.35.0, fake, commit 0000000000000000000000000000000000000000, Release)"
        )
        return 0
    if words == ["--print-prefix"]:
        print(PREFIX)
        return 0
    if Path(sys.argv[0]).name != "lean":
        return replay(words)
    text = Path(words[-1]).read_text("utf-8")
    answers = json.loads((PREFIX / "answers.json").read_text("utf-8"))
    answer = next((a for a in answers if fits(a, text)), {"olean": {}})
    misbehave(answer)
    for message in answer.get("messages", []):
        print(json.dumps(message), flush=True)
    for line in answer.get("raw", []):
        print(line, flush=True)
    if "signal" in answer:
        os.kill(os.getpid(), answer["signal"])
    if "olean" in answer:
        made = Path(words[words.index("-o") + 1])
        made.write_text(json.dumps(answer["olean"]), "utf-8")
    return int(answer.get("status", 0))


def fits(answer: dict, text: str) -> bool:
    """Tell whether an answer is about this file."""
    if "text" in answer:
        return answer["text"] == text
    return answer["marker"] in text


def replay(words: list[str]) -> int:
    """Accept a compiled file, or say why not."""
    path = Path("submission.olean" if len(words) == 2 else f"{words[0]}.olean")
    found = json.loads(path.read_text("utf-8")).get("replay", "ok")
    if found != "ok":
        print(found)
    return int(found != "ok")


def misbehave(answer: dict) -> None:
    """Take the time and the memory that the answer says."""
    if answer.get("fork") and os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.setsid()
    eaten = bytearray()
    for _ in range(answer.get("eat_mb", 0) // 16):
        eaten += os.urandom(16 << 20)
        time.sleep(0.01)
    ends = time.monotonic() + answer.get("spin_s", 0)
    while time.monotonic() < ends:
        pass
    time.sleep(answer.get("sleep_s", 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
