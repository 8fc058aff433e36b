"""Rows of data to prompts in token ids, once, before anything is sampled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import jinja2
import transformers

from rewards.errors import ConfigurationError
from trainer.config import TODAY
from trainer.rollout import Prompt

if TYPE_CHECKING:
    from trainer.tasks import Row


def encode_prompt(tokenizer: transformers.PreTrainedTokenizerBase, row: Row) -> Prompt:
    """Encode a row's prompt.

    With a chat template a text is the user's message; without one it is continued as it stands,
    and messages are joined by blank lines. The template writes its own special tokens, so none
    are added to it a second time.
    """
    if getattr(tokenizer, "chat_template", None):
        messages = (
            [{"role": "user", "content": row.prompt}] if isinstance(row.prompt, str) else row.prompt
        )
        text = str(
            tokenizer.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=True,
                strftime_now=TODAY.strftime,  # hides the template's own clock
            )
        )
        ids = tokenizer.encode(text, add_special_tokens=False)
    else:
        text = row.prompt if isinstance(row.prompt, str) else _join(row.prompt)
        ids = tokenizer.encode(text)
    return Prompt(id=row.id, ids=tuple(ids), text=text)


def _join(messages: Sequence[dict[str, str]]) -> str:
    return "\n\n".join(message["content"] for message in messages) + "\n\n"


def encode_prompts(
    tokenizer: transformers.PreTrainedTokenizerBase,
    rows: Sequence[Row],
    *,
    max_new_tokens: int,
    max_length: int | None,
) -> list[Prompt]:
    """Encode all rows, refusing those that leave no room for a completion.

    Raises:
        ConfigurationError: Naming the first row that the chat template refuses, that is too long
            for the model, or empty.
    """
    prompts = []
    for row in rows:
        try:
            prompts.append(encode_prompt(tokenizer, row))
        except jinja2.TemplateError as error:
            raise ConfigurationError(
                f"the model's chat template refuses the prompt of row {row.id!r}: {error}"
            ) from error
    for prompt in prompts:
        length = len(prompt.ids)
        if not length:
            raise ConfigurationError(f"the prompt of row {prompt.id!r} has no tokens")
        if max_length is not None and length + max_new_tokens > max_length:
            raise ConfigurationError(
                f"row {prompt.id!r}: {length} prompt tokens + max_new_tokens {max_new_tokens} are "
                f"more than the model's {max_length} positions; lower max_new_tokens, drop the row "
                "or take a model with a longer context"
            )
    return prompts
