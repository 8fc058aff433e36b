"""The `rewards` command: score completions, check data files, list verifiers, try the sandbox."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, Any, NoReturn

from rewards._cli_rows import (
    Row,
    completion_of,
    read_rows,
    read_spec,
    refuse_bad,
    score_rows,
    with_specs,
)
from rewards._cli_sandbox import add_sandbox_commands
from rewards._guard import check_packages
from rewards.errors import ConfigurationError, RewardsError, did_you_mean
from rewards.machinery import SANDBOXES, configure, machinery
from rewards.registry import get_verifier, list_verifiers, load
from rewards.score import Score, Verdict

OK, PROBLEMS, USAGE, UNJUDGED, INTERRUPTED = 0, 1, 2, 3, 130

_EXIT_CODES = """\
exit codes:
  0    done, everything judged
  1    problems were found (check: bad rows; list: a verifier that cannot be imported)
  2    wrong usage: a flag, a file, a spec; nothing was scored
  3    some rows could not be judged (value null): the machine failed, not the completion
  130  interrupted
"""

_SCORE = """\
A row of FILE is a JSON object with "completion" (text or chat messages; "gold" where there is
none), its "spec" unless --spec is given, and optionally "id", "prompt", "num_tokens", "truncated"
and "group". One JSON line a row goes to stdout, in order, and a summary to stderr.

examples:
  rewards score --spec '{"type": "math", "answer": "1/2"}' completions.jsonl
  rewards score --spec spec.toml --output scores.jsonl completions.jsonl
  rewards score --verifier mine.py:palindrome rows-with-specs.jsonl
"""

_CHECK = """\
Every spec must compile, and every "gold" completion must be accepted: outcome 1, or, for a spec of
shaping alone, the verdict "correct". Each bad row is named by its line.

