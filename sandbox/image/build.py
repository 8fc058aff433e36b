"""Build a sandbox image: from a Python image of a registry, or from this machine's Python."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from sandbox.engine import connect
from sandbox.image import (
    DEFAULT_BASE,
    DEFAULT_IMAGE,
    LABEL,
    PACKAGES,
    PACKAGES_LABEL,
    VERSION_LABEL,
)
from sandbox.image.harvest import harvest
from sandbox.types import SandboxError

HERE = Path(__file__).parent
PYTEST = "pytest>=8.3,<10"
PASSED_ON = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
BUILT, CHATTER = "Successfully built ", ("--->", "Removing intermediate")
BUILD_TIMEOUT_S = 1800.0

Say = Callable[[str], None]


def build_image(
    tag: str = DEFAULT_IMAGE,
    requirements: Path | None = None,
    base: str = DEFAULT_BASE,
    *,
    network: str | None = None,
    say: Say = lambda line: None,
) -> str:
    """Build an image with the Dockerfile beside this file, and return its id.

    Args:
        tag: The image's name.
        requirements: A pip requirements file: what model code may import, besides pytest.
        base: The image to start from; it needs Python 3.11 or newer, and pip.
        network: The network in which pip runs, "host" for the machine's; else the engine's choice.
        say: Called with a line of progress now and then.

    Raises:
        SandboxError: If there is no engine, the build fails, or the image does not work.
    """
    wanted = read_requirements(requirements) if requirements else ""
    with _engine() as client, tempfile.TemporaryDirectory(prefix="sandbox-image-") as folder:
        context = Path(folder)
        for name in ("Dockerfile", "furnish.py"):
            shutil.copy(HERE / name, context)
        (context / "requirements.txt").write_text(f"{PYTEST}\n{wanted}\n")
        arguments = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        arguments |= {"BASE": base, "VERSION": toolkit_version()}
        say(f"building {tag} from {base}")
        events = client.api.build(
            path=folder,
            buildargs=arguments,
            network_mode=network,
            rm=True,
            forcerm=True,
            decode=True,
        )
        return _finish(client, _follow(events, say), tag, say)


def build_from_host(
    tag: str = DEFAULT_IMAGE,
    requirements: Path | None = None,
    *,
    say: Say = lambda line: None,
) -> str:
    """Build an image of this machine's Python, with no registry, and return its id.

    Args:
        tag: The image's name.
        requirements: A pip requirements file: what model code may import, besides pytest.
        say: Called with a line of progress now and then.

    Raises:
        SandboxError: If there is no engine, or the image does not work.
    """
    if requirements:
        read_requirements(requirements)
    with _engine() as client, tempfile.TemporaryDirectory(prefix="sandbox-image-") as folder:
        root = Path(folder, "root")
        harvest(root, requirements, say)
        with tempfile.TemporaryFile() as archive:
            pack(root, archive)
            say(f"handing {archive.tell() >> 20} MB to the engine")
            archive.seek(0)
            answer = client.api.import_image_from_data(archive, changes=_changes())
        return _finish(client, _imported(answer), tag, say)


def read_requirements(path: Path) -> str:
    """Return the text of a requirements file.

    Raises:
        SandboxError: If it cannot be read.
    """
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SandboxError(f"cannot read the requirements file {path}: {error}") from None


def self_test(client: Any, image: str) -> dict[str, Any]:
    """Import everything in a hardened container of an image; return what selftest.py prints.

    Raises:
        SandboxError: If anything cannot be imported, or nothing runs at all.
    """
    folder = client.images.get(image).labels.get(PACKAGES_LABEL, PACKAGES)
    program = (HERE / "selftest.py").read_text("utf-8")
    printed = run_inside(client, image, ["python3", "-s", "-P", "-B", "-c", program, folder])
    found: dict[str, Any] = json.loads(printed)
    if found["broken"]:
        said = "; ".join(f"{name}: {why}" for name, why in found["broken"].items())
        raise SandboxError(f"not everything can be imported in the image {image[:19]}: {said}")
    return found


def run_inside(client: Any, image: str, command: list[str]) -> str:
    """Run a command in a hardened container of an image and return what it printed.

    Raises:
        SandboxError: If it does not run, or fails.
    """
    from docker.errors import DockerException

    container = client.containers.create(
        image,
        command,
        network_mode="none",
        read_only=True,
        user="65534:65534",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
    )
    try:
        container.start()
        if status := container.wait()["StatusCode"]:
            said = container.logs(stdout=False).decode(errors="replace").strip()[-2000:]
            raise SandboxError(f"{command[0]} fails in the image {image[:19]} ({status}): {said}")
        return str(container.logs(stderr=False).decode())
    except DockerException as error:
        raise SandboxError(
            f"{command[0]} does not run in the image {image[:19]}: {error}"
        ) from None
    finally:
        container.remove(force=True)


def toolkit_version() -> str:
    """Return the version of the distribution that this package belongs to."""
    try:
        return version("assay-rl")
    except PackageNotFoundError:
        return "unknown"


def pack(root: Path, archive: IO[bytes]) -> None:
    """Write a folder as a tar file that belongs to root, and that everybody may read."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        if member.name == "tmp":
            member.mode = 0o1777
        return member

    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in sorted(root.iterdir()):
            tar.add(path, path.name, filter=plain)


