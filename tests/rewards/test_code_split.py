"""What crosses between the process of the tests and that of the program, one fact a test."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

import rewards
from rewards import Score

MODULES = Path(__file__).parents[1] / "data" / "pytest_modules.jsonl"


def judge(solution: str, tests: str, **more: object) -> Score:
    """Score a program by pytest items, or by asserts where the tests define no test function."""
    style = "pytest" if "def test" in tests else "assert"
    spec = {"type": "code", "style": style, "test_code": dedent(tests), **more}
    return rewards.score(dedent(solution), spec)


def assert_passes(solution: str, tests: str, **more: object) -> None:
    score = judge(solution, tests, **more)
    assert score.value == 1.0, score.reason
    assert score.evidence["isolation"] == "separate"


VALUES = [
    "1 << 70",
    "-0.5",
    "float('inf')",
    "'caf\\xe9\\x00'",
    "b'\\x00\\xff'",
    "bytearray(b'ab')",
    "None",
    "True",
    "(1, [2, (3,)])",
    "{1, 2}",
    "frozenset({1})",
    "{(1, 2): {'a': None}}",
    "{'$int': 1}",
    "1 + 2j",
    "range(3, 9, 2)",
    "__import__('decimal').Decimal('1.50')",
    "__import__('fractions').Fraction(1, 3)",
    "__import__('datetime').datetime(2020, 1, 2, 3, 4, 5)",
    "__import__('datetime').date(2020, 1, 2)",
    "__import__('datetime').timedelta(days=1, seconds=2)",
    "__import__('collections').Counter('aab')",
    "__import__('collections').deque([1, 2], 5)",
    "__import__('collections').OrderedDict([('b', 1), ('a', 2)])",
]


def test_plain_data_crosses_both_ways_with_its_type() -> None:
    tests = "\n".join(
        f"v = {value}\nassert type(same(v)) is type(v) and same(v) == v and given(v) == repr(v)"
        for value in VALUES
    )
    assert_passes("def same(v): return v\ndef given(v): return repr(v)", tests)


def test_nan_crosses_and_booleans_stay_booleans() -> None:
    assert_passes(
        "def f(x): return x",
        """
        import math
        assert math.isnan(f(math.nan))
        assert type(f(True)) is bool and type(f(1)) is int and type(f(1.0)) is float
        """,
    )


STACK = """
class Empty(Exception):
    pass

class Stack:
    limit = 10
    def __init__(self, items=()):
        self.items = list(items)
    @classmethod
    def of(cls, *items):
        return cls(items)
    @staticmethod
    def name():
        return "stack"
    @property
    def top(self):
        if not self.items:
            raise Empty("nothing there")
        return self.items[-1]
    def push(self, item):
        self.items.append(item)
        return self
    def __len__(self):
        return len(self.items)
    def __iter__(self):
        return iter(self.items)
    def __contains__(self, item):
        return item in self.items
    def __getitem__(self, i):
        return self.items[i]
    def __setitem__(self, i, v):
        self.items[i] = v
    def __delitem__(self, i):
        del self.items[i]
    def __bool__(self):
        return bool(self.items)
    def __repr__(self):
        return f"Stack({self.items})"
    def __eq__(self, other):
        return isinstance(other, Stack) and self.items == other.items
    def __add__(self, other):
        return Stack(self.items + other.items)
    def __lt__(self, other):
        return len(self) < len(other)
    def __call__(self, x):
        return x in self.items
    def __reversed__(self):
        return reversed(self.items)
