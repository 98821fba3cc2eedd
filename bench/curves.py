"""How often points of ROC and precision-recall curves are covered, side by side.

    python bench/curves.py --repeats 20
    python bench/curves.py --repeats 8 --kinds shared --largest 60000

Labels are drawn for F1, and both curves are estimated from them, at three thresholds: at the ranks
of half, all and twice the items predicted positive. A point of a curve is an interval of each of
its two coordinates. Recall at a threshold is a point of both, so the first coordinates tell: the
false positive rate, and precision.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

import haystat as hs
from calibration_pools import Known
from calibration_runs import measure_of
from decision_runs import parser_of, repeated, two_class_pools


@dataclass(frozen=True)
class Task:
    """Curves of a pool, at some numbers of labels."""

    known: Known
    budgets: tuple[int, ...]


def main() -> None:
    """Measure and print."""
    args = _arguments()
    total: dict[tuple[int, str], list[float]] = defaultdict(list)
    for known in two_class_pools(args):
        task = Task(known, tuple(n for n in args.budgets if n <= len(known.labels) // 4))
        found = repeated(_run, task, args)
        for key in found[0]:
            total[key].append(float(np.mean([row[key] for row in found])))
    print("{:>6} {:28} {:>5} {:>8} {:>6}".format("labels", "points", "pools", "covered", "worst"))
    for (n, name), shares in sorted(total.items()):
        print(f"{n:6} {name:28} {len(shares):5} {np.mean(shares):8.1%} {min(shares):6.0%}")


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--budgets", type=lambda text: [int(n) for n in text.split(",")], default=[100, 500]
    )
    return parser.parse_args()


def _run(task: Task, repeat: int) -> dict[tuple[int, str], float]:
    """Share of the points of each curve and coordinate that are covered, at each budget."""
    known = task.known
    pool = hs.Pool(**known.arguments)
    evaluation = hs.Evaluation(pool, "f1", random_state=repeat)
    cuts = measure_of("pr_curve", known).thresholds  # type: ignore[attr-defined]
    outputs, even = pool.outputs(np.arange(pool.size)), np.full(pool.size, 1 / pool.size)
    covered: dict[tuple[int, str], float] = {}
    for n in task.budgets:
        evaluation.run(lambda items: known.labels[np.asarray(items)], budget=n)
        for curve in (hs.measures.PRCurve(thresholds=cuts), hs.measures.ROCCurve(thresholds=cuts)):
            bound = curve.bind(pool.schema)
            truth = bound.value(bound.risk(outputs, known.labels, even))
            low, high = evaluation.estimate(curve).intervals.T
            inside = ((low <= truth) & (truth <= high)).reshape(2, -1).mean(axis=1)
            names = (f"{curve.name}: {part}" for part in curve.curve or ())
            covered |= {(n, name): float(share) for name, share in zip(names, inside, strict=True)}
    return covered


if __name__ == "__main__":
    main()
