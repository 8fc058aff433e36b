"""Asserts of the form `f(literals) == literal` become function tests.

The expected value then never enters the process that runs the model's code. Whatever has another
form is kept as a snippet of test code, one a test, and runs beside the model's code for now.
"""

from __future__ import annotations

import ast
import builtins
import copy
import warnings
from dataclasses import dataclass
from typing import Any, Literal

from rewards.errors import SpecError
from rewards.verifiers.code.values import NotPlain, dumps

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
    expected_args: tuple[Any, ...] | None = None
    """What the arguments must be after the call; `expected` then counts only if not None."""


@dataclass(frozen=True)
class SharedTest:
    """Test code that must run in the same process as the model's code."""

    code: str
    source: str


def parse_quietly(source: str) -> ast.Module:
    r"""Parse code without the warnings that are its author's business, such as "\w" in a string.

    Raises:
        SyntaxError: If it does not parse (or ValueError).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def compile_asserts(test_code: str, entry_point: str | None) -> list[CallTest | SharedTest]:
    """Split test code into tests, one an assert.

    A `check(candidate)` function, as HumanEval has it, counts as its body. Where the tests depend
    on each other (a call between them changes what the model's code remembers), all are shared,
    and each runs after the ones before it.

    Raises:
        SpecError: If the code does not parse, or asserts nothing.
    """
    try:
        module = parse_quietly(test_code)
    except (SyntaxError, ValueError) as error:
        raise SpecError(f"test_code does not parse: {error}") from None
    reader = _Reader(module, _find_check(module, entry_point))
    tests = reader.read()
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


class _Reader:
    """The statements of test code, sorted into tests and what only prepares them."""

    def __init__(self, module: ast.Module, check: _Check | None) -> None:
        self.module, self.check = module, check
        self.body = check.function.body if check else module.body
        self.candidate = check.function.args.args[0].arg if check else None
        self.own = _bound_names(module)

    def read(self) -> list[CallTest | SharedTest]:
        places = [i for i, statement in enumerate(self.body) if self._is_test(statement)]
        calls = {i: self._as_call_test(self.body[i]) for i in places}
        dependent = self._touches_the_model() or _contradict([c for c in calls.values() if c])
        return [
            (None if dependent else calls[i]) or self._as_shared_test(i, dependent) for i in places
        ]

    def _is_test(self, statement: ast.stmt) -> bool:
        """Whether a statement tests something.

        `assert True` is no test, and neither is `random.seed(0)`: each would be credit for nothing.
        """
        if isinstance(statement, ast.ClassDef) and any("TestCase" in b for b in _bases(statement)):
            raise SpecError(f"{statement.name} is a unittest class: give style 'pytest'")
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return False  # a helper: what it asserts counts where it is called
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            function = statement.value.func
            return isinstance(function, ast.Name) and function.id in self.own
        if isinstance(statement, ast.Assert):
            return any(isinstance(node, ast.Name) for node in ast.walk(statement.test))
        return any(
            isinstance(node, ast.Assert | ast.Raise) or _expects_an_exception(node)
            for node in ast.walk(statement)
        )

    def _touches_the_model(self) -> bool:
        """Whether anything between the tests calls the model's code, and may change its state."""
        harmless = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
        between = [s for s in self.body if not isinstance(s, harmless) and not self._is_test(s)]
        called = {_root(n.func) for s in between for n in ast.walk(s) if isinstance(n, ast.Call)}
        return any(name not in self.own and not hasattr(builtins, name) for name in called if name)

    def _as_call_test(self, statement: ast.stmt) -> CallTest | None:
        if not isinstance(statement, ast.Assert):
            return None
        relation, call, expected = _parse_relation(statement.test)
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            return None
        entry = call.func.id
        if self.check and entry == self.candidate:
            entry = self.check.entry
        if entry in self.own or hasattr(builtins, entry):
            return None
        try:
            args = tuple(ast.literal_eval(a) for a in call.args)
            kwargs = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
            wanted = ast.literal_eval(expected) if expected is not None else None
            dumps([args, kwargs, wanted])
        except (ValueError, TypeError, SyntaxError, NotPlain):
            return None
        if any(k.arg is None for k in call.keywords):
            return None
        return CallTest(entry, args, kwargs, relation, wanted, ast.unparse(statement))

    def _as_shared_test(self, index: int, dependent: bool) -> SharedTest:
        """Keep what prepares the test, and of the tests before it only what they change."""
        kept: list[ast.stmt] = []
        for statement in self.body[:index]:
            if not self._is_test(statement):
                kept.append(statement)
            elif dependent:
                kept.append(_tolerate(statement))
        kept.append(self.body[index])
        source = ast.unparse(self.body[index])
        if self.check is None:
            return SharedTest(_unparse(kept), source)
        function = copy.copy(self.check.function)
        function.body = kept
        others = [s for s in self.module.body if not self._is_test(s)]
        replaced = [function if s is self.check.function else s for s in others]
        return SharedTest(f"{_unparse(replaced)}\ncheck({self.check.entry})", source)


def _bound_names(module: ast.Module) -> set[str]:
    """Return every name that the test code itself defines, imports or assigns, at any depth."""
    names: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _bases(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base) for base in node.bases]


def _expects_an_exception(node: ast.AST) -> bool:
    return isinstance(node, ast.withitem) and "raises" in ast.unparse(node.context_expr).lower()


def _root(function: ast.expr) -> str | None:
    while isinstance(function, ast.Attribute | ast.Call):
        function = function.value if isinstance(function, ast.Attribute) else function.func
    return function.id if isinstance(function, ast.Name) else None


def _contradict(calls: list[CallTest]) -> bool:
    """Whether one call is to have two values, so that the function must remember being called."""
    seen: dict[str, CallTest] = {}
    for test in calls:
        given = f"{test.entry_point}{test.args!r}{test.kwargs!r}{test.relation}"
        if seen.setdefault(given, test).expected != test.expected:
            return True
    return False


def _tolerate(statement: ast.stmt) -> ast.stmt:
    handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])
    return ast.Try([statement], [handler], [], [])


def _unparse(statements: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(statements, [])))


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
