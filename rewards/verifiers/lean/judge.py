"""From a submission to a score: filter, compile, compare, replay, in order of their cost.

Each step can only reject, or fail as a machine; a proof is what none of them rejects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rewards.errors import SpecError
from rewards.score import Score, Verdict
from rewards.verifiers.lean.assemble import Source, assemble, strip_repeats
from rewards.verifiers.lean.backends import Compiled
from rewards.verifiers.lean.comparer import CannotCompare, Comparison
from rewards.verifiers.lean.extract import Submission
from rewards.verifiers.lean.filter import find_forbidden
from rewards.verifiers.lean.machine import LeanMachine, Route, Theorem
from rewards.verifiers.lean.messages import Message
from rewards.verifiers.lean.replay import Ruling
from rewards.verifiers.lean.setup import LeanMissing
from rewards.verifiers.lean.spec import LeanSpec
from rewards.verifiers.lean.workshop import Workshop
from sandbox import SandboxError

SHOWN = 5
"""Messages that the evidence keeps, errors first."""
_AXIOMS = re.compile(r"does not depend on any axioms$|depends on axioms: \[(.*)\]$", re.DOTALL)


def judge(machine: LeanMachine, spec: LeanSpec, submission: Submission) -> Score:
    """Judge a submission; alike ones of a group are judged once."""
    text = strip_repeats(submission.text, spec.header, spec.preamble)
    forbidden = find_forbidden(text, spec.profile)
    # A sorry and nothing else may stand where a part of the proof is worth something.
    if forbidden and not (forbidden.code == "sorry" and spec.partial):
        where = {"token": forbidden.token, "line": forbidden.line, "profile": spec.profile}
        return _reject(forbidden.reason, forbidden.code, **where)
    try:
        theorem = machine.theorem(spec)
        route = machine.route(spec, theorem)
        settings = (spec.profile, spec.allowed_axioms, spec.timeout_s, spec.partial)
        key = (route, theorem, settings, text)
        judgement = Judgement(machine, spec, theorem, route, text)
        return machine.verdicts.get(key, judgement.make)
    except LeanMissing as error:
        return Score.unjudged(f"no Lean to judge with: {error}", code="lean_missing")
    except SandboxError as error:
        return Score.unjudged(f"the sandbox cannot start: {error}", code="sandbox_unavailable")


@dataclass
class Judgement:
    """One submission on its way through the steps."""

    machine: LeanMachine
    spec: LeanSpec
    theorem: Theorem
    route: Route
    submission: str

    def make(self) -> Score:
        """Go through the steps until one decides; say who judged, and how strictly."""
        score = self._decide()
        facts = {
            "level": self.route.level,
            "profile": self.spec.profile,
            "backend": self.route.backend.name,
            "lean": self.route.backend.version,
        }
        return score.replace(evidence={**score.evidence, **facts})

    def _decide(self) -> Score:
        asked, route, timeout_s = self.theorem, self.route, self.spec.timeout_s
        source = assemble(
            asked.header, asked.preamble, asked.statement, asked.name, self.submission
        )
        if route.workshop is None:
            return self._ask_for_axioms(source)
        target = self.machine.target(asked, route.workshop)
        if target.trouble:
            return _unjudged("the statement could not be compiled", target.trouble)
        if target.complaint:  # Lean was not there when the spec was loaded
            raise SpecError(f"lean spec: {target.complaint}")
        if route.level == "messages":
            return self._ask_for_axioms(source)
        if route.filter:  # whose errors count; its limits are those of a process with a past
            quick = route.filter.compile(source, timeout_s)
            # What it has against the header is against our side: the target was compiled here.
            against = any(error.line > source.header_lines for error in quick.errors)
            refuted = against and not quick.trouble and not quick.limit
            if refuted and (score := self._read(quick, source)):
                return score
        compiled = self.machine.compile_submission(route.backend, source, asked, timeout_s)
        return self._read(compiled, source) or self._compare(
            route.workshop, target.olean, compiled, source
        )

    def _read(self, compiled: Compiled, source: Source) -> Score | None:
        """Return what the messages decide: any verdict but that it is proved."""
        shown = _show(compiled.messages, source)
        if compiled.trouble:
            return _unjudged("Lean could not be run", compiled.trouble)
        if compiled.limit == "time":
            reason = f"Lean was stopped after {compiled.elapsed_s:.1f} s"
            return Score(0.0, Verdict.TIMEOUT, reason, evidence={"code": "timeout", **shown})
        if compiled.limit:
            reason = f"Lean was stopped: over the {compiled.limit} limit"
            return Score(0.0, Verdict.LIMIT, reason, evidence={"code": compiled.limit, **shown})
        if compiled.errors:
            first = compiled.errors[0]
            where = f"line {first.line - source.lines_before}" if first.line else "Lean"
            return _reject(f"{where}: {first.text:.300}", "error", **shown)
        if compiled.crash or compiled.failed:
            return _reject(
                f"Lean failed: {compiled.crash or 'no message says why'}", "error", **shown
            )
        return None

    def _ask_for_axioms(self, source: Source) -> Score:
        """Judge by messages alone: no errors, and the axioms that Lean says the theorem has."""
        name = self.theorem.name
        question = f"\n\n#print axioms _root_.{name}\n"
        asked = Source(source.header, source.body.rstrip() + question)
        line = asked.text.count("\n")
        compiled = self.machine.compile(self.route.backend, asked, self.spec.timeout_s)
        if score := self._read(compiled, source):
            return score
        shown = _show(compiled.messages, source)
        if any(message.is_sorry for message in compiled.messages):
            return _reject("the proof is left open by a sorry", "sorry", **shown)
        answers = [m for m in compiled.messages if m.severity == "information" and m.line == line]
        found = _AXIOMS.search(answers[-1].text) if answers else None
        if not found:
            reason = f"Lean says nothing about a theorem {name}"
            return _reject(reason, "statement_changed", **shown)
        axioms = [name.strip() for name in (found[1] or "").split(",") if name.strip()]
        if foreign := sorted(set(axioms) - set(self.spec.allowed_axioms)):
            code = "sorry" if "sorryAx" in foreign else "axiom"
            return _reject(f"it rests on {', '.join(foreign)}", code, axioms=axioms)
        return Score.correct("no errors (nothing more was looked at)", code="proved", axioms=axioms)

    def _compare(
        self, workshop: Workshop, target: bytes, compiled: Compiled, source: Source
    ) -> Score:
        """Judge by the compiled files, then by those who check them once more."""
        shown = _show(compiled.messages, source)
        if compiled.olean is None:
            return _reject("Lean ended without writing what it compiled", "no_olean", **shown)
        spec, name = self.spec, self.theorem.name
        try:
            comparison = workshop.comparer.compare(
                target, compiled.olean, name, spec.allowed_axioms
            )
        except CannotCompare as error:
            return _unjudged("the compiled files could not be compared", str(error))
        shown["axioms"] = list(comparison.axioms)
        if comparison.code != "ok":
            if self._is_partial(comparison, compiled):
                reason = "the proof's structure stands, with a sorry left inside of it"
                return Score(
                    spec.partial, Verdict.PARTIAL, reason, evidence={"code": "partial", **shown}
                )
            return _reject(comparison.reason, _code(comparison), found=comparison.code, **shown)
        ruling = self._second_opinion(workshop, target, compiled.olean, source)
        if ruling.trouble:
            return _unjudged("the proof could not be checked again", ruling.trouble)
        if not ruling.accepted:
            return _reject(ruling.reason, "kernel_replay", **shown)
        return Score.correct(f"{name} is proved", code="proved", **shown)

    def _second_opinion(
        self, workshop: Workshop, target: bytes, olean: bytes, source: Source
    ) -> Ruling:
        if self.route.level == "replay":
            return workshop.replayer.replay(target, olean)
        if self.route.level == "comparator":
            asked, axioms = self.theorem, self.spec.allowed_axioms
            return workshop.comparator.compare(asked.target, source, asked.name, axioms)
        return Ruling(True)

    def _is_partial(self, comparison: Comparison, compiled: Compiled) -> bool:
        """Whether all but a sorry is there, which Lean remarked on, and the proof is more."""
        word = find_forbidden(self.submission, "strict")
        return (
            word is not None
            and word.code == "sorry"  # which is found only where there is no other
            and self.spec.partial > 0
            and comparison.foreign == ("sorryAx",)
            and not comparison.only_sorry
            and any(message.is_sorry for message in compiled.messages)
        )


def _code(comparison: Comparison) -> str:
    """Return the reason code of a comparison that found a difference."""
    if comparison.code == "axiom":
        return "sorry" if comparison.sorry else "axiom"
    own = ("unsafe", "partial", "olean")
    return comparison.code if comparison.code in own else "statement_changed"


def _reject(reason: str, code: str, **evidence: Any) -> Score:
    return Score.incorrect(reason, code=code, **evidence)


def _unjudged(what: str, trouble: str) -> Score:
    return Score.unjudged(f"{what}: {trouble}", code="lean_failed")


def _show(messages: tuple[Message, ...], source: Source) -> dict[str, Any]:
    """Return what the evidence keeps of a compilation, with lines as the submission counts them."""
    ranks = {"error": 0, "warning": 1, "raw": 2}
    first = sorted(messages, key=lambda message: ranks.get(message.severity, 3))[:SHOWN]
    shown: dict[str, Any] = {
        "messages": [
            {"severity": m.severity, "line": m.line - source.lines_before, "text": m.text[:1000]}
            for m in first
        ]
    }
    if source.escape_line is not None:  # a mere proof that goes on with a command of its own
        shown["escape_line"] = source.escape_line
    return shown
