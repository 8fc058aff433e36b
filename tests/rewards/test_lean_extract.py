"""Which part of a completion is the Lean code to judge."""

from __future__ import annotations

import pytest

from rewards.completion import Completion
from rewards.verifiers.lean.extract import Submission, extract_submission

FULL = "theorem target : p := rfl\n"


def fenced(code: str, language: str = "lean4", fence: str = "```") -> str:
    return f"{fence}{language}\n{code}{fence}\n"


def extract(text: str) -> Submission | None:
    return extract_submission(Completion.of(text), "target")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (fenced(FULL), FULL),
        (fenced(FULL, "lean"), FULL),
        (fenced(FULL, "Lean4"), FULL),
        (fenced(FULL, ""), FULL),
        (fenced(FULL, "lean", "~~~"), FULL),
        ("- so:\n  ```lean\n  by\n    simp\n  ```", "by\n  simp\n"),
        (fenced("by simp\n") + "or\n" + fenced("rfl\n"), "rfl\n"),
        (fenced(FULL) + "where\n" + fenced("#check foo\n"), FULL),
        (fenced(FULL) + "where\n" + fenced("-- theorem target\nfoo\n"), FULL),
        (fenced(FULL) + "where\n" + fenced('def s := "theorem target"\n'), FULL),
        (fenced("def target := 1\n") + fenced(FULL), FULL),
        (fenced("namespace A\ntheorem target : p := x\n") + fenced("rfl\n"), None),
        (fenced(FULL) + fenced("print(1)\n", "python"), FULL),
        (fenced("x\n", "") + fenced(FULL) + fenced("y\n", ""), FULL),
        (fenced(FULL) + "```lean\ntheorem target : p :=", FULL),
        ("```lean4\n" + FULL, FULL),
        ("<think>" + fenced("sorry\n") + "</think>" + fenced(FULL), FULL),
        (fenced(fenced(FULL), "markdown", "````"), FULL),
        (fenced("/-\n" + FULL, "lean") + fenced("rfl\n"), "rfl\n"),
        ("by\r\n  simp\r\n", "by\n  simp\n"),
        ("  intro h\n  exact h", "  intro h\n  exact h\n"),
        ("rfl", "rfl\n"),
    ],
)
def test_the_code_is_found(text: str, code: str | None) -> None:
    found = extract(text)
    assert found is not None
    assert found.text == (code or "namespace A\ntheorem target : p := x\n")


@pytest.mark.parametrize(
    "text", ["", " \n", fenced("print(1)\n", "python"), "<think>rfl", fenced("")]
)
def test_there_may_be_nothing_to_judge(text: str) -> None:
    assert extract(text) is None


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("rfl", "there is no fenced block: the whole answer"),
        (fenced("x\n"), "block 1 of 1: the last lean block"),
        (fenced(FULL) + fenced("x\n"), "block 1 of 2: the last lean block that declares target"),
        ("```lean\nx", "block 1 of 1: the last unclosed lean block"),
        (fenced("x\n", "text") + fenced("y\n", ""), "block 2 of 2: the last unlabelled block"),
    ],
)
def test_it_says_where_the_code_was(text: str, source: str) -> None:
    found = extract(text)
    assert found is not None
    assert found.source == source


def test_the_name_may_be_qualified() -> None:
    text = fenced("namespace Foo\n" + FULL) + fenced("rfl\n")
    found = extract_submission(Completion.of(text), "Foo.target")
    assert found is not None
    assert found.text.startswith("namespace")
