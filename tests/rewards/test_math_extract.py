from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.verifiers.math.extract import MAX_CHARS, Answer, How, Missing, boxed, extract, unbox

# ---- where answers are ---------------------------------------------------------------------------

BOXES = [
    (r"so \boxed{7}", "7"),
    (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
    (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
    (r"\boxed{1} no, \boxed{2}", "2"),
    (r"First I guessed \boxed{4}... the value is \boxed{9}", "9"),
    (r"\boxed{1}###Response\boxed{2}###Response\boxed{42}", "42"),
    (r"\boxed{4}. \boxed{9}", "9"),
    (r"\fbox{7}", "7"),
    (r"\boxed{\boxed{7}}", "7"),
    (r"\boxed{\fbox{7}}", "7"),
    (r"\boxed{x = \boxed{7}}", "7"),
    (r"\boxed{\boxed{2} + 3}", "{2} + 3"),
    (r"$\boxed 7$", "7"),
    (r"\boxed {7}", "7"),
    (r"\\boxed{7}", "7"),
    (r"Write \boxed{7} in the \boxed format", "7"),
    (r"{ \boxed{7}", "7"),
    (r"\boxed{1 and then \boxed{7}", "7"),
    (r"\boxed{\text{The answer is } 5}", "5"),
    (r"\boxed{\text{Answer: } 5}", "5"),
    (r"\boxed{**7**}", "7"),
    (r"\boxed{odd $n$}", "odd $n$"),
    (r"\boxed{2**3}", "2**3"),
    (r"The answer is 6. \boxed{7}", "7"),
    (r"so the answer is \boxed{5}!", "5"),
    (r"\boxed{5!}", "5!"),
    (r"$x = -\boxed{5}$", "-5"),
    (r"so it is -\boxed{5}", "-5"),
    (r"so it is -$\boxed{5}$", "-5"),
    (r"-\boxed{5}", "-5"),
    (r"-\boxed{x+1}", "-(x+1)"),
    ("\\[\n-\\boxed{5}\n\\]", "-5"),
    (r"- \boxed{5}", "5"),
    ("Roots:\n- $\\boxed{5}$", "5"),
    (r"> \boxed{5}", "5"),
    (r"<b>\boxed{5}</b>", "5"),
    (r"$3! \cdot 2!=\boxed{12}$", "12"),
    (r"$x=\boxed{5}>0$", "5"),
    (r"\boxed{50}\%", r"50\%"),
    (r"\boxed{5}^\circ", r"5^\circ"),
    (r"\boxed{9}^{\circ} \mathrm{C}", "9"),
    (r"\boxed{5}\text{ cm}", r"5\text{ cm}"),
    (r"\boxed{5} cm", "5"),
    (r"\boxed{5}\text{ as claimed}", "5"),
    (r"\boxed{5}. The answer is 5.", "5"),
    (r"\boxed{\frac{1}{3}} or 0.333", r"\frac{1}{3}"),
    (r"$x+40=180$ or $x=\boxed{140}$", "140"),
    (r"\boxed{answer: 6; answer: 5}", "answer: 6; answer: 5"),
    (r"\boxed{6. The answer is 5}", "6. The answer is 5"),
    (r"\boxed{x=6, the answer is 5}", "x=6, the answer is 5"),
    (r"\boxed{answer is 5, so 6}", "5, so 6"),
    (r"\boxed{answer is 5 6}", "5 6"),
    (r"\boxed{The answer is 5, which is 6}", "5, which is 6"),
    (
        r"\boxed{6 \text{ is not the answer; the answer is } 5}",
        r"6 \text{ is not the answer; the answer is } 5",
    ),
    (r"\boxed{7} The answer is consistent with the estimate.", "7"),
    (r"\beginboxed{7}", "7"),
    (r"\boxed{7}<|im_end|>", "7"),
]
SEVERAL = [
    (r"\boxed{2} and \boxed{3}", "2, 3"),
    (r"\boxed{2}, \boxed{3}, and \boxed{4}", "2, 3, 4"),
    (r"\boxed{2} or \boxed{3}", "2 or 3"),
    (r"either $\boxed{2}$ or $\boxed{3}$", "2 or 3"),
    (r"$\boxed{x=1}$, $\boxed{x=2}$", "x=1, x=2"),
    (r"$x=\boxed{2}$ and $y=\boxed{3}$", "2, 3"),
    (r"\(x_1 = \boxed{2}\), \(x_2 = \boxed{3}\)", "2, 3"),
    (r"\boxed{2} \quad \text{and} \quad \boxed{3}", "2, 3"),
    (r"(a) \boxed{2} (b) \boxed{3}", "2, 3"),
    ("\\boxed{2}\n\n\\boxed{3}", "2, 3"),
    (r"\boxed{\fbox{2} or \fbox{3}}", "2 or 3"),
    (r"I had \boxed{9} first; then \boxed{2} and \boxed{3}", "2, 3"),
    ("\\boxed{615}\n\\boxed{615}", "615"),
    (r"\boxed{615}, that is, \boxed{615}", "615"),
    (r"\boxed{1, 2} and \boxed{1,2}", "1,2"),
    ("- $x=\\boxed{2}$\n- $x=\\boxed{3}$", "2, 3"),
    (r"\boxed{2} \text{ for part (a) and } \boxed{3}", "2, 3"),
]
TAGS = [
    ("<answer> 7 </answer>", "7"),
    ("<ANSWER>7</Answer>", "7"),
    ("<|begin_of_box|>7<|end_of_box|>", "7"),
    (r"<answer>so \boxed{7}</answer>", "7"),
    ("<answer>The answer is 7.</answer>", "7"),
    ("<answer>**7**</answer>", "7"),
    ("<answer>6</answer> no, <answer>7</answer>", "7"),
    ("<answer>6</answer> or <answer>7</answer>", "6 or 7"),
    ("<answer>7</answer></answer>", "7"),
    (r"\boxed{6} <answer>7</answer>", "7"),
    (r"<answer>6 \boxed{5}</answer>", "6 {5}"),
    (r"<answer>not \boxed{5}</answer>", "not {5}"),
    (r"<answer>-\boxed{5}</answer>", "-5"),
    ("<answer>the answer is 6. the answer is 5</answer>", "the answer is 6. the answer is 5"),
]
SENTENCES = [
    ("Thus the answer is 7.", "7"),
    ("the answer is 3.5.", "3.5"),
    ("The final answer is: $x = 7$.", "x = 7"),
    ("Final Answer: The final answer is $7$. I hope it is correct.", "7"),
    ("The answer to the first question is 7.", "7"),
    ("The answer (in cm) is 7.", "7"),
    ("The answer is therefore **7**.", "7"),
    ("The answer must be 7", "7"),
    ("answer = 7\nprint(answer)", "7"),
    ("**Answer:** 17", "17"),
    ("**Answer**: 3.5", "3.5"),
    ("ANSWER: 17", "17"),
    ("Final Answer: **88**", "88"),
    ("The answer is `42`.", "42"),
    ("The answer is **88** people.", "88 people"),
    ("The answer is 2**3.", "2**3"),
    ("The correct option is (B)", "(B)"),
    ("The correct choice is **C**.", "C"),
    ("the answer is $5$ cm.", "$5$ cm"),
    ("The answer is $7.50.", "$7.50"),
    ("The answer is 3:45 p.m. on Monday", "3:45 p.m. on Monday"),
    (r"The answer is \(x = 7\).", "x = 7"),
    (r"The answer is \(\frac{1}{2}\), so", r"\frac{1}{2}"),
    (r"The answer is \[\sqrt{2}\]", r"\sqrt{2}"),
    ("The answer is $$7$$.", "7"),
    ("The answer is $7$!", "7"),
    ("The answer is 42!", "42"),
    ("The answer is **42**!", "42"),
    ("The answer is 5!.", "5!"),
    ("The answer is 42, not 41.", "42"),
    ("Answer: 42 (since 0 is excluded)", "42"),
    ("the answer is the point $(3,4)$", "(3,4)"),
    (
        "**Answer:** $\\begin{pmatrix} 1 \\\\\n2 \\end{pmatrix}$",
        "\\begin{pmatrix} 1 \\\\\n2 \\end{pmatrix}",
    ),
    ("The answer is $1$ or $2$.", "$1$ or $2$"),
    ("The answer is either 2 or 3.", "either 2 or 3"),
    ("The answer is $7$, which proves it.", "7"),
    ("The answer is 7 because 3 + 4 = 7.", "7"),
    ("Answer: the total cost is $72.", "$72"),
    ("answer is 6\nwait\nThe answer is 7", "7"),
    ("The answer is 7. The answer is correct because 3 + 4 = 7.", "7"),
    ("6 + 1 is 7\n#### 7", "7"),
    ("so it is 1,234 #### 1,234", "1,234"),
    ("The answer is 7.\n#### Check of the result\n3 + 4 = 7", "7"),
    ("Réponse finale : 3,74", "3,74"),
    ("La réponse est $7$.", "7"),
    ("Die Antwort lautet 7.", "7"),
    ("Antwort: 7", "7"),
    ("Respuesta final: **7**", "7"),
    ("所以答案是7。", "7"),
    ("**答案：** $7$", "7"),
    ("答案为 7", "7"),
    ("最终答案：7", "7"),
    ("答: 7", "7"),
    ("答：7。", "7"),
    ("故选: B", "B"),
    ("故选B", "B"),
    ("Ответ: 7", "7"),
    ("A resposta é 7.", "7"),
    ("La risposta è 7.", "7"),
    ("Lösung: 7", "7"),
    ("정답: 7", "7"),
    ("答え: 7", "7"),
    ("答えは7です。", "7"),
    ("The answer is 7<|im_end|>\n", "7"),
    ("The answer is 7.<|eot_id|><|endoftext|>", "7"),
    ("The answer is 1, 2, 3, ...", "1, 2, 3, .."),
    ("The answer is 7...", "7"),
    ("Final Answer: The most points that could be in it is 7.", "7"),
]
HEADINGS = [
    ("**Final Answer**:\n7", "7"),
    ("**Final Answer**\n\n$$x$$", "x"),
    ("### Answer\n\n\\[\nx + 1\n\\]", "x + 1"),
    ("Final Answer:\n```\n7\n```", "7"),
    ("**Final Answer**\nThe value of $x$ is $7$.", "7"),
    ("Final Answer:\n- x = 2\n- x = 3\n\nDone.", "x = 2, x = 3"),
    ("Final Answer:\n\n1. 5\n2. 7", "5, 7"),
    ("The answer is 7.\nThis is the answer\nto the question.", "7"),
]
BOLD = [
    ("Adding up:\nthe number of residents is **88**.", "88"),
    ("Adding up:\nshe has **72** clips in total.", "72"),
    ("Adding up:\n**The total is 72.**", "72"),
    ("Adding up:\n**88**\n\n---", "88"),
    ("Adding up:\nthe roots are **2** and **3**.", "2, 3"),
    ("By symmetry\nthe function is **odd**.", "odd"),
    ("It prints\n`42`", "42"),
]
LINES = [
    ("7", "7"),
    ("7 apples", "7 apples"),
    ("no solution", "no solution"),
    ("(B)", "(B)"),
    ("2 or 3", "2 or 3"),
    ("The perimeter is 7.", "7"),
    ("I added them.\n\n1,234", "1,234"),
    ("I added them.\n$$\\frac{1}{2}$$", r"\frac{1}{2}"),
    ("I added them.\n\\[\nx = 7\n\\]", "x = 7"),
    ("I added them.\nx = 5", "x = 5"),
    ("6 * 7\n= 42", "42"),
    ("I added them.\nTherefore, x = 7.", "x = 7"),
    ("I added them.\nSo $x = 7$.", "$x = 7$"),
    ("I added them.\n5 km", "5 km"),
    ("$x=3$ (since $x>0$)", "x=3"),
    ("It prints\n```\n42\n```", "42"),
    ('It prints\n"42"', "42"),
    ("x = 7</s>", "x = 7"),
    ("7 because the angles add up", "7"),
    ("Answer $7$", "7"),
    ("Therefore $x \\geq 5$ is the solution.", "x \\geq 5"),
    ("We find that $x < 3$.", "$x < 3$"),
]
FOUND = [
    *((text, Answer(value, "boxed")) for text, value in BOXES + SEVERAL),
    *((text, Answer(value, "answer_tag")) for text, value in TAGS),
    *((text, Answer(value, "sentence")) for text, value in SENTENCES + HEADINGS),
    *((text, Answer(value, "bold")) for text, value in BOLD),
    *((text, Answer(value, "last_line")) for text, value in LINES),
]


@pytest.mark.parametrize(("text", "answer"), FOUND)
def test_the_answer_is_found(text: str, answer: Answer) -> None:
    assert extract(text) == answer


# ---- no answers ----------------------------------------------------------------------------------

MISSING = [
    ("", "no_answer"),
    ("It has two sides.\nThe perimeter is 7", "no_answer"),
    ("The perimeter is not 7", "no_answer"),
    ("One of the roots is 7", "no_answer"),
    ("Perhaps the perimeter is 7", "no_answer"),
    ("If x is 3 then y is 7", "no_answer"),
    ("It could be 7", "no_answer"),
    ("Roots:\n- 2\n- 3", "no_answer"),
    ("Roots:\n1. **2**\n2. **3**", "no_answer"),
    ("**Note:** this\n**Note:** that", "no_answer"),
    ("Is it 7?\nIs it 8?", "no_answer"),
    ("x" * 300, "no_answer"),
    (r"\boxed{}", "empty_answer"),
    (r"\boxed{ }", "empty_answer"),
    (r"\boxed{ $ $ }", "empty_answer"),
    (r"\boxed{\text{}}", "empty_answer"),
    (r"\boxed{?}", "empty_answer"),
    (r"\boxed{7}. Write it in \boxed{}", "empty_answer"),
    ("<answer></answer>", "empty_answer"),
    (r"<answer>\boxed{}</answer>", "empty_answer"),
    (r"<answer>\boxed{7</answer>", "empty_answer"),
    ("I added them. The final answer is", "empty_answer"),
    (r"\boxed{7", "unfinished_answer"),
    (r"\boxed{", "unfinished_answer"),
    (r"\boxed{\frac{1}{2}", "unfinished_answer"),
    (r"\boxed{6} hm, \boxed{7", "unfinished_answer"),
    ("<answer>7", "unfinished_answer"),
    ("<answer>6</answer><answer>7", "unfinished_answer"),
    ("<|begin_of_box|>7", "unfinished_answer"),
]
HEDGED = [
    r"\boxed{2}. Wait, that is wrong",
    r"$\boxed{2}$. Wait, that's not right.",
    r"\boxed{2}. That is wrong.",
    r"\boxed{2}, but that is incorrect.",
    r"\boxed{2} is not the answer",
    r"\boxed{2} isn't the correct answer.",
    r"\boxed{2}; actually, no, that's wrong.",
    r"\boxed{2}. So we are done. Wait, this is wrong.",
    r"\boxed{2}. Oops, I made a mistake.",
    r"\boxed{2}. Scratch that.",
    r"\boxed{2}. It could also be 3.",
    r"\boxed{2} or maybe 3",
    r"\boxed{2} or perhaps \boxed{3}",
    r"\boxed{2 (or maybe 3)}",
    r"\boxed{\text{possibly } 2}",
    r"The answer is not \boxed{2}",
    r"The answer isn't $\boxed{2}$",
    r"\boxed{2}, not \boxed{3}",
    r"The answer could be \boxed{2}",
    r"It is probably $x = \boxed{2}$",
    "<answer>2</answer> Wait, that is wrong.",
    "<answer>maybe 2</answer>",
    "The answer is not 2",
    "The answer is **not** $2$.",
    "The answer isn't 2",
    "The answer is perhaps 2",
    "The answer is 2 (or maybe 3)",
    "The answer is 2, but I am not sure.",
    "The answer is 2. Wait, that is wrong.",
    "The answer is 2, and that is wrong.",
    "I think the answer might be 2 or 3",
    "The answer could be **2**",
    "I added them.\nThe sum is not **2**.",
    "2 (or maybe 3)",
    r"either \boxed{5} or 6",
    r"\boxed{5} or 6",
    r"\boxed{5} or \(6\)",
    r"$\boxed{5}$ or $6$",
    r"\boxed{5} (or 6)",
    r"either 6 or \boxed{5}",
    r"\boxed{5}\text{ or so}",
    r"\boxed{6} vs \boxed{5}",
    r"\boxed{6} otherwise \boxed{5}",
    r"\boxed{5} is wrong",
    r"The wrong answer is \boxed{5}",
    "The wrong answer is 5",
    r"other than \boxed{5}",
    r"anything but \boxed{5}",
    r"instead of \boxed{5}",
    r"rather than \boxed{5}",
    r"It is impossible that \boxed{5}",
    r"\boxed{5}. Wait, it should be 6.",
    r"\boxed{5}. Correction: the answer is 6.",
    r"\boxed{5}. Actually the answer is 6.",
    r"\boxed{5} Final answer: 6",
    "The answer is 5, which is wrong",
    "The answer is ~~5~~",
    r"~~\boxed{5}~~",
    "~~5~~",
]
COMPUTED_WITH = [
    r"\boxed{5}0",
    r"1\boxed{5}",
    r"2\cdot\boxed5",
    r"2 \times \boxed{5}",
    r"\sqrt{\boxed5}",
    r"$\boxed5!$",
    r"\[\boxed{5}!\]",
    r"\boxed5+1",
    r"\boxed{5} + 1",
    r"\boxed{5}^2",
    r"\boxed{5}/6",
    r"\boxed{6} / \boxed{5}",
    r"3-\boxed{5}",
    r"x\ne\boxed5",
    r"x \neq \boxed{5}",
    r"x < \boxed{5}",
    r"x \ge \boxed{5}",
    r"\boxed{5} < x",
    r"\frac{\boxed{5}}{6}",
    r"$|\boxed{-5}|$",
]
HONEST_CLOSINGS = [
    "This is not a multiple of 3, so we are done.",
    "This is correct.",
    "That is the right answer.",
    "Is it 8? No, that is wrong, for 8 is even.",
    "The answer is not 8, because 8 is even.",
    "Wait, is that right? Yes.",
    "It may be checked by substitution.",
    "This could be verified with 2 more lines.",
    "Perhaps surprisingly, it is odd.",
    "But 8 is not a solution.",
    "Not all of them are prime.",
    "That's not right-angled, but it does not matter.",
    "A common mistake is to forget 0.",
    "If x were 8, the sum would be wrong.",
]


@pytest.mark.parametrize(("text", "code"), MISSING)
def test_what_is_missing_is_said(text: str, code: str) -> None:
    found = extract(text)
    assert isinstance(found, Missing)
    assert found.code == code


@pytest.mark.parametrize("text", HEDGED)
def test_what_is_doubted_or_taken_back_is_no_answer(text: str) -> None:
    found = extract(text)
    assert isinstance(found, Missing)
    assert found.code == "hedged"


@pytest.mark.parametrize("text", COMPUTED_WITH)
def test_a_box_within_a_larger_formula_is_no_answer(text: str) -> None:
    found = extract(text)
    assert isinstance(found, Missing)
    assert found.code == "hedged"
    assert "part of a larger formula" in found.reason


@pytest.mark.parametrize("closing", HONEST_CLOSINGS)
@pytest.mark.parametrize("answer", [r"So it is $\boxed{7}$. ", "<answer>7</answer>\n"])
def test_an_honest_closing_takes_nothing_back(answer: str, closing: str) -> None:
    found = extract(answer + closing)
    assert isinstance(found, Answer)
    assert found.text == "7"


def test_a_letter_that_is_said_to_be_wrong_is_an_answer() -> None:
    # to "which of these is wrong?"
    assert extract(r"Statement \boxed{C} is incorrect.") == Answer("C", "boxed")


def test_of_an_endless_answer_enough_is_returned_to_tell() -> None:
    found = extract("The answer is " + "7" * 100_000)
    assert isinstance(found, Answer)
    assert len(found.text) == MAX_CHARS + 1


# ---- where to look -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "text", "answer"),
    [
        ("boxed", r"<answer>6</answer> \boxed{7} The answer is 8.", "7"),
        ("boxed", "<answer>6</answer> The answer is 8.", None),
        ("boxed", "7", None),
        ("answer_tag", r"<answer>6</answer> \boxed{7}", "6"),
        ("answer_tag", r"\boxed{7}", None),
        ("last_line", "\\boxed{7}\nthe blue house\n\n", "the blue house"),
        ("last_line", "I added them.\nThe total is 7", "7"),
        ("last_line", "I added them.\nAnswer: $7$.", "7"),
        ("last_line", "I added them.\n$\\boxed{7}$.", "7"),
        ("last_line", "I added them.\n<answer>7</answer>", "7"),
        ("last_line", "The answer is 7.\nIt is maybe 8", None),
        ("last_line", "\n \n", None),
    ],
)
def test_only_the_place_asked_for_is_looked_at(how: How, text: str, answer: str | None) -> None:
    found = extract(text, how)
    assert (found.text if isinstance(found, Answer) else None) == answer


def test_the_last_line_says_so_whatever_it_holds() -> None:
    assert extract("a\n\\boxed{7}", "last_line") == Answer("7", "last_line")


@pytest.mark.parametrize(
    ("gold", "inside"),
    [("7", "7"), (r"\boxed{7}", "7"), (r"\boxed{7", r"\boxed{7"), (r"maybe \boxed{7}", "7")],
)
def test_a_gold_is_taken_out_of_its_box(gold: str, inside: str) -> None:
    assert unbox(gold) == inside


# ---- any text ------------------------------------------------------------------------------------

snippets = st.sampled_from(
    [
        *(r"\boxed", r"\boxed{", r"\fbox{", "{", "}", r"\text{", "<answer>", "</answer>", "####"),
        *(
            "answer is",
            "Answer:",
            "Final Answer\n",
            "answer might be ",
            "答案是",
            "**",
            "`",
            "$",
            "$$",
        ),
        *(r"\(", r"\)", r"\[", "\\", "\n", "- ", " or ", "not ", "wait, that is wrong", "\ud800"),
        *("\x00", "İ", "x = ", "The total is ", "7"),
    ]
)


@given(
    st.lists(st.one_of(snippets, st.text(max_size=4), st.integers().map(str))).map("".join),
    st.sampled_from(["auto", "boxed", "answer_tag", "last_line"]),
)
def test_extraction_never_raises(text: str, how: How) -> None:
    found = extract(text, how)
    assert isinstance(found, Answer | Missing)
    unbox(text)


DEGENERATE = [
    *(
        r"\boxed{",
        r"\boxed",
        r"\boxed 7",
        r"\boxed{}",
        r"\boxed{7} ",
        r"\boxed{\fbox{7} ",
        "{",
        "}",
    ),
    *("<answer>", "<answer></answer>", "<answer>7</answer> ", "<answer ", r"\text{", r"\text{a"),
    *("answer ", "answer is ", "answer is correct ", "answer isn't 7 ", "answer to ", "answer ("),
    *("answer\n", "final answer is ", "correct option ", "答案", "####", "#### ", "#### x ", "# "),
    *(
        "$",
        "$ ",
        "$x",
        "$`",
        r"\(",
        r"\(x",
        r"\(x\)",
        r"\[",
        "\\",
        " ",
        ".",
        ". ",
        "^ ",
        "1 ",
        "1.",
    ),
    *("\n", "---\n", "```\n", "- 7\n", "*", "** ", "**7** ", "`7` ", "wait ", "wait, that ", "hmm"),
    *(
        "that is ",
        "5 or ",
        "- ",
        "wait, 5 ",
        "answer is 5 x ",
        r"\frac{",
        "~~",
        "no ",
        "not ",
        "maybe ",
        "is ",
        "is 7 ",
        "x = ",
        "and ",
        "(1) ",
        "so ",
        "x",
        "7",
        "İ",
    ),
]
AROUND = [
    ("", ""),
    ("the answer is ", ""),
    ("the answer is:\n", ""),
    (r"\boxed{", "}"),
    (r"\boxed{7}", ""),
    ("<answer>", "</answer>"),
    ("the answer is $", "$"),
    ("so\n**", "**"),
]


def _cost(text: str) -> float:
    gc.disable()  # a collection would walk the heap of the whole test run
    try:
        started = time.process_time()
        extract(text)
        return time.process_time() - started
    finally:
        gc.enable()


@pytest.mark.parametrize("around", AROUND, ids=lambda pair: pair[0] or "bare")
@pytest.mark.parametrize("unit", DEGENERATE)
def test_extraction_takes_linear_time(unit: str, around: tuple[str, str]) -> None:
    def cost(size: int) -> float:
        return _cost(around[0] + unit * (size // len(unit)) + around[1])

    small = max(cost(6_000) for _ in range(2))
    # tenfold text costs tenfold time; a quadratic search would take a hundred times as long
    assert cost(60_000) < max(0.002, small) * 40


MEGABYTES = {
    **{unit: unit * (1_000_000 // len(unit)) for unit in [r"\boxed{", "answer is ", "#### ", "\n"]},
    "boxes": "".join(rf"\boxed{{{n}}} " for n in range(70_000)),
    "tags": "".join(f"<answer>{n}</answer> " for n in range(40_000)),
    "bold": "".join(f"**{n}** " for n in range(100_000)),
}


@pytest.mark.parametrize("text", MEGABYTES.values(), ids=MEGABYTES)
def test_a_megabyte_takes_seconds_at_most(text: str) -> None:
    assert _cost(text) < 3  # about 0.5 where nothing else runs


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("\\boxed{1} so \\boxed{{2}}", "{2}"),
        ("\\boxed{1", None),
        ("none", None),
        ("\\boxed{}", ""),
        ("it is $\\boxed 5$", "5"),
        ("\\boxed{4} or \\fbox{5}", "4 or 5"),
    ],
)
def test_last_boxed_reads_what_tex_would_box(text: str, inner: str | None) -> None:
    assert boxed(text) == inner
