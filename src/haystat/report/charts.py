"""Small charts as SVG: no script, colours and text by class, so that the page can restyle them.

Everything is drawn in a box of WIDTH x height units that scales with the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 480
LEFT, RIGHT, TOP, BOTTOM = 52, 22, 12, 44


@dataclass(frozen=True)
class Axis:
    """A range of values along a stretch of the picture."""

    low: float
    high: float
    start: float
    stop: float
    ticks: tuple[float, ...]
    form: str = "g"

    def at(self, value: float) -> float:
        """Where a value lies; beyond the ends, at the end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)


def nice_ticks(low: float, high: float, n: int = 5) -> tuple[float, ...]:
    """About n round numbers from `low` to `high`.

    >>> nice_ticks(0, 1), nice_ticks(50, 430)
    ((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (100.0, 200.0, 300.0, 400.0))
    """
    rough = (high - low) / n
    power = 10 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return tuple(round(float((first + i) * step), 12) for i in range(count))


def line_with_band(
    points: Sequence[tuple[float, float, float, float]],
    title: str,
    x_title: str,
    y_title: str,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    colour: str = "a",
    mark: tuple[float, float, str] | None = None,
) -> str:
    """A line through (x, y) with a band from low to high; points are (x, y, low, high).

    mark: a point to point out, and what to write at it.
    """
    height = 280
    x, y = _axes(x_range, y_range, height)
    kept = [point for point in points if all(map(math.isfinite, point[:2]))]
    banded = [point for point in kept if all(map(math.isfinite, point[2:]))]
    upper = [f"{x.at(p[0]):.1f},{y.at(p[3]):.1f}" for p in banded]
    lower = [f"{x.at(p[0]):.1f},{y.at(p[2]):.1f}" for p in reversed(banded)]
    line = " ".join(f"{x.at(p[0]):.1f},{y.at(p[1]):.1f}" for p in kept)
    marks = "".join(
        f'<circle class="fill-{colour}" cx="{x.at(p[0]):.1f}" cy="{y.at(p[1]):.1f}" r="2.5"/>'
        for p in kept
    )
    body = (
        f'<polygon class="band-{colour}" points="{" ".join(upper + lower)}"/>'
        f'<polyline class="line-{colour}" points="{line}"/>{marks if len(kept) <= 30 else ""}'
    )
    if mark is not None:
        at_x, at_y = x.at(mark[0]), y.at(mark[1])
        side, gap = ("end", -9) if at_x > WIDTH / 2 else ("start", 9)
        body += (
            f'<circle class="mark" cx="{at_x:.1f}" cy="{at_y:.1f}" r="6"/><text class="{side}" '
            f'x="{at_x + gap:.1f}" y="{at_y + 16:.1f}">{escape(mark[2])}</text>'
        )
    return framed(title, height, grid(x, y, x_title, y_title) + body)


def two_bars(
    names: Sequence[str],
    first: Sequence[float],
    second: Sequence[float],
    title: str,
    legend: tuple[str, str],
) -> str:
    """For every name two horizontal bars of shares that can be compared."""
    step, top = 30, 34
    height = top + step * len(names) + 34
    left = 138
    largest = max([*first, *second, 1e-12])
    x = Axis(0, largest, left, WIDTH - RIGHT - 44, nice_ticks(0, largest, 4))
    rows = []
    for number, (name, one, other) in enumerate(zip(names, first, second, strict=True)):
        at = top + step * number
        rows.append(f'<text class="end" x="{left - 8}" y="{at + 16}">{escape(name)}</text>')
        for share, colour, shift in ((one, "c", 3), (other, "a", 14)):
            width = max(x.at(share) - left, 0.75 if share > 0 else 0)
            rows.append(
                f'<rect class="fill-{colour}" x="{left}" y="{at + shift}" width="{width:.1f}" '
                f'height="9"/><text class="small" x="{left + width + 4:.1f}" '
                f'y="{at + shift + 8.5}">{_short(share)}</text>'
            )
    key = (
        f'<rect class="fill-c" x="{left}" y="8" width="12" height="10"/>'
        f'<text x="{left + 17}" y="17">{escape(legend[0])}</text>'
        f'<rect class="fill-a" x="{left + 140}" y="8" width="12" height="10"/>'
        f'<text x="{left + 157}" y="17">{escape(legend[1])}</text>'
    )
    axis = f'<line class="axis" x1="{left}" y1="{top}" x2="{left}" y2="{height - 34}"/>'
    caption = f'<text class="middle" x="{WIDTH / 2}" y="{height - 12}">score from, to</text>'
    return framed(title, height, key + axis + "".join(rows) + caption)


