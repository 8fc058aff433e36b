"""Programs that try to be paid for nothing by tests in another process, one trick a test."""

from __future__ import annotations

from textwrap import dedent

import pytest

import rewards
from rewards import Score

LIAR = """
class Liar:
    def __init__(self, *args): pass
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __sub__(self, other): return self
    __rsub__ = __add__ = __radd__ = __mul__ = __mod__ = __truediv__ = __neg__ = __sub__
    def __abs__(self): return 0.0
    def __round__(self, n=None): return self
    def __float__(self): return 0.0
    def __int__(self): return 0
    def __index__(self): return 0
    def __hash__(self): return hash(3)
    def __bool__(self): return True
    def __len__(self): return 3
    def __contains__(self, x): return True
    def __getitem__(self, i):
        if i > 2: raise IndexError
        return 1
    def __iter__(self): return iter([3, 1, 2])
"""
OBJECT = LIAR + "def f(*args): return Liar()\ng = f\n"
AS_CLASS = LIAR + "class f(Liar): pass\ng = f\n"


def judge(solution: str, tests: str, **more: object) -> Score:
    style = "pytest" if "def test" in tests else "assert"
    spec = {"type": "code", "style": style, "test_code": dedent(tests), **more}
    return rewards.score(dedent(solution), spec)


def assert_earns_nothing(solution: str, tests: str, **more: object) -> None:
    score = judge(solution, tests, **more)
    assert score.value == 0.0, score.evidence["tests"]


@pytest.mark.parametrize("solution", [OBJECT, AS_CLASS], ids=["object", "class"])
@pytest.mark.parametrize(
    "test",
    [
        "assert f(1) == 3 != 4",
        "assert 3 == f(1) and True",
        "assert [f(1)] == [3]",
        "assert (f(1), 2) == (3, 2)",
        "assert {'a': f(1)} == {'a': 3}",
        "assert {f(1): 1} == {3: 1}",
        "assert f(1) in [3]",
        "assert f(1) in {3}",
        "assert 3 in f(1)",
        "assert f(1) == g(1)",
        "assert f(1) == f(1)",
        "assert abs(f(2) - 4.2) < 1e-6",
        "assert abs(4.2 - f(2)) < 1e-6",
        "import math\nassert math.isclose(f(2), 4.2) or math.isclose(f(2), 0)",
        "import pytest\nassert f(2) == pytest.approx(4.2)",
        "import pytest\nassert [f(2)] == pytest.approx([4.2])",
        "assert round(f(2), 2) == 4.2",
        "assert 3 < f(2) < 5",
        "assert f(1) < f(2) and f(2) < f(3)",
        "assert f(7) % 2 == 1",
        "assert sorted(f([3, 1, 2])) == [1, 2, 3]",
        "assert len(f([3, 1, 2])) == 3",
        "r = f([3, 1, 2])\nassert all(r[i] <= r[i + 1] for i in range(2))",
        "r = f([3, 1, 2])\nassert set(r) == {1, 2, 3}",
        "assert isinstance(f(1), int)",
        "assert type(f(1)) is int",
        "import unittest\nunittest.TestCase().assertAlmostEqual(f(2), 4.2)\nassert f(2) is None",
        "a, b, c = f(1)\nassert a == 3",
        "assert max(f(1), 0) != 0 and f(1) > 0",
    ],
)
def test_objects_do_not_pass_for_values(solution: str, test: str) -> None:
    assert_earns_nothing(solution, test)


