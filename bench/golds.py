"""Golds of the labelled cases and of public data files, and completions to judge by them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.hostile import Pair
from bench.paraphrase import paraphrases, sentences

ROOT = Path(__file__).parents[1]
CASES = (ROOT / "tests/data/math_cases.jsonl", ROOT.parent / "shared/cases/math.jsonl")


class Labelled(NamedTuple):
    """A pair, and whether it is right."""

    pair: Pair
    right: bool


def read_cases(path: Path | None = None) -> list[dict[str, Any]]:
    """Read the labelled cases, from `path` or from where they usually are."""
    found = path or next((p for p in CASES if p.is_file()), CASES[0])
    if not found.is_file():
        raise SystemExit(f"no labelled cases at {found}; name the file with --cases")
    return read_lines(found)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSONL."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def golds_in(path: Path) -> list[list[str]]:
    """Return the gold answers in a public data file, and for Minerva those with units as well."""
    rows = read_lines(path)
    if path.stem.startswith("minerva"):
        return [minerva_golds(row["solution"]) for row in rows]
    return [[str(row["answer"]).rpartition("#### ")[2].strip()] for row in rows]


def minerva_golds(solution: str) -> list[str]:
    r"""Return what the last `\boxed` of a Minerva solution holds, and that with its unit in words.

    The second is there only where a unit that can be told from prose follows the box.
    """
    at = solution.rfind(r"\boxed{")
    depth, end = 0, len(solution)
    for match in re.compile(r"\\.|[{}]", re.S).finditer(solution, at):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if match[0] == "}" and depth == 0:
            end = match.start()
            break
    gold = solution[at + len(r"\boxed{") : end].strip()
    words = r"(?:\\quad *)*\\(?:mathrm|text|operatorname) *\{[~ A-Za-z]+\}"
    unit = re.match(rf"\s*({words}) *(?:[.$\n]|\\\])", solution[end + 1 :])
    return [gold, f"{gold} {unit[1]}"] if unit else [gold]


MISLABELLED = {"4:30p..": "4:30", "10{,}000": "10000"}
"""Golds of the real completions, and what the data wrongly holds against answers that say so."""


def real_completions(path: Path) -> Iterator[Labelled]:
    """Yield what a model wrote, with the label that the data gives it, or should."""
    for row in read_lines(path):
        columns = (_listed(row[name]) for name in ("code", "pred", "score"))
        for text, said, right in zip(*columns, strict=True):
            gold = str(row["gt"])
            mended = MISLABELLED.get(gold) == str(said)
            yield Labelled(Pair(gold, text), bool(right) or mended)


def rewritten_golds(path: Path) -> Iterator[Labelled]:
    """Yield each gold with two completions that hold another form of it."""
    for number, (gold, *_) in enumerate(golds_in(path)):
        forms = paraphrases(gold)
        for turn, form in enumerate((forms[number % len(forms)], forms[-1])):
            texts = sentences(form)
            yield Labelled(Pair(gold, texts[(number + turn) % len(texts)]), True)


def _listed(value: Any) -> list[Any]:
    """Read a column of lists, which some copies keep as the text of a Python literal."""
    return list(ast.literal_eval(value) if isinstance(value, str) else value)
