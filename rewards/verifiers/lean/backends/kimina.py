"""A Kimina Lean Server (project-numina/kimina-lean-server), reached over HTTP: messages only.

What it does and does not tell, by its sources up to 2.1:
- It runs the lines of imports apart from the rest, and places messages in the rest; a fork of it
  places them in the whole text. Which one it is shows when it is asked for its version.
- Without any import, what a shared REPL is told first stays there for all who come later; so such a
  text gets a REPL of its own.
- When a REPL dies it says "out of memory" whatever the cause; so that is nobody's fault here.
- What is wrong with the imports is not told at all. Target files are compiled before they are used,
  elsewhere.
"""

from __future__ import annotations

import http.client
import json
import logging
import math
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from itertools import takewhile
from typing import Any

from rewards.verifiers.lean.assemble import Source
from rewards.verifiers.lean.backends import Compiled
from rewards.verifiers.lean.backends.answers import read_answer

QUEUE_S = 60.0
"""How long the server lets a text wait for a REPL."""
NETWORK_S = 10.0
PAUSES_S = (0.5, 2.0)
"""Before the tries after the first."""
TOLERANCE = 4
"""After so many failures in a row the server is left alone for a while."""
REST_S = 15.0
MAX_ANSWER = 32 << 20
PROBE = "\n\n#eval Lean.versionString"
NO_JSON = "error decoding json response in leanrepl"
"""A message that servers before 2.0 make up."""
logger = logging.getLogger(__name__)


class Failure(Exception):
    """The server gave no answer about the text."""

    def __init__(self, why: str, hopeless: bool = False) -> None:
        super().__init__(why)
        self.hopeless = hopeless
        """Whether the next try would fail alike."""


class Breaker:
    """Keeps a server that fails and fails from being asked, for some seconds. Thread-safe."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0

    def check(self) -> None:
        """Refuse to ask.

        Raises:
            Failure: While the server has its rest.
        """
        if (left_s := self._until - time.monotonic()) > 0:
            raise Failure(f"{self.url} fails; it is not asked for {left_s:.0f} s", hopeless=True)

    def note(self, failure: Failure | None) -> None:
        """Note how an attempt went."""
        with self._lock:
            self._failures = self._failures + 1 if failure else 0
            if self._failures >= TOLERANCE and self._until <= time.monotonic():
                self._until = time.monotonic() + REST_S
                logger.warning("%s: %s; it is not asked for %g s", self.url, failure, REST_S)


class KiminaBackend:
    """Asks a Kimina server about each file."""

    name = "kimina"

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if key:  # servers of different age read different ones
            self._headers |= {"Authorization": f"Bearer {key}", "X-Auth-Token": f"Bearer {key}"}
        self._breaker = Breaker(self.url)
        self._old = False
        self._places_in_whole = False
        self.version = self._ask_version()

    def compile(self, source: Source, timeout_s: float) -> Compiled:
        """Ask about a file, more than once if the server fails."""
        started = time.monotonic()
        result = self._try_often(source, timeout_s)
        return replace(result, elapsed_s=time.monotonic() - started)

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""

    def _try_often(self, source: Source, timeout_s: float) -> Compiled:
        lead = read_lead(source.text)
        lines = 0 if self._places_in_whole else len(lead)
        reuse = any(lead)
        for pause_s in (*PAUSES_S, None):
            try:
                self._breaker.check()
                return read_result(self._ask(source.text, timeout_s, reuse), lines)
            except Failure as failure:
                if pause_s is None or failure.hopeless:
                    return Compiled(trouble=f"kimina: {failure}")
                time.sleep(pause_s)
                reuse = False  # a REPL that others have used may be what fails
        raise AssertionError("unreachable")

    def _ask(self, text: str, timeout_s: float, reuse: bool) -> dict[str, Any]:
        """Return what the server says of a text.

        Raises:
            Failure: If it says nothing of it; the breaker has been told.
        """
        try:
            result = self._post(text, timeout_s, reuse)
        except Failure as failure:
            self._breaker.note(failure)
            raise
        self._breaker.note(None)
        return result

    def _post(self, text: str, timeout_s: float, reuse: bool) -> dict[str, Any]:
        limit = {"timeout": math.ceil(timeout_s)}
        now = {**limit, "snippets": [{"id": "0", "code": text}], "debug": False, "reuse": reuse}
        old = {**limit, "codes": [{"custom_id": "0", "proof": text}], "disable_cache": not reuse}
        # The imports may take as long as the rest.
        patience_s = 2 * timeout_s + QUEUE_S + NETWORK_S
        if not self._old:
            answer = self._request("/api/check", now, patience_s)
            self._old = answer is None
        if self._old:
            answer = self._request("/verify", old, patience_s)
        try:
            (result,) = (answer or {})["results"]
            if result["id" if "id" in result else "custom_id"] != "0":
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise Failure(f"no answer of a Kimina server: {str(answer)[:200]}") from None
        return dict(result)

    def _request(self, path: str, data: dict[str, Any], patience_s: float) -> Any:
        """Return the server's JSON; None if it does not know the path."""
        body = json.dumps(data).encode()
        request = urllib.request.Request(self.url + path, body, self._headers)
        try:
            with urllib.request.urlopen(request, timeout=patience_s) as response:
                return json.loads(response.read(MAX_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                if error.code in (404, 405):
                    return None
                said = error.read(300).decode(errors="replace")
            refused = "; set REWARDS_KIMINA_KEY" if error.code in (401, 403) else ""
            hopeless = 400 <= error.code < 500 and error.code not in (408, 429, 499)
            raise Failure(f"status {error.code}: {said}{refused}", hopeless) from None
        except (OSError, http.client.HTTPException) as error:
            raise Failure(f"{self.url} does not answer: {error or repr(error)}") from None
        except (ValueError, RecursionError) as error:
            raise Failure(f"{self.url} answers with no JSON: {error}") from None

    def _ask_version(self) -> str:
        """Return the Lean version of the server, or its address; learn how it counts lines."""
        try:
            messages = read_result(self._ask(PROBE, NETWORK_S, reuse=False), 0).messages
        except Failure as failure:
            logger.info("%s does not tell its version: %s", self.url, failure)
            return self.url
        if not messages or messages[0].severity != "information":
            return self.url
        self._places_in_whole = messages[0].line > 1
        version = messages[0].text.strip().strip('"')
        return f"Lean {version} at {self.url}"


def read_lead(text: str) -> list[str]:
    """Return the lines that the server takes for the header: imports, and blank ones as ""."""
    lines = (line.strip() for line in text.splitlines())
    return list(takewhile(lambda line: not line or line.startswith("import "), lines))


def read_result(result: dict[str, Any], lines_before: int) -> Compiled:
    """Read what the server says of one text.

    Raises:
        Failure: If that says nothing about the text.
    """
    error, response = result.get("error"), result.get("response")
    if error:
        if "timed out" in str(error) and "header" not in str(error):
            return Compiled(limit="time")
        raise Failure(str(error)[:300])
    if not isinstance(response, dict) or "message" in response:
        raise Failure(f"the REPL says: {str(response)[:300]}")
    try:
        messages = read_answer(response, lines_before)
    except ValueError as broken:
        raise Failure(str(broken)) from None
    if any(message.text == NO_JSON for message in messages):
        raise Failure(NO_JSON)
    return Compiled(messages, failed=any(m.severity == "error" for m in messages))
