prelude
import Init.Macros

/-!
The notation of terms and commands that is declared in Lean itself and not built into its parser.

A name in `(name := ...)` and the shape of such a syntax are fixed: the compiled elaborator takes
the tree apart by position.
-/

universe u v w

/-! ## Precedences and priorities -/

macro "max" : prec => `(prec| 1024)
macro "arg" : prec => `(prec| 1023)
macro "lead" : prec => `(prec| 1022)
macro "min" : prec => `(prec| 10)
macro "default" : prio => `(prio| 1000)
macro "low" : prio => `(prio| 100)
macro "mid" : prio => `(prio| 500)
macro "high" : prio => `(prio| 10000)

/-! ## Shorthands inside `syntax` -/

macro:arg x:stx:max "*" : stx => `(stx| many($x))
macro:arg x:stx:max "+" : stx => `(stx| many1($x))
macro:arg x:stx:max "?" : stx => `(stx| optional($x))
macro:2 p:stx " <|> " q:stx:1 : stx => `(stx| orelse($p, $q))
macro:arg x:stx:max ",*" : stx => `(stx| sepBy($x, ",", ", "))
macro:arg x:stx:max ",+" : stx => `(stx| sepBy1($x, ",", ", "))
macro:arg x:stx:max ",*,?" : stx => `(stx| sepBy($x, ",", ", ", allowTrailingSep))

/-! ## Operators -/

@[reducible] def Ne {α : Sort u} (a b : α) : Prop := Not (Eq a b)
@[inline] def bne {α : Type u} [BEq α] (a b : α) : Bool := not (beq a b)
class Membership (α : outParam (Type u)) (γ : Type v) where mem : γ → α → Prop
class Dvd (α : Type u) where dvd : α → α → Prop

notation:max "¬" p:40 => Not p
infixr:35 unicode(" ∧ ", " /\\ ") => And
infixr:30 unicode(" ∨ ", " \\/ ") => Or
infix:20 unicode(" ↔ ", " <-> ") => Iff
infixr:90 " ∘ " => Function.comp
infixr:35 " × " => Prod
infixr:67 " :: " => List.cons
infixl:65 " + " => HAdd.hAdd
infixl:65 " - " => HSub.hSub
infixl:70 " * " => HMul.hMul
infixl:70 " / " => HDiv.hDiv
infixl:70 " % " => HMod.hMod
infixr:75 " ^ " => HPow.hPow
infixl:65 " ++ " => HAppend.hAppend
infix:50 " ∣ " => Dvd.dvd
infix:50 " <= " => LE.le
infix:50 " ≤ " => LE.le
infix:50 " < " => LT.lt
infix:50 " >= " => GE.ge
infix:50 " ≥ " => GE.ge
infix:50 " > " => GT.gt
infix:50 " = " => Eq
infix:50 " ≠ " => Ne
infix:50 " ≍ " => HEq
infix:50 " == " => BEq.beq
infix:50 " != " => bne
infixl:35 " && " => and
infixl:30 " || " => or
notation:max "!" b:40 => not b
prefix:75 "-" => Neg.neg
notation:50 a:50 " ∈ " b:50 => Membership.mem b a

-- `binop%` and its kin insert coercions in a whole tree of operators at once.
macro_rules | `($x + $y) => `(binop% HAdd.hAdd $x $y)
macro_rules | `($x - $y) => `(binop% HSub.hSub $x $y)
macro_rules | `($x * $y) => `(binop% HMul.hMul $x $y)
macro_rules | `($x / $y) => `(binop% HDiv.hDiv $x $y)
macro_rules | `($x % $y) => `(binop% HMod.hMod $x $y)
macro_rules | `($x ^ $y) => `(rightact% HPow.hPow $x $y)
macro_rules | `($x ++ $y) => `(binop% HAppend.hAppend $x $y)
macro_rules | `(-$x) => `(unop% Neg.neg $x)
-- The compiled syntax of `≤` reads `<=` as well, so which of the two is meant has to be said.
macro_rules (kind := «term_<=_») | `($x <= $y) => `(binrel% LE.le $x $y)
macro_rules (kind := «term_>=_») | `($x >= $y) => `(binrel% GE.ge $x $y)
macro_rules | `($x ≤ $y) => `(binrel% LE.le $x $y)
macro_rules | `($x < $y) => `(binrel% LT.lt $x $y)
macro_rules | `($x ≥ $y) => `(binrel% GE.ge $x $y)
macro_rules | `($x > $y) => `(binrel% GT.gt $x $y)
macro_rules | `($x = $y) => `(binrel% Eq $x $y)
macro_rules | `($x ≠ $y) => `(binrel% Ne $x $y)
macro_rules | `($x == $y) => `(binrel_no_prop% BEq.beq $x $y)
macro_rules | `($x != $y) => `(binrel_no_prop% bne $x $y)

/-! ## Terms -/

syntax (name := rawNatLit) "nat_lit " num : term
syntax Lean.binderIdent := ident <|> hole

syntax:lead (name := termIfThenElse) "if " term " then " term " else " term : term
syntax:lead (name := termDepIfThenElse) "if " ident " : " term " then " term " else " term : term

macro_rules | `(if $c then $t else $e) => `(ite $c $t $e)
macro_rules | `(if $h:ident : $c then $t else $e) => `(dite $c (fun $h:ident => $t) (fun $h:ident => $e))

syntax "[" term,* "]" : term
macro_rules
  | `([]) => `(List.nil)
  | `([$x]) => `(List.cons $x List.nil)
  | `([$x, $xs,*]) => `(List.cons $x [$xs,*])

syntax:lead "∃ " ident ident* (" : " term)? ", " term : term
syntax:lead "∃ " "(" ident " : " term ")" ", " term : term
macro_rules
  | `(∃ $x:ident, $p) => `(Exists fun $x:ident => $p)
  | `(∃ $x:ident : $t, $p) => `(Exists fun $x:ident : $t => $p)
  | `(∃ $x:ident $y:ident $ys:ident*, $p) => `(∃ $x:ident, ∃ $y:ident $ys:ident*, $p)
  | `(∃ $x:ident $y:ident $ys:ident* : $t, $p) => `(∃ $x:ident : $t, ∃ $y:ident $ys:ident* : $t, $p)
macro_rules | `(∃ ($x:ident : $t), $p) => `(Exists fun $x:ident : $t => $p)
@[app_unexpander Exists] def showExists : Lean.PrettyPrinter.Unexpander
  | `($_ fun $x:ident => $p) => `(∃ $x:ident, $p)
  | `($_ fun ($x:ident : $t) => $p) => `(∃ ($x:ident : $t), $p)
  | _ => throw Unit.unit

infixr:min " <| " => fun f x => f x
macro_rules | `($f <| $x) => `($f $x)
infixl:min " |> " => fun x f => f x
macro_rules | `($x |> $f) => `($f $x)

namespace Lean

syntax calcFirstStep := colGe term (" := " term)?
syntax calcStep := colGe term " := " term
syntax calcSteps := withPosition(calcFirstStep) withPosition(calcStep*)
syntax (name := calc) "calc" calcSteps : term
syntax (name := calcTactic) "calc" calcSteps : tactic

/-! ## Commands -/

syntax guardMsgsFilterAction := &"check" <|> &"drop" <|> &"pass"
syntax guardMsgsFilterSeverity := &"trace" <|> &"info" <|> &"warning" <|> &"error" <|> &"all"
syntax guardMsgsFilter := atomic(guardMsgsFilterAction)? guardMsgsFilterSeverity
syntax guardMsgsSpecElt := guardMsgsFilter
syntax guardMsgsSpec := "(" guardMsgsSpecElt,* ")"
syntax (name := guardMsgsCmd)
  (plainDocComment)? "#guard_msgs" (guardMsgsSpec)? " in" command : command

end Lean

class Trans.{u₁, u₂, u₃, u₄, u₅, u₆} {α : Sort u₄} {β : Sort u₅} {γ : Sort u₆}
    (r : α → β → Sort u₁) (s : β → γ → Sort u₂) (t : outParam (α → γ → Sort u₃)) where
  trans {a : α} {b : β} {c : γ} : r a b → s b c → t a c
instance {α : Sort u} {γ : Sort v} {r : α → γ → Sort w} : Trans Eq r r := ⟨fun h h' => h.symm.rec h'⟩
instance {α : Sort u} {β : Sort v} {r : α → β → Sort w} : Trans r Eq r := ⟨fun h h' => h'.rec h⟩
instance : Trans (LE.le (α := Nat)) (LE.le (α := Nat)) (LE.le (α := Nat)) := ⟨Nat.le_trans⟩
instance : Trans Iff Iff Iff := ⟨Iff.trans⟩
