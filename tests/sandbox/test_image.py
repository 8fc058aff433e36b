"""The images that sandbox.image makes, each built here and looked at from the inside."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.engine import connect
from sandbox.image import LABEL, PACKAGES, PACKAGES_LABEL, VERSION_LABEL
from sandbox.image import build as builder
from sandbox.image.build import build_from_host, build_image, pack, self_test, toolkit_version
from sandbox.image.harvest import find_interpreter, harvest
from sandbox.types import SandboxError

NAME = f"assay-rl-test-image-{os.getpid()}"
LOOK_AROUND = """
import importlib.util, json, locale, os, shutil, stat, subprocess, sys, threading, zoneinfo
import pytest
threading.Thread(target=int).start()
modes = {p: os.lstat(p).st_mode for r, _, fs in os.walk("/usr") for p in [r + "/" + f for f in fs]}
print(json.dumps({
    "path": sys.path,
    "tools": [t for t in ("sh", "bash", "pip", "gcc", "perl") if shutil.which(t)],
    "pip": importlib.util.find_spec("pip") is not None,
    "setuid": [p for p, m in modes.items() if m & (stat.S_ISUID | stat.S_ISGID)],
    "stale": [p for p in (json.__cached__, pytest.__cached__) if not os.path.exists(p)],
    "source": json.loads.__code__.co_filename == json.__file__,
    "locale": locale.setlocale(locale.LC_ALL, ""),
    "zone": str(zoneinfo.ZoneInfo("Europe/Berlin")),
    "again": subprocess.call(["python3", "-c", ""], env={"PATH": "/usr/bin:/bin"}),
    "user": open("/etc/passwd").read().split(":")[0],
}))
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    try:
        client = connect()
    except SandboxError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    yield client
    for image in client.images.list(NAME):
        client.images.remove(image.id, force=True)
    client.close()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This machine's Python, harvested once."""
    folder = tmp_path_factory.mktemp("harvest") / "root"
    harvest(folder, None, lambda line: None)
    return folder


@pytest.fixture(scope="module")
def image(engine: Any, root: Path) -> str:
    """The tag of an image of this machine's Python."""
    tag = f"{NAME}:host"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            builder, "harvest", lambda folder, *_: shutil.copytree(root, folder, symlinks=True)
        )
        build_from_host(tag)
    return tag


def run(engine: Any, tag: str, program: str, *options: str) -> str:
    printed: bytes = engine.containers.run(
        tag,
        ["python3", *options, "-c", program],
        remove=True,
        network_mode="none",
        read_only=True,
        user="65534",
        tmpfs={"/tmp": ""},
    )
    return printed.decode()


# ---- from the host ------------------------------------------------------------------------------


@pytest.mark.docker
def test_an_image_from_the_host_has_this_python_and_nothing_to_build_with(
    engine: Any, image: str
) -> None:
    found = json.loads(run(engine, image, LOOK_AROUND))
    assert found.pop("path")[-1] == PACKAGES
    assert found == {
        "tools": [],
        "pip": False,
        "setuid": [],
        "stale": [],
        "source": True,
        "locale": "C.UTF-8",
        "zone": "Europe/Berlin",
        "again": 0,
        "user": "root",
    }
    version = run(engine, image, "import sys; print(*sys.version_info)")
    assert version == f"{' '.join(map(str, sys.version_info))}\n"


@pytest.mark.docker
def test_its_labels_say_where_the_packages_are(engine: Any, image: str) -> None:
    labels = engine.images.get(image).labels
    assert labels[LABEL] == "1"
    assert labels[VERSION_LABEL] == toolkit_version()
    program = f"import sys; sys.path.append({labels[PACKAGES_LABEL]!r}); import pytest; print('ok')"
    assert run(engine, image, program, "-S", "-I") == "ok\n"


@pytest.mark.docker
def test_it_is_small(engine: Any, image: str) -> None:
    assert engine.images.get(image).attrs["Size"] < 150_000_000


@pytest.mark.docker
def test_everything_in_it_can_be_imported(engine: Any, image: str) -> None:
    found = self_test(engine, image)
    assert found["python"] == sys.version.split()[0]
    assert found["pytest"] == pytest.__version__
    assert found["modules"] > 50
    assert found["compiled"]


