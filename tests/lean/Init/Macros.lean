prelude
import Init.Classes

/-!
The types that Lean's macros are made of: strings, names, syntax trees and the macro monad.

The layout of each type has to be the one that the compiled Lean uses, for values travel between the
two. Functions marked `extern` are the compiled ones: the interpreter finds them by the names that
they have here, whatever the mark says.
-/

universe u v w

/-! ## Machine words, characters, strings, arrays -/

structure BitVec (w : Nat) where
  ofFin ::
  toFin : Fin (HPow.hPow 2 w)
structure UInt8 where
  ofBitVec ::
  toBitVec : BitVec 8
structure UInt32 where
  ofBitVec ::
  toBitVec : BitVec 32
structure UInt64 where
  ofBitVec ::
  toBitVec : BitVec 64
structure Char where
  val : UInt32

structure Array (α : Type u) where
  toList : List α
structure ByteArray where
  data : Array UInt8
structure String where
  ofByteArray ::
  toByteArray : ByteArray
structure String.Pos.Raw where
  byteIdx : Nat
structure Substring.Raw where
  str : String
  startPos : String.Pos.Raw
  stopPos : String.Pos.Raw

instance : Inhabited String := ⟨""⟩
instance : Inhabited UInt8 := ⟨⟨⟨⟨0, Nat.le_of_ble_eq_true rfl⟩⟩⟩⟩
instance : Inhabited UInt64 := ⟨⟨⟨⟨0, Nat.le_of_ble_eq_true rfl⟩⟩⟩⟩
instance : Inhabited Substring.Raw := ⟨"", ⟨0⟩, ⟨0⟩⟩
instance {α : Type u} : Inhabited (Array α) := ⟨⟨.nil⟩⟩

@[extern "lean_uint8_of_nat"] opaque UInt8.ofNat (n : Nat) : UInt8
@[extern "lean_uint64_of_nat"] opaque UInt64.ofNat (n : Nat) : UInt64
@[extern "lean_uint64_mix_hash"] opaque mixHash (a b : UInt64) : UInt64
@[extern "lean_string_hash"] protected opaque String.hash (s : String) : UInt64
@[extern "lean_mk_empty_array_with_capacity"]
def Array.mkEmpty {α : Type u} (_ : Nat) : Array α := ⟨.nil⟩
def Array.empty {α : Type u} : Array α := .mkEmpty 0
@[extern "native"] opaque Array.push {α : Type u} (a : Array α) (v : α) : Array α
@[extern "native"] opaque Array.append {α : Type u} (a b : Array α) : Array α
@[extern "native"] opaque Array.size {α : Type u} (a : Array α) : Nat
@[extern "native"] opaque Array.extract {α : Type u} (a : Array α) (start : Nat := 0)
  (stop : Nat := a.size) : Array α
@[extern "native"] opaque Array.mkArray0 {α : Type u} : Array α
@[extern "native"] opaque Array.mkArray1 {α : Type u} (a : α) : Array α
@[extern "native"] opaque Array.mkArray2 {α : Type u} (a b : α) : Array α
@[extern "native"] opaque Array.mkArray3 {α : Type u} (a b c : α) : Array α
@[extern "native"] opaque String.toRawSubstring' (s : String) : Substring.Raw

/-! ## Names -/

namespace Lean

inductive Name where
  | anonymous : Name
  | str (pre : Name) (str : String)
  | num (pre : Name) (i : Nat)
with
  @[computed_field] hash : Name → UInt64
    | .anonymous => .ofNat 1723
    | .str p s => mixHash p.hash s.hash
    | .num p i => mixHash p.hash (ite (LT.lt i 18446744073709551616) (.ofNat i) (.ofNat 17))

instance : Inhabited Name := ⟨.anonymous⟩

abbrev Name.mkStr (p : Name) (s : String) : Name := .str p s
abbrev Name.mkNum (p : Name) (i : Nat) : Name := .num p i
abbrev Name.mkSimple (s : String) : Name := .str .anonymous s
@[extern "native", reducible] def Name.mkStr1 (a : String) : Name := .str .anonymous a
@[extern "native", reducible] def Name.mkStr2 (a b : String) : Name := .str (.mkStr1 a) b
@[extern "native", reducible] def Name.mkStr3 (a b c : String) : Name := .str (.mkStr2 a b) c
@[extern "native", reducible] def Name.mkStr4 (a b c d : String) : Name := .str (.mkStr3 a b c) d
@[extern "native", reducible] def Name.mkStr5 (a b c d e : String) : Name := .str (.mkStr4 a b c d) e

/-! ## Syntax trees -/

inductive SourceInfo where
  | original (leading : Substring.Raw) (pos : String.Pos.Raw) (trailing : Substring.Raw)
    (endPos : String.Pos.Raw)
  | synthetic (pos endPos : String.Pos.Raw) (canonical : Bool)
  | none

