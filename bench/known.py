"""Labels from before: what they save, whether intervals keep their coverage, and who is caught.

    python bench/known.py --repeats 40
    python bench/known.py --repeats 10 --kinds shared --largest 100000

Every way of having known labels gets the same number of further labels:
census: of the items with the highest scores. sample: drawn at random. found: of positives alone,
which somebody came across. by_score, by_label: claim to be a random sample, but items with high
scores, or positives, were five times as likely to be drawn. `flagged` is the share of runs with a
warning that the labels are not what they claim; `width` and `error` (root mean square) are relative
to those without known labels.

`best` is how often a sample that prefers positives could be caught at most: by the test that knows
how many positives the pool has and lets one honest sample in a hundred go wrong. No test does
better (Neyman and Pearson), for given the labels nothing else tells such a sample from an honest
one. A second line of totals has the pools where it reaches 90%.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import warnings
from collections import defaultdict
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import hypergeom, nchypergeom_wallenius

import haystat as hs
from calibration_pools import KINDS, Known, Places, known_pools

MEANS = ("covered", "flagged", "best")
FLAGS = ("The known", "The inclusion")
FAVOUR = 5.0
FALSE_ALARMS = 0.01
REACHED = 0.9


def main() -> None:
    """Measure and print."""
    args = _arguments()
    total: dict[str, list[dict[str, Any]]] = defaultdict(list)
    heads = ("pool", "way", "covered", "width", "error", "flagged", "best")
    print("{:40} {:9} {:>8} {:>6} {:>6} {:>8} {:>8}".format(*heads))
    for known in known_pools(args.kinds, Places(seed=args.seed), args.only):
        if known.scores.ndim > 1 or not 2000 < len(known.labels) <= args.largest:
            continue
        with multiprocessing.get_context("fork").Pool(args.jobs) as workers:
            found = workers.map(partial(_run, known, args), range(args.repeats))
        for way in args.ways:
            row = _summary([part[way] for part in found], [part["none"] for part in found])
            row["best"] = _best(known.labels, args.known) if way == "by_label" else np.nan
            total[way].append(row)
            _show(f"{known.kind} {known.name}"[:40], way, row)
    for way, rows in total.items():
        _show("all", way, _mean(rows))
    plain = [row for row in total.get("by_label", []) if row["best"] >= REACHED]
    if plain:
        _show(f"best at least {REACHED:.0%}", "by_label", _mean(plain))


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    means = {key: float(np.mean([row[key] for row in rows])) for key in MEANS}
    return means | {key: _geometric([row[key] for row in rows]) for key in ("width", "error")}


def _best(labels: np.ndarray, n: int) -> float:
    """Power of the best test against a sample of n that prefers positives."""
    size, positives, seen = len(labels), int(labels.sum()), np.arange(n + 1)
    rare = hypergeom.sf(seen - 1, size, positives, n) <= FALSE_ALARMS
    if not rare.any():
        return 0.0
    return float(nchypergeom_wallenius.sf(np.argmax(rare) - 1, size, positives, n, FAVOUR))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS))
    parser.add_argument("--only", help="pools with this in their name")
    parser.add_argument("--largest", type=int, default=10**8, help="items of a pool")
    parser.add_argument("--measure", default="f1")
    parser.add_argument("--design", default="assisted")
    parser.add_argument("--known", type=int, default=300, help="labels from before")
    parser.add_argument("--budget", type=int, default=200, help="labels asked for")
    parser.add_argument("--ways", type=lambda text: text.split(","), default=list(WAYS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def _run(known: Known, args: argparse.Namespace, repeat: int) -> dict[str, Any]:
    """Coverage, width and warnings of each way, in one repeat."""
    labels = known.labels
    pool = hs.Pool(**known.arguments)
    rng = np.random.default_rng(repeat)
    rows = {}
    for way in dict.fromkeys(("none", *args.ways)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluation = hs.Evaluation(
                pool,
                args.measure,
                args.design,
                known=WAYS[way](known, args.known, rng),
                random_state=repeat,
            )
            estimate = evaluation.run(lambda i: labels[np.asarray(i)], budget=args.budget)
        low, high = estimate.interval
        truth = _truth(evaluation, pool, labels)
        rows[way] = {
            "covered": low <= truth <= high,
            "width": high - low,
            "flagged": any(text.startswith(FLAGS) for text in estimate.warnings),
            "bias": estimate.value - truth,
        }
    return rows


def _truth(evaluation: Any, pool: Any, labels: np.ndarray) -> float:
    measure = evaluation.measure
    outputs = pool.outputs(np.arange(pool.size))
    risk = measure.risk(outputs, labels, np.full(pool.size, 1 / pool.size))
    return float(measure.value(risk)[0])


def _labels(known: Known, index: np.ndarray) -> dict[int, int]:
    return {int(i): int(known.labels[i]) for i in index}


def _census(known: Known, n: int, rng: np.random.Generator) -> Any:
    lowest = np.sort(known.scores)[-min(n, len(known.scores) // 4)]
    top = np.flatnonzero(known.scores >= lowest)
    if len(top) > 4 * n:  # a mass of equal scores is no region to label whole
        top = np.flatnonzero(known.scores > lowest)
    return hs.Known.census(_labels(known, top))


def _sample(known: Known, n: int, rng: np.random.Generator) -> Any:
    size = len(known.labels)
    return hs.Known.sample(_labels(known, rng.choice(size, n, replace=False)), n / size)


def _found(known: Known, n: int, rng: np.random.Generator) -> Any:
    positive = np.flatnonzero(known.labels)
    return _labels(known, rng.choice(positive, min(n, len(positive) // 2), replace=False))


def _favoured(known: Known, n: int, favour: np.ndarray, rng: np.random.Generator) -> Any:
    chance = np.where(favour, FAVOUR, 1.0)
    size = len(known.labels)
    drawn = rng.choice(size, n, replace=False, p=chance / chance.sum())
    return hs.Known.sample(_labels(known, drawn), n / size)


def _by_score(known: Known, n: int, rng: np.random.Generator) -> Any:
    return _favoured(known, n, known.scores >= np.quantile(known.scores, 0.9), rng)


def _by_label(known: Known, n: int, rng: np.random.Generator) -> Any:
    return _favoured(known, n, known.labels == 1, rng)


WAYS = {
    "none": lambda known, n, rng: None,
    "census": _census,
    "sample": _sample,
    "found": _found,
    "by_score": _by_score,
    "by_label": _by_label,
}


def _summary(rows: list[dict[str, Any]], plain: list[dict[str, Any]]) -> dict[str, float]:
    """Of one pool and way; widths and errors by those without known labels."""
    width, plain_width = (np.median([row["width"] for row in part]) for part in (rows, plain))
    error, plain_error = (
        float(np.sqrt(np.mean([row["bias"] ** 2 for row in part]))) for part in (rows, plain)
    )
    return {
        "covered": float(np.mean([row["covered"] for row in rows])),
        "flagged": float(np.mean([row["flagged"] for row in rows])),
        "width": float(width / plain_width),
        "error": error / max(plain_error, 1e-3),
    }


def _geometric(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-3)))))


def _show(name: str, way: str, row: dict[str, float]) -> None:
    print(
        f"{name:40} {way:9} {row['covered']:8.1%} {row['width']:6.2f} {row['error']:6.2f} "
        f"{row['flagged']:8.1%} {row['best']:8.1%}",
        flush=True,
    )


if __name__ == "__main__":
    main()
