"""What tests of rollout engines share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainer.rollout import Finished, Group, Prompt, Sample


def collect(prompts: Sequence[Prompt], finished: Iterable[Finished]) -> list[Group]:
    """Put finished completions back into groups, in the order of their prompts."""
    samples: list[dict[int, Sample]] = [{} for _ in prompts]
    for one in finished:
        samples[one.prompt][one.k] = one.sample
    return [
        Group(prompt, tuple(group[k] for k in sorted(group)))
        for prompt, group in zip(prompts, samples, strict=True)
    ]
