"""The problem as the model sees it where some labels were known beforehand.

Labels of a census count one by one, like labels that were asked for, where the census has all items
that are predicted alike in a stratum. Where it does not, as that of a sub-population, its items may
be unlike the others of the same score, and count as found. Labels of a sample with unequal
inclusion probabilities count by Hájek's estimate of the share of events in their region, with the
effective number of labels (sum w)^2 / sum w^2, w = 1 / inclusion (Kish). Labels that were found say
nothing about other items: theirs are not part of what the model describes, neither as labels nor as
items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.models.label_view import LabelView, label_view
from haystat.models.regions import Regions
from haystat.models.settings import ModelSettings
from haystat.pool.known import KINDS, KnownCells
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class KnownView(LabelView):
    """counted (K,): cells whose labels count one by one; sample_… (R,): what samples add."""

    counted: BoolArray
    sample_n: FloatArray
    sample_events: FloatArray

    def events(self, labelled: IntArray) -> tuple[FloatArray, FloatArray]:
        n, events = super().events(labelled * self.counted[:, None])
        return n + self.sample_n, events + self.sample_events

    def without_samples(self) -> KnownView:
        """The same, as if there had been no sample."""
        plain = self.plain.without_samples() if isinstance(self.plain, KnownView) else None
        n, events = 0 * self.sample_n, 0 * self.sample_events
        return replace(self, sample_n=n, sample_events=events, plain=plain)

    def classes_of_events(self, labelled: IntArray) -> FloatArray:
        return super().classes_of_events(labelled * self.counted[:, None])


def view_of(problem: Problem, settings: ModelSettings) -> LabelView:
    """What the model needs to know of a problem, with or without labels from before."""
    known = None if problem.known is None else _taught_by(problem, problem.known)
    if known is None or not (described := known.kind != KINDS["found"]).any():
        return label_view(problem, settings)
    kept = np.flatnonzero(described)
    cells = problem.cells
    inside = replace(
        cells,
        stratum=cells.stratum[kept],
        size=cells.size[kept],
        prior=cells.prior[kept],
        example=cells.example.take(kept),
        known=None,
        signals=None if cells.signals is None else cells.signals.take(kept),
        apart=None if cells.apart is None else cells.apart[kept],
    )
    size = int(inside.size.sum())
    view = label_view(replace(problem, cells=inside, size=size, known=None), settings)
    return _with_known(view, known, kept, _nearest(problem, kept))


def _taught_by(problem: Problem, known: KnownCells) -> KnownCells:
    """Known labels, those of a census as found where items like its own are left without a label.

    Alike are items of one stratum and the same predictions. What is left elsewhere has other
    scores, and the curve along the score is what census and rest have in common.
    """
    cells = problem.cells
    alike = np.column_stack([cells.stratum, cells.example.predictions])
    code = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1)
    left = np.bincount(code, cells.size * (known.kind == 0))[code] > 0
    partial = (known.kind == KINDS["census"]) & left
    return replace(known, kind=np.where(partial, KINDS["found"], known.kind))


def _with_known(view: LabelView, known: KnownCells, kept: IntArray, nearest: IntArray) -> KnownView:
    """A view of the kept cells as one of all (K,), each seen as the nearest (K,) of those kept.

    The view without signals, where there are some, knows the same labels.
    """
    plain = None if view.plain is None else _with_known(view.plain, known, kept, nearest)
    regions = replace(
        view.regions, of_cell=view.regions.of_cell[nearest], first=kept[view.regions.first]
    )
    reference = view.reference[nearest]
    n, events = _of_samples(known, regions, reference)
    group = view.group[nearest]
    counted = (known.kind != KINDS["found"]) & (known.kind != KINDS["sample"])
    parts = tuple(part[nearest] for part in view.parts)
    found = view.model, regions, reference, group, view.other, counted, n, events
    return KnownView(*found, parts=parts, plain=plain)


def _nearest(problem: Problem, kept: IntArray) -> IntArray:
    """For each cell the nearest of those kept, by its place among them, (K,).

    It has the same predictions, if there is one. A cell that is kept is its own.
    """
    cells = problem.cells
    place = np.zeros(len(cells), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    said, prior = cells.example.predictions, cells.prior[:, -1]
    for cell in np.setdiff1d(np.arange(len(cells)), kept):
        other = np.any(said[kept] != said[cell], axis=1)
        place[cell] = np.lexsort((np.abs(prior[kept] - prior[cell]), other))[0]
    return place


def _of_samples(
    known: KnownCells, regions: Regions, reference: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Effective labels of known samples in each region, and events among them, (R,) each."""
    weight = known.weight.sum(axis=1)
    quiet = known.weight[np.arange(len(weight)), reference]
    total, square = regions.total(weight), regions.total(known.square)
    n = np.divide(total**2, square, out=np.zeros_like(total), where=square > 0)
    share = np.divide(
        regions.total(weight - quiet), total, out=np.zeros_like(total), where=total > 0
    )
    return n, n * share
