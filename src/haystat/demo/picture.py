"""The picture of the demo: estimates and intervals of each design against the labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from haystat.inference.estimate import Estimate

COLOURS = ("#0072B2", "#009E73", "#D55E00")
#: design -> how the legend calls it
TITLES = {
    "assisted": "assisted (default)",
    "adaptive": "adaptive (the paper's)",
    "passive": "passive (random labels)",
}


def save_picture(
    runs: Sequence[tuple[str, Sequence[Estimate]]],
    measures: Sequence[str],
    truth: Any,
    path: Path,
) -> None:
    """One panel a measure; where a design has no estimate, the panel says so."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch

    figure, axes = plt.subplots(1, len(measures), figsize=(10.5, 3.8), sharey=True)
    for index, (name, axis) in enumerate(zip(measures, axes, strict=True)):
        for (design, estimates), colour in zip(runs, COLOURS, strict=True):
            _course(axis, design, estimates, index, colour, filled=design == runs[0][0])
        axis.axhline(truth[index], color="black", ls="--", lw=1, label="truth")
        axis.set(title=name, xlabel="labels", ylim=(0, 1))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("estimate")
    lines = [line for line in axes[0].get_lines() if not line.get_label().startswith("_")]
    band = Patch(facecolor="0.75", edgecolor="0.4", ls=":", label="95% interval (shade, dots)")
    figure.legend(handles=[*lines, band], loc="lower center", ncols=5, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _course(
    axis: Any,
    design: str,
    estimates: Sequence[Estimate],
    index: int,
    colour: str,
    *,
    filled: bool,
) -> None:
    n_labels = [estimate.n_labels for estimate in estimates]
    ends = np.array([estimate.intervals[index] for estimate in estimates])
    values = np.array([estimate.values[index] for estimate in estimates])
    title = TITLES.get(design, design)
    axis.plot(n_labels, values, color=colour, lw=2, label=title)
    if not np.isfinite(values).any():
        text = f"{title.split(' ')[0]}: no positive found"
        axis.text(0.97, 0.05, text, color=colour, ha="right", transform=axis.transAxes, size=9)
    elif filled:
        axis.fill_between(n_labels, *ends.T, color=colour, alpha=0.2, lw=0)
    else:  # bands on top of each other are hard to tell apart
        axis.plot(n_labels, ends, color=colour, lw=1.2, ls=":")
