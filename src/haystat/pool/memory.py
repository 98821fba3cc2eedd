"""Pool: the items to sample from, in memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.core.arguments import brief, checked_integer, checked_text, several_names
from haystat.core.arrays import FloatArray, IntArray
from haystat.display.card import Card
from haystat.display.shown import Shown
from haystat.errors import UnknownItem, UnknownName
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs, Schema
from haystat.measures.weighted import WeightBin, lightest
from haystat.pool import checks, prior
from haystat.pool.blocks import Blocks, cut
from haystat.pool.cells import Candidates, Cells, cell_codes, example_items
from haystat.pool.fingerprint import digest_of
from haystat.pool.fitted_signals import FittedSignal
from haystat.pool.frames import pool_arguments
from haystat.pool.ids import checked_ids
from haystat.pool.items import Items
from haystat.pool.known import KINDS, Known
from haystat.pool.losses import CellLosses, equal_losses, mean_losses
from haystat.pool.multi_label import multi_label_arguments
from haystat.pool.number_losses import given_deviation, number_losses, same_deviation
from haystat.pool.predictions import constant_scores, hard_predictions
from haystat.pool.same_items import BLOCK, SameItems, same_items
from haystat.pool.scales import natural_scores
from haystat.pool.shown import plot_pool, pool_card, pool_columns
from haystat.pool.signals import checked_signals, read_signals
from haystat.pool.strata import STRATIFIERS, assign, checked_edges, checked_strata, renumber
from haystat.pool.tree import Tree, balanced_tree, tree_from_parents
from haystat.pool.weight_signals import with_weights


class Pool(Shown):
    """Items that one or more systems have scored, and that nobody has labelled.

    scores: one array, or {system: array}. An (M, C) array holds one score a class. None if there
        are predictions alone: these are then expected to be right 95 times in 100.
    predictions: hard predictions in terms of `classes`; by default score >= threshold, where the
        threshold is 0.5 for scores in [0, 1] and 0 otherwise, or the class of the largest score.
    probabilities: prior p(y|x) if known, (M, C) or, of the second of two classes, (M,); by default
        what the scores claim.
    ids: integers or strings, all different; by default the positions 0 … M - 1.
    strata: how many strata to cut, or the stratum of each item.
    stratify: "csf", "geometric", "equal_width", "equal_size", or the inner edges. Probabilities
        are cut on the logit scale, scores that go beyond 50 on that of asinh, except by
        "geometric" and given edges. Several systems are cut on their mean, except by those two,
        which look at the first system.
    branching: children of a node of the tree over the strata.
    parents: a tree of your own instead: the parent of each node, -1 for the root.
    classes: the label values, the negative first; None if labels are numbers (regression). The
        scores are then predictions of the label.
    deviations: of labels that are numbers, the standard deviation of each item's error as the
        system itself sees it; strata are then cut on it.
    columns: further facts of the items, for sub-populations.
    signals: {name: one value an item}, other information about the items that is not evaluated:
        the score of an old model, a judge's verdict, a category; any scale, missing allowed; or
        hs.signal_from_features(…), hs.signal_from_text(…). The default design learns from the
        labels what each is worth.
    weight: what each item counts (views, money), at least 0; or the name of one of the columns. All
        measures are then weighted, as with scikit-learn's `sample_weight`, and labels go to what
        weighs more.
    seed: fixes the order in which items of a cell are asked about; by default every evaluation
        has an order of its own, by its random_state.

    >>> pool = Pool([0.1, 0.4, 0.8, 0.9], strata=2)
    >>> len(pool), pool.n_strata
    (4, 2)
    """

    def __init__(
        self,
        scores: ArrayLike | Mapping[str, ArrayLike] | None = None,
        predictions: ArrayLike | Mapping[str, ArrayLike] | None = None,
        *,
        probabilities: ArrayLike | None = None,
        threshold: float | None = None,
        ids: ArrayLike | None = None,
        strata: int | ArrayLike = 256,
        stratify: str | ArrayLike = "csf",
        branching: int = 2,
        parents: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        signals: Mapping[str, ArrayLike | FittedSignal] | None = None,
        classes: Sequence[Any] | None = (0, 1),
        deviations: ArrayLike | None = None,
        weight: ArrayLike | str | None = None,
        seed: int | None = None,
    ) -> None:
        if classes is None:
            checks.only_for_classes(
                predictions=predictions, probabilities=probabilities, threshold=threshold
            )
        self.classes = () if classes is None else checks.checked_classes(classes)
        without = constant_scores(predictions) if scores is None else None
        self._class_scores = checks.checked_systems(
            scores if without is None else without, len(self.classes)
        )
        self.systems = tuple(self._class_scores)
        self.size = len(next(iter(self._class_scores.values())))
        self.seed = None if seed is None else checks.checked_seed(seed)
        self._ids = checked_ids(ids, self.size)
        self.columns, self._weight = checks.checked_weight(
            weight, checks.checked_columns(columns, self.size), self.size
        )
        self._deviations = checks.checked_deviations(deviations, self.size, classes is None)
        self._predictions = (
            np.zeros((self.size, len(self.systems)), dtype=np.int16)  # there are none
            if classes is None
            else _columns(
                hard_predictions(predictions, self._class_scores, threshold, self.classes)
            )
        )
        self._given_prior = None
        if probabilities is not None:
            self._given_prior = checks.checked_probabilities(
                probabilities, self.size, len(self.classes)
            )
        elif without is not None:
            self._given_prior = prior.trusted(self._predictions, len(self.classes))
        self._signal_values, self.to_fit = checked_signals(signals, self.size, self.classes)
        self.signals = read_signals(self._signal_values, self._predictions)
        self.scores = _columns([prior.single_scores(v) for v in self._class_scores.values()])
        self.stratum = self._strata(strata, stratify)
        self.n_strata = int(self.stratum.max()) + 1
        self.tree = self._tree(branching, parents)
        self.schema = Schema(
            self.size,
            self.systems,
            len(self.classes),
            np.stack([self.scores.min(axis=0), self.scores.max(axis=0)], axis=1),
            tuple(self.columns),
            tuple(str(label) for label in self.classes),
            scored=without is None,
            weight=self._weight,
            light=-64 if self._weight is None else lightest(self.columns[self._weight]),
        )

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"Pool({self.size} items, systems {list(self.systems)}, {self.n_strata} strata)"

    def plot(self, ax: Any = None) -> Any:
        """Draw how many items have which score of the first system; returns the axes."""
        return plot_pool(self, self._predictions, ax)

    def _card(self) -> Card:
        return pool_card(self, self._predictions)

    def _columns(self) -> dict[str, Any]:
        return pool_columns(self, self._predictions)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        score: str | Sequence[str],
        id: str | None = None,
        prediction: str | Sequence[str] | None = None,
        columns: Sequence[str] = (),
        weight: str | None = None,
        signals: Sequence[str] | Mapping[str, Any] = (),
        **options: Any,
    ) -> Pool:
        """A pool from the columns of a pandas, Polars or Arrow table.

        Several score columns are several systems, named like the columns. weight: the column that
        says what an item counts. signals: columns, or {name: column or hs.signal_from_text(…)}.
        `options` are those of Pool.
        """
        names = several_names("columns", columns)
        weight = None if weight is None else checked_text("weight", weight)
        needed = (*names, *([weight] if weight is not None and weight not in names else ()))
        arguments = pool_arguments(frame, score, id, prediction, needed, signals)
        return cls(**arguments, weight=weight, **options)

    @classmethod
    def multi_label(
        cls,
        scores: Mapping[str, ArrayLike],
        predictions: Mapping[str, ArrayLike] | None = None,
        *,
        threshold: float | Mapping[str, float] | None = None,
        ids: ArrayLike | None = None,
        strata: int = 256,
        classes: Sequence[Any] = (0, 1),
        **options: Any,
    ) -> Pool:
        """A pool of items that may have several labels: {label: one score an item}.

        Every pair of an item and a label is a yes or no, with the id "item/label" and the columns
        `item` and `label`. threshold: one for all labels, or {label: threshold}. `options` are
        those of Pool. measures.PerLabel estimates a measure of each label and its averages.

        >>> Pool.multi_label({"cat": [0.1, 0.9], "dog": [0.8, 0.2]}).ids.tolist()
        ['0/cat', '1/cat', '0/dog', '1/dog']
        """
        given = multi_label_arguments(scores, predictions, threshold, ids, strata, classes)
        return cls(**given, **options)

    @property
    def ids(self) -> NDArray[Any]:
        """The id of each item, (M,)."""
        return self._ids.values

    def class_scores(self, system: str) -> FloatArray:
        """The scores of a system as they were given: (M,), or (M, C) with one for each class."""
        return np.asarray(self._class_scores[system])

    def outputs(self, index: IntArray) -> Outputs:
        """What the systems say about the items at these positions."""
        columns = {name: values[index] for name, values in self.columns.items()}
        predictions = self._predictions[index].astype(np.int64)
        return Outputs(np.asarray(index), self.scores[index], predictions, columns)

    def items(self, measure: Measure) -> Items:
        """All items, by the cells of a measure."""
        predicted = np.asarray(self.classes)[self._predictions]
        named = {name: predicted[:, place] for place, name in enumerate(self.systems)}
        of_item = self.cells(measure).of_item
        scores, columns = self._class_scores, self.columns
        return Items(self.ids, of_item, self.classes, scores, named, columns, self._weight)

    def cells(self, measure: Measure) -> Cells:
        """Group the items that `measure`, bound to this pool, cannot tell apart."""
        of_item = cell_codes(self._parts(), measure, self._blocks())
        if self._marks is not None:
            of_item = renumber(of_item.astype(np.int64) * (max(KINDS.values()) + 1) + self._marks)
        n_cells = int(of_item.max()) + 1
        size = np.bincount(of_item, minlength=n_cells)
        example = example_items(of_item, n_cells, self._predictions)
        shares = self._mean_prior(of_item, size)
        stratum = self.stratum[example].astype(np.int64)
        known = None if self._marks is None else self._marks[example].astype(np.int64)
        outputs, told = self.outputs(example), None
        if self.signals is not None:
            told = self.signals.of_cells(of_item, size, example)
        if self._is_weighted(measure):
            chosen = np.bincount(of_item, 2 * self._predictions.sum(axis=1) > len(self.systems))
            parts = size, chosen.astype(np.int64), np.arange(n_cells)
            told = with_weights(told, measure, outputs, *parts)
        return Cells(stratum, size, shares, outputs, of_item, known, told)

    def _is_weighted(self, measure: Measure) -> bool:
        """Whether the weights of items go into the model of the labels."""
        facts = measure.facts() or ()
        return len(self.classes) == 2 and any(isinstance(fact, WeightBin) for fact in facts)

    def losses(self, measure: Measure, cells: Cells) -> CellLosses:
        """What the losses of `measure` look like from the cells."""
        if not self.classes:
            deviation = self._deviation(cells)
            return number_losses(
                measure, self.outputs, self.candidates(cells), cells.size, deviation
            )
        if measure.signature(cells.example) is not None:
            return equal_losses(measure, cells.example, len(self.classes))
        n_classes = len(self.classes)
        return mean_losses(measure, self._blocks(), cells.of_item, cells.size, n_classes)

    def candidates(self, cells: Cells, seed: int | None = None) -> Candidates:
        """The items of each cell in the order in which they are asked about."""
        seed = self.seed if seed is None else seed
        return Candidates(cells, self._ids, 0 if seed is None else seed)

    def ordered(self, seed: int) -> Self:
        """The same pool in the order of this seed, unless it has one of its own."""
        if self.seed is not None:
            return self
        pool = copy.copy(self)
        pool.seed = seed
        return pool

    def with_known(self, known: Sequence[Known]) -> Self:
        """The same pool, in which items with a known label have cells of their own."""
        if not known:
            return self
        pool = copy.copy(self)
        pool._marks = np.zeros(self.size, dtype=np.int8)
        for part in known:
            index = [self.index_of(item) for item in part.labels]
            pool._marks[index] = KINDS[part.kind]
        if self.to_fit:
            labels = {self.index_of(i): one for part in known for i, one in part.labels.items()}
            digest = self.fingerprint  # known labels are recorded beside it
            pool = pool.fitted(np.array(list(labels)), list(labels.values()))
            pool.__dict__["fingerprint"] = digest
        return pool

    def fitted(self, item: IntArray, label: Sequence[Any]) -> Self:
        """The same pool with its signals to be fitted as they are after labels (n,) of items."""
        number = np.array([self.classes.index(one) for one in label], dtype=np.int64)
        keys = self._ids.keys(0, self.size)
        found = {name: one.fitted(keys, item, number) for name, one in self.to_fit.items()}
        told = {name: values for name, values in found.items() if values is not None}
        pool = self.with_signal(**told)
        pool._signal_values = self._signal_values  # to be fitted anew after more labels
        return pool

    def with_signal(self, **values: NDArray[Any]) -> Self:
        """The same pool with further signals, or with others in their place."""
        pool = copy.copy(self)
        pool.__dict__.pop("fingerprint", None)
        pool._signal_values = {**self._signal_values, **values}
        pool.signals = read_signals(pool._signal_values, self._predictions)
        return pool

    def index_of(self, item: Any) -> int:
        """Position of the item with this id."""
        position = self._ids.index_of(item)
        if position is None:
            raise UnknownItem(
                f"no item {brief(item)} in the pool of {self.size}; ids look like {self.id_of(0)!r}"
            )
        return position

    def id_of(self, index: int) -> Any:
        """The user's id of the item at a position."""
        return self._ids.id_of(index)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of all that draws depend on but the seed: a saved log is checked against it."""
        parts: list[NDArray[Any]] = [self._ids.keys(0, self.size), *self._class_scores.values()]
        parts += [self._predictions, self.stratum, self.tree.parent, self.tree.leaf]
        parts += [] if self._given_prior is None else [self._given_prior]
        parts += [] if self._deviations is None else [self._deviations]
        parts += self.columns.values()
        names: tuple[Any, ...] = (self.classes, self.systems, tuple(self.columns))
        names += () if self._weight is None else (self._weight,)
        if self.signals is not None:
            parts += [self.signals.band, self.signals.place]
            names += (self.signals.names,)
        return digest_of(repr(names), parts)

    def blocks(self, problem: Any, measure: Measure) -> Blocks:
        """The items cut by the cells of a problem and by what a measure sees of them."""
        return cut(self, problem.cells, measure, len(self.classes))

    def seen_by(self, other: Any) -> SameItems:
        """Another pool of the same items, by the positions of this one; raises if it is not."""
        return same_items(self, other)

    _marks: NDArray[np.int8] | None = None  # how each item's label came to be known
    complete = True  # whether all items are at hand
    foreign = False  # whether items were drawn by what other systems say about them

    def specimens(self, cells: Cells) -> Iterator[Outputs]:
        """The items that are at hand, some at a time: all of them."""
        return self._blocks()

    def _blocks(self) -> Iterator[Outputs]:
        """The outputs of all items, some at a time: what is kept narrow is made wide here."""
        for start in range(0, self.size, BLOCK):
            stop = min(start + BLOCK, self.size)
            rows = slice(start, stop)
            columns = {name: values[rows] for name, values in self.columns.items()}
            predictions = self._predictions[rows].astype(np.int64)
            yield Outputs(np.arange(start, stop), self.scores[rows], predictions, columns)

    def _mean_prior(self, of_item: NDArray[np.int32], size: IntArray) -> FloatArray:
        """Mean prior p(y|x) of each cell, (K, C); of numbers there is one kind, (K, 1)."""
        if not self.classes:
            return np.ones((len(size), 1))
        if self._given_prior is not None:
            shares = prior.group_means(self._given_prior, of_item, size)
        else:
            systems = self._class_scores.values()
            shares = prior.mean_prior(systems, of_item, size, len(self.classes))
        return prior.kept_possible(shares)

    def _parts(self) -> NDArray[np.int32]:
        """What cells are cut from, (M,): strata, by the pattern of the signals if there are any."""
        if self.signals is None:
            return self.stratum
        n_patterns = int(self.signals.pattern.max()) + 1
        return renumber(self.stratum.astype(np.int64) * n_patterns + self.signals.pattern)

    def claimed(self) -> tuple[IntArray, FloatArray]:
        """Size of each stratum, and the positive share that its scores claim, (L,) each."""
        size = np.bincount(self.stratum, minlength=self.n_strata)
        return size, prior.rounded(self._mean_prior(self.stratum, size)[:, 1])

    def _deviation(self, cells: Cells) -> FloatArray:
        """Prior standard deviation of a label in each cell, (K,)."""
        if self._deviations is None:
            return same_deviation(float(self.scores.mean(axis=1).std()), len(cells))
        total = np.bincount(cells.of_item, weights=self._deviations**2, minlength=len(cells))
        return given_deviation(total.astype(np.float64), cells.size)

    def _strata(self, strata: int | ArrayLike, stratify: str | ArrayLike) -> NDArray[np.int32]:
        if checks.as_array("strata", strata).ndim > 0:
            return checked_strata(strata, self.size)
        n_strata, numeric = checks.checked_cuts(strata), not self.classes
        if not isinstance(stratify, str):
            return assign(self.scores[:, 0], checked_edges(stratify))
        if stratify not in STRATIFIERS:
            raise UnknownName(f"stratify is {stratify!r}; it can be {list(STRATIFIERS)} or edges")
        if self._deviations is not None:
            values = self._deviations
        else:
            values = (
                self.scores[:, 0]
                if stratify == "geometric"
                else natural_scores(self.scores, numeric)
            )
        return assign(values, STRATIFIERS[stratify](values, n_strata))

    def _tree(self, branching: int, parents: ArrayLike | None) -> Tree:
        if parents is not None:
            return tree_from_parents(checks.checked_parents(parents), self.n_strata)
        return balanced_tree(self.n_strata, checked_integer("branching", branching, smallest=2))


def _columns(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """(M, S) from S arrays (M,), without a copy when S is 1."""
    return parts[0][:, None] if len(parts) == 1 else np.stack(parts, axis=1)
