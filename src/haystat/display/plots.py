"""Pictures by matplotlib: intervals, curves and lines with bands, a histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from haystat.display.extras import needed

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#7f7f7f"


def axes(ax: Any = None, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    with needed("plot", "matplotlib", "plots"):
        from matplotlib import pyplot as plt
    return plt.subplots(figsize=size, layout="constrained")[1]


def plot_intervals(
    names: Sequence[str],
    values: Any,
    intervals: Any,
    *,
    title: str,
    x_title: str,
    ends: tuple[float, float] | None = None,
    ax: Any = None,
) -> Any:
    """Values as dots with their intervals (m, 2), the first on top; returns the axes."""
    values, intervals = np.asarray(values), np.asarray(intervals)
    ax = axes(ax, (6.4, 1.2 + 0.42 * len(names)))
    at = np.arange(len(names))[::-1]
    known = np.isfinite(values)
    ax.hlines(at, *intervals.T, color=BLUE, alpha=0.45, lw=7)
    ax.plot(values[known], at[known], "o", color=BLUE, ms=7)
    for place, value, (low, high) in zip(at, values, intervals, strict=True):
        text = f"{value:.3f} [{low:.3f}, {high:.3f}]" if np.isfinite(value) else "unknown"
        ax.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", size=9)
    ax.set(yticks=at, yticklabels=names, ylim=(-0.6, len(names) - 0.4), xlabel=x_title)
    ax.set_title(title, loc="left", size=10)
    if ends is not None and np.all(np.isfinite(ends)):
        ax.set_xlim(*ends)
    if ends is None:
        ax.axvline(0, color=GREY, lw=1, ls="--")
    return _clean(ax, "x")


def plot_course(
    n_labels: Any, values: Any, intervals: Any, *, title: str, y_title: str, ax: Any = None
) -> Any:
    """An estimate and its interval (n, 2) against the labels; returns the axes."""
    ax = axes(ax)
    low, high = np.asarray(intervals).reshape(-1, 2).T
    ax.fill_between(n_labels, low, high, color=BLUE, alpha=0.22, lw=0, label="interval")
    ax.plot(n_labels, values, color=BLUE, marker="o", ms=3, label="estimate")
    ax.set(xlabel="labels", ylabel=y_title)
    ax.set_title(title, loc="left", size=10)
    ax.legend(frameon=False)
    return _clean(ax, "y")


def plot_scores(scores: Any, cut: float | None, *, title: str, ax: Any = None) -> Any:
    """How many items have which score, on a logarithmic axis, and where it is cut."""
    ax = axes(ax)
    ax.hist(np.asarray(scores), bins=80, color=BLUE, alpha=0.7)
    ax.set_yscale("log")
    if cut is not None and np.isfinite(cut):
        ax.axvline(cut, color=ORANGE, lw=1.5, ls="--", label=f"threshold {cut:.4g}")
        ax.legend(frameon=False)
    ax.set(xlabel="score", ylabel="items")
    ax.set_title(title, loc="left", size=10)
    return _clean(ax, "y")


def plot_cuts(
    curve: Sequence[Mapping[str, float]], marks: Mapping[str, float], *, title: str, ax: Any = None
) -> Any:
    """Precision and recall with their bands over the threshold, and some cuts; returns the axes."""
    ax = axes(ax)
    at = [row["threshold"] for row in curve]
    for name, colour in (("precision", BLUE), ("recall", GREEN)):
        low, middle, high = (
            [row[f"{name}{end}"] for row in curve] for end in ("_low", "", "_high")
        )
        ax.fill_between(at, low, high, color=colour, alpha=0.2, lw=0)
        ax.plot(at, middle, color=colour, label=name)
    for (name, cut), dashes in zip(marks.items(), ("-", "--"), strict=False):
        ax.axvline(cut, color=ORANGE, lw=1.5, ls=dashes, label=f"{name} {cut:.4g}")
    ax.set(xlabel="threshold", ylim=(-0.02, 1.02))
    ax.set_title(title, loc="left", size=10)
    ax.legend(frameon=False)
    return _clean(ax, "y")


def plot_labels_needed(
    rows: Sequence[tuple[str, float, float, float]], *, title: str, ax: Any = None
) -> Any:
    """Labels that designs need, (name, median, low, high), on a logarithmic axis."""
    ax = axes(ax, (6.4, 2.2))
    for place, (_, middle, low, high) in zip(range(len(rows))[::-1], rows, strict=True):
        ax.hlines(place, low, high, color=BLUE, alpha=0.45, lw=7)
        ax.plot(middle, place, "o", color=BLUE, ms=7)
        ax.annotate(f"{middle:,.0f}", (middle, place), (0, 9), textcoords="offset points",
                    ha="center", size=9)  # fmt: skip
    ax.set(
        xscale="log",
        xlabel="labels",
        yticks=range(len(rows))[::-1],
        yticklabels=[row[0] for row in rows],
        ylim=(-0.6, len(rows) - 0.3),
    )
    ax.xaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
    ax.xaxis.set_minor_formatter("")
    ax.set_title(title, loc="left", size=10)
    return _clean(ax, "x")


def _clean(ax: Any, grid: str) -> Any:
    """Fewer lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color=GREY, alpha=0.25)
    ax.set_axisbelow(True)
    return ax
