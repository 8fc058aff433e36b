"""Theorems about lists, proved by induction over their structure.

The type and its functions have names of their own, so that nothing is to be found in a library.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from making.theorems import Theorem, induction

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


def draw_list_theorem(rng: random.Random) -> Theorem:
    """A theorem about joined, turned or mapped lists, or about their weights."""
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
