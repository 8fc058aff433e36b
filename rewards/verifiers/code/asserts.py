"""Asserts of the form `f(literals) == literal` become function tests.

The expected value then never enters the process that runs the model's code. Whatever has another
form is kept as a snippet of test code, one a test, and runs beside the model's code for now.
"""

from __future__ import annotations

import ast
import builtins
import copy
from dataclasses import dataclass
from typing import Any, Literal

from rewards.errors import SpecError

Relation = Literal["equals", "is", "truthy", "falsy"]


@dataclass(frozen=True)
class CallTest:
    """One call with literal arguments, and what its value must be."""

    entry_point: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    relation: Relation
    expected: Any
    source: str


@dataclass(frozen=True)
class SharedTest:
    """Test code that must run in the same process as the model's code."""

    code: str
    source: str


def compile_asserts(test_code: str, entry_point: str | None) -> list[CallTest | SharedTest]:
    """Split test code into tests, one an assert.

    A `check(candidate)` function, as HumanEval has it, counts as its body.

    Raises:
        SpecError: If the code does not parse, or asserts nothing.
    """
    try:
        module = ast.parse(test_code)
    except (SyntaxError, ValueError) as error:
        raise SpecError(f"test_code does not parse: {error}") from None
    check = _find_check(module, entry_point)
    body = check.function.body if check else module.body
    names = {check.function.args.args[0].arg: check.entry} if check else {}
    own = _defined_names(module)
    tests: list[CallTest | SharedTest] = []
    for index, statement in enumerate(body):
        if not _asserts(statement, own):
            continue
        call = _as_call_test(statement, names)
        if call is None or call.entry_point in own:
            tests.append(_as_shared_test(module, check, body, index, own))
        else:
            tests.append(call)
    if not tests:
        raise SpecError(f"test_code has no assert: {test_code!r:.120}")
    return tests


@dataclass(frozen=True)
class _Check:
    """HumanEval's `check(candidate)`, and the name it is called with."""

    function: ast.FunctionDef
    entry: str


def _find_check(module: ast.Module, entry_point: str | None) -> _Check | None:
    defined = [n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == "check"]
    if len(defined) != 1 or len(defined[0].args.args) != 1:
        return None
    calls = [s.value for s in module.body if isinstance(s, ast.Expr)]
    called = [
        call.args[0].id
        for call in calls
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "check"
        and len(call.args) == 1
        and isinstance(call.args[0], ast.Name)
    ]
    entry = called[0] if called else entry_point
    if entry is None:
        raise SpecError("test_code defines check(candidate) but never calls it: give entry_point")
    return _Check(defined[0], entry)


def _defined_names(module: ast.Module) -> set[str]:
    """Return the names that the test code defines or imports itself."""
    names: set[str] = set()
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return names


def _asserts(statement: ast.stmt, own: set[str]) -> bool:
    """Whether a statement tests something: an assert about a name, or a call of a test helper.

    `assert True` is no test, and neither is `random.seed(0)`: each would be credit for nothing.
    """
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return False  # a helper: what it asserts counts where it is called
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        return isinstance(function, ast.Name) and function.id in own
    asserts = [node for node in ast.walk(statement) if isinstance(node, ast.Assert)]
    return any(isinstance(n, ast.Name) for a in asserts for n in ast.walk(a.test))


def _as_call_test(statement: ast.stmt, names: dict[str, str]) -> CallTest | None:
    if not isinstance(statement, ast.Assert):
        return None
    relation, call, expected = _parse_relation(statement.test)
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        return None
    entry = names.get(call.func.id, call.func.id)
    if hasattr(builtins, entry) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    try:
        args = tuple(ast.literal_eval(a) for a in call.args)
        kwargs = {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg}
        wanted = ast.literal_eval(expected) if expected is not None else None
    except (ValueError, TypeError, SyntaxError):
        return None
    if len(kwargs) != len(call.keywords):
        return None
    return CallTest(entry, args, kwargs, relation, wanted, ast.unparse(statement))


def _parse_relation(test: ast.expr) -> tuple[Relation, ast.expr, ast.expr | None]:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if isinstance(right, ast.Call) and not isinstance(left, ast.Call):
            left, right = right, left
        if isinstance(test.ops[0], ast.Eq):
            return "equals", left, right
        # Identity of anything but these three depends on the interpreter.
        constant = right.value if isinstance(right, ast.Constant) else ...
        if isinstance(test.ops[0], ast.Is) and (constant is None or isinstance(constant, bool)):
            return "is", left, right
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return "falsy", test.operand, None
    return "truthy", test, None


def _as_shared_test(
    module: ast.Module, check: _Check | None, body: list[ast.stmt], index: int, own: set[str]
) -> SharedTest:
    """Keep everything that asserts nothing, and of the asserts only this one."""
    kept = [s for i, s in enumerate(body) if i == index or (i < index and not _asserts(s, own))]
    source = ast.unparse(body[index])
    if check is None:
        return SharedTest(ast.unparse(ast.Module(kept, [])), source)
    function = copy.copy(check.function)
    function.body = kept
    rest = [s for s in module.body if not _asserts(s, own)]
    others = [function if s is check.function else s for s in rest]
    call = ast.parse(f"check({check.entry})").body
    return SharedTest(ast.unparse(ast.Module([*others, *call], [])), source)