"""


def test_a_class_can_be_used_as_one() -> None:
    assert_passes(
        STACK,
        """
        import pytest
        from solution import Empty, Stack

        @pytest.fixture
        def stack():
            return Stack([1, 2])

        def test_methods_return_and_chain(stack):
            assert stack.push(3).push(4).top == 4
            assert len(stack) == 4

        def test_protocols(stack):
            assert list(stack) == [1, 2] and 2 in stack and 3 not in stack
            assert stack[0] == 1 and stack[-1] == 2 and stack[0:2] == [1, 2]
            stack[0] = 9
            del stack[1]
            assert [*stack] == [9] and stack and not Stack() and stack(9)
            assert list(reversed(Stack([1, 2]))) == [2, 1]

        def test_text(stack):
            assert repr(stack) == "Stack([1, 2])" == str(stack) == f"{stack}"

        def test_operators(stack):
            assert stack + Stack([3]) == Stack([1, 2, 3])
            assert stack != Stack([2, 1]) and stack < Stack([1, 2, 3])
            assert sorted([Stack([1, 2]), Stack()])[0] == Stack()

        def test_class_attributes():
            assert Stack.limit == 10 and Stack.name() == "stack" and Stack.of(1).top == 1
            assert Stack.__name__ == "Stack"

        def test_types(stack):
            assert isinstance(stack, Stack) and type(stack) is Stack
            assert issubclass(Empty, Exception) and not isinstance(stack, Empty)

        def test_errors(stack):
            with pytest.raises(Empty, match="nothing there"):
                Stack().top
            with pytest.raises(IndexError):
                stack[7]
            with pytest.raises(AttributeError):
                stack.missing

        def test_attributes(stack):
            stack.color = "red"
            assert stack.color == "red" and hasattr(stack, "items") and not hasattr(stack, "x")
            del stack.color
            assert not hasattr(stack, "color") and vars(stack) == {"items": [1, 2]}
        """,
    )


def test_objects_come_back_as_the_objects_they_were() -> None:
    assert_passes(
        """
        class Node:
            def __init__(self, value): self.value, self.next = value, None
        def link(a, b): a.next = b; return a
        """,
        """
        from solution import Node, link
        def test_identity():
            a, b = Node(1), Node(2)
            assert link(a, b) is a and a.next is b and a.next.value == 2
            assert a != Node(1) and len({a, b, a}) == 2
            a.next = None
            assert a.next is None
        """,
    )


def test_a_dataclass_compares_by_its_fields() -> None:
    assert_passes(
        """
        from dataclasses import dataclass, field
        @dataclass
        class Point:
            x: int
            y: int = 0
            seen: int = field(default=0, compare=False)
        @dataclass(frozen=True, order=True)
        class Version:
            major: int
        """,
        """
        import dataclasses, pytest
        from solution import Point, Version
        def test_it():
            p = Point(1)
            p.seen = 5
            assert p == Point(1, 0) and p != Point(1, 2) and p != Version(1)
            assert repr(p) == "Point(x=1, y=0, seen=5)"
            assert dataclasses.asdict(p) == {"x": 1, "y": 0, "seen": 5}
            assert dataclasses.replace(p, x=3).x == 3
            with pytest.raises(TypeError):
                hash(p)
            assert len({Version(1), Version(1), Version(2)}) == 2 and Version(1) < Version(2)
            with pytest.raises(dataclasses.FrozenInstanceError):
                Version(1).major = 2
        """,
    )


def test_enums_cross() -> None:
    assert_passes(
        """
        from enum import Enum, IntEnum
        class Color(Enum):
            RED = 1
            BLUE = 2
        class Level(IntEnum):
            LOW = 1
        def mix(a, b): return Color.BLUE if a is b is Color.RED else None
        def low(): return Level.LOW
        """,
        """
        from solution import Color, Level, mix, low
        def test_it():
            assert Color.RED is Color.RED and Color(1) is Color.RED and Color["RED"] == Color.RED
            assert Color.RED != Color.BLUE and Color.RED.name == "RED" and Color.RED.value == 1
            assert [c.name for c in Color] == ["RED", "BLUE"] and len(Color) == 2
            assert mix(Color.RED, Color.RED) is Color.BLUE
            assert {Color.RED: 1}[Color.RED] == 1 and Color.RED in Color
            assert low() == 1 and low().name == "LOW" and isinstance(low(), Level)
        """,
    )


def test_named_tuples_cross() -> None:
    assert_passes(
        """
        from collections import namedtuple
        from typing import NamedTuple
        Pair = namedtuple("Pair", "a b")
        class P(NamedTuple):
            x: int
            y: int
            def norm(self): return self.x + self.y
        def swap(p): return Pair(p.b, p.a)
        def total(q): return q.u + q.v
        """,
        """
        from collections import namedtuple
        from solution import Pair, P, swap, total
        def test_it():
            assert swap(Pair(1, 2)) == (2, 1) == Pair(2, 1) and swap(Pair(1, 2)).a == 2
            assert P(1, 2).norm() == 3 and isinstance(P(1, 2), P) and isinstance(P(1, 2), tuple)
            a, b = P(1, 2)
            assert (a, b) == (1, 2) and P(1, 2)._asdict() == {"x": 1, "y": 2}
            assert total(namedtuple("Own", "u v")(1, 2)) == 3
        """,
    )


def test_exceptions_cross_by_type_text_arguments_and_attributes() -> None:
    assert_passes(
        """
        import json
        class Poor(ValueError):
            def __init__(self, need, have):
                super().__init__(f"need {need}, have {have}")
                self.need = need
            def missing(self): return self.need - 1
        class VeryPoor(Poor): pass
        def f(kind):
            if kind == "poor": raise VeryPoor(5, 1)
            if kind == "key": return {}["k"]
            if kind == "json": return json.loads("{")
            if kind == "exit": raise SystemExit(3)
            if kind == "chain":
                try: 1 / 0
                except ZeroDivisionError as e: raise RuntimeError("outer") from e
            return open("/no/such/file")
        """,
        """
        import json, pytest
        from solution import Poor, VeryPoor, f
        def test_own():
            with pytest.raises(Poor, match=r"need 5, have 1") as info:
                f("poor")
            assert info.type is VeryPoor and info.value.need == 5 and info.value.missing() == 4
            assert isinstance(info.value, ValueError) and info.value.args == ("need 5, have 1",)
        def test_caught_as_base():
            try:
                f("poor")
            except ValueError as error:
                assert str(error) == "need 5, have 1"
        def test_builtin():
            with pytest.raises(KeyError) as info:
                f("key")
            assert info.value.args == ("k",)
            with pytest.raises(FileNotFoundError) as info:
                f("file")
            assert info.value.errno == 2
        def test_stdlib():
            with pytest.raises(json.JSONDecodeError):
                f("json")
        def test_exit():
            with pytest.raises(SystemExit) as info:
                f("exit")
            assert info.value.code == 3
        def test_chain():
            with pytest.raises(RuntimeError) as info:
                f("chain")
            assert isinstance(info.value.__cause__, ZeroDivisionError)
        def test_made_here():
            error = Poor(2, 1)
            assert error.need == 2
            with pytest.raises(Poor):
                raise error
        """,
    )


def test_generators_and_iterators_are_lazy() -> None:
    assert_passes(
        """
        def count():
            n = 0
            while True:
                got = yield n
                n = got if got is not None else n + 1
        class Down:
            def __init__(self, n): self.n = n
            def __iter__(self): return self
            def __next__(self):
                if self.n == 0: raise StopIteration
                self.n -= 1
                return self.n
        def doubled(xs): return map(lambda x: 2 * x, xs)
        def chunks(xs, n):
            for i in range(0, len(xs), n): yield xs[i:i + n]
        """,
        """
        import itertools
        from collections.abc import Iterator
        from solution import Down, chunks, count, doubled
        def test_it():
            assert list(itertools.islice(count(), 3)) == [0, 1, 2]
            g = count()
            assert next(g) == 0 and g.send(5) == 5 and next(g) == 6
            g.close()
            assert list(g) == [] and isinstance(count(), Iterator)
            assert list(Down(3)) == [2, 1, 0] and list(chunks([1, 2, 3], 2)) == [[1, 2], [3]]
            assert sum(doubled([1, 2])) == 6 and next(Down(0), None) is None
        """,
    )


def test_arguments_are_changed_in_place_at_any_depth() -> None:
    assert_passes(
        """
        def sort(xs): xs.sort()
        def fill(d): d["a"].append(1); d["b"] = {2}; d["s"].add(3); return d
        def first(xs): return xs[0]
        def fail(xs): xs.clear(); raise ValueError
        def swap(xs): xs[0], xs[1] = xs[1], xs[0]; return xs
        def write(out): out.write("hi"); print("there", file=out)
        def flip(b): b.reverse()
        """,
        """
        import io, pytest
        from solution import sort, fill, first, fail, swap, write, flip
        def test_list():
            xs = [3, 1, 2]
            assert sort(xs) is None and xs == [1, 2, 3]
        def test_nested():
            inner = []
            d = {"a": inner, "s": set()}
            assert fill(d) is d and inner == [1] and d == {"a": [1], "b": {2}, "s": {3}}
        def test_identity():
            inner = [1]
            assert first([inner]) is inner
            a, b = [1], [2]
            xs = [a, b]
            assert swap(xs) is xs and xs[0] is b and a == [1]
        def test_cycle():
            xs = [1]
            xs.append(xs)
            assert swap(xs)[0] is xs
        def test_exception():
            xs = [1]
            with pytest.raises(ValueError):
                fail(xs)
            assert xs == []
        def test_others():
            out, b = io.StringIO(), bytearray(b"ab")
            write(out)
            flip(b)
            assert out.getvalue() == "hithere\\n" and b == b"ba"
        """,
    )


def test_functions_of_the_tests_are_called_back() -> None:
    assert_passes(
        """
        import functools
        def apply(f, *args, **kw): return f(*args, **kw)
        def walk(tree, visit):
            for x in tree: walk(x, visit) if isinstance(x, list) else visit(x)
        def memo(f):
            seen = {}
            @functools.wraps(f)
            def inner(x):
                if x not in seen: seen[x] = f(x)
                return seen[x]
            return inner
        def same(f): return f
        def retry(f, times, on=Exception):
            for _ in range(times):
                try: return f()
                except on: pass
            return f()
        def order(xs, key): return sorted(xs, key=key)
        def update(f):
            d = {"n": 1}
            f(d)
            return d
        def total(numbers): return sum(numbers)
        class Bus:
            def __init__(self): self.handlers = []
            def on(self, f): self.handlers.append(f); return f
            def emit(self, x): return [f(x) for f in self.handlers]
        """,
        """
        import math, operator, pytest
        from unittest.mock import Mock
        from solution import Bus, apply, memo, order, retry, same, total, update, walk
        def test_calls():
            assert apply(lambda a, b=1: a + b, 2, b=3) == 5
            assert apply(operator.add, 1, 2) == 3 and apply(math.sqrt, 4) == 2
            assert apply(int, "7") == 7 and apply(str.upper, "a") == "A"
            assert order(["bb", "a"], key=len) == ["a", "bb"]
        def test_side_effects():
            seen = []
            walk([1, [2, [3]]], seen.append)
            assert seen == [1, 2, 3]
        def test_decorator():
            calls = []
            @memo
            def f(x):
                "doc"
                calls.append(x)
                return 2 * x
            assert f(2) == f(2) == 4 and calls == [2] and f.__name__ == "f" and f.__doc__ == "doc"
        def test_identity():
            f = lambda: 1
            assert same(f) is f
        def test_mock():
            m = Mock(side_effect=[ValueError("no"), 5])
            assert retry(m, 3) == 5 and m.call_count == 2
            m = Mock(return_value=1)
            apply(m, 1, k=[2])
            m.assert_called_once_with(1, k=[2])
        def test_exceptions_come_home():
            class Own(Exception): pass
            error = Own("x")
            def f(): raise error
            with pytest.raises(Own) as info:
                apply(f)
            assert info.value is error
            with pytest.raises(ZeroDivisionError):
                retry(lambda: 1 / 0, 1, ZeroDivisionError)
        def test_reentry():
            assert apply(lambda x: apply(lambda y: y + 1, x) + 1, 1) == 3
        def test_arguments_of_callbacks_change_in_place():
            assert update(lambda d: d.update(n=2)) == {"n": 2}
        def test_iterators():
            assert total(x for x in range(4)) == 6 and total(iter([1, 2])) == 3
        def test_events():
            bus = Bus()
            bus.on(lambda x: x + 1)
            @bus.on
            def twice(x): return 2 * x
            assert bus.emit(5) == [6, 10] and twice(1) == 2
        """,
    )


def test_context_managers_cross() -> None:
    assert_passes(
        """
        from contextlib import contextmanager
        log = []
        @contextmanager
        def tag(name):
            log.append("<" + name)
            try: yield name
            except KeyError: log.append("caught")
            finally: log.append(name + ">")
        class Guard:
            def __enter__(self): self.open = True; return self
            def __exit__(self, kind, error, trace): self.open = False; return kind is ValueError
        """,
        """
        import pytest, solution
        from solution import Guard, tag
        def test_it():
            with tag("a") as name:
                assert name == "a"
                raise KeyError
            assert solution.log == ["<a", "caught", "a>"]
            with Guard() as g:
                assert g.open
                raise ValueError
            assert not g.open
            with pytest.raises(TypeError) as info, Guard():
                raise TypeError("mine")
            assert str(info.value) == "mine"
        """,
    )


def test_coroutines_run_on_the_other_side() -> None:
    assert_passes(
        """
        import asyncio
        async def double(x):
            await asyncio.sleep(0)
            return 2 * x
        async def fail(): raise ValueError("async")
        async def each(xs):
            for x in xs: yield x
        async def through(f, x): return await f(x)
        class Session:
            async def __aenter__(self): return self
            async def __aexit__(self, *error): self.closed = True
        """,
        """
        import asyncio, pytest
        from solution import Session, double, each, fail, through
        def test_it():
            assert asyncio.run(double(2)) == 4
            async def main():
                assert await asyncio.gather(double(1), double(2)) == [2, 4]
                assert [x async for x in each([1, 2])] == [1, 2]
                async with Session() as s:
                    pass
                assert s.closed
                async def inc(x): return x + 1
                assert await through(inc, 1) == 2
                with pytest.raises(ValueError, match="async"):
                    await fail()
            asyncio.run(main())
        """,
    )


def test_what_is_printed_and_read_goes_through_the_tests() -> None:
    assert_passes(
        """
        import sys
        def hello(): print("hello"); print("oops", file=sys.stderr)
        def ask(): return input("name? ") + sys.stdin.readline()
        """,
        """
        import io, sys
        from contextlib import redirect_stdout
        from solution import ask, hello
        def test_capsys(capsys):
            hello()
            assert capsys.readouterr() == ("hello\\n", "oops\\n")
        def test_redirect():
            with redirect_stdout(io.StringIO()) as out:
                hello()
            assert out.getvalue() == "hello\\n"
        def test_stdin(monkeypatch):
            monkeypatch.setattr(sys, "stdin", io.StringIO("a\\nb\\n"))
            assert ask() == "ab\\n"
        def test_input(monkeypatch):
            monkeypatch.setattr("builtins.input", lambda prompt: "x" + prompt)
            monkeypatch.setattr(sys, "stdin", io.StringIO(""))
            assert ask() == "xname? "
        """,
    )


def test_the_programs_names_can_be_patched() -> None:
    assert_passes(
        """
        import random
        RATE = 2
        def fetch(x): return "real"
        def use(x): return fetch(x), RATE
        def roll(): return random.randint(1, 6)
        class Api:
            def get(self): return 1
        """,
        """
        import solution
        from unittest.mock import MagicMock, patch
        def test_monkeypatch(monkeypatch):
            monkeypatch.setattr(solution, "fetch", lambda x: x + 1)
            monkeypatch.setattr("solution.RATE", 7)
            assert solution.use(1) == (2, 7)
        def test_it_was_undone():
            assert solution.use(1) == ("real", 2)
        def test_mock():
            with patch("solution.fetch", return_value="fake") as fetch:
                assert solution.use(3) == ("fake", 2)
            fetch.assert_called_once_with(3)
            with patch.object(solution.Api, "get", lambda self: 2):
                assert solution.Api().get() == 2
            assert solution.Api().get() == 1 and solution.use(1) == ("real", 2)
        def test_modules_of_the_program(monkeypatch):
            monkeypatch.setattr(solution.random, "randint", lambda a, b: b)
            assert solution.roll() == 6
        """,
    )


def test_unittest_classes_are_items() -> None:
    score = judge(
        STACK,
        """
        import unittest
        from solution import Empty, Stack
        class TestStack(unittest.TestCase):
            def setUp(self):
                self.stack = Stack()
            def test_a(self):
                self.stack.push(1)
                self.assertEqual(len(self.stack), 1)
                self.assertIn(1, self.stack)
            def test_b(self):
                with self.assertRaises(Empty):
                    self.stack.top
                self.assertIsInstance(self.stack, Stack)
                self.assertEqual(self.stack, Stack())
            def test_c(self):
                self.assertEqual(len(self.stack), 1)
        if __name__ == "__main__":
            unittest.main()
        """,
    )
    assert [t["verdict"] for t in score.evidence["tests"]] == ["passed", "passed", "wrong"]


def test_test_doubles_are_used_on_the_side_of_the_tests() -> None:
    assert_passes(
        """
        class Service:
            def __init__(self, repo): self.repo = repo
            def name(self, i): return self.repo.get(i)["name"].upper()
            def save(self, x):
                with self.repo.lock:
                    self.repo.items.append(x)
                self.repo.last = x
                return len(self.repo)
            async def load(self, i): return await self.repo.fetch(i)
        def total(cart): return sum(item.price * item.n for item in cart)
        def who(x): return x.name
        """,
        """
        import asyncio, pytest
        from dataclasses import dataclass
        from types import SimpleNamespace
        from unittest.mock import AsyncMock, MagicMock, Mock
        from solution import Service, total, who
        class Repo:
            def __init__(self): self.rows, self.last = {1: {"name": "ann"}}, None
            def get(self, i): return self.rows[i]
            def __len__(self): return 7
            @property
            def items(self): return self
            def append(self, x): self.rows[len(self.rows) + 1] = x
            lock = MagicMock()
        def test_fake():
            repo = Repo()
            service = Service(repo)
            assert service.name(1) == "ANN" and service.repo is repo
            assert service.save("x") == 7 and repo.last == "x" and repo.rows[2] == "x"
            with pytest.raises(KeyError):
                service.name(5)
        def test_mock():
            repo = Mock()
            repo.get.return_value = {"name": "bob"}
            assert Service(repo).name(3) == "BOB"
            repo.get.assert_called_once_with(3)
        def test_async_mock():
            repo = Mock(fetch=AsyncMock(return_value=5))
            assert asyncio.run(Service(repo).load(1)) == 5
        def test_data():
            @dataclass
            class Item:
                price: int
                n: int
            assert total([Item(2, 3), Item(1, 1)]) == 7 and who(SimpleNamespace(name="a")) == "a"
        """,
    )


def test_what_the_tests_patch_in_the_standard_library_is_patched_over_there() -> None:
    assert_passes(
        """
        import os, random, time
        def wait(): time.sleep(99); return time.time()
        def roll(): return random.randint(1, 6)
        def shout(): print("hey")
        def key(): return os.environ.get("KEY")
        def read(): 
            with open("config") as f: return f.read()
        """,
        """
        import random, time
        from unittest.mock import mock_open, patch
        from solution import key, read, roll, shout, wait
        def test_monkeypatch(monkeypatch):
            monkeypatch.setattr(time, "sleep", lambda s: None)
            monkeypatch.setattr("time.time", lambda: 5)
            assert wait() == 5
            monkeypatch.setenv("KEY", "x")
            assert key() == "x"
        def test_undone():
            assert key() is None
            with patch("time.sleep"):
                assert wait() > 5
        def test_patch():
            with patch("random.randint", return_value=4) as randint:
                assert roll() == 4
            randint.assert_called_once_with(1, 6)
            with patch("builtins.print") as out:
                shout()
            out.assert_called_once_with("hey")
            with patch("builtins.open", mock_open(read_data="data")):
                assert read() == "data"
            assert 1 <= roll() <= 6
        """,
    )


def test_warnings_reach_the_tests() -> None:
    assert_passes(
        """
        import warnings
        class Old(UserWarning): pass
        def f(own=False): warnings.warn("old", Old if own else DeprecationWarning); return 1
        """,
        """
        import pytest
        from solution import Old, f
        def test_it():
            with pytest.warns(DeprecationWarning, match="old"):
                assert f() == 1
            with pytest.warns(Old):
                f(True)
        """,
    )


def test_a_failing_item_says_why() -> None:
    score = judge(
        "def f(x):\n    if x > 1: raise LookupError('two')\n    return x",
        """
        from solution import f
        def test_a(): assert f(1) == 2
        def test_b(): assert f(2) == 2
        """,
    )
    first, second = score.evidence["tests"]
    assert (first["verdict"], second["verdict"]) == ("wrong", "exception")
    assert "assert 1 == 2" in first["detail"]
    assert second["detail"] == "LookupError: two"


def test_stopping_early_skips_the_items_after_a_failure() -> None:
    tests = """
        from solution import f
        def test_a(): assert f(1) == 1
        def test_b(): assert f(1) == 2
        def test_c(): assert f(1) == 1
        """
    score = judge("def f(x): return x", tests, stop_early=True)
    assert [t["verdict"] for t in score.evidence["tests"]] == ["passed", "wrong", "skipped"]


@pytest.mark.parametrize(
    ("tests", "named"),
    [
        ("from solution import A\ndef test():\n    class B(A): pass", "class B"),
        ("import inspect\nfrom solution import f\ndef test(): inspect.getsource(f)", "source"),
        ("from solution import f\ndef test(tmp_path): f(tmp_path)", "files"),
        ("import pickle\nfrom solution import A\ndef test(): pickle.dumps(A())", "pickled"),
        ("import sys\nfrom solution import f\ndef test(): f(sys)", "module"),
        ("from solution import f\ndef test(): f([list(range(10))] * 999_999)", "too large"),
        (
            "from solution import f\ndef test():\n  x = 1\n  for _ in range(9999): x = x,\n  f(x)",
            "deep",
        ),
    ],
)
def test_what_cannot_cross_is_named(tests: str, named: str) -> None:
    score = judge("class A: pass\ndef f(x): return x", tests)
    assert (score.value, score.evidence["code"]) == (0.0, "not_plain")
    assert named in score.reason


@pytest.mark.parametrize("row", [json.loads(x) for x in MODULES.read_text().splitlines()])
def test_honest_modules_as_people_write_them_pass(row: dict[str, str]) -> None:
    assert_passes(row["solution"], row["tests"])


def test_running_out_of_memory_is_a_verdict_of_its_own() -> None:
    score = judge("def f(): return 'x' * (1 << 40)", "assert len(f()) * 1 == 3")
    assert (score.value, score.evidence["code"]) == (0.0, "memory")


def test_a_module_that_cannot_be_imported_says_why() -> None:
    tests = "from solution import f, g\ndef test_a(): pass\ndef test_b(): pass"
    score = judge("def f(): pass", tests)
    assert (score.value, score.evidence["num_tests"]) == (0.0, 2)
    assert "cannot import name 'g'" in score.reason


def test_threads_of_the_tests_wait_for_each_other() -> None:
    assert_passes(
        "def f(xs, g): xs.append(g(len(xs))); return xs",
        """
        from concurrent.futures import ThreadPoolExecutor
        from solution import f
        def test_it():
            with ThreadPoolExecutor(8) as pool:
                got = list(pool.map(lambda n: f([n], lambda size: n + size), range(50)))
            assert got == [[n, n + 1] for n in range(50)]
        """,
    )


def test_an_object_of_the_program_may_have_the_name_of_a_module() -> None:
    assert_passes(
        "class Q:\n    def push(self, x): return x + 1\nqueue = Q()\ndef f(x): return x",
        "assert queue.push(1) == 2\nassert math.floor(f(1.5)) == 1",
    )
