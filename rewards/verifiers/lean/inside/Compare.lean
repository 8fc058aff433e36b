/-
Whether a compiled submission proves the statement of a compiled target, and from which axioms: the
same comparison as compare.py, on all of Mathlib, with the toolchain that compiled both files.

    lake env lean --run Compare.lean NONCE REQUEST

REQUEST is JSON: {"target": FILE, "submission": FILE, "name": NAME, "allowed_axioms": [NAME, ...]},
each NAME an array of its components, strings and numbers. One line goes to stdout: the nonce, a
space, and the fields of a `Comparison` as JSON, or {"target_error": ...} where the target, and so
our own side, is at fault. A crash on a hostile file gives no line, and no line is no acceptance.

Written for Lean 4.22 to 4.35, and never run by this project's own tests: those have no compiled
`Lean` library to import. They only see that the file parses.

Nothing of the two files is run: their data is read, and only the target's imports are imported,
without their extensions. Hashes and flags cached in names and expressions may lie in a hostile
file. Equality of names looks at the hashes first, so a lie can only make equal names differ, and
everywhere below what differs is refused; of expressions this file has its own equality.
Run it in a sandbox all the same: Lean maps the files into memory and believes their pointers.
-/
import Lean

open Lean

namespace Compare

/-- Why a submission is not accepted. -/
structure Rejection where
  code : String
  reason : String

abbrev CheckM := ExceptT Rejection IO

def reject {α : Type} (code reason : String) : CheckM α :=
  throw (Rejection.mk code reason)

/-! ## Equality, up to the names of universe parameters by position -/

def position (names : List Name) (name : Name) : Option Nat :=
  go 0 names
where
  go (i : Nat) : List Name → Option Nat
    | [] => none
    | head :: tail => if head == name then some i else go (i + 1) tail

def sameLevel (ps qs : List Name) : Level → Level → Bool
  | .zero, .zero => true
  | .succ u, .succ v => sameLevel ps qs u v
  | .max u u', .max v v' => sameLevel ps qs u v && sameLevel ps qs u' v'
  | .imax u u', .imax v v' => sameLevel ps qs u v && sameLevel ps qs u' v'
  | .param p, .param q => (position ps p).isSome && position ps p == position qs q
  | _, _ => false

def sameLevels (ps qs : List Name) : List Level → List Level → Bool
  | [], [] => true
  | u :: us, v :: vs => sameLevel ps qs u v && sameLevels ps qs us vs
  | _, _ => false

def bare : Expr → Expr
  | .mdata _ e => bare e
  | e => e

/-- What a name means to one side, where it is a constant of its own module. -/
abbrev Own := Std.HashMap Name ConstantInfo

/-- Whether a name is one of those that Lean gives to what it makes of `match`. -/
def isMatcherName : Name → Bool
  | .str _ s => s.startsWith "match_" || s.startsWith "_sparseCasesOn_"
  | _ => false

/-- A matcher, by its name and as a safe definition. Lean reuses the matcher of any earlier
declaration, so matchers are compared, and followed, by what they are and not by their names. -/
def matcher? (own : Own) (name : Name) : Option DefinitionVal :=
  if isMatcherName name then
    match own[name]? with
    | some (.defnInfo v) => if v.safety == .safe then some v else none
    | _ => none
  else none

/-- Two expressions to compare, each with the universe parameters of where it stands. -/
structure Pair where
  ps : List Name
  qs : List Name
  left : Expr
  right : Expr
  deriving Inhabited

