"""The Docker back end: an agent in a hardened container of a Docker or Podman engine.

A container has no network, a read-only root, small file systems in memory for what is writable,
few capabilities, no new privileges, the engine's own system call filter (ours comes on top in each
job), and limits for memory, CPU and processes. The agent in it gives each job a user id of its own.

The agent's code is sent at the start, so that any image with Python 3.11 or newer will do and none
gets stale. It is reached through the container's stdin and stdout, which needs no writable mount,
works where the engine is another machine's, and ends the agent when this process ends, however it
does. See docs/sandbox.md for what this stops and what it does not.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

from sandbox.engine import connect
from sandbox.frames import build_frame
from sandbox.image import DEFAULT_IMAGE
from sandbox.slots import PACKAGE, Channel, Slot, SlotSandbox
from sandbox.types import Limits, SandboxError

OWNER_LABEL = "assay-rl.owner"
"""On each container: which process of which machine it belongs to."""
ENGINE_TIMEOUT_S = 60
RETURN_TIMEOUT_S = 60.0
"""How long jobs wait for an engine that once answered to come back."""
CAPABILITIES = ("SETUID", "SETGID", "SETPCAP", "KILL", "CHOWN")
"""Of the agent; a job has none. For: a user id a job, dropping capabilities, killing, homes."""
AGENT_MB = 128
INSIDE = (
    "frames",
    "syscalls",
    "meter",
    "isolation",
    "program",
    "nursery",
    "watch",
    "agent",
)
"""The modules of the agent, each after those that it imports."""

LOADER = """
import json, os, struct, sys, types
def read(size):
    data = b""
    while len(data) < size and (piece := os.read(0, size - len(data))):
        data += piece
    return data
