prelude
import Init.Facts

/-!
Functions on numbers, lists, characters and strings.
-/

universe u v

namespace Nat

-- The first argument only shows that they end; the kernel computes both on binary numbers.
def divFrom (steps n m : Nat) : Nat :=
  match steps with
  | 0 => 0
  | steps + 1 => if 0 < m ∧ m ≤ n then divFrom steps (n - m) m + 1 else 0
@[extern "lean_nat_div"] protected def div (n m : Nat) : Nat := divFrom n n m
def modFrom (steps n m : Nat) : Nat :=
  match steps with
  | 0 => n
  | steps + 1 => if 0 < m ∧ m ≤ n then modFrom steps (n - m) m else n
@[extern "lean_nat_mod"] protected def mod (n m : Nat) : Nat := modFrom n n m

instance instDivNat : Div Nat := ⟨Nat.div⟩
instance instModNat : Mod Nat := ⟨Nat.mod⟩
instance instDvdNat : Dvd Nat := ⟨fun n m => ∃ k, m = n * k⟩

end Nat

namespace List

variable {α : Type u} {β : Type v}

def length : List α → Nat
  | [] => 0
  | _ :: as => length as + 1
protected def append : List α → List α → List α
  | [], bs => bs
  | a :: as, bs => a :: List.append as bs
instance : Append (List α) := ⟨List.append⟩
def map (f : α → β) : List α → List β
  | [] => []
  | a :: as => f a :: map f as
def foldr (f : α → β → β) (init : β) : List α → β
  | [] => init
  | a :: as => f a (foldr f init as)
def reverse : List α → List α
  | [] => []
  | a :: as => reverse as ++ [a]
inductive Mem (a : α) : List α → Prop where
  | head (as : List α) : Mem a (a :: as)
  | tail (b : α) {as : List α} : Mem a as → Mem a (b :: as)
instance : Membership α (List α) := ⟨fun as a => Mem a as⟩

@[simp] theorem length_nil : length ([] : List α) = 0 := rfl
@[simp] theorem length_cons (a : α) (as : List α) : length (a :: as) = length as + 1 := rfl
@[simp] theorem nil_append (as : List α) : [] ++ as = as := rfl
@[simp] theorem cons_append (a : α) (as bs : List α) : a :: as ++ bs = a :: (as ++ bs) := rfl
@[simp] theorem append_nil (as : List α) : as ++ [] = as := by
  induction as with
  | nil => rfl
  | cons a as ih => exact congrArg (cons a) ih
theorem append_assoc (as bs cs : List α) : as ++ bs ++ cs = as ++ (bs ++ cs) := by
  induction as with
  | nil => rfl
  | cons a as ih => exact congrArg (cons a) ih
@[simp] theorem length_append (as bs : List α) : (as ++ bs).length = as.length + bs.length := by
  induction as with
  | nil => exact (Nat.zero_add _).symm
  | cons a as ih => rw [cons_append, length_cons, length_cons, ih, Nat.add_assoc, Nat.add_assoc,
      Nat.add_comm 1]
@[simp] theorem map_nil (f : α → β) : map f [] = [] := rfl
@[simp] theorem map_cons (f : α → β) (a : α) (as : List α) : map f (a :: as) = f a :: map f as := rfl

end List

instance : Inhabited Char := ⟨⟨⟨⟨⟨97, Nat.le_of_ble_eq_true rfl⟩⟩⟩⟩⟩
@[extern "native"] opaque Char.ofNat (n : Nat) : Char
@[extern "native"] opaque String.append (s t : String) : String
instance : Append String := ⟨String.append⟩
