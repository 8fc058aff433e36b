"""Find the program in a completion."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from rewards.completion import Completion
from rewards.fences import CodeBlock, unwrap_markdown

FENCE_NAMES = {
    "python": r"i?py(thon)?[\d.]*",
    "c": r"c\d*",
    "cpp": r"c\+\+\d*|cpp\d*|cc|cxx",
    "java": r"java\d*",
    "javascript": r"javascript|js|mjs|node(js)?",
    "go": r"go(lang)?",
    "rust": r"rust|rs",
}
"""What a fence may call each language, in lower case."""

UNFENCED = "unfenced text"
# What no line of Python is: a sentence (a capital, two more plain words, a full stop or the like at
# its end), an item of a list in words, a tag around the program.
_PROSE = re.compile(
    r"[A-Z][\w'’]*(?:[ ,;:.!]+[\w'’`-]+){2}[^=(){}\[\]]*[.:!?]"
    r"|(?:[-*•]|\d+[.)]) +[A-Z`*][^ ]* .*"
    r"|</?\w+>|\[/?PYTHON\]"
)


@dataclass(frozen=True)
class Program:
    """The program's text, where it was found, and why there."""

    text: str
    source: str
    why: str


def extract_program(
    completion: Completion, language: str = "python", entry_point: str | None = None
) -> Program | None:
    """Return the last complete block of the language, or what comes nearest to one.

    Of several blocks the last one that defines the entry point counts: the ones after it show how
    to use it. Blocks that name another language are passed over; blocks that name none count when
    no block names the language. An unclosed block counts when there is no closed one. Without any
    fence the answer is the program, less the sentences before and after it.
    """
    blocks = unwrap_markdown(completion.code_blocks)
    name = re.compile(FENCE_NAMES[language])
    for closed in (True, False):
        for kind in (language, "unlabelled"):
            fitting = [
                block
                for block in blocks
                if block.closed is closed
                and block.text.strip()
                and (name.fullmatch(block.language) if kind == language else not block.language)
            ]
            if fitting:
                label = f"{kind} block" if closed else f"unclosed {kind} block"
                return _choose(fitting, blocks, label, entry_point)
    if blocks or not completion.answer_text.strip():
        return None
    return _unfenced(completion.answer_text, language)


def _choose(
    fitting: list[CodeBlock], blocks: list[CodeBlock], label: str, entry_point: str | None
) -> Program:
    chosen, why = fitting[-1], f"the last {label}"
    if entry_point and len(fitting) > 1:
        head = entry_point.partition(".")[0]
        defines = re.compile(rf"^(?:(?:async\s+)?def|class)\s+{head}\b|^{head}\s*=", re.MULTILINE)
        defining = [b for b in fitting if defines.search(textwrap.dedent(b.text))]
        if defining and defining[-1] is not chosen:
            chosen, why = defining[-1], f"the last {label} that defines {head}"
    number = next(i for i, block in enumerate(blocks, 1) if block is chosen)
    return Program(textwrap.dedent(chosen.text), label, f"block {number} of {len(blocks)}: {why}")


def _unfenced(text: str, language: str) -> Program:
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    first, last = 0, len(lines)
    if language == "python":
        while first < last and _is_prose(lines[first]):
            first += 1
        while last > first and _is_prose(lines[last - 1]):
            last -= 1
    if first == last or (first, last) == (0, len(lines)):
        return Program(_program(lines), UNFENCED, "there is no fenced block")
    why = f"there is no fenced block; lines {first + 1} to {last} are between the prose"
    return Program(_program(lines[first:last]), UNFENCED, why)


def _program(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines)) + "\n"


def _is_prose(line: str) -> bool:
    return not line.strip() or bool(_PROSE.fullmatch(line.strip()))
