"""The answers of a REPL, which a Kimina server passes on as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rewards.verifiers.lean.messages import HAS_SORRY, Message, parse_message


def read_answer(answer: Mapping[str, Any], lines_before: int) -> tuple[Message, ...]:
    """Return the messages of an answer about the text that follows on so many lines.

    A REPL lists each `sorry` apart from the messages, where an option can silence it.

    Raises:
        ValueError: If that is no answer of a REPL.
    """
    try:
        messages = [parse_message(data) for data in answer.get("messages") or ()]
        sorries = [parse_message(data) for data in answer.get("sorries") or ()]
    except (TypeError, AttributeError, ValueError, OverflowError):
        raise ValueError(f"no answer of a REPL: {str(answer)[:200]}") from None
    if sorries and not any(message.is_sorry for message in messages):
        where = sorries[0]
        said = "declaration uses `sorry`"
        messages.append(Message("warning", said, HAS_SORRY, where.line, where.column))
    return tuple(
        replace(message, line=message.line + lines_before) if message.line else message
        for message in messages
    )
