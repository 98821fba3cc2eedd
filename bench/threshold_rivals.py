"""SUPG and BARGAIN by the formulas of their papers: thresholds with a guarantee, from few labels.

SUPG: Kang, Gan, Bailis, Hashimoto and Zaharia, "Approximate Selection with Guarantees using
Proxies" (VLDB 2020), algorithms 4 and 5. BARGAIN: Zeighami, Shankar and Parameswaran, "Cut Costs,
Not Accuracy: LLM-Powered Data Processing with Guarantees" (2025), its adaptive estimator for
precision and its uniform one for recall without an assumption about the density of positives.
A function takes scores (M,), an oracle of positions, a target, a budget and a generator, and gives
the threshold, or None. The proxy of both is a probability, so scores are given as such.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import numpy as np

FAILURE = 0.05
DEFENSIVE = 0.1  # of SUPG's draws are uniform
STEP = 100  # samples between two candidates of SUPG
N_CANDIDATES = 20  # thresholds that BARGAIN looks at
LARGEST_BET = 0.5

Answer = Callable[[np.ndarray], np.ndarray]


def supg_weights(score: np.ndarray) -> np.ndarray:
    """Probabilities of SUPG's draws: proportional to the root of the score, a tenth uniform."""
    root = np.sqrt(np.maximum(score, 0.0))
    total = root.sum()
    uniform = np.full(len(score), 1 / len(score))
    return uniform if total == 0 else (1 - DEFENSIVE) * root / total + DEFENSIVE * uniform


def reach(value: np.ndarray, failure: float) -> float:
    """Half-width of SUPG's bounds: sigma / sqrt(s) * sqrt(2 log(1 / delta))."""
    return float(value.std() / np.sqrt(len(value)) * np.sqrt(2 * np.log(1 / failure)))


def supg_recall(
    score: np.ndarray, answer: Answer, target: float, budget: int, rng: np.random.Generator
) -> float | None:
    """Algorithm 4: the sample's own threshold, at a target raised by the bounds of both sides."""
    chance = supg_weights(score)
    drawn = rng.choice(len(score), budget, p=chance)
    found = answer(drawn) / (len(score) * chance[drawn])
    at = score[drawn]

    def highest(target: float) -> float:
        order = np.argsort(-at)
        share = np.cumsum(found[order]) / found.sum()
        return float(at[order][np.argmax(share >= min(target, share[-1]))])

    if found.sum() == 0:
        return float(score.min())
    first = highest(target)
    above, below = found * (at >= first), found * (at < first)
    upper = above.mean() + reach(above, FAILURE / 2)
    lower = max(below.mean() - reach(below, FAILURE / 2), 0.0)
    return highest(upper / (upper + lower))


def supg_precision(
    score: np.ndarray, answer: Answer, target: float, budget: int, rng: np.random.Generator
) -> float | None:
    """Algorithm 5: half of the labels bound the matches, half look at what may be precise."""
    half = budget // 2
    chance = supg_weights(score)
    drawn = rng.choice(len(score), half, p=chance)
    found = answer(drawn) / (len(score) * chance[drawn])
    matches = len(score) * (found.mean() + reach(found, FAILURE / 2))
    n_kept = int(np.clip(matches / target, 1, len(score)))
    kept = np.flatnonzero(score >= np.partition(score, len(score) - n_kept)[len(score) - n_kept])
    chance = supg_weights(score[kept])
    picked = rng.choice(len(kept), half, p=chance)
    weight = 1 / (len(kept) * chance[picked])
    label, at = answer(kept[picked]), score[kept[picked]]
    order = np.argsort(-at)
    ends = np.arange(STEP, half + 1, STEP)
    passed = []
    for end in ends:
        inside = order[:end]
        share = weight[inside] * (label[inside] - target)  # of the ratio's numerator
        lower = share.mean() - reach(share, FAILURE / (2 * len(ends)))
        if lower >= 0:
            passed.append(float(at[inside].min()))
    return min(passed) if passed else None


def bet(values: np.ndarray, target: float, size: int, failure: float) -> bool:
    """Whether bets refute that the mean of `size` values, drawn one by one, is at most target.

    Waudby-Smith and Ramdas: capital grows by 1 + lambda (x - m), with the mean m that the values
    not yet drawn would have, and lambda from the values before.
    """
    n = len(values)
    if n == 0:
        return False
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    count = np.arange(n)
    mean = (before + 0.5) / (count + 1)
    spread = np.concatenate([[0.25], (np.cumsum((values - mean) ** 2) + 0.25) / (count + 2)])[:-1]
    rest = np.maximum((size * target - before) / np.maximum(size - count, 1), 0.0)
    if np.any(rest >= 1):
        return False
    largest = np.where(rest > 0, LARGEST_BET / np.maximum(rest, 1e-12), 1.0)
    stake = np.sqrt(2 * np.log(1 / failure) / (n * spread))
    capital = np.cumsum(np.log1p(np.minimum(stake, largest) * (values - rest)))
    return bool(capital.max() >= np.log(1 / failure))


def bargain_precision(
    score: np.ndarray, answer: Answer, target: float, budget: int, rng: np.random.Generator
) -> float | None:
    """From the highest candidate down, each is tested by labels drawn above it, until one fails."""
    order = np.argsort(-score, kind="stable")
    # Candidates at the ranks where a threshold may matter: even steps of the log of the rank.
    n_items = np.unique(np.geomspace(1, len(score), N_CANDIDATES + 1).astype(int))[1:]
    shuffled = rng.permutation(len(score))  # a uniform draw above any threshold, reused by all
    known: dict[int, float] = {}
    best = None
    for n in n_items:
        cut = score[order[n - 1]]
        inside = shuffled[score[shuffled] >= cut]
        done = 0
        while True:
            seen = inside[:done]
            values = np.array([known[i] for i in seen])
            if done and (done == len(inside) and values.mean() >= target):
                break
            if done and bet(values, target, len(inside), FAILURE):
                break
            if len(known) >= budget or done == len(inside):
                return best
            step = inside[done : done + 10]
            new = np.array([i for i in step if i not in known], dtype=np.int64)
            new = new[: budget - len(known)]
            known.update(zip(new.tolist(), answer(new).tolist(), strict=True))
            done += len(list(takewhile(known.__contains__, step.tolist())))
        best = float(cut)
    return best


def bargain_recall(
    score: np.ndarray, answer: Answer, target: float, budget: int, rng: np.random.Generator
) -> float | None:
    """The highest threshold above which enough of uniformly drawn positives lie."""
    drawn = rng.permutation(len(score))[:budget]
    positive = drawn[answer(drawn) == 1]
    at = score[positive]
    best = float(score.min())
    for cut in np.unique(at):  # ascending: the first that cannot be shown ends it
        if not bet((at >= cut).astype(float), target, 10**9, FAILURE):
            break
        best = float(cut)
    return best


RIVALS = {
    ("SUPG", "precision"): supg_precision,
    ("SUPG", "recall"): supg_recall,
    ("BARGAIN", "precision"): bargain_precision,
    ("BARGAIN", "recall"): bargain_recall,
}
