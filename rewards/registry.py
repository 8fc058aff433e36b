"""Verifiers by name: built-ins, entry points, and modules or files named by the user.

A verifier is a function `(Completion, its Spec) -> Score`, declared with `@verifier`. Third
parties ship one with an entry point of group "rewards.verifiers" whose name is the spec's type:

    [project.entry-points."rewards.verifiers"]
    palindrome = "my_package.palindrome:palindrome"

Code can also be named by path, "pkg.mod:obj" or "file.py:obj", through `load`. A *spec* cannot
make a path be imported: specs come out of data files, and data must not choose code to run.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from rewards.errors import PluginError, VerifierNotFoundError, did_you_mean

if TYPE_CHECKING:
    from rewards.spec import Role, Spec

Runs = Literal["inline", "thread", "worker", "sandbox"]
GROUP = "rewards.verifiers"

BUILTINS = {
    "code": "rewards.verifiers.code:code",
    "format": "rewards.verifiers.format:format_tags",
    "lean": "rewards.verifiers.lean:lean",
    "length": "rewards.verifiers.length:length",
    "math": "rewards.verifiers.math:math",
    "steps": "rewards.verifiers.steps:steps",
}

# Held for looking at the table, never while a module is imported: an import takes its own lock.
_lock = threading.Lock()
_loaded: dict[str, Verifier] = {}
_generation = 0


@dataclass(frozen=True)
class Verifier:
    """A declared verifier; calling it calls its function, without any isolation."""

    name: str
    function: Callable[..., Any]
    spec: type[Spec]
    runs: Runs
    group: bool
    role: Role
    timeout_s: float
    origin: str = "this process"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Judge directly, in this thread."""
        return self.function(*args, **kwargs)


def verifier(
    *,
    name: str,
    spec: type[Spec],
    runs: Runs = "inline",
    group: bool = False,
    role: Role = "outcome",
    timeout_s: float = 10.0,
) -> Callable[[Callable[..., Any]], Verifier]:
    """Declare a function as the verifier of specs whose type is `name`.

    Args:
        name: The spec's type.
        spec: The verifier's own subclass of `Spec`.
        runs: "inline" for fast, safe code; "worker" for what may hang or blow up (it runs in a
            process that is killed at the limit); "thread" for what bounds itself and hands the
            rest to a worker (of many at once, all of it runs in workers); "sandbox" for what
            drives a sandbox.
        group: Whether the function takes all completions of a group and returns as many scores.
        role: Whether its value is correctness or shaping, unless a spec says otherwise.
        timeout_s: CPU limit of one call in a worker; wall time may be three times that, plus 1 s.

    Raises:
        PluginError: If another verifier of this name was declared before.
    """

    def declare(function: Callable[..., Any]) -> Verifier:
        made = Verifier(name, function, spec, runs, group, role, timeout_s)
        _register(name, made)
        return made

    return declare


def get_verifier(name: str) -> Verifier:
    """Return the verifier that answers to `name`.

    Raises:
        VerifierNotFoundError: If there is none; the message names those installed.
        PluginError: If two distributions claim the name, or the module cannot be imported.
    """
    if (found := _loaded.get(name)) is not None:
        return found
    if name in BUILTINS:
        return _import(BUILTINS[name], name, origin="built-in")
    if claims := [e for e in entry_points(group=GROUP) if e.name == name]:
        return _import(claims[0].value, name, origin=_only_claim(name, claims))
    if ":" in name:
        raise VerifierNotFoundError(
            f"{name!r} is a path to code, which a spec cannot load; load it first with"
            f" rewards.load({name!r}) or --verifier {name}"
        )
    known = list_verifiers()
    raise VerifierNotFoundError(
        f"no verifier {name!r}; installed: {', '.join(known)}.{did_you_mean(name, known)}"
    )


def load(path: str) -> Verifier:
    """Import a verifier named "pkg.mod:obj" or "file.py:obj", or by its plain name.

    From then on specs may name it by its own name, and by this path.

    Raises:
        PluginError: If there is no such file, module or object, or it is not a verifier.
        VerifierNotFoundError: If `path` is a plain name that nothing answers to.
    """
    if ":" not in path:
        return get_verifier(path)
    found = _loaded.get(path) or _import(path, path, origin=path)
    with _lock:
        _loaded[path] = found
    return found


def generation() -> int:
    """Count how often a verifier was replaced by a newer one of its name, as in a notebook."""
    return _generation


def list_verifiers() -> dict[str, str]:
    """Return name -> origin of everything that answers to a name, without importing any of it."""
    with _lock:
        found = dict.fromkeys(BUILTINS, "built-in")
        for entry in entry_points(group=GROUP):
            found.setdefault(entry.name, _origin(entry))
        for made in _loaded.values():
            found.setdefault(made.name, made.origin)
    return dict(sorted(found.items()))


def _register(name: str, made: Verifier) -> None:
    global _generation
    with _lock:
        before = _loaded.get(name)
        if before and _place(before) != _place(made):
            raise PluginError(
                f"verifier {name!r} is declared twice: in {_place(before)} and in {_place(made)}"
            )
        _generation += before is not None
        _loaded[name] = made


def _place(made: Verifier) -> str:
    function = made.function
    return f"{function.__module__}:{getattr(function, '__qualname__', function)}"


def _import(path: str, name: str, *, origin: str) -> Verifier:
    module_name, _, attribute = path.rpartition(":")
    try:
        module = _module(module_name)
    except Exception as error:  # whatever a plug-in's module raises is the user's to mend
        raise PluginError(
            f"verifier {name!r} ({origin}): cannot import {module_name}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if (found := getattr(module, attribute, None)) is None:
        raise PluginError(f"verifier {name!r} ({origin}): {module_name} has no {attribute!r}")
    if not isinstance(found, Verifier):
        raise PluginError(
            f"verifier {name!r} ({origin}): {path} is {type(found).__name__}; "
            "declare it with @rewards.verifier(name=..., spec=...)"
        )
    if origin != path and found.name != name:
        raise PluginError(f"verifier {name!r} ({origin}): {path} calls itself {found.name!r}")
    found = replace(found, origin=origin)
    with _lock:
        _loaded[found.name] = found
    return found


def _module(name: str) -> ModuleType:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    file = Path(name).resolve()
    # Two files may have the same name, so the module's name speaks of the whole path.
    module_name = f"rewards_plugin_{file.stem}_{zlib.crc32(bytes(file)):08x}"
    if known := sys.modules.get(module_name):
        return known
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise FileNotFoundError(f"no such file: {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]  # half a module would be found, and blamed, the next time
        raise
    return module


def _only_claim(name: str, claims: list[EntryPoint]) -> str:
    if len({e.value for e in claims}) > 1:
        both = " and ".join(sorted({_origin(e) for e in claims}))
        raise PluginError(f"verifier {name!r} is claimed by {both}; uninstall one of them")
    return _origin(claims[0])


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
