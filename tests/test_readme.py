"""What the README shows is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import rewards

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_examples_print_what_they_say() -> None:
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_the_verifier_of_ones_own_has_15_lines_and_works(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 15
    (tmp_path / "my.py").write_text(code)
    rewards.load(f"{tmp_path}/my.py:palindrome")
    assert rewards.score("Never odd or even", {"type": "palindrome"}).value == 1.0
    assert rewards.score("Sometimes odd", {"type": "palindrome"}).value == 0.0


@pytest.mark.parametrize("link", re.findall(r"\]\(([^):]+)\)", README))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


@pytest.mark.parametrize("target", ["demo", "test", "check", "bench"])
def test_the_make_targets_exist(target: str) -> None:
    assert f"\n{target}: " in (ROOT / "Makefile").read_text()
