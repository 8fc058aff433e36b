"""Theorems of intuitionistic logic, each with the proof that a small prover finds.

The prover is Dyckhoff's contraction-free calculus (G4ip, "Contraction-free sequent calculi for
intuitionistic logic", 1992): every rule makes the sequent smaller, so it always ends, and it finds
a proof of everything that has one. Its steps are written as Lean tactics.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from making.theorems import Theorem, indent, tactics

CONNECTIVES = ("∧", "∨", "→", "↔")
PROPOSITIONS, PREDICATES = "pqrs", "PQRS"
MIN_LINES, MAX_LINES = 4, 24
"""Shorter proofs are trivial; longer ones of so small a statement are no pleasure to read."""


@dataclass(frozen=True)
class Formula:
    """An atom, or a connective with its one or two parts."""

    symbol: str
    parts: tuple[Formula, ...] = ()

    def __str__(self) -> str:
        """Write it as Lean does, with few parentheses."""
        if not self.parts:
            return self.symbol
        if self.symbol == "¬":
            return f"¬{_wrapped(self.parts[0])}"
        left, right = self.parts
        chained = self.symbol == right.symbol == "→"
        return f"{_wrapped(left)} {self.symbol} {right if chained else _wrapped(right)}"

    def atoms(self) -> list[str]:
        """Return its atoms in the order of their first appearance."""
        found = [atom for part in self.parts for atom in part.atoms()] or [self.symbol]
        return list(dict.fromkeys(found))

    def rename(self, names: Mapping[str, str]) -> Formula:
        """Replace the names of its atoms."""
        if not self.parts:
            return Formula(names[self.symbol])
        return Formula(self.symbol, tuple(part.rename(names) for part in self.parts))

    @property
    def arrow(self) -> tuple[Formula, Formula] | None:
        """Premise and conclusion, if it is an implication; a negation is one of False."""
        if self.symbol == "→":
            return self.parts[0], self.parts[1]
        return (self.parts[0], FALSE) if self.symbol == "¬" else None


FALSE = Formula("False")

Given = tuple[tuple[str, Formula], ...]
"""Hypotheses by name."""


def _wrapped(formula: Formula) -> str:
    return f"({formula})" if len(formula.parts) == 2 else str(formula)


def implies(premise: Formula, conclusion: Formula) -> Formula:
    """Make an implication, or the negation that it is."""
    if conclusion == FALSE:
        return Formula("¬", (premise,))
    return Formula("→", (premise, conclusion))


# ---- the prover ----------------------------------------------------------------------------------


def prove(given: Given, goal: Formula, number: int = 1) -> list[str] | None:
    """Return the tactics that prove `goal`, or None if nothing does.

    Args:
        given: The hypotheses.
        goal: What is to be proved.
        number: The next hypothesis is called h<number>.
    """
    for name, formula in given:
        if formula == goal:
            return [f"exact {name}"]
        if formula == FALSE:
            return [f"exact {name}.elim"]
    if arrow := goal.arrow:
        more = (*given, (f"h{number}", arrow[0]))
        found = prove(more, arrow[1], number + 1)
        return None if found is None else [f"intro h{number}", *found]
    if goal.symbol in ("∧", "↔"):
        halves = [prove(given, half, number) for half in _halves(goal)]
        return ["constructor", *_bullets(halves)] if None not in halves else None
    for at, (name, formula) in enumerate(given):
        rest = given[:at] + given[at + 1 :]
        if formula.symbol == "∨":
            return _by_cases(rest, name, formula, goal, number)
        if (known := _consequences(name, formula, rest)) is not None:
            new = [(f"h{number + i}", *pair) for i, pair in enumerate(known)]
            more = (*rest, *((label, fact) for label, fact, _ in new))
            found = prove(more, goal, number + len(new))
            return None if found is None else state(new, found)
    return _choose(given, goal, number)


def state(facts: Sequence[tuple[str, Formula, str]], rest: list[str]) -> list[str]:
    """Put facts, each a name, a formula and its proof, before the steps that may need them."""
    for name, fact, term in reversed(facts):
        if rest == [f"exact {name}"]:
            rest = [f"exact {term}"]
        elif re.search(rf"\b{name}\b", "\n".join(rest)):
            rest = [f"have {name} : {fact} := {term}", *rest]
    return rest


def _halves(formula: Formula) -> tuple[Formula, Formula]:
    """Return what a conjunction or an equivalence says."""
    left, right = formula.parts
    return (left, right) if formula.symbol == "∧" else (implies(left, right), implies(right, left))


def _bullets(blocks: Sequence[list[str] | None]) -> list[str]:
    return [
        f"· {line}" if at == 0 else f"  {line}"
        for block in blocks
        for at, line in enumerate(block or ())
    ]


def _by_cases(
    rest: Given, name: str, formula: Formula, goal: Formula, number: int
) -> list[str] | None:
    lines = [f"cases {name} with"]
    for side, part in zip(("inl", "inr"), formula.parts, strict=True):
        found = prove((*rest, (f"h{number}", part)), goal, number + 1)
        if found is None:
            return None
        lines += [f"| {side} h{number} =>", *indent(found)]
    return lines


def _consequences(name: str, formula: Formula, rest: Given) -> list[tuple[Formula, str]] | None:
    """Return simpler facts that say as much as a hypothesis does, with their proofs, if any do."""
    if formula.symbol == "∧":
        return list(zip(_halves(formula), (f"{name}.left", f"{name}.right"), strict=True))
    if formula.symbol == "↔":
        return list(zip(_halves(formula), (f"{name}.mp", f"{name}.mpr"), strict=True))
    if (arrow := formula.arrow) is None:
        return None
    premise, conclusion = arrow
    for other, fact in rest:
        if fact == premise:
            return [(conclusion, f"{name} {other}")]
    if premise == FALSE:
        return []
    if premise.symbol in ("∧", "↔"):
        left, right = _halves(premise)
        curried = implies(left, implies(right, conclusion))
        return [(curried, f"fun x y => {name} ⟨x, y⟩")]
    if premise.symbol == "∨":
        return [
            (implies(part, conclusion), f"fun x => {name} (Or.{side} x)")
            for side, part in zip(("inl", "inr"), premise.parts, strict=True)
        ]
    return None


def _choose(given: Given, goal: Formula, number: int) -> list[str] | None:
    """Try what may turn out to be the wrong way."""
    if goal.symbol == "∨":
        for side, part in zip(("inl", "inr"), goal.parts, strict=True):
            if (found := prove(given, part, number)) is not None:
                return [f"apply Or.{side}", *found]
    for at, (name, formula) in enumerate(given):
        if formula.arrow and formula.arrow[0].arrow:
            rest = given[:at] + given[at + 1 :]
            if (found := _by_premise(rest, name, formula, goal, number)) is not None:
                return found
    return None


def _by_premise(
    rest: Given, name: str, formula: Formula, goal: Formula, number: int
) -> list[str] | None:
    """Use (A → B) → C: prove A → B from B → C, then go on with C."""
    assert formula.arrow
    premise, conclusion = formula.arrow
    assert premise.arrow
    weaker, proved, used = (f"h{number + i}" for i in range(3))
    fact = implies(premise.arrow[1], conclusion)
    first = prove((*rest, (weaker, fact)), premise, number + 1)
    second = prove((*rest, (used, conclusion)), goal, number + 3) if first is not None else None
    if first is None or second is None:
        return None
    inner = state([(weaker, fact, f"fun x => {name} (fun _ => x)")], first)
    lines = state([(used, conclusion, f"{name} {proved}")], second)
    return [f"have {proved} : {premise} := by", *indent(inner), *lines]


# ---- what is drawn -------------------------------------------------------------------------------


def draw_formula(rng: random.Random, atoms: Sequence[str], size: int) -> Formula:
    """Draw a formula with this many connectives."""
    if size == 0:
        return Formula(rng.choice(atoms))
    if rng.random() < 0.2:
        return Formula("¬", (draw_formula(rng, atoms, size - 1),))
    while True:
        left = rng.randint(0, size - 1)
        parts = (draw_formula(rng, atoms, left), draw_formula(rng, atoms, size - 1 - left))
        if parts[0] != parts[1]:
            return Formula(rng.choice(CONNECTIVES), parts)


def draw_sequent(rng: random.Random, names: str) -> tuple[list[Formula], Formula]:
    """Draw hypotheses, all of them needed, and what follows from them but not at once."""
    while True:
        atoms = names[: rng.randint(2, len(names))]
        given = [draw_formula(rng, atoms, rng.randint(1, 3)) for _ in range(rng.randint(1, 3))]
        goal = draw_formula(rng, atoms, rng.randint(1, 3))
        found = _prove_all(given, goal)
        if found is None or not MIN_LINES <= len(found) <= MAX_LINES:
            continue
        if any(_prove_all(given[:i] + given[i + 1 :], goal) for i in range(len(given))):
            continue
        used = list(dict.fromkeys(atom for f in (*given, goal) for atom in f.atoms()))
        renamed = dict(zip(used, names, strict=False))
        return [formula.rename(renamed) for formula in given], goal.rename(renamed)


def _prove_all(given: Sequence[Formula], goal: Formula) -> list[str] | None:
    return prove(tuple((f"h{i}", formula) for i, formula in enumerate(given, 1)), goal)


def draw_propositional(rng: random.Random) -> Theorem:
    """A law of propositional logic."""
    given, goal = draw_sequent(rng, PROPOSITIONS)
    claim = goal
    for formula in reversed(given):
        claim = implies(formula, claim)
    proof = prove((), claim)
    assert proof
    return Theorem(f"({' '.join(claim.atoms())} : Prop)", str(claim), tactics(proof))


def draw_quantified(rng: random.Random) -> Theorem:
    """What follows, for all or for some things, from what holds of all and perhaps of some."""
    given, goal = draw_sequent(rng, PREDICATES)
    predicates = list(dict.fromkeys(atom for f in (*given, goal) for atom in f.atoms()))
    at_x = {name: f"{name} x" for name in predicates}
    given, goal = [formula.rename(at_x) for formula in given], goal.rename(at_x)
    some = rng.randrange(-1, len(given))  # the hypothesis that holds of some x; -1 is none
    quantifiers = ["∃" if at == some else "∀" for at in range(len(given))]
    quantifiers.append("∀" if some < 0 else "∃")
    claim = " → ".join(
        f"({quantifier} x, {formula})"
        for quantifier, formula in zip(quantifiers, (*given, goal), strict=True)
    )
    return Theorem(
        f"(α : Type) ({' '.join(predicates)} : α → Prop)",
        claim,
        tactics(_prove_quantified(given, goal, some)),
    )


def _prove_quantified(given: list[Formula], goal: Formula, some: int) -> list[str]:
    """Take the x that there is, or any, and go on without quantifiers."""
    count = len(given)
    facts = [(f"h{count + 1 + at}", formula, f"h{1 + at} x") for at, formula in enumerate(given)]
    proof = prove(tuple((name, formula) for name, formula, _ in facts), goal, 2 * count + 1)
    assert proof
    steps = [f"intro h{at}" for at in range(1, count + 1)]
    if some < 0:
        return [*steps, "intro x", *state(facts, proof)]
    witness = f"h{count + 1 + some}"
    inner = ["apply Exists.intro x", *state(facts[:some] + facts[some + 1 :], proof)]
    return [*steps, f"cases h{some + 1} with", f"| intro x {witness} =>", *indent(inner)]
