"""Whether a compiled submission proves the statement of a compiled target, and from which axioms.

Both are read as data, by a process that runs nothing of either. What is compared are terms of the
kernel: the type of the theorem up to the names of its universe parameters, never up to unfolding;
each constant of the target's module that the statement leads to; and every axiom that the proof
leads to. Whether the proof is correct is not checked here: the kernel did that when the submission
was compiled, unless it was told not to, which only a replay finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rewards.verifiers.lean.inside.heap import OleanError
from rewards.verifiers.lean.inside.olean import Module
from rewards.verifiers.lean.inside.reach import reach
from rewards.verifiers.lean.inside.show import name_parts, parse_name, show_difference, show_name
from rewards.verifiers.lean.inside.terms import Terms

PRIMITIVES = (
    *("Nat", "Nat.zero", "Nat.succ", "Nat.add", "Nat.sub", "Nat.mul", "Nat.div", "Nat.mod"),
    *("Nat.gcd", "Nat.beq", "Nat.ble", "Nat.land", "Nat.lor", "Nat.xor", "Nat.shiftLeft"),
    *("Nat.shiftRight", "Nat.pow", "Nat.log2", "Nat.pred", "Bool", "Bool.true", "Bool.false"),
    *("String", "String.mk", "String.ofList", "Char", "Char.ofNat", "List", "List.nil"),
    *("List.cons", "Quot", "Quot.mk", "Quot.lift", "Quot.ind", "Eq", "Eq.refl"),
    *("Lean.reduceBool", "Lean.reduceNat"),
)
"""Constants that the kernel computes with by name, whatever their definitions say."""
SORRY = "sorryAx"
UNSAFE_FLAG = {"axiom": 0, "opaque": 0, "inductive": 1, "constructor": 0, "recursor": 1}
"""Which of a constant's flags says that it is unsafe."""
SAFETY = ("unsafe", "", "partial")
"""What the flag of a definition says."""
MOST_LISTED = 20


class TargetError(Exception):
    """The target or an import cannot be used: our side's failure, whatever was submitted."""


class _Rejected(Exception):
    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class _Trusted(Module):
    """A module of our own side."""

    def __init__(self, data: bytes, terms: Terms) -> None:
        try:
            super().__init__(data, terms)
        except OleanError as error:
            raise TargetError(f"the target or an import of it cannot be read: {error}") from error

    def constant(self, name: int) -> int:
        try:
            return super().constant(name)
        except OleanError as error:
            shown = show_name(self.terms, name)
            raise TargetError(f"{shown}, which is no submission's, is odd: {error}") from error


