"""The objects in an .olean file of Lean 4.35 (format 2), read without trusting a byte of it.

A file is a header of 88 bytes, a pointer to the root, and objects: what Lean has in memory, with
addresses as if the file were mapped at the base address that its header names. Objects were written
after those that they point to, so a pointer that does not go backwards is refused, and no path
through a file can be a cycle. Cached hashes and flags are never looked at.
"""

from __future__ import annotations

import struct

MAGIC = b"olean\x02"
HEADER = struct.Struct("<6sB33s40sQQ")
OBJECT = struct.Struct("<iHBB")
SIZES = struct.Struct("<QQ")
MPZ = struct.Struct("<iiQ")
MAX_CONSTRUCTOR, ARRAY, STRING, BIG_NAT = 243, 246, 249, 250
GMP = 1
"""The flag of files whose big numbers are GMP's."""
MAX_BYTES = 16 << 20
SMALL_NAT_BITS = 63

Word = int
"""What a field holds: a small number shifted left, plus one, or the address of an object."""


class OleanError(Exception):
    """A file is not what Lean 4.35 writes; the message says where and how."""


class Heap:
    """The objects of one file.

    Raises:
        OleanError: If the file is too large, or its header is not one of this format.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) > MAX_BYTES:
            raise OleanError(f"{len(data)} bytes are more than the {MAX_BYTES} that are read here")
        if len(data) < HEADER.size or not data.startswith(MAGIC):
            raise OleanError("it does not start like an .olean file of format 2 (Lean 4.35)")
        _, flags, version, commit, base, root = HEADER.unpack_from(data)
        if flags != GMP:
            raise OleanError(f"flags {flags}: big numbers in a form that is not read here")
        self.data = data
        self.base: int = base
        self.root: Word = root
        self.lean = (version.rstrip(b"\0"), commit)
        """Version and commit of the Lean that wrote it."""

    def constructor(self, word: Word) -> tuple[int, tuple[Word, ...], bytes]:
        """Return an object's constructor number, its fields and the bytes of its scalars."""
        at = self._find(word)
        _, size, num_fields, tag = OBJECT.unpack_from(self.data, at)
        scalars = at + 8 + 8 * num_fields
        if tag > MAX_CONSTRUCTOR or size % 8 or not scalars <= at + size <= len(self.data):
            raise OleanError(f"no constructor object at {at}")
        fields = struct.unpack_from(f"<{num_fields}Q", self.data, at + 8)
        self._check(fields, at)
        return tag, fields, self.data[scalars : at + size]

    def array(self, word: Word) -> tuple[Word, ...]:
        """Return the elements of an array."""
        at = self._find(word, 24)
        size, _ = SIZES.unpack_from(self.data, at + 8)
        if self.data[at + 7] != ARRAY or size > (len(self.data) - at - 24) // 8:
            raise OleanError(f"no array at {at}")
        elements = struct.unpack_from(f"<{size}Q", self.data, at + 24)
        self._check(elements, at)
        return elements

    def string(self, word: Word) -> str:
        """Return a string."""
        at = self._find(word, 32)
        size, capacity = SIZES.unpack_from(self.data, at + 8)
        raw = self.data[at + 32 : at + 32 + size]
        if self.data[at + 7] != STRING or not len(raw) == size == capacity or raw[-1:] != b"\0":
            raise OleanError(f"no string at {at}")
        try:
            text = raw[:-1].decode()
        except UnicodeDecodeError:
            raise OleanError(f"a string at {at} that is not UTF-8") from None
        if SIZES.unpack_from(self.data, at + 16)[1] != len(text):
            raise OleanError(f"a string at {at} that lies about its length")
        return text

    def nat(self, word: Word) -> int:
        """Return a natural number of any size."""
        if word & 1:
            return word >> 1
        at = self._find(word, 24)
        if self.data[at + 7] != BIG_NAT:
            raise OleanError(f"no number at {at}")
        _, limbs, address = MPZ.unpack_from(self.data, at + 8)
        # A negative or unnormalised one would be a number to Lean that no number is equal to.
        end = at + 24 + 8 * limbs
        if limbs < 1 or address != self.base + at + 24 or end > len(self.data):
            raise OleanError(f"no natural number at {at}")
        value = int.from_bytes(self.data[at + 24 : end], "little")
        if value.bit_length() <= max(SMALL_NAT_BITS, 64 * (limbs - 1)):
            raise OleanError(f"a number at {at} with more digits than it needs")
        return value

    def _find(self, word: Word, size: int = 8) -> int:
        at: int = word - self.base
        if word & 7 or not HEADER.size <= at <= len(self.data) - size:
            raise OleanError(f"a pointer to {at:#x}, where no object is")
        return at

    def _check(self, words: tuple[Word, ...], at: int) -> None:
        for word in words:
            if not word & 1 and not self.base + HEADER.size <= word < self.base + at:
                raise OleanError(f"an object at {at} that points to what is not before it")
