"""What halving and doubling each setting of the default's model does, on pools with known labels.

    python bench/sensitivity.py --every 4 --repeats 3

Labels are drawn once, by the default; the estimate is then made again from the same labels with one
setting changed at a time. Printed for F1 at 500 and 1,000 labels together: the share of intervals
that cover, and the geometric means of width and squared error over those with the settings as is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, fields
from multiprocessing import Pool as Processes
from typing import Any

import numpy as np

import haystat as hs
from calibration_pools import KINDS, Known, known_pools
from haystat.designs.assisted import Assisted
from haystat.inference.posterior import posterior_shares
from haystat.models.label_view import label_view
from haystat.models.settings import ModelSettings
from haystat.pool.problem import Problem, pose

BUDGETS = (500, 1000)
AS_IS = "as it is"
SMALL = 1e-3  # width and error below which nobody can tell the difference


@dataclass(frozen=True)
class Found:
    """Whether the interval of an estimate covers, its width, and its error."""

    covered: bool
    width: float
    error: float


def variants() -> Iterator[tuple[str, Assisted]]:
    """The default, then every setting halved and doubled."""
    yield AS_IS, Assisted()
    for field in fields(ModelSettings):
        value = getattr(Assisted(), field.name)
        for word, factor in (("halved", 0.5), ("doubled", 2.0)):
            changed = multiplied(value, factor)
            if field.name == "point":  # a quantile: its odds
                odds = factor * value / (1 - value)
                changed = odds / (1 + odds)
            yield f"{field.name} {word}", Assisted(**{field.name: changed})


def multiplied(value: Any, factor: float) -> Any:
    """A setting, or each of its values, times a factor."""
    if isinstance(value, tuple):
        return tuple(factor * v for v in value)
    return type(value)(factor * value)


def estimates(given: tuple[Known, int]) -> dict[str, list[Found]]:
    """Estimates by every variant, from the same labels."""
    known, repeat = given
    pool = hs.Pool(**known.arguments, seed=repeat)
    problem = pose(pool, hs.measures.resolve("f1").bind(pool.schema))
    truth = 2 * np.sum(known.predictions * known.labels)
    truth /= max(known.predictions.sum() + known.labels.sum(), 1)
    counts = np.zeros((len(problem.cells), 2), dtype=np.int64)

    def oracle(items: list[int]) -> list[int]:
        label = known.labels[np.asarray(items)]
        np.add.at(counts, (problem.cells.of_item[np.asarray(items)], label), 1)
        return [int(one) for one in label]

    evaluation = hs.Evaluation(pool, "f1", "assisted", random_state=repeat)
    found: dict[str, list[Found]] = {}
    for budget in BUDGETS:
        evaluation.run(oracle, budget=budget)
        for name, design in variants():
            rng = np.random.default_rng(repeat)
            low, middle, high = f1_interval(problem, design, counts, rng)
            covered = bool(low - 1e-9 <= truth <= high + 1e-9)
            one = Found(covered, max(high - low, SMALL), max(abs(middle - truth), SMALL))
            found.setdefault(name, []).append(one)
    return found


def f1_interval(
    problem: Problem, design: Assisted, counts: np.ndarray, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Lower end, estimate and upper end from labels (K, 2), as the default makes them."""
    size, predicted = problem.cells.size, problem.cells.example.predictions[:, 0]
    view = label_view(problem, design)
    share = posterior_shares(view, view.model.curve.mean[None], counts, rng)
    positive = counts[:, 1] + rng.binomial(size - counts.sum(axis=1), share)
    values = 2 * (positive @ predicted) / np.maximum(positive.sum(axis=1) + size @ predicted, 1)
    tail = 0.025 * design.tail_share
    low, middle, high = np.quantile(values, [tail, design.point, 1 - tail])
    return low, middle, high


def ratio(found: list[float], usual: list[float]) -> float:
    """Geometric mean of the ratios."""
    return float(np.exp(np.mean(np.log(found) - np.log(usual))))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=4, help="take every n-th pool")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    kinds = [kind for kind in KINDS if kind != "multiclass"]
    pools = [known for i, known in enumerate(known_pools(kinds)) if i % chosen.every == 0]
    total: dict[str, list[Found]] = {name: [] for name, _ in variants()}
    with Processes(chosen.jobs) as processes:
        tasks = [(known, repeat) for known in pools for repeat in range(chosen.repeats)]
        for part in processes.imap_unordered(estimates, tasks):
            for name, found in part.items():
                total[name] += found
    print(f"{len(pools)} pools, {len(total[AS_IS])} estimates of F1")
    print("| setting | covered | width | squared error |\n|---|---|---|---|")
    usual = total[AS_IS]
    for name, found in total.items():
        width = ratio([one.width for one in found], [one.width for one in usual])
        error = ratio([one.error**2 for one in found], [one.error**2 for one in usual])
        covered = np.mean([one.covered for one in found])
        print(f"| {name} | {covered:.1%} | {width:.2f} | {error:.2f} |")


if __name__ == "__main__":
    main()