abbrev SyntaxNodeKind := Name
abbrev SyntaxNodeKinds := List SyntaxNodeKind

inductive Syntax.Preresolved where
  | namespace (ns : Name)
  | decl (n : Name) (fields : List String)

inductive Syntax where
  | missing : Syntax
  | node (info : SourceInfo) (kind : SyntaxNodeKind) (args : Array Syntax) : Syntax
  | atom (info : SourceInfo) (val : String) : Syntax
  | ident (info : SourceInfo) (rawVal : Substring.Raw) (val : Name)
    (preresolved : List Syntax.Preresolved) : Syntax

structure TSyntax (ks : SyntaxNodeKinds) where
  raw : Syntax
structure Syntax.TSepArray (ks : SyntaxNodeKinds) (sep : String) where
  elemsAndSeps : Array Syntax
def TSyntaxArray (ks : SyntaxNodeKinds) : Type := Array (TSyntax ks)

instance : Inhabited SourceInfo := ⟨.none⟩
instance : Inhabited Syntax := ⟨.missing⟩
instance {ks : SyntaxNodeKinds} : Inhabited (TSyntax ks) := ⟨⟨.missing⟩⟩
instance {ks : SyntaxNodeKinds} : Inhabited (TSyntaxArray ks) := ⟨(default : Array (TSyntax ks))⟩

instance : CoeOut SyntaxNodeKind SyntaxNodeKinds := ⟨fun k => .cons k .nil⟩
instance {ks : SyntaxNodeKinds} : CoeOut (TSyntax ks) Syntax := ⟨TSyntax.raw⟩

