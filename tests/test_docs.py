"""What docs/math.md says of the math verifier is what it does."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import rewards
from rewards.verifiers.math.extract import Missing, extract

PAGE = Path(__file__).parents[1] / "docs" / "math.md"
HEADS = {"gold": "verdict", "completion": "extraction", "policy": "policy"}


def rows(table: str) -> list[object]:
    """Return the rows of all tables of one kind; a vertical bar within a cell is `\\|`."""
    found, current = [], ""
    for number, line in enumerate(PAGE.read_text("utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            current = ""
        elif not current:
            current = HEADS.get(cells[0].partition(" ")[0], "other")
        elif current == table and not cells[0].startswith("--"):
            bare = [c[1:-1].replace("\\|", "|") if c.startswith("`") else c for c in cells]
            found.append(pytest.param(*bare, id=f"line {number}"))
    return found


def score(gold: str, answer: str, **spec: object) -> rewards.Score:
    return rewards.score(rf"\boxed{{{answer}}}", {"type": "math", "answer": gold, **spec})


def test_the_examples_print_what_they_say() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 10
    assert failed == 0


@pytest.mark.parametrize(("gold", "answer", "verdict"), rows("verdict"))
def test_a_row_has_the_verdict_that_it_says(gold: str, answer: str, verdict: str) -> None:
    judged = score(gold, answer)
    assert str(judged.verdict) == verdict, judged.reason


@pytest.mark.parametrize(("text", "extracted", "source"), rows("extraction"))
def test_a_row_has_the_answer_that_it_says(text: str, extracted: str, source: str) -> None:
    found = extract(text.replace("⏎", "\n"))
    if isinstance(found, Missing):
        assert (extracted, source) == ("none", found.code)
    else:
        assert (extracted, source) == (found.text, found.source)


@pytest.mark.parametrize(("name", "gold", "answer", "what"), rows("policy"))
def test_a_policy_changes_the_verdict_of_its_example(
    name: str, gold: str, answer: str, what: str
) -> None:
    assert score(gold, answer).value == 1.0
    assert score(gold, answer, policy={name: False}).value == 0.0