@pytest.mark.parametrize(
    ("base", "value", "test"),
    [
        ("int", "0", "assert f(1) + 0 == 3"),
        ("float", "0.0", "assert abs(f(1) - 3) < 1e-6"),
        ("str", "''", "assert f(1).upper() == 'A'"),
        ("str", "''", "assert f(1).startswith('a')"),
        ("tuple", "()", "assert len(f(1)) == 2 and f(1) != ()"),
        ("list", "[]", "assert len(f(1)) == 2"),
        ("list", "[]", "assert sorted(f(1)) == [1]"),
        ("dict", "{}", "assert f(1)['a'] == 3"),
        ("dict", "{}", "assert 'a' in f(1)"),
        ("set", "set()", "assert {1} <= f(1)"),
    ],
)
def test_lying_subclasses_of_builtins_are_their_base(base: str, value: str, test: str) -> None:
    lies = f"""
    class Lie({base}):
        def __eq__(self, other): return True
        def __ne__(self, other): return False
        def __lt__(self, other): return True
        __le__ = __ge__ = __gt__ = __contains__ = startswith = __lt__
        def __add__(self, other): return self
        __sub__ = __radd__ = __rsub__ = __add__
        def __abs__(self): return 0.0
        def __len__(self): return 2
        def __iter__(self): return iter([1])
        def __getitem__(self, key): return 3
        def upper(self): return 'A'
        def __hash__(self): return 0
    def f(x): return Lie({value})
    """
    assert_earns_nothing(lies, test)


def test_an_object_cannot_claim_another_class() -> None:
    claim = "    __class__ = property(lambda self: int)\n"
    assert_earns_nothing(LIAR + claim + "def f(x): return Liar()", "assert isinstance(f(1), int)")


def test_an_object_cannot_answer_differently_each_time() -> None:
    assert_earns_nothing(
        """
        class Chameleon:
            n = 0
            def __iter__(self):
                self.n += 1
                return iter([1, 2, 3] if self.n > 1 else [3, 1, 2])
            def __len__(self): return 3
            def __getitem__(self, i): return i
        def my_sort(xs): return Chameleon()
        """,
        """
        r = my_sort([3, 1, 2])
        assert sorted(r) == [1, 2, 3] and all(a <= b for a, b in zip(r, list(r)[1:]))
        """,
    )


def test_a_method_cannot_return_its_lying_owner() -> None:
    assert_earns_nothing(
        LIAR + "class Calculator(Liar):\n    def add(self, a, b): return Calculator()",
        """
        from solution import Calculator
        def test_near():
            c = Calculator()
            assert abs(c.add(1.5, 2) - 3.5) < 1e-9
        def test_less():
            assert Calculator().add(1, 2) < 3.5
        """,
    )


ITEMS = """
import pytest
from solution import f

def test_one():
    assert f(1) == 2

def test_two():
    with pytest.raises(ValueError):
        f(-1)
"""


@pytest.mark.parametrize(
    "body",
    [
        "import pytest; pytest.skip('no')",
        "import pytest; pytest.xfail('no')",
        "import pytest; pytest.exit('no')",
        "import unittest; raise unittest.SkipTest('no')",
        "raise KeyboardInterrupt",
        "raise GeneratorExit",
        "raise SystemExit(0)",
        "raise type('Skipped', (Exception,), {'__module__': '_pytest.outcomes'})('no')",
        "raise type('SkipTest', (Exception,), {'__module__': 'unittest.case'})('no')",
        "raise type('Exit', (BaseException,), {'__module__': 'builtins'})('no')",
        "raise type('KeyboardInterrupt', (BaseException,), {'__module__': 'builtins'})",
        "raise AssertionError",
        "raise BaseExceptionGroup('', [KeyboardInterrupt()])",
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os; os.close(4); return 2",
        "import os; os.closerange(0, 256); return 2",
        "import os, threading, time; threading.Timer(0, os._exit, [0]).start(); time.sleep(9)",
        "import os; os.execv('/bin/true', ['true'])",
        "import ctypes; ctypes.string_at(0)",
        "raise type('E', (Exception,), {'__str__': lambda s: 1 / 0, '__reduce__': lambda s: 1})",
        "e = Exception(); e.args = (object(),) * 3; e.__cause__ = e; raise e",
    ],
)
def test_no_exception_and_no_end_is_a_pass(body: str) -> None:
    assert_earns_nothing(f"def f(x):\n    {body}", ITEMS)
    assert_earns_nothing(f"def f(x):\n    {body}\nf(1)", ITEMS)


