"""StochasticLedger: the fold of draws whose oracle may answer the same question differently.

Every draw is a question of its own, numbered in the order drawn. A stage of n questions is n
i.i.d. draws from the proposal.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import cast

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.designs.base import Batch, Design, Proposal
from haystat.designs.replacement import draw_cells
from haystat.errors import BadOption
from haystat.inference.sample import stage_rng
from haystat.loop.ledger import Ledger
from haystat.loop.stages import Label, Stage, has_answer
from haystat.measures.base import Measure
from haystat.measures.soft import SoftLabels
from haystat.pool.base import Order
from haystat.pool.problem import Problem


class StochasticLedger(Ledger):
    """Draws, answers and the design's state, where every draw is asked and no label is for good."""

    soft = True

    def __init__(self, problem: Problem, design: Design, candidates: Order, seed: int) -> None:
        super().__init__(problem, design, candidates, seed)
        self._first_draw: list[int] = []  # of each stage
        self._item: list[int] = []  # of each draw
        self._draws_of: dict[int, list[int]] = {}  # by item
        # Rows of the table of answers: the classes, then every soft answer.
        self._shares: dict[tuple[float, ...], int] = {
            tuple(row): number for number, row in enumerate(np.eye(problem.n_classes).tolist())
        }

    @classmethod
    def checked(cls, design: Design) -> Design:
        """The design, if it can ask about an item more than once; else an error."""
        if not design.with_replacement:
            raise BadOption(
                f"design {design} asks about an item once, and a stochastic oracle has to be asked "
                "at every draw; use 'passive', 'importance' or 'adaptive'"
            )
        return design

    @property
    def n_labels(self) -> int:
        """Answers that reached the estimate."""
        return sum(int(has_answer(label).sum()) for label in self._labels)

    def questions_of(self, stage: int) -> list[int]:
        """Numbers of the draws of a stage."""
        start = self._first_draw[stage]
        return list(range(start, start + len(self.stages[stage].item)))

    def questions_behind(self, stage: int) -> list[int]:
        """The same: every row was asked."""
        return self.questions_of(stage)

    def questions_about(self, item: int) -> list[int]:
        """Numbers of the draws of an item."""
        return self._draws_of.get(item, [])

    def stage_of(self, question: int) -> int:
        """The stage of a draw."""
        return bisect_right(self._first_draw, question) - 1

    def item_of(self, question: int) -> int:
        """The item that was drawn."""
        return self._item[question]

    def draw(self, n: int) -> Stage:
        """The next stage of n draws; the same again until it is applied."""
        rng = stage_rng(self.seed, len(self.stages) + 1)
        cells, weight = draw_cells(self._proposal(), self.problem.cells.size, n, rng)
        # Items never asked about are exchangeable. So a draw from a cell of s items, j of them
        # asked about before, is each of these with chance 1 / s, and else the next by u.
        place = rng.random(len(cells)) * self.problem.cells.size[cells]
        asked = self._asked.copy()
        item = np.zeros(len(cells), dtype=np.int64)
        for row, (cell, spot) in enumerate(zip(cells.tolist(), place.tolist(), strict=True)):
            rank = min(int(spot), int(asked[cell]))
            asked[cell] = max(asked[cell], rank + 1)
            item[row] = self.take(cell, rank)
        return Stage(item, np.ones(len(item), dtype=np.int64), weight, len(item))

    def add_stage(self, stage: Stage) -> None:
        """Take a stage into account: every draw of it is asked."""
        start = len(self._item)
        for draw, item in enumerate(stage.item.tolist(), start=start):
            draws = self._draws_of.setdefault(item, [])
            if not draws:
                self._asked[self.problem.cells.of_item[np.array([item])]] += 1
            draws.append(draw)
            self._item.append(item)
        self._first_draw.append(start)
        self._ask(stage, range(start, len(self._item)))

    def measure_of(self, measure: Measure) -> Measure:
        if len(self._shares) == self.problem.n_classes:
            return measure
        return SoftLabels(measure, self._table())

    def settled(self, needed: BoolArray) -> bool:
        """Never: the next answer may differ."""
        return False

    def _finish(self, stage: Stage) -> None:
        self._remember()
        label = self._told_labels(self.n_finished)
        self._labels.append(label)
        self.state = self.design.observe(self.problem, self.state, self._batch(stage, label))
        self.n_finished += 1

    def class_shares(self, labels: Sequence[Label]) -> FloatArray:
        if self.problem.numeric:
            return super().class_shares(labels)
        rows = np.array([self._row_of(label) for label in labels], dtype=np.int64)
        return np.asarray(self._table()[rows])

    def _table(self) -> FloatArray:
        """What every kind of answer says about each class."""
        return np.array(list(self._shares))

    def _row_of(self, label: Label) -> Label:
        """Row of the table of answers; a soft answer gets a new one."""
        if isinstance(label, tuple):
            return self._shares.setdefault(label, len(self._shares))
        return label

    def _batch(self, stage: Stage, index: IntArray) -> Batch:
        """The stage as a design sees it: a soft answer is a part of a draw for each class."""
        told = has_answer(index)
        item, weight, index = stage.item[told], stage.weight[told], index[told]
        cell = self.problem.cells.of_item[item].astype(np.int64)
        new = np.ones(len(cell), dtype=bool)
        if self.problem.numeric:
            return Batch(cell, index, stage.count[told], weight, new, item)
        share = self._table()[index]
        row, label = np.nonzero(share)
        part = share[row, label]
        return Batch(cell[row], label, part, weight[row], new[row], item[row])

    def _last_weight(self, item: IntArray, label: IntArray) -> FloatArray:
        """p(x) / q(x) under the proposal of the next stage, which minds no label."""
        cell = self.problem.cells.of_item[item]
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / (self.problem.size * self._proposal().unlabelled[cell]))

    def _proposal(self) -> Proposal:
        return cast(Proposal, self.design.propose(self.problem, self.state))
