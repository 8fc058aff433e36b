-- The modules in lean_modules.tar.xz: each is `prelude`, the part called header, and its own part.
-- module: header
set_option genCtorIdx false
set_option genInjectivity false
set_option genSizeOf false
set_option bootstrap.inductiveCheckResultingUniverse false in
inductive PUnit.{u} : Sort u where
  | unit : PUnit
inductive Eq.{u} {α : Sort u} : α → α → Prop where
  | refl (a : α) : Eq a a
inductive Nat where
  | zero : Nat
  | succ (n : Nat) : Nat
inductive False : Prop
unsafe axiom lcAny : Type
axiom sorryAx.{u} (α : Sort u) : α
axiom choice.{u} {α : Sort u} : α
class OfNat.{u} (α : Type u) (_ : Nat) where
  ofNat : α
instance instOfNatNat (n : Nat) : OfNat Nat n where
  ofNat := n
structure Pair.{u, v} (α : Type u) (β : Type v) where
  fst : α
  snd : β
-- module: preamble
noncomputable def two : Nat := Nat.succ (Nat.succ Nat.zero)
inductive Tree where
  | leaf : Tree
  | node (n : Nat) (left right : Tree) : Tree
noncomputable opaque secret : Nat := two
theorem two_is_two : Eq two two := Eq.refl two
-- module: target
theorem poly.{u, v} (α : Sort u) (β : Sort v) (a : α) (b : β) : Eq a a := sorryAx _
theorem number : Eq (123456789012345678901234567890 : Nat) 123456789012345678901234567890 := sorryAx _
theorem defined (p : Pair Nat Nat) : Eq two (let x := two; x) := sorryAx _
theorem tree (t : Tree) : Eq t t := sorryAx _
theorem hidden : Eq secret secret := sorryAx _
theorem proved (P : Eq two two → Prop) (h : P two_is_two) : P two_is_two := sorryAx _
theorem projected (p : Pair Nat Nat) : Eq p.fst p.1 := sorryAx _
theorem «a.b» : Eq two two := sorryAx _
theorem absurd : False := sorryAx _
-- module: honest
private theorem helper : Eq two two := Eq.refl _
theorem poly.{v, u} {A : Sort v} ⦃B : Sort u⦄ {x : A} (_ : B) : Eq x x := Eq.refl x
theorem number : Eq (123456789012345678901234567890 : Nat) 123456789012345678901234567890 := Eq.refl _
theorem defined (q : Pair Nat Nat) : Eq two (let y := two; y) := helper
theorem tree (t : Tree) : Eq t t := Eq.refl t
theorem hidden : Eq secret secret := Eq.refl secret
theorem proved (P : Eq two two → Prop) (h : P two_is_two) : P two_is_two := h
theorem projected (p : Pair Nat Nat) : Eq p.fst p.1 := Eq.refl _
theorem «a.b» : Eq two two := helper
theorem absurd : False := choice
-- module: changed
theorem poly.{u, v} (α : Sort v) (β : Sort u) (a : α) (b : β) : Eq a a := Eq.refl a
theorem number : Eq (123456789012345678901234567891 : Nat) 123456789012345678901234567891 := Eq.refl _
theorem defined (p : Pair Nat Nat) : Eq two two := Eq.refl _
theorem tree (t : Nat) : Eq t t := Eq.refl t
theorem hidden (h : False) : Eq secret secret := Eq.refl secret
theorem proved (P : Eq two two → Prop) (h : P (Eq.refl two)) : P two_is_two := h
theorem projected (p : Pair Nat Nat) : Eq p.fst p.2 := sorryAx _
theorem a.b : Eq two two := Eq.refl _
noncomputable def absurd : Nat := two
-- module: kinds
noncomputable def poly.{u, v} (α : Sort u) (β : Sort v) (a : α) (b : β) : Eq a a := Eq.refl a
axiom number : Eq (123456789012345678901234567890 : Nat) 123456789012345678901234567890
opaque defined (p : Pair Nat Nat) : Eq two (let x := two; x) := Eq.refl two
namespace Inner
theorem tree (t : Tree) : Eq t t := Eq.refl t
end Inner
private theorem hidden : Eq secret secret := Eq.refl secret
-- module: axioms
axiom cheat : False
axiom propext : False
axiom «propext, choice» : False
axiom unused : False
theorem step : False := cheat
theorem poly.{u, v} (α : Sort u) (β : Sort v) (a : α) (b : β) : Eq a a := step.rec
theorem number : Eq (123456789012345678901234567890 : Nat) 123456789012345678901234567890 := propext.rec
theorem defined (p : Pair Nat Nat) : Eq two (let x := two; x) := («propext, choice»).rec
theorem tree (t : Tree) : Eq t t := have h : Eq t t := sorryAx _; h
theorem hidden : Eq secret secret := sorryAx _
noncomputable opaque back_door : Eq two two → Nat := fun _ => cheat.rec
theorem proved (P : Eq two two → Prop) (h : P two_is_two) : P two_is_two :=
  (fun (_ : Eq (back_door two_is_two) (back_door two_is_two)) => h) (Eq.refl _)
-- module: other_preamble
noncomputable def two : Nat := Nat.zero
inductive Tree where
  | leaf : Tree
  | node (n : Nat) (left : Tree) : Tree
opaque secret : Nat := Nat.zero
axiom two_is_two : Eq two two
theorem poly.{u, v} (α : Sort u) (β : Sort v) (a : α) (b : β) : Eq a a := Eq.refl a
theorem defined (p : Pair Nat Nat) : Eq two (let x := two; x) := Eq.refl two
theorem tree (t : Tree) : Eq t t := Eq.refl t
theorem hidden : Eq secret secret := Eq.refl secret
theorem proved (P : Eq two two → Prop) (h : P two_is_two) : P two_is_two := h
-- module: primitives
noncomputable def Nat.add (m n : Nat) : Nat := Nat.zero
theorem poly.{u, v} (α : Sort u) (β : Sort v) (a : α) (b : β) : Eq a a := Eq.refl a