@pytest.mark.parametrize("kind", ["Exception", "BaseException"])
def test_dying_is_not_raising(kind: str) -> None:
    tests = f"import pytest\nwith pytest.raises({kind}):\n    f(1)"
    assert_earns_nothing("import os\ndef f(x): os._exit(1)", tests)
    assert_earns_nothing(
        "def f(x): raise KeyboardInterrupt",
        "import pytest\nwith pytest.raises(KeyboardInterrupt):\n    f(1)",
    )


def test_what_cannot_cross_is_not_an_exception_of_the_program() -> None:
    assert_earns_nothing(
        "def f(x): return x",
        """
        class Own: pass
        import pytest
        with pytest.raises(BaseException):
            f(Own())
        """,
    )


# What is no frame, or the wrong frame, on the channel between the two.

FRAME = """
import json, os, struct, sys, time
def f(*args):
    caller = sys._getframe()
    while type(caller.f_locals.get("frame")) is not dict:
        caller = caller.f_back
    number = caller.f_locals["frame"]["n"]
    body = {body}
    os.write(4, struct.pack("!I", len(body)) + body)
    time.sleep(9)
"""
"""A program whose function sends something in place of its reply, and of the right number."""
RAISED = [-99, {"$builtin": "ValueError"}, [], "", {}, None]


def answer(**reply: object) -> str:
    return FRAME.format(body=f"json.dumps({{'re': number, **{reply!r}}}).encode()")


def test_a_frame_of_the_right_number_is_an_answer() -> None:
    assert judge(answer(value=2), "assert f(1) * 1 == 2").value == 1.0


CALL = "from solution import f\ndef test(): assert f(lambda: 1, []) == 2"


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"verdict": "passed", "passed": True},
        {"re": True, "value": 2},
        {"re": "1", "value": 2},
        {"re": -1, "value": 2},
        {"value": {"$import": ["os", "_exit"]}},
        {"value": {"$builtin": "exec"}},
        {"value": {"$builtin": "print"}},
        {"value": {"$callback": 0}},
        {"value": {"$ref": 1}},
        {"value": {"$error": 1}},
        {"value": {"$handle": [1, 1]}},
        {"value": {"$handle": [[], {}]}},
        {"value": {"$class": 10**9}},
        {"value": {"$sub": [{"$handle": [0, 0]}, 0, 0]}},
        {"value": {"$range": [0, 1e300]}},
        {"value": {"$set": [[]]}},
        {"value": {"$decimal": ["1e999999999999"]}},
        {"value": {"$fraction": [1, 0]}},
        {"value": {"$ndarray": ["O", [1]]}},
        {"value": {"$box": [-5, "list", None, []]}},
        {"value": {"$box": [5, "list", None, []]}},
        {"value": 0, "changed": [[1, 1]]},
        {"value": 0, "changed": 5},
        {"value": 0, "classes": 3},
        {"value": 0, "classes": [[0, "A", [{"$builtin": "int"}, {"$builtin": "bool"}], []]]},
        {"value": 0, "classes": [[10**6, "\0", [], []]]},
        {"value": 0, "classes": [[10**6, 5, [], []]]},
        {
            "value": {"$handle": [10**6, 10**7]},
            "classes": [[10**7, "A", [], ["__eq__", "__del__", "__class__"]]],
        },
        {"value": 0, "printed": [{}, 3]},
        {"value": 0, "warned": [3, {"$raised": RAISED}]},
        {"raise": {"$raised": [1, *RAISED[1:]]}},
        {"raise": {"$raised": [-99, 2, 3, 4, 5, 6]}},
        {"raise": {"$raised": [-99, {"$builtin": "GeneratorExit"}, *RAISED[2:]]}},
        {"raise": {"$raised": [-99, {"$stdlib": ["unittest.case", "SkipTest", 0]}, *RAISED[2:]]}},
        {"raise": {"$raised": [-99, {"$stdlib": ["os", "_exit", 0]}, *RAISED[2:]]}},
        {"raise": {"$raised": [*RAISED[:4], {"__class__": 1, "with_traceback": 2}, None]}},
        {"raise": 2},
        {"cannot": {}},
        {"syntax": 2},
        {"op": "callback", "args": [0, [], {}]},
        {"op": "eval", "args": ["1"]},
    ],
)
def test_forged_answers_earn_nothing(reply: dict[str, object]) -> None:
    assert_earns_nothing(answer(**reply), CALL, limits={"wall_s": 2})


