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
    head = stream.read(4)
    if len(head) < 4:
        return None
    body = stream.read(struct.unpack("!I", head)[0])
    frame: dict[str, Any] = json.loads(body)
    return frame


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
