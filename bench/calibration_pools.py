"""Pools with known labels, on which bench/calibration.py measures the default design.

A kind is a function that lists names, each with what makes the pool of that name. What is made is
kept in a folder, under a digest of the code that made it.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from scipy.special import expit, logit, softmax
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import calibration_generated
import calibration_odd
import haystat as hs
from calibration_generated import (
    NEWCOMER,
    SETTINGS,
    Made,
    classifiers,
    random_pool,
    random_traits,
    scored,
    scored_by,
    two_normals,
)
from haystat.demo.linkage import make_linkage_pool
from haystat.engines.side_tables import MISSED

CACHE = Path(tempfile.gettempdir()) / "haystat-calibration"
SHARED = Path(__file__).parents[2] / "shared" / "pools"
#: the systems of `shared` that the first default was tuned on
OLD = (
    *("abt-buy", "dblp-acm", "restaurant", "tweets100k"),
    *("covtype-cottonwood logreg", "covtype-cottonwood gbm", "covtype-cottonwood iforest"),
    *("kdd-smtp logreg", "kdd-smtp gbm"),
    *("mammography logreg", "mammography gbm", "mammography iforest"),
)
N_RANDOM = 20
#: what makes the pools of a kind, if not this file
MADE_BY = {
    "newcomer": calibration_generated,
    "generated": calibration_generated,
    "odd": calibration_odd,
}

Listed = Iterator[tuple[str, Callable[[], Made]]]


@dataclass(frozen=True)
class Known:
    """A pool and its labels: scores (M,) or (M, C), predictions and labels (M,).

    further are other arguments of hs.Pool.
    """

    kind: str
    name: str
    scores: np.ndarray
    predictions: np.ndarray
    labels: np.ndarray
    further: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def arguments(self) -> dict[str, Any]:
        """Those of hs.Pool."""
        n_classes = self.scores.shape[1] if self.scores.ndim > 1 else 2
        known = {"scores": self.scores, "predictions": self.predictions}
        return known | {"classes": tuple(range(n_classes))} | self.further


@dataclass(frozen=True)
class Places:
    """Where pools come from: the shared folder, the cache, and the seed of the random kinds."""

    shared: Path = SHARED
    cache: Path = CACHE
    seed: int = 0


def known_pools(
    kinds: Sequence[str], places: Places | None = None, only: str | None = None
) -> Iterator[Known]:
    """The pools of these kinds, made when they are asked for; `only` those with it in the name."""
    places = places or Places()
    for kind in kinds:
        for name, make in KINDS[kind](places):
            if only is None or only in name:
                made = make() if kind == "shared" else _cached(kind, name, make, places)
                yield Known(kind, name, *made)


def _cached(kind: str, name: str, make: Callable[[], Made], places: Places) -> Made:
    """What was made before, or is made now, by one thread."""
    source = MADE_BY[kind].__file__ if kind in MADE_BY else __file__
    digest = hashlib.sha256(Path(str(source)).read_bytes()).hexdigest()[:12]
    file = "".join(sign if sign.isalnum() or sign in ".-" else "_" for sign in f"{kind} {name}")
    path = places.cache / digest / f"{file}.npz"
    if not path.exists():
        with threadpool_limits(1):
            scores, predictions, labels, *further = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        small = {"predictions": predictions.astype(np.int8), "labels": labels.astype(np.int8)}
        part = path.with_suffix(".part.npz")
        np.savez(part, scores=scores, **small, **(further[0] if further else {}))
        part.rename(path)
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    hard = (kept.pop(name).astype(np.int64) for name in ("predictions", "labels"))
    return kept.pop("scores"), *hard, kept


def shared(places: Places) -> Listed:
    """Each system of the twelve pools of the shared folder."""
    for path in sorted(places.shared.glob("*.h5")):
        yield path.stem.split("-svm")[0], partial(_from_h5, path)
    for path in sorted(places.shared.glob("*.parquet")):
        frame = pd.read_parquet(path)
        for column in (c for c in map(str, frame) if c.startswith("score_")):
            system = column.removeprefix("score_")
            yield f"{path.stem} {system}", partial(_from_frame, frame, system)


def _from_h5(path: Path) -> Made:
    with h5py.File(path) as file:
        scores, labels = file["scores"][:].ravel(), file["labels"][:].ravel()
        given = file["preds"][:].ravel() if "preds" in file else scores >= 0
    return scores, given.astype(np.int64), labels.astype(np.int64)


def _from_frame(frame: pd.DataFrame, system: str) -> Made:
    given, labels = frame[f"pred_{system}"].to_numpy(), frame["label"].to_numpy()
    scores = frame[f"score_{system}"].to_numpy().astype(np.float64)
    return scores, given.astype(np.int64), labels.astype(np.int64)


def newcomer(_: Places) -> Listed:
    """What a newcomer tries first."""
    for classes in NEWCOMER:
        for name in classifiers():
            yield f"flip_y {classes.flipped:g}, {name}", partial(scored, classes, name)


def noise(_: Places) -> Listed:
    """Sensible scores, and predicted negatives that are positive at random."""
    for share in (0.001, 0.004):
        yield f"{share:.1%} of the negatives", partial(_noise, share)


def _noise(share: float) -> Made:
    rng = np.random.default_rng(11)
    raw, labels = two_normals(rng, 99_000, 1000, 4.5)
    scores = expit(2 * (raw - 3))
    given = scores >= 0.5
    labels[~given & (rng.random(len(labels)) < share)] = 1
    return scores, given.astype(np.int64), labels


def ties(_: Places) -> Listed:
    """Few distinct scores, or one that nearly all items share."""
    yield "two scores", _two_scores
    yield "95% at the lowest, with a third of the positives", _lowest_shared
    yield "one decimal", _one_decimal


def _two_scores() -> Made:
    rng = np.random.default_rng(12)
    given = np.arange(50_000) < 1500
    labels = rng.random(50_000) < np.where(given, 0.7, 0.005)
    return np.where(given, 0.9, 0.1), given.astype(np.int64), labels.astype(np.int64)


def _lowest_shared(
    n: int = 50_000, n_positive: int = 600, distance: float = 3.5, cut: float = 2.0
) -> Made:
    rng = np.random.default_rng(13)
    n_tied, hidden = n * 95 // 100, n_positive // 3
    found = n_positive - hidden
    raw, labels = two_normals(rng, n - n_tied - found, found, distance)
    scores = np.concatenate([expit(2 * (raw - cut)), np.zeros(n_tied)])
    labels = np.concatenate([labels, np.arange(n_tied) < hidden])
    return scores, (scores >= 0.5).astype(np.int64), labels


def _one_decimal() -> Made:
    raw, labels = two_normals(np.random.default_rng(14), 49_000, 1000, 3.0)
    scores = expit(1.5 * (raw - 2)).round(1)
    return scores, (scores >= 0.5).astype(np.int64), labels


def cluster(_: Places) -> Listed:
    """Positives of which some lie together at middle scores."""
    for n in (150, 400):
        yield f"{n} positives at middle scores", partial(_cluster, n)


def _cluster(n: int) -> Made:
    rng = np.random.default_rng(15)
    raw, labels = two_normals(rng, 50_000, 400, 4.5, 0.7)
    scores = expit(np.concatenate([raw, rng.normal(1.5, 0.05, n)]) - 3)
    return scores, (scores >= 0.5).astype(np.int64), np.concatenate([labels, np.ones(n, int)])


def all_positive(_: Places) -> Listed:
    """One prediction for all, or nearly all."""
    yield "precision 0.99", partial(_all_positive, 0.99)
    yield "precision 0.7", partial(_all_positive, 0.7)
    yield "all negative but 3", _all_negative


def _all_positive(precision: float, n: int = 20_000) -> Made:
    rng = np.random.default_rng(16)
    raw = rng.normal(0, 1, n)
    labels = rng.random(n) < expit(logit(precision) + 0.5 * raw)
    return 0.5 + expit(raw) / 2, np.ones(n, np.int64), labels.astype(np.int64)


def _all_negative() -> Made:
    raw, labels = two_normals(np.random.default_rng(17), 19_800, 200, 2.5)
    order = np.argsort(-raw)
    given = np.zeros(len(raw), np.int64)
    given[order[:3]] = 1
    return expit(2 * (raw - raw[order[2:4]].mean())), given, labels


def unblocked(_: Places) -> Listed:
    """Pairs outside the blocks: one score below all others, and as hs.open_pool takes them."""
    yield "310 matches among 2 million", lambda: _matcher()[:3]
    yield "310 matches among 2 million, opened", _matcher
    yield "people, blocked by city, opened", partial(_people, "city")
    yield "people, blocked by year of birth, opened", partial(_people, "born")


def _matcher() -> Made:
    raw, labels = two_normals(np.random.default_rng(18), 19_290, 710, 4.5)
    scores = expit(2 * (raw - 2.5))
    return _beyond(scores, (scores >= 0.5).astype(np.int64), labels, 2_000_000, 310)


def _people(field: str) -> Made:
    """The demo's records, some pairs of which no block holds."""
    pool = make_linkage_pool(1500, 1200, seed=3)
    left, right = (np.array([text[:4] for text in t[field]]) for t in (pool.left, pool.right))
    blocked = ((left[:, None] == right) & (left[:, None] != "")).ravel()
    inside = (a[blocked] for a in (pool.scores, pool.predictions, pool.labels))
    return _beyond(*inside, int((~blocked).sum()), int(pool.labels[~blocked].sum()))