package = sys.modules["sandbox"] = types.ModuleType("sandbox")
package.__path__ = []
for name, source in json.loads(read(struct.unpack("!I", read(4))[0]))["modules"]:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
sys.modules["sandbox.agent"].main()
"""


def open_docker(
    slots: int,
    *,
    image: str | None = None,
    runtime: str | None = None,
    read_only: Sequence[str] = (),
) -> SlotSandbox:
    """Open a sandbox of `slots` containers.

    Args:
        slots: How many containers take programs.
        image: The image; SANDBOX_IMAGE or the one that `rewards sandbox build` makes by default.
        runtime: The engine's runtime, such as "runsc" for gVisor; SANDBOX_RUNTIME by default.
        read_only: Paths of the engine's machine that can be read in containers.

    Raises:
        SandboxError: If the SDK, the engine or the image is missing; the message says what to do.
    """
    engine = Engine(
        image or os.environ.get("SANDBOX_IMAGE") or DEFAULT_IMAGE,
        runtime or os.environ.get("SANDBOX_RUNTIME") or None,
        read_only,
    )
    engine.remove_orphans()
    return SlotSandbox("docker", slots, engine.start_slot, engine.client.close)


class Engine:
    """Starts containers, and removes those whose owner is no more."""

    def __init__(self, image: str, runtime: str | None, read_only: Sequence[str] = ()) -> None:
        self.image, self.runtime, self.read_only = image, runtime, read_only
        self.client = connect(ENGINE_TIMEOUT_S, connections=64)
        self._seen_working = False
        import docker.errors

        try:
            parts = self.client.version().get("Components") or ()
            self._counts_files = not any("podman" in part["Name"].lower() for part in parts)
            self.client.images.get(image)
        except docker.errors.ImageNotFound:
            self.client.close()
            raise SandboxError(
                f"the engine has no image {image!r}: make it with `rewards sandbox build` (or"
                " `rewards sandbox build --from-host`, which needs no registry), or name another"
                " one with Python 3.11 or newer in SANDBOX_IMAGE"
            ) from None
        except docker.errors.DockerException as error:
            self.client.close()
            raise SandboxError(f"the engine does not answer: {error}") from None

    def start_slot(self, trusted: bool, limits: Limits) -> Slot:
        """Start a container with an agent; wait for an engine that is being restarted.

        Raises:
            SandboxError: If none can be started.
        """
        deadline = time.monotonic() + (RETURN_TIMEOUT_S if self._seen_working else 0)
        while True:
            try:
                slot = Slot(ContainerChannel(self, limits), "uids", trusted=trusted, room=limits)
                self._seen_working = True
                return slot
            except SandboxError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.5)

    def settings(self, limits: Limits) -> dict[str, Any]:
        """Return how a container for jobs within these limits is made."""
        disk_mb, output_mb = limits.disk_mb, limits.output_kb // 1024 + 1
        # What the keeper holds of a job's output, and what the job puts into files, is memory too.
        memory_mb = limits.memory_mb + 2 * disk_mb + 6 * output_mb + AGENT_MB
        place = f"rw,exec,nosuid,nodev,size={disk_mb}m,mode=1777"
        if self._counts_files:  # Podman refuses the option
            place += ",nr_inodes=16384"
        return {
            "image": self.image,
            "command": ["python3", "-s", "-P", "-B", "-X", "utf8", "-c", LOADER],
            "entrypoint": "",
            "user": "0:0",
            "working_dir": "/",
            "environment": {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"},
            "hostname": "sandbox",
            "labels": {OWNER_LABEL: name_owner()},
            "network_mode": "none",
            "ipc_mode": "private",
            "read_only": True,
            "tmpfs": {"/tmp": place, "/dev/shm": place},
            "volumes": {path: {"bind": path, "mode": "ro"} for path in self.read_only},
            "cap_drop": ["ALL"],
            "cap_add": list(CAPABILITIES),
            "security_opt": ["no-new-privileges"],
            "mem_limit": f"{memory_mb}m",
            "memswap_limit": f"{memory_mb}m",
            "nano_cpus": 1_000_000_000,
            "pids_limit": limits.processes + 16,
            "runtime": self.runtime,
            "log_config": {"Type": "none"},
            "stdin_open": True,
            "auto_remove": True,
        }

    def remove_orphans(self) -> None:
        """Remove the containers that a killed process of this machine has left."""
        here = name_owner().rpartition(" ")[0]
        labelled = {"label": OWNER_LABEL}
        for container in self.client.containers.list(True, filters=labelled, ignore_removed=True):
            machine, _, process = container.labels[OWNER_LABEL].rpartition(" ")
            if machine == here and not _is_alive(process):
                _remove(container)


class ContainerChannel(Channel):
    """An agent that is the first process of a container."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        import docker.errors
        import requests

        self._words = bytearray()
        self._mixed = bytearray()
        self._container: Any = None
        self._attached: Any = None
        try:
            self._container = engine.client.containers.create(**engine.settings(limits))
            ends = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            self._attached = self._container.attach_socket(params=ends)
            self._container.start()
        except (docker.errors.DockerException, requests.RequestException, OSError) as error:
            if self._container:
                _remove(self._container)
            if self._attached:
                _close(self._attached)
            raise SandboxError(f"the engine cannot start a container: {error}") from None
        super().__init__(getattr(self._attached, "_sock", self._attached))
        self._unsent += build_frame({"modules": _read_modules()})

    def pid(self) -> int:
        """Return the agent's number on the engine's machine."""
        self._container.reload()
        number: int = self._container.attrs["State"]["Pid"]
        return number

    def strip(self, data: bytes) -> bytes:
        """Take the engine's own framing away: stream number, length, content."""
        self._mixed += data
        stdout = bytearray()
        while len(self._mixed) >= 8:
            stream, size = struct.unpack_from("!BxxxI", self._mixed)
            if len(self._mixed) < 8 + size:
                break
            (stdout if stream == 1 else self._words).extend(self._mixed[8 : 8 + size])
            del self._mixed[: 8 + size]
        return bytes(stdout)

    def end(self) -> str:
        """Kill and remove the container."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        _remove(self._container)
        return self._words[-4000:].decode(errors="replace").strip()

    def close(self) -> None:
        """Let go of the connection."""
        _close(self._attached)


def _close(attached: Any) -> None:
    """Close a stream of the SDK, with the answer that it came with and the socket below."""
    parts: list[Any] = [getattr(attached, name, None) for name in ("_response", "_sock")]
    for part in [*parts, attached]:
        with contextlib.suppress(AttributeError, ValueError, OSError):
            part.close()


def _remove(container: Any) -> None:
    """Remove a container, if it and its engine are still there."""
    import docker.errors
    import requests

    with contextlib.suppress(docker.errors.DockerException, requests.RequestException, OSError):
        container.remove(force=True)


def _read_modules() -> list[tuple[str, str]]:
    return [(f"sandbox.{n}", PACKAGE.joinpath(f"{n}.py").read_text("utf-8")) for n in INSIDE]


def name_owner() -> str:
    """Name this process in a way that no other process ever shares: machine, number, start."""
    pid = os.getpid()
    return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')} {pid}/{_start_time(pid)}"


def _is_alive(process: str) -> bool:
    pid, _, start = process.partition("/")
    return _start_time(pid) == start


def _start_time(pid: int | str) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return ""
