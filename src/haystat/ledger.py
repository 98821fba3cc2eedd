"""Ledger: the fold of a log. It knows what was asked and answered, and what to draw next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from haystat.designs.base import Batch, Choice, Design, Problem, Sheet
from haystat.designs.replacement import ReplacementDesign
from haystat.errors import LogError
from haystat.estimation.missing import raised_weights
from haystat.estimation.rows import Rows
from haystat.log import NO_ANSWER, Answers, Event, Label, Stage
from haystat.measures.base import Measure
from haystat.measures.outputs import BoolArray, FloatArray, IntArray
from haystat.pool.base import AnyPool, Order

EMPTY = np.zeros(0, dtype=np.int64)
KEPT_STATES = 64  # of the latest stages, so that a slip is corrected without folding anew


def pose(pool: AnyPool, measure: Measure, oracle: str = "deterministic") -> Problem:
    """The problem a design works on: `measure`, bound to the pool, seen from its cells."""
    cells = pool.cells(measure)
    n_strata = pool.tree.n_strata
    size = np.bincount(cells.stratum, weights=cells.size, minlength=n_strata)
    prior = np.zeros((n_strata, cells.prior.shape[1]))
    np.add.at(prior, cells.stratum, cells.prior * cells.size[:, None])
    losses = pool.losses(measure, cells)
    stratum_size = size.astype(np.int64)
    prior /= size[:, None]
    return Problem(pool.size, measure, cells, losses, pool.tree, stratum_size, prior, oracle)


class Ledger:
    """Draws, answers and the design's state after some events.

    A stage is finished when it and all stages before it have their answers. Only finished stages
    reach the design. The estimate uses every answer: those of a stage that is not complete stand
    for the open ones of their cell, so that quick answers do not weigh more than slow ones.

    An item that nobody can label stays without one: it is drawn like any other, at no cost, and
    its draws drop out of the estimate. So the estimate speaks about the items that have labels.
    A corrected label counts everywhere, except that draws made before keep their weights.
    whole_stages: the estimate uses finished stages alone, as that of haystat 0.1.0 did.
    """

    whole_stages = False

    def __init__(self, problem: Problem, design: Design, candidates: Order, seed: int) -> None:
        self.problem = problem
        self.design = design
        self.seed = seed
        self.state: Any = design.start(problem, stage_rng(seed, 0))
        self.stages: list[Stage] = []
        self.n_finished = 0
        self.label_of: dict[int, Label] = {}
        self.stage_of: dict[int, int] = {}
        self._candidates = candidates
        self._asked = np.zeros(len(problem.cells), dtype=np.int64)
        self._unanswered: list[int] = []
        self._labels: list[IntArray] = []  # of the rows of each finished stage
        self._known_item, self._known_label = EMPTY, EMPTY
        self._known_cell = EMPTY
        self._unlabelled = EMPTY  # items of finished stages that nobody can label
        # The state before a stage, with the numbers of known and unlabelled items then.
        self._past: dict[int, tuple[Any, int, int]] = {}

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

    def apply(self, event: Event) -> None:
        """Take one event of the log into account."""
        if isinstance(event, Stage):
            self._add_stage(event)
        else:
            self._add_answers(event)
        while self.n_finished < len(self.stages) and not self._unanswered[self.n_finished]:
            self._finish(self.stages[self.n_finished])

    def rows(self) -> Rows:
        """All answered draws as arrays; their weights stand for the open ones as well."""
        stages = [self.stages[k] for k in self.counted]
        item, count, weight = self._draws(stages)
        number = np.repeat(self.counted, [len(stage.item) for stage in stages]).astype(np.int64)
        later = [self._told_labels(stage) for stage in stages[self.n_finished :]]
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
        return Rows(item, number, label, count, weight, stratum, last_weight)

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
        if begun and not isinstance(self.design, ReplacementDesign):
            begun = list(range(self.n_finished, begun[-1] + 1))
        return [*range(self.n_finished), *begun]

    @property
    def unanswered(self) -> list[int]:
        """Open questions of each stage."""
        return self._unanswered

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
        told = np.array([i in self.label_of for i in item.tolist()])
        one_by_one = isinstance(self.design, ReplacementDesign)
        stage = number if one_by_one else np.zeros_like(number)
        cell = self.problem.cells.of_item[item].astype(np.int64)
        raised, n_alone = raised_weights(stage, cell, count, weight, told, self.problem.cells)
        return told, raised, n_alone

    def _told_labels(self, stage: Stage) -> IntArray:
        """Labels of the rows of a stage; what is still open is like what nobody can tell."""
        labels = [self.label_of.get(item, NO_ANSWER) for item in stage.item.tolist()]
        return label_array(labels, self.problem)

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
        return any(label != NO_ANSWER for label in self.label_of.values())

    @property
    def n_asked(self) -> int:
        """Items asked about so far."""
        return int(self._asked.sum())

    @property
    def declined(self) -> IntArray:
        """Items that nobody can label, also of stages that are not finished, by cell, (K,)."""
        item = [i for i, label in self.label_of.items() if label == NO_ANSWER]
        cell = self.problem.cells.of_item[np.array(item, dtype=np.int64)]
        return np.bincount(cell, minlength=len(self.problem.cells))

    def told(self) -> tuple[IntArray, IntArray]:
        """All items that have a label, also of stages that are not finished, and their labels."""
        told = sorted((i, label) for i, label in self.label_of.items() if label != NO_ANSWER)
        item, label = np.array(told, dtype=np.int64).reshape(-1, 2).T
        return item, label

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
            choice.inclusion,
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
            stage, known = self.stage_of[item], self.label_of.get(item)
            self.label_of[item] = label
            if known is None:
                self._unanswered[stage] -= 1
            elif known != label and stage < self.n_finished:
                self._roll_back(stage)

    def _finish(self, stage: Stage) -> None:
        self._remember()
        new = np.arange(len(stage.item)) < stage.n_new
        label = label_array([self.label_of[i] for i in stage.item.tolist()], self.problem)
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
        if not isinstance(self.design, ReplacementDesign):
            return np.ones(len(item))
        proposal = self.design.propose(self.problem, self.state)
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


def stage_rng(seed: int, stage: int) -> np.random.Generator:
    """Randomness of a stage: from the seed and its number alone, so that nothing is stored."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stage,)))
