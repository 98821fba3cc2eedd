"""Where things lie in a chart; templates/charts.html draws them, in a box of WIDTH x height units
that scales with the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 480
LEFT, RIGHT, TOP, BOTTOM = 52, 22, 12, 44
LETTER, MOST_LETTERS = 7.0, 14  # the width of a letter, and how many of a name are shown
Data = Mapping[str, Any]


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


@dataclass(frozen=True)
class Axis:
    """A range of values along a stretch of the picture; a logarithmic one is of their powers.

    names: those of the values 1, 2, …, which are shown in their place as far as there is room.
    """

    low: float
    high: float
    start: float
    stop: float
    logarithmic: bool = False
    names: tuple[str, ...] = ()

    def at(self, value: float) -> float:
        """Where a value lies; beyond the ends, at the end."""
        value = math.log10(value) if self.logarithmic else value
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round values and how they are written."""
        if self.names:
            return self._named_ticks()
        if not self.logarithmic:
            return [(tick, f"{tick:,g}") for tick in nice_ticks(self.low, self.high)]
        tens = range(math.ceil(self.low), math.floor(self.high) + 1)
        return [(10.0**ten, f"{10.0**ten:g}") for ten in tens[:: max(1, len(tens) // 6)]]

    def _named_ticks(self) -> list[tuple[float, str]]:
        """Every name, or as many at equal distances as have room; the last one is among them."""
        n = len(self.names)
        short = [s if len(s) <= MOST_LETTERS else f"{s[: MOST_LETTERS - 1]}…" for s in self.names]
        wide = LETTER * (max(map(len, short)) + 1)
        step = math.ceil(wide * n / abs(self.stop - self.start))
        return [(i + 1.0, short[i]) for i in range((n - 1) % step, n, step)]


@dataclass(frozen=True)
class Frame:
    """Two axes."""

    x: Axis
    y: Axis

    def line(self, points: Iterable[Sequence[float]], column: int = 1) -> str:
        """The points (x, y, low, high) as SVG writes them, with y from a column."""
        known = (p for p in points if math.isfinite(p[0]) and math.isfinite(p[column]))
        return " ".join(f"{self.x.at(p[0]):.1f},{self.y.at(p[column]):.1f}" for p in known)

    def band(self, points: Sequence[Sequence[float]]) -> str:
        """The outline of the area from low to high."""
        whole = [point for point in points if all(map(math.isfinite, point))]
        return f"{self.line(whole, 3)} {self.line(whole[::-1], 2)}".strip()


def frame(
    x_range: tuple[float, float],
    y_range: tuple[float, float] = (0, 1),
    height: int = 280,
    top: int = TOP,
    logarithmic: bool = False,
    names: Sequence[str] = (),
) -> Frame:
    """Axes with room for their titles; a range that is empty is opened. names: of 1, 2, … on x."""
    if logarithmic:
        x_range = (math.log10(x_range[0]), math.log10(x_range[1]))
    (a, b), (c, d) = (
        (low, high) if high > low else (low - 0.5, low + 0.5) for low, high in (x_range, y_range)
    )
    x = Axis(a, b, LEFT, WIDTH - RIGHT, logarithmic, tuple(names))
    return Frame(x, Axis(c, d, height - BOTTOM, top))


def points_of(
    rows: Sequence[Data], x: Iterable[float], name: str = ""
) -> list[tuple[float, float, float, float]]:
    """Points (x, y, low, high); of rows that hold several values, those of a name."""
    keys = (name, f"{name}_low", f"{name}_high") if name else ("value", "low", "high")
    return [(at, *(row[key] for key in keys)) for at, row in zip(x, rows, strict=True)]


def around(points: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """The range of all values and ends that are known."""
    known = [value for point in points for value in point[1:] if math.isfinite(value)]
    return (min(known), max(known)) if known else None