/-- The first place where two expressions differ, if they do. Without recursion, for depth, and each
pair of objects once a place, for sharing. Names of bound variables, kinds of brackets and metadata do not
count; variables of the elaborator equal nothing. -/
unsafe def difference (ours theirs : Own) (ps qs : List Name) (a b : Expr) :
    Option (Expr × Expr) := Id.run do
  let mut waiting : Array Pair := #[Pair.mk ps qs a b]
  let mut seen : Std.HashSet ((USize × USize) × USize × USize) := {}
  while !waiting.isEmpty do
    let pair := waiting.back!
    waiting := waiting.pop
    let x := bare pair.left
    let y := bare pair.right
    let place := (ptrAddrUnsafe pair.ps, ptrAddrUnsafe pair.qs)
    let key := (place, ptrAddrUnsafe x, ptrAddrUnsafe y)
    if seen.contains key then
      continue
    seen := seen.insert key
    let ps := pair.ps
    let qs := pair.qs
    match x, y with
    | .bvar i, .bvar j =>
      if i != j then return some (x, y)
    | .sort u, .sort v =>
      if !sameLevel ps qs u v then return some (x, y)
    | .const c us, .const d vs =>
      if !sameLevels ps qs us vs then return some (x, y)
      match matcher? ours c, matcher? theirs d with
      | some v, some w =>
        if v.levelParams.length != w.levelParams.length then return some (x, y)
        waiting := waiting.push (Pair.mk v.levelParams w.levelParams v.value w.value)
        waiting := waiting.push (Pair.mk v.levelParams w.levelParams v.type w.type)
      | none, none =>
        if c != d then return some (x, y)
      | _, _ => return some (x, y)
    | .lit l, .lit m =>
      if l != m then return some (x, y)
    | .app f e, .app g h =>
      waiting := (waiting.push (Pair.mk ps qs e h)).push (Pair.mk ps qs f g)
    | .lam _ s e _, .lam _ t h _ =>
      waiting := (waiting.push (Pair.mk ps qs e h)).push (Pair.mk ps qs s t)
    | .forallE _ s e _, .forallE _ t h _ =>
      waiting := (waiting.push (Pair.mk ps qs e h)).push (Pair.mk ps qs s t)
    | .letE _ s v e _, .letE _ t w h _ =>
      waiting := (waiting.push (Pair.mk ps qs e h)).push (Pair.mk ps qs v w)
      waiting := waiting.push (Pair.mk ps qs s t)
    | .proj c i e, .proj d j h =>
      if c != d || i != j then return some (x, y)
      waiting := waiting.push (Pair.mk ps qs e h)
    | _, _ => return some (x, y)
  return none

unsafe def sameRules (same : Expr → Expr → Bool) : List RecursorRule → List RecursorRule → Bool
  | [], [] => true
  | r :: rs, s :: ss =>
    r.ctor == s.ctor && r.nfields == s.nfields && same r.rhs s.rhs && sameRules same rs ss
  | _, _ => false

def quotNumber : QuotKind → Nat
  | .type => 0
  | .ctor => 1
  | .lift => 2
  | .ind => 3

/-- Whether two constants are the same. Of theorems the proofs do not count. -/
unsafe def sameConstant (ours theirs : Own) (a b : ConstantInfo) : Bool :=
  let ps := a.levelParams
  let qs := b.levelParams
  let same (x y : Expr) := (difference ours theirs ps qs x y).isNone
  a.name == b.name && ps.length == qs.length && same a.type b.type && match a, b with
  | .thmInfo _, .thmInfo _ => true
  | .axiomInfo v, .axiomInfo w => v.isUnsafe == w.isUnsafe
  | .defnInfo v, .defnInfo w => same v.value w.value && v.safety == w.safety
  | .opaqueInfo v, .opaqueInfo w => same v.value w.value && v.isUnsafe == w.isUnsafe
  | .quotInfo v, .quotInfo w => quotNumber v.kind == quotNumber w.kind
  | .inductInfo v, .inductInfo w =>
    v.numParams == w.numParams && v.numIndices == w.numIndices && v.all == w.all
      && v.ctors == w.ctors && v.numNested == w.numNested && v.isRec == w.isRec
      && v.isUnsafe == w.isUnsafe && v.isReflexive == w.isReflexive
  | .ctorInfo v, .ctorInfo w =>
    v.induct == w.induct && v.cidx == w.cidx && v.numParams == w.numParams
      && v.numFields == w.numFields && v.isUnsafe == w.isUnsafe
  | .recInfo v, .recInfo w =>
    v.all == w.all && v.numParams == w.numParams && v.numIndices == w.numIndices
      && v.numMotives == w.numMotives && v.numMinors == w.numMinors && v.k == w.k
      && v.isUnsafe == w.isUnsafe && sameRules same v.rules w.rules
  | _, _ => false

