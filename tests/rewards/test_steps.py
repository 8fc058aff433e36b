from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewards
from rewards import Score, SpecError

ANSWER = " The answer is 7."


def judged(text: str, answer: str = "7", **spec: Any) -> Score:
    return rewards.score(text, {"type": "steps", "answer": answer, **spec})


def equations(text: str, answer: str = "7", **spec: Any) -> list[list[Any]]:
    """Return each step's text, with whether it is right."""
    return list(judged(text, answer, **spec).evidence["equations"])


def check_equation(text: str) -> bool | None:
    """Judge one equation, whose result is the answer if it is true; None if it is no step."""
    found = equations(f"{text}\nThe answer is 7")
    assert len(found) < 2
    return found[0][1] if found else None


# ---- steps --------------------------------------------------------------------------------------


def test_each_equation_and_the_final_answer_is_a_step_that_ends_where_it_ends() -> None:
    text = "<think> 94 = 90 + 4, so 4 + 3 = 7, 90 + 7 = 98 </think> <answer> 98 </answer>"
    score = judged(text, "97")
    assert [(text[:end].split()[-1], value) for end, value in score.steps] == [
        ("7", 1.0),
        ("98", 0.0),
        ("</answer>", 0.0),
    ]
    assert score.evidence["equations"] == [["4 + 3 = 7", True], ["90 + 7 = 98", False]]
    assert "1 of 2 steps are right" in score.reason


def test_the_gold_is_right_in_every_step() -> None:
    gold = "<think> 4 + 3 = 7, 90 + 7 = 97 </think> <answer> 97 </answer>"
    assert judged(gold, "97").steps == ((17, 1.0), (30, 1.0), (61, 1.0))


@pytest.mark.parametrize(
    "text",
    [
        "3 + 4 = 7",
        "So 3 + 4 = 7",
        "1. 3 + 4 = 7",
        "- 3 + 4 = 7",
        "(3 + 4 = 7)",
        "**3 + 4 = 7**",
        "$3 + 4 = 7$",
        r"\[3 + 4 = \boxed{7}\]",
        "<<3+4=7>>",
        "x = 3 + 4 = 7",
        "2x = 3 + 4 = 7",
        "3 + 4 = 7 apples",
        "3 × 5 − 8 ÷ 1 = 7",
        r"3 \times 5 - 8 = 7",
        r"\frac{14}{2} = 7",
        r"\dfrac{14}{2} = 7",
        r"3 \cdot 2 + \sqrt{1} = 7",
        "2^3 - 1 = 7",
        "2**3 - 1 = 7",
        "2² + 3 = 7",
        "3.5 * 2 = 7",
        "1,007 - 1,000 = 7",
        "-3 + 10 = 7",
        "7 = 3 + 4",
        "(1 + 6) * (2 - 1) = 7",
        "1/2 + 1/3 + 1/6 + 6 = 7",
        "3 + 4 = 5 + 2 = 7",
        "21 / 3 = 14 / 2",
        "14 - 7 = 7",
    ],
)
def test_a_true_equation_is_a_right_step(text: str) -> None:
    assert check_equation(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "3 + 4 = 8",
        "So 3 + 4 = 8.0",
        "10 / 3 = 3.33",
        "2^3 = 6",
        "-2^2 = 4",
        "2 + 3 * 4 = 20",
        r"\frac{1}{2} + \frac{1}{3} = \frac{2}{5}",
        "0.1 + 0.2 = 0.30000000000000004",
        "3 + 4 = 7 = 8",
        "(1 + 2) * 3 = 7",
        "1,000 + 1 = 1,002",
        "8 = 3 + 4",
        "x = 3 + 4 = 8",
    ],
)
def test_a_false_equation_is_a_wrong_step(text: str) -> None:
    assert check_equation(text) is False