def columns(
    bars: Sequence[tuple[float, float, float]], title: str, x_title: str, y_title: str
) -> str:
    """Columns over a logarithmic axis; bars are (from, to, height)."""
    height = 220
    low, high = math.log10(bars[0][0]), math.log10(bars[-1][1])
    largest = max(bar[2] for bar in bars) or 1
    x, y = _axes((low, high), (0, largest), height)
    body = "".join(
        f'<rect class="fill-a" x="{x.at(math.log10(a)) + 1:.1f}" y="{y.at(n):.1f}" '
        f'width="{max(x.at(math.log10(b)) - x.at(math.log10(a)) - 2, 1):.1f}" '
        f'height="{y.at(0) - y.at(n):.1f}"/>'
        for a, b, n in bars
    )
    tens = tuple(float(t) for t in range(math.ceil(low), math.floor(high) + 1))
    logarithmic = Axis(x.low, x.high, x.start, x.stop, tens[:: max(1, len(tens) // 6)], "10^")
    return framed(title, height, grid(logarithmic, y, x_title, y_title) + body)


def interval_bar(value: float, low: float, high: float, bounds: tuple[float, float]) -> str:
    """An estimate and its interval on the whole range of the measure."""
    x = Axis(*bounds, 12, WIDTH - 12, nice_ticks(*bounds))
    ticks = "".join(
        f'<line class="axis" x1="{x.at(t):.1f}" y1="26" x2="{x.at(t):.1f}" y2="31"/>'
        f'<text class="middle" x="{x.at(t):.1f}" y="45">{t:g}</text>'
        for t in x.ticks
    )
    body = (
        f'<line class="axis" x1="{x.start}" y1="26" x2="{x.stop}" y2="26"/>{ticks}'
        f'<rect class="band-a" x="{x.at(low):.1f}" y="8" rx="4" '
        f'width="{max(x.at(high) - x.at(low), 2):.1f}" height="14"/>'
        f'<rect class="fill-a" x="{x.at(value) - 2:.1f}" y="5" width="4" height="20"/>'
    )
    return framed(f"estimate {value:.4g}, interval {low:.4g} to {high:.4g}", 52, body)


def _axes(
    x_range: tuple[float, float], y_range: tuple[float, float], height: int
) -> tuple[Axis, Axis]:
    (a, b), (c, d) = _opened(x_range), _opened(y_range)
    x = Axis(a, b, LEFT, WIDTH - RIGHT, nice_ticks(a, b))
    return x, Axis(c, d, height - BOTTOM, TOP, nice_ticks(c, d))


def _opened(ends: tuple[float, float]) -> tuple[float, float]:
    """A range that is not empty."""
    low, high = ends
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def grid(x: Axis, y: Axis, x_title: str, y_title: str) -> str:
    """Lines, ticks and titles of two axes."""
    bottom, top = y.start, y.stop
    parts = []
    for tick in y.ticks:
        at = f"{y.at(tick):.1f}"
        parts.append(f'<line class="grid" x1="{x.start}" y1="{at}" x2="{x.stop}" y2="{at}"/>')
        parts.append(
            f'<text class="end" x="{x.start - 6}" y="{y.at(tick) + 4:.1f}">{tick:,g}</text>'
        )
    for tick in x.ticks:
        at = f"{x.at(tick):.1f}"
        label = f"{10.0**tick:g}" if x.form == "10^" else f"{tick:,g}"
        parts.append(f'<line class="axis" x1="{at}" y1="{bottom}" x2="{at}" y2="{bottom + 4}"/>')
        parts.append(f'<text class="middle" x="{at}" y="{bottom + 18}">{label}</text>')
    parts.append(f'<line class="axis" x1="{x.start}" y1="{bottom}" x2="{x.stop}" y2="{bottom}"/>')
    middle = (x.start + x.stop) / 2
    parts.append(f'<text class="middle" x="{middle}" y="{bottom + 37}">{escape(x_title)}</text>')
    turned = f'transform="translate(13 {(top + bottom) / 2}) rotate(-90)"'
    parts.append(f'<text class="middle" {turned}>{escape(y_title)}</text>')
    return "".join(parts)


def _short(share: float) -> str:
    if share == 0:
        return "0"
    return f"{share:.1%}" if share >= 0.001 else "<0.1%"


def framed(title: str, height: int, body: str) -> str:
    """A picture with its description."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{body}</svg>'
    )