/-! ## What constants lead to -/

/-- The expressions of a constant, and the constants that it names apart from them. -/
def content (withProof : Bool) (c : ConstantInfo) : List Expr × List Name :=
  match c with
  | .thmInfo v => (if withProof then [v.type, v.value] else [v.type], [])
  | .defnInfo v => ([v.type, v.value], [])
  | .opaqueInfo v => ([v.type, v.value], [])
  | .inductInfo v => ([v.type], v.all ++ v.ctors)
  | .ctorInfo v => ([v.type], [v.induct])
  | .recInfo v => (v.type :: v.rules.map (·.rhs), v.all ++ v.rules.map (·.ctor))
  | .axiomInfo v => ([v.type], [])
  | .quotInfo v => ([v.type], [])

/-- The constants that start leads to, each once. -/
unsafe def reach (start : Array Name) (next : Name → CheckM (List Expr × List Name)) :
    CheckM (Array Name) := do
  let mut found : Array Name := #[]
  let mut known : Std.HashSet Name := {}
  let mut seen : Std.HashSet USize := {}
  let mut names := start
  while !names.isEmpty do
    let name := names.back!
    names := names.pop
    if known.contains name then
      continue
    known := known.insert name
    found := found.push name
    let (expressions, others) ← next name
    names := names ++ others.toArray
    let mut waiting := expressions.toArray
    while !waiting.isEmpty do
      let e := bare waiting.back!
      waiting := waiting.pop
      if seen.contains (ptrAddrUnsafe e) then
        continue
      seen := seen.insert (ptrAddrUnsafe e)
      match e with
      | .const c _ => names := names.push c
      | .app f a => waiting := (waiting.push f).push a
      | .lam _ t b _ => waiting := (waiting.push t).push b
      | .forallE _ t b _ => waiting := (waiting.push t).push b
      | .letE _ t v b _ => waiting := ((waiting.push t).push v).push b
      | .proj c _ s =>
        names := names.push c
        waiting := waiting.push s
      | .fvar _ => reject "olean" s!"{name} has a variable of the elaborator"
      | .mvar _ => reject "olean" s!"{name} has a variable of the elaborator"
      | _ => pure ()
  return found

/-! ## The files -/

structure Module where
  data : ModuleData
  header : List UInt8
  constants : Own

/-- The bytes of a header that tell which Lean wrote the file; the base address comes after them. -/
def identityBytes : Nat := 80

/-- Reads a file, or says what is odd about it. -/
def load (path : String) : ExceptT String IO Module := do
  let bytes ← IO.FS.readBinFile path
  let (data, _) ← (readModuleData path : IO _)
  if data.isModule then
    throw "it uses the module system, whose parts are not read here"
  if data.constNames.size != data.constants.size then
    throw "it has not as many names as constants"
  let mut constants : Own := {}
  for (name, constant) in data.constNames.zip data.constants do
    if constant.name != name then
      throw "the name of a constant is not the name it is listed under"
    if constants.contains name then
      throw "it declares two constants of one name"
    constants := constants.insert name constant
  return { data, header := (bytes.extract 0 identityBytes).toList, constants }

/-- The same, with what the system says of the file made part of the answer. -/
def tryLoad (path : String) : IO (Except String Module) := do
  try
    (load path).run
  catch error =>
    return .error (toString error)

def loadTarget (path : String) : IO Module := do
  match ← tryLoad path with
  | .ok loaded => return loaded
  | .error said => throw <| IO.userError s!"the target cannot be read: {said}"

def loadSubmission (path : String) : CheckM Module := do
  match ← tryLoad path with
  | .ok loaded => return loaded
  | .error said => reject "olean" s!"the compiled submission: {said}"

def sameImport (a b : Import) : Bool :=
  a.module == b.module && a.importAll == b.importAll && a.isExported == b.isExported
    && a.isMeta == b.isMeta