@pytest.mark.parametrize(
    "body",
    [
        "b'x'",
        "b''",
        "b'[' * 100_000",
        "b'[' + b'0,' * 5_000_000 + b'0]'",
        "b'{\"value\": \"' + b'a' * 17_000_000 + b'\"}'",
        "b'[]'",
        "b'null'",
        "b'{}'",
        "b'\\xff\\xfe'",
        "b'{\"op\": 5}'",
        'b\'{"op": "callback", "n": 1, "args": [0, [], {}]}\'',
        "b'{\"value\": ' + b'9' * 100_000 + b'}'",
    ],
)
def test_malformed_frames_earn_nothing(body: str) -> None:
    solution = FRAME.replace("{body}", body)
    assert_earns_nothing(solution, CALL, limits={"wall_s": 2})


@pytest.mark.parametrize(
    "body",
    [
        # answers for questions that come later
        'for n in range(n0, n0 + 9): send(b\'{"re": %d, "value": 0}\' % n)',
        # a size, and nothing after it
        "os.write(4, b'\\xff\\xff\\xff\\xff')",
        "os.write(4, b'\\x00\\x00\\x10\\x00'); os._exit(0)",
        # a process that goes on answering
        "os.fork()",
        "os.fork() and os._exit(0)",
        # threads that say what nobody asked
        "threading.Thread(target=lambda: [send(b'{}') for _ in range(99)]).start()",
        # the trusted channel of the other process
        'os.write(3, b\'{"verdict": "passed"}\\n\'); os._exit(0)',
        'os.write(3, b\'{"done": "test_solution.py::test", "verdict": "passed"}\\n\' * 9)',
    ],
)
@pytest.mark.parametrize(
    "tests", ["assert f(1) * 1 == 2", "from solution import f\ndef test(): assert f(1) == 2"]
)
def test_what_a_program_does_to_its_descriptors_earns_nothing(body: str, tests: str) -> None:
    solution = f"""
import os, struct, threading
n0 = 4
def send(body): os.write(4, struct.pack("!I", len(body)) + body)
def f(x):
    {body}
    return 0
"""
    assert_earns_nothing(solution, tests, limits={"wall_s": 3})


# What the tests' process believes of names and attributes.


def test_a_program_adds_no_items_to_the_tests() -> None:
    solution = """
    def f(x): return 0
    f.__test__ = True
    class TestMore:
        __test__ = True
        def test_a(self): pass
    def test_b(): pass
    pytestmark = pytest_plugins = None
    __all__ = ["f", "test_b", "TestMore", "pytest_plugins"]
    """
    score = judge(solution, "from solution import *\ndef test_it():\n    assert f(1) == 1")
    assert (score.value, score.evidence["num_tests"]) == (0.0, 1)
    score = judge(
        solution, "from solution import f, test_b, TestMore\ndef test_it():\n    assert f(1)"
    )
    assert score.value == 0.0


def test_a_star_import_replaces_nothing_of_the_tests() -> None:
    assert_earns_nothing(
        """
        def sorted(x): return [1, 2, 3]
        def len(x): return 3
        class math:
            isclose = lambda a, b: True
        def f(x): return []
        __all__ = ["sorted", "len", "math", "f"]
        """,
        """
        import math
        from solution import *
        def test_sorted(): assert sorted(f(1)) == [1, 2, 3]
        def test_len(): assert len(f(1)) == 3
        def test_close(): assert math.isclose(len(f(1)), 3)
        """,
    )