abbrev choiceKind : SyntaxNodeKind := `choice
abbrev nullKind : SyntaxNodeKind := `null
abbrev identKind : SyntaxNodeKind := `ident
abbrev strLitKind : SyntaxNodeKind := `str
abbrev charLitKind : SyntaxNodeKind := `char
abbrev numLitKind : SyntaxNodeKind := `num
abbrev scientificLitKind : SyntaxNodeKind := `scientific
abbrev nameLitKind : SyntaxNodeKind := `name
abbrev fieldIdxKind : SyntaxNodeKind := `fieldIdx
abbrev hygieneInfoKind : SyntaxNodeKind := `hygieneInfo
abbrev interpolatedStrKind : SyntaxNodeKind := `interpolatedStrKind

abbrev Term := TSyntax `term
abbrev Command := TSyntax `command
abbrev Ident := TSyntax identKind
abbrev NumLit := TSyntax numLitKind
abbrev StrLit := TSyntax strLitKind

namespace Syntax

@[extern "native"] opaque getKind (stx : Syntax) : SyntaxNodeKind
@[extern "native"] opaque getArg (stx : Syntax) (i : Nat) : Syntax
@[extern "native"] opaque getArgs (stx : Syntax) : Array Syntax
@[extern "native"] opaque getNumArgs (stx : Syntax) : Nat
@[extern "native"] opaque isOfKind (stx : Syntax) (k : SyntaxNodeKind) : Bool
@[extern "native"] opaque isNone (stx : Syntax) : Bool
@[extern "native"] opaque getOptional? (stx : Syntax) : Option Syntax
@[extern "native"] opaque getId (stx : Syntax) : Name
@[extern "native"] opaque matchesNull (stx : Syntax) (n : Nat) : Bool
@[extern "native"] opaque matchesIdent (stx : Syntax) (id : Name) : Bool
@[extern "native"] opaque matchesLit (stx : Syntax) (k : SyntaxNodeKind) (val : String) : Bool

@[extern "native"] opaque node1 (i : SourceInfo) (k : SyntaxNodeKind) (a : Syntax) : Syntax
@[extern "native"] opaque node2 (i : SourceInfo) (k : SyntaxNodeKind) (a b : Syntax) : Syntax
@[extern "native"] opaque node3 (i : SourceInfo) (k : SyntaxNodeKind) (a b c : Syntax) : Syntax
@[extern "native"] opaque node4 (i : SourceInfo) (k : SyntaxNodeKind) (a b c d : Syntax) : Syntax
@[extern "native"] opaque node5 (i : SourceInfo) (k : SyntaxNodeKind) (a b c d e : Syntax) : Syntax
@[extern "native"] opaque node6 (i : SourceInfo) (k : SyntaxNodeKind) (a b c d e f : Syntax) : Syntax
@[extern "native"] opaque node7 (i : SourceInfo) (k : SyntaxNodeKind) (a b c d e f g : Syntax) :
  Syntax
@[extern "native"] opaque node8 (i : SourceInfo) (k : SyntaxNodeKind) (a b c d e f g h : Syntax) :
  Syntax

end Syntax

def mkNullNode (args : Array Syntax) : Syntax := .node .none nullKind args

unsafe def TSyntaxArray.mkImpl {ks : SyntaxNodeKinds} (as : Array Syntax) : TSyntaxArray ks :=
  unsafeCast as
@[implemented_by mkImpl]
opaque TSyntaxArray.mk {ks : SyntaxNodeKinds} (as : Array Syntax) : TSyntaxArray ks
unsafe def TSyntaxArray.rawImpl {ks : SyntaxNodeKinds} (as : TSyntaxArray ks) : Array Syntax :=
  unsafeCast as
@[implemented_by rawImpl]
opaque TSyntaxArray.raw {ks : SyntaxNodeKinds} (as : TSyntaxArray ks) : Array Syntax

/-! ## Parser descriptions: what `syntax` commands become -/

inductive ParserDescr where
  | const (name : Name)
  | unary (name : Name) (p : ParserDescr)
  | binary (name : Name) (p₁ p₂ : ParserDescr)
  | node (kind : SyntaxNodeKind) (prec : Nat) (p : ParserDescr)
  | trailingNode (kind : SyntaxNodeKind) (prec lhsPrec : Nat) (p : ParserDescr)
  | symbol (val : String)
  | nonReservedSymbol (val : String) (includeIdent : Bool)
  | cat (catName : Name) (rbp : Nat)
  | parser (declName : Name)
  | nodeWithAntiquot (name : String) (kind : SyntaxNodeKind) (p : ParserDescr)
  | sepBy (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool)
  | sepBy1 (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool)
  | unicodeSymbol (val asciiVal : String) (preserveForPP : Bool)
abbrev TrailingParserDescr := ParserDescr
instance : Inhabited ParserDescr := ⟨.symbol ""⟩

/-- What `declare_syntax_cat` declares a constant of. -/
structure Parser.Category

/-! ## The macro monad -/

abbrev MacroScope := Nat

class MonadRef (m : Type → Type) where
  getRef : m Syntax
  withRef {α : Type} : Syntax → m α → m α
export MonadRef (getRef)

class MonadQuotation (m : Type → Type) extends MonadRef m where
  getCurrMacroScope : m MacroScope
  getContext : m Name
  withFreshMacroScope {α : Type} : m α → m α
export MonadQuotation (getCurrMacroScope withFreshMacroScope)

@[extern "native"] opaque SourceInfo.fromRef (ref : Syntax) (canonical : Bool) : SourceInfo
@[extern "native"] opaque replaceRef (ref oldRef : Syntax) : Syntax
@[extern "native"] opaque addMacroScope (ctx : Name) (n : Name) (scp : MacroScope) : Name
-- These two are specialized to our monads. Called as they are, they would be the compiled ones, which
-- know another layout of `Monad`.
@[specialize] def MonadRef.mkInfoFromRefPos {m : Type → Type} [Monad m] [MonadRef m] : m SourceInfo :=
  bind getRef fun ref => pure (SourceInfo.fromRef ref false)
@[specialize] def withRef {m : Type → Type} [Monad m] [MonadRef m] {α : Type} (ref : Syntax) (x : m α) : m α :=
  bind getRef fun old => MonadRef.withRef (replaceRef ref old) x

namespace Macro

structure Context where
  methods : PUnit  -- of Lean's own, only passed on
  quotContext : Name
  currMacroScope : MacroScope
  currRecDepth : Nat
  maxRecDepth : Nat
  ref : Syntax
inductive Exception where
  | error (ref : Syntax) (msg : String) : Exception
  | unsupportedSyntax : Exception
structure State where
  macroScope : MacroScope
  expandedMacroDecls : List Name
  traceMsgs : List (Prod Name String)

end Macro

abbrev MacroM := ReaderEStateM Macro.Context Macro.Exception Macro.State
abbrev Macro := Syntax → MacroM Syntax

instance : MonadQuotation MacroM where
  getRef := fun r s => .ok r.ref s
  withRef ref x := fun r s => x { r with ref := ref } s
  getCurrMacroScope := fun r s => .ok r.currMacroScope s
  getContext := fun r s => .ok r.quotContext s
  withFreshMacroScope x := fun r s =>
    x { r with currMacroScope := s.macroScope }
      { s with macroScope := HAdd.hAdd s.macroScope (1 : Nat) }

namespace PrettyPrinter

abbrev UnexpandM := ReaderEStateM Syntax Unit Unit
abbrev Unexpander := Syntax → UnexpandM Syntax

instance : MonadQuotation UnexpandM where
  getRef := fun ref s => .ok ref s
  withRef ref x := fun _ s => x ref s
  getCurrMacroScope := fun _ s => .ok 0 s
  getContext := fun _ s => .ok `unexpander s
  withFreshMacroScope x := x

end PrettyPrinter
