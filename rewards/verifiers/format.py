"""Format: every tag opened once, closed once, in order, side by side, with something inside.

Models that are taught a format by reward cheat by doubling tags or leaving them empty, so the
value is 1 or 0 and nothing between: half a format is not worth half a reward.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from rewards.completion import Completion
from rewards.registry import verifier
from rewards.score import Score
from rewards.spec import Spec

__all__ = ["FormatSpec", "format_tags"]


class FormatSpec(Spec):
    """The tags that a completion must have, e.g. `<think>...</think><answer>...</answer>`."""

    type: Literal["format"] = "format"
    tags: Annotated[tuple[str, ...], Field(min_length=1)] = ("think", "answer")
    """Names of the tags, in their order."""

    @field_validator("tags")
    @classmethod
    def _are_distinct_names(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        if bad := [tag for tag in tags if not re.fullmatch(r"[A-Za-z_][\w.-]*", tag)]:
            raise ValueError(f"{bad[0]!r} is not a tag's name; write 'think', not '<think>'")
        if len(set(tags)) != len(tags):
            raise ValueError("every tag may be named once")
        return tags


@verifier(name="format", spec=FormatSpec, role="shaping")
def format_tags(completion: Completion, spec: FormatSpec) -> Score:
    """Give 1 if every tag is as it should be, else 0 with the first tag that is not.

    Where the prompt's last words are an opening tag (R1-style templates end with `<think>`), the
    completion need not open it again.
    """
    text = _given_opening(completion, spec.tags[0]) + completion.text
    end = 0
    for tag in spec.tags:
        found = _span(text, tag, end)
        if isinstance(found, str):
            return Score.incorrect(found, tag=tag, code="bad_format")
        end = found
    return Score.correct("every tag is there once, in order, and holds something")


def _given_opening(completion: Completion, tag: str) -> str:
    opening = f"<{tag}>"
    given = completion.prompt_text.rstrip().endswith(opening)
    return "" if not given or completion.text.lstrip().startswith(opening) else opening


def _span(text: str, tag: str, after: int) -> int | str:
    """Return where the tag's element ends, or what is wrong with it."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    for mark in (opening, closing):
        if (count := text.count(mark)) != 1:
            return f"{mark} appears {count} times instead of once" if count else f"no {mark}"
    start, end = text.find(opening), text.find(closing)
    if end < start:
        return f"{closing} comes before {opening}"
    if start < after:
        return f"{opening} comes before the tag that it should follow was closed"
    if not text[start + len(opening) : end].strip():
        return f"<{tag}> is empty"
    return end + len(closing)