class Imports:
    """The modules that a target imports, read once for all comparisons of a process.

    Args:
        files: The .olean file of each of them, imported directly or not.

    Raises:
        TargetError: If one cannot be read.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.terms = Terms()
        self.modules = {name: _Trusted(data, self.terms) for name, data in files.items()}

    def check(self, target: Module) -> None:
        """Check that they are all that a target needs, and from its Lean.

        Raises:
            TargetError: If they are not.
        """
        for module in (target, *self.modules.values()):
            names = (show_name(self.terms, name) for name, _ in module.imports)
            if lost := [name for name in names if name not in self.modules]:
                raise TargetError(f"the import {lost[0]} is not there")
            if module.heap.lean != target.heap.lean:
                raise TargetError("the target and its imports are not from one version of Lean")


def compare(
    target: bytes,
    submission: bytes,
    imports: Imports,
    name: str,
    allowed_axioms: Sequence[str],
) -> dict[str, Any]:
    """Return the fields of a `Comparison`.

    Args:
        target: The .olean file of the statement, with `sorry` for a proof.
        submission: The .olean file of the submission, from the same Lean and the same header.
        imports: What both import.
        name: The theorem.
        allowed_axioms: The names of the axioms that it may use.

    Raises:
        TargetError: If the target or an import cannot be used.
    """
    terms, known = imports.terms, list(imports.modules.values())
    wanted, theorem = _Trusted(target, terms), parse_name(terms, name)
    imports.check(wanted)
    if theorem not in wanted.words or wanted.kind(theorem) != "theorem":
        raise TargetError(f"the target has no theorem {name}")
    facts: dict[str, Any] = {}
    try:
        comparison = _Comparison(wanted, Module(submission, terms), known, theorem)
        comparison.check_module()
        comparison.check_theorem()
        comparison.check_statement()
        facts = comparison.gather([parse_name(terms, axiom) for axiom in allowed_axioms])
        comparison.check_proof(facts["foreign"])
    except OleanError as error:
        return {**facts, "code": "olean", "reason": f"the compiled submission: {error}"}
    except _Rejected as error:
        return {**facts, "code": error.code, "reason": str(error)}
    return {**facts, "code": "ok", "reason": f"{name} is the theorem asked for"}


class _Comparison:
    def __init__(
        self, wanted: Module, got: Module, imports: Sequence[Module], theorem: int
    ) -> None:
        self.terms = wanted.terms
        self.wanted, self.got, self.imports, self.theorem = wanted, got, imports, theorem
        self.reached: list[int] = []
        """The constants that the theorem of the submission leads to."""

    def check_module(self) -> None:
        """Check that both modules stand on the same ground."""
        if self.got.heap.lean != self.wanted.heap.lean:
            raise OleanError("it is not from the Lean that compiled the target")
        if self.got.imports != self.wanted.imports:
            shown = self._names(name for name, _ in self.got.imports) or "nothing"
            raise _Rejected("imports", f"it imports {shown}, not what the target imports")
        ours = [name for name in self.got.words if any(name in m.words for m in self.imports)]
        if ours:
            raise _Rejected("redefines_import", f"it declares anew: {self._names(ours)}")

    def check_theorem(self) -> None:
        """Check that there is a theorem of this name and type."""
        shown = show_name(self.terms, self.theorem)
        if self.theorem not in self.got.words:
            raise _Rejected("missing", f"it declares no {shown}{self._namesakes()}")
        kind = self.got.kind(self.theorem)
        if kind != "theorem":
            raise _Rejected("kind", f"{shown} is not a theorem but of kind: {kind}")
        own, others = self._level_params(self.theorem)
        if len(own) != len(others):
            counts = f"{len(own)} universe parameters, not {len(others)}"
            raise _Rejected("type", f"{shown} has {counts}")
        asked, stated = (
            self.terms.type_of(m.constant(self.theorem)) for m in self._both(self.theorem)
        )
        if asked != stated:
            texts = show_difference(self.terms, asked, stated)
            raise _Rejected(
                "type", "another statement; asked was: {}; proved is: {}".format(*texts)
            )

    def check_statement(self) -> None:
        """Check that the constants of the statement, and the kernel's own, are the target's."""
        primitives = [parse_name(self.terms, name) for name in PRIMITIVES]
        recursors = self._recursors()

        def follow(name: int) -> list[int]:
            return [*self._stated(name), *recursors.get(name, [])]

        for name in reach(self.terms, [*primitives, self.theorem], follow):
            declared = name in self.wanted.words or name in self.got.words
            if declared and not self._is_same(name):
                shown = show_name(self.terms, name)
                raise _Rejected("statement_constant", f"{shown} is not what it is in the target")

    def _recursors(self) -> dict[int, list[int]]:
        """Return the recursors of the target's types: no other term of a type names them."""
        found: dict[int, list[int]] = {}
        for name in self.wanted.words:
            if self.wanted.kind(name) == "recursor":
                _, _, parts = self.terms[self.wanted.constant(name)]
                mention = self.terms.add("names", parts=(name, self.terms.add("nil")))
                for inductive in self.terms.items(parts[1]):
                    found.setdefault(inductive, []).append(mention)
        return found

    def gather(self, allowed: Sequence[int]) -> dict[str, Any]:
        """Return the facts about the proof."""
        self.reached = reach(self.terms, [self.theorem], lambda name: [self._find(name)])
        axioms = [n for n in self.reached if self.terms[self._find(n)].label == "axiom"]
        foreign = [n for n in axioms if not (n in allowed and self._is_ours(n))]
        sorry = parse_name(self.terms, SORRY)
        new = [name for name in self.got.words if name not in self.wanted.words]
        used = set(axioms)
        unused = [n for n in new if n not in used and self.got.kind(n) == "axiom"]
        return {
            "axioms": [show_name(self.terms, name) for name in axioms],
            "foreign": [show_name(self.terms, name) for name in foreign],
            "sorry": sorry in used,
            "only_sorry": self._proof_head() == sorry,
            "unused_axioms": [show_name(self.terms, name) for name in unused],
            "new_constants": len(new),
        }

    def check_proof(self, foreign: Sequence[str]) -> None:
        """Check that the proof leads to safe constants and allowed axioms only."""
        for name in self.reached:
            label, flags, _ = self.terms[self._find(name)]
            assert isinstance(flags, bytes)
            unsafe = label in UNSAFE_FLAG and flags[UNSAFE_FLAG[label]]
            if label == "def" and flags[0] >= len(SAFETY):
                raise OleanError(f"no degree of safety: {flags[0]}")
            trouble = SAFETY[flags[0]] if label == "def" else "unsafe" * unsafe
            if trouble:
                shown = show_name(self.terms, name)
                raise _Rejected(trouble, f"the proof uses {shown}, which is {trouble}")
        if foreign:
            raise _Rejected("axiom", f"the proof rests on {', '.join(foreign[:MOST_LISTED])}")

    def _stated(self, name: int) -> list[int]:
        return self._content(self.wanted, name) if name in self.wanted.words else []

    def _content(self, module: Module, name: int) -> list[int]:
        """Return what counts of a constant of the statement: of a theorem, not its proof."""
        constant = module.constant(name)
        is_theorem = module.kind(name) == "theorem"
        return [self.terms.signature(constant) if is_theorem else constant]

    def _is_same(self, name: int) -> bool:
        if name not in self.wanted.words or name not in self.got.words:
            return False
        kinds = {module.kind(name) for module in (self.wanted, self.got)}
        own, others = self._level_params(name)
        if len(kinds) > 1 or len(own) != len(others):
            return False
        ours, theirs = (self._content(module, name) for module in self._both(name))
        return ours == theirs

    def _level_params(self, name: int) -> tuple[list[int], list[int]]:
        return self.got.level_params(name), self.wanted.level_params(name)

    def _both(self, name: int) -> tuple[Module, Module]:
        """Return the modules, with the parameters of this constant called as in the target."""
        own, others = self._level_params(name)
        return self.wanted, self.got if own == others else self.got.renamed(own, others)

    def _is_ours(self, name: int) -> bool:
        """Tell whether a constant is an import's, or the target's own and unchanged."""
        return name not in self.got.words or self._is_same(name)

    def _find(self, name: int) -> int:
        for module in (self.got, *self.imports):
            if name in module.words:
                return module.constant(name)
        shown = show_name(self.terms, name)
        raise OleanError(f"it uses {shown}, which neither it nor an import of it declares")

    def _proof_head(self) -> int | None:
        """Return the constant that the proof applies, through theorems that only apply another."""
        name: int | None = self.theorem
        passed: set[int] = set()
        while name in self.got.words and name not in passed and self.got.kind(name) == "theorem":
            passed.add(name)
            proof = self.terms[self.got.constant(name)].parts[1]
            while (label := self.terms[proof].label) in ("lam", "app"):
                proof = self.terms[proof].parts[1 if label == "lam" else 0]
            name = self.terms[proof].parts[0] if label == "const" else None
        return name

    def _namesakes(self) -> str:
        wanted = name_parts(self.terms, self.theorem)
        names = (n for n in self.got.words if name_parts(self.terms, n)[-len(wanted) :] == wanted)
        return f", but {shown}" if (shown := self._names(names)) else ""

    def _names(self, names: Iterable[int]) -> str:
        shown = [show_name(self.terms, name) for name in names]
        return ", ".join(shown[:MOST_LISTED]) + (", ..." if len(shown) > MOST_LISTED else "")
