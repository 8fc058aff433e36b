"""Find the program in a completion."""

from __future__ import annotations

from dataclasses import dataclass

from rewards.completion import Completion

PYTHON = ("python", "py", "python3")


@dataclass(frozen=True)
class Program:
    """The program's text, and where it was found."""

    text: str
    source: str


def extract_program(completion: Completion) -> Program | None:
    """Return the last complete Python block of the answer, or what comes nearest to one.

    Blocks that name another language are passed over; blocks that name none count when no block
    names Python. An unclosed last block counts when there is no closed one. Without any fence the
    whole answer is the program.
    """
    blocks = completion.code_blocks
    named = [b for b in blocks if b.language in PYTHON]
    for closed in (True, False):
        for kind, candidates in (("python", named), ("unlabelled", blocks)):
            fitting = [b for b in candidates if b.closed is closed]
            if kind == "unlabelled":
                fitting = [b for b in fitting if not b.language]
            if fitting and fitting[-1].text.strip():
                label = f"{kind} block" if closed else f"unclosed {kind} block"
                return Program(fitting[-1].text, label)
    if blocks or not completion.answer_text.strip():
        return None
    return Program(completion.answer_text.strip("\n") + "\n", "unfenced text")
