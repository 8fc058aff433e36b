"""Theorems of a traced repository: with a stand-in for LeanDojo, and with itself where it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rewards.errors import ConfigurationError, MissingExtraError, SpecError
from rewards.verifiers.lean.backends import lean_dojo
from rewards.verifiers.lean.backends.lean_dojo import cut_out, find_theorem
from rewards.verifiers.lean.setup import LeanMissing, LeanSetup

TEXT = """/- A file -/
import Init.Core
import Init.Data.Nat

namespace Aα
def s := "-- no comment"

open Nat in
/-- Two. -/
theorem two : 1 + 1 = 2 := by
  decide

private theorem mine : True := trivial
theorem shape : Nonempty Nat where
  p := 0
"""
COMMANDS = ("open Nat in", "private", "theorem shape")
STAND_IN = """
import json, os, types
from pathlib import Path
print("chatter on stdout")
class Pos(tuple): pass
class Node:
    def __init__(self, **facts): self.__dict__.update(facts)
    def is_private(self): return self.private
class CommandTheoremNode(Node): pass
class LemmaNode(Node): pass
class MathlibTacticLemmaNode(Node): pass
class LeanGitRepo:
    def __init__(self, url, commit): self.url, self.commit = url, commit
    @classmethod
    def from_path(cls, path): return cls(str(path), "head")
def is_available_in_cache(repo): return repo.commit != "new"
def get_traced_repo_path(repo): return Path(os.environ["PROJECT"])
class Theorem:
    def __init__(self, repo, file_path, full_name): pass
class TracedTheorem:
    def __init__(self, root_dir, theorem, ast, comments, traced_file): self.ast = ast
    def locate_proof(self): return self.ast.proof, None
class TracedFile:
    root_dir = None
    @classmethod
    def from_traced_file(cls, root, path, repo):
        self = cls()
        self.abs_path = root / "A.lean"
        self.data = json.loads(path.read_text())
        header = Node(end=Pos(self.data["header"]), start=Pos((2, 1)))
        self.ast = Node(children=[header], start=Pos((1, 1)))
        return self
    def traverse_preorder(self, callback):
        for name, t in self.data["theorems"].items():
            node = CommandTheoremNode(full_name=name, **t)
            command = Node(start=Pos(t["start"]))
            callback(command, [self.ast])
            callback(node, [self.ast, command, Node(start=None)])
