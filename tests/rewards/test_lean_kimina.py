"""The Kimina back end, with a server that answers and fails as it is told."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rewards.verifiers.lean.assemble import Source
from rewards.verifiers.lean.backends import kimina
from rewards.verifiers.lean.backends.kimina import KiminaBackend
from rewards.verifiers.lean.messages import Message

SOURCE = Source("import Mathlib\n\nopen Nat\n", "theorem t : True := trivial\n")
Answer = tuple[int, Any]


class Server(ThreadingHTTPServer):
    """Answers with what `respond` returns: a status, and JSON or raw bytes."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], Any]] = []
        self.respond: Callable[[str, dict[str, Any]], Answer] = lambda path, asked: (200, {})
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, asked, self.headers))
        status, answer = self.server.respond(self.path, asked)
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        with contextlib.suppress(ConnectionError):  # it may have given up
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


def respond(**result: Any) -> Callable[[str, dict[str, Any]], Answer]:
    """Build an answer of today's server about each snippet."""
    return lambda path, asked: (200, {"results": [{"id": "0", "time": 0.1, **result}]})


def said(severity: str, text: str, line: int = 1) -> dict[str, Any]:
    return {"severity": severity, "data": text, "pos": {"line": line, "column": 2}}


PASSES = respond(response={"env": 1})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(kimina, "PAUSES_S", (0.0, 0.0))
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def backend(server: Server) -> KiminaBackend:
    server.respond = respond(response={"env": 0, "messages": [said("info", '"4.26.0"')]})
    opened = KiminaBackend(server.url + "/", "secret")
    server.asked.clear()
    return opened


def test_the_version_is_the_servers_lean(backend: KiminaBackend, server: Server) -> None:
    assert backend.version == f"Lean 4.26.0 at {server.url}"


def test_the_version_is_the_address_of_a_server_that_does_not_tell(server: Server) -> None:
    server.respond = lambda path, asked: (500, b"")
    assert KiminaBackend(server.url).version == server.url


def test_a_text_is_sent_as_the_server_wants_it(backend: KiminaBackend, server: Server) -> None:
    server.respond = PASSES
    result = backend.compile(SOURCE, 29.5)
    assert (result.messages, result.failed, result.trouble) == ((), False, "")
    ((path, asked, headers),) = server.asked
    assert path == "/api/check"
    snippet = {"id": "0", "code": SOURCE.text}
    assert asked == {"snippets": [snippet], "timeout": 30, "debug": False, "reuse": True}
    assert headers["Authorization"] == "Bearer secret"


def test_a_text_without_imports_shares_no_repl(backend: KiminaBackend, server: Server) -> None:
    server.respond = PASSES
    backend.compile(Source("\n-- no import Mathlib\nopen Nat\n", "x"), 10)
    assert server.asked[0][1]["reuse"] is False


def test_an_older_server_is_asked_the_old_way(server: Server) -> None:
    def old(path: str, asked: dict[str, Any]) -> Answer:
        if path != "/verify":
            return 404, {"detail": "Not Found"}
        answer = {"custom_id": asked["codes"][0]["custom_id"], "error": None}
        return 200, {"results": [{**answer, "response": {"messages": [said("error", "no")]}}]}

    server.respond = old
    backend = KiminaBackend(server.url)
    server.asked.clear()
    assert backend.compile(SOURCE, 10).failed
    ((path, asked, _),) = server.asked
    assert path == "/verify"
    assert asked["codes"] == [{"custom_id": "0", "proof": SOURCE.text}]


def test_messages_are_placed_in_the_whole_file(backend: KiminaBackend, server: Server) -> None:
    server.respond = respond(response={"env": 1, "messages": [said("error", "no", line=2)]})
    result = backend.compile(SOURCE, 10)
    assert result.messages == (Message("error", "no", "", 4, 2),)
    assert result.failed


def test_a_server_that_counts_in_the_whole_file_is_believed(server: Server) -> None:
    server.respond = respond(response={"messages": [said("info", '"4.26.0"', line=3)]})
    backend = KiminaBackend(server.url)
    server.respond = respond(response={"messages": [said("error", "no", line=4)]})
    assert backend.compile(SOURCE, 10).messages[0].line == 4


def test_a_sorry_counts_though_no_message_says_so(backend: KiminaBackend, server: Server) -> None:
    sorry = {"pos": {"line": 2, "column": 4}, "endPos": {"line": 2, "column": 9}, "goal": "⊢ a"}
    server.respond = respond(response={"env": 1, "sorries": [sorry]})
    assert backend.compile(SOURCE, 10).messages[0].is_sorry


