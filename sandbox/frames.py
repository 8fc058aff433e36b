"""Frames on the channel between a sandbox and its agents: a 4-byte length and a JSON object.

Bytes travel as base64. JSON and never pickle: the far side is where hostile code runs.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import IO, Any


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read one frame; None at the end of the stream."""
    head = _read_exactly(stream, 4)
    if len(head) < 4:
        return None
    frame: dict[str, Any] = json.loads(_read_exactly(stream, struct.unpack("!I", head)[0]))
    return frame


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    """Read `size` bytes, or what there is before the end; an unbuffered stream gives pieces."""
    data = bytearray()
    while len(data) < size and (piece := stream.read(size - len(data))):
        data += piece
    return bytes(data)


def write_frame(stream: IO[bytes], frame: dict[str, Any]) -> None:
    """Write one frame and flush it."""
    body = json.dumps(frame).encode()
    stream.write(struct.pack("!I", len(body)) + body)
    stream.flush()


def pack(data: bytes) -> str:
    """Turn bytes into JSON text."""
    return base64.b64encode(data).decode("ascii")


def unpack(text: str) -> bytes:
    """Turn JSON text back into bytes."""
    return base64.b64decode(text)