def _beyond(
    scores: np.ndarray, predictions: np.ndarray, labels: np.ndarray, n: int, n_matches: int
) -> Made:
    """Blocked pairs and n others, with the stratum and the prior that engines give these."""
    expected = min(MISSED * scores.sum() / n, 1.0)
    further = {
        "strata": np.append(hs.Pool(scores, predictions).stratum + 1, np.zeros(n, np.int32)),
        "probabilities": np.append(scores, np.full(n, expected)),
    }
    below = np.full(n, np.nextafter(scores.min(), -np.inf))
    return (
        np.append(scores, below),
        np.append(predictions, np.zeros(n, np.int64)),
        np.append(labels, np.arange(n) < n_matches),
        further,
    )


def movies(_: Places) -> Listed:
    """Pairs of two catalogues: most share no word, and a third of the matches is among them."""
    yield "600 matches in 3 million", partial(_lowest_shared, 3_000_000, 600, 5.0, 3.5)


def multiclass(_: Places) -> Listed:
    """More than two classes."""
    yield "digits", _digits
    yield "four even classes", partial(_several, 4, 30_000, None, 20)
    yield "five classes, two rare", partial(_several, 5, 75_000, [0.69, 0.2, 0.1, 0.005, 0.005], 21)
    skewed, even = 0.65 ** np.arange(10), np.ones(10)
    yield "ten skewed classes", partial(_claimed, 8_000, skewed, np.log(skewed), 22)
    yield "ten skewed classes, trained on even ones", partial(_claimed, 8_000, skewed, 0 * even, 23)
    never = np.where(np.arange(10) == 0, -20.0, 0.0)
    yield "ten even classes, one never predicted", partial(_claimed, 8_000, even, never, 24)
    share = np.maximum(np.random.default_rng(25).dirichlet(np.full(30, 0.5)), 0.002)
    never = np.where(np.arange(30) < 6, -20.0, 0.0)
    yield "thirty classes, six never predicted", partial(_claimed, 12_000, share, never, 25)


