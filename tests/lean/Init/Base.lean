prelude

/-!
Logic and the first data types, as Lean's elaborator expects to find them by name.

A file that says `prelude` starts from nothing, not even notation: here equality is `Eq a b`, and
`a + b` is `HAdd.hAdd a b`. Names and types have to be those of the manual, for the compiled
elaborator refers to them; everything else is as short as it can be. The modules bear names that
Lean's own library has not: macros are named after their module, and the interpreter prefers
compiled code of the same name.
-/

universe u v w

/-! ## What the compiler leaves in place of proofs and types -/

unsafe axiom lcProof {α : Prop} : α
unsafe axiom lcAny : Type
unsafe axiom lcErased : Type
unsafe axiom lcVoid : Type
unsafe axiom lcUnreachable {α : Sort u} : α

/-! ## Functions and annotations -/

@[inline] def id {α : Sort u} (a : α) : α := a
@[inline] def Function.comp {α : Sort u} {β : Sort v} {δ : Sort w} (f : β → δ) (g : α → β) : α → δ :=
  fun x => f (g x)
@[inline] def Function.const {α : Sort u} (β : Sort v) (a : α) : β → α := fun _ => a
set_option checkBinderAnnotations false in
@[reducible] def inferInstance {α : Sort u} [i : α] : α := i
@[reducible] def outParam (α : Sort u) : Sort u := α
@[reducible] def semiOutParam (α : Sort u) : Sort u := α
@[reducible] def optParam (α : Sort u) (_ : α) : Sort u := α

/-! ## Propositions and equality -/

set_option bootstrap.inductiveCheckResultingUniverse false in
inductive PUnit : Sort u where
  | unit : PUnit
abbrev Unit : Type := PUnit
@[match_pattern] abbrev Unit.unit : Unit := PUnit.unit

inductive True : Prop where
  | intro : True
inductive False : Prop
inductive Empty : Type
set_option bootstrap.inductiveCheckResultingUniverse false in
inductive PEmpty : Sort u

theorem trivial : True := True.intro
def Not (a : Prop) : Prop := a → False
@[macro_inline] def False.elim {C : Sort u} (h : False) : C := h.rec
@[macro_inline] def Empty.elim {C : Sort u} (e : Empty) : C := e.rec
@[macro_inline] def absurd {a : Prop} {b : Sort v} (h : a) (h' : Not a) : b := (h' h).rec

inductive Eq {α : Sort u} : α → α → Prop where
  | refl (a : α) : Eq a a
set_option linter.defProp false in
@[match_pattern] def rfl {α : Sort u} {a : α} : Eq a a := Eq.refl a

@[reducible] def namedPattern {α : Sort u} (x a : α) (_ : Eq x a) : α := a

inductive HEq {α : Sort u} (a : α) : {β : Sort u} → β → Prop where
  | refl : HEq a a
set_option linter.defProp false in
@[match_pattern] protected def HEq.rfl {α : Sort u} {a : α} : HEq a a := HEq.refl

@[elab_as_elim, macro_inline]
abbrev Eq.ndrec.{r, s} {α : Sort s} {a : α} {motive : α → Sort r} (m : motive a) {b : α} (h : Eq a b) :
    motive b := h.rec m
theorem Eq.subst {α : Sort u} {motive : α → Prop} {a b : α} (h : Eq a b) (m : motive a) :
    motive b := h.rec m
