"""StochasticLedger: the fold of a log whose oracle may answer the same question differently.

Every draw is a question of its own, numbered in the order drawn. A stage of n questions is n
i.i.d. draws from the proposal.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from haystat.designs.base import Batch, Design, Problem
from haystat.designs.replacement import ReplacementDesign, draw_cells
from haystat.errors import BadOption
from haystat.estimation.missing import raised_weights
from haystat.estimation.rows import Rows
from haystat.ledger import EMPTY, label_array, stage_rng
from haystat.log import Answers, Event, Label, Stage
from haystat.measures.base import Measure
from haystat.measures.outputs import BoolArray, FloatArray, IntArray
from haystat.measures.soft import SoftLabels
from haystat.pool.base import Order


class StochasticLedger:
    """Draws, answers and the design's state after some events.

    As in Ledger, a stage is finished when it and all stages before it have their answers, only
    finished stages reach the design, and the estimate uses every answer.
    """

    def __init__(self, problem: Problem, design: Design, candidates: Order, seed: int) -> None:
        self.problem = problem
        self.design = check_asks_again(design)
        self.seed = seed
        self.state: Any = design.start(problem, stage_rng(seed, 0))
        self.stages: list[Stage] = []
        self.n_finished = 0
        self.label_of: dict[int, Label] = {}  # by the number of the draw
        self._candidates = candidates
        self._asked = np.zeros(len(problem.cells), dtype=np.int64)  # different items of each cell
        self._first_draw: list[int] = []  # of each stage
        self._unanswered: list[int] = []
        self._item: list[int] = []  # of each draw
        self._draws_of: dict[int, list[int]] = {}  # by item
        # Rows of the table of answers: the classes, then every soft answer.
        self._shares: list[FloatArray] = list(np.eye(problem.n_classes))
        self._labels: list[IntArray] = []

    @property
    def n_labels(self) -> int:
        """Answers that reached the estimate."""
        return sum(len(stage.item) for stage in self.stages[: self.n_finished])

    @property
    def pending(self) -> list[int]:
        """Draws without an answer, in the order drawn."""
        open_stages = range(self.n_finished, len(self.stages))
        asked = [draw for stage in open_stages for draw in self.questions_of(stage)]
        return [draw for draw in asked if draw not in self.label_of]

    def questions_of(self, stage: int) -> list[int]:
        """Numbers of the draws of a stage."""
        start = self._first_draw[stage]
        return list(range(start, start + len(self.stages[stage].item)))

    def questions_about(self, item: int) -> list[int]:
        """Numbers of the draws of an item."""
        return self._draws_of.get(item, [])

    def stage_of(self, draw: int) -> int:
        """The stage of a draw."""
        return bisect_right(self._first_draw, draw) - 1

    def item_of(self, draw: int) -> int:
        """The item that was drawn."""
        return self._item[draw]

    def draw(self, n: int) -> Stage:
        """The next stage of n draws; the same again until it is applied."""
        rng = stage_rng(self.seed, len(self.stages) + 1)
        proposal = self.design.propose(self.problem, self.state)
        cells, weight = draw_cells(proposal, self.problem.cells.size, n, rng)
        # Items never asked about are exchangeable. So a draw from a cell of s items, j of them
        # asked about before, is each of these with chance 1 / s, and else the next by u.
        place = rng.random(len(cells)) * self.problem.cells.size[cells]
        asked = self._asked.copy()
        item = np.zeros(len(cells), dtype=np.int64)
        for row, (cell, spot) in enumerate(zip(cells.tolist(), place.tolist(), strict=True)):
            rank = min(int(spot), int(asked[cell]))
            asked[cell] = max(asked[cell], rank + 1)
            item[row] = self._candidates.take(cell, rank)
        return Stage(item, np.ones(len(item), dtype=np.int64), weight, len(item))

    def apply(self, event: Event) -> None:
        """Take one event of the log into account."""
        if isinstance(event, Stage):
            self._add_stage(event)
        else:
            self._add_answers(event)
        while self.n_finished < len(self.stages) and not self._unanswered[self.n_finished]:
            self._finish(self.n_finished)

    def rows(self) -> Rows:
        """All answered draws as arrays; labels are rows of the table of answers."""
        item, number, weight, told = self._counted_draws()
        label = [*self._labels, label_array(self._later()[0], self.problem)]
        if not told.all():
            weight, _ = self._raised(item, number, weight, told)
            item, number = item[told], number[told]
        cell = self.problem.cells.of_item[item]
        proposal = self.design.propose(self.problem, self.state)
        with np.errstate(divide="ignore"):
            last_weight = 1.0 / (self.problem.size * proposal.unlabelled[cell])
        return Rows(
            item,
            number,
            np.concatenate(label) if len(item) else EMPTY,
            np.ones(len(item), dtype=np.int64),
            weight,
            self.problem.cells.stratum[cell],
            last_weight,
            n_answers=len(item),
        )

    def measure_of(self, measure: Measure) -> Measure:
        """The measure that reads the labels of `rows`."""
        shares = [*self._shares, *self._later()[1]]
        if len(shares) == self.problem.n_classes:
            return measure
        return SoftLabels(measure, np.stack(shares))

    @property
    def counted(self) -> list[int]:
        """Stages that the estimate uses: the finished ones, and later ones that have an answer."""
        later = range(self.n_finished, len(self.stages))
        begun = [k for k in later if self._unanswered[k] < len(self.stages[k].item)]
        return [*range(self.n_finished), *begun]

    @property
    def unanswered(self) -> list[int]:
        """Open questions of each stage."""
        return self._unanswered

    @property
    def n_alone(self) -> int:
        """Open draws of the counted stages for which other stages or cells stand in."""
        return self._raised(*self._counted_draws())[1]

    def _counted_draws(self) -> tuple[IntArray, IntArray, FloatArray, BoolArray]:
        """Item, stage and weight of the draws of the counted stages, and which are answered."""
        counted = self.counted
        if not counted:
            return EMPTY, EMPTY, np.zeros(0), np.zeros(0, dtype=bool)
        stages = [self.stages[k] for k in counted]
        draws = [draw for k in counted[self.n_finished :] for draw in self.questions_of(k)]
        finished = sum(len(stage.item) for stage in stages[: self.n_finished])
        told = [True] * finished + [draw in self.label_of for draw in draws]
        return (
            np.concatenate([stage.item for stage in stages]),
            np.repeat(counted, [len(stage.item) for stage in stages]).astype(np.int64),
            np.concatenate([stage.weight for stage in stages]),
            np.array(told),
        )

    def _raised(
        self, item: IntArray, number: IntArray, weight: FloatArray, told: BoolArray
    ) -> tuple[FloatArray, int]:
        cell = self.problem.cells.of_item[item].astype(np.int64)
        ones = np.ones_like(item)
        return raised_weights(number, cell, ones, weight, told, self.problem.cells)

    def _later(self) -> tuple[list[Label], list[FloatArray]]:
        """Answers of stages that are not finished, soft ones as rows that follow the table."""
        found: list[Label] = []
        shares: list[FloatArray] = []
        for number in range(self.n_finished, len(self.stages)):
            for draw in self.questions_of(number):
                label = self.label_of.get(draw)
                if isinstance(label, tuple):
                    shares.append(np.array(label))
                    label = len(self._shares) + len(shares) - 1
                found += [] if label is None else [label]
        return found, shares

    def settled(self, needed: BoolArray) -> bool:
        """Never: the next answer may differ."""
        return False

    def known(self) -> tuple[IntArray, IntArray]:
        """No item has a label once and for all."""
        return EMPTY, EMPTY

    def _add_stage(self, stage: Stage) -> None:
        start = len(self._item)
        for draw, item in enumerate(stage.item.tolist(), start=start):
            draws = self._draws_of.setdefault(item, [])
            if not draws:
                self._asked[self.problem.cells.of_item[item]] += 1
            draws.append(draw)
            self._item.append(item)
        self._first_draw.append(start)
        self._unanswered.append(len(stage.item))
        self.stages.append(stage)

    def _add_answers(self, answers: Answers) -> None:
        for draw, label in answers.labels.items():
            if draw not in self.label_of:
                self.label_of[draw] = label
                self._unanswered[self.stage_of(draw)] -= 1

    def _finish(self, number: int) -> None:
        stage = self.stages[number]
        given = [self.label_of[draw] for draw in self.questions_of(number)]
        labels = given if self.problem.numeric else [self._row_of(label) for label in given]
        label = label_array(labels, self.problem)
        self._labels.append(label)
        self.state = self.design.observe(self.problem, self.state, self._batch(stage, label))
        self.n_finished += 1

    def _row_of(self, label: Label) -> int:
        """Row of the table of answers; a soft answer gets a new one."""
        if isinstance(label, tuple):
            self._shares.append(np.array(label))
            return len(self._shares) - 1
        return int(label)

    def _batch(self, stage: Stage, index: IntArray) -> Batch:
        """The stage as a design sees it: a soft answer is a part of a draw for each class."""
        cell = self.problem.cells.of_item[stage.item].astype(np.int64)
        new = np.ones(len(cell), dtype=bool)
        if self.problem.numeric:
            return Batch(cell, index, stage.count, stage.weight, new, stage.item)
        share = np.stack(self._shares)[index]
        row, label = np.nonzero(share)
        part = share[row, label]
        return Batch(cell[row], label, part, stage.weight[row], new[row], stage.item[row])


def check_asks_again(design: Design) -> ReplacementDesign:
    """The design, if it can ask about an item more than once; else an error."""
    if not isinstance(design, ReplacementDesign):
        raise BadOption(
            f"design {design} asks about an item once, and a stochastic oracle has to be asked "
            "at every draw; use 'passive', 'importance' or 'adaptive'"
        )
    return design