def _digits() -> Made:
    digits = load_digits()
    order = np.random.default_rng(19).permutation(len(digits.target))
    x, y, n = digits.data[order] / 16, digits.target[order], 700
    return scored_by(LogisticRegression(max_iter=2000), x[:n], y[:n], x[n:], y[n:])


def _several(n_classes: int, size: int, weights: list[float] | None, seed: int) -> Made:
    x, y = make_classification(
        size,
        n_features=12,
        n_informative=6,
        n_classes=n_classes,
        n_clusters_per_class=1,
        weights=weights,
        class_sep=1.2,
        random_state=seed,
    )
    n = size // 3
    return scored_by(LogisticRegression(max_iter=1000), x[:n], y[:n], x[n:], y[n:])


def _claimed(size: int, share: np.ndarray, offset: np.ndarray, seed: int) -> Made:
    """Classes in these shares, by log scores with an offset for each class, right or wrong."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(len(share), size, p=share / share.sum())
    scores = rng.normal(size=(size, len(share))) + offset
    scores[np.arange(size), labels] += rng.gamma(4, 0.9, size)
    scores = softmax(scores, axis=1)
    return scores, scores.argmax(axis=1), labels


def generated(places: Places) -> Listed:
    """Five classifiers on generated classes, and pools of random traits."""
    for classes in SETTINGS:
        for name in classifiers():
            kind = f"{classes.share:.2%} of {classes.size:,}, {classes.flipped:.2%} flipped"
            yield f"{kind}, {name}", partial(scored, classes, name)
    for number in range(N_RANDOM):
        traits = random_traits(np.random.default_rng([places.seed, number]))
        name = f"random {places.seed}.{number}: {traits}"
        yield name, partial(random_pool, traits, (places.seed, number))


def odd(places: Places) -> Listed:
    """Where a score does not behave, as calibration_odd.py has it."""
    for number, (name, make) in enumerate(calibration_odd.ODD.items()):
        yield name, partial(make, np.random.default_rng((places.seed, number)))


KINDS: dict[str, Callable[[Places], Listed]] = {
    function.__name__: function
    for function in (
        *(shared, newcomer, noise, ties, cluster, all_positive),
        *(unblocked, movies, multiclass, generated, odd),
    )
}
