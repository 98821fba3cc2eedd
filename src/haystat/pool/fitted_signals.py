"""Signals that are fitted to labels: a linear model of what is known about the items.

Items are dealt into folds by their ids. A model that saw the labels of all folds but one scores the
items of that one, labelled or not. So no item is scored by a model that saw its label, and within a
fold items with a label are scored like those without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.errors import BadOption, BadSignal, LengthMismatch
from haystat.pool import checks
from haystat.pool.permanent_numbers import as_shares, permanent_numbers

N_FOLDS = 5
FOLDS = 0x666F6C64  # the seed by which items are dealt into folds
FEWEST = 5  # labels of each class that a model is fitted to
CHUNK = 1 << 14  # items that are scored at a time
WIDEST = 5.0  # standard deviations from the mean beyond which a feature counts no more
INSTALL = "a signal that is fitted needs scikit-learn: pip install 'haystat[features]'"


@dataclass(frozen=True, eq=False)
class FittedSignal:
    """What is known about `size` items: rows(index) are features (n, F), dense or sparse.

    Made by hs.signal_from_features and hs.signal_from_text, given to hs.Pool as a signal.
    """

    size: int
    rows: Callable[[IntArray], Any]

    def fitted(self, keys: NDArray[np.int64], item: IntArray, label: IntArray) -> FloatArray | None:
        """The signal (M,) after some labels: its rank within the fold, from 0 to 1.

        keys (M,) are those of the ids; label (n,), 0 or 1, is that of the items at `item`. None as
        long as there are too few labels of a class, or the features tell nothing.
        """
        from scipy.stats import rankdata  # takes half a second to import

        fold = (as_shares(permanent_numbers(keys, FOLDS)) * N_FOLDS).astype(np.int64)
        models = self._models(item, label, fold[item])
        if models is None:
            return None
        value = self._scores(models, fold)
        for number in range(N_FOLDS):
            inside = fold == number
            value[inside] = rankdata(value[inside]) / max(int(inside.sum()), 1)
        return None if np.ptp(value) == 0 else value

    def _models(self, item: IntArray, label: IntArray, fold: IntArray) -> FloatArray | None:
        """Coefficients of the model for the items of each fold, (K, F)."""
        others: list[BoolArray] = [fold != number for number in range(N_FOLDS)]
        if any(np.bincount(label[seen], minlength=2).min() < FEWEST for seen in others):
            return None
        features = self.rows(item)
        return np.stack([_logistic(features[seen], label[seen]) for seen in others])

    def _scores(self, models: FloatArray, fold: IntArray) -> FloatArray:
        """What the model of its fold says about each item, (M,)."""
        value = np.empty(self.size)
        for start in range(0, self.size, CHUNK):
            index = np.arange(start, min(start + CHUNK, self.size))
            of_models = np.asarray(self.rows(index) @ models.T)
            value[index] = of_models[np.arange(len(index)), fold[index]]
        return value


def signal_from_features(X: Any) -> FittedSignal:
    """A signal that is fitted to the labels as they come, from the features of the items.

    X: (M, F), one row an item in the order of the pool: an array, a table of numbers, or a sparse
    matrix of scipy. Missing values (NaN) count as the mean. The model is a logistic regression on
    features brought to one scale; give logarithms or products where these say more. Needs
    scikit-learn.

    >>> import numpy as np, haystat as hs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> label = (X[:, 0] + X[:, 1] > 2).astype(int)
    >>> pool = hs.Pool(X[:, 0] - 2, signals={"features": hs.signal_from_features(X)}, strata=16)
    >>> ev = hs.Evaluation(pool, "f1", random_state=0)
    >>> list(ev.run(lambda items: label[items], budget=300).signals)
    ['features']
    """
    require_sklearn()
    if hasattr(X, "tocsr"):
        return _from_sparse(X.tocsr())
    given = checks.checked_numbers("features", X, BadSignal)
    if given.ndim != 2 or 0 in given.shape:
        raise LengthMismatch(
            f"features have shape {given.shape}; give one row an item and one column a feature"
        )
    return FittedSignal(len(given), on_one_scale(given))


def on_one_scale(given: NDArray[Any]) -> Callable[[IntArray], FloatArray]:
    """Rows of features (M, F) with mean 0 and deviation 1; raises on infinities and constants."""
    if np.isinf(given).any():
        at = int(np.flatnonzero(np.isinf(given).any(axis=1))[0])
        raise BadSignal(f"a feature is infinite at position {at}; give numbers, NaN if missing")
    known = ~np.isnan(given)
    n = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, given, 0.0).sum(axis=0) / n
    deviation = np.sqrt(np.where(known, (given - mean) ** 2, 0.0).sum(axis=0) / n)
    useful = deviation > 0
    if not useful.any():
        raise BadSignal("all features are the same for every item and tell nothing; leave them out")
    kept, mean, deviation = given[:, useful], mean[useful], deviation[useful]

    def rows(index: IntArray) -> FloatArray:
        scaled = np.nan_to_num((kept[index] - mean) / deviation)
        return np.asarray(np.clip(scaled, -WIDEST, WIDEST))

    return rows


def _from_sparse(matrix: Any) -> FittedSignal:
    """Columns are divided by their largest entry, so that zeros stay."""
    from scipy.sparse import diags

    if not matrix.nnz or not np.isfinite(matrix.data).all():
        raise BadSignal("sparse features are empty, NaN or infinite; give finite numbers")
    largest = np.abs(matrix).max(axis=0).toarray().ravel()
    scaled = (matrix @ diags(1 / np.where(largest > 0, largest, 1.0))).tocsr()
    return FittedSignal(matrix.shape[0], lambda index: scaled[index])


def _logistic(features: Any, label: IntArray) -> FloatArray:
    """Coefficients (F,) of a ridge logistic regression in which both classes weigh the same."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # the same sums on every machine with the same libraries
        model = LogisticRegression(class_weight="balanced", max_iter=500).fit(features, label)
    return np.asarray(model.coef_[0], dtype=np.float64)


def require_sklearn() -> None:
    """Raise unless scikit-learn is installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise BadOption(INSTALL) from None


def checked_fitted(name: str, signal: FittedSignal, size: int) -> FittedSignal:
    """The signal, if it is about as many items as the pool has."""
    if signal.size != size:
        raise LengthMismatch(
            f"signal {name!r} is about {signal.size} items; the pool has {size}: give one row an "
            "item, in the order of the pool"
        )
    return signal
