"""The sweep: a judge has read the tail, and what it does not flag is clean but for a few.

That the judge sees hidden positives about as well as known ones is an assumption. It is tested on
the positives that were found without the judge: those that the systems predict positive. If their
kinds are flagged alike, and nothing was found where the judge leaves next to nothing, the estimate
rests on it; else it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import bdtr

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.inference.estimate import Estimate
from haystat.inference.sample import Sample
from haystat.measures.outputs import Outputs
from haystat.models.label_view import LabelView
from haystat.models.sweep import flat_view, shares_seen, swept_view
from haystat.pool.base import View

FEWEST = 10  # known positives, from which the assumption can be tested
LARGEST = 0.1  # share of the items predicted negative that a judge flags, of a sweep
USELESS = 0.5  # share of known positives below which a signal is no judge
WEAK = 0.8  # the same, of which a judge that passes sees more
RARELY = 0.2  # probability that such a judge sees as few as it does, below which it is a poor one
OF_A_KIND = 5  # known positives of a kind, and of the others, that are compared
MOST_KINDS = 20  # values of a column that are kinds; of more, the halves are
DOUBT = 0.01  # probability of a difference by chance, over all kinds, below which it is none
UNLIKELY = 0.05  # probability of what was found among the items that are not flagged
SURE = 0.95  # of the bound on what is still hidden
ECHO = 0.05  # chance that negatives in sight are flagged as seldom, above which a judge echoes
MOST_SAID = 3  # components whose interval is said in words


@dataclass(frozen=True)
class Sweep:
    """What a judge that has read the tail says about the positives that are still hidden.

    judge: the signals that are verdicts. n_known: known positives, found without the judge;
    n_flagged: how many of them it flags. hidden: positives without a label among the items that
    are predicted negative, at most, with a probability of 95% if the judge sees them as well.
    doubt: why it may not; nothing where the known positives give no reason. other: the estimate
    that does not rest on the judge, or if there is a doubt, the one that would.
    """

    judge: str
    n_known: int
    n_flagged: int
    hidden: int
    doubt: str
    other: Estimate

    @property
    def holds(self) -> bool:
        """Whether the estimate rests on the judge."""
        return not self.doubt

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it, with the other estimate's intervals."""
        names = ("judge", "n_known", "n_flagged", "hidden", "holds", "doubt")
        ends = self.other.intervals.tolist()
        return {name: getattr(self, name) for name in names} | {"other_intervals": ends}

    def sentences(self) -> str:
        """What is assumed and what it would be otherwise, or why it is not assumed."""
        if self.doubt:
            return (
                f"{self.doubt}, and may overlook hidden ones too. The interval does not rest on "
                "it; label more of what it does not flag, or ask another judge."
            )
        rows = zip(self.other.components, self.other.intervals, strict=True)
        ends = [f"{name} {low:.4g} to {high:.4g}" for name, (low, high) in rows]
        return (
            f"The interval assumes that {self.judge} sees hidden positives about as well as known "
            f"ones, of which it flags {self.n_flagged} of {self.n_known}: then it leaves at most "
            f"{self.hidden}. If you doubt that, use the interval that does not assume it: "
            f"{', '.join(ends[:MOST_SAID])}."
        )


@dataclass(frozen=True)
class JudgedTail:
    """A judge that has read the tail, what it was tested on, and views with and without it."""

    judge: str
    n_known: float
    n_flagged: float
    doubt: str
    swept: LabelView
    unswept: LabelView

    def estimate(self, swept: Estimate, unswept: Estimate, hidden: int) -> Estimate:
        """The estimate that counts, which knows of the other one."""
        counts, other = (unswept, swept) if self.doubt else (swept, unswept)
        counted = round(self.n_known), round(self.n_flagged)
        sweep = Sweep(self.judge, *counted, hidden, self.doubt, other)
        said = (*counts.warnings, sweep.sentences())
        return replace(counts, details={**counts.details, "sweep": sweep}, warnings=said)


