prelude
import Init.Values

/-!
Input and output, as far as a hostile `#eval` needs it: printing, and ending the process.
-/

universe u

abbrev NonemptyType : Type 1 := Subtype fun α : Type => Nonempty α
instance : Inhabited NonemptyType := ⟨Unit, ⟨Unit.unit⟩⟩
opaque Void.nonemptyType (σ : Type) : NonemptyType
/-- A value that exists for the type checker only, the order of effects: no code is made for it. -/
def Void (σ : Type) : Type := (Void.nonemptyType σ).val
inductive EST.Out (ε σ α : Type) where
  | ok (a : α) (s : Void σ)
  | error (e : ε) (s : Void σ)
def EST (ε σ α : Type) : Type := Void σ → EST.Out ε σ α

namespace IO

def RealWorld : Type := Unit
inductive Error where
  | userError (said : String)
instance : Inhabited Error := ⟨.userError ""⟩

end IO

def EIO (ε α : Type) : Type := EST ε IO.RealWorld α
def IO (α : Type) : Type := EIO IO.Error α
instance {α : Type} : Inhabited (IO α) := ⟨fun s => .error default s⟩
instance : Monad IO where
  pure a := fun s => .ok a s
  bind x f := fun s =>
    match x s with
    | .ok a s => f a s
    | .error e s => .error e s

/-! ## What `#eval` looks for -/

class MonadEval (m : semiOutParam (Type u → Type)) (n : Type u → Type) where
  monadEval {α : Type u} : m α → n α
class MonadEvalT (m : Type u → Type) (n : Type u → Type) where
  monadEval {α : Type u} : m α → n α
instance {m : Type u → Type} : MonadEvalT m m := ⟨id⟩

/-! ## Actions -/

class ToString (α : Type u) where
  toString : α → String
instance : ToString String := ⟨id⟩

namespace IO

@[extern "native"] opaque println {α : Type u} [ToString α] (a : α) : IO Unit
instance {n : Nat} : OfNat UInt8 n := ⟨.ofNat n⟩
@[extern "native"] opaque Process.exit {α : Type} (code : UInt8) : IO α

end IO
