"""Pool: the items to sample from, in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.errors import BadOption, UnknownItem, UnknownName
from haystat.measures.base import Measure
from haystat.measures.outputs import FloatArray, IntArray, Outputs, Schema
from haystat.pool import checks, prior
from haystat.pool.cells import Candidates, Cells, cell_codes, first_items
from haystat.pool.losses import CellLosses, equal_losses, mean_losses
from haystat.pool.order import permanent_numbers
from haystat.pool.strata import STRATIFIERS, assign, compact
from haystat.pool.tree import Tree, balanced_tree, tree_from_parents


class Pool:
    """Items that one or more systems have scored, and that nobody has labelled.

    scores: one array, or {system: array}. An (M, C) array holds one score a class.
    predictions: hard predictions in terms of `classes`; by default score >= threshold, where the
        threshold is 0.5 for scores in [0, 1] and 0 otherwise.
    probabilities: prior p(y|x) if known; by default what the scores claim.
    strata: how many strata to cut, or the stratum of each item.
    stratify: "csf", "geometric", "equal_width", "equal_size", or the inner edges. Probabilities
        are cut on the logit scale, except by "geometric" and given edges.
    branching: children of a node of the tree over the strata, or `parents` of a given tree.
    columns: further facts of the items, for sub-populations.
    seed: of the order in which items of a cell are asked about.

    >>> pool = Pool([0.1, 0.4, 0.8, 0.9], strata=2)
    >>> len(pool), pool.n_strata
    (4, 2)
    """

    def __init__(
        self,
        scores: ArrayLike | Mapping[str, ArrayLike],
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
        classes: Sequence[Any] = (0, 1),
        seed: int = 0,
    ) -> None:
        given = {name: checks.checked_scores(name, v) for name, v in checks.by_system(scores).items()}
        if not given:
            raise BadOption("no system has scores; give at least one")
        self.systems = tuple(given)
        self.classes = checks.checked_classes(classes)
        self.size = len(next(iter(given.values())))
        for name, values in given.items():
            checks.same_length(f"scores of {name!r}", values, self.size)
        self.seed = int(seed)
        self.ids, self._keys = checks.checked_ids(ids, self.size)
        self.columns = {name: np.asarray(values) for name, values in (columns or {}).items()}
        for name, column in self.columns.items():
            checks.same_length(f"column {name!r}", column, self.size)
        self._class_scores = given
        self._predictions = self._hard_predictions(predictions, threshold)
        self._given_prior = (
            None
            if probabilities is None
            else checks.checked_probabilities(probabilities, self.size, len(self.classes))
        )
        self.scores = _columns([_confidence(values) for values in given.values()])
        self.stratum = self._strata(strata, stratify)
        self.n_strata = int(self.stratum.max()) + 1
        self.tree = self._tree(branching, parents)
        low, high = self.scores.min(axis=0), self.scores.max(axis=0)
        self.schema = Schema(
            self.size,
            self.systems,
            len(self.classes),
            np.stack([low, high], axis=1),
            tuple(self.columns),
        )

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"Pool({self.size} items, systems {list(self.systems)}, {self.n_strata} strata)"

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        score: str | Sequence[str],
        id: str | None = None,
        prediction: str | Sequence[str] | None = None,
        columns: Sequence[str] = (),
        **options: Any,
    ) -> Pool:
        """A pool from the columns of a pandas, Polars or Arrow table."""
        table = nw.from_native(frame, eager_only=True)

        def column(name: str) -> NDArray[Any]:
            if name not in table.columns:
                raise UnknownName(f"no column {name!r}; the table has {table.columns}")
            return table[name].to_numpy()

        names = [score] if isinstance(score, str) else list(score)
        scores = {name: column(name) for name in names}
        predictions = None
        if prediction is not None:
            predicted = [prediction] if isinstance(prediction, str) else list(prediction)
            checks.same_length("prediction", predicted, len(names))
            predictions = {n: column(p) for n, p in zip(names, predicted, strict=True)}
        return cls(
            scores,
            predictions,
            ids=None if id is None else column(id),
            columns={name: column(name) for name in columns},
            **options,
        )

    def outputs(self, index: IntArray) -> Outputs:
        """What the systems say about the items at these positions."""
        columns = {name: values[index] for name, values in self.columns.items()}
        predictions = self._predictions[index].astype(np.int64)
        return Outputs(np.asarray(index), self.scores[index], predictions, columns)

    def cells(self, measure: Measure) -> Cells:
        """Group the items that `measure`, bound to this pool, cannot tell apart."""
        of_item = cell_codes(self.stratum, measure, self._everything())
        n_cells = int(of_item.max()) + 1
        size = np.bincount(of_item, minlength=n_cells)
        example = first_items(of_item, n_cells)
        shares = self._mean_prior(of_item, size)
        return Cells(self.stratum[example], size, shares, self.outputs(example), of_item)

    def losses(self, measure: Measure, cells: Cells) -> CellLosses:
        """What the losses of `measure` look like from the cells."""
        if measure.signature(cells.example) is not None:
            return equal_losses(measure, cells.example, len(self.classes))
        everything = self._everything()
        return mean_losses(measure, everything, cells.of_item, cells.size, len(self.classes))

    def candidates(self, cells: Cells, seed: int | None = None) -> Candidates:
        """The items of each cell in the order in which they are asked about."""
        u = permanent_numbers(self._keys, self.seed if seed is None else seed)
        return Candidates(cells, u)

    def index_of(self, item: Any) -> int:
        """Position of the item with this id."""
        position = self._positions.get(item.item() if isinstance(item, np.generic) else item)
        if position is None:
            raise UnknownItem(f"no item {item!r} in the pool of {self.size}")
        return position

    def id_of(self, index: int) -> Any:
        """The user's id of the item at a position."""
        return self.ids[index].item() if isinstance(self.ids[index], np.generic) else self.ids[index]

    @cached_property
    def fingerprint(self) -> str:
        """Digest of ids, scores, predictions and strata: a saved log is checked against it."""
        digest = hashlib.sha256()
        for values in (self._keys, self.scores, self._predictions, self.stratum):
            digest.update(np.ascontiguousarray(values).view(np.uint8))
        digest.update(repr((self.classes, self.systems)).encode())
        return digest.hexdigest()[:16]

    @cached_property
    def _positions(self) -> Mapping[Any, int]:
        if self.ids is self._keys:
            return _Range(self.size)
        return {value: position for position, value in enumerate(self.ids.tolist())}

    def _everything(self) -> Outputs:
        predictions: Any = self._predictions  # kept narrow: a wide copy would double the pool
        return Outputs(np.arange(self.size), self.scores, predictions, self.columns)

    def _hard_predictions(self, given: Any, threshold: float | None) -> NDArray[np.int16]:
        predictions = {} if given is None else checks.by_system(given)
        if given is not None and not isinstance(given, Mapping) and len(self.systems) == 1:
            predictions = {self.systems[0]: given}
        checks.checked_names("predictions", predictions, self.systems)
        result = []
        for name, scores in self._class_scores.items():
            if name in predictions:
                values = np.asarray(predictions[name])
                checks.same_length(f"predictions of {name!r}", values, self.size)
                result.append(checks.class_indices(f"predictions of {name!r}", values, self.classes))
            elif scores.ndim == 2:
                result.append(scores.argmax(axis=1).astype(np.int16))
            else:
                result.append((scores >= _threshold(scores, threshold)).astype(np.int16))
        return _columns(result)

    def _mean_prior(self, of_item: NDArray[np.int32], size: IntArray) -> FloatArray:
        """Mean prior p(y|x) of each cell, averaged over systems, (K, C)."""
        n_classes = len(self.classes)
        if self._given_prior is not None:
            return _group_means(self._given_prior, of_item, size)
        total = np.zeros((len(size), n_classes))
        for scores in self._class_scores.values():
            if scores.ndim == 2:
                total += _group_means(prior.class_probabilities(scores), of_item, size)
            elif n_classes == 2:
                positive = prior.positive_probability(scores)
                share = np.bincount(of_item, weights=positive, minlength=len(size)) / size
                total += np.stack([1 - share, share], axis=1)
            else:
                total += 1 / n_classes
        return total / len(self._class_scores)

    def _strata(self, strata: int | ArrayLike, stratify: str | ArrayLike) -> IntArray:
        if not isinstance(strata, int | np.integer):
            given = np.asarray(strata)
            checks.same_length("strata", given, self.size)
            if not np.issubdtype(given.dtype, np.integer) or given.min() < 0:
                raise BadOption("strata must be a number of strata or one integer from 0 an item")
            return compact(given, int(given.max()) + 1)
        if strata < 1:
            raise BadOption(f"strata is {strata}; it must be at least 1")
        if not isinstance(stratify, str):
            edges = np.asarray(stratify, dtype=np.float64)
            if np.any(np.diff(edges) <= 0):
                raise BadOption("the edges given as `stratify` must increase")
            return assign(self.scores[:, 0], edges)
        if stratify not in STRATIFIERS:
            raise UnknownName(f"stratify is {stratify!r}; it can be {list(STRATIFIERS)} or edges")
        values = self.scores[:, 0] if stratify == "geometric" else self._natural_scores()
        return assign(values, STRATIFIERS[stratify](values, int(strata)))

    def _natural_scores(self) -> FloatArray:
        """One score to cut strata on: the systems' mean on their natural scales."""
        if len(self.systems) == 1:
            return prior.natural_scale(self.scores[:, 0])
        return np.mean([prior.natural_scale(column) for column in self.scores.T], axis=0)

    def _tree(self, branching: int, parents: ArrayLike | None) -> Tree:
        if parents is not None:
            return tree_from_parents(np.asarray(parents), self.n_strata)
        return balanced_tree(self.n_strata, branching)


class _Range(Mapping[Any, int]):
    """Positions as their own ids, without a table as long as the pool."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __getitem__(self, item: Any) -> int:
        if isinstance(item, int) and 0 <= item < self._size:
            return item
        raise KeyError(item)

    def __iter__(self) -> Any:
        return iter(range(self._size))

    def __len__(self) -> int:
        return self._size


def _columns(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """(M, S) from S arrays (M,), without a copy when S is 1."""
    return parts[0][:, None] if len(parts) == 1 else np.stack(parts, axis=1)


def _confidence(scores: FloatArray) -> FloatArray:
    return scores if scores.ndim == 1 else scores.max(axis=1)


def _threshold(scores: FloatArray, threshold: float | None) -> float:
    if threshold is not None:
        return threshold
    return 0.5 if prior.looks_like_probabilities(scores) else 0.0


def _group_means(values: FloatArray, group: NDArray[np.int32], size: IntArray) -> FloatArray:
    sums = [np.bincount(group, weights=column, minlength=len(size)) for column in values.T]
    return np.stack(sums, axis=1) / size[:, None]
