"""Readers of competitive programming sets: APPS, TACO, LiveCodeBench, CodeContests, verl's rows.

Their tests are programs' inputs and outputs, or arguments and results of a function. A row without
tests cannot be scored; it is left out, with a line in the log.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import logging
import pickle
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewards.errors import ConfigurationError
from trainer.tasks.rows import Prompt, Row, read_jsonl, require

logger = logging.getLogger("trainer.tasks")

MAX_PRIVATE_MB = 1024
FLOAT_TOLERANCE = 1e-6
"""What contests allow, mostly; integers are exact whatever it is."""
PYTHON3 = 3
"""CodeContests' number of the language."""
STDIN_INSTRUCTION = (
    "Answer with one Python code block: a program that reads standard input and prints its answer."
)
FUNCTION_INSTRUCTION = "Answer with one Python code block that defines {name}."


def read_apps(path: Path) -> list[Row]:
    """Read APPS and TACO: ``question``, ``input_output`` (JSON), ``solutions``, ``starter_code``.

    Raises:
        ConfigurationError: A row has another layout.
    """
    stem = Path(path).stem

    def read(record: dict[str, Any], number: int, place: str) -> Row:
        require(record, ("question",), place, "APPS")
        starter = record.get("starter_code") or ""
        solutions = _parsed(record.get("solutions") or "[]", place, "solutions")
        gold = solutions[0] if isinstance(solutions, list) and solutions else None
        cases = _parsed(record.get("input_output") or "{}", place, "input_output")
        spec = _spec_of_cases(cases, f"{starter}\n{gold or ''}", place)
        return Row(
            id=f"{stem}-{record.get('problem_id', record.get('id', number))}",
            prompt=_prompt(record["question"], starter, spec),
            spec=spec,
            gold=None if gold is None else _fence(_typed(str(gold))),
            meta={k: record[k] for k in ("difficulty", "source") if record.get(k)},
        )

    return _read(path, read)


def read_livecodebench(path: Path) -> list[Row]:
    """Read LiveCodeBench: ``question_content`` with public and private test cases.

    Private ones are a pickled text, deflated, in base64; only a text is ever unpickled. There are
    no reference solutions.

    Raises:
        ConfigurationError: A row has another layout, or its tests are pickled objects.
    """

    def read(record: dict[str, Any], number: int, place: str) -> Row:
        require(record, ("question_content", "public_test_cases"), place, "LiveCodeBench")
        starter = record.get("starter_code") or ""
        cases = _parsed(record["public_test_cases"], place, "public_test_cases")
        cases = [*cases, *_private_cases(record.get("private_test_cases") or "[]", place)]
        metadata = _parsed(record.get("metadata") or "{}", place, "metadata")
        spec = _spec_of_list(cases, metadata.get("func_name"), starter, place)
        meta = {k: record[k] for k in ("platform", "difficulty", "contest_date") if record.get(k)}
        prompt = _prompt(record["question_content"], starter, spec)
        return Row(f"lcb-{record.get('question_id', number)}", prompt, spec, None, meta)

    return _read(path, read)


def read_codecontests(path: Path) -> list[Row]:
    """Read CodeContests: ``description`` with public, private and generated tests.

    Raises:
        ConfigurationError: A row has another layout.
    """

    def read(record: dict[str, Any], number: int, place: str) -> Row:
        require(record, ("description",), place, "CodeContests")
        groups = [record.get(f"{kind}_tests") or {} for kind in ("public", "private", "generated")]
        cases = {
            key: [text for group in groups for text in group.get(f"{key[:-1]}") or []]
            for key in ("inputs", "outputs")
        }
        spec = _spec_of_cases(cases, "", place)
        limit = record.get("time_limit") or {}
        if seconds := float(limit.get("seconds") or 0) + float(limit.get("nanos") or 0) / 1e9:
            spec["limits"] = {"cpu_s": seconds}
        solved = record.get("solutions") or {}
        pairs = zip(solved.get("language") or [], solved.get("solution") or [], strict=True)
        gold = next((text for language, text in pairs if language == PYTHON3), None)
        return Row(
            id=str(record.get("name", f"codecontests-{number}")),
            prompt=_prompt(record["description"], "", spec),
            spec=spec,
            gold=None if gold is None else _fence(gold),
        )

    return _read(path, read)


