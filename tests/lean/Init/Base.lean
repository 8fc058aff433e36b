prelude

/-!
The types, classes and functions that Lean's elaborator expects to find by name.

A file that says `prelude` starts from nothing, not even notation: here equality is `Eq a b`, and
`a + b` is `HAdd.hAdd a b`. Names and types have to be those of the manual, the compiled elaborator
refers to them; everything else is as short as it can be.
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
@[reducible] def namedPattern {α : Sort u} (_ a : α) (_ : True) : α := a

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
@[extern "lean_nat_add"] protected def Nat.add : Nat → Nat → Nat
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

@[never_extract] axiom lcSynthetic : Bool

/-! ## Inhabited, decidable and literal -/

class Inhabited (α : Sort u) where
  default : α
export Inhabited (default)
instance instNonemptyOfInhabited {α : Sort u} [Inhabited α] : Nonempty α := ⟨default⟩
noncomputable def Classical.ofNonempty {α : Sort u} [Nonempty α] : α := Classical.choice inferInstance
instance {α : Sort u} {β : Sort v} [Nonempty β] : Nonempty (α → β) := ⟨fun _ => Classical.ofNonempty⟩
instance instInhabitedForall {α : Sort u} {β : α → Sort v} [(a : α) → Inhabited (β a)] :
    Inhabited ((a : α) → β a) := ⟨fun _ => default⟩
instance : Inhabited Prop := ⟨True⟩
instance : Inhabited Bool := ⟨false⟩
instance : Inhabited Nat := ⟨Nat.zero⟩
instance {α : Type u} : Inhabited (Option α) := ⟨none⟩
instance {α : Type u} : Inhabited (List α) := ⟨List.nil⟩
instance : Inhabited PUnit := ⟨PUnit.unit⟩

abbrev DecidableEq (α : Sort u) := (a b : α) → Decidable (Eq a b)
abbrev DecidablePred {α : Sort u} (r : α → Prop) := (a : α) → Decidable (r a)
abbrev DecidableRel {α : Sort u} {β : Sort v} (r : α → β → Prop) := (a : α) → (b : β) → Decidable (r a b)

class BEq (α : Type u) where
  beq : α → α → Bool
export BEq (beq)
instance instBEqOfDecidableEq {α : Type u} [DecidableEq α] : BEq α := ⟨fun a b => decide (Eq a b)⟩

@[macro_inline] def ite {α : Sort u} (c : Prop) [h : Decidable c] (t e : α) : α :=
  match h with
  | isTrue _ => t
  | isFalse _ => e
@[macro_inline] def dite {α : Sort u} (c : Prop) [h : Decidable c] (t : c → α) (e : Not c → α) : α :=
  match h with
  | isTrue hc => t hc
  | isFalse hc => e hc
@[macro_inline] def Bool.or (a b : Bool) : Bool := a.casesOn b true
@[macro_inline] def Bool.and (a b : Bool) : Bool := a.casesOn false b
@[inline] def Bool.not (a : Bool) : Bool := a.casesOn true false
export Bool (or and not)

class OfNat (α : Type u) (_ : Nat) where
  ofNat : α
@[default_instance 100] instance instOfNatNat (n : Nat) : OfNat Nat n := ⟨n⟩

/-! ## Operators -/

