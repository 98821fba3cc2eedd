"""Ledger: the fold of a log. It knows what was asked and answered, and what to draw next."""

from __future__ import annotations

from typing import Any

import numpy as np

from haystat.designs.base import Batch, Choice, Design, Problem, Sheet
from haystat.designs.replacement import ReplacementDesign
from haystat.estimation.rows import Rows
from haystat.log import Answers, Event, Stage
from haystat.measures.base import Measure
from haystat.measures.outputs import BoolArray, FloatArray, IntArray
from haystat.pool.cells import Candidates
from haystat.pool.memory import Pool

EMPTY = np.zeros(0, dtype=np.int64)


def pose(pool: Pool, measure: Measure) -> Problem:
    """The problem a design works on: `measure`, bound to the pool, seen from its cells."""
    cells = pool.cells(measure)
    n_strata = pool.tree.n_strata
    size = np.bincount(cells.stratum, weights=cells.size, minlength=n_strata)
    prior = np.zeros((n_strata, cells.prior.shape[1]))
    np.add.at(prior, cells.stratum, cells.prior * cells.size[:, None])
    losses = pool.losses(measure, cells)
    stratum_size = size.astype(np.int64)
    prior /= size[:, None]
    return Problem(pool.size, measure, cells, losses, pool.tree, stratum_size, prior)


class Ledger:
    """Draws, answers and the design's state after some events.

    A stage is finished when it and all stages before it have their answers. Only finished stages
    reach the design and the estimate, so that quick answers do not weigh more than slow ones.
    """

    def __init__(self, problem: Problem, design: Design, candidates: Candidates, seed: int) -> None:
        self.problem = problem
        self.design = design
        self.seed = seed
        self.state: Any = design.start(problem, _rng(seed, 0))
        self.stages: list[Stage] = []
        self.n_finished = 0
        self.label_of: dict[int, int] = {}
        self.stage_of: dict[int, int] = {}
        self._candidates = candidates
        self._asked = np.zeros(len(problem.cells), dtype=np.int64)
        self._unanswered: list[int] = []
        self._labels: list[IntArray] = []  # of the rows of each finished stage
        self._known_item, self._known_label = EMPTY, EMPTY
        self._known_cell = EMPTY

    @property
    def n_labels(self) -> int:
        """Labels that reached the estimate."""
        return len(self._known_item)

    @property
    def pending(self) -> list[int]:
        """Items asked about that have no answer yet, in the order asked."""
        open_stages = self.stages[self.n_finished :]
        items = [item for stage in open_stages for item in stage.item[: stage.n_new].tolist()]
        return [item for item in items if item not in self.label_of]

    def draw(self, n: int) -> Stage:
        """The next stage, for n new labels; the same again until it is applied."""
        waiting = self._unfinished_items()
        cell_of = self.problem.cells.of_item
        sheet = Sheet(
            self.problem.cells.size - self._asked,
            cell_of[waiting].astype(np.int64),
            self._known_cell,
            self._known_label,
        )
        rng = _rng(self.seed, len(self.stages) + 1)
        choice = self.design.choose(self.problem, self.state, sheet, n, rng)
        return self._stage(choice, waiting)

    def apply(self, event: Event) -> None:
        """Take one event of the log into account."""
        if isinstance(event, Stage):
            self._add_stage(event)
        else:
            self._add_answers(event)
        while self.n_finished < len(self.stages) and not self._unanswered[self.n_finished]:
            self._finish(self.stages[self.n_finished])

    def rows(self) -> Rows:
        """The finished stages as arrays."""
        stages = self.stages[: self.n_finished]
        item = np.concatenate([stage.item for stage in stages]) if stages else EMPTY
        number = np.repeat(np.arange(len(stages)), [len(stage.item) for stage in stages])
        label = np.concatenate(self._labels) if stages else EMPTY
        cell = self.problem.cells.of_item[item]
        return Rows(
            item,
            number,
            label,
            np.concatenate([stage.count for stage in stages]) if stages else EMPTY,
            np.concatenate([stage.weight for stage in stages]) if stages else np.zeros(0),
            self.problem.cells.stratum[cell],
            self._last_weight(cell, label),
        )

    def settled(self, needed: BoolArray) -> bool:
        """Whether all items of the cells that are `needed` under a label (K, C) have theirs."""
        n_open = self.problem.cells.size - np.bincount(self._known_cell, minlength=len(needed))
        return not np.any(needed & (n_open > 0)[:, None])

    def known(self) -> tuple[IntArray, IntArray]:
        """Items whose label reached the estimate, and their labels."""
        return self._known_item, self._known_label

    def _stage(self, choice: Choice, waiting: IntArray) -> Stage:
        ranks = self._asked.copy()
        new = np.zeros(len(choice.new_cell), dtype=np.int64)
        for position, cell in enumerate(choice.new_cell.tolist()):
            new[position] = self._candidates.take(cell, int(ranks[cell]))
            ranks[cell] += 1
        again, repeated = choice.pending_count > 0, choice.known_count > 0
        return Stage(
            np.concatenate([new, waiting[again], self._known_item[repeated]]),
            np.concatenate(
                [choice.new_count, choice.pending_count[again], choice.known_count[repeated]]
            ),
            np.concatenate(
                [choice.new_weight, choice.pending_weight[again], choice.known_weight[repeated]]
            ),
            len(new),
        )

    def _unfinished_items(self) -> IntArray:
        items = [stage.item[: stage.n_new] for stage in self.stages[self.n_finished :]]
        return np.concatenate(items) if items else EMPTY

    def _add_stage(self, stage: Stage) -> None:
        new = stage.item[: stage.n_new]
        np.add.at(self._asked, self.problem.cells.of_item[new], 1)
        self.stage_of.update(dict.fromkeys(new.tolist(), len(self.stages)))
        self.stages.append(stage)
        self._unanswered.append(len(new))

    def _add_answers(self, answers: Answers) -> None:
        for item, label in answers.labels.items():
            if item not in self.label_of:
                self.label_of[item] = label
                self._unanswered[self.stage_of[item]] -= 1

    def _finish(self, stage: Stage) -> None:
        new = np.arange(len(stage.item)) < stage.n_new
        label = np.array([self.label_of[i] for i in stage.item.tolist()], dtype=np.int64)
        cell = self.problem.cells.of_item[stage.item].astype(np.int64)
        batch = Batch(cell, label, stage.count, stage.weight, new)
        self._labels.append(label)
        self.state = self.design.observe(self.problem, self.state, batch)
        self._known_item = np.concatenate([self._known_item, stage.item[new]])
        self._known_label = np.concatenate([self._known_label, label[new]])
        self._known_cell = np.concatenate([self._known_cell, cell[new]])
        self.n_finished += 1

    def _last_weight(self, cell: IntArray, label: IntArray) -> FloatArray:
        """p(x) / q(x) of labelled items under the proposal of the next stage."""
        if not isinstance(self.design, ReplacementDesign):
            return np.ones(len(cell))
        proposal = self.design.propose(self.problem, self.state)
        with np.errstate(divide="ignore"):
            return 1.0 / (self.problem.size * proposal.labelled[cell, label])


def _rng(seed: int, stage: int) -> np.random.Generator:
    """Randomness of a stage: from the seed and its number alone, so that nothing is stored."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stage,)))
