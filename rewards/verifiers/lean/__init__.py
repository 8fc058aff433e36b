"""Proof checking with Lean 4: a proof counts only if it proves the statement that was asked for."""
