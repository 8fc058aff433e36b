"""Compare a compiled submission with the compiled statement, in a process apart.

Two implementations say the same: `inside/Compare.lean`, run by Lean itself, is for production;
`PythonComparer` knows the format of Lean 4.35 only and reads every import that a proof leads to, so
it is for small imports: tests, and machines without the `Lean` library. Too slow for Mathlib.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol, Self, get_args

from rewards.verifiers.lean.commands import INSIDE, inside_modules, program
from rewards.verifiers.lean.inside.heap import OleanError
from rewards.verifiers.lean.inside.olean import Module
from rewards.verifiers.lean.inside.show import name_parts, parse_name, show_name
from rewards.verifiers.lean.inside.terms import Terms
from sandbox import Job, Limits, Outcome, Sandbox

Code = Literal[
    "ok",
    "olean",
    "imports",
    "redefines_import",
    "missing",
    "kind",
    "type",
    "statement_constant",
    "unsafe",
    "partial",
    "axiom",
]
"""What is wrong with a submission, the first of these that is: an odd or unreadable file, other
imports, a constant of an import declared anew; no such constant, no theorem, another type, a
constant of the statement changed; a proof from unsafe or partial constants, or foreign axioms."""

MODULES = ("heap", "terms", "olean", "reach", "show", "compare", "job")
"""The modules of the job, each after those that it imports."""
LIMITS = Limits(cpu_s=30, memory_mb=2048, disk_mb=256)
IMPORTS = """
import base64, json, zlib
from {inside}.compare import Imports
packed = json.loads({packed!r})
IMPORTS = Imports({{n: zlib.decompress(base64.b64decode(data)) for n, data in packed.items()}})
del packed
"""
MOST_IMPORTED = 64 << 20
"""Bytes of imports that are read; Lean's own library has ten times as many."""


NO_THEOREM = "the target has no theorem"
"""How both implementations begin to say that."""


class CannotCompare(RuntimeError):
    """The machine or the target is at fault, whatever was submitted; the message says what is."""


class NoTheorem(CannotCompare):
    """The target has no theorem of the name."""


@dataclass(frozen=True)
class Comparison:
    """What a submission is, compared with its target: facts, and no judgement."""

    code: Code
    reason: str
    """One sentence for a person; with both types, shortened, where they differ."""
    axioms: tuple[str, ...] = ()
    """Every axiom that the proof rests on. Known once the statement is found unchanged, like all
    that follows."""
    foreign: tuple[str, ...] = ()
    """Those that are not allowed; also one of an allowed name that the submission declares."""
    sorry: bool = False
    """Whether `sorryAx` is among them."""
    only_sorry: bool = False
    """Whether the proof, behind its parameters, is nothing but `sorryAx` applied; also by way of
    theorems of the submission of which that is true."""
    unused_axioms: tuple[str, ...] = ()
    """Axioms that the submission declares and the proof does not rest on."""
    new_constants: int = 0
    """How many constants the submission has that the target lacks."""

    @classmethod
    def from_report(cls, report: Mapping[str, Any]) -> Self:
        """Check the report of a comparer.

        Raises:
            CannotCompare: If it says that the target is at fault, or is no report.
        """
        if "target_error" in report:
            error = str(report["target_error"])
            raise (NoTheorem if error.startswith(NO_THEOREM) else CannotCompare)(error)
        known = {field.name for field in fields(cls)}
        if report.get("code") not in get_args(Code) or not report.keys() <= known:
            raise CannotCompare(f"no report of a comparer: {report!r:.200}")
        values: dict[str, Any] = {k: tuple(v) if type(v) is list else v for k, v in report.items()}
        return cls(**values)


class Comparer(Protocol):
    """Compares two compiled files of one toolchain."""

    def compare(
        self, target: bytes, submission: bytes, name: str, allowed_axioms: Sequence[str]
    ) -> Comparison:
        """Compare a submission with a target.

        A target compared with itself gives code "axiom", for its `sorryAx`: a check, when a task is
        made, that targets of this kind can be compared here at all.

        Args:
            target: The .olean file of header, preamble and `statement sorry`.
            submission: The .olean file of header, preamble and submission, compiled under the same
                file name, which is part of the names of private constants.
            name: The theorem.
            allowed_axioms: The axioms that it may use.

        Raises:
            CannotCompare: If the machine or the target is at fault.
        """
        ...


