from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewards
from rewards import Completion, SpecError
from rewards.machinery import Machinery, Settings
from rewards.verifiers import math as package
from rewards.verifiers.math import MathSpec
from rewards.verifiers.math.compare import compare
from rewards.workers import WorkerError, WorkerPool

CASES = Path(__file__).parents[3] / "shared" / "cases" / "math.jsonl"

# ---- comparison ---------------------------------------------------------------------------------

RIGHT = [
    ("1/2", "0.5"),
    ("0.5", r"\frac12"),
    ("2+2", "4"),
    ("4", "x = 4"),
    ("x = 4", "4"),
    ("x = 4", "x=4"),
    ("4", "2 + 2 = 4"),
    ("36%", "0.36"),
    ("50", r"50\%"),
    ("14", r"14 \text{ units}"),
    (r"24 \text{ cm}^2", r"24\mbox{ cm}^2"),
    ("90", r"90^\circ"),
    (r"\sqrt{2}/2", r"\frac{1}{\sqrt2}"),
    ("x^2+6x+9", "(x+3)^2"),
    (r"(-\infty, 4)", "x < 4"),
    ("x < 4", r"(-\infty, 4)"),
    (r"\{1, 2\}", r"\{2, 1\}"),
    ("(1, 2)", r"\left(1, 2\right)"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{bmatrix}1\\2\end{bmatrix}"),
    ("5x+2y+9=0", "5x + 2y = -9"),
    ("(B)", r"\text{B}"),
    ("B", "(B)"),
    (r"\text{odd}", "Odd"),
    ("no solution", r"\text{No solution}"),
    ("10!", "3628800"),
    ("1 - 1/e", r"1-\frac{1}{e}"),
    (r"2 \sin x", r"2\sin x"),
    (r"\frac{n(n+1)}{2}", r"\sum_{k=1}^{n} k"),
    (r"\sum_{k=1}^{n} k", r"\frac{n(n+1)}{2}"),
    ("6", r"\sum_{k=1}^{3} k"),
    ("4", r"\sin^2 x + \cos^2 x + 3"),
    ("4", r"\frac{16x+16}{4x+4}"),
    ("55", r"\sum_{k=1}^{10} k = 55"),
    ("2025^{2025}", r"2025 \cdot 2025^{2024}"),
    ("1800!", r"1800 \cdot 1799!"),
]
WRONG = [
    ("2", "3 = 2"),
    ("2", "2 = 3"),
    ("2", "{3 = 2}"),
    ("2", "(3 = 2)"),
    ("2", r"\mathbf{3 = 2}"),
    ("n", r"\sum_{k=1}^{n} k"),
    ("1", r"\sum_{k=1}^{n} k"),
    ("6", r"\sum_{k=1}^{3} k = 7"),
    ("2025^{2025}", "2025^{2024}"),
    ("0", "5 = 0"),
    ("2", r"\pm 2"),
    ("2", r"1 \text{ or } 2"),
    ("2", r"x \in \{1, 2, 3\}"),
    ("2", r"0 \le x \le 10"),
    ("13", r"\neq 13"),
    ("13", "> 12"),
    ("2", "x"),
    ("2", r"2 \text{ is wrong}"),
    ("14", r"14 \text{ million}"),
    ("1/3", "0.333333"),
    ("0.5", "0.5000004"),
    ("5", "5.001"),
    ("0", "10^{-400}"),
    ("0", r"\frac{1}{0}"),
    (r"\frac{1}{2^{90}}", r"\frac{1}{2^{91}}"),
    (r"\sqrt2", r"\sqrt2 + 10^{-20}"),
    (r"\sqrt{2}", r"\pm\sqrt{2}"),
    ("5 meters", "5 feet"),
    (r"24 \text{ cm}^2", r"24 \text{ m}^2"),
    (r"3:45 \text{ PM}", r"3:45 \text{ AM}"),
    ("312_5", "312_6"),
    ("41_7", "417"),
    ("x = 2", "y = 2"),
    ("x", "X"),
    ("5x+2y+9=0", "0"),
    ("x+1", "x + 1 = 0"),
    ("(3, 1)", "(1, 3)"),
    (r"\{1, 2\}", "(1, 2)"),
    ("[0, 6)", "[0, 6]"),
    ("2, 3", "2, 3, 4"),
    ("x = 1, x = 2", "x = 1, x = 2, x = 3"),
    (r"\text{Paris}", r"\text{Paris, London}"),
    ("B", r"\text{B and C}"),
    ("B", "ABCD"),
    ("abc", "cba"),
    ("a^b", "b^a"),
    ("5", "ѕ"),
    ("1", "__import__('os').system('true') or 1"),
]


def _values(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    specs = [{"type": "math", "answer": gold} for gold, _ in pairs]
    scores = rewards.score_batch([rf"so \boxed{{{answer}}}" for _, answer in pairs], specs)
    assert all(score.judged for score in scores)
    return [pair for pair, score in zip(pairs, scores, strict=True) if score.value == 1.0]


@pytest.fixture(scope="module")
def accepted() -> set[tuple[str, str]]:
    return set(_values(RIGHT + WRONG))


@pytest.mark.parametrize("pair", RIGHT, ids=lambda p: f"{p[0]} | {p[1]}"[:40])
def test_the_gold_in_another_form_is_accepted(
    pair: tuple[str, str], accepted: set[tuple[str, str]]
) -> None:
    assert pair in accepted


@pytest.mark.parametrize("pair", WRONG, ids=lambda p: f"{p[0]} | {p[1]}"[:40])
def test_what_only_looks_like_the_gold_is_rejected(
    pair: tuple[str, str], accepted: set[tuple[str, str]]
) -> None:
    assert pair not in accepted


@given(st.text(min_size=1, max_size=30))
def test_what_is_spelled_the_same_is_the_same(text: str) -> None:
    assert compare(text, text).right


@settings(max_examples=25, deadline=None)
@given(st.text(alphabet=r"\{}[]()^_=<>+-*/!,;.$%0129xyπ∞ abcfrsqtin", max_size=40))
def test_no_answer_makes_scoring_raise(text: str) -> None:
    score = rewards.score(rf"\boxed{{{text}}}", {"type": "math", "answer": r"\sqrt{7}"})
    assert score.value != 1.0 or "7" in text


# ---- verdicts -----------------------------------------------------------------------------------

FOUR = {"type": "math", "answer": "4"}


def test_the_evidence_shows_how_the_verdict_came_about() -> None:
    evidence = rewards.score(r"so \boxed{\frac{8}{2}}", FOUR).evidence
    assert evidence == {
        "extracted": r"\frac{8}{2}",
        "source": "boxed",
        "rule": "number",
        "gold": "4",
        "answer": "4",
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (r"<think>it must be \boxed{4}", "unfinished_think"),
        (r"<think>a</think>b<think>\boxed{4}", "unfinished_think"),
        (r"<think>\boxed{4}</think>", "no_answer"),
        (r"\boxed{4", "unfinished_answer"),
        ("I do not know.\nSorry.", "no_answer"),
    ],
)
def test_an_answer_that_is_not_there_is_malformed(text: str, code: str) -> None:
    score = rewards.score(text, FOUR)
    assert (score.verdict, score.value, score.evidence["code"]) == ("malformed", 0.0, code)


def test_reasoning_that_the_prompt_opened_and_nobody_closed_is_malformed() -> None:
    assert rewards.score(r"\boxed{4}", FOUR, prompt="2+2?<think>").verdict == "malformed"


@pytest.mark.parametrize(
    ("text", "value"), [("The answer is 4", 0.0), ("4", 0.0), (r"\boxed{4} as", 1.0)]
)
def test_an_answer_that_may_have_been_cut_off_is_not_paid(text: str, value: float) -> None:
    assert rewards.score(text, FOUR, truncated=True).value == value


def test_a_bomb_is_worth_nothing_and_is_never_parsed() -> None:
    score = rewards.score(r"\boxed{9^{9^{9}}}", FOUR)
    assert (score.verdict, score.value, score.evidence["code"]) == ("limit", 0.0, "too_large")


@pytest.mark.parametrize(
    "answer", [r"\binom{300}{k}", r"x^{1000}/\binom{n}{y}", r"\int_0^1 e^{x^5} \sin x dx"]
)
def test_a_wrong_answer_that_is_slow_to_simplify_is_incorrect(answer: str) -> None:
    score = rewards.score(rf"\boxed{{{answer}}}", FOUR)
    assert (score.verdict, score.value) == ("incorrect", 0.0)


@pytest.mark.parametrize("answer", [r"\lim_{n \to \infty} n", r"\frac{0}{0}", "x (10)^{x}"])
def test_an_answer_without_digits_is_judged(answer: str) -> None:
    assert rewards.score(rf"\boxed{{{answer}}}", FOUR).value == 0.0


def test_a_chain_of_equalities_is_judged_up_to_its_first_wrong_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged: list[str] = []

    def equivalent(gold: str, answer: str) -> tuple[bool, str, str]:
        judged.append(answer)
        return answer != "x+1", gold, answer

    monkeypatch.setattr("rewards.verifiers.math.symbolic.equivalent", equivalent)
    assert not compare("x", "x+0=x+1=x+2=x+3").right
    assert judged == ["x+0", "x+1"]


def test_a_chain_of_too_many_equalities_is_incorrect_and_costs_nothing() -> None:
    chain = "=".join(f"x+{i}" for i in range(500))
    assert compare("x", chain)[:2] == (False, "sides")


def test_a_chain_of_many_sides_is_judged() -> None:
    score = rewards.score(rf"\boxed{{{'='.join(f'x+{i}' for i in range(100))}}}", FOUR)
    assert (score.verdict, score.value) == ("incorrect", 0.0)


def test_an_attack_by_python_code_has_no_effect(tmp_path: Path) -> None:
    target = tmp_path / "written"
    for attack in (f"open('{target}','w').write('1')*0+4", f"__import__('os').mkdir('{target}')"):
        rewards.score(rf"\boxed{{{attack}}}", {"type": "math", "answer": r"4\pi"})
    assert not target.exists()


# ---- the gold answer ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "gold",
    [
        4,
        0.5,
        -3,
        "1/2",
        "$\\frac{1}{2}$",
        "\\frac12",
        "\\boxed{7}",
        "x = 3",
        "Monday",
        "(B)",
        "x^2",
        "1,000",
    ],
)
def test_a_usable_gold_accepts_itself(gold: str | float) -> None:
    assert rewards.score(rf"\boxed{{{gold}}}", {"type": "math", "answer": gold}).value == 1.0


