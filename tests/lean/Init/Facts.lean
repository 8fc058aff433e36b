prelude
import Init.Steps

/-!
The theorems that tactics use, and the first facts about numbers.
-/

universe u v

variable {p q : Prop}

/-! ## For `simp` -/

theorem of_eq_true (h : p = True) : p := h.symm.rec trivial
theorem of_eq_false (h : p = False) : ¬p := fun hp => h.rec (motive := fun r _ => r) hp
theorem eq_true (h : p) : p = True := propext ⟨fun _ => trivial, fun _ => h⟩
theorem eq_false (h : ¬p) : p = False := propext ⟨h, False.elim⟩
theorem eq_true_of_decide [Decidable p] (h : decide p = true) : p = True :=
  eq_true (of_decide_eq_true h)
theorem eq_false_of_decide [Decidable p] (h : decide p = false) : p = False :=
  eq_false (of_decide_eq_false h)
theorem implies_congr {p₁ p₂ : Sort u} {q₁ q₂ : Sort v} (h : p₁ = p₂) (h' : q₁ = q₂) :
    (p₁ → q₁) = (p₂ → q₂) := h.rec (h'.rec rfl)
theorem forall_congr {α : Sort u} {p q : α → Prop} (h : ∀ a, p a = q a) : (∀ a, p a) = ∀ a, q a := by
  have e : p = q := funext h
  subst e
  rfl

theorem eq_false' (h : p → False) : p = False := eq_false h
theorem ite_eq_left_of_eq_true {α : Sort u} {c : Prop} [Decidable c] (a b : α) (h : c = True) :
    (if c then a else b) = a := by
  subst h
  rename_i d
  cases d with
  | mk holds reflects => cases holds with
    | true => rfl
    | false => exact (reflects trivial).elim
theorem ite_eq_right_of_eq_false {α : Sort u} {c : Prop} [Decidable c] (a b : α) (h : c = False) :
    (if c then a else b) = b := by
  subst h
  rename_i d
  cases d with
  | mk holds reflects => cases holds with
    | true => exact reflects.elim
    | false => rfl

@[simp] theorem eq_self {α : Sort u} (a : α) : (a = a) = True := eq_true rfl
@[simp] theorem heq_eq_eq {α : Sort u} (a b : α) : (a ≍ b) = (a = b) :=
  propext ⟨eq_of_heq, heq_of_eq⟩
@[simp] theorem ne_eq {α : Sort u} (a b : α) : (a ≠ b) = ¬(a = b) := rfl
@[simp] theorem not_true_eq_false : (¬True) = False := eq_false fun h => h trivial
@[simp] theorem not_false_eq_true : (¬False) = True := eq_true id
@[simp] theorem and_self (p : Prop) : (p ∧ p) = p := propext ⟨And.left, fun h => ⟨h, h⟩⟩
@[simp] theorem and_true (p : Prop) : (p ∧ True) = p := propext ⟨And.left, fun h => ⟨h, trivial⟩⟩
@[simp] theorem true_and (p : Prop) : (True ∧ p) = p := propext ⟨And.right, fun h => ⟨trivial, h⟩⟩
@[simp] theorem and_false (p : Prop) : (p ∧ False) = False := eq_false And.right
@[simp] theorem false_and (p : Prop) : (False ∧ p) = False := eq_false And.left
@[simp] theorem or_self (p : Prop) : (p ∨ p) = p := propext ⟨fun h => h.elim id id, .inl⟩
@[simp] theorem or_true (p : Prop) : (p ∨ True) = True := eq_true (.inr trivial)
@[simp] theorem true_or (p : Prop) : (True ∨ p) = True := eq_true (.inl trivial)
@[simp] theorem or_false (p : Prop) : (p ∨ False) = p := propext ⟨fun h => h.elim id False.elim, .inl⟩
@[simp] theorem false_or (p : Prop) : (False ∨ p) = p := propext ⟨fun h => h.elim False.elim id, .inr⟩
@[simp] theorem iff_self (p : Prop) : (p ↔ p) = True := eq_true (.refl p)
@[simp] theorem true_implies (p : Prop) : (True → p) = p := propext ⟨fun h => h trivial, fun h _ => h⟩
@[simp] theorem implies_true (α : Sort u) : (α → True) = True := eq_true fun _ => trivial
@[simp] theorem false_implies (p : Prop) : (False → p) = True := eq_true False.elim
@[simp] theorem imp_self (p : Prop) : (p → p) = True := eq_true id

theorem and_comm : p ∧ q ↔ q ∧ p := ⟨fun h => ⟨h.2, h.1⟩, fun h => ⟨h.2, h.1⟩⟩
theorem or_comm : p ∨ q ↔ q ∨ p := ⟨fun h => h.elim .inr .inl, fun h => h.elim .inr .inl⟩
theorem not_not_intro (h : p) : ¬¬p := fun np => np h
theorem Ne.symm {α : Sort u} {a b : α} (h : a ≠ b) : b ≠ a := fun e => h e.symm
theorem And.symm (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩
theorem Or.symm (h : p ∨ q) : q ∨ p := or_comm.mp h
theorem mt (h : p → q) (nq : ¬q) : ¬p := fun hp => nq (h hp)

/-! ## Choice, and with it the excluded middle (Diaconescu) -/

namespace Classical

variable {α : Sort u}

noncomputable def some {p : α → Prop} (h : ∃ x, p x) : Subtype p :=
  choice (h.elim fun x hx => ⟨x, hx⟩)
noncomputable def choose {p : α → Prop} (h : ∃ x, p x) : α := (some h).val
theorem choose_spec {p : α → Prop} (h : ∃ x, p x) : p (choose h) := (some h).property
theorem choose_eq {p q : α → Prop} (e : p = q) (hp : ∃ x, p x) (hq : ∃ x, q x) :
    choose hp = choose hq := by
  subst e
  rfl

theorem em (p : Prop) : p ∨ ¬p := by
  have some_true : ∃ x : Prop, x = True ∨ p := ⟨True, .inl rfl⟩
  have some_false : ∃ x : Prop, x = False ∨ p := ⟨False, .inl rfl⟩
  cases choose_spec some_true with
  | inr hp => exact .inl hp
  | inl u => cases choose_spec some_false with
    | inr hp => exact .inl hp
    | inl v =>
      refine .inr fun hp => ?_
      have same : (fun x : Prop => x = True ∨ p) = fun x => x = False ∨ p :=
        funext fun _ => propext ⟨fun _ => .inr hp, fun _ => .inr hp⟩
      have e : True = False := u.symm.trans ((choose_eq same some_true some_false).trans v)
      exact e.mp trivial
theorem byContradiction (h : ¬¬p) : p := (em p).elim id fun np => (h np).elim
noncomputable scoped instance propDecidable (p : Prop) : Decidable p :=
  choice ((em p).elim (fun h => ⟨isTrue h⟩) fun h => ⟨isFalse h⟩)

end Classical

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

@[simp] protected theorem mul_zero (n : Nat) : n * 0 = 0 := rfl
theorem mul_succ (n m : Nat) : n * succ m = n * m + n := rfl
@[simp] protected theorem zero_mul (n : Nat) : 0 * n = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => rw [mul_succ, ih]
theorem succ_mul (n m : Nat) : succ n * m = n * m + m := by
  induction m with
  | zero => rfl
  | succ m ih => rw [mul_succ, mul_succ, ih, Nat.add_assoc, Nat.add_assoc, add_succ m n, add_succ n m,
      Nat.add_comm m n]
protected theorem mul_comm (n m : Nat) : n * m = m * n := by
  induction m with
  | zero => exact (Nat.zero_mul n).symm
  | succ m ih => rw [mul_succ, succ_mul, ih]
@[simp] protected theorem mul_one (n : Nat) : n * 1 = n := Nat.zero_add n
@[simp] protected theorem one_mul (n : Nat) : 1 * n = n := by rw [Nat.mul_comm, Nat.mul_one]
protected theorem add_left_comm (n m k : Nat) : n + (m + k) = m + (n + k) := by
  rw [← Nat.add_assoc, Nat.add_comm n m, Nat.add_assoc]
theorem succ_ne_zero (n : Nat) : succ n ≠ 0 := nofun
theorem zero_ne_one : (0 : Nat) ≠ 1 := nofun
theorem le_succ (n : Nat) : n ≤ succ n := .step .refl
@[simp] protected theorem le_refl (n : Nat) : n ≤ n := .refl
theorem succ_pos (n : Nat) : 0 < succ n := succ_le_succ (zero_le n)
theorem lt_succ_self (n : Nat) : n < succ n := .refl
protected theorem lt_irrefl (n : Nat) : ¬n < n := by
  induction n with
  | zero => exact not_succ_le_zero 0
  | succ n ih => exact fun h => ih (le_of_succ_le_succ h)
theorem lt_succ_of_le {n m : Nat} (h : n ≤ m) : n < succ m := succ_le_succ h
theorem le_of_lt_succ {n m : Nat} (h : n < succ m) : n ≤ m := le_of_succ_le_succ h
protected theorem le_of_lt {n m : Nat} (h : n < m) : n ≤ m := Nat.le_trans (le_succ n) h
protected theorem lt_of_lt_of_le {n m k : Nat} (h : n < m) (h' : m ≤ k) : n < k := Nat.le_trans h h'
protected theorem lt_trans {n m k : Nat} (h : n < m) (h' : m < k) : n < k :=
  Nat.le_trans h (Nat.le_of_lt h')

end Nat