class LE (α : Type u) where le : α → α → Prop
class LT (α : Type u) where lt : α → α → Prop
@[reducible] def GE.ge {α : Type u} [LE α] (a b : α) : Prop := LE.le b a
@[reducible] def GT.gt {α : Type u} [LT α] (a b : α) : Prop := LT.lt b a
class Add (α : Type u) where add : α → α → α
class Sub (α : Type u) where sub : α → α → α
class Mul (α : Type u) where mul : α → α → α
class Div (α : Type u) where div : α → α → α
class Mod (α : Type u) where mod : α → α → α
class Neg (α : Type u) where neg : α → α
class Append (α : Type u) where append : α → α → α
class NatPow (α : Type u) where pow : α → Nat → α
class Pow (α : Type u) (β : Type v) where pow : α → β → α
class HAdd (α : Type u) (β : Type v) (γ : outParam (Type w)) where hAdd : α → β → γ
class HSub (α : Type u) (β : Type v) (γ : outParam (Type w)) where hSub : α → β → γ
class HMul (α : Type u) (β : Type v) (γ : outParam (Type w)) where hMul : α → β → γ
class HDiv (α : Type u) (β : Type v) (γ : outParam (Type w)) where hDiv : α → β → γ
class HMod (α : Type u) (β : Type v) (γ : outParam (Type w)) where hMod : α → β → γ
class HPow (α : Type u) (β : Type v) (γ : outParam (Type w)) where hPow : α → β → γ
class HAppend (α : Type u) (β : Type v) (γ : outParam (Type w)) where hAppend : α → β → γ
attribute [match_pattern] Nat.add Add.add HAdd.hAdd Neg.neg
@[default_instance, reducible] instance instHAdd {α : Type u} [Add α] : HAdd α α α := ⟨Add.add⟩
@[default_instance, reducible] instance instHSub {α : Type u} [Sub α] : HSub α α α := ⟨Sub.sub⟩
@[default_instance, reducible] instance instHMul {α : Type u} [Mul α] : HMul α α α := ⟨Mul.mul⟩
@[default_instance, reducible] instance instHDiv {α : Type u} [Div α] : HDiv α α α := ⟨Div.div⟩
@[default_instance, reducible] instance instHMod {α : Type u} [Mod α] : HMod α α α := ⟨Mod.mod⟩
@[default_instance, reducible] instance instHPow {α : Type u} {β : Type v} [Pow α β] : HPow α β α :=
  ⟨Pow.pow⟩
@[default_instance, reducible] instance instHAppendOfAppend {α : Type u} [Append α] : HAppend α α α :=
  ⟨Append.append⟩
@[default_instance 10000] instance instPowNat {α : Type u} [NatPow α] : Pow α Nat := ⟨NatPow.pow⟩

/-! ## Natural numbers: the kernel computes those with `extern` by itself -/

/-! ## Order and arithmetic of the naturals -/

protected inductive Nat.le (n : Nat) : Nat → Prop where
  | refl : Nat.le n n
  | step {m : Nat} : Nat.le n m → Nat.le n (.succ m)
@[reducible] protected def Nat.lt (n m : Nat) : Prop := Nat.le (.succ n) m

instance instLENat : LE Nat := ⟨Nat.le⟩
instance instLTNat : LT Nat := ⟨Nat.lt⟩
instance instAddNat : Add Nat := ⟨Nat.add⟩
instance instSubNat : Sub Nat := ⟨Nat.sub⟩
instance instMulNat : Mul Nat := ⟨Nat.mul⟩
instance instNatPowNat : NatPow Nat := ⟨Nat.pow⟩
instance instDecidableEqNat : DecidableEq Nat := Nat.decEq

theorem Nat.zero_le : (n : Nat) → LE.le 0 n
  | .zero => .refl
  | .succ n => .step (Nat.zero_le n)
theorem Nat.succ_le_succ {n m : Nat} (h : LE.le n m) : LE.le (Nat.succ n) (Nat.succ m) :=
  h.rec .refl fun _ ih => .step ih
