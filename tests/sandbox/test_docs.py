"""The page about the sandbox names the tests that hold what it says."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parents[1] / "docs" / "sandbox.md"


def test_every_test_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)(?:\.py)?`", PAGE.read_text(encoding="utf-8")))
    defined = {file.stem for file in TESTS.glob("test_*.py")}
    for file in TESTS.glob("test_*.py"):
        defined |= set(re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.M))
    assert len(named) > 10
    assert named <= defined
