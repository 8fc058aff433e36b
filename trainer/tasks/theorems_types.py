"""Theorems about small data types, proved by induction over their structure.

Trees are drawn: their constructors, and what each adds to the weight of a tree. Lists are always
the same, with functions of their own names, so that nothing is to be found in a library.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trainer.tasks.theorems import Theorem, induction


def draw_structural(rng: random.Random) -> Theorem:
    """A theorem about a list or a tree."""
    return _draw_tree_theorem(rng) if rng.random() < 0.6 else _draw_list_theorem(rng)


# ---- trees ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constructor:
    """A constructor of trees: its name and its fields, `x` for data and letters for subtrees."""

    name: str
    fields: tuple[str, ...]

    @property
    def subtrees(self) -> tuple[str, ...]:
        """The fields that are trees."""
        return tuple(name for name in self.fields if name != "x")

    def apply(self, change: Callable[[str], str]) -> str:
        """Write a tree that it makes, with each field changed."""
        return " ".join([f"Tree.{self.name}", *map(change, self.fields)])

    def pattern(self, body: str) -> str:
        """Write it as a case of a definition; data that the case's body does not use is `_`."""
        fields = [f if re.search(rf"\b{f}\b", body) else "_" for f in self.fields]
        return " ".join([f".{self.name}", *fields])


LEAVES = (Constructor("leaf", ()), Constructor("tip", ("x",)))
BRANCHES = (
    Constructor("wrap", ("t",)),
    Constructor("mark", ("x", "t")),
    Constructor("node", ("l", "r")),
    Constructor("fork", ("l", "x", "r")),
)


@dataclass(frozen=True)
class Tree:
    """A type of trees with data in them."""

    constructors: tuple[Constructor, ...]

    @property
    def definition(self) -> str:
        """The type in Lean."""
        lines = ["inductive Tree (α : Type) where"]
        for one in self.constructors:
            fields = "".join(f" ({f} : {'α' if f == 'x' else 'Tree α'})" for f in one.fields)
            lines.append(f"  | {one.name}{fields} : Tree α")
        return "\n".join(lines)

    def define(
        self, name: str, binders: str, result: str, case: Callable[[Constructor], str]
    ) -> str:
        """Define a function of trees by cases."""
        lines = [f"def Tree.{name} {binders} : Tree α → {result}"]
        lines += [f"  | {one.pattern(case(one))} => {case(one)}" for one in self.constructors]
        return "\n".join(lines)

    def mirror(self) -> str:
        """Define what turns a tree round."""
        return self.define("mirror", "{α : Type}", "Tree α", _mirrored)

    def map(self) -> str:
        """Define what applies a function to all data."""

        def case(one: Constructor) -> str:
            fields = [f"(f {f})" if f == "x" else f"({f}.map f)" for f in one.fields]
            return " ".join([f".{one.name}", *fields])

        return self.define("map", "{α β : Type} (f : α → β)", "Tree β", case)

    def weight(self, weights: Sequence[int]) -> str:
        """Define the weight: what each constructor adds to its subtrees' weights."""
        own = dict(zip(self.constructors, weights, strict=True))

        def case(one: Constructor) -> str:
            return " + ".join([*(f"{t}.weight" for t in one.subtrees), str(own[one])])

        return self.define("weight", "{α : Type}", "Nat", case)

    def prove(self, closing: Callable[[Constructor], list[str]]) -> str:
        """Prove by induction over a tree `t`."""
        cases = []
        for one in self.constructors:
            names = [one.name, *one.fields, *(f"ih{t}" for t in one.subtrees)]
            cases.append((" ".join(names), closing(one) if one.subtrees else ["rfl"]))
        return induction("s", cases)


def _mirrored(one: Constructor) -> str:
    """Write the mirror image of a tree: its subtrees, turned round, in the other order."""
    turned = iter(reversed(one.subtrees))
    fields = [f if f == "x" else f"{next(turned)}.mirror" for f in one.fields]
    return " ".join([f".{one.name}", *fields])


