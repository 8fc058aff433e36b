"""Readers of public data sets in the JSONL layouts that their authors publish.

Each takes a file the user has and returns rows; nothing is downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewards.errors import ConfigurationError
from rewards.verifiers.math.extract import boxed
from trainer.tasks.public_code import read_apps, read_codecontests, read_livecodebench, read_verl
from trainer.tasks.public_lean import read_minif2f, read_numina_lean
from trainer.tasks.rows import Row, read_jsonl, require

BOXED_INSTRUCTION = "Reason step by step, and put the final answer within \\boxed{}."

CODE_INSTRUCTION = "Answer with one Python code block."


def read_gsm8k(path: Path) -> list[Row]:
    r"""Read GSM8K: ``question``, and ``answer`` that ends in ``#### N``.

    The gold keeps the solution in words and boxes the number.

    Raises:
        ConfigurationError: A row has another layout.
    """
    rows = []
    for number, record in enumerate(read_jsonl(path), 1):
        place = f"{path}, row {number}"
        require(record, ("question", "answer"), place, "GSM8K")
        solution, mark, answer = str(record["answer"]).rpartition("####")
        answer = answer.strip().replace(",", "")
        if not mark or not answer:
            raise ConfigurationError(
                f"{place} has an answer that ends in {str(record['answer'])[-30:]!r}; "
                "GSM8K answers end in '#### N'"
            )
        # <<48/2=24>> are calculator calls, which no model is to imitate.
        thought = re.sub(r"<<[^<>]*>>", "", solution).strip()
        rows.append(
            Row(
                id=f"gsm8k-{Path(path).stem}-{number}",
                prompt=f"{record['question']}\n\n{BOXED_INSTRUCTION}",
                spec={"type": "math", "answer": answer},
                gold=f"{thought}\nThe answer is \\boxed{{{answer}}}.",
            )
        )
    return rows


def read_math(path: Path) -> list[Row]:
    r"""Read MATH and MATH-500: ``problem`` and ``solution``, with or without ``answer``.

    Where ``answer`` is missing it is what the solution's last ``\boxed{}`` holds.

    Raises:
        ConfigurationError: A row has another layout, or no answer.
    """
    rows = []
    for number, record in enumerate(read_jsonl(path), 1):
        place = f"{path}, row {number}"
        require(record, ("problem",), place, "MATH")
        solution = str(record.get("solution") or "")
        given = record.get("answer")
        answer = boxed(solution) if given is None else str(given)
        if not answer:
            raise ConfigurationError(
                f"{place} has neither an 'answer' nor a solution with \\boxed{{}}; "
                "MATH rows have problem and solution, or problem and answer"
            )
        is_boxed = boxed(solution) is not None
        rows.append(
            Row(
                id=str(record.get("unique_id", f"math-{Path(path).stem}-{number}")),
                prompt=f"{record['problem']}\n\n{BOXED_INSTRUCTION}",
                spec={"type": "math", "answer": answer},
                gold=solution if is_boxed else f"The answer is $\\boxed{{{answer}}}$.",
                meta=_math_meta(record),
            )
        )
    return rows


def _math_meta(record: dict[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    # The original files say "Level 3", MATH-500 says 3.
    if digits := re.search(r"\d+", str(record.get("level", ""))):
        meta["level"] = int(digits.group())
    if subject := record.get("subject", record.get("type")):
        meta["subject"] = subject
    return meta


def read_mbpp(path: Path) -> list[Row]:
    """Read MBPP: ``text``, ``code``, ``test_list`` and ``test_setup_code``.

    The first assert is shown to the model, as the paper does: it alone says the function's name.

    Raises:
        ConfigurationError: A row has another layout.
    """
    rows = []
    for number, record in enumerate(read_jsonl(path), 1):
        place = f"{path}, row {number}"
        require(record, ("text", "code", "test_list"), place, "MBPP")
        tests = record["test_list"]
        if not isinstance(tests, list) or not tests:
            raise ConfigurationError(f"{place} has the test_list {tests!r:.60}; give it asserts")
        setup = _unix(record.get("test_setup_code") or "", place)
        asserts = [_unix(test, place) for test in tests]
        test_code = "\n".join([setup, *asserts] if setup else asserts) + "\n"
        rows.append(
            Row(
                id=f"mbpp-{record.get('task_id', number)}",
                prompt=f"{_unix(record['text'], place)} {CODE_INSTRUCTION} "
                f"It must pass this test:\n\n{asserts[0]}",
                spec={"type": "code", "style": "assert", "test_code": test_code},
                gold=_fence(_unix(record["code"], place)),
            )
        )
    return rows


def read_humaneval(path: Path) -> list[Row]:
    """Read HumanEval: ``prompt``, ``test``, ``entry_point`` and ``canonical_solution``.

    Raises:
        ConfigurationError: A row has another layout.
    """
    rows = []
    for number, record in enumerate(read_jsonl(path), 1):
        place = f"{path}, row {number}"
        keys = ("prompt", "test", "entry_point", "canonical_solution")
        require(record, keys, place, "HumanEval")
        prompt, test, entry_point, solution = (_unix(record[key], place) for key in keys)
        rows.append(
            Row(
                id=str(record.get("task_id", f"humaneval-{number}")),
                prompt=f"Complete this function. {CODE_INSTRUCTION} "
                f"Repeat the imports and the signature.\n\n{_fence(prompt)}",
                spec={
                    "type": "code",
                    "style": "assert",
                    "entry_point": entry_point,
                    "test_code": f"{test}\ncheck({entry_point})\n",
                },
                gold=_fence(prompt + solution),
            )
        )
    return rows


def _unix(text: object, place: str) -> str:
    if not isinstance(text, str):
        raise ConfigurationError(f"{place} has {text!r:.60} where text is expected")
    return text.replace("\r\n", "\n")


def _fence(code: str) -> str:
    return f"```python\n{code.rstrip()}\n```"


@dataclass(frozen=True)
class PublicLayout:
    """A public data set: how to read its file, and where the file comes from."""

    read: Callable[[Path], list[Row]]
    source: str


_MATH = PublicLayout(
    read_math,
    "test.jsonl of huggingface.co/datasets/HuggingFaceH4/MATH-500, or any JSONL with problem and "
    "solution or answer",
)

PUBLIC_LAYOUTS = {
    "gsm8k": PublicLayout(
        read_gsm8k,
        "grade_school_math/data/train.jsonl and test.jsonl of github.com/openai/grade-school-math",
    ),
    "math500": _MATH,
    "mbpp": PublicLayout(
        read_mbpp, "mbpp/mbpp.jsonl of github.com/google-research/google-research"
    ),
    "humaneval": PublicLayout(
        read_humaneval, "data/HumanEval.jsonl.gz of github.com/openai/human-eval, unpacked"
    ),
    "apps": PublicLayout(
        read_apps, "train.jsonl or test.jsonl of huggingface.co/datasets/codeparrot/apps"
    ),
    "taco": PublicLayout(read_apps, "the rows of huggingface.co/datasets/BAAI/TACO, as JSONL"),
    "livecodebench": PublicLayout(
        read_livecodebench,
        "test.jsonl of huggingface.co/datasets/livecodebench/code_generation_lite",
    ),
    "codecontests": PublicLayout(
        read_codecontests, "the rows of huggingface.co/datasets/deepmind/code_contests, as JSONL"
    ),
    "verl": PublicLayout(
        read_verl, "rows that verl trains on, as JSONL (prompt, reward_model.ground_truth)"
    ),
    "minif2f": PublicLayout(
        read_minif2f,
        "datasets/minif2f.jsonl of github.com/deepseek-ai/DeepSeek-Prover-V1.5, or the rows of "
        "huggingface.co/datasets/deepseek-ai/DeepSeek-Prover-V1, as JSONL",
    ),
    "numinalean": PublicLayout(
        read_numina_lean,
        "the rows of huggingface.co/datasets/AI-MO/NuminaMath-LEAN, as JSONL, or any JSONL whose "
        "formal_statement is a Lean file that ends in a theorem",
    ),
}
