"""Readers of public sets of Lean 4 theorems in the JSONL layouts that their authors publish.

Each takes a file the user has and returns rows; nothing is downloaded.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from trainer.tasks.rows import Row, read_jsonl, require

logger = logging.getLogger(__name__)

INSTRUCTION = (
    "Answer with the theorem and its proof in one ```lean4 block. Lemmas may stand before it."
)

_THEOREM = re.compile(r"^(?:theorem|lemma)\s", re.MULTILINE)
_DOC_COMMENT = re.compile(r"/--(?:(?!-/).)*-/\s*\Z", re.DOTALL)
_HEADER_LINE = re.compile(r"(?:import|open|set_option|universe)\s|--|\s*$")


def read_minif2f(path: Path) -> list[Row]:
    """Read miniF2F as DeepSeek-Prover ships it: ``name``, ``header`` and ``formal_statement``.

    DeepSeek-Prover-V1's own data has the same layout, without ``informal_prefix``.

    Raises:
        ConfigurationError: A row has another layout.
    """
    rows = []
    for number, record in enumerate(read_jsonl(path), 1):
        place = f"{path}, row {number}"
        require(record, ("name", "header", "formal_statement"), place, "miniF2F")
        header = str(record["header"]).strip()
        statement = str(record["formal_statement"]).strip()
        shown = f"{record.get('informal_prefix') or ''}{statement}"
        spec = {
            "type": "lean",
            "header": header,
            "statement": statement,
            "name": str(record["name"]),
        }
        meta = {"split": record["split"]} if record.get("split") else {}
        row_id = f"minif2f-{record['name']}"
        rows.append(Row(row_id, ask_for_proof(shown, header), spec, meta=meta))
    return rows


def read_numina_lean(path: Path) -> list[Row]:
    """Read NuminaMath-LEAN: ``formal_statement``, a whole file that ends in the theorem.

    ``problem``, the same in words, is shown where it is given. Files in which no theorem can be
    found are left out, with a warning.

    Raises:
        ConfigurationError: A row has another layout.
    """
    rows = []
    records = read_jsonl(path)
    for number, record in enumerate(records, 1):
        require(record, ("formal_statement",), f"{path}, row {number}", "NuminaMath-LEAN")
        if spec := _spec_of_file(str(record["formal_statement"])):
            row_id = f"numinalean-{record.get('uuid') or number}"
            words = str(record.get("problem") or "")
            prompt = ask_for_proof(spec["statement"], spec["header"], spec["preamble"], words)
            rows.append(Row(row_id, prompt, spec))
    if len(rows) < len(records):
        lost = f"{len(records) - len(rows)} of {len(records)} rows of {path}"
        logger.warning("%s hold no theorem and are left out", lost)
    return rows


def ask_for_proof(statement: str, header: str, preamble: str = "", words: str = "") -> str:
    """Write a prompt: what is to be proved, what stands before it already, and how to answer.

    Args:
        statement: The theorem without its proof.
        header: The imports; the answer stands behind them.
        preamble: The definitions; the answer stands behind them too.
        words: The theorem in words, if they are known.
    """
    before = "\n\n".join(part.strip() for part in (header, preamble) if part.strip())
    parts = [
        f"Prove this theorem in Lean 4{'' if header else ' (core Lean alone, no Mathlib)'}:",
        *([words.strip()] if words.strip() else []),
        fence(statement),
        *(
            [f"This stands before it already; do not repeat it:\n\n{fence(before)}"]
            if before
            else []
        ),
        INSTRUCTION,
    ]
    return "\n\n".join(parts)


def fence(code: str) -> str:
    """Put Lean code into a fenced block."""
    return f"```lean4\n{code.strip()}\n```"


def _spec_of_file(text: str) -> dict[str, Any] | None:
    """Divide a file into its header, its definitions and its last theorem."""
    found = list(_THEOREM.finditer(text))
    if not found:
        return None
    start = found[-1].start()
    lines = _DOC_COMMENT.sub("", text[:start]).splitlines(keepends=True)
    size = next((i for i, line in enumerate(lines) if not _HEADER_LINE.match(line)), len(lines))
    return {
        "type": "lean",
        "header": "".join(lines[:size]).strip(),
        "preamble": "".join(lines[size:]).strip(),
        "statement": text[start:].strip(),
    }
