r"""What is considered equal, kind by kind; docs/math.md gives the reasons."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewards
from rewards.verifiers.math.compare import decide
from rewards.verifiers.math.numbers import Rules
from rewards.verifiers.math.reading import read

RIGHT = {
    "numbers": [
        ("1/2", "0.5"), ("0.5", r"\frac12"), ("0.7", ".7"), ("5", "05"), ("7", "+7"), ("-3", "−3"),
        ("2+2", "4"), ("10!", "3628800"), ("2^{10}", "1024"),
        ("2025^{2025}", r"2025 \cdot 2025^{2024}"), ("1800!", r"1800 \cdot 1799!"),
        (r"\frac{13}{5}", r"2 \frac{3}{5}"), ("725.5", "725 1/2"), ("1.5", "½ + 1"),
        (r"\frac{3}{4}", r"\tfrac 3 4"), ("12", r"\gcd(84, 36)"), ("1", r"7 \bmod 3"),
        ("1", r"-1 \bmod 2"), ("0.5", r"\\frac{1}{2}"),
        ("10", r"\binom{5}{2}"), ("10", "C(5, 2)"), ("3", r"\lfloor\pi\rfloor"),
        ("-2", r"\sqrt[3]{-8}"), ("55", r"\sum_{k=1}^{10} k = 55"), ("twelve", "12"),
        ("21", "twenty-one"), ("24", "2 dozen"),
    ],
    "grouped digits": [
        ("3618000", "3,618,000"), ("52000", r"52\,000"), ("1234567", "1 234 567"),
        (r"10,\!080", "10080"), ("3.74", "3{,}74"), ("1000000", r"1\text{,}000\text{,}000"),
        ("3.5", "3,5"), ("1,25", "1.25"), ("14916", "14 {, }916"),
    ],
    "percent": [
        ("36%", "0.36"), ("50", r"50\%"), (r"36\%", r"36 \text{ percent}"), ("0.415", r"41.5\%"),
        (r"8.33\%", r"\frac{1}{12}"),
    ],
    "scientific": [
        (r"2.75 \times 10^5", "275000"), ("3 × 10^(-8)", r"3 \times 10^{-8}"), ("1e11", "10^{11}"),
        ("5.89e-7", r"5.89\cdot10^{-7}"), ("0.00031", r"3.1\text{e-}4"),
    ],
    "repeating decimals": [
        (r"0.\overline{36}", r"\frac{4}{11}"), (r"0.\overline{9}", "1"),
        (r"\frac13", r"0.333\ldots"), (r"\frac{1}{6}", r"0.1\overline{6}"),
    ],
    "currency": [
        ("2450.75", r"\$2{,}450.75"), ("17000", r"\$17,\!000"), (r"\$36", "36 dollars"),
        ("5.4 cents", r"\$0.054"), ("12", "12€"), (r"\$1500000", r"\$1.5 \text{ million}"),
    ],
    "units": [
        (r"14 \text{ units}", "14"), (r"24 \text{ cm}^2", r"24\mbox{ cm}^2"),
        ("2 hours", "120 minutes"), (r"5 \text{ km}", r"5000 \text{ m}"),
        ("90", r"90 \text{ minutes}"), ("5 ft 3 in", "63 inches"),
        (r"10 \mathrm{~m} / \mathrm{s}", r"36 \text{ km/h}"), ("9", r"9^{\mathrm{th}}"),
        (r"0 ^\circ \text{C}", r"273.15 \text{ K}"), ("188 m", "188"), ("12.5", "12.5m²"),
    ],
    "angles": [
        ("90", r"90^\circ"), (r"72^\circ", "72"), (r"\frac{\pi}{6}", r"30^\circ"),
        (r"74^\circ", r"\angle APC = 74^\circ"), (r"\frac12", r"\sin 30^\circ"),
        (r"60^\circ 42'", r"60.7^\circ"),
    ],
    "bases": [
        ("1011_2", "11_{10}"), ("11", "1011_2"), (r"1202_{\text{three}}", "47"), ("FF_{16}", "255"),
        ("204_5", "204_{5}"),
    ],
    "roots and pi": [
        (r"\sqrt{2}/2", r"\frac{1}{\sqrt2}"), (r"3\sqrt{13}", r"\sqrt{117}"),
        (r"7\pi", r"\pi \cdot 7"), (r"\frac{5\sqrt{42}}{27}", r"\frac{10\sqrt{10.5}}{27}"),
        ("2**(1/4)", r"\sqrt{\sqrt{2}}"), (r"1+\sqrt2", r"\sqrt{3+2\sqrt2}"),
        (r"7 \sqrt[3]{9}", r"7 \cdot 3^{2/3}"), (r"\frac{1}{1+\sqrt2}", r"\sqrt2 - 1"),
        (r"\sqrt{19}", "4.358898943540674"), (r"\cos\frac{\pi}{5}", r"\frac{1+\sqrt5}{4}"),
        (r"\frac{\sqrt3}{3}", r"\frac{\sqrt3}{3} \approx 0.577"),
    ],
    "logarithms": [
        ("1 - 1/e", r"1-\frac{1}{e}"), ("2", r"\log 100"), ("3", r"\log_2 8"),
        (r"\ln 8", r"3\ln 2"), (r"\frac{\log 5}{\log 5-\log 7}", r"-\frac{\ln 5}{\ln 7-\ln 5}"),
        (r"\log_4 8", r"\frac32"),
    ],
    "complex": [
        ("-1", r"e^{i\pi}"), ("3+4i", "4i+3"), ("i", r"\frac{1+i}{1-i}"), ("5", "|3+4i|"),
        (r"1+\sqrt3 i", r"2e^{i\pi/3}"), ("-4", "(1+i)^4"), ("3-4i", r"\overline{3+4i}"),
        ("3+4i", "3 + 4*I"),
    ],
    "algebra": [
        ("x^2+6x+9", "(x+3)^2"), (r"\frac{x+5}{9}", r"\frac{x}{9}+\frac59"), ("|x-3|", "|3-x|"),
        ("4", r"\frac{16x+16}{4x+4}"), ("x+1", r"\frac{x^2-1}{x-1}"), ("0", "x^2 - x^2"),
        (r"2 \cdot 5^{n-1} - n", r"\frac{2}{5} \cdot 5^n - n"), (r"\sqrt{x^2}", "|x|"),
        (r"\frac{3 + \sqrt{9 + 16n}}{2}", "(3 + (9 + 16n)^(1/2)) / 2"), ("n(n-1)!", "n!"),
        (r"\frac{1}{3x^{2/3}}", r"\frac{1}{3\sqrt[3]{x}^2}"), (r"\frac{n(n-1)}{2}", r"\binom n2"),
        (r"\frac{n(n+1)}{2}", r"\sum_{k=1}^{n} k"), ("xy", "yx"), ("x_1", "x_{1}"),
    ],
    "trigonometry": [
        (r"\sin(2x)", r"2\sin x\cos x"), ("4", r"\sin^2 x + \cos^2 x + 3"),
        (r"\sec x", r"\frac{1}{\cos x}"), (r"2 \sin b \cos a", r"\sin(a+b) - \sin(a-b)"),
        (r"\tan x", r"\frac{\sin x}{\cos x}"),
        (r"2 \arcsin \sqrt{a}", r"\arccos\left(1 - 2a\right)"), (r"\frac{\pi}{4}", r"\arctan 1"),
        (r"\cosh x", r"\frac{e^x+e^{-x}}{2}"), (r"\sin^{-1}\frac12", r"\frac\pi6"),
    ],
    "calculus": [
        ("1", r"\int_0^1 2x\,dx"), ("1", r"\lim_{x\to 0}\frac{\sin x}{x}"),
        (r"\frac{x^2}{2}+C", r"\frac{x^2}{2}+K"), ("y = 3x + C", "3x + C"),
        (r"\frac{\pi^2}{6}", r"\sum_{k=1}^\infty \frac{1}{k^2}"),
    ],
    "equations": [
        ("x = 4", "4"), ("4", "x = 4"), ("4", "2 + 2 = 4"), ("5x+2y+9=0", "5x + 2y = -9"),
        (r"\frac{x^2}{9}+\frac{y^2}{5}=1", r"\frac{x^2}{36}+\frac{y^2}{20}=\frac14"),
        ("3x+6y-4=0", r"y=-\frac12x+\frac23"), ("x^2-4=0", "x^2=4"),
        ("y=2(x-3)^2+1", "y=2x^2-12x+19"), ("y = x^2+6x+9", "6x + 9 + x^2"), ("3=t", "t = 3"),
        ("xy = 1", r"y = \frac1x"), (r"\frac{dy}{dx} = 2y", r"2y = \frac{dy}{dx}"),
    ],
    "functions": [
        ("f(x) = 2x", "f(t) = 2t"), ("y = 2x + 1", "f(x) = 2x+1"), ("f(x) = x^2", "x^2"),
        ("x(t) = e^t", "e^t"), ("f(2) < f(1) < f(4)", "f(4) > f(1) > f(2)"),
        ("P(A) = 0.5", r"\frac12"), ("P(x) = 2x", "p(x) = 2x"),
    ],
    "plus-minus": [
        (r"\pm 37", "-37, 37"), (r"7 \pm 2", r"\{5, 9\}"),
        (r"1 \pm \sqrt{19}", r"1+\sqrt{19}, 1-\sqrt{19}"), (r"x = \pm 2", "x = 2 or x = -2"),
        (r"(\pm 1, 0)", "(1, 0), (-1, 0)"), ("+/-5", r"\pm5"),
    ],
    "intervals and inequalities": [
        (r"(-\infty, 4)", "x < 4"), ("x < 4", r"(-\infty, 4)"), ("0 < x < 7.5", "(0, 7.5)"),
        (r"m \geq \sqrt{3}", r"[\sqrt{3}, +\infty)"), (r"x>2 \text{ and } x<5", "2<x<5"),
        (r"x<2 \text{ or } x>5", r"x \in (-\infty,2) \cup (5,\infty)"), ("a ≠ 5", r"a \neq 5"),
        (r"[0,4] \setminus (0,1)", r"\{0\} \cup [1,4]"), ("x > y/2", "2x > y"),
        ("|x| < 3", "(-3, 3)"), ("|x-2| < 3", "-1 < x < 5"),
        (r"\mathbb{R} \setminus \{1\}", r"x \neq 1"), ("2x < 6", "x < 3"),
        (r"\{x \mid x > 2\}", r"(2, \infty)"), ("]0, 1[", "0 < x < 1"),
        ("(−∞, −4) ∪ (4, +∞)", "|x| > 4"), ("0<f(x)<3", "(0,3)"),
        (r"a \le -3 \text{ or } a = 2", r"(-\infty, -3] \cup \{2\}"),
        ("[1,2) U (2,3]", r"1 \le x \le 3, x \ne 2"), (r"x \in \mathbb{R}", r"(-\infty, \infty)"),
    ],
    "sets and lists": [
        (r"\{1, 2\}", r"\{2, 1\}"), (r"\{1,2,3,4\}", r"\{1,3\} \cup \{2,4\}"),
        ("-9;-6;-3", r"\{-9,-6,-3\}"), (r"\emptyset", r"\varnothing"), (r"\emptyset", r"\{\}"),
        ("a=5,-7,-12", r"\{-12,-7,5\}"),
        (r"p = -2 \text{ and } p = \frac{17}{6}", r"\{-2, \frac{17}{6}\}"), ("1,-2", "-2, 1"),
        ("x = 3, x = -5", "x = -5, x = 3"), (r"17, 44, \text{ and } 80", "80, 17, 44"),
        ("1, 2, 3", "[1, 2, 3]"), (r"\text{no solution}", r"\emptyset"),
        (r"\{1, 1, 2\}", r"\{1, 2\}"), ("{1, 2}", r"\{2, 1\}"), ("100, 200, 300", "300, 200, 100"),
        ("5", r"\{5\}"),
    ],
    "labels": [
        ("7, 14", "Ann: 14, Bob: 7"), ("42", "m+n = 42"), ("0.3", "P(A|B) = 0.3"),
        ("0.3", r"\sin\theta = 0.3"), ("42", "[ABC] = 42"), ("24", r"\gcd(48, 72) = 24"),
        ("42", r"6 \times 7 = 42"), ("5", "Area = 5"), ("5:18", "S_{ABC}:S = 5:18"),
        ("3/4", r"\frac34 \text{ or } 0.75"),
    ],
    "tuples": [
        ("(1, 2)", r"\left(1, 2\right)"), ("(p,q)=(7,4)", "(7,4)"), ("(p,q)=(7,4)", "p = 7, q = 4"),
        ("p=3,q=8;p=11,q=8", "(3,8),(11,8)"), ("(1,2),(3,4)", "(3,4),(1,2)"),
        ("(0;0;0)", "(0,0,0)"), ("1,5;2,6", "(2,6),(1,5)"), (r"\langle 1, 2\rangle", "(1, 2)"),
        ("(1, 2)", "1, 2"), ("x = 1, y = 2", "y = 2, x = 1"),
    ],
    "matrices": [
        (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{bmatrix}1\\2\end{bmatrix}"),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1, 2)"),
        (r"\begin{bmatrix}1&0\\0&1\end{bmatrix}", "I_2"),
        (r"\begin{vmatrix}1&2\\3&4\end{vmatrix}", "-2"),
        (
            r"\begin{pmatrix}1/2&0\\0&1/2\end{pmatrix}",
            r"\frac12\begin{pmatrix}1&0\\0&1\end{pmatrix}",
        ),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "[[1,2],[3,4]]"),
    ],
    "families": [
        (r"k\pi, k \in \mathbb{Z}", r"n\pi, n \in \mathbb{Z}"),
        (r"x = \frac\pi3 + k\pi", r"-\frac{2\pi}{3} + n\pi"),
        (r"k\pi, k \in \mathbb{Z}", r"x = 2k\pi \text{ or } x = \pi + 2k\pi, k \in \mathbb{Z}"),
        (r"x \equiv 3 \pmod{7}", r"x \equiv 10 \pmod 7"),
        (r"x \equiv 3 \pmod{7}", r"7k+3 \text{ for any integer } k"),
        (r"180^\circ k, k \in \mathbb{Z}", r"n \cdot 180^\circ, n \in \mathbb{Z}"),
        (r"\pm\frac\pi3 + 2k\pi, k\in\mathbb Z", r"2n\pi \pm \frac{\pi}{3}, n \in \mathbb{Z}"),
    ],
    "ratios": [
        ("1:2:3", "2:4:6"), ("1:2", r"\frac12"), ("3 to 4", "6:8"),
    ],
    "choices": [
        ("(B)", r"\text{B}"), ("B", "(B)"), ("B", r"\textbf{(B)}\ 12"), ("C", "Option C"),
        ("(C) 12", "12"), ("12", "(C) 12"), ("C", "C. 12"),
    ],
    "words": [
        (r"\text{odd}", "Odd"), (r"\text{Yes}", r"\text{yes}"),
        ("no solution", r"\text{No solution}"), ("odd $n$", "odd $n$"),
        ("triangle, circle", r"\text{circle and triangle}"), ("The Nile", "nile"),
    ],
    "times and dates": [
        (r"3:45 \text{ PM}", r"3{:}45 \text{ p.m.}"), (r"3:45 \text{ PM}", "15:45"),
        ("noon", "12:00 PM"), ("March 3, 2020", "2020-03-03"), ("4:30p..", "4:30 p.m."),
    ],
    "rounding": [
        ("0.333", r"\frac13"), ("1.4142135623730951", r"\sqrt{2}"), ("3.14", r"\pi"),
        ("13.18", "13.1797"),
    ],
}  # fmt: skip

WRONG = {
    "numbers": [
        ("5", "5.001"), ("0.5", "0.5000004"), ("1/3", "0.333333"), ("0", "10^{-400}"),
        ("0", "0.0000001"), (r"\frac{1}{2^{90}}", r"\frac{1}{2^{91}}"),
        ("2025^{2025}", "2025^{2024}"), ("41", "14"), ("6", "-6"), (r"0.\overline{36}", "0.36"),
        ("12345678902", "12345678901"), ("1", r"\frac{0}{0}"), ("0", r"\frac10"), ("5", "ѕ"),
        ("5", "5.5.5"), ("123", "1,2,3"), ("2.6", r"2\frac{5}{3}"),
        ("7", "7" * 300), ("1, 2, 3", "1, 2, 3, ..."),
    ],
    "percent": [
        ("0.5", r"0.5\%"), (r"\frac{31}{9}", r"3\frac{4}{9}\%"), ("28%", "2.8"), (r"5\%", "500"),
    ],
    "units": [
        ("5 meters", "5 feet"), (r"24 \text{ cm}^2", r"24 \text{ m}^2"), ("5 apples", "5 oranges"),
        (r"5 \text{ cm}", r"5 \text{ mm}"), ("2 hours", "2 minutes"), ("14", r"14 \text{ million}"),
        (r"\$5", "5€"), ("2", r"2 \text{ or more}"), ("2", r"2 \text{ is wrong}"),
    ],
    "angles": [
        (r"\frac{5\pi}{6}", r"120^\circ"), (r"\frac\pi6", "30"), (r"30^\circ", r"\frac\pi3"),
    ],
    "bases": [
        ("312_5", "312_6"), ("41_7", "417"), ("41_7", "41"), ("10", "10_2"), ("2101_3", "2111_3"),
    ],
    "roots and pi": [
        (r"\sqrt2", r"\sqrt2 + 10^{-20}"), (r"\sqrt{2}", r"\pm\sqrt{2}"), (r"\sqrt{2}", "1.41421"),
        ("6", r"6\sqrt(5)"), (r"\pi", "3.14"), (r"\pi", r"\frac{22}{7}"),
        (r"1+\sqrt2", r"\sqrt{3+2\sqrt{2.0001}}"),
    ],
    "algebra": [
        ("x", "X"), ("x+1", "x + 1 = 0"), ("abc", "cba"), ("a^b", "b^a"), ("x", r"\sqrt{x^2}"),
        ("x", "х"), ("(a+5)(b+2)", "(+5)(b+2)"), ("2x+3y", "3x+2y"), ("(x-1)(x+1)", "x^2+1"),
        ("n", r"\sum_{k=1}^{n} k"), (r"\ln x", r"\ln|x|"), ("x^2+6x+9", "x^3+6x+9"),
        ("2^{x}", "x^2"), ("x", "y"),
    ],
    "trigonometry": [
        (r"\sin(2x)", r"2\sin x"), (r"\sin x", r"\cos x"), (r"\arctan x", r"\arcsin x"),
    ],
    "complex": [
        ("i", "-i"), ("3+4i", "3-4i"), ("1", r"e^{i\pi}"),
    ],
    "equations": [
        ("2", "3 = 2"), ("2", "2 = 3"), ("0", "5 = 0"), ("2", "{3 = 2}"), ("2", "(3 = 2)"),
        ("2", r"\mathbf{3 = 2}"), ("x = 2", "y = 2"), ("5x+2y+9=0", "0"),
        ("5x + 2y + 9 = 0", "3x + 2y + 9 = 0"), ("x=2", "x^2=4"), ("y = 2x", "y = 3x"),
        ("x^2 = x", "x = 1"), ("6", r"\sum_{k=1}^{3} k = 7"), ("a^2 + b = 0", "0"),
        ("13", r"\approx 12"), ("13", r"\neq 13"), ("2", "x = 2 = 3"),
    ],
    "functions": [
        ("f(x) = 2x", "f(x) = 2t"), ("f(x) = x", "g(x) = x"), ("f(2) < f(1)", "f(1) < f(2)"),
    ],
    "plus-minus": [
        ("2", r"\pm 2"), (r"\pm 37", "37"), (r"3 \pm 1", "2, 3, 4"),
    ],
    "intervals and inequalities": [
        ("[0, 6)", "[0, 6]"), ("(0, 6)", "[0, 6)"), ("[0,6)", "[0,1)"), ("x < 4", "x > -4"),
        ("x < 4", r"x \le 4"), ("2", r"0 \le x \le 10"), ("13", "> 12"), ("x < 4", "y < 4"),
        (r"x<2 \text{ or } x>5", "2<x<5"), ("(1, 2)", "[1, 2]"), ("x > y", "y > x"),
        (r"\mathbb{R}", r"\mathbb{Z}"), ("x > 2", "x = 2"),
    ],
    "sets and lists": [
        (r"\{1, 2\}", "(1, 2)"), ("2, 3", "2, 3, 4"), ("x = 1, x = 2", "x = 1, x = 2, x = 3"),
        (r"\emptyset", r"\{0\}"), ("n=3, 4, 5", "n=1, 4, 5"), ("2", r"1 \text{ or } 2"),
        ("2", "2, 3"), ("2", r"x \in \{1, 2, 3\}"), ("4, 5, 6", "4, 5, 6, ..."),
        ("2", r"\text{either } 2 \text{ or } 7"), (r"\emptyset", r"\text{undefined}"),
    ],
    "tuples": [
        ("(3, 1)", "(1, 3)"), (r"\{(1,2),(3,4)\}", r"\{(2,1),(4,3)\}"),
        (r"(5, \frac\pi3)", r"(5, \frac{2\pi}3)"), ("x = 1, y = 2", "x = 2, y = 1"),
        ("(1, 2)", "(1, 2, 3)"),
    ],
    "matrices": [
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}"),
        (r"\begin{pmatrix}1\\2\\3\end{pmatrix}", "(1,2,4)"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "-2"),
    ],
    "families": [
        (r"k\pi, k \in \mathbb{Z}", r"2k\pi, k \in \mathbb{Z}"),
        (r"k\pi, k \in \mathbb{Z}", r"\pi"), (r"x \equiv 3 \pmod{7}", r"x \equiv 4 \pmod 7"),
        (r"k\pi, k \in \mathbb{Z}", r"k\pi, k \in \mathbb{N}"),
    ],
    "ratios": [
        ("1:2:3", "1:2:4"), ("1:2", "2:1"), ("1:2", "2"),
    ],
    "choices": [
        ("B", r"\text{B and C}"), ("B", "ABCD"), ("B", r"\text{(B) or (C)}"), ("d", r"\text{E}"),
        ("B", r"\text{B is wrong}"), ("B", "B, C"), ("C", "(C) 12 or (D) 13"),
    ],
    "words": [
        (r"\text{Paris}", r"\text{Paris, London}"), (r"\text{odd}", "even"), ("yes", "yes and no"),
        ("even", "not even"), ("2", r"\text{the number}"), ("x^2-5x+6", r"\text{the polynomial}"),
    ],
    "times and dates": [
        (r"3:45 \text{ PM}", r"3:45 \text{ AM}"), ("March 3, 2020", "March 4, 2020"),
        ("3:45 PM", "3:45"),
    ],
    "code": [
        ("1", "__import__('os').system('true') or 1"),
        ("1", "().__class__.__base__.__subclasses__()"),
    ],
}  # fmt: skip


def pairs(table: dict[str, list[tuple[str, str]]]) -> list[object]:
    return [
        pytest.param(*pair, id=f"{kind}: {pair[0]} | {pair[1]}"[:60])
        for kind, rows in table.items()
        for pair in rows
    ]


def verdict(gold: str, answer: str) -> float | None:
    return rewards.score(rf"so \boxed{{{answer}}}", {"type": "math", "answer": gold}).value


@pytest.mark.parametrize(("gold", "answer"), pairs(RIGHT))
def test_the_gold_in_another_form_is_accepted(gold: str, answer: str) -> None:
    assert verdict(gold, answer) == 1.0


@pytest.mark.parametrize(("gold", "answer"), pairs(WRONG))
def test_what_only_looks_like_the_gold_is_rejected(gold: str, answer: str) -> None:
    assert verdict(gold, answer) == 0.0


ASYMMETRIC = {
    *("rounding", "units", "percent", "times and dates", "choices", "numbers", "roots and pi"),
    *("grouped digits", "labels"),
}
"""The policies for rounding, omitted units and the like forgive the answer alone."""


@pytest.mark.parametrize(
    ("gold", "answer"), pairs({k: rows for k, rows in RIGHT.items() if k not in ASYMMETRIC})
)
def test_equality_is_symmetric(gold: str, answer: str) -> None:
    assert verdict(answer, gold) == 1.0


@given(st.text(min_size=1, max_size=30))
def test_what_is_understood_equals_itself(text: str) -> None:
    reading = read(text)
    if reading.values:
        assert decide(reading, read(text), Rules()).right


formulas = st.recursive(
    st.one_of(
        st.integers(0, 99).map(str),
        st.sampled_from(["x", "y", r"\pi", "0.5", r"\frac{2}{3}", r"\sqrt{2}", "e", "i", "5 cm"]),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", ", ", "=", "<"]), inner).map(
            lambda parts: f"({parts[0]}){parts[1]}({parts[2]})"
        ),
        inner.map(lambda x: rf"\sqrt{{{x}}}"),
        inner.map(lambda x: rf"\sin({x})"),
        inner.map(lambda x: rf"\{{{x}\}}"),
    ),
    max_leaves=6,
)


@given(formulas)
def test_a_formula_that_is_understood_equals_itself(text: str) -> None:
    reading = read(text)
    if reading.values:
        decision = decide(reading, read(f" {text} "), Rules())
        assert decision.right
        assert not decision.obligations


@given(formulas, formulas)
def test_comparing_never_raises_and_is_symmetric_for_formulas(a: str, b: str) -> None:
    left, right = read(f"{a}+0*z"), read(f"{b}+0*z")
    assert decide(left, right, Rules()).right == decide(right, left, Rules()).right
