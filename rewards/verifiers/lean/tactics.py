"""Tell a list of tactics from a proof term."""

from __future__ import annotations

from collections.abc import Sequence

from rewards.verifiers.lean.lexer import Token
from rewards.verifiers.lean.names import word_set

TACTICS = word_set(
    """
    abel abel_nf aesop aesop_cat all_goals and_intros any_goals apply apply? apply_assumption
    apply_fun apply_mod_cast apply_rules assumption assumption_mod_cast beta_reduce bv_decide
    bv_omega by_cases by_contra by_contra! cases cases' case case' change choose classical clear
    clear_value compute_degree congr congr! constructor continuity contradiction contrapose
    contrapose! conv conv_lhs conv_rhs convert convert_to cutsat decide delta done dsimp dsimp!
    dsimp? eq_refl erw exact exact? exact_mod_cast exacts exfalso exists ext ext1 fail_if_success
    fapply field_simp filter_upwards fin_cases fin_omega finiteness first focus fun_cases
    fun_induction fun_prop funext gcongr generalize grind group guard_hyp guard_target have' hint
    induction induction' infer_instance injection injections interval_cases intro intros introv
    iterate left lia lift linarith linear_combination linear_combination' measurability module
    monicity native_decide next nlinarith noncomm_ring norm_cast norm_num norm_num1 nth_rewrite
    nth_rw obtain omega on_goal pick_goal polyrith positivity push_cast push_neg qify rcases
    reduce_mod_char refine refine' rename rename' rename_i repeat repeat' replace revert rewrite
    rify right ring ring1 ring_nf ring_nf! rintro rotate_left rotate_right rw rw? rw_mod_cast rwa
    set simp simp! simp? simp_all simp_all? simp_all_arith simp_arith simp_rw simpa simpa! simpa?
    skip solve_by_elim specialize split split_ands split_ifs stop subsingleton subst subst_eqs
    subst_vars tauto tfae_finish tfae_have trivial try unfold use use! wlog zify
    """
)
"""Words that begin a tactic and, by themselves, hardly ever a proof term."""

_EITHER = word_set("have let show calc match if suffices rfl open set_option haveI letI")
"""Words that begin a tactic or a term."""
_TERM_ONLY = word_set("fun λ ⟨ @ by := ( |")
_OPENERS = word_set(
    "by := do with at from using then else in calc all_goals any_goals try repeat repeat' focus "
    ", ( [ { ⟨ · | > first"
)
"""What a line ends with when the next one, further right, belongs to it."""


def is_tactics(tokens: Sequence[Token], *, after_by: bool) -> bool:
    """Tell whether a proof is a list of tactics without its `by`.

    After a statement that ends in `by` it is, unless it begins like nothing but a term. Elsewhere
    it is if one of its least indented lines begins with a word that begins only tactics.
    """
    if not tokens or tokens[0].text in _TERM_ONLY:
        return False
    starts = _line_starts(tokens)
    least = min(token.column for token in starts)
    return after_by or any(_is_head(t, TACTICS) for t in starts if t.column == least)


def realign(text: str, tokens: Sequence[Token]) -> str:
    """Indent the first line of tactics like the others if it has lost its indentation.

    So begins what continues a prompt that ends in `by` and spaces.
    """
    starts = _line_starts(tokens)
    if len(starts) < 2 or tokens[0].text == "·":
        return text
    first, second = starts[:2]
    least = min(token.column for token in starts[1:])
    before = tokens[tokens.index(second) - 1]
    lost = first.column < least == second.column and before.text not in _OPENERS
    if not lost or not _is_head(second, TACTICS | _EITHER):
        return text
    return text[: first.offset] + " " * (least - first.column) + text[first.offset :]


def _is_head(token: Token, words: frozenset[str]) -> bool:
    return token.keyword in words or token.text == "·"


def _line_starts(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens that are the first on their lines."""
    return [t for i, t in enumerate(tokens) if not i or tokens[i - 1].line < t.line]