def _rewrite(one: Constructor) -> str:
    return f"rw [{', '.join(f'ih{t}' for t in one.subtrees)}]"


def _draw_tree_theorem(rng: random.Random) -> Theorem:
    count = rng.randint(1, 2)
    tree = Tree((rng.choice(LEAVES), *sorted(rng.sample(BRANCHES, count), key=BRANCHES.index)))
    weights = [rng.randint(0, 4), *(rng.randint(1, 5) for _ in range(count))]
    families = [_mirror_mirror, _map_map, _mirror_map, _mirror_weight, _map_weight]
    return rng.choice(families)(tree, weights)


def _mirror_mirror(tree: Tree, weights: Sequence[int]) -> Theorem:
    def closing(one: Constructor) -> list[str]:
        twice = one.apply(lambda f: f if f == "x" else f"{f}.mirror.mirror")
        return [f"show {twice} = {one.apply(str)}", _rewrite(one)]

    preamble = f"{tree.definition}\n\n{tree.mirror()}"
    claim = "s.mirror.mirror = s"
    return Theorem("{α : Type} (s : Tree α)", claim, tree.prove(closing), preamble)


def _map_map(tree: Tree, weights: Sequence[int]) -> Theorem:
    def closing(one: Constructor) -> list[str]:
        left = one.apply(lambda f: "(g (f x))" if f == "x" else f"(({f}.map f).map g)")
        right = one.apply(lambda f: "(g (f x))" if f == "x" else f"({f}.map (fun x => g (f x)))")
        return [f"show {left} = {right}", _rewrite(one)]

    return Theorem(
        "{α β γ : Type} (f : α → β) (g : β → γ) (s : Tree α)",
        "(s.map f).map g = s.map (fun x => g (f x))",
        tree.prove(closing),
        f"{tree.definition}\n\n{tree.map()}",
    )


def _mirror_map(tree: Tree, weights: Sequence[int]) -> Theorem:
    def closing(one: Constructor) -> list[str]:
        def turn(written: str) -> str:
            turned = iter(reversed(one.subtrees))
            return one.apply(lambda f: "(f x)" if f == "x" else written.format(next(turned)))

        sides = turn("({}.map f).mirror"), turn("({}.mirror.map f)")
        return [f"show {sides[0]} = {sides[1]}", _rewrite(one)]

    return Theorem(
        "{α β : Type} (f : α → β) (s : Tree α)",
        "(s.map f).mirror = s.mirror.map f",
        tree.prove(closing),
        f"{tree.definition}\n\n{tree.mirror()}\n\n{tree.map()}",
    )


def _mirror_weight(tree: Tree, weights: Sequence[int]) -> Theorem:
    own = dict(zip(tree.constructors, weights, strict=True))

    def closing(one: Constructor) -> list[str]:
        sides = [
            " + ".join([*(written.format(t) for t in order), str(own[one])])
            for written, order in (
                ("{}.mirror.weight", reversed(one.subtrees)),
                ("{}.weight", one.subtrees),
            )
        ]
        facts = [f"ih{t}" for t in one.subtrees]
        if len(one.subtrees) == 2:
            facts.append("Nat.add_comm r.weight l.weight")
        return [f"show {sides[0]} = {sides[1]}", f"rw [{', '.join(facts)}]"]

    return Theorem(
        "{α : Type} (s : Tree α)",
        "s.mirror.weight = s.weight",
        tree.prove(closing),
        f"{tree.definition}\n\n{tree.mirror()}\n\n{tree.weight(weights)}",
    )


def _map_weight(tree: Tree, weights: Sequence[int]) -> Theorem:
    own = dict(zip(tree.constructors, weights, strict=True))

    def closing(one: Constructor) -> list[str]:
        sides = [
            " + ".join([*(written.format(t) for t in one.subtrees), str(own[one])])
            for written in ("({}.map f).weight", "{}.weight")
        ]
        return [f"show {sides[0]} = {sides[1]}", _rewrite(one)]

    return Theorem(
        "{α β : Type} (f : α → β) (s : Tree α)",
        "(s.map f).weight = s.weight",
        tree.prove(closing),
        f"{tree.definition}\n\n{tree.map()}\n\n{tree.weight(weights)}",
    )


