"""Generated pools: classes scored by classifiers that saw other items, and random traits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

Made = tuple[Any, ...]  # scores, predictions, labels; and other arguments of hs.Pool, if any


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
    features: int = 15
    informative: int = 6


SETTINGS = (
    Classes(120_000, 0.002, 1.5, clusters=1, seed=100),
    Classes(120_000, 0.005, 1.5, flipped=0.0005, seed=101),
    Classes(60_000, 0.01, 1.5, flipped=0.002, seed=102),
    Classes(60_000, 0.03, 1.0, seed=103),
    Classes(300_000, 0.0005, 2.0, clusters=1, seed=104),
    Classes(40_000, 0.1, 0.7, flipped=0.01, seed=105),
)
#: make_classification(200_000, weights=[0.995]), and fewer flipped labels than its default
NEWCOMER = tuple(
    Classes(200_000, 0.005, 1.0, flipped, seed=0, features=20, informative=2)
    for flipped in (0.0, 0.001, 0.01)
)


def classifiers() -> dict[str, Any]:
    """Five kinds, not fitted yet."""
    return {
        "logistic": LogisticRegression(max_iter=1000),
        "bayes": GaussianNB(),
        "forest": RandomForestClassifier(100, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
        "svm": LinearSVC(random_state=0),
    }


@lru_cache(maxsize=1)
def labelled(classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels."""
    features, label = make_classification(
        classes.size,
        n_features=classes.features,
        n_informative=classes.informative,
        n_clusters_per_class=classes.clusters,
        weights=[1 - classes.share],
        class_sep=classes.separation,
        flip_y=classes.flipped,
        random_state=classes.seed,
    )
    return features, label


def scored(classes: Classes, name: str) -> Made:
    """What a classifier says of two thirds of the items; it saw the others."""
    features, label = labelled(classes)
    seen, rest = slice(0, classes.size // 3), slice(classes.size // 3, None)
    return scored_by(classifiers()[name], features[seen], label[seen], features[rest], label[rest])


def scored_by(kind: Any, x: np.ndarray, y: np.ndarray, held: np.ndarray, label: np.ndarray) -> Made:
    """What a classifier fitted to (x, y) says of items that it did not see."""
    kind.fit(x, y)
    if not hasattr(kind, "predict_proba"):
        scores = kind.decision_function(held)
    else:
        scores = kind.predict_proba(held)
        scores = scores[:, 1] if scores.shape[1] == 2 else scores
    return scores, kind.predict(held).astype(np.int64), label.astype(np.int64)


def two_normals(
    rng: np.random.Generator, n_negative: int, n_positive: int, distance: float, spread: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels: negatives around 0, positives around `distance`."""
    positives = rng.normal(distance, spread, n_positive)
    scores = np.concatenate([rng.normal(0, 1, n_negative), positives])
    return scores, np.repeat([0, 1], [n_negative, n_positive])


@dataclass(frozen=True)
class Traits:
    """Of a random pool.

    distance and spread are those of the positives' scores from the negatives', in standard
    deviations; hidden is the share of positives scored like negatives, flipped that of items
    positive at random, tied that of items at the lowest score. The threshold misses the best one
    by `off`. The score shown is slope * (score - best) through the link.
    """

    size: int
    share: float
    distance: float
    spread: float
    off: float
    hidden: float
    flipped: float
    tied: float
    link: str
    slope: float

    def __str__(self) -> str:
        return (
            f"{self.size:,}, {self.share:.3%}, d {self.distance:.1f}, off {self.off:+.1f}, hidden "
            f"{self.hidden:.0%}, flipped {self.flipped:.2%}, tied {self.tied:.0%}, {self.link}"
        )


def random_traits(rng: np.random.Generator) -> Traits:
    """Each trait on its own; hidden, flipped and tied are none in half of the pools."""
    size = int(np.exp(rng.uniform(np.log(5e3), np.log(1e6))))
    share = max(float(np.exp(rng.uniform(np.log(1e-4), np.log(0.3)))), 20 / size)
    some = rng.random(3) < 0.5
    return Traits(
        size=size,
        share=share,
        distance=rng.uniform(1.5, 6.0),
        spread=rng.uniform(0.5, 1.5),
        off=rng.normal(0, 0.5),
        hidden=some[0] * rng.uniform(0, 0.4),
        # Drawn without regard to the score, but not so many that they are most positives.
        flipped=some[1] * rng.uniform(0, 1) ** 2 * min(0.02, share),
        tied=some[2] * rng.uniform(0, 0.95),
        link=str(rng.choice(["none", "logistic", "ranks", "cubed"])),
        slope=float(np.exp(rng.normal(0.5, 0.7))),
    )


def random_pool(traits: Traits, seed: tuple[int, int]) -> Made:
    """A pool with these traits."""
    rng = np.random.default_rng([*seed, 1])
    n_positive = round(traits.size * traits.share)
    raw, labels = two_normals(
        rng, traits.size - n_positive, n_positive, traits.distance, traits.spread
    )
    hides = (labels == 1) & (rng.random(traits.size) < traits.hidden)
    raw[hides] = rng.normal(0, 1, int(hides.sum()))
    labels[rng.random(traits.size) < traits.flipped] = 1
    order = np.argsort(-raw)
    n_given = np.arange(1, traits.size + 1)
    best = int(np.argmax(2 * np.cumsum(labels[order]) / (n_given + labels.sum())))
    cut = min(raw[order[best]] + traits.off, raw[order[2]])  # three items at least
    lowest = np.quantile(raw, traits.tied) if traits.tied else -np.inf
    raw = np.maximum(raw, min(lowest, raw[raw < cut].max()))
    scores = LINKS[traits.link](traits.slope * (raw - cut))
    return scores, (raw >= cut).astype(np.int64), labels


LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda raw: raw,
    "logistic": expit,
    "ranks": lambda raw: np.unique(raw, return_inverse=True)[1] / len(np.unique(raw)),
    "cubed": lambda raw: expit(raw) ** 3,
}
