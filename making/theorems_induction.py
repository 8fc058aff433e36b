"""Theorems about natural numbers that take an induction, and the functions that they speak of."""

from __future__ import annotations

import random

from making.theorems import Theorem, induction

ITERATE = """\
def iterate {α : Type} (f : α → α) : Nat → α → α
  | 0, x => x
  | n + 1, x => f (iterate f n x)"""

TOTAL = """\
def total (f : Nat → Nat) : Nat → Nat
  | 0 => 0
  | n + 1 => total f n + f n"""


def draw_induction(rng: random.Random) -> Theorem:
    """A theorem about all natural numbers."""
    families = [
        _draw_linear,
        _draw_shift,
        _draw_power,
        _draw_twins,
        _draw_bound,
        _draw_period,
        _draw_sum,
        _draw_single,
    ]
    return rng.choice(families)(rng)


def _function(name: str, first: int, step: str) -> str:
    """Define a function by its value at 0 and the step from n to n + 1."""
    return f"def {name} : Nat → Nat\n  | 0 => {first}\n  | n + 1 => {step}"


def _by_step(step: str, *, first: str = "rfl", variable: str = "n") -> str:
    """Prove by induction, with one tactic for the step."""
    return induction(variable, [("zero", [first]), (f"succ {variable} ih", [step])])


def _draw_linear(rng: random.Random) -> Theorem:
    """A function that grows by k from c on is linear."""
    c, k = rng.randint(1, 9), rng.randint(2, 9)
    proof = _by_step(f"exact congrArg (fun x => x + {k}) ih")
    return Theorem("(n : Nat)", f"f n = {k} * n + {c}", proof, _function("f", c, f"f n + {k}"))


def _draw_shift(rng: random.Random) -> Theorem:
    """Its value m places on is k * m larger."""
    c, k = rng.randint(0, 9), rng.randint(2, 9)
    proof = _by_step(f"exact congrArg (fun x => x + {k}) ih", variable="m")
    claim = f"f (n + m) = f n + {k} * m"
    return Theorem("(n m : Nat)", claim, proof, _function("f", c, f"f n + {k}"))


def _draw_power(rng: random.Random) -> Theorem:
    """A function that is multiplied by k is a power of it."""
    k = rng.randint(2, 12)
    proof = _by_step(f"exact congrArg (fun x => x * {k}) ih")
    return Theorem("(n : Nat)", f"f n = {k} ^ n", proof, _function("f", 1, f"f n * {k}"))


def _draw_twins(rng: random.Random) -> Theorem:
    """Two functions whose steps add in another order are the same."""
    c, k = rng.randint(0, 9), rng.randint(2, 9)
    step = [
        f"calc f n + {k} = g n + {k} := congrArg (fun x => x + {k}) ih",
        f"  _ = {k} + g n := Nat.add_comm (g n) {k}",
    ]
    proof = induction("n", [("zero", ["rfl"]), ("succ n ih", step)])
    definitions = [_function("f", c, f"f n + {k}"), _function("g", c, f"{k} + g n")]
    return Theorem("(n : Nat)", "f n = g n", proof, "\n\n".join(definitions))


def _draw_bound(rng: random.Random) -> Theorem:
    """A function that never falls stays above its first value."""
    c, k = rng.randint(1, 12), rng.randint(1, 3)
    term = "Nat.le.step ih"
    for _ in range(k - 1):
        term = f"Nat.le.step ({term})"
    proof = _by_step(f"exact {term}", first="exact Nat.le.refl")
    return Theorem("(n : Nat)", f"{c} ≤ f n", proof, _function("f", c, f"f n + {k}"))


def _draw_period(rng: random.Random) -> Theorem:
    """A function that repeats its first values."""
    period = rng.randint(2, 3)
    values, rest = rng.sample(range(10), period), rng.randrange(period)
    cases = "".join(f"\n  | {at} => {value}" for at, value in enumerate(values))
    preamble = f"def f : Nat → Nat{cases}\n  | n + {period} => f n"
    place = f"{period} * n + {rest}" if rest else f"{period} * n"
    return Theorem("(n : Nat)", f"f ({place}) = {values[rest]}", _by_step("exact ih"), preamble)


