"""Frames on the channel between a sandbox and its agents: a 4-byte length and a JSON object.

Bytes travel as base64. JSON and never pickle: the far side is where hostile code runs.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import IO, Any

MAX_FRAME = 1 << 30


class FrameReader:
    """Cuts what arrives, in pieces of any size, into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Take the next bytes; return the frames that are complete with them.

        Raises:
            OSError: For what cannot be a frame: whoever sent it is out of step.
        """
        self._data += data
        frames = []
        while len(self._data) >= 4:
            size = struct.unpack_from("!I", self._data)[0]
            if size > MAX_FRAME:
                raise OSError(f"a frame of {size} bytes")
            if len(self._data) < 4 + size:
                break
            frames.append(_parse(bytes(self._data[4 : 4 + size])))
            del self._data[: 4 + size]
        return frames


def _parse(body: bytes) -> dict[str, Any]:
    try:
        frame = json.loads(body)
    except ValueError as error:
        raise OSError(f"no frame: {error}") from None
    if not isinstance(frame, dict):
        raise OSError("no frame")
    return frame


def build_frame(frame: dict[str, Any]) -> bytes:
    """Return the bytes of a frame."""
    body = json.dumps(frame).encode()
    return struct.pack("!I", len(body)) + body


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read one frame from an unbuffered stream; None at the end of it."""
    head = _read_exactly(stream, 4)
    if len(head) < 4:
        return None
    return _parse(_read_exactly(stream, struct.unpack("!I", head)[0]))


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    """Read `size` bytes, or what there is before the end; an unbuffered stream gives pieces."""
    data = bytearray()
    while len(data) < size and (piece := stream.read(size - len(data))):
        data += piece
    return bytes(data)


def write_frame(stream: IO[bytes], frame: dict[str, Any]) -> None:
    """Write one frame and flush it."""
    stream.write(build_frame(frame))
    stream.flush()


def pack(data: bytes) -> str:
    """Turn bytes into JSON text."""
    return base64.b64encode(data).decode("ascii")


def unpack(text: str) -> bytes:
    """Turn JSON text back into bytes."""
    return base64.b64decode(text)
