from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewards
from rewards import Completion, SpecError
from rewards.machinery import Machinery, Settings
from rewards.verifiers import math as package
from rewards.verifiers.math import MathSpec
from rewards.workers import WorkerError, WorkerPool

FOUR = {"type": "math", "answer": "4"}


def value(answer: str, gold: str | float, **spec: object) -> float | None:
    return rewards.score(rf"\boxed{{{answer}}}", {"type": "math", "answer": gold, **spec}).value


# ---- verdicts -----------------------------------------------------------------------------------


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
        (r"\boxed{}", "empty_answer"),
        (r"\boxed{4}. Wait, that is wrong.", "hedged"),
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


@pytest.mark.parametrize(
    "bomb",
    [
        "9^{9^{9}}",
        "9^9^9^9",
        "9**9**9**9",
        "100000000!",
        "((10!)!)!",
        r"\binom{10^9}{5\cdot10^8}",
        r"\sum_{k=1}^{10^{12}} \frac{1}{k}",
        r"\prod_{k=1}^{100000} k",
        "(" * 600 + "1" + ")" * 600,
        r"\sqrt{" * 300 + "5" + "}" * 300,
        r"\frac{1}{" * 200 + "2" + "}" * 200,
        "7" * 10_000,
        "(x+y+z+w+1)^{200} - (x+y+z+w)^{200}",
        "(x+1)(x+2)" * 500,
        "+".join(f"x_{k}" for k in range(900)),
        "(" + "+".join(f"x_{k}" for k in range(200)) + ")^{40}",
        "e^{e^{e^{e^{9}}}}",
        r"\sin(10^{10^{10}})",
        r"\sqrt[99999999]{3}",
        "2x!!!!!!!!!",
        "\\pm 1" * 30,
        r"\begin{vmatrix}" + (r"1&2&3&4&5&6&7\\" * 7) + r"\end{vmatrix}",
        "=".join(f"x+{i}" for i in range(500)),
        "1," * 1500 + "1",
        "{" * 3000,
        "^" * 3000,
        "$" * 4000,
    ],
    ids=lambda bomb: bomb[:24],
)
def test_a_bomb_is_worth_nothing_and_costs_little(bomb: str) -> None:
    import time

    started = time.process_time()
    score = rewards.score(rf"\boxed{{{bomb}}}", FOUR)
    assert score.value == 0.0
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    "answer", [r"\binom{300}{k}", r"x^{1000}/\binom{n}{y}", r"\int_0^1 e^{x^5} \sin x dx"]
)
def test_a_wrong_answer_that_is_slow_to_simplify_is_worth_nothing(answer: str) -> None:
    assert value(answer, "4") == 0.0


def test_an_answer_that_is_a_task_without_end_times_out_for_nothing() -> None:
    score = rewards.score(r"\boxed{\int_0^1 x^{x^{x^{x}}} dx}", FOUR)
    assert (score.verdict, score.value) == ("timeout", 0.0)


@pytest.mark.parametrize("answer", [r"\lim_{n \to \infty} n", r"\frac{0}{0}", "x (10)^{x}"])
def test_an_answer_without_digits_is_judged(answer: str) -> None:
    assert value(answer, "4") == 0.0


def test_an_attack_by_python_code_has_no_effect(tmp_path: Path) -> None:
    target = tmp_path / "written"
    for attack in (f"open('{target}','w').write('1')*0+4", f"__import__('os').mkdir('{target}')"):
        assert value(attack, r"4\pi") == 0.0
    assert not target.exists()


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=r"\{}[]()^_=<>+-*/!,;.$%0129xyπ∞√ abcfrsqtinpm|&:~", max_size=60))
def test_no_answer_makes_scoring_raise(text: str) -> None:
    score = rewards.score(rf"\boxed{{{text}}}", {"type": "math", "answer": r"\sqrt{7}"})
    assert score.value == 0.0 or (score.value is None) or "7" in text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_no_text_at_all_makes_scoring_raise(text: str) -> None:
    rewards.score(text, FOUR)


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
        "10^{5000}",
        "The answer is 7.",
    ],
)
def test_a_usable_gold_accepts_itself(gold: str | float) -> None:
    assert value(str(gold), gold) == 1.0


@pytest.mark.parametrize(
    "gold",
    [
        "",
        "  ",
        "$$",
        "\\frac{",
        "{",
        "()",
        "9" * 5000,
        "(" * 99 + "1" + ")" * 99,
        "1/0",
        "2 = 3",
        "\\text{}",
        "5 +",
    ],
)
def test_an_unusable_gold_is_refused_at_once(gold: str) -> None:
    with pytest.raises(SpecError, match="math spec"):
        rewards.compile_spec({"type": "math", "answer": gold})


