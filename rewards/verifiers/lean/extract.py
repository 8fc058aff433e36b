"""Find the Lean code in a completion."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from rewards.completion import Completion
from rewards.fences import CodeBlock, unwrap_markdown
from rewards.verifiers.lean.lexer import LexError, lex
from rewards.verifiers.lean.names import declares

FENCE_NAMES = frozenset({"lean", "lean4", "lean-4", "l4"})
"""What a fence may call Lean 4, in lower case."""


@dataclass(frozen=True)
class Submission:
    """The code to judge, and where it was found."""

    text: str
    source: str


def extract_submission(completion: Completion, name: str) -> Submission | None:
    """Return the last complete block of Lean, or what comes nearest to one.

    Of several blocks the last one that declares the theorem counts: the ones after it show its use
    or parts of it. Blocks that name another language are passed over; blocks that name none count
    when no block names Lean. An unclosed block counts when there is no closed one. Without any
    fence the answer is the submission. None means that there is nothing to judge.

    Args:
        completion: What the model wrote; its reasoning is not looked at.
        name: The theorem's name.
    """
    blocks = unwrap_markdown(completion.code_blocks)
    for closed in (True, False):
        for kind in ("lean", "unlabelled"):
            fitting = [b for b in blocks if b.closed is closed and _is_of(kind, b)]
            if fitting:
                label = f"{kind} block" if closed else f"unclosed {kind} block"
                return _choose(fitting, blocks, label, name)
    answer = completion.answer_text.replace("\r\n", "\n")
    if blocks or not answer.strip():
        return None
    return Submission(_ended(answer), "there is no fenced block: the whole answer")


def _is_of(kind: str, block: CodeBlock) -> bool:
    named = block.language in FENCE_NAMES if kind == "lean" else not block.language
    return named and bool(block.text.strip())


def _choose(fitting: list[CodeBlock], blocks: list[CodeBlock], label: str, name: str) -> Submission:
    chosen, why = fitting[-1], f"the last {label}"
    declaring = next((b for b in reversed(fitting) if _declares(b.text, name)), chosen)
    if declaring is not chosen:
        chosen, why = declaring, f"the last {label} that declares {name}"
    number = next(i for i, block in enumerate(blocks, 1) if block is chosen)
    return Submission(
        _ended(textwrap.dedent(chosen.text)), f"block {number} of {len(blocks)}: {why}"
    )


def _declares(text: str, name: str) -> bool:
    try:
        return declares(lex(text), name)
    except LexError:
        return False


def _ended(text: str) -> str:
    return text.rstrip() + "\n"