def judged_tail(pool: View, sample: Sample) -> JudgedTail | None:
    """What the verdicts among the signals say about the tail.

    None without any, or if they flag too much or too little to tell.
    """
    verdicts = Verdicts.of(sample)
    if verdicts is None:
        return None
    known = known_positives(pool, sample, verdicts)
    n, flagged = known.counts(np.ones(len(known.flagged), dtype=bool))
    if n < FEWEST or flagged < USELESS * n:
        return None
    view = sample.state.view
    first = view.regions.first
    of_regions = verdicts.flagged[first], verdicts.read[first]
    swept = swept_view(view, *of_regions, shares_seen(n, flagged))
    doubt = doubt_about(pool, sample, verdicts, known)
    # A judge that is in doubt is a signal like others; else the other view knows nothing of it.
    return JudgedTail(verdicts.name, n, flagged, doubt, swept, view if doubt else flat_view(view))


@dataclass(frozen=True)
class Verdicts:
    """What judges say about cells: flagged and read (K,); name says which signals they are."""

    name: str
    flagged: BoolArray
    read: BoolArray

    @classmethod
    def of(cls, sample: Sample) -> Verdicts | None:
        """Of the signals that are verdicts; None if there are none, or they flag too much."""
        cells, view = sample.problem.cells, sample.state.view
        if cells.signals is None:
            return None
        of_judges = np.flatnonzero(cells.signals.two_valued)
        band = cells.signals.band[:, of_judges]
        flagged, read = np.any(band == 1, axis=1), np.any(band > 0, axis=1)
        low = view.model.curve.low[view.regions.of_cell]
        n_low, n_flagged = (float(cells.size[low & part].sum()) for part in (read, flagged))
        if not 0 < n_flagged <= LARGEST * n_low:
            return None
        name = " or ".join(cells.signals.coordinates[j] for j in of_judges)
        return cls(name, flagged, read)


@dataclass(frozen=True)
class KnownPositives:
    """Positives found without the judge: outputs and flagged (n,), weight 1 / inclusion (n,)."""

    outputs: Outputs
    bands: IntArray
    flagged: BoolArray
    weight: FloatArray

    def counts(self, part: BoolArray) -> tuple[float, float]:
        """Effective numbers (Kish) of those in a part, and of the flagged ones among them."""
        weight = self.weight[part]
        if not len(weight):
            return 0.0, 0.0
        n = weight.sum() ** 2 / np.sum(weight**2)
        return float(n), float(n * weight[self.flagged[part]].sum() / weight.sum())

    def kinds(self, names: tuple[str, ...]) -> Iterator[tuple[str, BoolArray]]:
        """Ways to tell them apart: in words, and which of them are of that kind."""
        halves: dict[str, Any] = {"score": self.outputs.scores.mean(axis=1)}
        for name, values in self.outputs.columns.items():
            texts = values.astype(str)
            found = np.unique(texts)
            if len(found) <= MOST_KINDS:
                yield from ((f"with {name} = {value}", texts == value) for value in found)
            elif values.dtype.kind in "biuf":
                halves[name] = values
        halves |= dict(zip(names, -self.bands.T, strict=True))  # bands are counted from the top
        for name, values in halves.items():
            yield f"with a lower {name}", values < np.median(values)
            yield f"with a higher {name}", values > np.median(values)


def known_positives(pool: View, sample: Sample, verdicts: Verdicts) -> KnownPositives:
    """Labelled positives that a system predicts positive, and that the judge has read."""
    cells, view = sample.problem.cells, sample.state.view
    assert cells.signals is not None
    item, label = sample.told()
    cell = cells.of_item[item].astype(np.int64)
    in_sight = ~view.model.curve.low[view.regions.of_cell]
    chosen = (label == 1) & in_sight[cell] & verdicts.read[cell]
    item, cell = item[chosen], cell[chosen]
    others = [j for j, two in enumerate(cells.signals.two_valued) if not two]
    weight = 1 / np.maximum(_inclusion(sample)[cell], np.finfo(float).tiny)
    bands = cells.signals.band[cell][:, others]
    return KnownPositives(pool.outputs(item), bands, verdicts.flagged[cell], weight)


