"""Find and reach a container engine: Docker, or Podman's socket, which speaks the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox.types import SandboxError

START_ONE = (
    "Start one (`systemctl start docker`, `dockerd &` as root, or `systemctl --user start"
    " podman.socket`), or say in DOCKER_HOST where it is"
)


def connect(timeout_s: float = 60.0) -> Any:
    """Return a `docker.DockerClient` of the first engine that answers; close it after use.

    DOCKER_HOST decides if it is set; else the usual sockets of Docker and Podman are tried, those
    of the system before those of the user.

    Raises:
        SandboxError: If the SDK is missing or no engine answers; the message says what to do.
    """
    try:
        import docker
    except ImportError:
        raise SandboxError(
            "the Docker SDK is not installed: pip install 'assay-rl[docker]'"
        ) from None
    if address := os.environ.get("DOCKER_HOST"):
        try:
            return docker.from_env(timeout=timeout_s)
        except docker.errors.DockerException as error:
            raise SandboxError(
                f"no engine answers at {address} (DOCKER_HOST): {error}. {START_ONE}"
            ) from None
    complaints = []
    for socket in find_sockets():
        try:
            return docker.DockerClient(base_url=f"unix://{socket}", timeout=timeout_s)
        except docker.errors.DockerException as error:
            complaints.append(_complaint(socket, error))
    said = "; ".join(complaints) or "none of the usual sockets is there"
    raise SandboxError(f"no Docker or Podman engine answers: {said}. {START_ONE}")


def find_sockets() -> Iterator[Path]:
    """Yield the sockets of engines that exist here."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    for folder in (Path("/run"), Path("/var/run"), runtime):
        for name in ("docker.sock", "podman/podman.sock"):
            try:
                if (folder / name).is_socket():
                    yield folder / name
            except PermissionError:
                continue  # somebody else's folder


def _complaint(socket: Path, error: Exception) -> str:
    if not os.access(socket, os.R_OK | os.W_OK):
        return (
            f"this user may not use {socket} (the group docker may, and is as good as root;"
            " a rootless engine asks for no group)"
        )
    return f"{socket}: {error}"
