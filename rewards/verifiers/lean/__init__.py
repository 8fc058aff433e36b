"""The Lean verifier: a proof counts only if it proves the statement that was asked for.

The submission is found (`extract`), its words are filtered (`filter`), it is put behind a header
that is ours (`assemble`) and compiled in the sandbox (`backends`). Then the compiled file is
compared with that of the bare statement, outside of any process that saw the submission run
(`comparer`), and checked by the kernel once more where there is a program for that (`replay`,
`comparator`). See docs/lean.md for what each level means.
"""

from __future__ import annotations

from rewards.completion import Completion
from rewards.registry import verifier
from rewards.score import Score, Verdict
from rewards.verifiers.lean.spec import LeanSpec

MAX_CHARS = 200_000

__all__ = ["LeanSpec", "lean"]


@verifier(name="lean", spec=LeanSpec, runs="sandbox")
def lean(completion: Completion, spec: LeanSpec) -> Score:
    """Extract a proof, and have it judged."""
    from rewards.verifiers.lean.extract import extract_submission
    from rewards.verifiers.lean.judge import judge
    from rewards.verifiers.lean.machine import lean_machine

    submission = extract_submission(completion, spec.theorem)
    if submission is None:
        why = "the reasoning never ended" if completion.reasoning_open else "no Lean code"
        return Score.malformed(f"no proof found: {why}", code="no_proof")
    if len(submission.text) > MAX_CHARS:
        reason = f"the proof has {len(submission.text)} characters, more than {MAX_CHARS}"
        return Score(0.0, Verdict.LIMIT, reason, evidence={"code": "proof_size"})
    score = judge(lean_machine(), spec, submission)
    return score.replace(evidence={**score.evidence, "extracted": submission.source})