def read_verl(path: Path) -> list[Row]:
    """Read verl's rows: ``prompt`` and ``reward_model.ground_truth``.

    A ground truth that holds tests (inputs and outputs, with or without fn_name, or assert_case, or
    a list of cases) makes a code task; any other is the answer of a math task.

    Raises:
        ConfigurationError: A row has another layout.
    """

    def read(record: dict[str, Any], number: int, place: str) -> Row:
        require(record, ("prompt", "reward_model"), place, "verl")
        truth = (record["reward_model"] or {}).get("ground_truth")
        if truth is None:
            raise ConfigurationError(f"{place} has no reward_model.ground_truth; verl rows have it")
        prompt: Prompt = record["prompt"]
        hints = prompt if isinstance(prompt, str) else json.dumps(prompt)
        spec = _spec_of_truth(truth, hints, place)
        extra = record.get("extra_info") or {}
        name = f"{record.get('data_source', 'verl')}-{extra.get('split', Path(path).stem)}"
        return Row(f"{name}-{extra.get('index', number)}", prompt, spec)

    return _read(path, read)


def _read(path: Path, read: Callable[[dict[str, Any], int, str], Row]) -> list[Row]:
    """Read all rows that have tests."""
    rows = []
    records = read_jsonl(path)
    for number, record in enumerate(records, 1):
        row = read(record, number, f"{path}, row {number}")
        if _has_tests(row):
            rows.append(row)
    if len(rows) < len(records):
        lost = f"{len(records) - len(rows)} of {len(records)} rows of {path}"
        logger.warning("%s have no tests and are left out", lost)
    return rows


def _has_tests(row: Row) -> bool:
    spec = row.spec if isinstance(row.spec, dict) else {}
    return spec["type"] != "code" or bool(spec.get("tests") or spec.get("test_code"))


def _spec_of_truth(truth: Any, hints: str, place: str) -> dict[str, Any]:
    try:
        data = json.loads(truth) if isinstance(truth, str) else truth
    except ValueError:
        data = truth
    if isinstance(data, dict) and isinstance(data.get("assert_case"), list):
        code = "".join(f"{case}\n" for case in data["assert_case"])
        return {"type": "code", "style": "assert", "test_code": code}
    if isinstance(data, dict) and "inputs" in data:
        return _spec_of_cases(data, hints, place)
    if isinstance(data, list) and data and all(isinstance(c, dict) for c in data):
        return _spec_of_list(data, None, hints, place)
    return {"type": "math", "answer": str(truth)}


def _spec_of_cases(cases: Any, hints: str, place: str) -> dict[str, Any]:
    """Make a spec of parallel lists: {"inputs", "outputs"}, and fn_name for calls.

    Results of calls are wrapped in a list of one throughout a problem, or not at all.
    """
    if not isinstance(cases, dict):
        raise ConfigurationError(
            f"{place} has tests of the form {cases!r:.60}; give inputs, outputs"
        )
    inputs, outputs = cases.get("inputs") or [], cases.get("outputs") or []
    if len(inputs) != len(outputs):
        raise ConfigurationError(f"{place} has {len(inputs)} inputs and {len(outputs)} outputs")
    if name := cases.get("fn_name"):
        if all(isinstance(out, list) and len(out) == 1 for out in outputs):
            outputs = [out[0] for out in outputs]
        tests = [
            {"args": given if isinstance(given, list) else [given], "expected": out}
            for given, out in zip(inputs, outputs, strict=True)
        ]
        return _calls(name, hints, tests)
    tests = [
        {"input": _text(given), "output": _text(out)}
        for given, out in zip(inputs, outputs, strict=True)
    ]
    return _programs(tests)


