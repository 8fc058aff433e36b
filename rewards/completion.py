"""What a model wrote, and what only the caller knows about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rewards.errors import ConfigurationError
from rewards.fences import CodeBlock, split_blocks

Message = Mapping[str, Any]

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"


@dataclass(frozen=True)
class Completion:
    """A completion as text or chat messages.

    `Completion.of` accepts all forms that callers have. Nothing here ever raises for what a model
    wrote; every view takes linear time.
    """

    text: str
    num_tokens: int | None = None
    """Length in the policy's tokens, which only the caller knows."""
    truncated: bool = False
    """Whether generation was cut off by a length limit."""
    prompt: str | tuple[Message, ...] | None = field(default=None, hash=False)

    @classmethod
    def of(
        cls,
        source: str | Completion | Message | Sequence[Message],
        *,
        num_tokens: int | None = None,
        truncated: bool = False,
        prompt: str | Sequence[Message] | None = None,
    ) -> Completion:
        """Build from text, a chat message, a list of messages, or a Completion.

        What is given besides a Completion replaces what it holds; what is not leaves it.

        Raises:
            ConfigurationError: If the source has none of these shapes.
        """
        if prompt is not None and not isinstance(prompt, str):
            prompt = tuple(prompt)
        if isinstance(source, Completion):
            facts = {"num_tokens": num_tokens, "truncated": truncated or None, "prompt": prompt}
            given: dict[str, Any] = {k: v for k, v in facts.items() if v is not None}
            return replace(source, **given) if given else source
        return cls(_text_of(source), num_tokens, truncated, prompt)

    @property
    def prompt_text(self) -> str:
        """The prompt's last message as text; empty when no prompt is known."""
        if isinstance(self.prompt, str):
            return self.prompt
        return _content_of(self.prompt[-1]) if self.prompt else ""

    @cached_property
    def reasoning_open(self) -> bool:
        """Whether the reasoning was begun, here or by the prompt's last words, and never ended."""
        last_open, last_close = self.text.rfind(THINK_OPEN), self.text.rfind(THINK_CLOSE)
        if last_close >= 0:
            return last_open > last_close
        return last_open >= 0 or self.prompt_text.rstrip().endswith(THINK_OPEN)

    @cached_property
    def answer_text(self) -> str:
        """The text after the last `</think>`; empty when the reasoning never ended."""
        if self.reasoning_open:
            return ""
        return self.text.rpartition(THINK_CLOSE)[2]

    @cached_property
    def code_blocks(self) -> tuple[CodeBlock, ...]:
        """The fenced code blocks of the answer, in order."""
        return tuple(split_blocks(self.answer_text))


def _text_of(source: object) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, Mapping):
        return _content_of(source)
    if isinstance(source, Sequence) and source and all(isinstance(m, Mapping) for m in source):
        replies = [m for m in source if m.get("role") == "assistant"]
        return _content_of(replies[-1] if replies else source[-1])
    raise ConfigurationError(
        f"a completion is text or chat messages, not {type(source).__name__}: {source!r:.80}"
    )


def _content_of(message: Message) -> str:
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):  # the multi-part form: [{"type": "text", "text": ...}, ...]
        return "".join(str(p.get("text", "")) for p in content if isinstance(p, Mapping))
    return "" if content is None else str(content)
