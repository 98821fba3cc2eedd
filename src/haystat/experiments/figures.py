"""Figures: matplotlib, colours that colour-blind people can tell apart (Okabe and Ito)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haystat.core.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

#: design -> name in figures, colour, marker, line
LOOKS = {
    "assisted": ("Assisted", "#000000", "P", "-"),
    "adaptive": ("Adaptive, depth 8", "#0072B2", "o", "-"),
    "adaptive_flat": ("Adaptive, depth 1", "#56B4E9", "s", "--"),
    "oasis": ("OASIS", "#009E73", "^", "-."),
    "importance": ("Importance", "#E69F00", "D", "-"),
    "stratified": ("Stratified", "#CC79A7", "v", "--"),
    "passive": ("Passive", "#D55E00", "X", ":"),
}
SPARE_COLOURS = ("#7F7F7F", "#F0E442", "#999933", "#332288", "#882255")
SPARE_MARKERS = ("<", ">", "h", "*", "p")


def look(design: str, names: Sequence[str]) -> tuple[str, str, str, str]:
    """Name, colour, marker and line of a design; one not of the paper gets the next spare."""
    if design in LOOKS:
        return LOOKS[design]
    position = [name for name in names if name not in LOOKS].index(design) % len(SPARE_COLOURS)
    return design, SPARE_COLOURS[position], SPARE_MARKERS[position], "-"


@contextmanager
def new_figure(
    rows: int, columns: int, width: float, height: float
) -> Iterator[tuple[Figure, Any]]:
    """A figure and its axes (rows, columns), closed afterwards; no screen is needed."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: Any = {
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "pdf.fonttype": 42,  # text in a PDF stays text
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Figure, path: Path) -> None:
    """Write the figure; the ending of the path says as what."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
    figure.savefig(path, dpi=150, metadata=metadata)


def convergence(axis: Axes, frame: DataFrame, *, show_limit: bool = True) -> None:
    """MSE against labels with bootstrap bands, on log scales; the limit as a dotted line."""
    names = list(dict.fromkeys(frame.design))
    for name in names:
        rows = frame[frame.design == name]
        label, colour, marker, line = look(name, names)
        style: dict[str, Any] = {"color": colour, "marker": marker, "ls": line, "ms": 4, "lw": 1.4}
        drawn = rows[rows.mse > 0]
        axis.fill_between(
            drawn.budget,
            drawn.mse_low.clip(lower=drawn.mse.min() * 1e-3),
            drawn.mse_high,
            color=colour,
            alpha=0.18,
            lw=0,
        )
        axis.plot(drawn.budget, drawn.mse, label=label, **style)
    limit = frame.drop_duplicates("budget").sort_values("budget")
    # A limit far below everything that was measured would only squeeze the picture.
    near = limit[limit.limit > frame.mse[frame.mse > 0].min() * 1e-2]
    if show_limit and len(near) > 1:
        axis.plot(near.budget, near.limit, color="black", ls=(0, (1, 1)), lw=1.4, label="limit")
    axis.set(xscale="log", yscale="log", xlabel="labels", ylabel="mean squared error")
    _plain_label_ticks(axis, frame.budget)


def divergence(axis: Axes, frame: DataFrame) -> None:
    """KL from the proposal to the optimal one against labels."""
    frame = frame[np.isfinite(frame.kl)]
    names = list(dict.fromkeys(frame.design))
    for name in names:
        rows = frame[frame.design == name]
        label, colour, marker, line = look(name, names)
        axis.plot(rows.budget, rows.kl, color=colour, marker=marker, ls=line, ms=4, label=label)
    axis.set(xscale="log", ylabel="KL from the optimal proposal")
    axis.set_ylim(bottom=0)
    _plain_label_ticks(axis, frame.budget)


def bars(axis: Axes, frame: DataFrame, pools: Sequence[str]) -> None:
    """MSE at one budget: a group of bars for each pool, with bootstrap intervals."""
    names = list(dict.fromkeys(frame.design))
    height = 0.8 / len(names)
    for rank, name in enumerate(names):
        rows = frame[frame.design == name].set_index("pool").reindex(pools)
        label, colour, _, _ = look(name, names)
        at = np.arange(len(pools)) + (rank - (len(names) - 1) / 2) * height
        spread = np.stack([rows.mse - rows.mse_low, rows.mse_high - rows.mse])
        spread = np.nan_to_num(np.clip(spread, 0, None))
        errors = {"ecolor": "black", "elinewidth": 1, "capsize": 2}
        axis.barh(at, rows.mse, height, color=colour, label=label, xerr=spread, error_kw=errors)
    axis.set_yticks(np.arange(len(pools)), pools)
    axis.invert_yaxis()
    axis.set(xscale="log", xlabel="mean squared error")
    axis.grid(False, axis="y")


def curves(axis: Axes, estimated: FloatArray, truth: FloatArray) -> None:
    """Estimated PR curves (R, 2L), and the true one (2L,): precision at L thresholds, recall."""
    half = len(truth) // 2
    for values in estimated:
        axis.plot(values[half:], values[:half], color="#444444", lw=0.6, alpha=0.25)
    axis.plot(truth[half:], truth[:half], color="#D55E00", lw=2, label="true curve")
    axis.plot([], [], color="#444444", lw=0.8, label=f"{len(estimated)} estimates")
    axis.set(xlabel="recall", ylabel="precision", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))


def save_bench(frame: DataFrame, title: str, path: Path) -> None:
    """The picture of `haystat bench`."""
    with new_figure(1, 1, 6.4, 4.2) as (figure, axes):
        axis = axes[0, 0]
        convergence(axis, frame)
        axis.set_title(title)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside right upper", frameon=False)
        save(figure, path)


def legend_of(axes: Any) -> Mapping[str, Any]:
    """Handles and labels of all axes, each label once."""
    found: dict[str, Any] = {}
    for axis in axes.ravel():
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return {"handles": list(found.values()), "labels": list(found)}


def _plain_label_ticks(axis: Axes, budgets: Any) -> None:
    """Round numbers of labels as ticks, written out."""
    low, high = float(min(budgets)), float(max(budgets))
    steps = [f * 10**e for e in range(8) for f in (1, 2, 5)]
    ticks = [step for step in steps if low <= step <= high]
    if len(ticks) < 2:
        ticks = sorted({int(low), int(high)})
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    axis.tick_params(axis="x", labelrotation=30 if len(ticks) > 6 else 0)
