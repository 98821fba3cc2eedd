"""What signals were worth, and whether one of them is the label itself."""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadSignal
from haystat.pool.problem import Problem
from haystat.pool.signals import CellSignals

ENOUGH = 100  # labels without an exception, from which a signal is taken for the label
OF_EACH = 5  # of which there are as many in both classes


def labels_saved(problem: Problem, share: FloatArray, n_labels: int) -> dict[str, float]:
    """Labels that each coordinate of the signals saved, {name: labels}, by model shares (K, C).

    With labels spread by Neyman's rule the squared error is (sum of N_k s_k)^2 / n, s_k being the
    standard deviation of what an item of cell k adds to the measure. Without a signal the cells
    that it alone tells apart are one, and n grows by the ratio of the two sums, squared. Weights
    are left out: nobody gave them as signals.
    """
    cells, signals = problem.cells, problem.cells.signals
    if signals is None:
        return {}
    size = cells.size.astype(np.float64)
    influence = problem.losses.influence(problem.losses.risk(size[:, None] * share / problem.size))
    weights = problem.measure.component_weights()
    code = problem.measure.grouping(cells.example)
    own = np.column_stack([cells.stratum, np.zeros(len(size)) if code is None else code])

    def spread(whole: IntArray) -> float:
        """Sum of N s if cells of the same number in whole (K,) are one."""
        n = np.bincount(whole, size)[whole]
        mean = [(np.bincount(whole, size * column)[whole] / n) for column in share.T]
        return float(size @ _deviation(np.stack(mean, axis=1), influence, weights))

    with_all = spread(np.arange(len(size)))
    saved = {}
    for j, name in enumerate(signals.given):
        others = np.column_stack([own, np.delete(signals.band, j, axis=1)])
        whole = np.unique(others, axis=0, return_inverse=True)[1].reshape(-1)
        ratio = spread(whole) / with_all if with_all > 0 else 1.0
        saved[name] = n_labels * max(ratio**2 - 1, 0.0)
    return saved


def _deviation(share: FloatArray, influence: FloatArray, weights: FloatArray) -> FloatArray:
    """Standard deviation of what an item adds to the measure if its label follows share (K, C)."""
    from_mean = influence - np.einsum("kc,kcm->km", share, influence)[:, None]
    return np.asarray(np.sqrt(np.einsum("kc,kcm,m->k", share, from_mean**2, weights)))


def refuse_labels(signals: CellSignals | None, labelled: IntArray) -> None:
    """Raise if a signal with two values has agreed with all of labelled (K, 2), beyond ENOUGH."""
    if signals is None or labelled.sum() <= ENOUGH or labelled.sum(axis=0).min() < OF_EACH:
        return
    for j, name in enumerate(signals.coordinates):
        band = signals.band[:, j]
        high, low = labelled[band == 1].sum(axis=0), labelled[band == 2].sum(axis=0)
        told = int(high.sum() + low.sum())
        if signals.two_valued[j] and told > ENOUGH and high[0] == 0 and low[1] == 0:
            raise BadSignal(
                f"signal {name!r} agrees with all {told} labels of items that have it: it seems to "
                "be the label itself. An evaluation by it would only confirm it; leave it out, or "
                "if its labels are right, give them as labels"
            )
