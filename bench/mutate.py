"""Make a right program wrong in one way: every value that it returns is replaced by an object."""

from __future__ import annotations

import ast

from rewards import Completion
from rewards.verifiers.code.asserts import parse_quietly
from rewards.verifiers.code.extract import extract_program


def change_returns(completion: str) -> str | None:
    """Replace the values of all top-level functions' returns; None if there is none to replace.

    The new value is a string that no test expects, so a grader that still pays is wrong.
    """
    program = extract_program(Completion(completion))
    if program is None:
        return None
    tree = parse_quietly(program.text)
    changed = _Changer()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            changed.visit(node)
    return f"```python\n{ast.unparse(tree)}\n```" if changed.count else None


class _Changer(ast.NodeTransformer):
    count = 0

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.count += 1
        return ast.Return(ast.Constant("a value that no test expects"))