@pytest.mark.parametrize(
    "text",
    [
        "x + 4 = 20",  # variables
        "2x = 20",
        "4 + 3x = 20",
        "3 + 4 = 20x",
        "3 + 4 = 20 x",
        "f(3) = 20",
        "f(3 + 4) = 20",
        "gcd(12, 8) = 4",
        "max(3, 1 + 1) = 3",
        "C(7, 2) = 20",
        "10% of 50 = 20",  # words that calculate
        "half of 50 + 1 = 26",
        "twice 3 + 4 = 14",
        "the sum of 3 and 4 + 5 = 12",
        "17 / 5 = 3 remainder 2",
        "3 + 4 = 6 plus 1",
        "5 apples - 4 = 1",
        "1/4 * 28 = 7%",
        "5! = 120",
        "10 / 3 ≈ 3.33",  # no equations
        "1 / 3 = 0.333...",
        "3 + 4 != 8",
        "3 + 4 <= 8",
        "3 + 4 => 8",
        "3 + 4 =",
        "= 20",
        "5 / 0 = 0",
        "Step 1 = 20",  # nothing is worked out
        "5 = 7",
        "7 = 7",
        "3 + 4 = 3 + 4",
        "3 + 4 = (4 + 3)",
        "7 + 0 = 7",
        "1 * 7 = 7",
        "7 = 7 / 1 = 7",
        "9^9^9^9 = 1",  # too much to work out
        "7" * 500 + " + 1 = 8",
    ],
)
def test_what_is_no_certain_calculation_is_no_step(text: str) -> None:
    assert check_equation(text) is None


# ---- what a model might try ---------------------------------------------------------------------


def test_the_value_is_that_of_the_final_answer_whatever_the_steps_are() -> None:
    right, wrong = "3 + 4 = 8, 8 - 1 = 6." + ANSWER, "3 + 4 = 7, 7 + 1 = 8. The answer is 8."
    assert (judged(right).value, judged(wrong).value) == (1.0, 0.0)
    assert (judged(right).steps[-1][1], judged(wrong).steps[-1][1]) == (1.0, 0.0)


@pytest.mark.parametrize("text", [r"so \boxed{14/2}", "I do not know.", "<think> 3 + 4 = 7"])
def test_the_judgement_of_the_answer_is_that_of_math(text: str) -> None:
    ours, theirs = judged(text), rewards.score(text, {"type": "math", "answer": "7"})
    assert (ours.value, ours.outcome, ours.verdict) == (
        theirs.value,
        theirs.outcome,
        theirs.verdict,
    )
    assert theirs.evidence.items() <= ours.evidence.items()


@pytest.mark.parametrize(
    "again", ["3 + 4 = 7", "3+4=7", "4 + 3 = 7", "7 = 3 + 4", "7 - 4 = 3", "(3) + 4 = 7"]
)
def test_a_true_equation_pays_once(again: str) -> None:
    assert equations("3 + 4 = 7. " + f"{again}. " * 9 + ANSWER) == [["3 + 4 = 7", True]]


def test_a_false_equation_costs_once() -> None:
    assert equations("3 + 4 = 8. " * 9 + ANSWER) == [["3 + 4 = 8", False]]


def test_true_equations_that_lead_nowhere_are_no_steps() -> None:
    padding = " ".join(f"{i} + {i + 1} = {2 * i + 1}." for i in range(20, 60))
    assert equations(f"{padding} 3 + 4 = 7.{ANSWER}") == [["3 + 4 = 7", True]]


def test_a_result_that_is_used_once_pays_for_one_derivation() -> None:
    found = equations("1 + 5 = 6, 2 + 4 = 6, 2 * 3 = 6, 6 + 1 = 7." + ANSWER)
    assert found == [["2 * 3 = 6", True], ["6 + 1 = 7", True]]


def test_a_result_that_is_used_twice_pays_for_two() -> None:
    found = equations("2 + 4 = 6, 2 * 3 = 6, 6 + 6 = 12. The answer is 12.", "12")
    assert [text for text, _ in found] == ["2 + 4 = 6", "2 * 3 = 6", "6 + 6 = 12"]


def test_a_check_of_the_result_is_no_step() -> None:
    found = equations("12 * 3 = 36. Check: 36 / 3 = 12. The answer is 36.", "36")
    assert found == [["12 * 3 = 36", True]]


