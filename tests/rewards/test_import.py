from __future__ import annotations

import doctest
import importlib
import subprocess
from collections.abc import Callable

import pytest

import rewards

Python = Callable[..., subprocess.CompletedProcess[str]]
HEAVY = ("torch", "transformers", "sympy", "docker", "math_verify", "rich", "numpy", "trainer")


def _loaded(python: Python, code: str) -> set[str]:
    done = python("-c", f"{code}\nimport sys\nprint(*sys.modules)")
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_rewards_loads_nothing_heavy(python: Python) -> None:
    assert not _loaded(python, "import rewards").intersection(HEAVY)


@pytest.mark.parametrize("module", ["math", "steps", "code", "format", "length"])
def test_importing_a_verifier_loads_nothing_heavy(python: Python, module: str) -> None:
    assert not _loaded(python, f"import rewards.verifiers.{module}").intersection(HEAVY)


def test_deciding_a_plain_number_loads_no_sympy(python: Python) -> None:
    code = (
        "import rewards\nfrom rewards.verifiers.math import math, MathSpec\n"
        "spec = MathSpec(answer='1/2'); spec.check()\n"
        "assert math(rewards.Completion('0.5'), spec).value == 1.0"
    )
    assert "sympy" not in _loaded(python, code)


def test_the_sandbox_knows_nothing_of_rewards(python: Python) -> None:
    assert not _loaded(python, "import sandbox").intersection(("rewards", "pydantic", "trainer"))


def test_importing_rewards_is_quick(python: Python) -> None:
    # CPU time of the import itself, least of three: the bound is 0.2 s on an idle machine
    code = "import time; t = time.process_time(); import rewards; print(time.process_time() - t)"
    assert min(float(python("-c", code).stdout) for _ in range(3)) < 0.4


@pytest.mark.parametrize("module", ["rewards", "rewards.engine", "rewards.verifiers.math"])
def test_the_examples_in_the_docstrings_run(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert (failed, tried > 0) == (0, True)


def test_the_public_names_are_sorted() -> None:
    assert rewards.__all__ == sorted(rewards.__all__)


def test_every_public_name_is_there() -> None:
    assert all(hasattr(rewards, name) for name in rewards.__all__)


def test_everything_imported_on_purpose_is_public() -> None:
    ours = {
        name
        for name, item in vars(rewards).items()
        if not name.startswith("_") and getattr(item, "__module__", "").startswith("rewards.")
    }
    assert ours == set(rewards.__all__)


def test_the_errors_are_all_rewards_errors() -> None:
    errors = [
        item
        for name in rewards.__all__
        if name.endswith("Error") and (item := getattr(rewards, name))
    ]
    assert all(issubclass(error, rewards.RewardsError) for error in errors)


@pytest.mark.parametrize("name", [n for n in rewards.__all__ if n.endswith("Error")])
def test_an_error_survives_pickling(name: str) -> None:
    import pickle

    error = pickle.loads(pickle.dumps(getattr(rewards, name)("what happened")))
    assert (type(error).__name__, str(error)) == (name, "what happened")
