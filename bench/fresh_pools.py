"""Pools that no constant was set on: generated classes, scored by classifiers that saw others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC


@dataclass(frozen=True)
class Classes:
    """How to draw labelled items: `share` is that of the positives, `flipped` that of labels drawn
    without regard to the features, of which the positive ones lie anywhere."""

    size: int
    share: float
    separation: float
    flipped: float = 0.0
    clusters: int = 2
    seed: int = 1


SETTINGS = (
    Classes(120_000, 0.002, 1.5, clusters=1, seed=100),
    Classes(120_000, 0.005, 1.5, flipped=0.0005, seed=101),
    Classes(60_000, 0.01, 1.5, flipped=0.002, seed=102),
    Classes(60_000, 0.03, 1.0, seed=103),
    Classes(300_000, 0.0005, 2.0, clusters=1, seed=104),
    Classes(40_000, 0.1, 0.7, flipped=0.01, seed=105),
)


def classifiers() -> dict[str, Any]:
    """Five kinds, not fitted yet."""
    return {
        "logistic": LogisticRegression(max_iter=1000),
        "bayes": GaussianNB(),
        "forest": RandomForestClassifier(100, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
        "svm": LinearSVC(),
    }


def scored(classes: Classes) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Classifier, scores, predictions and labels of two thirds of the items; it saw the others."""
    features, label = make_classification(
        classes.size,
        n_features=15,
        n_informative=6,
        n_clusters_per_class=classes.clusters,
        weights=[1 - classes.share],
        class_sep=classes.separation,
        flip_y=classes.flipped,
        random_state=classes.seed,
    )
    seen, rest = slice(0, classes.size // 3), slice(classes.size // 3, None)
    for name, kind in classifiers().items():
        kind.fit(features[seen], label[seen])
        if hasattr(kind, "predict_proba"):
            scores = kind.predict_proba(features[rest])[:, 1]
        else:
            scores = kind.decision_function(features[rest])
        yield name, scores, kind.predict(features[rest]).astype(int), label[rest]
