"""The default design: sampling without replacement, aimed by a model of the labels.

Every item is labelled at most once. A stage gives each cell a size, the standard deviation of what
one of its items adds to the measure by the model (Neyman's allocation), and draws so that the
probability of having been drawn approaches a multiple of that size (designs/clocks.py). Estimates
are made by the model, from draws of its posterior (inference/posterior.py); that draws are made
with known rates, always positive where a loss can be, is what the guaranteed interval rests on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.designs.base import Batch, Choice, Design, Sheet, count_labels
from haystat.designs.clocks import Start, stage_rates, take
from haystat.designs.stratified import once_each
from haystat.designs.take_all import at_most_once
from haystat.errors import BadOption
from haystat.inference.assisted import assisted_from
from haystat.inference.estimate import Estimate
from haystat.inference.sample import Sample
from haystat.inference.signals import refuse_labels
from haystat.measures.base import Measure
from haystat.models.flat import share_to_ask_by
from haystat.models.known_view import view_of
from haystat.models.label_view import LabelView
from haystat.models.posterior import QUICK, QUICK_MIXTURE, mean_root
from haystat.models.settings import ModelSettings
from haystat.models.threads import one_thread
from haystat.pool.base import View
from haystat.pool.problem import Problem

FAR = 0.05  # of the labels go to items that are told to be far from positive, to see that they are
REFIT = 1.2  # times as many labels make it worth while to fit anew, with signals or weights
METHOD = 7  # counted up whenever the same labels would lead to other draws or estimates


@dataclass(frozen=True)
class AssistedState:
    """The problem as the model sees it, labels per cell and class (K, C), the key of all clocks.

    share (K, C) is the model's, for the sizes; modes (G, p) are where its next fit starts. plain is
    the same without given signals, where there are some. n_fitted: labels of the last fit.
    """

    view: LabelView
    labelled: IntArray
    key: int
    share: FloatArray
    modes: FloatArray
    plain: AssistedState | None = None
    n_fitted: int = 0


@dataclass(frozen=True)
class Assisted(ModelSettings, Design):
    """Successive sampling, sizes from a model of the labels that is refitted after every stage.

    method: the version of the method; a log is replayed by the version it was made with.
    rare: shares of labels that go against all predictions attract labels in proportion to the share
        rather than to its square root, where they are below this.
    uniform: share of the labels spread evenly, from the first to the second value as the labels
        reach `dense` of the items; `by_region` of them evenly over the regions, the others over
        the items. So small regions are looked into as well, whatever the model thinks of them.
    least: of the rate that a cell would have if nothing had been drawn before; always kept, so that
        every stage can speak about every cell.
    unaided: share of the labels that is spread as if there were no signals, where there are some.
    """

    method: int = METHOD
    rare: float = 0.003
    uniform: tuple[float, float] = (0.35, 0.4)
    by_region: float = 0.5
    dense: float = 0.2
    least: float = 0.02
    unaided: float = 0.25
    name = "assisted"
    by_model = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method != METHOD:
            raise BadOption(
                f"method {self.method} of design 'assisted' is not known to this version, which "
                f"knows method {METHOD}; use the version of haystat that wrote it"
            )
        if not isinstance(self.uniform, tuple | list) or len(self.uniform) != 2:
            raise BadOption(f"uniform is {self.uniform!r}; give two shares, such as (0.35, 0.4)")
        low, high = self.uniform
        object.__setattr__(self, "uniform", (low, high))  # a list, where it comes from a file
        if not 0 < low <= high <= 1:
            raise BadOption(f"uniform is {self.uniform}; give two shares, 0 < first <= second <= 1")
        if not 0 <= self.by_region <= 1:
            raise BadOption(f"by_region is {self.by_region}; it must lie between 0 and 1")
        if not 0 <= self.unaided <= 1:
            raise BadOption(f"unaided is {self.unaided}; it must lie between 0 and 1")
        for name in ("rare", "dense", "least"):
            if not 0 < getattr(self, name) < np.inf:
                raise BadOption(f"{name} is {getattr(self, name)}; it must be positive")

    def start(self, problem: Problem, rng: np.random.Generator) -> AssistedState:
        if problem.numeric or problem.oracle == "stochastic":
            what = "labels that are numbers" if problem.numeric else "a stochastic oracle"
            raise BadOption(f"design 'assisted' does not know {what}; use design='adaptive'")
        labelled = np.zeros((len(problem.cells), problem.n_classes), dtype=np.int64)
        view, key = view_of(problem, self), int(rng.integers(2**63))
        plain = None
        if view.plain is not None and self.unaided > 0:
            plain = _unfitted(view.plain, labelled, key)
        return self.fitted(problem, replace(_unfitted(view, labelled, key), plain=plain))

    def observe(self, problem: Problem, state: AssistedState, batch: Batch) -> AssistedState:
        labelled = count_labels(state.labelled, batch)
        with_signals = state.view.model.curve.hints is not None
        if with_signals and labelled.sum() < REFIT * state.n_fitted:
            plain = None if state.plain is None else replace(state.plain, labelled=labelled)
            return replace(state, labelled=labelled, plain=plain)
        return self.fitted(problem, replace(state, labelled=labelled))

    def choose(
        self,
        problem: Problem,
        state: AssistedState,
        sheet: Sheet,
        n: int,
        rng: np.random.Generator,
    ) -> Choice:
        refuse_labels(problem.cells.signals, state.labelled)
        size, unasked = problem.cells.size, sheet.unasked
        before, start = self._before(problem)
        drawn = before if sheet.inclusion is None else sheet.inclusion
        rates = stage_rates(self.sizes(problem, state), drawn, unasked, n, self.least)
        cell, inclusion = take(rates, drawn, size, size - unasked, n, state.key, start)
        choice = once_each(cell, sheet)
        return replace(choice, new_weight=1 / inclusion[cell], inclusion=inclusion)

    def estimate(
        self, pool: View, sample: Sample, measure: Measure, level: float, **options: str
    ) -> Estimate:
        return assisted_from(pool, sample, measure, level)

    def first_rates(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        return self.sizes(problem, self.start(problem, rng))

    def covers(self, problem: Problem) -> NDArray[np.bool_]:
        reach = problem.losses.support.any(axis=1, keepdims=True)
        return np.broadcast_to(reach, problem.losses.support.shape)

    def sizes(self, problem: Problem, state: AssistedState) -> FloatArray:
        """How much an item of each cell attracts labels, (K,); they add up to 1 over the pool.

        With signals they are a defensive mixture: what the score alone would label is labelled at
        `unaided` of the rate at least, however sure the signals are.
        """
        sizes = self._sizes(problem, state)
        if state.plain is None:
            return sizes
        plain = self._sizes(problem, state.plain)
        return np.asarray((1 - self.unaided) * sizes + self.unaided * plain)

    def _sizes(self, problem: Problem, state: AssistedState) -> FloatArray:
        """Sizes (K,) by one view of the problem."""
        size, share = problem.cells.size, state.share
        n_labelled = state.labelled.sum(axis=1)
        mass = state.labelled + (size - n_labelled)[:, None] * share
        size, n_labelled = size * problem.open, n_labelled * problem.open
        influence = problem.losses.aimed(problem.losses.risk(mass / problem.size))
        against = contradicted(problem)
        seen = np.where(against, share**2 / (share + self.rare), share)
        weights = problem.measure.component_weights()
        spread = np.sqrt(label_variance(share, seen, influence, weights))
        n_told, n_against = n_labelled.sum(), size[against.any(axis=1)].sum()
        low, high = self.uniform
        fill = min(1.0, float(n_told) / max(float(n_against), 1.0) / self.dense)
        evenly = max(low + (high - low) * fill, problem.measure.evenly)
        if n_told > 0 and state.view.plain is not None:
            # Else cells that have no items left would hold what could go where signals point.
            spread = at_most_once(spread, size, (1 - evenly) * float(n_told))
        total = float(spread @ size)
        even = self._even(size, np.asarray(problem.losses.support.any(axis=1)), state.view.parts)
        if not total > 0:
            return even
        sizes = np.asarray((1 - evenly) * spread / total + evenly * even)
        return sizes if problem.cells.far is None else seldom_far(sizes, size, problem.cells.far)

    def fitted(self, problem: Problem, state: AssistedState) -> AssistedState:
        """The state with the model's shares after its labels."""
        n, events = state.view.events(state.labelled)
        model = state.view.model
        with one_thread():
            alone = sees_labels_alone(problem)
            mixture = model.fitted(n, events, state.modes, QUICK_MIXTURE if alone else QUICK)
            share = mean_root(model, mixture, n, events)
            if alone:
                share = share_to_ask_by(model, mixture, share, n, events)
            share = state.view.shares(share, state.labelled)
        plain = state.plain
        if plain is not None:
            plain = self.fitted(problem, replace(plain, labelled=state.labelled))
        modes, n_fitted = mixture.fits.mode, int(state.labelled.sum())
        return replace(state, share=share, modes=modes, plain=plain, n_fitted=n_fitted)

    def _before(self, problem: Problem) -> tuple[FloatArray, Start | None]:
        """Inclusion (K,) before the first stage, and where the clocks stand then."""
        return np.zeros(len(problem.cells)), None

    def _even(
        self, size: IntArray, reach: NDArray[np.bool_], parts: tuple[IntArray, ...]
    ) -> FloatArray:
        """Sizes of items that are spread evenly over those in reach, (K,).

        For every `by_region` over the parts of a numbering there is the rest over the items, once.
        """
        reached = size * reach
        even = np.full(len(size), (1 - self.by_region) / max(float(reached.sum()), 1.0))
        for of_cell in parts:
            within = np.bincount(of_cell, weights=reached)
            by_part = 1.0 / (max(int(np.sum(within > 0)), 1) * np.maximum(within, 1.0))
            even += self.by_region * by_part[of_cell]
        total = 1 - self.by_region + self.by_region * len(parts)
        return np.where(reach, even / total, 0.0)


