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
SUBMODULES = ("os.path", "urllib.request")
UNPATCHED = {"sys", "unittest", "types", "typing", "pydoc", "this", "antigravity", "__future__"}
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
    return sorted(free | (entry & used))


def trusted_modules(tree: ast.AST) -> dict[str, list[str]]:
    """Return the free names that may mean a module which the tests forgot to import.

    The program may well have imported it; but then the tests would ask the program what is close,
    or sorted, or random. Each name comes with the module's and the attributes that it then has.
    """
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    bare = {function.id for function in calls if isinstance(function, ast.Name)}
    used: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.value.id
            module = ALIASES.get(name, name)
            if name in ALIASES or module in sys.stdlib_module_names:
                used.setdefault(name, [module]).append(node.attr)
    return {n: parts for n, parts in used.items() if n not in bound_names(tree) | bare}


def patched_modules(code: str) -> list[str]:
    """Return the modules of the standard library that test code may patch."""
    if not re.search(r"patch|setattr|setenv|environ", code):
        return []
    words = set(re.findall(r"[A-Za-z_]\w*(?:\.[a-z]\w*)?", code))
    words |= {word.partition(".")[0] for word in words} | {"os"}
    known = {word for word in words if word in sys.stdlib_module_names or word in SUBMODULES}
    return sorted(known - UNPATCHED)


def class_names(tree: ast.AST, entry_point: str | None = None) -> list[str]:
    """Return the names that test code uses as classes, or as makers of objects.

    Used outright: `isinstance(x, N)`, `raises(N)`, `except N`, `N.attribute`, `with N(...)`,
    `N(...).method`, an annotation. Or called, `N(...)`, if N is written as classes are and is not
    the function to be tested. Or bound to a variable, `v = N(...)`, of which the tests use what
    plain data has not.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        found |= _used_outright(node)
        if isinstance(node, ast.Call):
            found |= {n for n in _maker(node) if CLASS_NAME.fullmatch(n) and n != entry_point}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            found |= _bound_to_objects(node)
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
        as_class = {n for n in _names(owner) if CLASS_NAME.fullmatch(n)}
        return as_class | (set() if node.attr in PLAIN_ATTRIBUTES else _maker(owner))
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        return _names(node.annotation)
    return set()


def _bound_to_objects(scope: ast.AST) -> set[str]:
    made: dict[str, set[str]] = {}
    attributes: dict[str, set[str]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                made.setdefault(ast.unparse(target), set()).update(_maker(node.value))
        elif isinstance(node, ast.NamedExpr):
            made.setdefault(node.target.id, set()).update(_maker(node.value))
        elif isinstance(node, ast.Attribute):
            attributes.setdefault(ast.unparse(node.value), set()).add(node.attr)
    rich = {v for v, used in attributes.items() if used - PLAIN_ATTRIBUTES}
    return {n for variable, makers in made.items() if variable in rich for n in makers}


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


def _imported_elsewhere(tree: ast.AST) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "solution"
        for alias in node.names
    }
