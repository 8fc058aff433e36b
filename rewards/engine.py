"""`score` and `score_batch`: compile specs, judge each distinct pair once, keep the order."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, cast

from rewards.completion import Completion
from rewards.compose import check_bounds, combine, settle_role
from rewards.errors import ConfigurationError, RewardsError, SpecError
from rewards.machinery import Machinery, Settings, machinery
from rewards.registry import Verifier, generation
from rewards.score import Score
from rewards.spec import CompiledSpec, Part, Spec, canonical_json, compile_spec

CHUNK = 64
"""Quick completions that are judged in one message to a worker."""

Source = str | Completion | Mapping[str, Any] | Sequence[Mapping[str, Any]]
Prompt = str | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Task:
    """What is judged at once: one completion, or the completions of one group."""

    completions: tuple[Completion, ...]
    part: Part


def score(
    completion: Source,
    spec: Any,
    *,
    num_tokens: int | None = None,
    truncated: bool = False,
    prompt: Prompt | None = None,
) -> Score:
    r"""Judge one completion.

    Args:
        completion: Text, a chat message, a list of messages, or a `Completion`.
        spec: What would make it right: a `Spec`, a mapping, JSON or TOML text, or a list of these
            for a weighted sum.
        num_tokens: Length in the policy's tokens, for specs that count them.
        truncated: Whether generation was cut off by a length limit.
        prompt: What the model was asked.

    Returns:
        A `Score`. Whatever the completion holds, nothing is raised for it.

    Raises:
        RewardsError: For a bad spec or bad arguments only.

    Example:
        >>> import rewards
        >>> rewards.score("so \\boxed{\\frac12}", {"type": "math", "answer": "0.5"}).value
        1.0
    """
    whole = Completion.of(completion, num_tokens=num_tokens, truncated=truncated, prompt=prompt)
    return score_batch([whole], [spec])[0]


def score_batch(
    completions: Sequence[Source],
    specs: Any,
    *,
    groups: Sequence[object] | None = None,
    num_tokens: Sequence[int | None] | None = None,
    truncated: Sequence[bool] | None = None,
    prompts: Sequence[Prompt | None] | None = None,
) -> list[Score]:
    """Judge many completions in parallel; one Score a completion, in order, whatever crashes.

    Identical (completion, spec) pairs are judged once.

    Args:
        completions: N completions, in any form that `score` takes.
        specs: A sequence of N specs, or one mapping, `Spec` or text for all of them. A composition
            for all of them must be given N times: a list always means one spec a completion.
        groups: N hashable group ids; needed by verifiers that compare the members of a group.
        num_tokens: N lengths in the policy's tokens.
        truncated: N flags.
        prompts: N prompts.

    Raises:
        SpecError: Before anything runs, naming the rows whose specs are bad.
        ConfigurationError: If lengths differ.
    """
    whole = _completions(completions, num_tokens, truncated, prompts)
    compiled = _compile_all(specs, len(whole))
    if groups is not None and len(groups) != len(whole):
        raise ConfigurationError(f"{len(groups)} groups for {len(whole)} completions")
    keys = [_completion_key(c) for c in whole]
    tasks, places = _plan(whole, keys, compiled, groups)
    judged = _run_all(tasks)
    return [
        _assemble(spec, [judged[key][at] for key, at in row])
        for spec, row in zip(compiled, places, strict=True)
    ]


def _completions(
    sources: Sequence[Source],
    num_tokens: Sequence[int | None] | None,
    truncated: Sequence[bool] | None,
    prompts: Sequence[Prompt | None] | None,
) -> list[Completion]:
    n = len(sources)
    if isinstance(sources, str | Mapping | Completion):
        raise ConfigurationError("completions is a sequence; for a single one call rewards.score")
    given = {"num_tokens": num_tokens, "truncated": truncated, "prompts": prompts}
    for name, values in given.items():
        if values is not None and len(values) != n:
            raise ConfigurationError(f"{len(values)} {name} for {n} completions")
    return [
        Completion.of(
            source,
            num_tokens=num_tokens[i] if num_tokens is not None else None,
            truncated=truncated[i] if truncated is not None else False,
            prompt=prompts[i] if prompts is not None else None,
        )
        for i, source in enumerate(sources)
    ]


def _compile_all(specs: Any, n: int) -> list[CompiledSpec]:
    if isinstance(specs, Mapping | Spec | str):
        return [compile_cached(specs)] * n
    if len(specs) != n:
        raise ConfigurationError(f"{len(specs)} specs for {n} completions")
    compiled: list[CompiledSpec] = []
    complaints: list[tuple[int, RewardsError]] = []
    for row, raw in enumerate(specs):
        try:
            compiled.append(compile_cached(raw))
        except RewardsError as error:
            complaints.append((row, error))
    if len(complaints) == n == 1:
        raise complaints[0][1]
    if complaints:
        shown = "; ".join(f"row {row}: {error}" for row, error in complaints[:5])
        more = f"; and {len(complaints) - 5} more" if len(complaints) > 5 else ""
        raise type(complaints[0][1])(shown + more)
    return compiled


def compile_cached(raw: Any) -> CompiledSpec:
    """Compile a spec, once for all that are equal.

    Raises:
        SpecError: See `compile_spec`; also for shaping that outweighs correctness.
    """
    parts = raw if isinstance(raw, list | tuple) else [raw]
    if any(isinstance(part, Spec) for part in parts):  # may hold what its JSON does not show
        return _checked(raw)
    # What a verifier has against a spec may depend on what this machine has.
    return _compile_text(canonical_json(raw), generation(), machinery().settings)


@lru_cache(maxsize=16384)
def _compile_text(text: str, generation: int, settings: Settings) -> CompiledSpec:
    return _checked(text)


def _checked(raw: Any) -> CompiledSpec:
    compiled = compile_spec(raw)
    check_bounds(compiled)
    return compiled


def _completion_key(completion: Completion) -> str:
    facts = (completion.num_tokens, completion.truncated, completion.prompt, completion.text)
    return sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()


Place = tuple[str, int]
"""Where a part's score is found: the task's key, and the index among its completions."""


def _plan(
    completions: Sequence[Completion],
    keys: Sequence[str],
    compiled: Sequence[CompiledSpec],
    groups: Sequence[object] | None,
) -> tuple[dict[str, Task], list[list[Place]]]:
    tasks: dict[str, Task] = {}
    places: list[list[Place]] = []
    members: dict[str, list[Completion]] = {}
    for row, (completion, spec) in enumerate(zip(completions, compiled, strict=True)):
        places.append([])
        for part in spec.parts:
            if part.verifier.group:
                if groups is None:
                    raise SpecError(
                        f"verifier {part.name!r} compares the members of a group:"
                        " call score_batch(..., groups=[...])"
                    )
                key = f"group {groups[row]!r} {part.key}"
                crowd = members.setdefault(key, [])
                crowd.append(completion)
                places[-1].append((key, len(crowd) - 1))
                tasks[key] = Task(tuple(crowd), part)
            else:
                key = keys[row] + part.key
                tasks.setdefault(key, Task((completion,), part))
                places[-1].append((key, 0))
    return tasks, places


def _run_all(tasks: Mapping[str, Task]) -> dict[str, list[Score]]:
    """Judge all tasks: the cached and the inline ones here, the others on a thread a worker."""
    shared = machinery()
    done: dict[str, list[Score]] = {}
    waiting: dict[str, Task] = {}
    for key, task in tasks.items():
        if not task.part.verifier.group and (known := shared.cache.get(key)):
            done[key] = [known]
        else:
            waiting[key] = task
    away = {k: t for k, t in waiting.items() if t.part.verifier.runs != "inline"}
    pool = ThreadPoolExecutor(max(1, min(shared.num_workers, len(away))))
    try:
        chunks = [
            (keys, pool.submit(judge_chunk, [away[k] for k in keys], shared))
            for keys in _chunked(away, shared)
        ]
        done |= {k: judge(t, shared) for k, t in waiting.items() if k not in away}
        for keys, future in chunks:
            done |= dict(zip(keys, future.result(), strict=True))
    except BaseException:  # Ctrl-C: what still runs must not hold up the end of the process
        shared.close()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    for key, task in waiting.items():
        if not task.part.verifier.group:
            shared.cache.put(key, done[key][0])
    return done


def _chunked(away: Mapping[str, Task], shared: Machinery) -> list[list[str]]:
    """Put tasks that are quick, and many, together: a message costs more than their work."""
    quick: dict[Verifier, list[str]] = {}
    chunks: list[list[str]] = []
    for key, task in away.items():
        if _is_quick(task.part.verifier):
            quick.setdefault(task.part.verifier, []).append(key)
        else:
            chunks.append([key])
    for keys in quick.values():
        few = shared.num_workers == 1 or len(keys) < 2 * CHUNK
        size = 1 if few else CHUNK
        chunks += [keys[k : k + size] for k in range(0, len(keys), size)]
    return chunks


def _is_quick(verifier: Verifier) -> bool:
    # a spec whose class lives in __main__ cannot be sent as it is
    at_home = verifier.function.__module__ in ("__main__", "__mp_main__")
    return verifier.runs == "thread" and not verifier.group and not at_home


def judge_chunk(tasks: Sequence[Task], shared: Machinery) -> list[list[Score]]:
    """Judge tasks of one verifier in one worker; alone, or where that fails, as `judge` does."""
    from rewards.workers import WorkerError  # a module that is also run as a program

    if len(tasks) == 1:
        return [judge(tasks[0], shared)]
    verifier = tasks[0].part.verifier
    try:
        judged = shared.workers().judge_many(
            verifier, [t.completions[0] for t in tasks], [t.part.spec for t in tasks]
        )
    except WorkerError:  # one of them was too much for it: each for itself, then
        judged = [(None, 0.0)] * len(tasks)
    return [
        judge(task, shared)
        if score is None
        else [settle_role(task.part, score).replace(elapsed_s=elapsed_s)]
        for task, (score, elapsed_s) in zip(tasks, judged, strict=True)
    ]


def judge(task: Task, shared: Machinery) -> list[Score]:
    """Call the verifier; whatever goes wrong there is the machine's failure, never a 0."""
    started = time.perf_counter()
    part, n = task.part, len(task.completions)
    try:
        scores = _call(task, shared)
        if len(scores) != n or not all(isinstance(s, Score) for s in scores):
            raise TypeError(f"expected {n} Score, got {scores!r:.120}")
    except (Exception, SystemExit) as error:  # a plug-in may raise anything
        unjudged = Score.unjudged(
            f"verifier {part.verifier.name!r} failed: {type(error).__name__}: {_last_line(error)}",
            code="verifier_error",
            traceback=traceback.format_exc(limit=20),
        )
        scores = [unjudged] * n
    elapsed_s = time.perf_counter() - started
    return [settle_role(part, s).replace(elapsed_s=elapsed_s) for s in scores]


def _call(task: Task, shared: Machinery) -> list[Score]:
    verifier, spec = task.part.verifier, task.part.spec
    subject: Any = list(task.completions) if verifier.group else task.completions[0]
    if verifier.runs == "worker":
        result: Any = shared.workers().judge(verifier, subject, spec)
    else:
        result = verifier(subject, spec)
    return list(result) if verifier.group else [cast(Score, result)]


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else ""


def _assemble(spec: CompiledSpec, scores: Sequence[Score]) -> Score:
    if not spec.composed:
        return scores[0]
    named = {part.name: score for part, score in zip(spec.parts, scores, strict=True)}
    return combine(spec.parts, named).replace(elapsed_s=sum(s.elapsed_s for s in scores))