def _draw_sum(rng: random.Random) -> Theorem:
    """A sum of equal terms is a product."""
    k = rng.randint(1, 20)
    proof = _by_step(f"exact congrArg (fun x => x + {k}) ih")
    return Theorem("(n : Nat)", f"total (fun _ => {k}) n = {k} * n", proof, TOTAL)


def _draw_single(rng: random.Random) -> Theorem:
    """A theorem that comes in one form alone."""
    return rng.choice([*_arithmetic(), *_iterations()])


def _arithmetic() -> list[Theorem]:
    commuted = _by_step(
        "exact (congrArg Nat.succ ih).trans (Nat.succ_add m n).symm",
        first="exact (Nat.zero_add n).symm",
        variable="m",
    )
    swapped = "\n".join(
        [
            "by",
            "  calc n + m + k = n + (m + k) := Nat.add_assoc n m k",
            "    _ = n + (k + m) := congrArg (fun x => n + x) (Nat.add_comm m k)",
            "    _ = n + k + m := (Nat.add_assoc n k m).symm",
        ]
    )
    pointwise = [
        "calc total f n + f n = total g n + f n := congrArg (fun x => x + f n) ih",
        "  _ = total g n + g n := congrArg (fun x => total g n + x) (h n)",
    ]
    return [
        Theorem("(n : Nat)", "0 + n = n", _by_step("exact congrArg Nat.succ ih")),
        Theorem("(n : Nat)", "0 * n = 0", _by_step("exact ih")),
        Theorem("(n : Nat)", "1 * n = n", _by_step("exact congrArg Nat.succ ih")),
        Theorem(
            "(n m : Nat)",
            "n + 1 + m = n + m + 1",
            _by_step("exact congrArg Nat.succ ih", variable="m"),
        ),
        Theorem("(n m : Nat)", "n + m = m + n", commuted),
        Theorem("(n m k : Nat)", "n + m + k = n + k + m", swapped),
        Theorem(
            "(f g : Nat → Nat) (h : ∀ i, f i = g i) (n : Nat)",
            "total f n = total g n",
            induction("n", [("zero", ["rfl"]), ("succ n ih", pointwise)]),
            TOTAL,
        ),
    ]


def _iterations() -> list[Theorem]:
    def make(binders: str, claim: str, step: str, first: str = "rfl") -> Theorem:
        return Theorem(f"{{α : Type}} {binders}", claim, _by_step(step, first=first), ITERATE)

    return [
        make(
            "(f : α → α) (n : Nat) (x : α)",
            "iterate f n (f x) = f (iterate f n x)",
            "exact congrArg f ih",
        ),
        make(
            "(f : α → α) (n m : Nat) (x : α)",
            "iterate f (n + m) x = iterate f n (iterate f m x)",
            "exact (congrArg (fun k => iterate f k x) (Nat.succ_add n m)).trans (congrArg f ih)",
            "exact congrArg (fun k => iterate f k x) (Nat.zero_add m)",
        ),
        make(
            "(f : α → α) (x : α) (h : f x = x) (n : Nat)",
            "iterate f n x = x",
            "exact (congrArg f ih).trans h",
        ),
        make(
            "(f g : α → α) (h : ∀ x, f (g x) = g (f x)) (n : Nat) (x : α)",
            "iterate f n (g x) = g (iterate f n x)",
            "exact (congrArg f ih).trans (h (iterate f n x))",
        ),
        make(
            "(f : α → α) (p : α → Nat) (h : ∀ x, p (f x) = p x) (n : Nat) (x : α)",
            "p (iterate f n x) = p x",
            "exact (h (iterate f n x)).trans ih",
        ),
        make(
            "(f : α → α) (P : α → Prop) (h : ∀ x, P x → P (f x)) (n : Nat) (x : α) (start : P x)",
            "P (iterate f n x)",
            "exact h (iterate f n x) ih",
            "exact start",
        ),
    ]