def test_modules_that_the_tests_forgot_to_import_are_not_the_programs() -> None:
    fake = """
    class math:
        isclose = staticmethod(lambda *a: True)
    class np:
        allclose = staticmethod(lambda *a: True)
    def f(x): return 0
    """
    assert_earns_nothing(fake, "assert math.isclose(f(1), 2)\nassert np.allclose(f(1), 2)")
    items = "from solution import *\ndef test(): assert math.isclose(f(1), 2)"
    assert_earns_nothing(fake, items)


@pytest.mark.parametrize(
    "code",
    [
        "import builtins\nfor n in ('len', 'sorted', 'abs', 'isinstance', 'all', 'sum'):\n"
        "    setattr(builtins, n, lambda *a, **k: 3)",
        "import sys\nsys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)",
        "import gc\nfor o in gc.get_objects():\n"
        "    if type(o) is dict and 'verdict' in o: o['verdict'] = 'passed'",
        "import sys\nfor m in list(sys.modules.values()):\n"
        "    for n in ('explain', 'tell', '_same'):\n"
        "        if hasattr(m, n): setattr(m, n, lambda *a: True)",
        "import json, marshal, pickle\njson.loads = json.dumps = lambda *a, **k: '{\"re\": 1}'",
        "import os\nfor n in 'conftest.py pytest.ini test_solution.py sitecustomize.py'.split():\n"
        "    open(n, 'w').write('def test_a(): pass')\nos.environ['PYTEST_ADDOPTS'] = '--co'",
        "import os\nfor p in os.listdir('/proc'):\n"
        "    try: open(f'/proc/{p}/mem', 'r+b').write(b'x')\n    except OSError: pass",
        "import sys\nsys.path[:] = []; sys.modules.clear()",
    ],
)
def test_patching_ones_own_process_earns_nothing(code: str) -> None:
    assert_earns_nothing(f"def f(x): return 0\n{code}\n", ITEMS)


def test_tests_are_not_to_be_found_by_the_program() -> None:
    finder = """
    import gc, glob, inspect, os, re, sys
    def texts():
        for path in glob.glob("/tmp/**/*", recursive=True) + glob.glob("/proc/*/cmdline"):
            try: yield open(path, errors="replace").read()
            except OSError: pass
        for o in gc.get_objects():
            try: yield repr(o)[:10_000]
            except Exception: pass
        frame = sys._getframe()
        while frame:
            yield repr(frame.f_locals)
            frame = frame.f_back
    def f(x, key=None):
        if key is not None:
            for name in dir(key):
                getattr(key, name, None)
            texts_of = [repr(getattr(key, n, "")) for n in ("__globals__", "__closure__")]
        else:
            texts_of = []
        for text in [*texts(), *texts_of]:
            if (found := re.search(r"8675\\d+", text)):
                return int(found[0])
        return 0
    """
    tests = """
    from solution import f
    SECRET = 8675_309
    def test_a(): assert f(1) == 8675309
    def test_b(): assert f(1, key=lambda x: SECRET) == 8675309
    """
    assert_earns_nothing(finder, tests, limits={"cpu_s": 5})


def test_a_callback_gives_nothing_but_its_value() -> None:
    score = judge(
        "def f(key): return sorted(n for n in ('__globals__', '__self__') if 'SECRET' in"
        " str(getattr(key, n, '')))",
        "from solution import f\nSECRET = 1\ndef test(): assert f(lambda x: SECRET) == []",
    )
    assert score.value == 1.0