# ---- lists ---------------------------------------------------------------------------------------

ITEMS = """\
inductive Items (α : Type) where
  | none : Items α
  | one (x : α) (rest : Items α) : Items α"""

JOIN = """\
def Items.join {α : Type} : Items α → Items α → Items α
  | .none, t => t
  | .one x s, t => .one x (s.join t)"""

EACH = """\
def Items.each {α β : Type} (f : α → β) : Items α → Items β
  | .none => .none
  | .one x s => .one (f x) (s.each f)"""

TURN = """\
def Items.turn {α : Type} : Items α → Items α
  | .none => .none
  | .one x s => s.turn.join (.one x .none)"""

COPIES = """\
def copies {α : Type} (x : α) : Nat → Items α
  | 0 => .none
  | n + 1 => .one x (copies x n)"""


def _weight(k: int) -> str:
    """Define a length in which each item counts for k."""
    return (
        f"def Items.weight {{α : Type}} : Items α → Nat\n"
        f"  | .none => 0\n  | .one _ s => s.weight + {k}"
    )


def _over(variable: str, step: Sequence[str], first: str = "rfl") -> str:
    return induction(variable, [("none", [first]), ("one x s ih", step)])


def _draw_list_theorem(rng: random.Random) -> Theorem:
    k = rng.randint(1, 9)
    weighted = [_join_weight(k), _each_weight(k), _turn_weight(k), _copies_weight(k)]
    return rng.choice(weighted if rng.random() < 0.6 else _plain_list_theorems())


def _join_weight(k: int) -> Theorem:
    return Theorem(
        "{α : Type} (s t : Items α)",
        "(s.join t).weight = s.weight + t.weight",
        _prove_join_weight(k),
        "\n\n".join([ITEMS, JOIN, _weight(k)]),
    )


def _prove_join_weight(k: int) -> str:
    step = [
        f"calc (s.join t).weight + {k} = s.weight + t.weight + {k} :=",
        f"      congrArg (fun n => n + {k}) ih",
        f"  _ = s.weight + (t.weight + {k}) := Nat.add_assoc s.weight t.weight {k}",
        f"  _ = s.weight + ({k} + t.weight) :=",
        f"      congrArg (fun n => s.weight + n) (Nat.add_comm t.weight {k})",
        f"  _ = s.weight + {k} + t.weight := (Nat.add_assoc s.weight {k} t.weight).symm",
    ]
    return _over("s", step, "exact (Nat.zero_add t.weight).symm")


def _each_weight(k: int) -> Theorem:
    return Theorem(
        "{α β : Type} (f : α → β) (s : Items α)",
        "(s.each f).weight = s.weight",
        _over("s", [f"exact congrArg (fun n => n + {k}) ih"]),
        "\n\n".join([ITEMS, EACH, _weight(k)]),
    )


def _turn_weight(k: int) -> Theorem:
    lemma = (
        "theorem weight_join {α : Type} (s t : Items α) :\n"
        f"    (s.join t).weight = s.weight + t.weight := {_prove_join_weight(k)}"
    )
    step = [
        f"calc (s.turn.join (.one x .none)).weight = s.turn.weight + {k} :=",
        "      (weight_join s.turn (.one x .none)).trans",
        f"        (congrArg (fun n => s.turn.weight + n) (Nat.zero_add {k}))",
        f"  _ = s.weight + {k} := congrArg (fun n => n + {k}) ih",
    ]
    return Theorem(
        "{α : Type} (s : Items α)",
        "s.turn.weight = s.weight",
        _over("s", step),
        "\n\n".join([ITEMS, JOIN, TURN, _weight(k)]),
        lemma,
    )


def _copies_weight(k: int) -> Theorem:
    step = f"exact congrArg (fun x => x + {k}) ih"
    return Theorem(
        "{α : Type} (x : α) (n : Nat)",
        f"(copies x n).weight = {k} * n",
        induction("n", [("zero", ["rfl"]), ("succ n ih", [step])]),
        "\n\n".join([ITEMS, COPIES, _weight(k)]),
    )


