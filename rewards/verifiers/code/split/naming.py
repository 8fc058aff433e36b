"""What test code says of the program's names, as far as a reader can tell."""

from __future__ import annotations

import ast
import builtins
import re
import sys

CLASS_NAME = re.compile(r"_*[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*|_*[A-Z]{2,}[0-9]*")
PLAIN_ATTRIBUTES = {
    name for kind in (int, float, str, bytes, list, tuple, dict, set, complex) for name in dir(kind)
}
ALIASES = {"np": "numpy", "pd": "pandas"}
CHECKS = {"isinstance": 1, "issubclass": 1, "assertIsInstance": 1, "raises": 0, "assertRaises": 0}
"""Where these functions take a class."""


def bound_names(tree: ast.AST) -> set[str]:
    """Return every name that test code itself defines, imports or assigns, at any depth."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names


def wanted_names(tree: ast.AST, entry_point: str | None = None) -> list[str]:
    """Return the names that the program must provide: free ones that are no built-ins."""
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    free = {n for n in used - bound_names(tree) if not hasattr(builtins, n)}
    entry = {entry_point.partition(".")[0]} if entry_point else set()
    return sorted(free - set(trusted_modules(tree)) | (entry & used))


def trusted_modules(tree: ast.AST) -> dict[str, str]:
    """Return the free names that mean a module which the tests forgot to import.

    The program may well have imported it; but then the tests would ask the program what is close,
    or sorted, or random.
    """
    bound = bound_names(tree)
    called = {_root(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    bare = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and _is_name(n.func)}
    rooted = called | {_root(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    known = {name: ALIASES.get(name, name) for name in rooted - bound - bare if name}
    return {n: m for n, m in known.items() if n in ALIASES or m in sys.stdlib_module_names}


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def class_names(tree: ast.AST, entry_point: str | None = None) -> list[str]:
    """Return the names that test code uses as classes, or as makers of objects.

    Used outright: `isinstance(x, N)`, `raises(N)`, `except N`, `N.attribute`, `with N(...)`,
    `N(...).method`, an annotation. Or bound to a variable, `v = N(...)`, if N is written as classes
    are and is not the function to be tested, or `v.method` is nothing that plain data has.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        found |= _used_outright(node)
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            found |= _bound_to_objects(scope, entry_point)
    imported = _imported_elsewhere(tree)
    return sorted(n for n in found - imported if not hasattr(builtins, n))


def _used_outright(node: ast.AST) -> set[str]:
    if (
        isinstance(node, ast.Call)
        and (place := CHECKS.get(_last_name(node.func) or "")) is not None
    ):
        return {n for arg in node.args[place : place + 1] for n in _names(arg)}
    if isinstance(node, ast.ExceptHandler) and node.type is not None:
        return _names(node.type)
    if isinstance(node, ast.withitem):
        return _maker(node.context_expr)
    if isinstance(node, ast.Attribute):
        owner = node.value
        name = (
            {owner.id} if isinstance(owner, ast.Name) and CLASS_NAME.fullmatch(owner.id) else set()
        )
        return (
            name
            | (set() if node.attr in PLAIN_ATTRIBUTES else _maker(owner))
            | {n for n in _maker(owner) if CLASS_NAME.fullmatch(n)}
            | _member(owner)
        )
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        return _names(node.annotation)
    return set()


def _member(owner: ast.expr) -> set[str]:
    """Return N of `solution.N.attribute`."""
    if isinstance(owner, ast.Attribute) and CLASS_NAME.fullmatch(owner.attr):
        return {owner.attr}
    return set()


def _bound_to_objects(scope: ast.AST, entry_point: str | None) -> set[str]:
    made: dict[str, set[str]] = {}
    written: set[str] = set()
    found: set[str] = set()
    attributes: dict[str, set[str]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                made.setdefault(ast.unparse(target), set()).update(_maker(node.value))
        elif isinstance(node, ast.Return | ast.Yield) and node.value is not None:
            written |= _maker(node.value)
        elif isinstance(node, ast.NamedExpr):
            made.setdefault(node.target.id, set()).update(_maker(node.value))
        elif isinstance(node, ast.Attribute):
            attributes.setdefault(ast.unparse(node.value), set()).add(node.attr)
    for variable, makers in made.items():
        rich = attributes.get(variable, set()) - PLAIN_ATTRIBUTES
        written |= makers
        found |= makers if rich else set()
    return found | {n for n in written if CLASS_NAME.fullmatch(n) and n != entry_point}


def _maker(value: ast.expr) -> set[str]:
    """Return N of `N(...)` or `solution.N(...)`."""
    name = _last_name(value.func) if isinstance(value, ast.Call) else None
    return {name} if name else set()


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _names(node: ast.expr) -> set[str]:
    found = (_last_name(n) for n in ast.walk(node) if isinstance(n, ast.expr))
    return {name for name in found if name}


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else None


def _imported_elsewhere(tree: ast.AST) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "solution"
        for alias in node.names
    }
