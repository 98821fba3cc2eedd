"""Ledger: draws and answers as an estimate reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.errors import LogError
from haystat.inference.drawn_items import DrawnItems
from haystat.inference.nonresponse import answered_factor, raised_weights
from haystat.loop.draws_and_answers import EMPTY, DrawsAndAnswers
from haystat.loop.stages import NO_ANSWER, Label, Stage, has_answer, is_told, label_array
from haystat.measures.base import Measure
from haystat.pool.known import KINDS


class Ledger(DrawsAndAnswers):
    """The sample that an estimate is made of; keeps the contract of inference.sample.Sample.

    The estimate uses every answer: those of a stage that is not complete stand for the open ones
    of their cell, so that quick answers do not weigh more than slow ones. Draws of items that
    nobody can label drop out, so the estimate speaks about the items that have labels.

    whole_stages: the estimate uses finished stages alone, as that of haystat 0.1.0 did.
    """

    whole_stages = False

    def drawn_items(self) -> DrawnItems:
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
            weight = weight * answered_factor(count, weight, answered)
            item, number, label = item[answered], number[answered], label[answered]
            count, weight = count[answered], weight[answered]
        cell = self.problem.cells.of_item[item]
        stratum, last_weight = self.problem.cells.stratum[cell], self._last_weight(item, label)
        n_answers = len(item) if self.soft else None
        return DrawnItems(item, number, label, count, weight, stratum, last_weight, n_answers)

    def measure_of(self, measure: Measure) -> Measure:
        """The measure that reads the labels of `drawn_items`."""
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
        begun = [k for k in later if self.unanswered[k] < self.stages[k].n_new]
        if begun and not self.design.with_replacement:
            begun = list(range(self.n_finished, begun[-1] + 1))
        return [*range(self.n_finished), *begun]

    @property
    def n_asked_in(self) -> list[int]:
        """Questions of each stage."""
        asked = [stage.n_new for stage in self.stages]
        return asked if len(asked) == self.n_stages else [0, *asked[1:]]

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
        if len(self.label_of) == self.n_told + self.n_known:
            return 0.0  # of whatever was asked, somebody could tell
        stages = self.stages[: self.n_finished]
        if stages and stages[-1].inclusion is not None:
            inclusion = self.inclusion[self.problem.cells.of_item[self._unlabelled]]
            return min(float(np.sum(1 / inclusion)) / self.problem.size, 1.0)
        parts = zip(stages, self._labels, strict=True)
        lost = sum(float(s.count @ (s.weight * ~has_answer(label))) for s, label in parts)
        n_draws = sum(int(stage.count.sum()) for stage in stages)
        return min(lost / n_draws, 1.0) if n_draws else 0.0

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
        return np.asarray(np.eye(self.problem.n_classes)[np.array(labels, dtype=np.int64)])

    def told(self) -> tuple[IntArray, IntArray]:
        """All items that have a label, also of stages that are not finished, and their labels."""
        told = [(self.item_of(q), label) for q, label in self.label_of.items() if is_told(label)]
        told.sort(key=lambda pair: pair[0])
        item = np.array([item for item, _ in told], dtype=np.int64)
        label = label_array([self._row_of(label) for _, label in told], self.problem.numeric)
        return item, label

    def drawn_shares(self) -> tuple[IntArray, FloatArray]:
        """Items whose labels speak for others too, one row a label, and its classes, (n, C)."""
        told = [(self.item_of(q), label) for q, label in self.label_of.items() if is_told(label)]
        item = np.array([item for item, _ in told], dtype=np.int64)
        share = self.class_shares([label for _, label in told])
        known = self.problem.cells.known
        if known is None:
            return item, share
        spoken = known[self.problem.cells.of_item[item]] != KINDS["found"]
        return item[spoken], share[spoken]

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