theorem Nat.le_trans {n m k : Nat} (h : LE.le n m) (h' : LE.le m k) : LE.le n k :=
  h'.rec h fun _ ih => .step ih
theorem Nat.pred_le_pred {n m : Nat} (h : LE.le n m) : LE.le (Nat.pred n) (Nat.pred m) :=
  h.rec .refl fun {m} _ ih => Nat.le_trans ih (m.rec .refl fun _ _ => .step .refl)
theorem Nat.le_of_succ_le_succ {n m : Nat} (h : LE.le (Nat.succ n) (Nat.succ m)) : LE.le n m :=
  Nat.pred_le_pred h
theorem Nat.not_succ_le_zero (n : Nat) (h : LE.le (Nat.succ n) 0) : False :=
  have all : {m : Nat} → Nat.le (.succ n) m → (m.rec False fun _ _ => True : Prop) :=
    fun h => h.rec trivial fun _ _ => trivial
  all h

theorem Nat.le_of_ble_eq_true : {n m : Nat} → Eq (Nat.ble n m) true → LE.le n m
  | .zero, m, _ => Nat.zero_le m
  | .succ _, .zero, h => (Bool.false_ne_true h).elim
  | .succ _, .succ _, h => Nat.succ_le_succ (Nat.le_of_ble_eq_true h)
theorem Nat.ble_eq_true_of_le : {n m : Nat} → LE.le n m → Eq (Nat.ble n m) true
  | .zero, _, _ => rfl
  | .succ n, .zero, h => (Nat.not_succ_le_zero n h).elim
  | .succ n, .succ m, h => Nat.ble_eq_true_of_le (n := n) (m := m) (Nat.le_of_succ_le_succ h)

@[extern "lean_nat_dec_le"] instance Nat.decLe (n m : Nat) : Decidable (LE.le n m) :=
  match h : Nat.ble n m with
  | true => isTrue (Nat.le_of_ble_eq_true h)
  | false => isFalse fun le => Bool.false_ne_true (h.symm.trans (Nat.ble_eq_true_of_le le))
@[extern "lean_nat_dec_lt"] instance Nat.decLt (n m : Nat) : Decidable (LT.lt n m) := Nat.decLe (.succ n) m

/-- Numbers below `n`. -/
structure Fin (n : Nat) where
  mk ::
  val : Nat
  isLt : LT.lt val n

/-! ## Decidable connectives -/

instance instDecidableEqBool : DecidableEq Bool
  | false, false => isTrue rfl
  | true, true => isTrue rfl
  | false, true => isFalse Bool.false_ne_true
  | true, false => isFalse fun h => Bool.false_ne_true h.symm
instance instDecidableTrue : Decidable True := isTrue trivial
instance instDecidableFalse : Decidable False := isFalse id
instance instDecidableNot {p : Prop} [h : Decidable p] : Decidable (Not p) :=
  match h with
  | isTrue hp => isFalse fun np => np hp
  | isFalse np => isTrue np
instance instDecidableAnd {p q : Prop} [hp : Decidable p] [hq : Decidable q] : Decidable (And p q) :=
  match hp, hq with
  | isTrue hp, isTrue hq => isTrue ⟨hp, hq⟩
  | isFalse np, _ => isFalse fun h => np h.left
  | _, isFalse nq => isFalse fun h => nq h.right
instance instDecidableOr {p q : Prop} [hp : Decidable p] [hq : Decidable q] : Decidable (Or p q) :=
  match hp, hq with
  | isTrue hp, _ => isTrue (.inl hp)
  | _, isTrue hq => isTrue (.inr hq)
  | isFalse np, isFalse nq => isFalse fun h => h.elim np nq
instance {p q : Prop} [hp : Decidable p] [hq : Decidable q] : Decidable (p → q) :=
  match hp, hq with
  | _, isTrue hq => isTrue fun _ => hq
  | isFalse np, _ => isTrue fun hp => (np hp).elim
  | isTrue hp, isFalse nq => isFalse fun h => nq (h hp)
theorem of_decide_eq_true {p : Prop} [h : Decidable p] : Eq (decide p) true → p :=
  match h with
  | isTrue hp => fun _ => hp
  | isFalse _ => fun e => (Bool.false_ne_true e).elim
theorem of_decide_eq_false {p : Prop} [h : Decidable p] : Eq (decide p) false → Not p :=
  match h with
  | isTrue _ => fun e => (Bool.false_ne_true e.symm).elim
  | isFalse np => fun _ => np
theorem decide_eq_true {p : Prop} [h : Decidable p] (hp : p) : Eq (decide p) true :=
  match h with
  | isTrue _ => rfl
  | isFalse np => (np hp).elim

/-! ## Coercions: `↑a` is the first of these that is found -/

class Coe (α : semiOutParam (Sort u)) (β : Sort v) where coe : α → β
class CoeTC (α : Sort u) (β : Sort v) where coe : α → β
class CoeOut (α : Sort u) (β : semiOutParam (Sort v)) where coe : α → β
class CoeTail (α : semiOutParam (Sort u)) (β : Sort v) where coe : α → β
class CoeDep (α : Sort u) (_ : α) (β : Sort v) where coe : β
class CoeT (α : Sort u) (_ : α) (β : Sort v) where coe : β
class CoeFun (α : Sort u) (γ : outParam (α → Sort v)) where coe : (f : α) → γ f
class CoeSort (α : Sort u) (β : outParam (Sort v)) where coe : α → β
attribute [coe_decl]
  Coe.coe CoeTC.coe CoeOut.coe CoeTail.coe CoeDep.coe CoeT.coe CoeFun.coe CoeSort.coe
instance {α : Sort u} {β : Sort v} [Coe α β] : CoeTC α β := ⟨Coe.coe⟩
instance {α : Sort u} {β : Sort v} {γ : Sort w} [Coe β γ] [CoeTC α β] : CoeTC α γ :=
  ⟨fun a => Coe.coe (CoeTC.coe a : β)⟩
instance {α : Sort u} {β : Sort v} {a : α} [CoeTC α β] : CoeT α a β := ⟨CoeTC.coe a⟩
instance {α : Sort u} {β : Sort v} {a : α} [CoeOut α β] : CoeT α a β := ⟨CoeOut.coe a⟩
instance {α : Sort u} {β : Sort v} {a : α} [CoeTail α β] : CoeT α a β := ⟨CoeTail.coe a⟩
instance {α : Sort u} {β : Sort v} {a : α} [CoeDep α a β] : CoeT α a β := ⟨CoeDep.coe a⟩
instance decPropToBool (p : Prop) [Decidable p] : CoeDep Prop p Bool := ⟨decide p⟩
instance boolToProp : Coe Bool Prop := ⟨fun b => Eq b true⟩
instance boolToSort : CoeSort Bool Prop := ⟨fun b => Eq b true⟩

/-! ## Monads, as `do` notation and quotations use them -/

class Functor (f : Type u → Type v) : Type (max (u + 1) v) where
  map {α β : Type u} : (α → β) → f α → f β
class Pure (f : Type u → Type v) where
  pure {α : Type u} : α → f α
class Bind (m : Type u → Type v) where
  bind {α β : Type u} : m α → (α → m β) → m β
export Pure (pure)
export Bind (bind)
class Monad (m : Type u → Type v) extends Functor m, Pure m, Bind m where
  map f x := Bind.bind x fun a => Pure.pure (f a)
class MonadExceptOf (ε : semiOutParam (Type u)) (m : Type v → Type w) where
  throw {α : Type v} : ε → m α
  tryCatch {α : Type v} : m α → (ε → m α) → m α
class MonadExcept (ε : outParam (Type u)) (m : Type v → Type w) where
  throw {α : Type v} : ε → m α
  tryCatch {α : Type v} : m α → (ε → m α) → m α
export MonadExcept (throw)

inductive EStateM.Result (ε σ α : Type u) where
  | ok : α → σ → Result ε σ α
  | error : ε → σ → Result ε σ α
/-- A computation that reads `ρ`, changes `σ` and may throw `ε`. -/
def ReaderEStateM (ρ ε σ α : Type) : Type := ρ → σ → EStateM.Result ε σ α

@[noinline] def ReaderEStateM.bind {ρ ε σ α β : Type} (x : ReaderEStateM ρ ε σ α)
    (f : α → ReaderEStateM ρ ε σ β) : ReaderEStateM ρ ε σ β := fun r s =>
  match x r s with
  | .ok a s => f a r s
  | .error e s => .error e s
instance {ρ ε σ : Type} : Monad (ReaderEStateM ρ ε σ) where
  pure a := fun _ s => .ok a s
  bind := ReaderEStateM.bind
instance {ρ ε σ : Type} : MonadExcept ε (ReaderEStateM ρ ε σ) where
  throw e := fun _ s => .error e s
  tryCatch x f := fun r s =>
    match x r s with
    | .error e s => f e r s
    | ok => ok

@[inline] unsafe def unsafeCast {α : Sort u} {β : Sort v} (a : α) : β :=
  PULift.down.{u, v} (cast lcProof (PULift.up.{v, u} a))
