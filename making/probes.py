"""Choose hidden tests that tell a right program from the wrong ones that resemble it.

The rivals are mutants of the reference (a constant off by one, an operator swapped, a statement
forgotten). Tests are taken greedily until every rival that differs at all fails one of them. Only
our own templates and their mutants are executed here, never a model's text.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

MIN_TESTS, MAX_TESTS = 4, 6

FAILED = "<failed>"

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip

NAMES = {"max": "min", "min": "max", "any": "all", "all": "any", "sum": "len", "len": "sum"}


def compile_function(source: str, entry_point: str = "f") -> Callable[..., Any]:
    """Make the function that a template's source defines."""
    namespace: dict[str, Any] = {}
    exec(compile(source, "<template>", "exec"), namespace)
    function: Callable[..., Any] = namespace[entry_point]
    return function


def call(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call on a copy of the arguments; a mutant that raises gives FAILED."""
    try:
        return function(*copy.deepcopy(list(args)))
    except Exception:  # a mutant may fail in any way, and failing is all we want to know of it
        return FAILED


def mutate(source: str) -> Iterator[str]:
    """Yield programs that differ from the source in one constant, operator or statement."""
    count = sum(1 for _ in ast.walk(ast.parse(source)))
    for index in range(count):
        for change in (_shift_up, _shift_down, _swap, _rename, _forget):
            tree = ast.parse(source)
            node = next(node for i, node in enumerate(ast.walk(tree)) if i == index)
            if change(node):
                yield ast.unparse(ast.fix_missing_locations(tree))


def choose_tests(
    source: str, arguments: Sequence[Sequence[Any]], entry_point: str = "f"
) -> list[dict[str, Any]]:
    """Pick 4 to 6 tests of a program that its mutants fail.

    Args:
        source: The reference program.
        arguments: Candidate argument lists, preferred in this order among equally telling ones.
        entry_point: The function's name.

    Returns:
        Tests in the layout of the code verifier: ``{"args": [...], "expected": ...}``.
    """
    reference = compile_function(source, entry_point)
    expected = [call(reference, args) for args in arguments]
    answers = [
        [call(rival, args) for args in arguments]
        for rival in (compile_function(text, entry_point) for text in mutate(source))
    ]
    # A program that always says the same is a rival too.
    answers += [[value] * len(arguments) for value in _distinct(expected)]
    kills = [
        {r for r, answer in enumerate(answers) if answer[a] != expected[a]}
        for a in range(len(arguments))
    ]
    killed = [0] * len(answers)
    killable = set().union(*kills)
    chosen: list[int] = []

    def worth(a: int) -> float:
        # Each further kill of a rival counts half: it grades wrong programs more finely.
        return sum(0.5 ** killed[r] for r in sorted(kills[a]))

    while len(chosen) < MIN_TESTS or (
        len(chosen) < MAX_TESTS and any(killed[r] == 0 for r in killable)
    ):
        best = max((a for a in range(len(arguments)) if a not in chosen), key=worth)
        chosen.append(best)
        for r in kills[best]:
            killed[r] += 1
    return [{"args": list(arguments[a]), "expected": expected[a]} for a in chosen]


def _distinct(values: Sequence[Any]) -> list[Any]:
    return [value for i, value in enumerate(values) if value not in values[:i]]


def _shift_up(node: ast.AST) -> bool:
    return _shift(node, 1)


def _shift_down(node: ast.AST) -> bool:
    return _shift(node, -1)


def _shift(node: ast.AST, by: int) -> bool:
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        return False
    node.value += by
    return True


def _swap(node: ast.AST) -> bool:
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in SWAPS:
        node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
        return True
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[call-overload]
        return True
    return False


def _rename(node: ast.AST) -> bool:
    if not isinstance(node, ast.Name) or node.id not in NAMES:
        return False
    node.id = NAMES[node.id]
    return True


def _forget(node: ast.AST) -> bool:
    body = getattr(node, "body", None)
    if not isinstance(body, list) or len(body) < 2 or isinstance(body[0], ast.ImportFrom):
        return False
    del body[0]
    return True
