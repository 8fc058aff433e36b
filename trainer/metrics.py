"""What happened, as numbers (metrics.jsonl) and as text (samples.jsonl).

Both files are appended to line by line, so that they can be followed while a run goes on. A
checkpoint keeps their sizes; a resumed run cuts them back to it first.
"""

from __future__ import annotations

import json
import logging
import math
import os
import resource
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from rewards import Score
from trainer.compare import Compared
from trainer.config import Config
from trainer.loggers import open_logger
from trainer.run_folder import RunFolder
from trainer.scoring import ScoredGroup

log = logging.getLogger(__name__)

SAMPLES_SCHEMA_VERSION = 1


class JsonlFile:
    """An append-only file of one JSON object a line."""

    def __init__(self, path: Path, *, size: int = 0) -> None:
        """Open for appending after the first `size` bytes; the rest is cut off.

        A file that is shorter has lost lines; it goes on after the last whole one.
        """
        self._file = path.open("ab")
        if (actual := path.stat().st_size) < size:
            log.warning("%s has lost lines: %d bytes, not %d; going on there", path, actual, size)
            size = path.read_bytes().rfind(b"\n") + 1
        self._file.truncate(size)
        self._file.seek(size)

    def append(self, *records: Mapping[str, Any]) -> None:
        """Write records and hand them to the operating system."""
        for record in records:
            line = json.dumps(record, ensure_ascii=False, default=repr)
            self._file.write(line.encode("utf-8", "backslashreplace") + b"\n")
        self._file.flush()

    def sync(self) -> int:
        """Flush what was written to disk, and return how many bytes that is."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class RunFiles:
    """What the first rank writes at each step: metrics, samples, and what the logger is told."""

    def __init__(self, config: Config, folder: RunFolder, metrics: int, samples: int) -> None:
        """Open the files for appending after so many bytes; the rest is cut off."""
        self.metrics = JsonlFile(folder.metrics, size=metrics)
        self.samples = JsonlFile(folder.samples, size=samples)
        self.logger = open_logger(config, asdict(config), folder.path)

    def log(self, row: Mapping[str, float]) -> None:
        """Write the metrics of a step."""
        self.metrics.append(row)
        if self.logger is not None:
            self.logger.log(row, int(row["step"]))

    def sync(self) -> dict[str, int]:
        """Flush what was written to disk, and return how many bytes of each file that is."""
        return {"metrics": self.metrics.sync(), "samples": self.samples.sync()}

    def close(self) -> None:
        """Close the files, and send the logger what is left."""
        self.metrics.close()
        self.samples.close()
        if self.logger is not None:
            self.logger.close()


def drop_non_finite(metrics: Mapping[str, float]) -> dict[str, float]:
    """Leave out what JSON and plots cannot hold, with a warning."""
    bad = sorted(name for name, value in metrics.items() if not math.isfinite(value))
    if bad:
        log.warning("step %s: not finite, left out: %s", metrics.get("step"), ", ".join(bad))
    return {name: value for name, value in metrics.items() if name not in bad}


def peak_memory_gb() -> float:
    """Return the most memory that this process has held: a GPU's where one is used."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def rollout_metrics(scored: Sequence[ScoredGroup], compared: Compared) -> dict[str, float]:
    """Describe a scored rollout: rewards, lengths, spread."""
    samples = [sample for group in scored for sample in group.group.samples]
    num_groups, num_tokens = len(scored), sum(len(s.ids) for s in samples)
    unique = sum(len({s.ids for s in group.group.samples}) for group in scored)
    advantages = compared.advantages
    kept = [abs(a) for example in compared.examples for a in example.advantages]
    metrics = {
        **score_metrics(scored),
        "completions/length_mean": num_tokens / len(samples),
        "completions/truncated_frac": _mean([s.truncated for s in samples]),
        "completions/unique_frac": unique / len(samples),
        # The mean surprise of what was sampled is an unbiased estimate of the entropy, for free.
        "entropy": -math.fsum(x for s in samples for x in s.logprobs if x == x) / num_tokens,
        "advantages/abs_mean": _mean(kept) if kept else 0.0,
        "groups/sampled": num_groups,
        "groups/zero_variance_frac": float(advantages.zero_variance_P.sum()) / num_groups,
        "groups/shaping_only_frac": sum(
            differs_by_shaping_alone(group.scores, kept_G)
            for group, kept_G in zip(scored, advantages.kept_PG.tolist(), strict=True)
        )
        / num_groups,
    }
    return metrics if compared.kl is None else metrics | {"kl": compared.kl}


def differs_by_shaping_alone(scores: Sequence[Score], kept_G: Sequence[bool]) -> bool:
    """Say whether a group's completions are all equally right, and it is kept all the same."""
    outcomes = [score.outcome for score, kept in zip(scores, kept_G, strict=True) if kept]
    return bool(outcomes) and None not in outcomes and len(set(outcomes)) == 1


def score_metrics(scored: Sequence[ScoredGroup]) -> dict[str, float]:
    """Average the judged scores, in all and part by part; name how many are unjudged."""
    scores = [score for group in scored for score in group.scores]
    values = [score.value for score in scores if score.value is not None]
    outcomes = [score.outcome for score in scores if score.outcome is not None]
    metrics = {"verify/unjudged_frac": 1 - len(values) / len(scores)}
    if values:
        metrics["reward/mean"] = _mean(values)
        metrics["reward/std"] = statistics.pstdev(values)
    if outcomes:
        metrics["outcome/mean"] = _mean(outcomes)
    for name in sorted({name for score in scores for name in score.parts}):
        parts = [score.parts[name].value for score in scores if name in score.parts]
        if judged := [value for value in parts if value is not None]:
            metrics[f"reward/{name}/mean"] = _mean(judged)
    return metrics


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def sample_records(
    step: int, scored: Sequence[ScoredGroup], compared: Compared
) -> list[dict[str, Any]]:
    """Describe every sample of a step, with why it got what it got."""
    # None: took no part in the loss, being unjudged, of a group without spread, or masked.
    advantages = {id(e.sample): _mean(e.advantages) for e in compared.examples}
    return [
        {
            "schema_version": SAMPLES_SCHEMA_VERSION,
            "step": step,
            "group": p,
            "sample": k,
            "prompt_id": group.group.prompt.id,
            "prompt": group.group.prompt.text,
            "completion": sample.text,
            "score": score.to_dict(),
            "verdict": str(score.verdict),
            "reason": score.reason,
            "advantage": advantages.get(id(sample)),
            "finish_reason": sample.finish_reason,
            "num_tokens": len(sample.ids),
        }
        for p, group in enumerate(scored)
        for k, (sample, score) in enumerate(zip(group.group.samples, group.scores, strict=True))
    ]
