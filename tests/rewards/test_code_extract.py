"""Where the program is in what a model wrote."""

from __future__ import annotations

import time

import pytest

import rewards
from rewards import Completion
from rewards.verifiers.code.extract import extract_program


def extract(text: str, language: str = "python", entry_point: str | None = None) -> str | None:
    program = extract_program(Completion(text), language, entry_point)
    return program.text.strip() if program else None


@pytest.mark.parametrize(
    "fence",
    [
        "```python",
        "```Python3",
        "```PY",
        "``` python",
        "````python",
        "~~~python",
        "~~~~ py",
        "```{.python}",
        "```{python}",
        '```{.python .numberLines startFrom="1"}',
        '```python title="a.py"',
        "```python:main.py",
        "```python,ignore",
        "```python3.11",
        "```ipython",
        "Here it is: ```python",
        "- ```python",
        "1. ```python",
    ],
)
def test_a_fence_may_say_python_in_many_ways(fence: str) -> None:
    mark = "~" * fence.count("~") or "`" * fence.count("`")
    text = f"```python\nwrong\n```\n\n{fence}\nprint(1)\n{mark}\n"
    assert extract(text) == "print(1)"


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\r\na = 1\r\nb = 2\r\n```\r\n", "a = 1\nb = 2"),
        ("1. do:\n   ```python\n   if x:\n       y\n   ```", "if x:\n    y"),
        ("1. ```python\n   if x:\n       y\n   ```", "if x:\n    y"),
        ("\t```python\n\tif x:\n\t\ty\n\t```", "if x:\n\ty"),
        ("> ```python\n> if x:\n>\n>     y\n> ```", "if x:\n\n    y"),
        ("```python\n    if x:\n        y\n```", "if x:\n    y"),
        ("```python\na\n```\n```python\n```", "a"),
        ("```python\nx = '''\n```\n'''\ny\n```\nend", "x = '''\n```\n'''\ny"),
        ('```python\nx = """a\n```py\nb\n```\n"""  # it"""s\ny\n```', None),
        ("```python\n# it's\na\n```\nthen\n```\nb\n```", "# it's\na"),
        ('```python\n""" never closed\n```\nbut\n```python\nb\n```', "b"),
        ("```python\nx = 'a\\'\"\"\"'\n```\nit\n```python\nb\n```\n", "b"),
        ("```python\na```", "a"),
        ("<answer>```python\na\n```</answer>", "a"),
        ("<answer>\n```python\na\n```\n</answer>", "a"),
        ("````markdown\n```python\na\n```\n````", "a"),
        ("```python\na\n```\n```bash\nls\n```\n```text\n6\n```", "a"),
        ("```text\na\n```", None),
        ("```\na\n```", "a"),
        ("```python\na\n```\n```\nb\n```", "a"),
        ("```python\na\n```\n```python\nb", "a"),
        ("```python\na", "a"),
        ("<think>```python\na\n```</think>```python\nb\n```", "b"),
        ("<think>```python\na\n```", None),
    ],
)
def test_the_last_complete_block_counts(text: str, program: str | None) -> None:
    if program is None and '"""a' in text:
        program = 'x = """a\n```py\nb\n```\n"""  # it"""s\ny'
    assert extract(text) == program


BLOCKS = "```python\ndef f(x): return x\n```\nUse it:\n```python\nprint(f(1))\n```\n"


def test_the_block_that_defines_the_entry_point_counts_before_its_use() -> None:
    assert extract(BLOCKS, entry_point="f") == "def f(x): return x"
    assert extract(BLOCKS, entry_point="g") == "print(f(1))"
    assert extract(BLOCKS) == "print(f(1))"


def test_a_later_definition_counts_before_an_earlier_one() -> None:
    text = f"{BLOCKS}```python\nclass f: pass\n```"
    assert extract(text, entry_point="f.method") == "class f: pass"


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("print(1)", "print(1)"),
        ("Here is the program:\n\nprint(1)\n\nIt prints the number one.", "print(1)"),
        ("Let me write it:\n\n    if x:\n        y\n", "if x:\n    y"),
        ("print(1)\n\nExplanation: it prints one.\n- It takes O(1) time", "print(1)"),
        ("<answer>\nprint(1)\n</answer>", "print(1)"),
        ("[PYTHON]\nprint(1)\n[/PYTHON]", "print(1)"),
        ("Sure! Here is what you want:\nprint(1)", "print(1)"),
        ("x = '''\nHere is a text.\n'''", "x = '''\nHere is a text.\n'''"),
        ("I am sorry, I cannot do that.", "I am sorry, I cannot do that."),
        ("Result = 1 if x else 2.\n", "Result = 1 if x else 2."),
    ],
)
def test_sentences_around_unfenced_code_are_left_out(text: str, program: str) -> None:
    assert extract(text) == program


@pytest.mark.parametrize(
    ("language", "fence"),
    [
        ("c", "C"),
        ("c", "c"),
        ("cpp", "c++"),
        ("cpp", "cpp"),
        ("cpp", "C++17"),
        ("cpp", "cpp20"),
        ("java", "java"),
        ("javascript", "js"),
        ("javascript", "JavaScript"),
        ("go", "golang"),
        ("rust", "rs"),
    ],
)
def test_each_language_has_its_names(language: str, fence: str) -> None:
    text = f"```{fence}\nright\n```\n```python\nwrong\n```\n"
    assert extract(text, language) == "right"


def test_the_evidence_says_which_block_and_why() -> None:
    spec = {"type": "code", "entry_point": "f", "tests": [{"args": [1], "expected": 1}]}
    evidence = rewards.score(BLOCKS, spec).evidence
    assert evidence["extracted_from"] == "python block"
    assert evidence["extraction"] == "block 1 of 2: the last python block that defines f"


@pytest.mark.parametrize(
    "unit", ["```python\n'''\n```\n", "'''\n", '"', "```python\n", "A a a ", "- ", "> ", "1. "]
)
def test_extraction_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    extract("```python\n" + unit * (300_000 // len(unit)), entry_point="f")
    extract(unit * (300_000 // len(unit)))
    assert time.process_time() - started < 4
