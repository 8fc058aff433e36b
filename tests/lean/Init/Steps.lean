prelude
import Init.Terms

/-!
The syntax of the tactics. The tactics themselves are compiled into Lean and find their syntax by
the name of its node, so names and shapes are fixed here too; some tactics are macros for others.
-/

namespace Lean.Parser.Tactic

/-! ## Parts that tactics share -/

syntax posConfigItem := " +" noWs ident
syntax negConfigItem := " -" noWs ident
syntax valConfigItem :=
  atomic(" (" notFollowedBy(&"discharger" <|> &"disch") (ident <|> &"config")) " := "
  withoutPosition(term) ")"
syntax configItem := posConfigItem <|> negConfigItem <|> valConfigItem
syntax optConfig := (colGt configItem)*

syntax locationWildcard := " *"
syntax locationType := patternIgnore(atomic("|" noWs "-") <|> "⊢")
syntax locationHyp := (colGt (term:max <|> locationType))+
syntax location := withPosition(" at" (locationWildcard <|> locationHyp))

/-! ## Hypotheses and goals -/

syntax (name := intro) "intro" notFollowedBy("|") (colGt term:max)* : tactic
syntax (name := intros) "intros" (colGt (ident <|> hole))* : tactic
syntax (name := renameI) "rename_i" (colGt binderIdent)+ : tactic
syntax (name := revert) "revert" (colGt term:max)+ : tactic
syntax (name := clear) "clear" (colGt term:max)+ : tactic
syntax (name := subst) "subst" (colGt term:max)* : tactic
syntax (name := assumption) "assumption" : tactic
syntax (name := contradiction) "contradiction" : tactic
syntax (name := apply) "apply " term : tactic
syntax (name := exact) "exact " term : tactic
syntax (name := refine) "refine " term : tactic
syntax (name := refine') "refine' " term : tactic
syntax (name := constructor) "constructor" : tactic
syntax (name := left) "left" : tactic
syntax (name := right) "right" : tactic
syntax (name := change) "change " term (location)? : tactic
syntax (name := «show») "show " term : tactic
syntax (name := specialize) "specialize " term : tactic
syntax (name := injection) "injection " term (" with" (colGt (ident <|> hole))+)? : tactic
syntax (name := split) "split" (colGt term)? (location)? : tactic
syntax (name := unfold) "unfold" (colGt term)+ (location)? : tactic

macro "exfalso" : tactic => `(tactic| refine False.elim ?_)
macro "sorry" : tactic => `(tactic| exact sorry)
macro "admit" : tactic => `(tactic| sorry)
macro "stop" tacticSeq : tactic => `(tactic| exact sorry)

/-! ## Control -/

syntax caseArg := binderIdent (binderIdent)*
syntax (name := case) "case " sepBy1(caseArg, " | ") " => " tacticSeq : tactic
syntax (name := «next») "next " binderIdent* " => " tacticSeq : tactic
syntax (name := done) "done" : tactic
syntax (name := skip) "skip" : tactic
syntax (name := fail) "fail" (str)? : tactic
syntax (name := failIfSuccess) "fail_if_success " tacticSeq : tactic
syntax (name := focus) "focus " tacticSeq : tactic
syntax (name := allGoals) "all_goals " tacticSeq : tactic
syntax (name := anyGoals) "any_goals " tacticSeq : tactic
syntax (name := rotateLeft) "rotate_left" (num)? : tactic
syntax (name := rotateRight) "rotate_right" (num)? : tactic
syntax (name := withReducible) "with_reducible " tacticSeq : tactic
syntax (name := paren) "(" withoutPosition(tacticSeq) ")" : tactic
syntax (name := first) "first " withPosition((colGe "| " tacticSeq)+) : tactic

macro "try " t:tacticSeq : tactic => `(tactic| first | $t | skip)
macro:1 x:tactic " <;> " y:tactic:2 : tactic => `(tactic| focus ($x:tactic; all_goals $y:tactic))
syntax "repeat " tacticSeq : tactic
macro_rules | `(tactic| repeat $t) => `(tactic| try (($t); repeat $t))

/-! ## Rewriting and computing -/

syntax rwRule := patternIgnore("← " <|> "<- ")? term
syntax rwRuleSeq := " [" withoutPosition(rwRule,*,?) "]"
syntax (name := rewriteSeq) "rewrite" optConfig rwRuleSeq (location)? : tactic
syntax (name := eqRefl) "eq_refl" : tactic
syntax (name := applyRfl) "apply_rfl" : tactic
syntax (name := symm) "symm" (location)? : tactic
syntax "rfl" : tactic
macro_rules | `(tactic| rfl) => `(tactic| exact HEq.rfl)
macro_rules | `(tactic| rfl) => `(tactic| exact Iff.refl _)
macro_rules | `(tactic| rfl) => `(tactic| eq_refl)
-- To close what is left, Lean's own `rw` unfolds only what is reducible.
macro (name := rwSeq) "rw " c:optConfig s:rwRuleSeq l:(location)? : tactic =>
  `(tactic| (rewrite $c:optConfig $s:rwRuleSeq $[$l:location]?; try rfl))

syntax simpPre := "↓"
syntax simpPost := "↑"
syntax simpLemma := (simpPre <|> simpPost)? patternIgnore("← " <|> "<- ")? term
syntax simpErase := "-" term:max
syntax simpStar := "*"
syntax discharger :=
  atomic(" (" patternIgnore(&"discharger" <|> &"disch")) " := " withoutPosition(tacticSeq) ")"
syntax (name := simp) "simp" optConfig (discharger)? (&" only")?
  (" [" withoutPosition((simpStar <|> simpErase <|> simpLemma),*,?) "]")? (location)? : tactic
syntax (name := simpAll) "simp_all" optConfig (discharger)? (&" only")?
  (" [" withoutPosition((simpErase <|> simpLemma),*,?) "]")? : tactic
syntax (name := dsimp) "dsimp" optConfig (discharger)? (&" only")?
  (" [" withoutPosition((simpErase <|> simpLemma),*,?) "]")? (location)? : tactic

syntax (name := decide) "decide" optConfig : tactic
syntax (name := nativeDecide) "native_decide" optConfig : tactic

/-! ## Cases and induction -/

syntax elimTarget := atomic(binderIdent " : ")? term
syntax inductionAltLHS := withPosition("| " (("@"? ident) <|> hole) (colGt (ident <|> hole))*)
syntax inductionAlt := inductionAltLHS+ (" => " (hole <|> syntheticHole <|> tacticSeq))?
syntax inductionAlts := " with" (colGt tactic)? withPosition((colGe inductionAlt)*)
syntax (name := cases) "cases " elimTarget,+ (" using " term)? (inductionAlts)? : tactic
syntax (name := induction) "induction " elimTarget,+ (" using " term)?
  (" generalizing" (colGt term:max)+)? (inductionAlts)? : tactic

/-! ## Terms inside tactics -/

macro "refine_lift " e:term : tactic => `(tactic| focus (refine no_implicit_lambda% $e; rotate_right))
macro "have" c:letConfig d:letDecl : tactic => `(tactic| refine_lift have $c:letConfig $d:letDecl; ?_)
macro "let" c:letConfig d:letDecl : tactic => `(tactic| refine_lift let $c:letConfig $d:letDecl; ?_)
macro "suffices " d:sufficesDecl : tactic => `(tactic| refine_lift suffices $d; ?_)
macro "nomatch " e:term : tactic => `(tactic| exact nomatch $e)
macro "nofun" : tactic => `(tactic| exact nofun)
macro "by_cases " h:ident " : " p:term : tactic =>
  `(tactic| refine (dite $p (fun $h:ident => ?pos) (fun $h:ident => ?neg)))
macro "funext " x:ident : tactic => `(tactic| (refine funext ?_; intro $x:ident))
macro "infer_instance" : tactic => `(tactic| exact inferInstance)
syntax "trivial" : tactic
macro_rules | `(tactic| trivial) => `(tactic| assumption)
macro_rules | `(tactic| trivial) => `(tactic| rfl)
macro_rules | `(tactic| trivial) => `(tactic| contradiction)
macro_rules | `(tactic| trivial) => `(tactic| decide)
macro_rules | `(tactic| trivial) => `(tactic| exact True.intro)
macro "exists " x:term : tactic => `(tactic| (refine ⟨$x, ?_⟩; try trivial))

/-! ## Patterns of `rcases`, `obtain` and `rintro` -/

declare_syntax_cat rcasesPat
declare_syntax_cat rintroPat
syntax rcasesPatMed := sepBy1(rcasesPat, " | ")
syntax rcasesPatLo := rcasesPatMed (" : " term)?
syntax (name := rcasesPat.one) ident : rcasesPat
syntax (name := rcasesPat.ignore) "_" : rcasesPat
syntax (name := rcasesPat.clear) "-" : rcasesPat
syntax (name := rcasesPat.explicit) "@" noWs rcasesPat : rcasesPat
syntax (name := rcasesPat.tuple) "⟨" rcasesPatLo,* "⟩" : rcasesPat
syntax (name := rcasesPat.paren) "(" rcasesPatLo ")" : rcasesPat
syntax (name := rintroPat.one) rcasesPat : rintroPat
syntax (name := rintroPat.binder) (priority := 1001) "(" rintroPat+ (" : " term)? ")" : rintroPat
syntax (name := rcases) "rcases" elimTarget,* (" with " rcasesPatLo)? : tactic
syntax (name := obtain) "obtain" (rcasesPatMed)? (" : " term)? (" := " term,+)? : tactic
syntax (name := rintro) "rintro" (colGt rintroPat)+ (" : " term)? : tactic

end Lean.Parser.Tactic

/-- `·` focuses on the first goal. -/
syntax Lean.cdotTk := patternIgnore("· " <|> ". ")
syntax (name := Lean.cdot) Lean.cdotTk withPosition(tacticSeq) : tactic
