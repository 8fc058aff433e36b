"""Compiled Lean modules for tests: real ones, and a writer of any others.

The real ones are what Lean 4.35.0 made of tests/data/lean_modules.lean. The writer checks nothing:
most of what it is used for is nothing that Lean would write.
"""

from __future__ import annotations

import re
import struct
import tarfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
BASE = 0x7000_0000_0000
HEADER = b"olean\x02\x01" + b"4.35.0".ljust(33, b"\0") + b"e" * 40 + struct.pack("<Q", BASE)
NIL = 1
"""The boxed zero: the empty list, the anonymous name, level 0."""
AXIOM, DEF, THEOREM, OPAQUE = range(4)
SAFE = 1


@cache
def real() -> dict[str, bytes]:
    """Return the stored modules."""
    with tarfile.open(DATA / "lean_modules.tar.xz") as tar:
        members = [(m.name.removesuffix(".olean"), tar.extractfile(m)) for m in tar]
        return {name: file.read() for name, file in members if file}


def sources() -> dict[str, str]:
    """Return what the stored modules were made of."""
    text = (DATA / "lean_modules.lean").read_text("utf-8")
    _, *pieces = re.split(r"^-- module: (\w+)\n", text, flags=re.M)
    parts = dict(zip(pieces[::2], pieces[1::2], strict=True))
    header, preamble = parts.pop("header"), parts.pop("preamble")
    ours = {name: "" if name == "other_preamble" else preamble for name in parts}
    return {name: f"prelude\n{header}{ours[name]}{body}" for name, body in parts.items()}


class Writer:
    """Writes objects one after the other; each method returns the word that points to its own."""

    def __init__(self, header: bytes = HEADER) -> None:
        self.data = bytearray(header + bytes(8))
        self.constants: list[tuple[int, int]] = []

    def put(self, size: int, other: int, tag: int, body: bytes) -> int:
        at = len(self.data)
        self.data += struct.pack("<iHBB", 0, size, other, tag) + body
        self.data += bytes(-len(self.data) % 8)
        return BASE + at

    def ctor(self, tag: int, fields: Sequence[int] = (), scalars: bytes = b"") -> int:
        body = struct.pack(f"<{len(fields)}Q", *fields) + scalars
        return self.put(8 + len(body), len(fields), tag, body)

    def array(self, words: Sequence[int]) -> int:
        return self.put(1, 0, 246, struct.pack(f"<QQ{len(words)}Q", *[len(words)] * 2, *words))

    def text(self, text: str) -> int:
        raw = text.encode() + b"\0"
        return self.put(1, 0, 249, struct.pack("<QQQ", len(raw), len(raw), len(text)) + raw)

    def nat(self, number: int) -> int:
        if number < 1 << 63:
            return number << 1 | 1
        limbs = (number.bit_length() + 63) // 64
        return self.big(limbs, number.to_bytes(8 * limbs, "little"))

    def big(self, limbs: int, raw: bytes) -> int:
        here = BASE + len(self.data) + 24
        return self.put(24 + len(raw), 0, 250, struct.pack("<iiQ", 1, limbs, here) + raw)

    def name(self, *parts: str | int, cached: bytes = bytes(8)) -> int:
        word = NIL
        for part in parts:
            tag, field = (2, self.nat(part)) if isinstance(part, int) else (1, self.text(part))
            word = self.ctor(tag, (word, field), cached)
        return word

    def list(self, words: Iterable[int]) -> int:
        word = NIL
        for head in reversed(list(words)):
            word = self.ctor(1, (head, word))
        return word

    def param(self, name: str) -> int:
        return self.ctor(4, (self.name(name),), bytes(8))

    def sort(self, level: int = NIL) -> int:
        return self.ctor(3, (level,), bytes(8))

    def const(self, *name: str | int, levels: Sequence[int] = ()) -> int:
        return self.ctor(4, (self.name(*name), self.list(levels)), bytes(8))

    def app(self, function: int, *arguments: int) -> int:
        for argument in arguments:
            function = self.ctor(5, (function, argument), bytes(8))
        return function

    def pi(self, type_: int, body: int, name: str = "x", info: int = 0) -> int:
        return self.ctor(7, (self.name(name), type_, body), bytes(8) + bytes([info]) + bytes(7))

    def lam(self, type_: int, body: int) -> int:
        return self.ctor(6, (self.name("x"), type_, body), bytes(16))

    def literal(self, number: int) -> int:
        return self.ctor(9, (self.ctor(0, (self.nat(number),)),), bytes(8))

    def signature(self, name: int, type_: int, params: Sequence[str] = ()) -> int:
        return self.ctor(0, (name, self.list(map(self.name, params)), type_))

    def declare(
        self,
        kind: int,
        name: str | tuple[str | int, ...],
        type_: int,
        value: int = NIL,
        params: Sequence[str] = (),
        flag: int | None = None,
    ) -> None:
        """Declare an axiom, def, theorem or opaque constant; safe unless a flag says otherwise."""
        word = self.name(*([name] if isinstance(name, str) else name))
        fields = [self.signature(word, type_, params)]
        fields += [[], [value, NIL, NIL], [value, NIL], [value, NIL]][kind]
        flag = (SAFE if kind == DEF else 0) if flag is None else flag
        scalars = b"" if kind == THEOREM else bytes([flag]) + bytes(7)
        self.constants.append((word, self.ctor(kind, (self.ctor(0, fields, scalars),))))

    def finish(self, imports: Sequence[str] = ()) -> bytes:
        """Return the file."""
        words = [self.ctor(0, (self.name(*i.split(".")),), bytes(8)) for i in imports]
        arrays = [words, [n for n, _ in self.constants], [c for _, c in self.constants], [], []]
        root = self.ctor(0, [self.array(array) for array in arrays], bytes(8))
        self.data[88:96] = struct.pack("<Q", root)
        return bytes(self.data)
