"""The curves of a run as one page, report.html, that needs nothing from anywhere else."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trainer.run_folder import RunFolder
from trainer.tasks.rows import read_jsonl

WIDTH, HEIGHT = 720, 300
SMALL_WIDTH, SMALL_HEIGHT = 350, 190
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 14, 30
_MARKS = {False: "━", True: "●"}
COLOURS = ("#2563eb", "#d9480f", "#2b8a3e", "#9c36b5", "#e67700", "#0c8599", "#c2255c", "#868e96")

EVALS = ("eval/pass@", "eval/maj@")
TIMES = ("rollout", "score", "score_hidden", "logprobs", "update", "sync", "idle")

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """One curve."""

    name: str
    points: Points
    dotted: bool = False
    """Few points, far apart: mark each."""


@dataclass(frozen=True)
class Scale:
    """Data coordinates to the pixels of a chart."""

    x_max: float
    y_min: float
    y_max: float
    width: int
    height: int

    def x(self, value: float) -> float:
        """Return the pixel column of a step."""
        return LEFT + value / self.x_max * (self.width - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return the pixel row of a value."""
        share = (value - self.y_min) / (self.y_max - self.y_min)
        return self.height - BOTTOM - share * (self.height - TOP - BOTTOM)


def write_report(folder: RunFolder) -> None:
    """Draw metrics.jsonl of a run into its report.html."""
    page = render(folder.path.name, read_jsonl(folder.metrics), folder.config.read_text("utf-8"))
    temporary = folder.report.with_suffix(".tmp")
    temporary.write_text(page, encoding="utf-8")
    temporary.replace(folder.report)


def render(title: str, rows: Sequence[dict[str, Any]], settings: str) -> str:
    """Return the page for rows of metrics."""
    main = [
        Line("reward", _points(rows, "reward/mean")),
        Line("outcome", _points(rows, "outcome/mean")),
        Line("eval pass@1", _points(rows, "eval/pass@1"), dotted=True),
    ]
    if main[0].points == main[1].points:  # without shaping they are the same curve
        del main[1]
    charts = "".join(
        f"<figure><figcaption>{html.escape(head)}</figcaption>"
        f"{_legend(lines) if len(lines) > 1 else ''}{_chart(lines, SMALL_WIDTH, SMALL_HEIGHT)}"
        "</figure>"
        for head, lines in _small_charts(rows)
        if any(line.points for line in lines)
    )
    return _PAGE.format(
        title=html.escape(title),
        headline=html.escape(_headline(main)),
        legend=_legend(main),
        main=_chart(main, WIDTH, HEIGHT),
        charts=charts,
        settings=html.escape(settings),
    )


def _small_charts(rows: Sequence[dict[str, Any]]) -> list[tuple[str, list[Line]]]:
    evals = dict.fromkeys(key for row in rows for key in row if key.startswith(EVALS))
    single = [
        ("loss", "loss"),
        ("KL to the start", "kl"),
        ("gradient norm", "grad_norm"),
        ("entropy (nats a token)", "entropy"),
        ("completion length (tokens)", "completions/length_mean"),
        ("groups without spread", "groups/zero_variance_frac"),
        ("rollout vs trainer |log-prob| (mean)", "rollout/logprob_diff_mean"),
        ("KL between rollout and trainer", "rollout/gen_kl_error"),
        ("seconds a step", "time/step_s"),
    ]
    times = [(name, f"time/{name}_s") for name in TIMES]
    return [
        ("eval", [Line(k.removeprefix("eval/"), _points(rows, k), dotted=True) for k in evals]),
        *((head, [Line(head, _points(rows, key))]) for head, key in single),
        ("where the seconds go", [Line(name, _points(rows, key)) for name, key in times]),
    ]


def _points(rows: Sequence[dict[str, Any]], key: str) -> Points:
    return [(row["step"], row[key]) for row in rows if key in row]


def _headline(lines: Sequence[Line]) -> str:
    parts = [
        f"{line.name} {line.points[0][1]:.3f} → {line.points[-1][1]:.3f}"
        for line in lines
        if line.points
    ]
    return ", ".join(parts) or "no steps yet"


def _legend(lines: Sequence[Line]) -> str:
    return " ".join(
        f'<span style="color:{colour}">{_MARKS[line.dotted]} {html.escape(line.name)}</span>'
        for line, colour in zip(lines, COLOURS, strict=False)
        if line.points
    )


def _chart(lines: Sequence[Line], width: int, height: int) -> str:
    points = [point for line in lines for point in line.points]
    if not points:
        return ""
    scale = _scale(points, width, height)
    body = _grid(scale) + "".join(
        _curve(line, scale, colour) for line, colour in zip(lines, COLOURS, strict=False)
    )
    return f'<svg viewBox="0 0 {width} {height}" role="img">{body}</svg>'


def _scale(points: Points, width: int, height: int) -> Scale:
    low, high = min(y for _, y in points), max(y for _, y in points)
    if low >= 0 and high <= 1 and high > 0.25:  # shares are read best on the whole range
        low, high = 0.0, 1.0
    if low == high:
        low, high = low - 0.5, high + 0.5
    return Scale(max(1.0, max(x for x, _ in points)), low, high, width, height)


def _grid(scale: Scale) -> str:
    parts = []
    for tick in _ticks(scale.y_min, scale.y_max):
        y = scale.y(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{scale.width - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:.4g}</text>')
    for tick in _ticks(0, scale.x_max):
        x, y = scale.x(tick), scale.height - BOTTOM + 18
        parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{tick:.4g}</text>')
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers from low to high."""
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 5)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _curve(line: Line, scale: Scale, colour: str) -> str:
    places = [(scale.x(x), scale.y(y)) for x, y in line.points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    parts = [f'<path class="curve" stroke="{colour}" d="{path}"/>']
    if line.dotted or len(places) == 1:
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}">'
            f"<title>step {step:g}: {value:.3f}</title></circle>"
            for (x, y), (step, value) in zip(places, line.points, strict=True)
        ]
    return "".join(parts)


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; --ink: #1f2328; --soft: #6b7280; --line: #8884; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e6e6; --soft: #9aa0a6; }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 740px;
  margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.2rem; margin-bottom: 0; }}
.lead {{ font-size: 1.1rem; margin: .2rem 0 1rem; }}
.legend span {{ margin-right: 1rem; }} figure span {{ margin-right: .5rem; font-size: .8rem; }}
svg {{ width: 100%; height: auto; }}
svg text {{ font: 11px system-ui, sans-serif; fill: var(--soft); }}
.grid {{ stroke: var(--line); fill: none; }}
.curve {{ fill: none; stroke-width: 1.8; stroke-linejoin: round; }}
.charts {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 1rem; }}
figure {{ margin: 0; }} figcaption {{ color: var(--soft); font-size: .9rem; }}
pre {{ overflow-x: auto; font-size: .85rem; }}
</style>
<h1>{title}</h1>
<p class="lead">{headline}</p>
<p class="legend">{legend}</p>
{main}
<div class="charts">{charts}</div>
<details><summary>settings</summary><pre>{settings}</pre></details>
</html>
"""