example:
  rewards check train.jsonl && grpo-run ...
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    if isinstance(sys.stdout, io.TextIOWrapper):  # JSON is UTF-8, and escapes half characters
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        check_packages()
        args, extra = parser.parse_known_args(argv)
        if extra:
            args.parser.error(f"unrecognized arguments: {' '.join(extra)}")
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse: --help, or a usage error that it has printed
        return int(stop.code or 0)
    except RewardsError as error:
        print(f"rewards: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        machinery().close()  # the interpreter's exit would wait for the jobs that are running
        print("rewards: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `rewards score ... | head`; keep the interpreter from complaining
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


# ---- commands -----------------------------------------------------------------------------------


def _score(args: argparse.Namespace) -> int:
    _set_up(args)
    rows = with_specs(read_rows(args.file), read_spec(args.spec) if args.spec else None)
    rows = [_with_completion(row) for row in rows]
    refuse_bad(rows)
    scores = []
    with _output(args.output) as out:
        for row, score in score_rows(rows, ("completion", "gold"), "scoring"):
            number = int(row.place.rpartition(":")[2])
            line = {"id": row.data.get("id", number), **score.to_dict()}
            print(json.dumps(line, ensure_ascii=False, default=repr), file=out, flush=True)
            scores.append(score)
    _summarise(scores)
    return OK if all(s.judged for s in scores) else UNJUDGED


def _check(args: argparse.Namespace) -> int:
    _set_up(args)
    rows = with_specs(read_rows(args.file), read_spec(args.spec) if args.spec else None)
    complaints = {row.place: f"{row.label}: {row.complaint}" for row in rows if row.complaint}
    with_gold = [r for r in rows if not r.complaint and completion_of(r, ("gold",)) is not None]
    unjudged = 0
    for row, score in score_rows(with_gold, ("gold",), "checking"):
        if not score.judged:
            unjudged += 1
            complaints[row.place] = f"{row.label}: gold could not be judged: {score.reason}"
        elif not _accepted(score):
            complaints[row.place] = (
                f"{row.label}: gold is not accepted: {score.verdict}"
                f" (value {score.value:g}): {score.reason}"
            )
    for row in rows:
        if row.place in complaints:
            print(complaints[row.place])
    print(f"{len(rows)} rows, {len(with_gold)} golds scored, {len(complaints)} bad")
    if len(complaints) > unjudged:
        return PROBLEMS
    return UNJUDGED if unjudged else OK


def _list(args: argparse.Namespace) -> int:
    _set_up(args)
    table = [("NAME", "RUNS", "ROLE", "ORIGIN")]
    broken = []
    for name, origin in list_verifiers().items():
        try:
            verifier = get_verifier(name)
            table.append((name, verifier.runs, verifier.role, origin))
        except RewardsError as error:
            table.append((name, "-", "-", origin))
            broken.append(str(error))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())
    for complaint in broken:
        print(f"rewards: {complaint}", file=sys.stderr)
    return PROBLEMS if broken else OK


def _schema(args: argparse.Namespace) -> int:
    from rewards._cli_schema import schema_of, schema_of_all

    _set_up(args)
    schema = schema_of(args.type) if args.type else schema_of_all(list(list_verifiers()))
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    return OK


# ---- their parts --------------------------------------------------------------------------------


def _set_up(args: argparse.Namespace) -> None:
    for path in args.verifier:
        load(path)
    configure(sandbox=getattr(args, "sandbox", None), workers=getattr(args, "workers", None))


def _with_completion(row: Row) -> Row:
    if row.complaint or completion_of(row, ("completion", "gold")) is not None:
        return row
    return Row(row.place, row.data, "neither 'completion' nor 'gold' in the row")


def _accepted(score: Score) -> bool:
    return score.outcome == 1 if score.outcome is not None else score.verdict is Verdict.CORRECT


@contextlib.contextmanager
def _output(path: str | None) -> Iterator[IO[str]]:
    if path is None:
        yield sys.stdout
        return
    try:
        file = open(path, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise ConfigurationError(f"--output: cannot write {path}: {error.strerror}") from None
    with file:
        yield file


def _summarise(scores: Sequence[Score]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("measure", "value")
    table.add_row("rows", str(len(scores)))
    for name in ("value", "outcome"):
        known = [x for score in scores if (x := getattr(score, name)) is not None]
        if known:
            table.add_row(f"mean {name}", f"{sum(known) / len(known):.4f} (of {len(known)})")
    counts = Counter(score.verdict for score in scores)
    for verdict in Verdict:
        if counts[verdict]:
            table.add_row(str(verdict), str(counts[verdict]))
    console = Console(stderr=True)
    console.print(table)
    if lost := next((score for score in scores if not score.judged), None):
        console.print(f"first unjudged: {lost.reason}", markup=False, highlight=False)


# ---- the command line ---------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """argparse with one clear line an error, and the nearest word that it knows."""

    def error(self, message: str) -> NoReturn:
        # Both messages of argparse that name a word nobody knows.
        unknown = re.search(r"unrecognized arguments: (\S+)|invalid choice: '([^']*)'", message)
        hint = ""
        if unknown:
            words = [str(c) for action in self._actions for c in action.choices or ()]
            words += self._option_string_actions
            hint = did_you_mean((unknown[1] or unknown[2]).partition("=")[0], words)
        self.exit(USAGE, f"{self.prog}: {message}.{hint} See '{self.prog} --help'.\n")


def _parser() -> _Parser:
    parser = _Parser(
        prog="rewards",
        description="Verifiers for reinforcement learning: what is a completion worth, and why?",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    score = _command(commands, "score", _score, "judge the completions of a JSONL file", _SCORE)
    _file_arguments(score)
    score.add_argument("--output", metavar="FILE", help="write the scores here instead of stdout")
    check = _command(commands, "check", _check, "check specs and gold completions", _CHECK)
    _file_arguments(check)
    _command(commands, "list", _list, "list the installed verifiers", "")
    schema = _command(commands, "schema", _schema, "print the JSON Schema of specs", "")
    schema.add_argument("type", nargs="?", help="one verifier's spec; a union of all without")
    add_sandbox_commands(commands)
    return parser


def _command(commands: Any, name: str, run: Any, summary: str, more: str) -> _Parser:
    parser: _Parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=more or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--verifier",
        action="append",
        default=[],
        metavar="PATH:OBJ",
        help="load a verifier of your own from file.py:obj or pkg.mod:obj (may be repeated)",
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


def _file_arguments(parser: _Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="JSONL; - for standard input")
    parser.add_argument(
        "--spec", help="spec of all rows: a JSON or TOML file, or the text itself; else row by row"
    )
    parser.add_argument("--sandbox", choices=SANDBOXES, help="where model code runs (auto)")
    parser.add_argument("--workers", type=int, metavar="N", help="rows judged at once (all cores)")


if __name__ == "__main__":
    sys.exit(main())
