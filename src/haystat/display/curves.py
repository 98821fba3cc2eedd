"""CurveDisplay: a precision-recall or ROC curve with its band, as scikit-learn's displays are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.display.plots import BLUE, axes
from haystat.display.render import environment
from haystat.errors import BadOption

#: names of what a curve holds, first and second half of its components -> x and y of the picture
SIDES = {
    ("precision", "recall"): ("recall", "precision"),
    ("false positive rate", "recall"): ("false positive rate", "recall"),
}


@dataclass
class CurveDisplay:
    """A curve over thresholds: x and y (L,), the ends of the band of y (L, 2).

    After `plot`, ax_, figure_, line_ and band_ are what was drawn, as in scikit-learn.

    >>> import numpy as np, haystat as hs
    >>> pool = hs.Pool(np.linspace(0, 1, 200))
    >>> ev = hs.Evaluation(pool, "pr_curve", random_state=0)
    >>> estimate = ev.run(lambda items: [int(i >= 120) for i in items], budget=100)
    >>> curve = hs.CurveDisplay.from_estimate(estimate)
    >>> curve.x_name, curve.y_name
    ('recall', 'precision')
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    band: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    x_name: str
    y_name: str
    level: float
    operating: float | None = None
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)
    line_: Any = field(default=None, init=False, repr=False)
    band_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimate(
        cls, estimate: Any, *, simultaneous: bool = False, operating: float | None = None
    ) -> CurveDisplay:
        """The curve of an estimate of pr_curve or roc_curve.

        simultaneous: the band holds the whole curve at once rather than point by point.
        operating: a threshold to mark, such as the one in use.
        """
        names = estimate.curve_names
        if names is None:
            raise BadOption(
                f"{estimate.measure} is no curve; estimate 'pr_curve' or 'roc_curve' first"
            )
        n = len(estimate.thresholds)
        first, second = estimate.values[:n], estimate.values[n:]
        ends = estimate.band() if simultaneous else estimate.intervals
        x_name, y_name = SIDES[names]
        swapped = names[0] == y_name
        x, y = (second, first) if swapped else (first, second)
        band = ends[:n] if swapped else ends[n:]
        return cls(x, y, band, estimate.thresholds, x_name, y_name, estimate.level, operating)

    @classmethod
    def from_evaluation(
        cls, evaluation: Any, measure: str = "pr_curve", level: float = 0.95, **options: Any
    ) -> CurveDisplay:
        """The curve that the labels of an evaluation or study support; marks the cut in use."""
        cut = next((one.threshold for one in evaluation.in_use), None)
        return cls.from_estimate(
            evaluation.estimate(measure, level), **{"operating": cut, **options}
        )

    def svg(self) -> str:
        """The curve as a small picture for a page."""
        known = np.isfinite(self.x) & np.isfinite(self.y) & np.isfinite(self.band).all(axis=1)
        at = 34 + self.x[known] * 220
        line, low, high = (
            [f"{x:.1f},{6 + (1 - y) * 220:.1f}" for x, y in zip(at, column[known], strict=True)]
            for column in (self.y, *self.band.T)
        )
        paths = {"line": " ".join(line), "band": " ".join(high + low[::-1])}
        template = environment("haystat.display").get_template("curve.svg")
        return str(template.render(x_name=self.x_name, y_name=self.y_name, **paths))

    def table(self, n: int = 7) -> list[tuple[str, str, str]]:
        """Threshold, x and y with the ends of its band, at n thresholds evenly spread along x."""
        known = np.flatnonzero(np.isfinite(self.x) & np.isfinite(self.y))
        if not len(known):
            return []
        wanted = np.linspace(self.x[known].min(), self.x[known].max(), n)
        near = {int(known[np.argmin(np.abs(self.x[known] - w))]) for w in wanted}
        return [
            (
                f"{self.thresholds[i]:.4g}",
                f"{self.x[i]:.3f}",
                f"{self.y[i]:.3f} [{self.band[i, 0]:.3f}, {self.band[i, 1]:.3f}]",
            )
            for i in sorted(near)
        ]

    def plot(self, ax: Any = None, *, name: str | None = None, color: str = BLUE) -> CurveDisplay:
        """Draw the curve, its band and the operating point; returns itself."""
        self.ax_ = axes(ax, (5.2, 4.6))
        self.figure_ = self.ax_.figure
        known = np.isfinite(self.x) & np.isfinite(self.y)
        x, y, (low, high) = self.x[known], self.y[known], self.band[known].T
        self.band_ = self.ax_.fill_between(x, low, high, color=color, alpha=0.2, lw=0)
        self.band_.set_label(f"{self.level:.0%} band")
        (self.line_,) = self.ax_.plot(x, y, color=color, label=name or "estimate")
        if self.operating is not None and known.any():
            at = int(np.argmin(np.abs(self.thresholds[known] - self.operating)))
            label = f"threshold {self.operating:.4g}"
            self.ax_.plot(x[at], y[at], "o", color=color, mec="black", ms=8, label=label)
        self.ax_.set(xlabel=self.x_name, ylabel=self.y_name, xlim=(0, 1.01), ylim=(0, 1.01))
        self.ax_.legend(frameon=False, loc="best")
        return self