class PythonComparer:
    """Reads .olean files of Lean 4.35 in a sandbox; nothing of Lean is needed.

    Args:
        sandbox: Where.
        search_path: The folders with the .olean files of imports.
    """

    def __init__(self, sandbox: Sandbox, search_path: Sequence[Path] = ()) -> None:
        self.sandbox, self.search_path = sandbox, tuple(search_path)

    def compare(
        self, target: bytes, submission: bytes, name: str, allowed_axioms: Sequence[str]
    ) -> Comparison:
        """Compare a submission with a target; see `Comparer`."""
        imports, source = _write_imports(_list_imports(target), self.search_path)
        task = {"imports": imports, "name": name, "allowed_axioms": list(allowed_axioms)}
        given = {"task.json": json.dumps(task).encode()}
        given |= {"target.olean": target, "submission.olean": submission}
        modules = {**inside_modules(*MODULES), imports: source}
        job = Job(program("job"), files=given, modules=modules, limits=LIMITS)
        return _read(self.sandbox.run(job, trusted=True))


def write_request(target: str, submission: str, name: str, allowed_axioms: Sequence[str]) -> str:
    """Write the request of Compare.lean: the paths of both files, and names by their parts."""
    terms = Terms()

    def parts(text: str) -> list[str | int]:
        return name_parts(terms, parse_name(terms, text))

    request = {"target": target, "submission": submission, "name": parts(name)}
    return json.dumps({**request, "allowed_axioms": [parts(axiom) for axiom in allowed_axioms]})


def read_report(stdout: bytes, nonce: str) -> Comparison:
    """Read what Compare.lean printed: a line of the nonce, a space and JSON.

    Raises:
        CannotCompare: If there is no such line, or it says that the target is at fault.
    """
    start = f"{nonce} ".encode()
    reports = [line[len(start) :] for line in stdout.splitlines() if line.startswith(start)]
    if len(reports) != 1:
        raise CannotCompare(
            f"the comparer gave no report: {stdout[-500:].decode('utf-8', 'replace')}"
        )
    return Comparison.from_report(json.loads(reports[0]))


def _read(outcome: Outcome) -> Comparison:
    if outcome.infra_error is not None:
        raise CannotCompare(outcome.infra_error)
    if outcome.limit == "wall":  # it never sleeps, so the machine was slow
        raise CannotCompare("the comparer got too little of the processor within its wall limit")
    if outcome.limit is not None:
        return Comparison("olean", f"reading it took more than its {outcome.limit} limit")
    if not outcome.ok:
        said = outcome.stderr[-2000:].decode("utf-8", "replace")
        raise CannotCompare(f"the comparer failed: {said}")
    return Comparison.from_report(json.loads(outcome.result))


@lru_cache(maxsize=256)
def _list_imports(target: bytes) -> tuple[str, ...]:
    return _imported(target)


@lru_cache(maxsize=8)
def _write_imports(modules: tuple[str, ...], search_path: tuple[Path, ...]) -> tuple[str, str]:
    """Return the name and the source of a module that holds the imports, read.

    Agents keep it: to read the imports takes ten times what a comparison takes.
    """
    found = _collect(modules, search_path)
    packed = {name: b64encode(zlib.compress(data)).decode() for name, data in found.items()}
    source = IMPORTS.format(inside=INSIDE, packed=json.dumps(packed))
    return f"{INSIDE}.imports_{sha256(source.encode()).hexdigest()}", source


def _collect(modules: tuple[str, ...], search_path: tuple[Path, ...]) -> dict[str, bytes]:
    """Find the .olean file of each of these modules, and of each that they import."""
    found: dict[str, bytes] = {}
    waiting = list(modules)
    while waiting:
        if (module := waiting.pop()) in found:
            continue
        found[module] = _find(module, search_path)
        waiting += _imported(found[module])
        if sum(map(len, found.values())) > MOST_IMPORTED:
            raise CannotCompare(
                f"the imports are more than {MOST_IMPORTED >> 20} MB, which only the comparer in"
                " Lean reads"
            )
    return found


def _imported(data: bytes) -> tuple[str, ...]:
    terms = Terms()
    try:
        return tuple(show_name(terms, name) for name, _ in Module(data, terms).imports)
    except OleanError as error:
        raise CannotCompare(f"the target or an import of it cannot be read: {error}") from error


def _find(module: str, search_path: tuple[Path, ...]) -> bytes:
    relative = Path(*module.split(".")).with_suffix(".olean")
    for folder in search_path:
        if (folder / relative).is_file():
            return (folder / relative).read_bytes()
    raise CannotCompare(f"no {relative} in {', '.join(map(str, search_path)) or 'no search path'}")