@contextlib.contextmanager
def _engine() -> Iterator[Any]:
    client = connect(BUILD_TIMEOUT_S)
    try:
        from docker.errors import DockerException

        try:
            yield client
        except DockerException as error:
            raise SandboxError(f"the engine refused: {error}") from error
    finally:
        client.close()


def _changes() -> list[str]:
    labels = {LABEL: "1", PACKAGES_LABEL: PACKAGES, VERSION_LABEL: toolkit_version()}
    return [
        "ENV PATH=/usr/local/bin:/usr/bin:/bin",
        "ENV LANG=C.UTF-8",
        "WORKDIR /tmp",
        'CMD ["python3"]',
        *(f"LABEL {name}={value}" for name, value in labels.items()),
    ]


def _imported(answer: str) -> str:
    """Return the id of a new image. Podman ignores the tag in an import, but reports the id too."""
    if found := re.search(r"\b(?:sha256:)?([0-9a-f]{64})\b", answer):
        return found[1]
    raise SandboxError(f"the engine did not import the image: {answer.strip()[-500:]}")


def _follow(events: Iterable[dict[str, Any]], say: Say) -> str:
    """Pass a build's progress on, and return the id of its image."""
    image = complaint = ""
    for event in events:  # to the end: what is not read keeps its connection open
        line = event.get("stream", "").strip()
        if line and not line.startswith(CHATTER):
            say(line)
        image = line.removeprefix(BUILT) if line.startswith(BUILT) else image
        complaint = event.get("error", complaint).strip()
    if complaint:
        raise SandboxError(
            f"the image was not built: {complaint}. Where no registry can be reached, `rewards"
            " sandbox build --from-host` makes an image of this machine's Python; where containers"
            " have no network, --network host may help"
        )
    return image


def _finish(client: Any, image: str, tag: str, say: Say) -> str:
    """Test an image, then give it its name: what does not work is not there."""
    from docker.utils import parse_repository_tag

    say("self-test: importing everything in a container")
    try:
        found = self_test(client, image)
    except SandboxError:
        client.images.remove(image)
        raise
    repository, label = parse_repository_tag(tag)
    client.api.tag(image, repository, label or "latest")
    built = client.images.get(tag)
    say(
        f"{tag}: Python {found['python']}, pytest {found['pytest']}, {found['modules']} compiled"
        f" modules, {built.attrs['Size'] / 1e6:.0f} MB"
    )
    image_id: str = built.id
    return image_id