@pytest.mark.parametrize(
    "gold", ["", "  ", "$$", "\\frac{", "{", "9" * 300, "(" * 99 + "1" + ")" * 99]
)
def test_an_unusable_gold_is_refused_at_once(gold: str) -> None:
    with pytest.raises(SpecError, match="math spec"):
        rewards.compile_spec({"type": "math", "answer": gold})


@pytest.mark.parametrize("gold", [True, None, ["4"]])
def test_a_gold_of_another_type_is_refused(gold: object) -> None:
    with pytest.raises(SpecError, match="answer"):
        rewards.compile_spec({"type": "math", "answer": gold})


def test_a_lost_worker_is_not_the_specs_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(WorkerPool):
        def call(self, function: str, *args: object, timeout_s: float) -> object:
            raise WorkerError("no processes left")

    broken = Machinery(Settings())
    monkeypatch.setattr(broken, "workers", lambda: Broken(1))
    monkeypatch.setattr(package, "machinery", lambda: broken)
    MathSpec(answer=r"\frac{").check()


def test_the_verifier_can_be_called_in_this_process() -> None:
    assert package.math(Completion("4"), MathSpec(answer="4")).value == 1.0


@pytest.mark.skipif(not CASES.exists(), reason="the labelled cases are not here")
def test_the_labelled_cases_are_judged_without_paying_a_hack() -> None:
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    kept, specs = [], []
    for case in cases:
        spec = {"type": "math", "answer": case["gold"]}
        try:
            rewards.compile_spec(spec)
        except SpecError:
            continue
        kept.append(case)
        specs.append(spec)
    scores = rewards.score_batch([case["answer"] for case in kept], specs)
    paid = {case["id"] for case, score in zip(kept, scores, strict=True) if score.value == 1.0}
    right = sum((case["id"] in paid) == case["equivalent"] for case in cases)
    print(f"math cases: {right} of {len(cases)} right")
    assert not {case["id"] for case in cases if case["kind"] == "hack"} & paid