@pytest.mark.docker
def test_an_image_that_fails_its_test_gets_no_name(
    engine: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoiled(folder: Path, *_: object) -> None:
        shutil.copytree(root, folder, symlinks=True)
        Path(folder, PACKAGES[1:], "broken.py").write_text("import nothing_like_this")

    monkeypatch.setattr(builder, "harvest", spoiled)
    with pytest.raises(SandboxError, match="broken: ModuleNotFoundError: No module named"):
        build_from_host(f"{NAME}:broken")
    assert not engine.images.list(f"{NAME}:broken")


@pytest.mark.docker
@pytest.mark.usefixtures("engine")
def test_an_image_without_python_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        builder, "harvest", lambda folder, *_: Path(folder, "tmp").mkdir(parents=True)
    )
    with pytest.raises(SandboxError, match="python3 does not run in the image"):
        build_from_host(f"{NAME}:empty")


def test_the_interpreter_is_the_one_below_the_virtual_environment() -> None:
    python = find_interpreter()
    assert not (python.executable.parent.parent / "pyvenv.cfg").exists()
    assert any((folder / "os.py").is_file() for folder in python.libraries)


def test_all_in_an_archive_is_roots_and_readable(tmp_path: Path) -> None:
    for name, mode in {"private": 0o600, "tool": 0o4700}.items():
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(mode)
    (tmp_path / "tmp").mkdir(mode=0o700)
    archive = io.BytesIO()
    pack(tmp_path, archive)
    archive.seek(0)
    with tarfile.open(fileobj=archive) as tar:
        found = {m.name: (m.mode, m.uid, m.gid, m.uname) for m in tar}
    assert found == {
        "private": (0o644, 0, 0, ""),
        "tool": (0o755, 0, 0, ""),
        "tmp": (0o1777, 0, 0, ""),
    }


# ---- from a registry's --------------------------------------------------------------------------

PIP = """
import pathlib, sys
given = dict(zip(sys.argv, sys.argv[1:]))
for line in pathlib.Path(given["-r"]).read_text().split():
    pathlib.Path(given["--target"], line.partition(">")[0] + ".py").write_text("__version__ = '1'")
"""


@pytest.fixture(scope="module")
def base(engine: Any, image: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tag of an image with what stands for pip: it writes a module a requirement."""
    context = tmp_path_factory.mktemp("base")
    (context / "pip").mkdir()
    (context / "pip" / "__main__.py").write_text(PIP)
    lines = [f"FROM {image}", f"COPY pip {find_interpreter().site}/pip"]
    (context / "Dockerfile").write_text("\n".join(lines))
    engine.images.build(path=str(context), tag=f"{NAME}:base", rm=True)
    return f"{NAME}:base"


@pytest.mark.docker
def test_the_dockerfile_furnishes_any_image_with_python(
    engine: Any, base: str, tmp_path: Path
) -> None:
    (tmp_path / "wishes.txt").write_text("wished_for\n")
    said: list[str] = []
    tag = f"{NAME}:built"
    image = build_image(tag, tmp_path / "wishes.txt", base, network="none", say=said.append)
    assert engine.images.get(tag).id == image
    assert engine.images.get(tag).labels[PACKAGES_LABEL] == PACKAGES
    assert run(engine, tag, "import wished_for; print(wished_for.__version__)") == "1\n"
    found = json.loads(run(engine, tag, LOOK_AROUND))
    assert (found["pip"], found["setuid"], found["stale"]) == (False, [], [])
    assert said[-1].startswith(f"{tag}: Python {sys.version.split()[0]}, ")


@pytest.mark.docker
def test_a_base_that_is_out_of_reach_names_the_other_way(engine: Any) -> None:
    with pytest.raises(SandboxError, match="rewards sandbox build --from-host"):
        build_image(f"{NAME}:never", base="localhost:1/nothing")


# ---- no engine ----------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [build_image, build_from_host])
def test_a_missing_engine_is_said_with_what_to_do(
    build: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    with pytest.raises(SandboxError, match=r"unix:///nowhere.sock: No such file .*Start one"):
        build()


def test_a_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(SandboxError, match=r"pip install 'assay-rl\[docker\]'"):
        connect()


@pytest.mark.parametrize("build", [build_image, build_from_host])
def test_missing_requirements_are_noticed_first(
    build: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    with pytest.raises(SandboxError, match="cannot read the requirements file /nowhere"):
        build(requirements=Path("/nowhere"))
