"""Coverage of what was not drawn for: groups, models that came later, differences of systems.

    python bench/reuse.py --repeats 24

Labels are drawn for the F1 of one system of a pool. From the same labels come the recall within
three groups whose labels go with the score in other ways, recall and prevalence of a minority for
whom the score says as much, little or nothing, the F1 of another system that nobody knew of, and,
in a pool of both systems, the difference of their F1. Real pools are those of ../shared/pools; a
cell is one measure of a pool at one number of labels. Widths are means over the evaluations. Where
a measure is undefined (0/0) in most draws there is no interval, and none is counted.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import haystat as hs
from calibration_pools import SHARED
from haystat.core.arrays import FloatArray, IntArray
from haystat.measures import F1, Difference, Measure, Prevalence, Recall, Within, bound
from haystat.pool.memory import Pool

BUDGETS = (200, 800)
SYSTEMS = {
    "mammography": ("logreg", "gbm", "iforest"),
    "covtype-cottonwood": ("logreg", "gbm", "iforest"),
    "kdd-smtp": ("logreg", "gbm", "iforest"),
    "celeba": ("logreg", "gbm", "iforest", "nb"),
    "aloi": ("logreg", "gbm", "iforest", "nb"),
}
Case = tuple[str, Pool, Pool | None, Measure, list[Measure], IntArray]


def cases(shared: Path) -> Iterator[Case]:
    """Name, pool drawn from, pool asked about, measure drawn for, measures asked, labels."""
    yield from _groups()
    yield from _minorities()
    for name, systems in SYSTEMS.items():
        table = pd.read_parquet(shared / f"{name}.parquet")
        labels = table["label"].to_numpy().astype(np.int64)
        for first, second in zip(systems, (*systems[1:], systems[0]), strict=True):
            of = f"{name} {first}, {second}"
            one, other, both = (
                _pool(table, names) for names in ((first,), (second,), (first, second))
            )
            yield f"later: {of}", one, other, F1(), [F1()], labels
            gap = Difference(F1(), first, second)
            yield f"difference: {of}", both, None, gap, [gap], labels


def _pool(table: pd.DataFrame, systems: tuple[str, ...]) -> Pool:
    scores = {system: table[f"score_{system}"].to_numpy() for system in systems}
    said = {system: table[f"pred_{system}"].to_numpy().astype(int) for system in systems}
    return hs.Pool(scores, said)


def _groups() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    size = 40_000
    group = rng.choice(3, size, p=[0.6, 0.3, 0.1])
    scores = rng.normal(-4, 2, size)
    recalls: list[Measure] = [Within(Recall(), column="group", equals=k) for k in range(3)]
    for shift in ((0, 0, 0), (0, 1.5, -1.5), (0, -2, 2.5)):
        chance = 1 / (1 + np.exp(-1.3 * scores - np.array(shift)[group]))
        labels = (rng.random(size) < chance).astype(np.int64)
        pool = hs.Pool(scores, threshold=0.0, columns={"group": group})
        yield f"groups: shifted by {shift}", pool, None, F1(), recalls, labels


def _minorities() -> Iterator[Case]:
    """A tenth of the items, whose positives have scores that are higher by less, or by nothing."""
    size = 20_000
    inside: list[Measure] = [
        Within(one, column="minor", equals=True) for one in (Recall(), Prevalence())
    ]
    for what, gap in (("alike", 5.5), ("weak", 1.5), ("useless", 0.0)):
        for number in range(4):
            rng = np.random.default_rng(number)
            minor = rng.random(size) < 0.1
            labels = (rng.random(size) < np.where(minor, 0.03, 0.015)).astype(np.int64)
            scores = rng.normal(-4, 1.3, size) + np.where(minor, gap, 5.5) * labels
            pool = hs.Pool(scores, threshold=0.0, columns={"minor": minor})
            yield f"minority, score {what}: {number}", pool, None, F1(), inside, labels


def true_values(pool: Pool, measure: Measure, labels: IntArray) -> FloatArray:
    """The measure by all labels."""
    known = bound(measure, pool.schema)
    everything = pool.outputs(np.arange(pool.size))
    return known.value(known.risk(everything, labels, np.full(pool.size, 1 / pool.size)))


def covered(case: Case, repeats: int, slopes: list[float]) -> FloatArray:
    """Share of intervals that cover and their mean width, (2, budgets, measures)."""
    _, pool, other, drawn_for, measures, labels = case
    truth = [true_values(other or pool, measure, labels)[0] for measure in measures]
    found = np.zeros((3, len(BUDGETS), len(measures)))
    for seed in range(repeats):
        evaluation = hs.Evaluation(pool, drawn_for, random_state=seed, group_slope_sds=slopes)
        for row, budget in enumerate(BUDGETS):
            evaluation.run(lambda items: labels[items], budget, 50)
            for column, measure in enumerate(measures):
                low, high = evaluation.estimate(measure, pool=other).interval
                one = (1, low <= truth[column] <= high, high - low)
                found[:, row, column] += (0, 0, 0) if np.isnan(low) else one
    return found[1:] / found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=24)
    parser.add_argument("--only", help="what the names of the cases begin with, such as groups")
    parser.add_argument("--group-slope-sds", type=float, nargs="+", default=[0.5, 2.0])
    parser.add_argument("--shared", type=Path, default=SHARED)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    by_kind: dict[str, list[float]] = {}
    print("| what | 200 labels | 800 labels | width | width |\n|---|---|---|---|---|")
    for case in cases(given.shared):
        if given.only and not case[0].startswith(given.only):
            continue
        share, width = covered(case, given.repeats, given.group_slope_sds)
        by_kind.setdefault(case[0].split(":")[0], []).extend(share.ravel())
        cells = [", ".join(f"{one:.0%}" for one in row) for row in share]
        cells += [", ".join(f"{one:.2f}" for one in row) for row in width]
        print(f"| {case[0]} | {' | '.join(cells)} |", flush=True)
    for kind, shares in by_kind.items():
        print(f"{kind}: {np.nanmean(shares):.1%} on average, {np.nanmin(shares):.0%} at worst")


if __name__ == "__main__":
    main()
