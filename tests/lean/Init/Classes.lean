prelude
import Init.Base

/-!
Classes: inhabited types, literals, operators, decidable propositions, coercions, monads.
-/

universe u v w

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
abbrev DecidableRel {α : Sort u} {β : Sort v} (r : α → β → Prop) :=
  (a : α) → (b : β) → Decidable (r a b)

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
attribute [match_pattern] Add.add HAdd.hAdd Neg.neg
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
@[extern "lean_nat_dec_lt"] instance Nat.decLt (n m : Nat) : Decidable (LT.lt n m) :=
  Nat.decLe (.succ n) m

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
class MonadExcept (ε : outParam (Type u)) (m : Type v → Type w) where
  throw {α : Type v} : ε → m α
  tryCatch {α : Type v} : m α → (ε → m α) → m α
export MonadExcept (throw)

inductive EStateM.Result (ε σ α : Type u) where
  | ok : α → σ → Result ε σ α
  | error : ε → σ → Result ε σ α
/-- A computation that reads `ρ`, changes `σ` and may throw `ε`: what macros run in. -/
def ReaderEStateM (ρ ε σ α : Type) : Type := ρ → σ → EStateM.Result ε σ α

-- Every quotation is a chain of these: inlined, they would double the time it takes to compile.
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
