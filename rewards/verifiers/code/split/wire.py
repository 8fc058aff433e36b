"""Frames between the process of the tests and that of the model's code, over one descriptor.

A frame is a 4-byte length and a JSON object. Requests have an "op" and a number, replies repeat the
number under "re". Each side may ask while it is being asked (a callback during a call), so replies
come in the reverse order of the requests. The model's side can send what it likes, at any time:
whatever is no frame in its place ends the conversation.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Any

DESCRIPTOR = 4
MAX_BYTES = 16 << 20
MAX_ITEMS = 1 << 20
"""Values in a frame: each costs its reader some 100 bytes, however short its text."""

Frame = dict[str, Any]


class Broken(Exception):
    """The other side is gone, or sent what is no frame."""


class TooLarge(Exception):
    """A frame of ours is larger than the other side would take."""


def _excess(body: bytes) -> str:
    """Say how a frame is too large; empty if it is not."""
    if len(body) > MAX_BYTES:
        return f"{len(body)} bytes, more than {MAX_BYTES}"
    if sum(map(body.count, (b",", b"[", b"{"))) > MAX_ITEMS:
        return f"more than {MAX_ITEMS} items"
    return ""


class Link:
    """One end of the conversation; thread-safe: one question at a time."""

    def __init__(self, serve: Callable[[Frame], Frame], descriptor: int = DESCRIPTOR) -> None:
        self._serve = serve
        self._descriptor = descriptor
        self._asked = 0
        self._lock = threading.RLock()

    def ask(self, request: Frame) -> Frame:
        """Send a request and return its reply, serving the requests that come meanwhile."""
        with self._lock:
            self._asked += 1
            number = self._asked
            self._send({**request, "n": number})
            while True:
                frame = self._receive()
                if "re" in frame:
                    if frame["re"] is not True and frame["re"] == number:
                        return frame
                    raise Broken("answered what nobody had asked")
                self._answer(frame)

    def serve_until_end(self) -> None:
        """Answer requests until the other side is gone."""
        while True:
            self._answer(self._receive())

    def _answer(self, frame: Frame) -> None:
        number = frame.get("n")
        try:
            self._send({**self._serve(frame), "re": number})
        except TooLarge as error:
            self._send({"cannot": str(error), "re": number})

    def _send(self, frame: Frame) -> None:
        body = json.dumps(frame).encode()
        if excess := _excess(body):
            raise TooLarge(f"a value is too large to cross ({excess})")
        data = memoryview(len(body).to_bytes(4, "big") + body)
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise Broken(f"is gone ({error.strerror})") from None

    def _receive(self) -> Frame:
        size = int.from_bytes(self._read(4), "big")
        body = self._read(size) if size <= MAX_BYTES else b""
        if excess := _excess(body) or (not body and f"{size} bytes"):
            raise Broken(f"sent too much at once ({excess})")
        try:
            frame = json.loads(body)
        except (ValueError, RecursionError):
            raise Broken("sent what is no JSON") from None
        if not isinstance(frame, dict):
            raise Broken("sent what is no frame")
        return frame

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = os.read(self._descriptor, min(size - len(data), 1 << 20))
            except OSError as error:
                raise Broken(f"is gone ({error.strerror})") from None
            if not piece:
                raise Broken("is gone")
            data += piece
        return bytes(data)
