"""Ledger: the fold of a log. It knows what was asked and answered, and what to draw next."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.designs.base import Batch, Choice, Design, Sheet
from haystat.errors import LogError
from haystat.inference.drawn_items import DrawnItems
from haystat.inference.nonresponse import raised_weights
from haystat.inference.sample import stage_rng
from haystat.loop.stages import NO_ANSWER, Label, Labels, Stage
from haystat.measures.base import Measure
from haystat.pool.base import Order
from haystat.pool.problem import Problem

T = TypeVar("T")
EMPTY = np.zeros(0, dtype=np.int64)
KEPT_STATES = 64  # of the latest stages, so that a slip is corrected without folding anew


class Ledger:
    """Draws, answers and the design's state after some events.

    A stage is finished when it and all stages before it have their answers. Only finished stages
    reach the design. The estimate uses every answer: those of a stage that is not complete stand
    for the open ones of their cell, so that quick answers do not weigh more than slow ones.

    An item that nobody can label stays without one: it is drawn like any other, at no cost, and
    its draws drop out of the estimate. So the estimate speaks about the items that have labels.
    A corrected label counts everywhere, except that draws made before keep their weights.

    A question is named by a number: here the position of its item.

    whole_stages: the estimate uses finished stages alone, as that of haystat 0.1.0 did.
    """

    whole_stages = False

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
        self._unanswered: list[int] = []
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
        self._unanswered.append(0)
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
        self._unanswered.append(len(questions))
        self._open.update(dict.fromkeys(questions))
        self._finish_stages()

    def add_labels(self, labels: Labels) -> None:
        """Take labels into account, by question: NO_ANSWER where nobody can tell.

        A question that has a label is corrected; None opens it again.
        """
        for question, label in labels.items():
            stage, known = self.stage_of(question), self.label_of.pop(question, None)
            self._unanswered[stage] += (label is None) - (known is None)
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

    def _finish_stages(self) -> None:
        self._once.clear()
        while self.n_finished < len(self.stages) and not self._unanswered[self.n_finished]:
            self._finish(self.stages[self.n_finished])

    def rows(self) -> DrawnItems:
        """All answered draws as arrays; their weights stand for the open ones as well."""
        stages = [self.stages[k] for k in self.counted]
        item, count, weight = self._draws(stages)
        number = np.repeat(self.counted, [len(stage.item) for stage in stages]).astype(np.int64)
        later = [self._told_labels(k) for k in self.counted[self.n_finished :]]
        label = np.concatenate([*self._labels, *later]) if stages else EMPTY
        if later:
            told, weight, _ = self._without_open(number, item, count, weight)
            item, number, label, count = item[told], number[told], label[told], count[told]
        answered = has_answer(label)
        if not answered.all():
            weight = weight * _raised(count, weight, answered)
            item, number, label = item[answered], number[answered], label[answered]
            count, weight = count[answered], weight[answered]
        cell = self.problem.cells.of_item[item]
        stratum, last_weight = self.problem.cells.stratum[cell], self._last_weight(item, label)
        n_answers = len(item) if self.soft else None
        return DrawnItems(item, number, label, count, weight, stratum, last_weight, n_answers)

    def measure_of(self, measure: Measure) -> Measure:
        """The measure that reads the labels of `rows`."""
        return measure

    def draws(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Item, count and weight of every row of the finished stages.

        The mean of weight * loss over the draws estimates the mean loss. Without replacement the
        weight follows from how likely the item was to be drawn by now, not only in its stage.
        """
        return self._draws(self.stages[: self.n_finished])

    @property
    def counted(self) -> list[int]:
        """Stages that the estimate uses: the finished ones, and later ones that have an answer.

        Without replacement the chance to be drawn adds up, so that those in between count too.
        """
        later = range(self.n_finished, self.n_finished if self.whole_stages else len(self.stages))
        begun = [k for k in later if self._unanswered[k] < self.stages[k].n_new]
        if begun and not self.design.with_replacement:
            begun = list(range(self.n_finished, begun[-1] + 1))
        return [*range(self.n_finished), *begun]

    @property
    def unanswered(self) -> list[int]:
        """Open questions of each stage."""
        return self._unanswered

    @property
    def n_asked_in(self) -> list[int]:
        """Questions of each stage."""
        asked = [stage.n_new for stage in self.stages]
        return asked if len(asked) == self.n_stages else [0, *asked[1:]]

    @property
    def n_stages(self) -> int:
        """Stages that asked questions; labels known before make up a first one that did not."""
        return len(self.stages) - (self.n_known > 0 and not self.design.with_replacement)

    @property
    def n_alone(self) -> int:
        """Open draws of the counted stages for which other stages or cells stand in."""
        stages = [self.stages[k] for k in self.counted]
        if len(stages) == self.n_finished:
            return 0
        number = np.repeat(self.counted, [len(stage.item) for stage in stages]).astype(np.int64)
        return self._without_open(number, *self._draws(stages))[2]

    def _without_open(
        self, number: IntArray, item: IntArray, count: IntArray, weight: FloatArray
    ) -> tuple[BoolArray, FloatArray, int]:
        """Which rows are answered, their weights, and for how many others had to stand in."""
        asked = [question for k in self.counted for question in self.questions_behind(k)]
        told = np.array([question in self.label_of for question in asked])
        stage = number if self.design.with_replacement else np.zeros_like(number)
        cell = self.problem.cells.of_item[item].astype(np.int64)
        raised, n_alone = raised_weights(stage, cell, count, weight, told, self.problem.cells)
        return told, raised, n_alone

    def _told_labels(self, stage: int) -> IntArray:
        """Labels of the rows of a stage; what is still open is like what nobody can tell."""
        labels = [self.label_of.get(q, NO_ANSWER) for q in self.questions_behind(stage)]
        return label_array([self._row_of(label) for label in labels], self.problem)

    def _row_of(self, label: Label) -> Label:
        """The label as `rows` have it."""
        return label

    def _draws(self, stages: Sequence[Stage]) -> tuple[IntArray, IntArray, FloatArray]:
        if not stages:
            return EMPTY, EMPTY, np.zeros(0)
        item = np.concatenate([stage.item for stage in stages])
        count = np.concatenate([stage.count for stage in stages])
        weight = np.concatenate([stage.weight for stage in stages])
        if stages[-1].inclusion is not None:
            inclusion = stages[-1].inclusion[self.problem.cells.of_item[item]]
            weight = len(item) / (self.problem.size * inclusion)
        return item, count, weight

    def unanswered_share(self) -> float:
        """Share of the pool in items that nobody can label, as the finished stages estimate it."""
        stages = self.stages[: self.n_finished]
        if stages and stages[-1].inclusion is not None:
            inclusion = self.inclusion[self.problem.cells.of_item[self._unlabelled]]
            return min(float(np.sum(1 / inclusion)) / self.problem.size, 1.0)
        parts = zip(stages, self._labels, strict=True)
        lost = sum(float(s.count @ (s.weight * ~has_answer(label))) for s, label in parts)
        n_draws = sum(int(stage.count.sum()) for stage in stages)
        return min(lost / n_draws, 1.0) if n_draws else 0.0

    @property
    def unlabelled(self) -> IntArray:
        """Items of the finished stages that nobody can label, by cell, (K,)."""
        cell = self.problem.cells.of_item[self._unlabelled]
        return np.bincount(cell, minlength=len(self.problem.cells))

    @property
    def inclusion(self) -> FloatArray:
        """Probability that an item of each cell was drawn in the finished stages, (K,).

        Only designs without replacement know it; others raise.
        """
        inclusion = self.stages[self.n_finished - 1].inclusion
        if inclusion is None:
            raise LogError(f"the stages of design {self.design} hold no inclusion probabilities")
        return inclusion

    def settled(self, needed: BoolArray) -> bool:
        """Whether all items of the cells that are `needed` under a label (K, C) have theirs."""
        n_open = self.problem.cells.size - np.bincount(self._known_cell, minlength=len(needed))
        return not np.any(needed & (n_open > 0)[:, None])

    def known(self) -> tuple[IntArray, IntArray]:
        """Items whose label reached the estimate, and their labels."""
        return self._known_item, self._known_label

    def finished(self) -> list[tuple[Stage, IntArray]]:
        """The finished stages, with the labels of their rows."""
        return list(zip(self.stages[: self.n_finished], self._labels, strict=True))

    @property
    def any_label(self) -> bool:
        """Whether some item has a label, its stage finished or not."""
        return self.n_told + self.n_known > 0

    @property
    def asked(self) -> IntArray:
        """Items of each cell that were asked about, (K,)."""
        return self._asked.copy()

    @property
    def n_asked(self) -> int:
        """Items asked about so far."""
        return int(self._asked.sum()) - self.n_known

    @property
    def declined(self) -> IntArray:
        """Items that nobody can label, also of stages that are not finished, by cell, (K,)."""
        item = [i for i, label in self.label_of.items() if label == NO_ANSWER]
        cell = self.problem.cells.of_item[np.array(item, dtype=np.int64)]
        return np.bincount(cell, minlength=len(self.problem.cells))

    def label_counts(self) -> FloatArray:
        """Labels by cell and class, (K, C), also those of stages that are not finished.

        A soft answer counts in part for each class, numbers are all of one kind.
        """
        told = [(self.item_of(q), label) for q, label in self.label_of.items() if is_told(label)]
        counts = np.zeros((len(self.problem.cells), self.problem.n_classes))
        if told:
            cell = self.problem.cells.of_item[np.array([item for item, _ in told])]
            np.add.at(counts, cell, self.class_shares([label for _, label in told]))
        return counts

    def class_shares(self, labels: Sequence[Label]) -> FloatArray:
        """What answers say about every class, (n, C)."""
        if self.problem.numeric:
            return np.ones((len(labels), 1))
        return np.asarray(np.eye(self.problem.n_classes)[np.array(labels)])

    def told(self) -> tuple[IntArray, IntArray]:
        """All items that have a label, also of stages that are not finished, and their labels."""
        told = [(self.item_of(q), label) for q, label in self.label_of.items() if is_told(label)]
        told.sort(key=lambda pair: pair[0])
        item = np.array([item for item, _ in told], dtype=np.int64)
        label = label_array([self._row_of(label) for _, label in told], self.problem)
        return item, label

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

    def _remember(self) -> None:
        """Keep what is known before a stage is folded in; of old stages only every 64th."""
        now = self.n_finished
        self._past[now] = self.state, len(self._known_item), len(self._unlabelled)
        if (now - KEPT_STATES) % KEPT_STATES:
            self._past.pop(now - KEPT_STATES, None)

    def _roll_back(self, stage: int) -> None:
        """Forget what was learnt from this stage on; `apply` folds it in again."""
        kept = max(number for number in self._past if number <= stage)
        self.state, n_known, n_unlabelled = self._past[kept]
        self._known_item = self._known_item[:n_known]
        self._known_label = self._known_label[:n_known]
        self._known_cell = self._known_cell[:n_known]
        self._unlabelled = self._unlabelled[:n_unlabelled]
        del self._labels[kept:]
        self.n_finished = kept

    def _last_weight(self, item: IntArray, label: IntArray) -> FloatArray:
        """p(x) / q(x) of labelled items under the proposal of the next stage."""
        proposal = self.design.propose(self.problem, self.state)
        if proposal is None:
            return np.ones(len(item))
        if proposal.atoms is None:
            label = np.zeros_like(item) if self.problem.numeric else label
            probability = proposal.labelled[self.problem.cells.of_item[item], label]
        else:
            place = {known: rank for rank, known in enumerate(self._known_item.tolist())}
            rank = np.array([place.get(i, -1) for i in item.tolist()], dtype=np.int64)
            unlabelled = proposal.unlabelled[self.problem.cells.of_item[item]]
            atoms = np.append(proposal.atoms, 0.0)  # the last is for those without one
            probability = np.where(rank < 0, unlabelled, atoms[rank])
        with np.errstate(divide="ignore"):
            return 1.0 / (self.problem.size * probability)