def _inclusion(sample: Sample) -> FloatArray:
    """Probability that an item of each cell was drawn by now, (K,); 1 before the first stage."""
    stages = sample.finished()
    found = stages[-1][0].inclusion if stages else None
    return np.ones(len(sample.problem.cells)) if found is None else np.asarray(found)


def _wrong_predictions(pool: View, sample: Sample, verdicts: Verdicts) -> tuple[int, int]:
    """Labelled negatives that all systems predict positive and the judge has read, and flags."""
    cells, view = sample.problem.cells, sample.state.view
    item, label = sample.told()
    cell = cells.of_item[item].astype(np.int64)
    high = view.model.curve.high[view.regions.of_cell]
    wrong = cell[(label == 0) & high[cell] & verdicts.read[cell]]
    return len(wrong), int(verdicts.flagged[wrong].sum())


def doubt_about(pool: View, sample: Sample, verdicts: Verdicts, known: KnownPositives) -> str:
    """Why hidden positives may be overlooked more than known ones, as the beginning of a sentence.

    Nothing if the known positives give no reason.
    """
    everyone = np.ones(len(known.flagged), dtype=bool)
    n, flagged = known.counts(everyone)
    signals = sample.problem.cells.signals
    assert signals is not None
    names = [c for c, two in zip(signals.coordinates, signals.two_valued, strict=True) if not two]
    words = f"{verdicts.name} flags"
    compared = [
        (kind, known.counts(part), known.counts(~part))
        for kind, part in known.kinds(tuple(names))
        if min(part.sum(), (~part).sum()) >= OF_A_KIND
    ]
    for kind, inside, outside in compared:
        if _by_chance(inside, outside) < DOUBT / len(compared):
            parts = [f"{k:.0f} of {m:.0f}" for m, k in (inside, outside)]
            return f"{words} {parts[0]} known positives {kind} and {parts[1]} others"
    if bdtr(round(flagged), round(n), WEAK) < RARELY:
        return f"{words} only {flagged:.0f} of {n:.0f} known positives"
    n_wrong, wrongly = _wrong_predictions(pool, sample, verdicts)
    if n_wrong >= OF_A_KIND and _by_chance((n_wrong, wrongly), (n, flagged)) > ECHO:
        return (
            f"{words} {wrongly} of {n_wrong} known negatives that are predicted positive, hardly "
            f"fewer than known positives: it says what the score says"
        )
    if _found_unflagged(sample, verdicts) < UNLIKELY:
        return f"{words} {flagged:.0f} of {n:.0f} known positives, but not all that labels found"
    return ""


def _by_chance(inside: tuple[float, float], outside: tuple[float, float]) -> float:
    """Fisher's exact test that of two parts, (n, flagged) each, the first is flagged as often."""
    from scipy.stats import fisher_exact  # takes half a second to import

    rows = [[round(k), round(n) - round(k)] for n, k in (inside, outside)]
    return float(fisher_exact(rows, alternative="less")[1])


def _found_unflagged(sample: Sample, verdicts: Verdicts) -> float:
    """Probability that labels find a positive where they did, if the judge sees as well there.

    Of the positives predicted negative the judge would leave as many unflagged as it flags, times
    (1 - r) / r. One that was drawn with probability p is then found with p times as many.
    """
    view, labelled = sample.state.view, sample.state.labelled
    low = view.model.curve.low[view.regions.of_cell] & verdicts.read
    found = labelled[:, 1] * low
    inclusion = _inclusion(sample)
    unflagged = found * ~verdicts.flagged > 0
    if not unflagged.any():
        return 1.0
    left = (1 - WEAK) / WEAK  # for each that is flagged, by the poorest judge that passes
    n_flagged = float(np.sum(found * verdicts.flagged / np.maximum(inclusion, 1e-12))) + 1
    return float(1 - np.exp(-n_flagged * left * inclusion[unflagged].min()))