def sameImports (a b : Array Import) : Bool :=
  a.size == b.size && (a.zip b).all fun (x, y) => sameImport x y

/-! ## Reports -/

def mostListed : Nat := 20

def listNames (names : Array Name) : String :=
  let shown := ", ".intercalate ((names.toList.take mostListed).map (s!"{·}"))
  if names.size > mostListed then shown ++ ", ..." else shown

def kindOf : ConstantInfo → String
  | .axiomInfo _ => "axiom"
  | .defnInfo _ => "def"
  | .thmInfo _ => "theorem"
  | .opaqueInfo _ => "opaque"
  | .quotInfo _ => "quotient"
  | .inductInfo _ => "inductive"
  | .ctorInfo _ => "constructor"
  | .recInfo _ => "recursor"

/-- An expression down to some depth, for people. -/
def brief : Nat → Expr → String
  | 0, _ => "…"
  | depth + 1, e => match e with
    | .bvar i => s!"#{i}"
    | .sort u => s!"(Sort {u})"
    | .const c us => if us.isEmpty then s!"{c}" else s!"{c}.{us}"
    | .lit (.natVal n) => if n < 10 ^ 40 then s!"{n}" else "(a large number)"
    | .lit (.strVal s) => if s.length < 100 then s.quote else "(a long text)"
    | .app f a => s!"({brief depth f} {brief depth a})"
    | .lam _ t b _ => s!"(fun (_ : {brief depth t}) => {brief depth b})"
    | .forallE _ t b _ => s!"(∀ (_ : {brief depth t}), {brief depth b})"
    | .letE _ t v b _ => s!"(let _ : {brief depth t} := {brief depth v}; {brief depth b})"
    | .proj c i s => s!"({brief depth s} : {c}).{i}"
    | .mdata _ e => brief depth e
    | .fvar _ => "(a variable)"
    | .mvar _ => "(a variable)"

def briefDepth : Nat := 6

/-- The last components of a name, as many as another has. -/
def endsLike (name wanted : Name) : Bool :=
  let parts := name.components
  let tail := wanted.components
  parts.drop (parts.length - tail.length) == tail

/-! ## The checks -/

/-- Constants that the kernel computes with by name, whatever their definitions say. -/
def primitives : Array Name := #[
  `Nat, `Nat.zero, `Nat.succ, `Nat.add, `Nat.sub, `Nat.mul, `Nat.div, `Nat.mod, `Nat.gcd,
  `Nat.beq, `Nat.ble, `Nat.land, `Nat.lor, `Nat.xor, `Nat.shiftLeft, `Nat.shiftRight, `Nat.pow,
  `Nat.log2, `Nat.pred, `Bool, `Bool.true, `Bool.false, `String, `String.mk, `String.ofList,
  `Char, `Char.ofNat, `List, `List.nil, `List.cons, `Quot, `Quot.mk, `Quot.lift, `Quot.ind, `Eq,
  `Eq.refl, `Lean.reduceBool, `Lean.reduceNat]

structure Sides where
  target : Module
  submission : Module
  imports : ConstMap
  theoremName : Name

/-- What a name means to the submission. -/
def Sides.find (sides : Sides) (name : Name) : CheckM ConstantInfo := do
  match sides.submission.constants[name]? <|> sides.imports.find? name with
  | some constant => return constant
  | none => reject "olean" s!"it uses {name}, which neither it nor an import of it declares"

unsafe def Sides.isSame (sides : Sides) (name : Name) : Bool :=
  match sides.target.constants[name]?, sides.submission.constants[name]? with
  | some a, some b => sameConstant sides.target.constants sides.submission.constants a b
  | _, _ => false

def checkModule (sides : Sides) : CheckM Unit := do
  if sides.target.header != sides.submission.header then
    reject "olean" "the compiled submission is not from the Lean that compiled the target"
  let imports := sides.submission.data.imports
  if !sameImports sides.target.data.imports imports then
    let shown := listNames (imports.map (·.module))
    reject "imports" s!"it imports {shown}, not what the target imports"
  let ours := sides.submission.data.constNames.filter fun n => (sides.imports.find? n).isSome
  if !ours.isEmpty then
    reject "redefines_import" s!"it declares anew: {listNames ours}"

