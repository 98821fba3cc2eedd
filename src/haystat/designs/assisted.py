"""Model-assisted sampling without replacement: haystat's own design.

Every item is labelled at most once, and has a permanent random number u, uniform on (0, 1). A
stage gives the items of each cell a size and takes the unlabelled items with the smallest u / size:
sequential Poisson sampling. An item is labelled once u falls below size times the threshold, so
with a known probability P_k in cell k, its inclusion, which only grows. Only the order of the items
inside a cell is needed to take them; their u are drawn as order statistics, cell by cell. What a
model of the labels expects of all items, corrected by the labels weighted with 1 / P_k, is the
estimate (estimation/assisted.py).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from haystat.designs.base import Batch, Choice, Design, Problem, Sheet, count_labels
from haystat.designs.order import predicted_low, ranks
from haystat.designs.stratified import once_each
from haystat.errors import BadOption
from haystat.measures.outputs import FloatArray, IntArray
from haystat.response.dirichlet_tree import DirichletTree
from haystat.response.rank_spline import RankSpline
from haystat.response.shares import Shares, SplineShares, TreeShares

STEPS = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)
ALL_BITS = (1 << 64) - 1
MIXES = tuple(
    (np.uint64(shift), np.uint64(factor))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
)
FIRST_ITERATIONS = 1000  # of the tree's EM, before the first label
ORDERED = 0.9  # rank correlation of strata and prior from which strata follow the score


@dataclass(frozen=True)
class AssistedState:
    """What the labels taught, how many there are per cell and class (K, C), the key of all u."""

    shares: Shares
    labelled: IntArray
    key: int


@dataclass(frozen=True)
class Assisted(Design):
    """Sequential Poisson sampling, sizes from a model of the labels that is refitted every stage.

    slope, slope_sd, bend_sd: prior of the trend, as in response/rank_spline.py.
    rare: shares of a class below this, among items predicted otherwise, attract labels in
        proportion to the share rather than to its square root.
    uniform: share of the labels spread evenly, from the first to the second value as the labels
        reach `dense` of the items; `by_cell` of them evenly over the cells, the others over the
        items. So small cells are looked into as well, whatever the model thinks of them.
    cap: how much of its class's F1 one label may move, where it goes against the prediction.
    """

    slope: float = 1.5
    slope_sd: float = 0.4
    bend_sd: float = 0.8
    rare: float = 0.003
    uniform: tuple[float, float] = (0.1, 0.3)
    by_cell: float = 0.8
    dense: float = 0.2
    cap: float = 0.01
    name = "assisted"
    estimator = "assisted"

    def __post_init__(self) -> None:
        if not isinstance(self.uniform, tuple | list) or len(self.uniform) != 2:
            raise BadOption(f"uniform is {self.uniform!r}; give two shares, such as (0.1, 0.3)")
        low, high = self.uniform
        object.__setattr__(self, "uniform", (low, high))  # a list, where it comes from a file
        if not np.isfinite(self.slope):
            raise BadOption(f"slope is {self.slope}; it must be finite")
        if not 0 < low <= high <= 1:
            raise BadOption(f"uniform is {self.uniform}; give two shares, 0 < first <= second <= 1")
        if not 0 <= self.by_cell <= 1:
            raise BadOption(f"by_cell is {self.by_cell}; it must lie between 0 and 1")
        for name in ("slope_sd", "bend_sd", "rare", "dense", "cap"):
            if not getattr(self, name) > 0:
                raise BadOption(f"{name} is {getattr(self, name)}; it must be positive")

    def start(self, problem: Problem, rng: np.random.Generator) -> AssistedState:
        if problem.numeric or problem.oracle == "stochastic":
            what = "labels that are numbers" if problem.numeric else "a stochastic oracle"
            raise BadOption(f"design 'assisted' does not know {what}; use design='adaptive'")
        labelled = np.zeros((len(problem.cells), problem.n_classes), dtype=np.int64)
        return AssistedState(self._model(problem), labelled, int(rng.integers(2**63)))

    def observe(self, problem: Problem, state: AssistedState, batch: Batch) -> AssistedState:
        labelled = count_labels(state.labelled, batch)
        cell, label = batch.cell[batch.new], batch.label[batch.new]
        shares = state.shares.observe(labelled, cell, label)
        return replace(state, shares=shares, labelled=labelled)

    def choose(
        self,
        problem: Problem,
        state: AssistedState,
        sheet: Sheet,
        n: int,
        rng: np.random.Generator,
    ) -> Choice:
        sizes, cell_size = self.sizes(problem, state), problem.cells.size
        cell, threshold = take(sizes, cell_size, cell_size - sheet.unasked, n, state.key)
        before = np.zeros_like(sizes) if sheet.inclusion is None else sheet.inclusion
        now = np.minimum(1.0, sizes * threshold) if np.isfinite(threshold) else sizes > 0
        inclusion = np.maximum(before, now)
        choice = once_each(cell, sheet)
        return replace(choice, new_weight=1 / inclusion[cell], inclusion=inclusion)

    def covers(self, problem: Problem) -> NDArray[np.bool_]:
        reach = problem.losses.support.any(axis=1, keepdims=True)
        return np.broadcast_to(reach, problem.losses.support.shape)

    def sizes(self, problem: Problem, state: AssistedState) -> FloatArray:
        """How much an item of each cell attracts labels, (K,); they add up to 1 over the pool.

        The standard deviation of what the item adds to the measure, as in Neyman's allocation.
        """
        size, share = problem.cells.size, state.shares.share
        n_labelled = state.labelled.sum(axis=1)
        mass = state.labelled + (size - n_labelled)[:, None] * share
        influence = problem.losses.influence(problem.losses.risk(mass / problem.size))
        against = contradicted(problem, share)
        seen = np.where(against, share**2 / (share + self.rare), share)
        weights = problem.measure.component_weights()
        spread = np.sqrt(label_variance(share, seen, influence, weights))
        total = float(spread @ size)
        reach = problem.losses.support.any(axis=1)
        even = self._even(size, np.asarray(reach))
        if not total > 0:
            return even
        low, high = self.uniform
        n_against = max(float(size[against.any(axis=1)].sum()), 1.0)
        fill = min(1.0, float(n_labelled.sum()) / n_against / self.dense)
        evenly = low + (high - low) * fill
        return np.asarray((1 - evenly) * spread / total + evenly * even)

    def _even(self, size: IntArray, reach: NDArray[np.bool_]) -> FloatArray:
        """Sizes of items that are spread evenly over those in reach, (K,)."""
        by_item = 1.0 / max(float(size[reach].sum()), 1.0)
        by_cell = 1.0 / (max(int(reach.sum()), 1) * np.maximum(size, 1))
        return np.where(reach, (1 - self.by_cell) * by_item + self.by_cell * by_cell, 0.0)

    def _model(self, problem: Problem) -> Shares:
        stratum = problem.cells.stratum
        if problem.n_classes == 2 and _follows_score(problem.stratum_prior[:, 1]):
            spline = self._spline(problem)
            return SplineShares(spline, spline.start())
        model = DirichletTree(problem.tree, problem.stratum_prior, problem.stratum_size)
        return TreeShares(model, model.fit(model.start(), FIRST_ITERATIONS), stratum)

    def _spline(self, problem: Problem) -> RankSpline:
        rank, threshold = ranks(problem)
        prior = self.slope, self.slope_sd, self.bend_sd
        return RankSpline.make(rank, predicted_low(problem), threshold, *prior)


def take(
    sizes: FloatArray, cell_size: IntArray, asked: IntArray, n: int, key: int
) -> tuple[IntArray, float]:
    """Cells of the next n items, and the threshold: the smallest u / size that was not taken.

    The threshold is infinite when nothing is left.
    """
    reachable = np.flatnonzero((asked < cell_size) & (sizes > 0))
    log_left = passed(cell_size, np.minimum(asked + 1, cell_size), key)
    first = -np.expm1(log_left[reachable]) / sizes[reachable]
    heap = list(zip(first.tolist(), reachable.tolist(), strict=True))
    heapq.heapify(heap)
    rank = (asked + 1).tolist()

    def push(cell: int) -> None:
        """The next smallest u of the cell."""
        log_left[cell] += _step(key, cell, rank[cell], int(cell_size[cell]))
        rank[cell] += 1
        heapq.heappush(heap, (-np.expm1(log_left[cell]) / sizes[cell], cell))

    taken: list[int] = []
    while heap and len(taken) < n:
        _, cell = heapq.heappop(heap)
        taken.append(cell)
        if rank[cell] < cell_size[cell]:
            push(cell)
    return np.array(taken, dtype=np.int64), heap[0][0] if heap else np.inf


def passed(cell_size: IntArray, asked: IntArray, key: int) -> FloatArray:
    """log(1 - u) of the last item asked about in each cell, 0 where there is none, (K,).

    The smallest of N uniforms leaves 1 - u = V^(1/N), V uniform; the next smallest are the
    smallest of those that remain.
    """
    cell = np.repeat(np.arange(len(asked)), asked)
    rank = np.arange(len(cell)) - np.repeat(np.cumsum(asked) - asked, asked)
    steps = np.log(uniforms(key, cell, rank)) / (cell_size[cell] - rank)
    total = np.bincount(cell, weights=steps, minlength=len(asked))
    return np.asarray(total, dtype=np.float64)


def _step(key: int, cell: int, rank: int, size: int) -> float:
    """What one more item of a cell takes off log(1 - u); numpy would be slow for one number."""
    x = (key + cell * int(STEPS[0]) + rank * int(STEPS[1])) & ALL_BITS
    for shift, factor in MIXES:
        x = (x ^ (x >> int(shift))) * int(factor) & ALL_BITS
    x ^= x >> 31
    return log(((x >> 11) + 0.5) * 2.0**-53) / (size - rank)


def uniforms(key: int, cell: IntArray, rank: IntArray) -> FloatArray:
    """A number in (0, 1) for each cell and rank: the same for the same key (splitmix64)."""
    with np.errstate(over="ignore"):
        x = np.uint64(key) + cell.astype(np.uint64) * STEPS[0] + rank.astype(np.uint64) * STEPS[1]
        for shift, factor in MIXES:
            x = (x ^ (x >> shift)) * factor
        x ^= x >> np.uint64(31)
    return np.asarray(((x >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)


def contradicted(problem: Problem, share: FloatArray) -> NDArray[np.bool_]:
    """Labels that go against what all systems predict, (K, C); none where they disagree."""
    predictions = problem.cells.example.predictions
    agreed = np.all(predictions == predictions[:, :1], axis=1)
    other = np.arange(share.shape[1]) != predictions[:, :1]
    return np.asarray(other & agreed[:, None])


def label_variance(
    share: FloatArray, seen: FloatArray, influence: FloatArray, weights: FloatArray
) -> FloatArray:
    """Variance of what an item adds to the measure when its label is drawn from `share`, (K,).

    sum_c seen_c |j_c - mean j|^2 with j (K, C, m) the influence of each label, mean by `share`.
    """
    deviation = influence - np.einsum("kc,kcm->km", share, influence)[:, None]
    return np.asarray(np.einsum("kc,kcm,m->k", seen, deviation**2, weights))


def _follows_score(prior: FloatArray) -> bool:
    """Whether strata are numbered by the score: their prior shares of positives ascend."""
    if len(prior) < 3:
        return True
    if np.ptp(prior) == 0:
        return False
    result: Any = spearmanr(np.arange(len(prior)), prior)
    return bool(result.statistic >= ORDERED)
