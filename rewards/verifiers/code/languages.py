"""Other languages than Python: how each is compiled and run inside the sandbox.

A language is there if the sandbox has its compiler; `builds.py` says how one is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from sandbox import Limits


@dataclass(frozen=True)
class Language:
    """How to make and run a program; in `run`, {heap_mb} is what its memory limit leaves."""

    name: str
    source: str
    compile: tuple[str, ...]
    run: tuple[str, ...]
    made: str = "program"
    """The file that the compiler makes and that each test gets."""
    memory_mb: int = 512
    """The memory limit when a spec gives none."""
    stack_mb: int = 96
    """For deep recursion; each thread maps as much, so with more there would be few of them."""
    least_mb: int = 32
    """The least memory limit under which a program starts at all."""


_C_FLAGS = ("-O2", "-s", "-pipe", "-w", "-fmax-errors=5", "-fdiagnostics-color=never")
_OTHERS = (
    Language(
        "C",
        "main.c",
        ("gcc", "-std=gnu17", *_C_FLAGS, "-o", "program", "main.c", "-lm"),
        ("program",),
    ),
    Language(
        "C++",
        "main.cpp",
        ("g++", "-std=gnu++20", *_C_FLAGS, "-o", "program", "main.cpp"),
        ("program",),
    ),
    Language(
        "Java",
        "Main.java",
        (
            "javac",
            "-J-Xmx512m",
            "-J-XX:+UseSerialGC",
            "-J-XX:ActiveProcessorCount=2",
            "-nowarn",
            "-proc:none",
            "-encoding",
            "UTF-8",
            "-d",
            "classes",
            "{source}",
        ),
        (
            "java",
            "-Xmx{heap_mb}m",
            "-Xss64m",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            "-XX:ActiveProcessorCount=2",
            "-XX:ReservedCodeCacheSize=64m",
            "-XX:CompressedClassSpaceSize=64m",
            "-jar",
            "program.jar",
        ),
        "program.jar",
        memory_mb=1024,
        stack_mb=8,
        least_mb=512,
    ),
    Language(
        "JavaScript",
        "main.js",
        ("node", "--check", "{source}"),
        ("node", "--max-old-space-size={heap_mb}", "--stack-size=60000", "{source}"),
        "{source}",
        memory_mb=1024,
        stack_mb=64,
        least_mb=256,
    ),
    Language(
        "Go", "main.go", ("go", "build", "-ldflags=-s -w", "-o", "program", "main.go"), ("program",)
    ),
    Language(
        "Rust",
        "main.rs",
        (
            "rustc",
            "-O",
            "--edition=2021",
            "-Cstrip=symbols",
            "-Awarnings",
            "-o",
            "program",
            "main.rs",
        ),
        ("program",),
    ),
)
LANGUAGES = dict(zip(("c", "cpp", "java", "javascript", "go", "rust"), _OTHERS, strict=True))


def default_memory_mb(language: str) -> int:
    """Return the memory limit of programs in a language, when a spec gives none."""
    return LANGUAGES[language].memory_mb if language in LANGUAGES else Limits().memory_mb


def absent(language: Language, sandbox: str) -> str:
    """Say that the sandbox cannot run a language, and what to do."""
    command = language.compile[0]
    return (
        f"the {sandbox} sandbox has no {command}, so it cannot run {language.name}: put {command}"
        " into the sandbox's image (SANDBOX_IMAGE), or into /usr of this machine for bubblewrap"
    )