def test_an_endless_item_costs_that_item() -> None:
    score = judge(
        "def f(x):\n    while x == 2: pass\n    return x",
        """
        import pytest
        from solution import f
        @pytest.mark.parametrize("x", [1, 2, 3, 4])
        def test(x): assert f(x) == x
        """,
        limits={"cpu_s": 0.5},
    )
    assert [t["verdict"] for t in score.evidence["tests"]] == [
        "passed",
        "timeout",
        "passed",
        "passed",
    ]


def test_an_endless_iterator_is_stopped() -> None:
    score = judge(
        "def f():\n    while True: yield 1",
        "from solution import f\ndef test(): assert list(f()) == [1]",
        limits={"wall_s": 1},
    )
    assert (score.value, score.evidence["code"]) == (0.0, "timeout")


def test_endless_printing_is_stopped() -> None:
    score = judge(
        "def f():\n    while True: print('x' * 10_000)",
        "from solution import f\ndef test(): assert f() == 1",
    )
    assert (score.value, score.evidence["code"]) == (0.0, "output")


def test_skipped_and_expected_failures_are_no_passes() -> None:
    score = judge(
        "def f(x): return x",
        """
        import pytest
        from solution import f
        @pytest.mark.skip
        def test_a(): pass
        @pytest.mark.xfail
        def test_b(): assert f(1) == 2
        @pytest.mark.xfail
        def test_c(): assert f(1) == 1
        def test_d(): assert f(1) == 1
        """,
    )
    assert (score.value, score.evidence["num_tests"]) == (0.25, 4)


def test_a_failing_teardown_is_no_pass() -> None:
    score = judge(
        "def f(x): return x",
        """
        import pytest
        from solution import f
        @pytest.fixture
        def late():
            yield
            assert f(1) == 2
        def test_a(late): assert f(1) == 1
        """,
    )
    assert score.value == 0.0


@pytest.mark.parametrize(
    "body",
    [
        "repo.save.assert_called_once_with = lambda *a, **k: None",
        "repo.save.called = True; repo.save.call_count = 1",
        "repo.save.mock_calls = repo.save.call_args = ((3,), {})",
        "repo.configure_mock(**{'save.called': True})",
        "repo.save = lambda x: None",
        "repo.save = type('S', (), {'assert_called_once_with': lambda *a: None})()",
        "repo.save = type('S', (str,), {'assert_called_once_with': lambda *a: None})()",
        "vars(repo)['_number'] = 0",
    ],
)
def test_a_mock_is_not_told_that_it_was_called(body: str) -> None:
    assert_earns_nothing(
        f"def f(repo):\n    {body}\n    return 3",
        """
        from unittest.mock import Mock
        from solution import f
        def test_called():
            repo = Mock()
            assert f(repo) == 3
            repo.save.assert_called_once_with(3)
        """,
    )


def test_a_fake_keeps_its_methods() -> None:
    assert_earns_nothing(
        "def f(fake): fake.check = lambda: True",
        """
        from solution import f
        class Fake:
            def check(self): return False
        fake = Fake()
        f(fake)
        assert fake.check()
        """,
    )


def test_a_double_does_not_lead_to_the_tests() -> None:
    assert_earns_nothing(
        """
        def f(fake):
            for path in "__class__.__init__.__globals__ get.__globals__ _secret __dict__".split():
                value = fake
                try:
                    for name in path.split("."):
                        value = getattr(value, name)
                    if "8675309" in str(value):
                        return 8675309
                except Exception:
                    continue
        """,
        """
        from solution import f
        SECRET = 8675309
        class Fake:
            def __init__(self): self._secret = SECRET
            def get(self): return 1
        def test_it(): assert f(Fake()) == SECRET
        """,
    )


def test_classes_of_the_program_are_no_tests_whatever_their_name() -> None:
    score = judge(
        "class TestSuite:\n    def test_a(self): pass\n    def test_b(self): pass",
        "from solution import TestSuite\ndef test_it(): assert TestSuite().x == 1",
    )
    assert (score.value, score.evidence["num_tests"]) == (0.0, 1)
