"""What was asked and answered, and the design's state after it: the fold of a journal."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from haystat.core.arrays import IntArray
from haystat.designs.base import Batch, Choice, Design, Sheet
from haystat.inference.sample import stage_rng
from haystat.loop.stages import NO_ANSWER, Label, Labels, Stage, has_answer, is_told, label_array
from haystat.pool.base import Order
from haystat.pool.problem import Problem

T = TypeVar("T")
EMPTY = np.zeros(0, dtype=np.int64)
KEPT_STATES = 64  # of the latest stages, so that a slip is corrected without folding anew


class DrawsAndAnswers:
    """Draws, answers and the design's state after some entries of a journal.

    A stage is finished when it and all stages before it have their answers. Only finished stages
    reach the design.

    An item that nobody can label stays without one: it is drawn like any other, at no cost. A
    corrected label counts everywhere, except that draws made before keep their weights.

    A question is named by a number: here the position of its item.
    """

    soft = False  # whether an answer may be a distribution over the classes

    def __init__(self, problem: Problem, design: Design, candidates: Order, seed: int) -> None:
        self.problem = problem
        self.design = self.checked(design)
        self.seed = seed
        self.state: Any = design.start(problem, stage_rng(seed, 0))
        self.stages: list[Stage] = []
        self.n_finished = 0
        self.label_of: dict[int, Label] = {}
        self.n_told = 0  # questions that have a label, finished or not, those nobody can tell aside
        self.n_known = 0  # labels from before the first question
        self._open: dict[int, None] = {}  # questions without a label, in the order asked
        self._stage_of: dict[int, int] = {}
        self._candidates = candidates
        self._asked = np.zeros(len(problem.cells), dtype=np.int64)
        self.unanswered: list[int] = []  # open questions of each stage
        self._labels: list[IntArray] = []  # of the rows of each finished stage
        self._known_item, self._known_label = EMPTY, EMPTY
        self._known_cell = EMPTY
        self._unlabelled = EMPTY  # items of finished stages that nobody can label
        # The state before a stage, with the numbers of known and unlabelled items then.
        self._past: dict[int, tuple[Any, int, int]] = {}
        self._once: dict[Hashable, Any] = {}  # what follows from the labels and takes long

    @classmethod
    def checked(cls, design: Design) -> Design:
        """The design, if it suits the oracle; else an error."""
        return design

    @property
    def n_labels(self) -> int:
        """Labels that were asked for and reached the estimate."""
        return len(self._known_item) - self.n_known

    def know(self, item: IntArray, label: IntArray) -> None:
        """Begin with labels that were known before; their items are never asked about.

        They are certain to be in the sample. Where draws are with replacement they are items like
        any other whose label is known: drawn at no cost.
        """
        cell = self.problem.cells.of_item[item].astype(np.int64)
        once = np.ones(len(item), dtype=np.int64)
        np.add.at(self._asked, cell, 1)
        self.label_of.update(zip(item.tolist(), label.tolist(), strict=True))
        self.n_known = len(item)
        if self.design.with_replacement:
            batch = Batch(cell, label, once, np.zeros(len(item)), once > 0, item)
            self.state = self.design.observe(self.problem, self.state, batch)
            self._known_item, self._known_label, self._known_cell = item, label, cell
            return
        certain = np.where(self.problem.open, 0.0, 1.0)
        self.stages.append(Stage(item, once, np.ones(len(item)), len(item), certain))
        self.unanswered.append(0)
        self._finish_stages()

    @property
    def pending(self) -> list[int]:
        """Questions that have no label yet, in the order asked."""
        return list(self._open)

    def questions_of(self, stage: int) -> list[int]:
        """The questions that a stage asks."""
        drawn = self.stages[stage]
        return [int(item) for item in drawn.item[: drawn.n_new]]

    def questions_about(self, item: int) -> list[int]:
        """The questions about an item: one at most."""
        return [item] if item in self._stage_of else []

    def questions_behind(self, stage: int) -> list[int]:
        """The question whose answer is the label of each row of a stage."""
        return [int(item) for item in self.stages[stage].item]

    def stage_of(self, question: int) -> int:
        """The stage that asks a question."""
        return self._stage_of[question]

    def item_of(self, question: int) -> int:
        """The item that a question is about."""
        return question

    def draw(self, n: int) -> Stage:
        """The next stage, for n new labels; the same again until it is applied."""
        waiting = np.concatenate([self._unfinished_items(), self._unlabelled])
        cell_of = self.problem.cells.of_item
        sheet = Sheet(
            self.problem.cells.size - self._asked,
            cell_of[waiting].astype(np.int64),
            self._known_cell,
            np.zeros_like(self._known_cell) if self.problem.numeric else self._known_label,
            self.stages[-1].inclusion if self.stages else None,
        )
        rng = stage_rng(self.seed, len(self.stages) + 1)
        choice = self.design.choose(self.problem, self.state, sheet, n, rng)
        return self._stage(choice, waiting)

    def add_stage(self, stage: Stage) -> None:
        """Take a stage into account: its items are asked about."""
        new = stage.item[: stage.n_new]
        np.add.at(self._asked, self.problem.cells.of_item[new], 1)
        self._stage_of.update(dict.fromkeys(new.tolist(), len(self.stages)))
        self._ask(stage, new.tolist())

    def _ask(self, stage: Stage, questions: Sequence[int]) -> None:
        """Add a stage whose questions are open."""
        self.stages.append(stage)
        self.unanswered.append(len(questions))
        self._open.update(dict.fromkeys(questions))
        self._finish_stages()

    def add_labels(self, labels: Labels) -> None:
        """Take labels into account, by question: NO_ANSWER where nobody can tell.

        A question that has a label is corrected; None opens it again.
        """
        for question, label in labels.items():
            stage, known = self.stage_of(question), self.label_of.pop(question, None)
            self.unanswered[stage] += (label is None) - (known is None)
            self.n_told += is_told(label) - is_told(known)
            if label is not None:
                self.label_of[question] = label
                self._open.pop(question, None)
            changed = (type(known), known) != (type(label), label)  # -1.0 is a number, -1 is none
            if known is not None and changed and stage < self.n_finished:
                self._roll_back(stage)
        if None in labels.values():
            self._open = self._find_open()
        self._finish_stages()

    def _find_open(self) -> dict[int, None]:
        stages = range(self.n_finished, len(self.stages))
        asked = (question for stage in stages for question in self.questions_of(stage))
        return dict.fromkeys(question for question in asked if question not in self.label_of)

    def take(self, cell: int, rank: int) -> int:
        """The item of a cell that is asked about after `rank` others of it."""
        return self._candidates.take(cell, rank)

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, worked out anew only when something has changed."""
        if name not in self._once:
            self._once[name] = make()
        found: T = self._once[name]
        return found

    @property
    def any_label(self) -> bool:
        """Whether some item has a label, its stage finished or not."""
        return self.n_told + self.n_known > 0

    @property
    def asked(self) -> IntArray:
        """Items of each cell that were asked about, (K,)."""
        return self._asked.copy()

    @property
    def n_stages(self) -> int:
        """Stages that asked questions; labels known before make up a first one that did not."""
        return len(self.stages) - (self.n_known > 0 and not self.design.with_replacement)

    def _finish_stages(self) -> None:
        self._once.clear()
        while self.n_finished < len(self.stages) and not self.unanswered[self.n_finished]:
            self._finish(self.stages[self.n_finished])

    def _finish(self, stage: Stage) -> None:
        self._remember()
        new = np.arange(len(stage.item)) < stage.n_new
        label = self._told_labels(self.n_finished)
        cell = self.problem.cells.of_item[stage.item].astype(np.int64)
        self._labels.append(label)
        told = has_answer(label)
        batch = Batch(
            cell[told],
            label[told],
            stage.count[told],
            stage.weight[told],
            new[told],
            stage.item[told],
            stage.inclusion,
        )
        self.state = self.design.observe(self.problem, self.state, batch)
        learnt = new & told
        self._known_item = np.concatenate([self._known_item, stage.item[learnt]])
        self._known_label = np.concatenate([self._known_label, label[learnt]])
        self._known_cell = np.concatenate([self._known_cell, cell[learnt]])
        self._unlabelled = np.concatenate([self._unlabelled, stage.item[new & ~told]])
        self.n_finished += 1

    def _told_labels(self, stage: int) -> IntArray:
        """Labels of the rows of a stage; what is still open is like what nobody can tell."""
        labels = [self.label_of.get(q, NO_ANSWER) for q in self.questions_behind(stage)]
        return label_array([self._row_of(label) for label in labels], self.problem.numeric)

    def _row_of(self, label: Label) -> Label:
        """The label as `drawn_items` has it."""
        return label

    def _stage(self, choice: Choice, waiting: IntArray) -> Stage:
        ranks = self._asked.copy()
        new = np.zeros(len(choice.new_cell), dtype=np.int64)
        for position, cell in enumerate(choice.new_cell.tolist()):
            new[position] = self.take(cell, int(ranks[cell]))
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
            choice.inclusion,
        )

    def _unfinished_items(self) -> IntArray:
        items = [stage.item[: stage.n_new] for stage in self.stages[self.n_finished :]]
        return np.concatenate(items) if items else EMPTY

    def _remember(self) -> None:
        """Keep what is known before a stage is folded in; of old stages only every 64th."""
        now = self.n_finished
        self._past[now] = self.state, len(self._known_item), len(self._unlabelled)
        if (now - KEPT_STATES) % KEPT_STATES:
            self._past.pop(now - KEPT_STATES, None)

    def _roll_back(self, stage: int) -> None:
        """Forget what was learnt from this stage on; they are folded in again."""
        kept = max(number for number in self._past if number <= stage)
        self.state, n_known, n_unlabelled = self._past[kept]
        self._known_item = self._known_item[:n_known]
        self._known_label = self._known_label[:n_known]
        self._known_cell = self._known_cell[:n_known]
        self._unlabelled = self._unlabelled[:n_unlabelled]
        del self._labels[kept:]
        self.n_finished = kept
