"""What is Docker's alone: how its containers are made, and what happens when they or it fail."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sandbox
from sandbox import Job, Limits, Sandbox, SandboxError
from sandbox.docker import OWNER_LABEL, Engine, name_owner
from sandbox.image import DEFAULT_IMAGE

pytestmark = pytest.mark.docker


def containers(box: Sandbox) -> list[object]:
    """The engine's containers that belong to this process and their settings."""
    import docker

    with contextlib.closing(docker.from_env()) as client:
        return list(client.containers.list(filters={"label": f"{OWNER_LABEL}={name_owner()}"}))


def test_a_container_is_hardened(docker: Sandbox) -> None:
    assert docker.run(Job(b"pass")).ok
    host = containers(docker)[0].attrs["HostConfig"]  # type: ignore[attr-defined]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not {"SYS_ADMIN", "CAP_SYS_ADMIN", "DAC_OVERRIDE"} & set(host["CapAdd"])
    assert "no-new-privileges" in host["SecurityOpt"]
    assert not any("unconfined" in option for option in host["SecurityOpt"])
    assert 0 < host["Memory"] == host["MemorySwap"] < 2 << 30
    assert 0 < host["PidsLimit"] < 200
    assert host["NanoCpus"] == 1_000_000_000
    assert not host["Binds"]
    assert not host["Privileged"]


def test_no_job_has_the_user_id_of_another(docker: Sandbox) -> None:
    with sandbox.open_sandbox("docker", slots=1) as box:
        ids = [box.run(Job(b"import os\nprint(os.getresuid(), os.getresgid())")) for _ in range(5)]
    assert len({outcome.stdout for outcome in ids}) == 5
    assert not any(b"(0" in outcome.stdout or b" 0" in outcome.stdout for outcome in ids)


def test_files_left_in_shared_places_are_removed(docker: Sandbox) -> None:
    leave = b"""
import os
for place in ("/tmp", "/dev/shm"):
    os.makedirs(place + "/deep/er")
    open(place + "/deep/er/file", "w").write("left")
    os.chmod(place + "/deep/er", 0)
    os.chmod(place + "/deep", 0)
os.symlink("/", "/tmp/link")
os.mkfifo("/dev/shm/pipe")
"""
    find = b"import os\nprint(sorted(os.listdir('/tmp')), os.listdir('/dev/shm'), os.getcwd())"
    with sandbox.open_sandbox("docker", slots=1) as box:
        assert box.run(Job(leave)).ok
        (slot,) = box._programs._alive  # type: ignore[attr-defined]
        assert box.run(Job(find)).stdout == b"['1'] [] /tmp/1\n"
        assert box._programs._alive == {slot}  # type: ignore[attr-defined]


def test_a_container_full_of_files_is_given_up_without_a_wait(docker: Sandbox) -> None:
    fill = b"for i in range(16000): open(f'/dev/shm/{i}', 'w').close()"
    with sandbox.open_sandbox("docker", slots=1) as box:
        started = time.monotonic()
        outcome = box.run(Job(fill))
        assert (outcome.ok, time.monotonic() - started < 8) == (True, True)
        assert box.run(Job(b"import os\nprint(os.listdir('/dev/shm'))")).stdout == b"[]\n"


def test_a_job_that_needs_more_gets_a_larger_container(docker: Sandbox) -> None:
    program = b"block = bytearray(1 << 30)\nblock[::4096] = b'x' * len(block[::4096])\nprint(1)"
    with sandbox.open_sandbox("docker", slots=1) as box:
        assert (
            box.run(Job(program)).limit == "memory"
            or b"MemoryError" in box.run(Job(program)).stderr
        )
        assert box.run(Job(program, limits=Limits(memory_mb=2048))).stdout == b"1\n"