def test_a_timeout_of_the_text_is_a_limit(backend: KiminaBackend, server: Server) -> None:
    for error in ("Lean REPL command timed out in 10 seconds", "Lean process timed out"):
        server.respond = respond(error=error)
        result = backend.compile(SOURCE, 10)
        assert (result.limit, result.trouble) == ("time", "")


@pytest.mark.parametrize(
    "error",
    [
        "Lean REPL header command timed out in 10.0 seconds",
        "Lean REPL out of memory",
        "Lean process broken pipe",
    ],
)
def test_a_repl_that_fails_is_trouble_after_fresh_ones(
    backend: KiminaBackend, server: Server, error: str
) -> None:
    server.respond = respond(error=error)
    result = backend.compile(SOURCE, 10)
    assert error in result.trouble
    assert [asked["reuse"] for _, asked, _ in server.asked] == [True, False, False]


@pytest.mark.parametrize(
    "answer",
    [
        (500, {"detail": "Failed to start REPL"}),
        (429, {"detail": "No available REPLs"}),
        (200, b"<html>"),
        (200, b""),
        (200, []),
        (200, {"results": []}),
        (200, {"results": [{"id": "1", "response": {}}]}),
        (200, {"results": [{"id": "0"}]}),
        (200, {"results": [{"id": "0", "response": {"message": "Unknown environment."}}]}),
        (200, {"results": [{"id": "0", "response": {"messages": 7}}]}),
        (200, {"results": [{"id": "0", "response": {"messages": [{"data": kimina.NO_JSON}]}}]}),
    ],
)
def test_what_is_no_answer_about_the_text_is_trouble(
    backend: KiminaBackend, server: Server, answer: Answer
) -> None:
    server.respond = lambda path, asked: answer
    result = backend.compile(SOURCE, 10)
    assert result.trouble
    assert (result.failed, result.messages, result.limit) == (False, (), None)
    assert len(server.asked) == 3


def test_a_server_that_recovers_is_asked_again(backend: KiminaBackend, server: Server) -> None:
    answers = iter([(503, {}), PASSES("", {})])
    server.respond = lambda path, asked: next(answers)
    assert not backend.compile(SOURCE, 10).trouble


def test_a_refused_key_is_not_tried_again(backend: KiminaBackend, server: Server) -> None:
    server.respond = lambda path, asked: (401, {"detail": "Invalid API key"})
    assert "REWARDS_KIMINA_KEY" in backend.compile(SOURCE, 10).trouble
    assert len(server.asked) == 1


def test_a_server_that_is_not_there_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kimina, "PAUSES_S", (0.0, 0.0))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert "refused" in KiminaBackend(url).compile(SOURCE, 10).trouble


def test_a_server_that_hangs_is_given_up(
    backend: KiminaBackend, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kimina, "QUEUE_S", 0.0)
    monkeypatch.setattr(kimina, "NETWORK_S", 0.1)

    def hang(path: str, asked: dict[str, Any]) -> Answer:
        time.sleep(1)
        return 200, {}

    server.respond = hang
    started = time.monotonic()
    assert "does not answer" in backend.compile(SOURCE, 0.1).trouble
    assert time.monotonic() - started < 2


def test_a_server_that_keeps_failing_has_its_rest(
    backend: KiminaBackend,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(kimina, "REST_S", 0.3)
    server.respond = lambda path, asked: (500, {})
    with caplog.at_level(logging.WARNING):
        results = [backend.compile(SOURCE, 10) for _ in range(5)]
    assert all(result.trouble for result in results)
    assert len(server.asked) == kimina.TOLERANCE
    assert len(caplog.records) == 1
    time.sleep(0.3)
    server.respond = PASSES
    assert not backend.compile(SOURCE, 10).trouble


def test_many_threads_get_each_their_own_answer(backend: KiminaBackend, server: Server) -> None:
    def echo(path: str, asked: dict[str, Any]) -> Answer:
        return respond(response={"messages": [said("error", asked["snippets"][0]["code"])]})("", {})

    server.respond = echo
    bodies = [f"body {n}" for n in range(32)]
    with ThreadPoolExecutor(16) as threads:
        results = threads.map(lambda body: backend.compile(Source("", body), 10), bodies)
        assert [result.messages[0].text for result in results] == bodies