def _spec_of_list(cases: Any, name: str | None, hints: str, place: str) -> dict[str, Any]:
    """Make a spec of a list of {"input", "output", "testtype"}, and a function's name for calls."""
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise ConfigurationError(
            f"{place} has tests of the form {cases!r:.60}; give a list of cases"
        )
    for case in cases:
        require(case, ("input", "output"), place, "test case")
    functional = [case for case in cases if case.get("testtype") == "functional"]
    name = name or next((c["metadata"]["func_name"] for c in cases if c.get("metadata")), None)
    if not functional:
        tests = [{"input": _text(c["input"]), "output": _text(c["output"])} for c in cases]
        return _programs(tests)
    if len(functional) < len(cases) or not name:
        raise ConfigurationError(
            f"{place} has {len(functional)} functional tests of {len(cases)} and the function"
            f" {name!r}; all must be functional, and metadata.func_name must name the function"
        )
    calls = [
        {
            "args": [_parsed(line, place, "input") for line in case["input"].splitlines() if line],
            "expected": _parsed(case["output"], place, "output"),
        }
        for case in cases
    ]
    return _calls(name, hints, calls)


def _programs(tests: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "code", "style": "stdin", "tests": tests, "float_tolerance": FLOAT_TOLERANCE}


def _calls(name: str, hints: str, tests: list[dict[str, Any]]) -> dict[str, Any]:
    method = "class Solution" in hints and "." not in name
    entry_point = f"Solution.{name}" if method else name
    return {
        "type": "code",
        "style": "function",
        "entry_point": entry_point,
        "tests": tests,
        "float_tolerance": FLOAT_TOLERANCE,
    }


def _private_cases(text: str, place: str) -> list[Any]:
    """Read private test cases: JSON, or base64 of deflated pickle of JSON."""
    if text.lstrip().startswith("["):
        return list(_parsed(text, place, "private_test_cases"))
    try:
        inflate = zlib.decompressobj()
        packed = inflate.decompress(base64.b64decode(text), MAX_PRIVATE_MB << 20)
        if inflate.unconsumed_tail:
            raise ValueError(f"more than {MAX_PRIVATE_MB} MB")
        content = _TextUnpickler(io.BytesIO(packed)).load()
        if not isinstance(content, str):
            raise pickle.UnpicklingError(f"it holds {type(content).__name__}")
    except (binascii.Error, zlib.error, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise ConfigurationError(
            f"{place} has private_test_cases that cannot be read ({error}); they are JSON, or"
            " base64 of zlib of a pickled JSON text, and nothing but a text is unpickled"
        ) from None
    return list(_parsed(content, place, "private_test_cases"))


class _TextUnpickler(pickle.Unpickler):
    """Loads built-in data and refuses every class and function: nothing can be run by it."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def _parsed(text: Any, place: str, field: str) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigurationError(
            f"{place} has {field} that is no JSON ({error}): {text!r:.60}"
        ) from None


def _text(value: Any) -> str:
    """Return a stdin text; some rows have it as a list of lines."""
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _prompt(question: str, starter: str, spec: dict[str, Any]) -> str:
    instruction = STDIN_INSTRUCTION
    if entry_point := spec.get("entry_point"):
        instruction = FUNCTION_INSTRUCTION.format(name=entry_point)
    begin = f"\n\nBegin with this:\n\n{_fence(_typed(starter))}" if starter.strip() else ""
    return f"{question}\n\n{instruction}{begin}"


def _typed(code: str) -> str:
    """Import what LeetCode's judge imports unasked: its starters say List and mean typing.List."""
    names = sorted(set(re.findall(r"\b(?:List|Dict|Set|Tuple|Optional)\b(?=\[)", code)))
    if not names or "import" in code:
        return code
    return f"from typing import {', '.join(names)}\n\n{code}"


def _fence(code: str) -> str:
    return f"```python\n{code.rstrip()}\n```"