def test_a_container_is_replaced_after_many_jobs(
    docker: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.slots.MAX_JOBS", 3)
    with sandbox.open_sandbox("docker", slots=1) as box:
        homes = [box.run(Job(b"import os\nprint(os.getcwd())")).stdout for _ in range(5)]
    assert homes == [b"/tmp/0\n", b"/tmp/1\n", b"/tmp/2\n", b"/tmp/0\n", b"/tmp/1\n"]


def test_replaced_containers_leave_no_descriptor_behind(
    docker: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.slots.MAX_JOBS", 1)
    counts = []
    with sandbox.open_sandbox("docker", slots=1) as box:
        for _ in range(16):
            assert box.run(Job(b"pass")).ok
            counts.append(len(os.listdir("/proc/self/fd")))
    assert max(counts[8:]) <= max(counts[:8])


def test_a_container_that_learned_modules_is_kept(docker: Sandbox) -> None:
    with sandbox.open_sandbox("docker", slots=1) as box:
        before = set(box._programs._alive)  # type: ignore[attr-defined]
        for _ in range(3):
            assert box.run(Job(b"import m\nprint(m.x)", modules={"m": "x = 5"})).stdout == b"5\n"
        assert before == set(box._programs._alive)  # type: ignore[attr-defined]


def test_a_missing_image_says_what_to_do() -> None:
    with pytest.raises(SandboxError, match="rewards sandbox build --from-host"):
        Engine("no-such-image:never", None)


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")


@pytest.mark.usefixtures("no_engine")
def test_no_engine_says_what_to_do() -> None:
    with pytest.raises(SandboxError, match="Start one"):
        sandbox.open_sandbox("docker")


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_auto_is_bubblewrap() -> None:
    with sandbox.open_sandbox("auto", slots=1) as box:
        assert box.name == "bubblewrap"


def test_with_an_engine_and_the_image_auto_is_docker(docker: Sandbox) -> None:
    with sandbox.open_sandbox("auto", slots=1) as box:
        assert box.name == "docker"


def test_containers_of_a_killed_process_are_removed_by_the_next(docker: Sandbox) -> None:
    import docker as sdk

    engine = Engine(DEFAULT_IMAGE, None)
    settings = engine.settings(Limits())
    here = settings["labels"][OWNER_LABEL].rpartition(" ")[0]
    dead = {OWNER_LABEL: f"{here} 1/0"}  # process 1 started later
    elsewhere = {OWNER_LABEL: "another-machine pid:[1] 1/0"}
    made = [
        engine.client.containers.create(**{**settings, "labels": labels, "auto_remove": False})
        for labels in (dead, elsewhere)
    ]
    engine.remove_orphans()
    with pytest.raises(sdk.errors.NotFound):
        made[0].reload()
    made[1].reload()
    made[1].remove()
    engine.client.close()


@pytest.fixture
def own_engine(docker: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnEngine]:
    """An engine with our image that may be killed."""
    if os.getuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("only root can start an engine")
    engine = OwnEngine(Path(f"/tmp/own-engine-{os.getpid()}"))  # a socket's path must be short
    try:
        engine.start()
        save = subprocess.Popen(["docker", "save", DEFAULT_IMAGE], stdout=subprocess.PIPE)
        load = ["docker", "-H", engine.host, "load"]
        subprocess.run(load, stdin=save.stdout, check=True, capture_output=True)
        save.communicate()
        monkeypatch.setenv("DOCKER_HOST", engine.host)
        yield engine
    finally:
        engine.remove()


class OwnEngine:
    def __init__(self, place: Path) -> None:
        self.place, self.host = place, f"unix://{place}/socket"
        place.mkdir()
        containerd = ["containerd", "--root", f"{place}/c", "--state", f"{place}/s"]
        self.containerd = self._spawn([*containerd, "--address", f"{place}/containerd"])
        self.dockerd = self.containerd

    def start(self) -> None:
        (self.place / "pid").unlink(missing_ok=True)
        places = {"data-root": "data", "exec-root": "exec", "pidfile": "pid"}
        command = ["unshare", "--net", "dockerd"]  # or it would take away the host's own bridge
        command += [*(f"--{k}={self.place}/{v}" for k, v in places.items())]
        command += ["-H", self.host, f"--containerd={self.place}/containerd", "--bridge=none"]
        self.dockerd = self._spawn([*command, "--iptables=false", "--ip-masq=false"])
        asking = ["docker", "-H", self.host, "info"]
        for _ in range(600):
            if subprocess.run(asking, capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError((self.place / "log").read_text()[-2000:])

    def kill(self) -> None:
        self.dockerd.kill()
        self.dockerd.wait()

    def remove(self) -> None:
        subprocess.run(["pkill", "-9", "-f", str(self.place)])
        for process in (self.dockerd, self.containerd):
            process.kill()
            process.wait()
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in reversed([m for m in mounts if m.startswith(str(self.place))]):
            subprocess.run(["umount", "-l", mount])
        shutil.rmtree(self.place, ignore_errors=True)

    def _spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        with open(self.place / "log", "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


BATCH = """
import sandbox
from concurrent.futures import ThreadPoolExecutor, as_completed
jobs = [sandbox.Job(b"import time; time.sleep(.05); print(%d)" % i) for i in range(120)]
with sandbox.open_sandbox("docker", slots=2) as box, ThreadPoolExecutor(2) as pool:
    running = [pool.submit(box.run, job) for job in jobs]
    for number, _ in enumerate(as_completed(running, timeout=200)):
        print("done", number, flush=True)
    outcomes = [future.result() for future in running]
right = [outcome.stdout == b"%d\\n" % i for i, outcome in enumerate(outcomes)]
lost = [outcome.infra_error is not None for outcome in outcomes]
print("right", sum(right), "lost", sum(lost), flush=True)
"""


@pytest.mark.slow
def test_a_batch_survives_an_engine_that_is_killed_and_restarted(own_engine: OwnEngine) -> None:
    # In a process of its own, for the SDK leaves sockets open that could not connect.
    command = [sys.executable, "-c", BATCH]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as batch:
        assert batch.stdout
        while batch.stdout.readline() != "done 19\n":
            assert batch.poll() is None
        own_engine.kill()
        time.sleep(0.5)
        own_engine.start()
        _, right, _, lost = batch.stdout.read().splitlines()[-1].split()
    assert int(right) + int(lost) == 120
    assert int(right) >= 110