unsafe def checkTheorem (sides : Sides) (wanted : TheoremVal) : CheckM TheoremVal := do
  let name := sides.theoremName
  let some constant := sides.submission.constants[name]?
    | let near := sides.submission.data.constNames.filter (endsLike · name)
      let said := if near.isEmpty then "" else s!", but {listNames near}"
      reject "missing" s!"it declares no {name}{said}"
  let .thmInfo got := constant
    | reject "kind" s!"{name} is not a theorem but of kind: {kindOf constant}"
  let (ps, qs) := (wanted.levelParams, got.levelParams)
  if ps.length != qs.length then
    reject "type" s!"{name} has {qs.length} universe parameters, not {ps.length}"
  if qs.eraseDups.length != qs.length then
    reject "olean" s!"{name} has two universe parameters of one name"
  let (ours, theirs) := (sides.target.constants, sides.submission.constants)
  if let some (x, y) := difference ours theirs ps qs wanted.type got.type then
    let (asked, proved) := (brief briefDepth x, brief briefDepth y)
    reject "type" s!"another statement; where asked was: {asked}; proved is: {proved}"
  return got

/-- The recursors of the target's types: no other term of a type names them. -/
def recursors (module : Module) : Std.HashMap Name (List Name) := Id.run do
  let mut found : Std.HashMap Name (List Name) := {}
  for constant in module.data.constants do
    if let .recInfo v := constant then
      for type in v.all do
        found := found.insert type (v.name :: found.getD type [])
  return found

unsafe def checkStatement (sides : Sides) : CheckM Unit := do
  let recs := recursors sides.target
  let next (name : Name) : CheckM (List Expr × List Name) := do
    let some constant := sides.target.constants[name]? | return ([], [])
    let (expressions, names) := content (withProof := false) constant
    return (expressions, names ++ recs.getD name [])
  for name in ← reach (primitives.push sides.theoremName) next do
    if sides.target.constants.contains name || sides.submission.constants.contains name then
      -- Matchers were compared where they are mentioned.
      if (matcher? sides.target.constants name).isNone && !sides.isSame name then
        reject "statement_constant" s!"{name} is not what it is in the target"

/-- The facts about the proof. -/
structure Facts where
  reached : Array ConstantInfo
  axioms : Array Name
  foreign : Array Name
  onlySorry : Bool
  unusedAxioms : Array Name
  newConstants : Nat

/-- The constant that a proof applies, if it is a plain application of one. -/
def proofHead : Expr → Option Name
  | .lam _ _ b _ => proofHead b
  | .app f _ => proofHead f
  | .mdata _ e => proofHead e
  | .const c _ => some c
  | _ => none