def _unfitted(view: LabelView, labelled: IntArray, key: int) -> AssistedState:
    """A state of which the model has seen nothing yet."""
    return AssistedState(view, labelled, key, np.zeros((0, 0)), view.model.curve.mean[None])


def seldom_far(sizes: FloatArray, n: IntArray, far: BoolArray) -> FloatArray:
    """Sizes (K,) of the items of cells of n (K,), of which the far ones get a share of FAR.

    Far items are so many that no affordable number of labels could exclude positives among them.
    """
    total = sizes * n
    of_far, of_near = float(total[far].sum()), float(total[~far].sum())
    if of_far == 0 or of_near == 0:
        return sizes
    return np.asarray(np.where(far, FAR / of_far, (1 - FAR) / of_near) * sizes)


def sees_labels_alone(problem: Problem) -> bool:
    """Whether what a label adds to the measure is the same for all items, as for prevalence.

    Then the score is not what is evaluated but a help, which may be worth nothing.
    """
    loss = problem.losses.mean
    return problem.n_classes == 2 and bool(np.all(loss == loss[:1]))


def contradicted(problem: Problem) -> NDArray[np.bool_]:
    """Labels that go against what all systems predict, (K, C); none where they disagree."""
    predictions = problem.cells.example.predictions
    agreed = np.all(predictions == predictions[:, :1], axis=1)
    other = np.arange(problem.n_classes) != predictions[:, :1]
    return np.asarray(other & agreed[:, None])


def label_variance(
    share: FloatArray, seen: FloatArray, influence: FloatArray, weights: FloatArray
) -> FloatArray:
    """Variance of what an item adds to the measure when its label is drawn from `share`, (K,).

    sum_c seen_c |j_c - mean j|^2 with j (K, C, m) the influence of each label, mean by `share`.
    """
    deviation = influence - np.einsum("kc,kcm->km", share, influence)[:, None]
    return np.asarray(np.einsum("kc,kcm,m->k", seen, deviation**2, weights))
