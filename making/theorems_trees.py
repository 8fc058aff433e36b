"""Theorems about trees, proved by induction over their structure.

The type is drawn: its constructors, and what each of them adds to the weight of a tree.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from making.theorems import Theorem, induction


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
    weights: tuple[int, ...]
    """What each constructor adds to the weight of its subtrees."""

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

    def weight(self) -> str:
        """Define the weight."""
        return self.define("weight", "{α : Type}", "Nat", self.weigh)

    def weigh(self, one: Constructor, written: str = "{}", *, turned: bool = False) -> str:
        """Write the weight of what a constructor makes as the sum that it is by definition.

        Args:
            one: The constructor.
            written: How each subtree is written, with its name for `{}`.
            turned: Whether the subtrees stand in the other order.
        """
        order = reversed(one.subtrees) if turned else one.subtrees
        parts = [f"{written.format(subtree)}.weight" for subtree in order]
        return " + ".join([*parts, str(self.weights[self.constructors.index(one)])])

    def prove(self, closing: Callable[[Constructor], list[str]]) -> str:
        """Prove by induction over the tree `s`; without subtrees there is nothing to do."""
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


def draw_tree_theorem(rng: random.Random) -> Theorem:
    """A theorem about mirror images, about data that a function is applied to, or about weights."""
    count = rng.randint(1, 2)
    constructors = (rng.choice(LEAVES), *sorted(rng.sample(BRANCHES, count), key=BRANCHES.index))
    weights = (rng.randint(0, 4), *(rng.randint(1, 5) for _ in range(count)))
    families = [_mirror_mirror, _map_map, _mirror_map, _mirror_weight, _map_weight]
    return rng.choice(families)(Tree(constructors, weights))


def _mirror_mirror(tree: Tree) -> Theorem:
    def closing(one: Constructor) -> list[str]:
        twice = one.apply(lambda f: f if f == "x" else f"{f}.mirror.mirror")
        return [f"show {twice} = {one.apply(str)}", _rewrite(one)]

    return Theorem(
        "{α : Type} (s : Tree α)",
        "s.mirror.mirror = s",
        tree.prove(closing),
        _given(tree.definition, tree.mirror()),
    )


def _map_map(tree: Tree) -> Theorem:
    def closing(one: Constructor) -> list[str]:
        left = one.apply(lambda f: "(g (f x))" if f == "x" else f"(({f}.map f).map g)")
        right = one.apply(lambda f: "(g (f x))" if f == "x" else f"({f}.map (fun x => g (f x)))")
        return [f"show {left} = {right}", _rewrite(one)]

    return Theorem(
        "{α β γ : Type} (f : α → β) (g : β → γ) (s : Tree α)",
        "(s.map f).map g = s.map (fun x => g (f x))",
        tree.prove(closing),
        _given(tree.definition, tree.map()),
    )


def _mirror_map(tree: Tree) -> Theorem:
    def closing(one: Constructor) -> list[str]:
        def turn(written: str) -> str:
            turned = iter(reversed(one.subtrees))
            return one.apply(lambda f: "(f x)" if f == "x" else written.format(next(turned)))

        return [f"show {turn('({}.map f).mirror')} = {turn('({}.mirror.map f)')}", _rewrite(one)]

    return Theorem(
        "{α β : Type} (f : α → β) (s : Tree α)",
        "(s.map f).mirror = s.mirror.map f",
        tree.prove(closing),
        _given(tree.definition, tree.mirror(), tree.map()),
    )


def _mirror_weight(tree: Tree) -> Theorem:
    def closing(one: Constructor) -> list[str]:
        turned = tree.weigh(one, "{}.mirror", turned=True)
        swap = ["Nat.add_comm r.weight l.weight"] if len(one.subtrees) == 2 else []
        return [f"show {turned} = {tree.weigh(one)}", _rewrite(one, *swap)]

    return Theorem(
        "{α : Type} (s : Tree α)",
        "s.mirror.weight = s.weight",
        tree.prove(closing),
        _given(tree.definition, tree.mirror(), tree.weight()),
    )


def _map_weight(tree: Tree) -> Theorem:
    def closing(one: Constructor) -> list[str]:
        return [f"show {tree.weigh(one, '({}.map f)')} = {tree.weigh(one)}", _rewrite(one)]

    return Theorem(
        "{α β : Type} (f : α → β) (s : Tree α)",
        "(s.map f).weight = s.weight",
        tree.prove(closing),
        _given(tree.definition, tree.map(), tree.weight()),
    )


def _rewrite(one: Constructor, *more: str) -> str:
    """Write the tactic that uses the induction hypotheses."""
    return f"rw [{', '.join([*(f'ih{subtree}' for subtree in one.subtrees), *more])}]"


def _given(*definitions: str) -> str:
    return "\n\n".join(definitions)
