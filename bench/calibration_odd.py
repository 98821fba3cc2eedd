"""Pools as people have them where a score does not behave: rules, missing scores, strange shapes.

Each function makes scores, predictions and labels of 60,000 items or so from a generator of random
numbers. Most are two overlapping groups, to which something odd is done.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from calibration_generated import Made

N = 60_000
ODD: dict[str, Callable[[np.random.Generator], Made]] = {}


def odd(name: str) -> Callable[[Callable[[np.random.Generator], Made]], None]:
    """Enter a function that makes a pool under a name."""

    def enter(make: Callable[[np.random.Generator], Made]) -> None:
        ODD[name] = make

    return enter


def drawn(rng: np.random.Generator, share: float | np.ndarray, n: int = N) -> np.ndarray:
    """Labels (n,) that are positive with probability `share`."""
    return np.asarray(rng.random(n) < share, dtype=np.int64)


def groups(rng: np.random.Generator, share: float, gap: float = 5.5, low: float = -4.0) -> Made:
    """Logits of negatives around low, of positives `gap` above, and labels."""
    label = drawn(rng, share)
    return rng.normal(low, 1.4, N) + gap * label, label


def cut(score: np.ndarray, label: np.ndarray, threshold: float = 0.0) -> Made:
    """Predicted positive from the threshold on."""
    return score, (score >= threshold).astype(np.int64), label


@odd("positives at the very lowest scores")
def _bottom(rng: np.random.Generator) -> Made:
    score, label = groups(rng, 0.01, 5.0)
    fallen = (label == 1) & (rng.random(N) < 0.35)
    score[fallen] = rng.normal(-9, 0.8, fallen.sum())
    return cut(score, label)


@odd("positives at both ends of the score")
def _both_ends(rng: np.random.Generator) -> Made:
    score = rng.normal(0, 1, N)
    return cut(score, drawn(rng, expit(6 * (np.abs(score) - 2.6))), 2.3)


@odd("no score, -9999, for 1.5% of which a third is positive")
def _sentinel(rng: np.random.Generator) -> Made:
    score, label = groups(rng, 0.01)
    missing = rng.random(N) < 0.015
    score[missing], label[missing] = -9999.0, drawn(rng, 0.35, missing.sum())
    return cut(score, label)


@odd("no score, 0, for 2% of which 30% are positive")
def _zero(rng: np.random.Generator) -> Made:
    raw, label = groups(rng, 0.02, 4.5, -3.0)
    score, missing = expit(raw), rng.random(N) < 0.02
    score[missing], label[missing] = 0.0, drawn(rng, 0.3, missing.sum())
    return cut(score, label, 0.5)


@odd("a default value for 1% of which 15% are positive")
def _default_value(rng: np.random.Generator) -> Made:
    score, label = groups(rng, 0.008, 6.0)
    usual = rng.random(N) < 0.01
    score[usual], label[usual] = -4.0, drawn(rng, 0.15, usual.sum())
    return cut(score, label)


@odd("a rule adds low scores, 60% of them rightly")
def _added(rng: np.random.Generator) -> Made:
    score, label = groups(rng, 0.01)
    added = (rng.random(N) < 0.007) & (score < -2)
    label[added] = drawn(rng, 0.6, added.sum())
    return score, ((score >= 0) | added).astype(np.int64), label


@odd("a rule lets high scores pass, 5% of them wrongly")
def _let_pass(rng: np.random.Generator) -> Made:
    score, label = groups(rng, 0.015)
    passed = rng.random(N) < 0.01
    score[passed], label[passed] = rng.normal(2, 1, passed.sum()), drawn(rng, 0.05, passed.sum())
    return score, ((score >= 0) & ~passed).astype(np.int64), label


@odd("a third of the predicted wrong whatever the score, none missed")
def _confident(rng: np.random.Generator) -> Made:
    score, high = rng.normal(-5, 1.2, N), rng.random(N) < 0.02
    score[high] = rng.normal(4, 2, high.sum())
    return cut(score, drawn(rng, 0.67) * (score > 0))


@odd("negatives at the very highest scores")
def _campaign(rng: np.random.Generator) -> Made:
    score, label = groups(rng, 0.01)
    false = rng.random(N) < 0.003
    score[false], label[false] = rng.normal(9, 0.3, false.sum()), 0
    return cut(score, label)


@odd("a threshold far above a cliff")
def _cliff(rng: np.random.Generator) -> Made:
    score, label = np.sort(rng.normal(0, 1, N))[::-1], np.zeros(N, dtype=np.int64)
    label[:1300] = drawn(rng, 0.98, 1300)
    return cut(score, label, score[599])


@odd("half of the rare positives among the negatives")
def _half(rng: np.random.Generator) -> Made:
    score, label = groups(rng, 0.0015, 8.0, -5.0)
    fallen = (label == 1) & (rng.random(N) < 0.5)
    score[fallen] = rng.normal(-5, 1.4, fallen.sum())
    return cut(score, label)


@odd("positives of a new kind at middle scores")
def _new_kind(rng: np.random.Generator) -> Made:
    score, label = groups(rng, 0.01)
    new = (label == 1) & (rng.random(N) < 0.5)
    score[new] = rng.normal(-3.2, 0.9, new.sum())
    return cut(score, label)


@odd("three populations with scores of their own")
def _populations(rng: np.random.Generator) -> Made:
    of = rng.choice(3, N, p=[0.85, 0.12, 0.03])
    label = drawn(rng, np.array([0.003, 0.05, 0.3])[of])
    gap, low = np.array([5, 2, 1.0])[of], np.array([-4, -1, -5.0])[of]
    return cut(rng.normal(low, 1.2) + gap * label, label)


@odd("the better of two detectors")
def _two_detectors(rng: np.random.Generator) -> Made:
    label, first = drawn(rng, 0.006), rng.random(N) < 0.5
    one = rng.normal(-4, 1.3, N) + 6 * label * first
    other = rng.normal(-4, 1.3, N) + 2.5 * label * ~first
    return cut(np.maximum(one, other), label)


@odd("grades from 1 to 5, failures 8%")
def _grades(rng: np.random.Generator) -> Made:
    label = drawn(rng, 0.08)
    bad = rng.choice(5, N, p=[0.1, 0.08, 0.12, 0.3, 0.4])
    good = rng.choice(5, N, p=[0.75, 0.15, 0.06, 0.03, 0.01])
    return cut(np.where(label == 1, bad, good) + 1.0, label, 4.0)


@odd("grades from 1 to 5, failures 1%")
def _rare_grades(rng: np.random.Generator) -> Made:
    label = drawn(rng, 0.01)
    bad = rng.choice(5, N, p=[0.2, 0.1, 0.1, 0.2, 0.4])
    good = rng.choice(5, N, p=[0.45, 0.35, 0.15, 0.04, 0.01])
    return cut(np.where(label == 1, bad, good) + 1.0, label, 5.0)


@odd("twelve scores that say nothing")
def _checkerboard(rng: np.random.Generator) -> Made:
    level, share = rng.choice(12, N, p=rng.dirichlet(np.ones(12))), rng.beta(0.4, 1.6, 12)
    return cut(level / 11, drawn(rng, share[level]), 0.8)


@odd("no scores, predictions alone")
def _no_scores(rng: np.random.Generator) -> Made:
    label = drawn(rng, 0.03)
    predicted = drawn(rng, np.where(label == 1, 0.8, 0.01))
    return predicted.astype(float), predicted, label


@odd("scores as they come from a Cauchy distribution")
def _cauchy(rng: np.random.Generator) -> Made:
    label = drawn(rng, 0.015)
    return cut(0.5 * rng.standard_cauchy(N) - 3 + 4 * label, label)


@odd("worse than chance")
def _reversed(rng: np.random.Generator) -> Made:
    label = drawn(rng, 0.05)
    return cut(rng.normal(-1.5, 1, N) - 0.6 * label, label)


@odd("no error at all")
def _perfect(rng: np.random.Generator) -> Made:
    return cut(*groups(rng, 0.01, 20.0, -10.0))


@odd("three errors")
def _three_errors(rng: np.random.Generator) -> Made:
    score, label = groups(rng, 0.01, 20.0, -10.0)
    label[[np.argmax(score), *np.argsort(score)[[10, 30_000]]]] ^= 1
    return cut(score, label)