@[symm] theorem Eq.symm {α : Sort u} {a b : α} (h : Eq a b) : Eq b a := h.rec rfl
theorem Eq.trans {α : Sort u} {a b c : α} (h : Eq a b) (h' : Eq b c) : Eq a c := h'.rec h
@[macro_inline] def cast {α β : Sort u} (h : Eq α β) (a : α) : β := h.rec a
@[macro_inline] def Eq.mp {α β : Sort u} (h : Eq α β) (a : α) : β := h.rec a
@[macro_inline] def Eq.mpr {α β : Sort u} (h : Eq α β) (b : β) : α := h.symm.rec b
theorem congrArg {α : Sort u} {β : Sort v} {a b : α} (f : α → β) (h : Eq a b) : Eq (f a) (f b) :=
  h.rec rfl
theorem congrFun {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : Eq f g) (a : α) :
    Eq (f a) (g a) := h.rec rfl
theorem congrFun' {α : Sort u} {β : Sort v} {f g : α → β} (h : Eq f g) (a : α) : Eq (f a) (g a) :=
  h.rec rfl
theorem congr {α : Sort u} {β : Sort v} {f g : α → β} {a b : α} (h : Eq f g) (h' : Eq a b) :
    Eq (f a) (g b) := h.rec (h'.rec rfl)
theorem eq_of_heq {α : Sort u} {a b : α} (h : HEq a b) : Eq a b :=
  have aux : (β : Sort u) → (b : β) → HEq a b → (e : Eq α β) → Eq (cast e a) b :=
    fun _ _ h => h.rec fun _ => rfl
  aux α b h rfl
theorem heq_of_eq {α : Sort u} {a b : α} (h : Eq a b) : HEq a b := h.rec HEq.rfl
@[macro_inline] def HEq.homo_ndrec.{r, s} {α : Sort s} {a : α} {motive : α → Sort r} (m : motive a)
    {b : α} (h : HEq a b) : motive b := (eq_of_heq h).ndrec m
theorem HEq.symm {α β : Sort u} {a : α} {b : β} (h : HEq a b) : HEq b a := h.rec HEq.rfl

structure And (a b : Prop) : Prop where
  intro ::
  left : a
  right : b
inductive Or (a b : Prop) : Prop where
  | inl (h : a) : Or a b
  | inr (h : b) : Or a b
structure Iff (a b : Prop) : Prop where
  intro ::
  mp : a → b
  mpr : b → a
inductive Exists {α : Sort u} (p : α → Prop) : Prop where
  | intro (w : α) (h : p w) : Exists p

theorem Exists.elim {α : Sort u} {p : α → Prop} {b : Prop} (h : Exists p)
    (h' : (a : α) → p a → b) : b := h.rec h'
theorem Or.elim {a b c : Prop} (h : Or a b) (left : a → c) (right : b → c) : c := h.rec left right
theorem Iff.refl (a : Prop) : Iff a a := ⟨id, id⟩
theorem Iff.symm {a b : Prop} (h : Iff a b) : Iff b a := ⟨h.mpr, h.mp⟩
theorem Iff.trans {a b c : Prop} (h : Iff a b) (h' : Iff b c) : Iff a c :=
  ⟨fun x => h'.mp (h.mp x), fun x => h.mpr (h'.mpr x)⟩
theorem Iff.of_eq {a b : Prop} (h : Eq a b) : Iff a b := h.rec (Iff.refl a)

theorem Lean.injEq_helper {a b c : Prop} (h : a → b → c) (h' : And a b) : c := h h'.left h'.right

/-! ## The three axioms -/

init_quot

unsafe axiom Quot.lcInv {α : Sort u} {r : α → α → Prop} (q : Quot r) : α

axiom propext {a b : Prop} : Iff a b → Eq a b
/-- From here on, constructors of inductive types get theorems that say they are injective. -/
theorem Eq.propIntro {a b : Prop} (h : a → b) (h' : b → a) : Eq a b := propext ⟨h, h'⟩
axiom Quot.sound {α : Sort u} {r : α → α → Prop} {a b : α} :
  r a b → Eq (Quot.mk r a) (Quot.mk r b)

/-- Functions up to equal values, applied to an argument. -/
private def applyQuot {α : Sort u} {β : α → Sort v}
    (q : Quot fun f g : (x : α) → β x => (x : α) → Eq (f x) (g x)) (x : α) : β x :=
  Quot.lift (fun f => f x) (fun _ _ h => h x) q
theorem funext {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : (x : α) → Eq (f x) (g x)) :
    Eq f g :=
  show Eq (applyQuot (Quot.mk _ f)) (applyQuot (Quot.mk _ g)) from congrArg applyQuot (Quot.sound h)

class inductive Nonempty (α : Sort u) : Prop where
  | intro (val : α) : Nonempty α
axiom Classical.choice {α : Sort u} : Nonempty α → α

/-! ## Data -/

structure Prod (α : Type u) (β : Type v) where
  fst : α
  snd : β
structure PProd (α : Sort u) (β : Sort v) where
  fst : α
  snd : β
structure MProd (α β : Type u) where
  fst : α
  snd : β
structure Subtype {α : Sort u} (p : α → Prop) where
  val : α
  property : p val
structure Sigma {α : Type u} (β : α → Type v) where
  fst : α
  snd : β fst
structure PLift (α : Sort u) : Type u where
  up ::
  down : α
structure ULift.{r, s} (α : Type s) : Type (max s r) where
  up ::
  down : α
inductive Sum (α : Type u) (β : Type v) where
  | inl (val : α) : Sum α β
  | inr (val : β) : Sum α β
inductive PSum (α : Sort u) (β : Sort v) where
  | inl (val : α) : PSum α β
  | inr (val : β) : PSum α β

set_option bootstrap.inductiveCheckResultingUniverse false in
structure PULift.{r, s} (α : Sort s) : Sort (max s r 1) where
  up ::
  down : α

inductive Bool : Type where
  | false : Bool
  | true : Bool
export Bool (false true)
@[macro_inline] def cond {α : Sort u} (c : Bool) (t e : α) : α := c.casesOn e t

/-- A proposition with a Boolean that says whether it holds; compiled code keeps the Boolean. -/
class Decidable (p : Prop) where
  decide : Bool
  reflects : (decide.casesOn (Not p) p : Prop)
@[match_pattern] abbrev Decidable.isTrue {p : Prop} (h : p) : Decidable p := ⟨true, h⟩
@[match_pattern] abbrev Decidable.isFalse {p : Prop} (h : Not p) : Decidable p := ⟨false, h⟩
export Decidable (isTrue isFalse decide)

set_option genCtorIdx false in
set_option genInjectivity false in
inductive Nat where
  | zero : Nat
  | succ (n : Nat) : Nat

/-! The kernel and the compiler compute those with `extern` by themselves, on binary numbers. -/

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_add", match_pattern] protected def Nat.add : Nat → Nat → Nat
  | n, .zero => n
  | n, .succ m => .succ (Nat.add n m)

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_mul"] protected def Nat.mul : Nat → Nat → Nat
  | _, .zero => .zero
  | n, .succ m => Nat.add (Nat.mul n m) n

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_pow"] protected def Nat.pow : Nat → Nat → Nat
  | _, .zero => .succ .zero
  | n, .succ m => Nat.mul (Nat.pow n m) n

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_pred"] def Nat.pred : Nat → Nat
  | .zero => .zero
  | .succ n => n

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_sub"] protected def Nat.sub : Nat → Nat → Nat
  | n, .zero => n
  | n, .succ m => Nat.pred (Nat.sub n m)

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_dec_eq"] def Nat.beq : Nat → Nat → Bool
  | .zero, .zero => true
  | .zero, .succ _ => false
  | .succ _, .zero => false
  | .succ n, .succ m => Nat.beq n m

set_option bootstrap.genMatcherCode false in
@[extern "lean_nat_dec_le"] def Nat.ble : Nat → Nat → Bool
  | .zero, _ => true
  | .succ _, .zero => false
  | .succ n, .succ m => Nat.ble n m

theorem Bool.false_ne_true : Not (Eq false true) :=
  fun h => (h.rec trivial : Bool.casesOn true True False)

theorem Nat.eq_of_beq_eq_true : {n m : Nat} → Eq (Nat.beq n m) true → Eq n m
  | .zero, .zero, _ => rfl
  | .succ _, .succ _, h => congrArg Nat.succ (Nat.eq_of_beq_eq_true h)
  | .zero, .succ _, h => (Bool.false_ne_true h).elim
  | .succ _, .zero, h => (Bool.false_ne_true h).elim

theorem Nat.beq_refl : (n : Nat) → Eq (Nat.beq n n) true
  | .zero => rfl
  | .succ n => Nat.beq_refl n

theorem Nat.ne_of_beq_eq_false {n m : Nat} (h : Eq (Nat.beq n m) false) : Not (Eq n m) :=
  fun e => Bool.false_ne_true (h.symm.trans (e.rec (Nat.beq_refl n)))

@[extern "lean_nat_dec_eq"] def Nat.decEq (n m : Nat) : Decidable (Eq n m) :=
  match h : Nat.beq n m with
  | true => isTrue (Nat.eq_of_beq_eq_true h)
  | false => isFalse (Nat.ne_of_beq_eq_false h)

theorem noConfusion_of_Nat {α : Sort u} (f : α → Nat) {a b : α} (h : Eq a b) :
    (Nat.beq (f a) (f b)).rec False True :=
  h.rec ((Nat.beq_refl (f a)).symm.rec trivial)

gen_injective_theorems% Bool
gen_injective_theorems% Nat

inductive Option (α : Type u) where
  | none : Option α
  | some (val : α) : Option α
export Option (none some)
@[inline] protected def Option.map {α : Type u} {β : Type v} (f : α → β) : Option α → Option β
  | some a => some (f a)
  | none => none

inductive List (α : Type u) where
  | nil : List α
  | cons (head : α) (tail : List α) : List α

/-- The constant behind `sorry`. -/
@[extern "lean_sorry", never_extract]
axiom sorryAx (α : Sort u) (synthetic : Bool) : α
