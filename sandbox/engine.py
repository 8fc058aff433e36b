"""Find and reach a container engine: Docker, or Podman's socket, which speaks the same."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from sandbox.types import SandboxError

SOCKETS = ("docker.sock", "podman/podman.sock")
START_ONE = (
    "Start one (`systemctl start docker`, `dockerd &` as root, or `systemctl --user start"
    " podman.socket`), or say in DOCKER_HOST where it is"
)
MAY_NOT = (
    "this user may not use it; the group docker may, and is as good as root, or use a rootless"
    " engine"
)


def connect(timeout_s: float = 60.0, *, connections: int = 10) -> Any:
    """Return a `docker.DockerClient` of the first engine that answers; close it after use.

    DOCKER_HOST decides if it is set; else the usual sockets of Docker and Podman are tried, those
    of the system before those of the user.

    Args:
        timeout_s: How long the engine may take for an answer.
        connections: How many are kept open for the next request.

    Raises:
        SandboxError: If the SDK is missing or no engine answers; the message says what to do.
    """
    try:
        import docker
    except ImportError:
        raise SandboxError(
            "the Docker SDK is not installed: pip install 'assay-rl[docker]'"
        ) from None
    complaints = []
    for address in find_addresses():
        try:
            _probe(address)
            environment = {**os.environ, "DOCKER_HOST": address}
            return docker.from_env(
                environment=environment, timeout=timeout_s, max_pool_size=connections
            )
        except PermissionError:
            complaints.append(f"{address}: {MAY_NOT}")
        except OSError as error:
            complaints.append(f"{address}: {error.strerror or error}")
        except docker.errors.DockerException as error:
            complaints.append(f"{address}: {error}")
    said = "; ".join(complaints) or "none of their usual sockets is there"
    raise SandboxError(f"no Docker or Podman engine answers: {said}. {START_ONE}")


def find_addresses() -> list[str]:
    """Return where an engine may be: what DOCKER_HOST says, or the usual sockets that exist."""
    if address := os.environ.get("DOCKER_HOST"):
        return [address]
    user = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    places = [folder / name for folder in (Path("/run"), user) for name in SOCKETS]
    return [f"unix://{place}" for place in places if os.path.exists(place)]


def _probe(address: str) -> None:
    """Connect to a Unix socket; the SDK's own errors are long, and leave sockets open."""
    if address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(address.removeprefix("unix://"))
