"""What docs/code.md says of the code verifier is what it does."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from rewards.verifiers.code import CodeSpec
from rewards.verifiers.code.languages import LANGUAGES, default_memory_mb
from trainer.tasks.public import PUBLIC_LAYOUTS

PAGE = Path(__file__).parents[2] / "docs" / "code.md"
COMMON = {"type", "name", "weight", "role", "gate"}


def first_cells(heading: str) -> list[str]:
    """Return the first cells of the first table below a heading, without its head."""
    section = PAGE.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [name for line in lines for name in re.findall(r"`(\w+)`", line.split("|")[1])]


def test_the_examples_print_what_they_say() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried > 10) == (0, True)


def test_every_field_is_in_the_table() -> None:
    missing = set(CodeSpec.model_fields) - COMMON - set(first_cells("The spec"))
    assert missing == set()


def test_every_language_is_in_the_table_with_its_memory() -> None:
    assert first_cells("Languages") == list(LANGUAGES)
    for name, language in LANGUAGES.items():
        (row,) = [x for x in PAGE.read_text("utf-8").splitlines() if x.startswith(f"| `{name}` |")]
        assert f"{default_memory_mb(name):,} MB" in row
        assert language.compile[0] in row


def test_every_reader_of_code_is_in_the_table() -> None:
    read = set(PUBLIC_LAYOUTS) - {"gsm8k", "math500", "minif2f", "numinalean"}
    assert set(first_cells("Readers")) == read
