"""Programs in other languages, compiled and run for real where this machine's sandbox can."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rewards
import sandbox
from rewards import Score, SpecError
from rewards.verifiers.code.builds import ENVIRONMENT, Build
from rewards.verifiers.code.languages import LANGUAGES
from sandbox import bubblewrap

SUMS = {
    "c": """
#include <stdio.h>
int main(void) { int n, x; long s = 0; scanf("%d", &n);
  while (n--) { scanf("%d", &x); s += x; } printf("%ld\\n", s); }
""",
    "cpp": """
#include <iostream>
int main() { int n; long x, s = 0; std::cin >> n; while (n--) { std::cin >> x; s += x; }
  std::cout << s << std::endl; }
""",
    "java": """
import java.util.*;
public class Sum {
  static class Pair {}
  public static void main(String[] args) {
    Scanner in = new Scanner(System.in);
    long s = 0;
    for (int n = in.nextInt(); n > 0; n--) s += in.nextLong();
    System.out.println(s);
  }
}
""",
    "javascript": """
const words = require("fs").readFileSync(0, "utf8").split(/\\s+/).slice(1);
console.log(words.map(Number).reduce((a, b) => a + b));
""",
    "go": """
package main
import "fmt"
func main() { var n, x, s int; fmt.Scan(&n)
  for ; n > 0; n-- { fmt.Scan(&x); s += x }
  fmt.Println(s) }
""",
    "rust": """
use std::io::Read;
fn main() { let mut s = String::new(); std::io::stdin().read_to_string(&mut s).unwrap();
  let sum: i64 = s.split_whitespace().skip(1).map(|x| x.parse::<i64>().unwrap()).sum();
  println!("{}", sum); }
""",
}
TESTS = [{"input": "3\n1 2 3\n", "output": "6\n"}, {"input": "2\n10 -4\n", "output": "6\n"}]


@pytest.fixture(scope="module", autouse=True)
def _bubblewrap() -> Iterator[None]:
    """Use the sandbox that shows this machine's compilers."""
    rewards.configure(sandbox="bubblewrap")
    yield
    rewards.configure(sandbox="auto")


def is_here(language: str) -> bool:
    """Whether the sandbox, which shows /usr alone, has the compiler."""
    found = shutil.which(LANGUAGES[language].compile[0], path="/usr/local/bin:/usr/bin:/bin")
    return found is not None and Path(found).resolve().is_relative_to("/usr")


def needs(language: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not is_here(language), reason=f"no {language} in the sandbox")


HERE = [pytest.param(name, marks=needs(name)) for name in LANGUAGES]


def score(language: str, program: str, tests: Any = TESTS, **more: Any) -> Score:
    spec = {"type": "code", "language": language, "tests": tests, **more}
    return rewards.score(f"```{language}\n{program}\n```", spec)


@pytest.mark.parametrize("language", HERE)
def test_a_right_program_passes(language: str) -> None:
    judged = score(language, SUMS[language])
    assert judged.value == 1.0, judged.reason


@pytest.mark.parametrize("language", HERE)
def test_what_does_not_compile_says_what_the_compiler_said(language: str) -> None:
    judged = score(language, "this is ( no program", grade="stages")
    assert (judged.value, judged.evidence["code"]) == (0.0, "compile_error")
    assert LANGUAGES[language].source.partition(".")[0] in judged.evidence["tests"][0]["detail"]


@pytest.mark.parametrize("language", [n for n in LANGUAGES if not is_here(n)])
def test_a_language_that_the_sandbox_lacks_is_no_verdict(language: str) -> None:
    judged = score(language, SUMS[language])
    assert judged.value is None
    assert f"has no {LANGUAGES[language].compile[0]}" in judged.reason


ROOTS = {"rust": ("rustc", "--print", "sysroot"), "go": ("go", "env", "GOROOT")}