"""


def place(of: str, after: bool = False) -> list[int]:
    """Return line and column, from 1, of some words, as LeanDojo counts."""
    offset = TEXT.index(of) + (len(of) if after else 0)
    line = TEXT.count("\n", 0, offset) + 1
    return [line, offset - (TEXT.rfind("\n", 0, offset) + 1) + 1]


def theorem(start: str, proof: str, private: bool = False) -> dict[str, Any]:
    return {"start": place(start), "proof": place(proof), "private": private}


THEOREMS = {
    "Aα.two": theorem("open Nat in", "by\n"),
    "Aα.mine": theorem("private", "trivial", private=True),
    "Aα.shape": theorem("theorem shape", "p := 0"),
}
FOUND = {
    "project": "/p",
    "text": TEXT,
    "header": place("Init.Data.Nat", after=True),
    "theorems": THEOREMS,
}


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LeanSetup:
    """A repository that the stand-in has traced."""
    package = tmp_path / "site" / "lean_dojo"
    (package / "data_extraction").mkdir(parents=True)
    names = "CommandTheoremNode, LemmaNode, MathlibTacticLemmaNode"
    (package / "__init__.py").write_text(STAND_IN)
    (package / "utils.py").write_text(
        "def to_json_path(root, path, repo): return path.with_suffix('.ast.json')\n"
    )
    (package / "data_extraction" / "__init__.py").write_text("")
    (package / "data_extraction" / "ast.py").write_text(f"from lean_dojo import {names}\n")
    (tmp_path / "A.lean").write_text(TEXT)
    (tmp_path / "A.ast.json").write_text(json.dumps(FOUND))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("PROJECT", str(tmp_path))
    monkeypatch.setattr(lean_dojo, "find_spec", lambda name: True)
    lean_dojo.read_file.cache_clear()
    return LeanSetup(dojo=str(tmp_path))


def test_a_theorem_is_cut_out_with_all_before_it() -> None:
    found = cut_out(FOUND, "A.lean", "Aα.two")
    assert found.header == TEXT[: TEXT.index("\n\nnamespace")]
    assert found.preamble == '\n\nnamespace Aα\ndef s := "-- no comment"\n\n'
    assert found.statement == "open Nat in\n/-- Two. -/\ntheorem two : 1 + 1 = 2 :="
    assert TEXT.startswith(found.text)


def test_lines_end_where_lean_ends_them() -> None:
    odd = TEXT.replace("no comment", "no\x0b\u2028comment")
    assert cut_out({**FOUND, "text": odd}, "A.lean", "Aα.two").statement.endswith("2 :=")


@pytest.mark.parametrize(
    ("name", "why"),
    [("two", "Did you mean 'Aα.two'"), ("Aα.mine", "private"), ("Aα.shape", "struc")],
)
def test_what_cannot_be_asked_for_is_refused(name: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        cut_out(FOUND, "A.lean", name)


def test_a_theorem_is_found_through_lean_dojo(traced: LeanSetup) -> None:
    found = find_theorem(traced, "A.lean", "Aα.two")
    assert found.statement == "open Nat in\n/-- Two. -/\ntheorem two : 1 + 1 = 2 :="
    assert found.project == traced.dojo


def test_a_file_is_read_once(traced: LeanSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    find_theorem(traced, "A.lean", "Aα.two")
    monkeypatch.setattr(lean_dojo, "READER", Path("gone"))
    assert find_theorem(traced, "A.lean", "Aα.two")


def test_a_file_without_a_trace_is_refused(traced: LeanSetup) -> None:
    with pytest.raises(SpecError, match=r"no trace of a file 'B\.lean'"):
        find_theorem(traced, "B.lean", "b")


@pytest.mark.parametrize("file", ["/etc/A.lean", "../A.lean", "A.py"])
def test_a_file_is_one_of_the_repository(traced: LeanSetup, file: str) -> None:
    with pytest.raises(SpecError, match="within its repository"):
        find_theorem(traced, file, "b")


@pytest.mark.usefixtures("traced")
def test_an_untraced_repository_is_told_with_the_command() -> None:
    setup = LeanSetup(dojo="https://github.com/a/b@new")
    with pytest.raises(LeanMissing, match=r"lean_dojo_reader\.py https://github.com/a/b@new"):
        find_theorem(setup, "A.lean", "b")


def test_a_lean_dojo_that_fails_is_told(traced: LeanSetup, tmp_path: Path) -> None:
    (tmp_path / "A.ast.json").write_text("{")
    with pytest.raises(LeanMissing, match="JSONDecodeError"):
        find_theorem(traced, "A.lean", "Aα.two")


def test_the_repository_is_the_operators() -> None:
    with pytest.raises(ConfigurationError, match="REWARDS_LEAN_DOJO"):
        find_theorem(LeanSetup(), "A.lean", "two")
    with pytest.raises(ConfigurationError, match="neither a folder nor"):
        find_theorem(LeanSetup(dojo="/no/folder"), "A.lean", "two")


def test_a_missing_lean_dojo_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lean_dojo, "find_spec", lambda name: None)
    lean_dojo.read_file.cache_clear()
    setup = LeanSetup(dojo="https://github.com/a/b@c")
    with pytest.raises(MissingExtraError, match=r"assay-rl\[lean\]"):
        find_theorem(setup, "A.lean", "two")
    monkeypatch.setattr(sys, "version_info", (3, 13))
    with pytest.raises(LeanMissing, match=r"Python 3\.13"):
        find_theorem(setup, "A.lean", "two")


def test_the_operator_names_the_repository_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REWARDS_LEAN_DOJO", "u@c")
    assert LeanSetup.from_environment().dojo == "u@c"


# With LeanDojo itself, and the syntax trees of its extractor made by hand.


def leaf(word: str, kind: str = "atom", near: str = "") -> dict[str, Any]:
    at = TEXT.index(near or word) + (near or word).index(word)
    start = len(TEXT[:at].encode())
    place = {"pos": start, "endPos": start + len(word.encode()), "leading": "", "trailing": ""}
    if kind == "ident":
        return {
            "ident": {"info": {"original": place}, "val": word, "rawVal": word, "preresolved": []}
        }
    return {"atom": {"info": {"original": place}, "val": word}}


def node(kind: str, *args: dict[str, Any]) -> dict[str, Any]:
    return {"node": {"info": "none", "kind": kind, "args": list(args)}}


def declare(
    name: str, signature: str, value: dict[str, Any], modifiers: list[Any]
) -> dict[str, Any]:
    kind = "Lean.Parser.Command."
    word = leaf("theorem", near=f"theorem {name}")
    ident = node(f"{kind}declId", leaf(name, "ident", f"theorem {name}"), node("null"))
    theorem = node(f"{kind}theorem", word, ident, node(f"{kind}declSig", leaf(signature)), value)
    return node(f"{kind}declaration", node(f"{kind}declModifiers", *modifiers), theorem)


def write_trace(project: Path) -> None:
    """Write what LeanDojo's extractor would have written."""
    kind = "Lean.Parser.Command."
    imports = [leaf("import Init.Core"), leaf("import Init.Data.Nat")]
    proof = node("Lean.Parser.Term.byTactic", leaf("by", near="by\n"), leaf("decide"))
    two = node(f"{kind}declValSimple", leaf(":=", near=":= by"), proof, node("null"))
    mine = node(f"{kind}declValSimple", leaf(":=", near=":= trivial"), leaf("trivial"))
    doc = node(f"{kind}docComment", leaf("/--"), leaf("Two. -/"))
    private = node(f"{kind}private", leaf("private"))
    commands = [
        node("Lean.Parser.Module.header", *imports),
        node(f"{kind}namespace", leaf("namespace"), leaf("Aα", "ident")),
        node(
            f"{kind}in",
            node(f"{kind}open", leaf("open Nat")),
            leaf("in", near="Nat in"),
            declare("two", ": 1 + 1 = 2", two, [node("null", doc)]),
        ),
        declare("mine", ": True", mine, [node("null", private)]),
    ]
    traces = project / ".lake/build/ir"
    traces.mkdir(parents=True)
    data = {"commandASTs": commands, "tactics": [], "premises": []}
    (traces / "A.ast.json").write_text(json.dumps(data))
    (traces / "A.dep_paths").write_text("")