@pytest.mark.parametrize("gold", [True, None, ["4"]])
def test_a_gold_of_another_type_is_refused(gold: object) -> None:
    with pytest.raises(SpecError, match="answer"):
        rewards.compile_spec({"type": "math", "answer": gold})


def test_a_refused_alternative_is_named() -> None:
    with pytest.raises(SpecError, match="frac"):
        rewards.compile_spec({"type": "math", "answer": "1", "alternatives": ["\\frac{"]})


# ---- what a spec can say ------------------------------------------------------------------------


def test_alternatives_are_right_as_well() -> None:
    spec = {"alternatives": ["7", "nine"]}
    assert [value(a, 8, **spec) for a in ("8", "7", "9", "6")] == [1.0, 1.0, 1.0, 0.0]


def test_a_kind_settles_what_a_text_means() -> None:
    assert value("(1, 2)", "(1, 2)", kind="interval") == 1.0
    assert value("1 < x < 2", "(1, 2)", kind="interval") == 1.0
    with pytest.raises(SpecError, match="no matrix"):
        rewards.compile_spec({"type": "math", "answer": "5", "kind": "matrix"})


@pytest.mark.parametrize(("kind", "gold"), [
    ("number", "5"), ("expression", "x+1"), ("interval", "[0,1)"), ("set", r"\{1,2\}"),
    ("tuple", "(1,2,3)"), ("matrix", r"\begin{pmatrix}1\\2\end{pmatrix}"), ("equation", "y=2x"),
    ("inequality", "x<2"), ("choice", "B"), ("text", "even"), ("date", "March 3, 2020"),
])  # fmt: skip
def test_every_kind_accepts_a_gold_of_its_own(kind: str, gold: str) -> None:
    assert value(gold, gold, kind=kind) == 1.0


def test_a_unit_of_the_spec_counts_as_the_golds() -> None:
    answers = ("5", "5 cm", r"50 \text{ mm}", r"5 \text{ m}")
    assert [value(a, 5, units="cm") for a in answers] == [1.0, 1.0, 1.0, 0.0]


def test_a_tolerance_is_relative_to_the_gold() -> None:
    answers = ("102", "98", "103", "97")
    assert [value(a, 100, tolerance=0.02) for a in answers] == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("tolerance", [-0.1, 1.0])
def test_a_tolerance_that_makes_no_sense_is_refused(tolerance: float) -> None:
    with pytest.raises(SpecError, match="tolerance"):
        rewards.compile_spec({"type": "math", "answer": "1", "tolerance": tolerance})


def test_order_can_be_asked_for_or_waived() -> None:
    assert value("2, 1", "1, 2") == 1.0
    assert value("2, 1", "1, 2", ordered=True) == 0.0
    assert value("(2, 1)", "(1, 2)") == 0.0
    assert value("(2, 1)", "(1, 2)", ordered=False) == 1.0


def test_where_the_answer_must_stand_can_be_said() -> None:
    text = "At first I had \\boxed{5}.\n<answer>4</answer>\nThat is all."
    for where, right in (("auto", 1.0), ("answer_tag", 1.0), ("boxed", 0.0), ("last_line", 0.0)):
        assert rewards.score(text, {**FOUR, "extract": where}).value == right


@pytest.mark.parametrize(
    ("switch", "gold", "answer"),
    [
        ("missing_unit", "5 cm", "5"),
        ("missing_unit", "5", r"5 \text{ cm}"),
        ("percent", "36", r"36\%"),
        ("rounded_gold", "0.333", r"\frac13"),
        ("double_precision", r"\sqrt{2}", "1.4142135623730951"),
        ("bare_value", "x = 5", "5"),
        ("brackets", r"\{1, 2\}", "1, 2"),
        ("constant", r"\frac{x^2}{2} + C", r"\frac{x^2}{2} + K"),
    ],
)
def test_each_policy_can_be_switched_off(switch: str, gold: str, answer: str) -> None:
    assert value(answer, gold) == 1.0
    assert value(answer, gold, policy={switch: False}) == 0.0


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(SpecError, match="polic"):
        rewards.compile_spec({"type": "math", "answer": "1", "policy": {"mercy": True}})


# ---- the machine's failures ---------------------------------------------------------------------


def test_a_lost_worker_leaves_an_open_question_unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(WorkerPool):
        def call(self, function: str, *args: object, timeout_s: float) -> object:
            raise WorkerError("no processes left")

    broken = Machinery(Settings())
    monkeypatch.setattr(broken, "workers", lambda: Broken(1))
    monkeypatch.setattr(package, "machinery", lambda: broken)
    score = rewards.score(r"\boxed{\sqrt{7+4\sqrt3}}", {"type": "math", "answer": r"2+\sqrt3"})
    assert (score.value, score.verdict) == (None, "unjudged")


def test_the_verifier_can_be_called_in_this_process() -> None:
    assert package.math(Completion("4"), MathSpec(answer="4")).value == 1.0
