"""Items that the cells of a design do not tell apart, for measures asked about later.

Whether labels of one group go with the score as those of another do, or how they go with the
predictions of a model that came later, labels must say: the cells of the design are cut by what the
measure knows, and the model sees them as it would have, had the design known of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from haystat.core.arrays import BoolArray, IntArray
from haystat.inference.sample import Sample
from haystat.measures.base import Measure
from haystat.measures.facts import Fact, PredictedClass, part_of
from haystat.measures.outputs import Outputs
from haystat.models.curve import Hints
from haystat.models.known_view import view_of
from haystat.models.label_view import LabelView
from haystat.pool.blocks import Blocks
from haystat.pool.known import KnownCells
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class Finer:
    """Cells of a design cut by facts: the view of them, their size, and blocks inside them.

    coarse (F,) is the cell of the design that each is a part of, group (F,) the code of the facts.
    """

    facts: tuple[Fact, ...]

    view: LabelView
    size: IntArray
    coarse: IntArray
    group: IntArray
    blocks: Blocks

    @classmethod
    def cut(
        cls, sample: Sample, measure: Measure, facts: tuple[Fact, ...], blocks: Blocks
    ) -> Finer:
        """The cells of a sample by facts of a measure; blocks are those of both."""
        code = part_of(measure.facts() or (), facts, blocks.signature)
        pairs, of_block = np.unique(np.stack([blocks.cell, code]), axis=1, return_inverse=True)
        of_block, (coarse, group) = of_block.reshape(-1), pairs
        size = np.bincount(of_block, blocks.size).astype(np.int64)
        problem = _problem(sample.problem, coarse, group, size)
        view = view_of(problem, sample.state.view.model.settings)
        if problem.n_classes == 2:
            view = _pointed(view, _predicted_positive(facts, group))
        return cls(facts, view, size, coarse, group, replace(blocks, cell=of_block))

    def of_items(self, cell: IntArray, measure: Measure, outputs: Outputs) -> IntArray:
        """The finer cell of items of these cells of the design, (n,)."""
        code = np.asarray(measure.grouping(outputs))
        group = part_of(measure.facts() or (), self.facts, code)
        n_groups = int(max(self.group.max(), group.max(initial=0))) + 1
        return np.searchsorted(self.coarse * n_groups + self.group, cell * n_groups + group)

    def spread(self, count: IntArray) -> IntArray:
        """Numbers of items of the design's cells (K,), by the size of the finer ones, (F,)."""
        whole = np.bincount(self.coarse, self.size, minlength=len(count))
        return np.rint(count[self.coarse] * self.size / whole[self.coarse]).astype(np.int64)


def unseen(problem: Problem, measure: Measure, foreign: bool) -> tuple[Fact, ...]:
    """What a measure knows about items that the cells of a problem do not, scores aside.

    Of another pool's systems, foreign ones, they know nothing.
    """
    has = set() if foreign else set(problem.measure.facts() or ())
    facts = measure.facts() or ()
    return tuple(fact for fact in facts if not fact.of_score and fact not in has)


def _problem(problem: Problem, coarse: IntArray, group: IntArray, size: IntArray) -> Problem:
    """The problem with its cells cut further; only what the model looks at."""
    cells = problem.cells
    apart = group if cells.apart is None else cells.apart[coarse] * (group.max() + 1) + group
    known, signals = cells.known, cells.signals
    finer = replace(
        cells,
        stratum=cells.stratum[coarse],
        size=size,
        prior=cells.prior[coarse],
        example=cells.example.take(coarse),
        known=None if known is None else known[coarse],
        signals=None if signals is None else signals.take(coarse),
        apart=apart,
    )
    return replace(problem, cells=finer, known=_known(problem, coarse, size))


def _known(problem: Problem, coarse: IntArray, size: IntArray) -> KnownCells | None:
    """Labels from before by finer cells: those of samples as if spread evenly over a cell."""
    if problem.known is None:
        return None
    part = size / problem.cells.size[coarse]
    weight = problem.known.weight[coarse] * part[:, None]
    return KnownCells(problem.known.kind[coarse], weight, problem.known.square[coarse] * part)


def _predicted_positive(facts: tuple[Fact, ...], group: IntArray) -> BoolArray:
    """Finer cells that a system which the design does not know predicts positive, (F,)."""
    said = [part_of(facts, (fact,), group) for fact in facts if isinstance(fact, PredictedClass)]
    return np.any([code > 0 for code in said], axis=0) if said else np.zeros(len(group), dtype=bool)


def _pointed(view: LabelView, positive: BoolArray) -> LabelView:
    """The view in which half of the hidden positives may lie where another system sees them."""
    curve, size = view.model.curve, view.model.size
    there = curve.low & positive[view.regions.first]
    if curve.hints is not None or not there.any():
        return view
    more = 0.5 + 0.5 * there * size[curve.low].sum() / size[there].sum()
    none = np.zeros(0)
    tilts = np.stack([np.ones(len(size)), more])
    hints = Hints(np.zeros((len(size), 0)), none, none, tilts, np.array([0.5, 0.5]))
    return replace(view, model=replace(view.model, curve=replace(curve, hints=hints)))