@pytest.mark.skipif(find_spec("lean_dojo") is None, reason="LeanDojo is not installed")
def test_a_theorem_is_found_through_the_true_lean_dojo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "demo"
    source.mkdir()
    (source / "A.lean").write_text(TEXT)
    (source / "lean-toolchain").write_text("leanprover/lean4:v4.20.0\n")
    author = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": os.devnull}
    author |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    git = {"cwd": source, "env": {**os.environ, **author}, "check": True, "capture_output": True}
    for command in ("init -q", "add .", "commit -qm demo", "rev-parse HEAD"):
        done = subprocess.run(["git", *command.split()], **git)  # type: ignore[call-overload]
    cached = tmp_path / "cache" / f"gitpython-demo-{done.stdout.decode().strip()}" / "demo"
    cached.mkdir(parents=True)
    (cached / "A.lean").write_text(TEXT)
    write_trace(cached)
    monkeypatch.setenv("CACHE_DIR", str(tmp_path / "cache"))
    lean_dojo.read_file.cache_clear()
    found = find_theorem(LeanSetup(dojo=str(source)), "A.lean", "Aα.two")
    assert found == cut_out({**FOUND, "project": str(cached)}, "A.lean", "Aα.two")
    with pytest.raises(SpecError, match="private"):
        find_theorem(LeanSetup(dojo=str(source)), "A.lean", "Aα.mine")