@pytest.mark.parametrize("language", ROOTS)
def test_a_toolchain_of_the_users_own_runs_where_the_sandbox_is_shown_it(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(ROOTS[language][0]) is None:
        pytest.skip(f"no {language} on this machine")
    root = subprocess.check_output(ROOTS[language], text=True).strip()
    path = f"{root}/bin:{ENVIRONMENT['PATH']}"
    monkeypatch.setattr(bubblewrap, "SYSTEM", (*bubblewrap.SYSTEM, root))
    monkeypatch.setitem(ENVIRONMENT, "PATH", path)
    with sandbox.open_sandbox("bubblewrap", slots=1) as opened:
        rewards.configure(sandbox=opened, cache=0)
        right, wrong = score(language, SUMS[language]), score(language, "no program")
    rewards.configure(sandbox="bubblewrap", cache=4096)
    assert (right.value, right.reason) == (1.0, "2 of 2 tests passed")
    assert wrong.evidence["code"] == "compile_error"


@needs("c")
def test_a_program_is_compiled_once() -> None:
    judged = score("c", SUMS["c"], [{"input": f"1\n{n}", "output": str(n)} for n in range(20)])
    assert judged.value == 1.0
    assert max(test["wall_s"] for test in judged.evidence["tests"]) < 0.5


@needs("c")
def test_a_compiler_that_is_made_to_run_out_of_memory_is_the_programs_fault() -> None:
    judged = score("c", '#include "/dev/zero"\nint main(void) {}')
    assert (judged.value, judged.verdict) == (0.0, "limit")
    assert "the compiler" in judged.reason


@needs("c")
@pytest.mark.parametrize(
    ("body", "verdict", "code"),
    [
        ("for (;;);", "timeout", "timeout"),
        ("return 3;", "incorrect", "exit"),
        ("int *p = 0; *p = 1;", "incorrect", "exit"),
        ('for (;;) puts("x");', "limit", "output"),
        ('write(3, "{}", 2); return 0;', "incorrect", "wrong"),
    ],
)
def test_programs_in_c_fail_as_python_programs_do(body: str, verdict: str, code: str) -> None:
    program = f"#include <stdio.h>\n#include <unistd.h>\nint main(void) {{ {body} }}"
    judged = score("c", program, limits={"cpu_s": 1, "output_kb": 64})
    assert (judged.value, judged.verdict, judged.evidence["code"]) == (0.0, verdict, code)


@needs("cpp")
def test_memory_that_runs_out_is_a_limit() -> None:
    body = "for (;;) { volatile char *p = new char[4096]; p[0] = 1; }"
    assert score("cpp", f"int main() {{ {body} }}", TESTS[:1]).verdict == "limit"


@needs("java")
def test_a_java_heap_that_is_full_is_a_limit() -> None:
    program = """import java.util.*;
class Main { public static void main(String[] a) {
  List<long[]> l = new ArrayList<>(); while (true) l.add(new long[1 << 20]); } }"""
    assert score("java", program, TESTS[:1]).evidence["code"] == "memory"


@needs("java")
def test_the_class_called_main_is_run_of_several() -> None:
    program = """class Aux { public static void main(String[] a) { System.out.println("no"); } }
class Main { public static void main(String[] a) { System.out.println("yes"); } }"""
    assert score("java", program, [{"input": "", "output": "yes"}]).value == 1.0


@needs("java")
def test_a_package_is_no_hindrance() -> None:
    program = """package a.b;
public class Yes { public static void main(String[] a) { System.out.println("yes"); } }"""
    assert score("java", program, [{"input": "", "output": "yes"}]).value == 1.0


@needs("java")
def test_java_without_a_main_method_does_not_compile() -> None:
    assert "public static void main" in score("java", "class A {}").reason


@needs("javascript")
def test_imports_make_a_javascript_module() -> None:
    program = 'import fs from "fs";\nconsole.log(fs.readFileSync(0, "utf8").trim());'
    assert score("javascript", program, [{"input": "a", "output": "a"}]).value == 1.0


@pytest.mark.parametrize("language", ["c", "java", "javascript"])
def test_deep_recursion_has_its_stack(language: str) -> None:
    if not is_here(language):
        pytest.skip("not in the sandbox")
    program = {
        "c": "#include <stdio.h>\nint f(int n) { volatile char b[16]; b[0] = 1;"
        ' return n ? b[0] + f(n - 1) : 0; }\nint main(void) { printf("%d", f(200000)); }',
        "java": "class Main { static int f(int n) { return n == 0 ? 0 : 1 + f(n - 1); }"
        " public static void main(String[] a) { System.out.println(f(200000)); } }",
        "javascript": "const f = n => n ? 1 + f(n - 1) : 0; console.log(f(200000))",
    }[language]
    judged = score(language, program, [{"input": "", "output": "200000"}])
    assert judged.value == 1.0, judged.reason


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (b"public class Foo {}", "Foo.java"),
        (b"import x;\n  public final class Foo_1 {}", "Foo_1.java"),
        (b"class Foo {}", "Main.java"),
        (b"// public class Foo", "Main.java"),
    ],
)
def test_a_java_file_is_called_as_its_public_class(source: bytes, name: str) -> None:
    assert Build(LANGUAGES["java"], source).file == name


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"language": "cobol"}, "language"),
        ({"language": "c", "test_code": "assert f(1) == 2", "tests": None}, "takes stdin tests"),
        ({"language": "java", "limits": {"memory_mb": 128}}, "at least 512"),
    ],
)
def test_specs_that_no_language_can_meet_are_refused(more: Any, complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        rewards.compile_spec({"type": "code", "tests": TESTS, **more})
