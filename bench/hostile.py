"""What breaks parsers: mutations of labelled cases, and inputs made to hang or to bloat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

MAX_CHARS = 20_000


class Pair(NamedTuple):
    """What one judgement takes."""

    gold: str
    completion: str


_TOKEN = re.compile(r"\\[A-Za-z]+|\d+|\s+|.", re.DOTALL)
_MACROS = r"""\frac \sqrt \boxed{ \text{ \left( \right \pm \cup \in \begin{pmatrix} \end{pmatrix} \\
\{ \} \infty \circ \overline{ e999999 10^{10^{10}} <think> </think> <answer> </answer> ** $$ ####
or AM and cm Answer: Thursday dozen"""
_SIGNS = "{}()[]|$%^_&~#'\"!=<>,;:./*+-\\0123456789xyein \n\t\x00−²½∞π√°٣х𝟙\u202e\ufeff\ud800"
_LONG = ("The answer is ", "9" * 300, "!" * 9, "^{9" * 9, "(" * 40, r"\frac{1}{" * 30)
_NASTY = (*_SIGNS, *_MACROS.split(), *_LONG)
_FRAMES = r"""\boxed{%s};\text{%s};\frac{%s}{%s};\sqrt{%s};%s^{%s};(%s);\{%s\};$%s$;|%s|;%s = %s;%s!
\left(%s\right);%s, %s;%s \text{ or } %s;-(%s);<think>%s;<answer>%s</answer>;**%s**;%s_{%s};%s\%%
x \in [%s, %s);\sum_{k=1}^{%s} %s;%s:%s;\begin{pmatrix} %s & %s \end{pmatrix};The answer is %s."""
_WRAPPERS = re.split("[;\n]", _FRAMES)
Edit = Callable[[list[str], Random], list[str]]


def _span(pieces: list[str], rng: Random) -> tuple[int, int]:
    start = rng.randrange(len(pieces) + 1)
    return start, min(len(pieces), start + rng.choice((1, 1, 1, 2, 3, 8, 30)))


def _delete(pieces: list[str], rng: Random) -> list[str]:
    start, end = _span(pieces, rng)
    return pieces[:start] + pieces[end:]


def _insert(pieces: list[str], rng: Random) -> list[str]:
    at = rng.randrange(len(pieces) + 1)
    return [*pieces[:at], rng.choice(_NASTY), *pieces[at:]]


def _replace(pieces: list[str], rng: Random) -> list[str]:
    start, end = _span(pieces, rng)
    return [*pieces[:start], rng.choice(_NASTY), *pieces[end:]]


def _repeat(pieces: list[str], rng: Random) -> list[str]:
    start, end = _span(pieces, rng)
    return pieces[:start] + pieces[start:end] * rng.choice((2, 2, 2, 3, 20, 300)) + pieces[end:]


def _swap(pieces: list[str], rng: Random) -> list[str]:
    (a, b), (c, d) = sorted((_span(pieces, rng), _span(pieces, rng)))
    return pieces if b > c else pieces[:a] + pieces[c:d] + pieces[b:c] + pieces[a:b] + pieces[d:]


def _digits(pieces: list[str], rng: Random) -> list[str]:
    return [str(rng.randrange(10)) if p.isdecimal() and rng.random() < 0.3 else p for p in pieces]


def _wrap(pieces: list[str], rng: Random) -> list[str]:
    wrapper, inside = rng.choice(_WRAPPERS), "".join(pieces)
    return [wrapper % ((inside,) * wrapper.replace("%%", "").count("%s"))]


_EDITS: tuple[Edit, ...] = (_delete, _insert, _replace, _repeat, _swap, _digits, _wrap)


def mutate(text: str, other: str, rng: Random) -> str:
    """Return `text` after one to four edits of characters or tokens, maybe spliced with `other`."""
    if rng.random() < 0.1:
        text = text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]
    for _ in range(rng.choice((1, 1, 2, 4))):
        pieces = list(text) if rng.random() < 0.5 else _TOKEN.findall(text)
        text = "".join(rng.choice(_EDITS)(pieces, rng))[:MAX_CHARS]
    return text


def mutations(cases: Sequence[Mapping[str, Any]], n: int, seed: int = 0) -> Iterator[Pair]:
    """Yield `n` pairs, of which the gold, the completion or both are a case's after some edits."""
    rng = Random(seed)
    for _ in range(n):
        case, other, side = rng.choice(cases), rng.choice(cases), rng.random()
        gold, completion = str(case["gold"]), str(case["answer"])
        if side < 0.7:
            completion = mutate(completion, str(other["answer"]), rng)
        if side > 0.4:
            gold = mutate(gold, str(other["gold"]), rng)
        yield Pair(gold, completion)


# @ is a number that makes each of them new
_BOMBS = r"""9^{9^{9^{@}}};9**9**@99;e^{e^{e^{e^{@}}}};@00000000!;(((@!)!)!);@e999999999;@7^{@^{@@}}
\binom{10^9+@}{5\cdot10^8};\sum_{k=1}^{10^{12}+@} \frac1k;\prod_{k=1}^{10^7+@} (x+k);\Gamma(10^9+@)
\int_0^{@} x^{x^x} \, dx;\lim_{n \to \infty} n^{@};(x+y+z+w+@)^{200} - (x+y+z+w+@)^{200};0/(@-@)
\sqrt[99999999]{@} + \sin(10^{10^{10}});@011_{99999999} + 1_{-@};__import__('os').system('@')
x^{@} + \sin^{99}(x)\cos^{99}(y) - \tan^{@}(x+y)"""
# what stands before the number, how often, and what after it
_NESTS = r"""(;600;);\sqrt{;300;};\frac{1}{;200;};\{;200;\};|;200;|;x_{1}+;1500;;7;5000;;12,;1500;
x=;500;;3:;700;;one million ;300;;(0,1) \cup ;300;;;60; \pm 1;;50; \text{ cm}^{99999} / ;;300;!
x-;700;y;-;900;;\begin{pmatrix} 1 & ;40; \\ 2 & 3 \end{pmatrix};0.\overline{142857;1;}"""
# _ is a space
_FLOODS = r"""\boxed{ \boxed{2} \[ \( $ $$_ 1_ { } <think> ** </think> <answer> ####_ =2 ,1 \text{
The_answer_is_ < ` ( \left( \frac _"""
_GOLDS = r"2;\frac{1}{2};x^2+1;\{1,2\};(0,1];x=3;\sqrt{2};5 \text{ cm};B"


def bombs(n: int) -> Iterator[Pair]:
    """Yield `n` completions, no two of them equal, that were made to hang or to bloat a grader."""
    boxed = [lambda i, bomb=bomb: bomb.replace("@", str(i)) for bomb in re.split("[;\n]", _BOMBS)]
    nests = re.split("[;\n]", _NESTS)
    for head, times, tail in zip(nests[::3], map(int, nests[1::3]), nests[2::3], strict=True):
        boxed.append(lambda i, h=head, n=times, t=tail: h * n + str(i) + t * n)
    floods = [text.replace("_", " ") for text in (*_FLOODS.split(), "\n", "\u202e")]
    golds = _GOLDS.split(";")
    for i in range(n):
        turn, kind = divmod(i, len(boxed) + len(floods))
        if kind < len(boxed):
            completion = rf"So it is \boxed{{{boxed[kind](turn + 3)}}}."
        else:
            flood = floods[kind - len(boxed)]
            completion = f"{turn} {flood * (60_000 // len(flood))} {turn}"
        yield Pair(golds[i % len(golds)], completion)
