"""Ask LeanDojo where the theorems of a file are; run as a script, in a process of its own.

For LeanDojo takes the process that imports it for its own: it changes the working directory, the
logging and the environment, starts Ray, and holds gigabytes of syntax trees. Its API is that of
4.20.0: LeanGitRepo, get_traced_repo_path, TracedFile, TracedTheorem.

    python lean_dojo_reader.py REPOSITORY           trace it: clone, build, run its extractor
    python lean_dojo_reader.py REPOSITORY FILE      print the theorems of a file as JSON
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def main(repository: str, file: str = "") -> None:
    """Do what the command line says; LeanDojo's own output goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if file:  # or it would download somebody's trace when it looks whether there is one
        os.environ["DISABLE_REMOTE_CACHE"] = "1"
    from lean_dojo import get_traced_repo_path, is_available_in_cache

    repo = open_repository(repository)
    if not file:
        answer: dict[str, Any] = {"project": str(get_traced_repo_path(repo))}
    elif is_available_in_cache(repo):
        answer = read_file(get_traced_repo_path(repo), repo, Path(file))
    else:
        answer = {"untraced": f"{repo.url}@{repo.commit}"}
    print(json.dumps(answer), file=answers, flush=True)


def open_repository(repository: str) -> Any:
    """Return the LeanGitRepo of "URL@COMMIT" or of a local path."""
    from lean_dojo import LeanGitRepo

    if Path(repository).is_dir():
        return LeanGitRepo.from_path(Path(repository).resolve())
    url, _, commit = repository.rpartition("@")
    return LeanGitRepo(url, commit)


def read_file(project: Path, repo: Any, file: Path) -> dict[str, Any]:
    """Return a file's text and where its theorems begin: positions are line and column, from 1."""
    from lean_dojo import Theorem, TracedFile, TracedTheorem
    from lean_dojo.data_extraction import ast
    from lean_dojo.utils import to_json_path

    trace = project / to_json_path(project, file, repo)
    if not trace.is_file():
        return {"absent": str(file)}
    traced = TracedFile.from_traced_file(project, trace, repo)
    theorems: dict[str, Any] = {}

    def visit(node: Any, parents: list[Any]) -> None:
        kinds = (ast.CommandTheoremNode, ast.LemmaNode, ast.MathlibTacticLemmaNode)
        if not (isinstance(node, kinds) and isinstance(node.full_name, str)):
            return
        command = [*parents, node][1]  # the first is the file
        theorem = Theorem(repo, file, node.full_name)
        proof, _ = TracedTheorem(traced.root_dir, theorem, node, [], traced).locate_proof()
        places = {"start": list(command.start), "proof": list(proof)}
        theorems[node.full_name] = {**places, "private": node.is_private()}

    traced.traverse_preorder(visit)
    header = traced.ast.children[0].end
    return {
        "project": str(project),
        "text": traced.abs_path.read_bytes().decode(),
        "header": list(header) if header else [1, 1],
        "theorems": theorems,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