def _plain_list_theorems() -> list[Theorem]:
    """Theorems that come in one form alone."""
    again = ["exact congrArg (Items.one x) ih"]
    mapped = ["exact congrArg (Items.one (f x)) ih"]
    return [
        Theorem("{α : Type} (s : Items α)", "s.join .none = s", _over("s", again), _given(JOIN)),
        Theorem(
            "{α : Type} (s t u : Items α)",
            "(s.join t).join u = s.join (t.join u)",
            _over("s", again),
            _given(JOIN),
        ),
        Theorem(
            "{α β : Type} (f : α → β) (s t : Items α)",
            "(s.join t).each f = (s.each f).join (t.each f)",
            _over("s", mapped),
            _given(JOIN, EACH),
        ),
        Theorem(
            "{α β γ : Type} (f : α → β) (g : β → γ) (s : Items α)",
            "(s.each f).each g = s.each (fun x => g (f x))",
            _over("s", ["exact congrArg (Items.one (g (f x))) ih"]),
            _given(EACH),
        ),
        Theorem(
            "{α : Type} (f : α → α) (h : ∀ x, f x = x) (s : Items α)",
            "s.each f = s",
            _over("s", ["show Items.one (f x) (s.each f) = Items.one x s", "rw [h, ih]"]),
            _given(EACH),
        ),
        Theorem(
            "{α β : Type} (f : α → β) (x : α) (n : Nat)",
            "(copies x n).each f = copies (f x) n",
            induction(
                "n",
                [("zero", ["rfl"]), ("succ n ih", ["exact congrArg (Items.one (f x)) ih"])],
            ),
            _given(EACH, COPIES),
        ),
        _turn_of_join(),
        _turn_turn(),
    ]


def _given(*definitions: str) -> str:
    return "\n\n".join([ITEMS, *definitions])


_JOIN_NONE = "theorem join_none {α : Type} (s : Items α) : s.join .none = s := " + _over(
    "s", ["exact congrArg (Items.one x) ih"]
)
_JOIN_JOIN = (
    "theorem join_join {α : Type} (s t u : Items α) :\n"
    "    (s.join t).join u = s.join (t.join u) := "
    + _over("s", ["exact congrArg (Items.one x) ih"])
)
_TURN_JOIN_CLAIM = "(s.join t).turn = t.turn.join s.turn"
_TURN_JOIN_PROOF = _over(
    "s",
    [
        "calc (s.join t).turn.join (.one x .none) = (t.turn.join s.turn).join (.one x .none) :=",
        "      congrArg (fun u : Items α => u.join (.one x .none)) ih",
        "  _ = t.turn.join (s.turn.join (.one x .none)) := join_join _ _ _",
    ],
    "exact (join_none t.turn).symm",
)


def _turn_of_join() -> Theorem:
    return Theorem(
        "{α : Type} (s t : Items α)",
        _TURN_JOIN_CLAIM,
        _TURN_JOIN_PROOF,
        _given(JOIN, TURN),
        f"{_JOIN_NONE}\n\n{_JOIN_JOIN}",
    )


def _turn_turn() -> Theorem:
    lemma = (
        f"theorem turn_join {{α : Type}} (s t : Items α) :\n"
        f"    {_TURN_JOIN_CLAIM} := {_TURN_JOIN_PROOF}"
    )
    step = [
        "calc (s.turn.join (.one x .none)).turn = (Items.one x .none).turn.join s.turn.turn :=",
        "      turn_join s.turn (.one x .none)",
        "  _ = Items.one x s := congrArg (Items.one x) ih",
    ]
    return Theorem(
        "{α : Type} (s : Items α)",
        "s.turn.turn = s",
        _over("s", step),
        _given(JOIN, TURN),
        f"{_JOIN_NONE}\n\n{_JOIN_JOIN}\n\n{lemma}",
    )
