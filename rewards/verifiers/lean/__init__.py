"""The Lean 4 verifier: a proof counts only if it proves the statement that was asked for."""