def label_array(labels: Sequence[Label], problem: Problem) -> IntArray:
    """Class indices as integers; numbers as doubles, NaN where there is no answer."""
    if problem.numeric:  # NO_ANSWER is an integer, a number never is
        numbers = [label if isinstance(label, float) else np.nan for label in labels]
        return np.array(numbers, dtype=np.float64)
    return np.array(labels, dtype=np.int64)


def is_told(label: Label | None) -> bool:
    """Whether this is a label: -1.0 is a number, and -1 is none."""
    return label is not None and (type(label) is not int or label != NO_ANSWER)


def has_answer(label: IntArray) -> BoolArray:
    """Which labels of a finished stage are answers, (n,)."""
    if label.dtype.kind == "f":
        return ~np.isnan(label)
    return np.asarray(label != NO_ANSWER)


def _raised(count: IntArray, weight: FloatArray, answered: BoolArray) -> float:
    """Factor for the weights of answered draws, so that they stand for answered items alone.

    With N draws, n of them answered, the items without an answer are estimated to hold the share
    s of the pool, the mean of w over the N draws that fall on them. The mean of w loss over the n
    draws, times n / N / (1 - s), is then the mean loss of the items that have an answer.
    """
    n_draws, n_answered = int(count.sum()), int(count[answered].sum())
    share = float(count[~answered] @ weight[~answered]) / n_draws
    return n_answered / n_draws / max(1.0 - share, 1.0 / n_draws)
