"""Compile a program once, and run what the compiler made in a fresh job for each test.

Both jobs start as a few trusted lines of Python, which the sandbox's warm interpreter runs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from rewards.verifiers.code.drivers import Driver, make_driver
from rewards.verifiers.code.languages import Language
from sandbox import Job, Limits

MAX_PROGRAM_MB = 32
COMPILER_LIMITS = Limits(
    cpu_s=30, memory_mb=1024, output_kb=2 * MAX_PROGRAM_MB * 1024, processes=256, disk_mb=256
)
ENVIRONMENT = {
    "PATH": "/usr/local/cargo/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin",
    # Go: the standard library only, and nothing is looked for on a network.
    "GO111MODULE": "off",
    "GOPROXY": "off",
    "GOTOOLCHAIN": "local",
    "CGO_ENABLED": "0",
}


@dataclass(frozen=True)
class Build:
    """A program to be compiled, and run."""

    language: Language
    source: bytes

    @property
    def file(self) -> str:
        """The source's file name, which some compilers take seriously."""
        if self.language.name == "Java" and (found := _PUBLIC_TYPE.search(self.source)):
            return f"{found[1].decode()}.java"
        if self.language.name == "JavaScript" and _IMPORT.search(self.source):
            return "main.mjs"
        return self.language.source

    def compile_job(self) -> Job:
        """Return the job that compiles it: {"built": {"program"} | {"failed"} | {"absent"}}."""
        task = {
            "command": self._words(self.language.compile),
            "made": self._words((self.language.made,))[0],
            "most": MAX_PROGRAM_MB << 20,
        }
        return _job(COMPILE, task, {self.file: self.source}, COMPILER_LIMITS)

    def run_job(self, program: bytes, stdin: bytes, limits: Limits) -> Job:
        """Return the job that runs what the compiler made."""
        task = {
            "command": self._words(self.language.run, limits.memory_mb),
            "stack": self.language.stack_mb << 20,
        }
        made = self._words((self.language.made,))[0]
        return _job(EXECUTE, task, {made: program}, limits, stdin)

    def _words(self, words: tuple[str, ...], memory_mb: int = 0) -> list[str]:
        # What such a machine needs besides the heap is a quarter of its memory, roughly.
        heap_mb = str(max(16, memory_mb * 3 // 4))
        filled = [word.replace("{source}", self.file) for word in words]
        return [word.replace("{heap_mb}", heap_mb) for word in filled]


_PUBLIC_TYPE = re.compile(
    rb"^[ \t]*public\s+(?:(?:final|abstract|sealed|strictfp)\s+){0,3}"
    rb"(?:class|interface|enum|record)\s+([A-Za-z_]\w{0,100})\b",
    re.MULTILINE,
)
_IMPORT = re.compile(rb"^(?:import\s[^(]*from\s|import\s+[\"']|export\s)", re.MULTILINE)


_COMMON = """
import json, os, sys

def main():
    with open("task.json") as file:
        task = json.load(file)
    os.unlink("task.json")
    os.environ.update(task["environment"])
    os.environ["GOCACHE"] = os.environ["GOPATH"] = os.path.join(os.getcwd(), ".go")
    work(task, task["command"])
"""

_COMPILE = """
import base64, shutil, subprocess, zipfile

def work(task, command):
    built = {"absent": command[0]}
    if shutil.which(command[0]):
        with open(".messages", "w+b") as said:
            code = subprocess.call(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            said.seek(0)
            built = {"failed": said.read(4000).decode("utf-8", "replace") or f"exit status {code}"}
        if code == 0:
            built = result(task)
    data = json.dumps({"built": built}).encode()
    while data:
        data = data[os.write(3, data):]

def result(task):
    made = task["made"]
    if made.endswith(".jar"):
        if not pack(made):
            return {"failed": "no class has a method 'public static void main(String[])'"}
    if os.path.getsize(made) > task["most"]:
        return {"failed": f"the program takes {os.path.getsize(made)} bytes"}
    with open(made, "rb") as file:
        return {"program": {"$bytes": base64.b64encode(file.read()).decode()}}

def pack(made):
    mains = []
    with zipfile.ZipFile(made, "w") as jar:
        for folder, _, names in os.walk("classes"):
            for name in sorted(names):
                path = os.path.join(folder, name)
                inside = os.path.relpath(path, "classes")
                jar.write(path, inside)
                with open(path, "rb") as file:
                    code = file.read()
                if b"([Ljava/lang/String;)V" in code and b"\\x04main" in code and "$" not in name:
                    mains.append(inside.removesuffix(".class").replace("/", "."))
        # The class called Main, else the first one: a main method may be there to try things out.
        mains.sort(key=lambda name: (name.rpartition(".")[2] != "Main", name))
        if mains:
            jar.writestr("META-INF/MANIFEST.MF", f"Main-Class: {mains[0]}\\n")
    return bool(mains)
"""

_EXECUTE = """
import resource

def work(task, command):
    os.close(3)
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    soft = task["stack"] if hard == resource.RLIM_INFINITY else min(task["stack"], hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    if os.path.exists(command[0]):
        os.chmod(command[0], 0o700)
        command[0] = os.path.abspath(command[0])
    os.execvp(command[0], command)
"""


COMPILE = make_driver({f"{__package__}.compile": _COMMON + _COMPILE})
EXECUTE = make_driver({f"{__package__}.execute": _COMMON + _EXECUTE})


def _job(
    driver: Driver,
    task: dict[str, Any],
    files: dict[str, bytes],
    limits: Limits,
    stdin: bytes = b"",
) -> Job:
    files = {**files, "task.json": json.dumps({**task, "environment": ENVIRONMENT}).encode()}
    return driver.make_job(files, limits, stdin)