/-- Whether a proof is only a `sorry`, or applies theorems of which that is true. -/
def isOnlySorry (own : Own) (proof : Expr) : Bool := Id.run do
  let mut passed : Std.HashSet Name := {}
  let mut head := proofHead proof
  while true do
    let some name := head | return false
    if name == `sorryAx then
      return true
    if passed.contains name then
      return false
    passed := passed.insert name
    let some (.thmInfo v) := own[name]? | return false
    head := proofHead v.value
  return false

def isAxiom : ConstantInfo → Bool
  | .axiomInfo _ => true
  | _ => false

unsafe def gather (sides : Sides) (allowed : Array Name) (got : TheoremVal) : CheckM Facts := do
  let next (name : Name) : CheckM (List Expr × List Name) := do
    let constant ← sides.find name
    let (expressions, names) := content (withProof := true) constant
    if sides.submission.constants.contains name then
      return (expressions, names)
    -- Imports are many and ours, so for them Lean's own compiled collector will do.
    return ([], names ++ expressions.flatMap (·.getUsedConstants.toList))
  let names ← reach #[sides.theoremName] next
  let reached ← names.mapM sides.find
  let axioms := (reached.filter isAxiom).map (·.name)
  -- An axiom of an allowed name must be an import's, or the target's own and unchanged.
  let isOurs (n : Name) := !sides.submission.constants.contains n || sides.isSame n
  let own := sides.submission.data.constants.filter fun c => !sides.target.constants.contains c.name
  return {
    reached
    axioms
    foreign := axioms.filter fun n => !(allowed.contains n && isOurs n)
    onlySorry := isOnlySorry sides.submission.constants got.value
    unusedAxioms := ((own.filter isAxiom).map (·.name)).filter (!axioms.contains ·)
    newConstants := own.size
  }

def checkProof (facts : Facts) : CheckM Unit := do
  for constant in facts.reached do
    if constant.isUnsafe then
      reject "unsafe" s!"the proof uses {constant.name}, which is unsafe"
    if constant.isPartial then
      reject "partial" s!"the proof uses {constant.name}, which is partial"
  if !facts.foreign.isEmpty then
    reject "axiom" s!"the proof rests on {listNames facts.foreign}"

def namesJson (names : Array Name) : Json :=
  Json.arr (names.map fun n => Json.str s!"{n}")

def Facts.fields (facts : Facts) : List (String × Json) := [
  ("axioms", namesJson facts.axioms),
  ("foreign", namesJson facts.foreign),
  ("sorry", Json.bool (facts.axioms.contains `sorryAx)),
  ("only_sorry", Json.bool facts.onlySorry),
  ("unused_axioms", namesJson facts.unusedAxioms),
  ("new_constants", toJson facts.newConstants)]

/-! ## The program -/

structure Request where
  target : String
  submission : String
  name : Name
  allowed : Array Name

def readName (json : Json) : Except String Name := do
  let mut name := Name.anonymous
  for part in ← json.getArr? do
    match part with
    | .str s => name := .str name s
    | other => name := .num name (← other.getNat?)
  return name

def readRequest (text : String) : Except String Request := do
  let json ← Json.parse text
  return {
    target := ← (← json.getObjVal? "target").getStr?
    submission := ← (← json.getObjVal? "submission").getStr?
    name := ← readName (← json.getObjVal? "name")
    allowed := ← (← (← json.getObjVal? "allowed_axioms").getArr?).mapM readName
  }

/-- Checks everything, and leaves the facts where they are wanted even if it fails after them. -/
unsafe def check (request : Request) (target : Module) (wanted : TheoremVal) (imports : ConstMap)
    (facts : IO.Ref (List (String × Json))) : CheckM Unit := do
  let submission ← loadSubmission request.submission
  let sides : Sides := { target, submission, imports, theoremName := request.name }
  checkModule sides
  let got ← checkTheorem sides wanted
  checkStatement sides
  let found ← gather sides request.allowed got
  facts.set found.fields
  checkProof found

unsafe def judge (request : Request) : IO Json := do
  let target ← loadTarget request.target
  let some (.thmInfo wanted) := target.constants[request.name]?
    | throw <| IO.userError s!"the target has no theorem {request.name}"
  let env ← importModules target.data.imports {} 0
  let facts ← IO.mkRef ([] : List (String × Json))
  let verdict ← (check request target wanted env.constants facts).run
  let (code, reason) := match verdict with
    | .ok _ => ("ok", s!"{request.name} is the theorem asked for")
    | .error rejection => (rejection.code, rejection.reason)
  return Json.mkObj (("code", Json.str code) :: ("reason", Json.str reason) :: (← facts.get))

end Compare

unsafe def main (args : List String) : IO UInt32 := do
  let [nonce, text] := args
    | IO.eprintln "usage: lean --run Compare.lean NONCE REQUEST"
      return 2
  initSearchPath (← findSysroot)
  let report ← try
    Compare.judge (← IO.ofExcept (Compare.readRequest text))
  catch error =>
    pure (Json.mkObj [("target_error", Json.str (toString error))])
  IO.println s!"{nonce} {report.compress}"
  return 0
