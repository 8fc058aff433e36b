prelude
import Init.Tactics

/-!
The theorems that tactics use, and the first facts about numbers.
-/

universe u v

/-- Functions up to equal values, applied to an argument. -/
private def applyQuot {α : Sort u} {β : α → Sort v}
    (q : Quot fun f g : (x : α) → β x => ∀ x, f x = g x) (x : α) : β x :=
  Quot.lift (fun f => f x) (fun _ _ h => h x) q

theorem funext {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : ∀ x, f x = g x) : f = g :=
  show applyQuot (Quot.mk _ f) = applyQuot (Quot.mk _ g) from congrArg applyQuot (Quot.sound h)

/-! ## For `simp` -/

theorem of_eq_true {p : Prop} (h : p = True) : p := h.symm.rec trivial
theorem eq_true {p : Prop} (h : p) : p = True := propext ⟨fun _ => trivial, fun _ => h⟩
theorem eq_false {p : Prop} (h : ¬p) : p = False := propext ⟨h, False.elim⟩
@[simp] theorem eq_self {α : Sort u} (a : α) : (a = a) = True := eq_true rfl
@[simp] theorem and_self (p : Prop) : (p ∧ p) = p := propext ⟨And.left, fun h => ⟨h, h⟩⟩
@[simp] theorem and_true (p : Prop) : (p ∧ True) = p := propext ⟨And.left, fun h => ⟨h, trivial⟩⟩
@[simp] theorem true_and (p : Prop) : (True ∧ p) = p := propext ⟨And.right, fun h => ⟨trivial, h⟩⟩

/-! ## Natural numbers -/

namespace Nat

@[simp] protected theorem add_zero (n : Nat) : n + 0 = n := rfl
theorem add_succ (n m : Nat) : n + succ m = succ (n + m) := rfl
@[simp] protected theorem zero_add (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ n ih => exact congrArg succ ih
theorem succ_add (n m : Nat) : succ n + m = succ (n + m) := by
  induction m with
  | zero => rfl
  | succ m ih => exact congrArg succ ih
protected theorem add_comm (n m : Nat) : n + m = m + n := by
  induction m with
  | zero => exact (Nat.zero_add n).symm
  | succ m ih => rw [succ_add, add_succ, ih]
protected theorem add_assoc (n m k : Nat) : n + m + k = n + (m + k) := by
  induction k with
  | zero => rfl
  | succ k ih => exact congrArg succ ih

end Nat
