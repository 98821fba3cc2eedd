"""A pool from a fitted classifier or regressor: anything with scikit-learn's methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.core.arguments import checked_text
from haystat.errors import BadOption
from haystat.pool.memory import Pool


def from_estimator(
    estimator: Any,
    X: Any,
    *,
    ids: ArrayLike | None = None,
    threshold: float | None = None,
    name: str | None = None,
    **options: Any,
) -> Pool:
    """The items X as a fitted estimator scores them.

    Scores are those of predict_proba, else of decision_function; predictions are those of
    `predict`, unless two classes are cut at a `threshold` of the score. A regressor makes a pool
    whose labels are numbers. name: of the system, by default that of the estimator's class.
    options are those of hs.Pool.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> pool = from_estimator(model, [[0.5], [2.5]], strata=2)
    >>> pool.classes, pool.systems
    (('no', 'yes'), ('LogisticRegression',))
    """
    system = type(estimator).__name__ if name is None else checked_text("name", name)
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return _of_numbers(estimator, X, ids, threshold, system, options)
    if isinstance(classes, list) or np.ndim(classes) != 1:
        raise BadOption(f"{system} predicts several outputs at once; make a pool for each")
    labels = tuple(np.asarray(classes).tolist())
    scores = _scores(estimator, X, system, len(labels))
    if threshold is not None and scores.ndim != 1:
        raise BadOption(f"a threshold is for two classes, {system} has {len(labels)}")
    predictions = None if threshold is not None else {system: np.asarray(estimator.predict(X))}
    return Pool(
        {system: scores}, predictions, threshold=threshold, ids=ids, classes=labels, **options
    )


def _scores(estimator: Any, X: Any, system: str, n_classes: int) -> NDArray[np.float64]:
    """One score an item of two classes, (M,), else one a class, (M, C)."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            scores = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
            return scores[:, 1] if scores.ndim == 2 and n_classes == 2 else scores
    raise BadOption(
        f"{system} has neither predict_proba nor decision_function; give hs.Pool scores of your own"
    )


def _of_numbers(
    estimator: Any,
    X: Any,
    ids: ArrayLike | None,
    threshold: float | None,
    system: str,
    options: dict[str, Any],
) -> Pool:
    if not hasattr(estimator, "predict"):
        raise BadOption(f"a {system} has no predict(); give a fitted estimator")
    if hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function"):
        raise BadOption(f"{system} has no classes_; is it fitted?")
    if threshold is not None:
        raise BadOption(f"a threshold is for two classes, {system} predicts numbers")
    return Pool({system: np.asarray(estimator.predict(X))}, ids=ids, classes=None, **options)