def test_steps_after_the_answer_was_worked_out_again_and_again_are_capped() -> None:
    text = " ".join(f"{i} + 1 = {i + 1}." for i in range(1, 60)) + " The answer is 60."
    assert len(judged(text, "60").steps) == 16 + 1
    assert len(judged(text, "60", max_steps=3).steps) == 3 + 1


def test_without_an_answer_no_true_equation_is_a_step() -> None:
    assert equations("3 + 4 = 7, 5 * 2 = 15. I am not sure.\n") == [["5 * 2 = 15", False]]


def test_an_equation_that_is_the_answer_is_not_paid_twice() -> None:
    assert judged("3 + 4 = 7").steps == ((9, 1.0),)


@pytest.mark.parametrize("answer", ["x = 6", "6 cm", "(6, 8)", r"\frac{12}{2}"])
def test_an_answer_that_is_no_bare_number_is_reached_as_well(answer: str) -> None:
    assert equations(rf"2 * 3 = 6, so \boxed{{{answer}}}", answer) == [["2 * 3 = 6", True]]


# ---- the rest -----------------------------------------------------------------------------------


def test_what_cannot_be_judged_has_no_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewards.verifiers import steps as module

    monkeypatch.setattr(module, "math", lambda *_: Score.unjudged("the worker was lost"))
    assert module.steps(
        rewards.Completion("3 + 4 = 7." + ANSWER), module.StepsSpec(answer="7")
    ) == (Score.unjudged("the worker was lost"))


def test_a_composition_keeps_the_steps_and_its_last_one_is_worth_the_whole() -> None:
    spec = [
        {"type": "steps", "answer": "97", "weight": 0.9},
        {"type": "format", "weight": 0.1},
    ]
    text = "<think> 4 + 3 = 7, 90 + 7 = 97 </think> <answer> 98 </answer>"
    score = rewards.score(text, spec)
    assert [value for _, value in score.steps] == pytest.approx([0.1])  # neither leads to 98
    text = text.replace("98", "97")
    assert [value for _, value in rewards.score(text, spec).steps] == pytest.approx([1, 1, 1.0])


def test_a_shut_gate_leaves_no_step_its_worth() -> None:
    spec = [
        {"type": "steps", "answer": "7"},
        {"type": "format", "tags": ["answer"], "weight": 0.1, "gate": True},
    ]
    score = rewards.score("2 * 3 = 6, 6 + 1 = 7, <answer>7</answer> <answer>7</answer>", spec)
    assert (score.value, [value for _, value in score.steps]) == (0.0, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("bad", "message"),
    [({"answer": ""}, "empty"), ({"max_steps": 0}, "max_steps"), ({"steps": 3}, "max_steps")],
)
def test_settings_that_make_no_sense_are_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        rewards.compile_spec({"type": "steps", "answer": "7", **bad})


PIECES = st.sampled_from(
    [*"0123456789+-*/^(){}=., $\n", "==", "**", "\\frac{", "\\sqrt", "²", "×", "−", "…", "%", "x",
     " of ", "\\boxed{7}", "<think>", "</think>", "The answer is ", "1. ", "\ud800"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join)))
@settings(max_examples=150, deadline=None)
def test_no_text_raises_and_steps_lie_within_it_in_order(text: str) -> None:
    score = judged(text)
    ends = [end for end, _ in score.steps]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(text)
    assert score.steps[-1][1] == score.value == judged(text, max_steps=1).value


@pytest.mark.parametrize(
    "unit",
    ["1 + 1 = 2, ", "9^9^9 = 1, ", "=", " ", "- ", "\n", "a = ", "1,111", "*", r"\frac", "((= ",
     r"\sqrt{2}+\sqrt{3} = ", "9" * 90 + "=1,"],
)  # fmt: skip
def test_the_time_is_bounded_and_the_answer_is_found_behind_any_length(unit: str) -> None:
    assert judged(unit * (200_000 // len(unit)) + "\n" + ANSWER).value == 1.0
