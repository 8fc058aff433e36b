"""`rewards sandbox`: build the image, say what works on this machine, run one program."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewards.errors import ConfigurationError
from rewards.machinery import SANDBOXES

if TYPE_CHECKING:  # at run time later, once it is sure that the package of that name is ours
    from sandbox import Limits, Outcome

OK, FAILED, MACHINE_TROUBLE, TIME_IS_UP, KILLED = 0, 1, 70, 124, 128
SIGKILL = 9
LIMITS = {
    "cpu_s": (float, "CPU seconds of all its processes (5)"),
    "wall_s": (float, "seconds on the clock (3 x cpu + 1); given alone it limits CPU time too"),
    "memory_mb": (int, "memory of all its processes (512)"),
    "output_kb": (int, "what it may print on each of stdout and stderr (10240)"),
    "processes": (int, "processes and threads at once (64)"),
    "disk_mb": (int, "size of its private /tmp (64)"),
}

_SANDBOX = """\
Programs of models run in containers, out of reach of this machine. `doctor` says which kinds of
container work here and what to do for those that do not; `build` makes the image that Docker and
Podman need; `run` runs one program as a verifier would, to see what happens to it.
"""

_BUILD = """\
Without --from-host the image starts from a Python image of a registry, and pip runs in there;
PIP_INDEX_URL and PIP_EXTRA_INDEX_URL are passed on. With it the image is a copy of the Python that
runs this command, with its standard library and every shared library that it needs: no registry,
no shell, no pip in there. Both get pytest, and what --requirements names for models to import.
Everything is then imported in a container, as a test; an image that fails it gets no name.

examples:
  rewards sandbox build
  rewards sandbox build --requirements requirements.txt --base python:3.13-slim
  rewards sandbox build --from-host
"""

_DOCTOR = """\
Opens each back end that can work and runs a small program in it.

exit codes: 0 if a back end that keeps hostile programs in works, else 1
"""

_RUN = """\
Its stdout and stderr are passed through when it has ended. What ended it, if it did not end by
itself, is said on stderr.

exit codes:
  the program's own, or 128 + the signal that killed it
  124  it hit the limit of CPU or wall time
  137  it hit another limit
  70   the machine failed: no sandbox can be opened here, or the job was lost
  2    wrong usage

examples:
  rewards sandbox run solution.py --stdin '3 4'
  rewards sandbox run solution.py --stdin @input.txt --cpu-s 1 --memory-mb 256
  echo 3 4 | rewards sandbox run solution.py --stdin - --backend bubblewrap
"""


def add_sandbox_commands(commands: Any) -> None:
    """Add `sandbox` and its own commands to the command line."""
    group = _command(commands, "sandbox", "build, examine and try the sandbox", _SANDBOX)
    below = group.add_subparsers(metavar="COMMAND", required=True, dest="sandbox_command")
    build = _command(below, "build", "build the image for Docker and Podman", _BUILD, _build)
    build.add_argument("--from-host", action="store_true", help="copy this machine's Python")
    build.add_argument("--requirements", type=Path, metavar="FILE", help="pip requirements")
    build.add_argument("--tag", metavar="NAME", help="its name (the one that Docker jobs start)")
    build.add_argument("--base", metavar="IMAGE", help="image to start from (python:3.12-slim)")
    build.add_argument("--network", metavar="NAME", help="where pip runs in there; host: as here")
    _command(below, "doctor", "say what works on this machine and what to do", _DOCTOR, _doctor)
    run = _command(below, "run", "run one Python program", _RUN, _run)
    run.add_argument("file", metavar="FILE", help="the program")
    run.add_argument("--stdin", metavar="TEXT", help="its input; - is ours, @FILE a file's (empty)")
    for name, (kind, what) in LIMITS.items():
        run.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N", help=what)
    run.add_argument("--backend", choices=SANDBOXES, default="auto", help="where (auto)")


def _command(commands: Any, name: str, summary: str, more: str, run: Any = None) -> Any:
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


# ---- commands -----------------------------------------------------------------------------------


def _build(args: argparse.Namespace) -> int:
    from sandbox import SandboxError
    from sandbox.image import DEFAULT_BASE, DEFAULT_IMAGE
    from sandbox.image.build import build_from_host, build_image

    if args.from_host and (args.base or args.network):
        raise ConfigurationError("--from-host starts from no image: drop --base and --network")
    tag = args.tag or DEFAULT_IMAGE
    try:
        if args.from_host:
            build_from_host(tag, args.requirements, say=_say)
        else:
            base = args.base or DEFAULT_BASE
            build_image(tag, args.requirements, base, network=args.network, say=_say)
    except SandboxError as error:
        print(f"rewards: {error}", file=sys.stderr)
        return FAILED
    return OK


def _say(line: str) -> None:
    print(line, flush=True)


def _doctor(args: argparse.Namespace) -> int:
    from sandbox.doctor import examine, has_safe_backend

    findings = []
    for found in examine():
        print(f"{found.state:4}  {found.about:26}  {found.said}", flush=True)
        findings.append(found)
    if has_safe_backend(findings):
        return OK
    print(
        "rewards: no back end here keeps hostile programs in; see the lines marked bad",
        file=sys.stderr,
    )
    return FAILED


def _run(args: argparse.Namespace) -> int:
    from sandbox import Job, Limits, SandboxError, open_sandbox

    program, stdin = _read(args.file, "FILE"), _stdin(args.stdin)
    given = {name: getattr(args, name) for name in LIMITS}
    try:
        limits = Limits(**{k: v for k, v in given.items() if v is not None})
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    try:
        with open_sandbox(args.backend, slots=1) as box:
            outcome = box.run(Job(program, stdin=stdin, limits=limits))
    except SandboxError as error:
        print(f"rewards: {error}", file=sys.stderr)
        return MACHINE_TROUBLE
    for stream, data in ((sys.stdout, outcome.stdout), (sys.stderr, outcome.stderr)):
        stream.buffer.write(data)
        stream.flush()
    code, why = _verdict(outcome, limits)
    if why:
        print(f"rewards: {why}", file=sys.stderr)
    return code


def _verdict(outcome: Outcome, limits: Limits) -> tuple[int, str | None]:
    """Return our exit code, and what ended the program if it was not the program."""
    used = f"{outcome.cpu_s:.2f} s of CPU, {outcome.wall_s:.2f} s, {outcome.peak_memory_mb:.0f} MB"
    if outcome.infra_error:
        return MACHINE_TROUBLE, f"the machine failed, not the program: {outcome.infra_error}"
    if outcome.limit in ("cpu", "wall"):
        allowed = limits.cpu_seconds if outcome.limit == "cpu" else limits.wall_seconds
        return TIME_IS_UP, f"over the {outcome.limit} limit of {allowed:g} s ({used})"
    if outcome.limit:
        return KILLED + SIGKILL, f"over the {outcome.limit} limit ({used})"
    if outcome.signal is not None:
        return KILLED + outcome.signal, f"killed by signal {outcome.signal} ({used})"
    if outcome.compile_error:
        return FAILED, outcome.compile_error
    return outcome.exit_code or OK, None


def _stdin(text: str | None) -> bytes:
    if text == "-":
        return sys.stdin.buffer.read()
    if text and text.startswith("@"):
        return _read(text[1:], "--stdin")
    return os.fsencode(text or "")


def _read(path: str, what: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{what}: cannot read {path}: {error.strerror}") from None
