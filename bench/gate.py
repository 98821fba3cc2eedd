"""A gate at a true value on its boundary, looked at after every batch; and away from it.

    python bench/gate.py --repeats 200
    python bench/gate.py --repeats 20 --kinds shared --only mammography --interval guaranteed

On the boundary (`recall >= truth`, a hair above) a pass is an error, which may happen in 5% of the
runs; so is a failure a hair below. Away from it (`recall >= truth - margin`, the margin at most
half of the truth) the labels until the gate passes are compared with fixed samples for the same
decision:

Labels are drawn for the first of the measures; requirements about the others use the same labels.

fixed: the smallest number of labels of the same design at which one look, by the interval that is
    for one look (`interval="fixed"`), passes in 90% of the runs.
random: items drawn at random such that the standard error is the margin over 1.645 + 1.282: a test
    at the same level that passes in 90% of the runs.

Runs that are not decided within the budget count as twice the budget; so do fixed samples. The last
line has geometric means over the cells whose fixed sample is within the budget.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

import haystat as hs
from calibration_pools import Known
from decision_runs import parser_of, repeated, texts, two_class_pools

BATCH = 50
HAIR = 1e-9
POWER = 0.9
ERRORS = 1.645 + 1.282  # standard errors to the margin, for nine passes in ten at a level of 5%


@dataclass(frozen=True)
class Task:
    """Measures of a pool with their truths, each required to reach it or a margin below it."""

    known: Known
    truths: dict[str, float]
    margin: float
    budget: int
    interval: str

    def margin_of(self, name: str) -> float:
        """How far below its truth a measure is required to be, away from the boundary."""
        return min(self.margin, self.truths[name] / 2)


def main() -> None:
    """Measure and print."""
    args = _arguments()
    heads = ("pool", "measure", "truth", "passed", "failed", "median", "mean", "fixed", "random")
    print("{:40} {:9} {:>6} {:>7} {:>7} {:>6} {:>6} {:>6} {:>7}".format(*heads))
    cells = []
    for known in two_class_pools(args):
        task = _task(known, args)
        found = repeated(_run, task, args)
        cells += [_show(task, measure, [row[measure] for row in found]) for measure in task.truths]
    passed, failed = (np.mean([cell[name] for cell in cells]) for name in ("passed", "failed"))
    print(f"{len(cells)} cells: passed {passed:.1%}, failed {failed:.1%} on the boundary")
    within = [cell for cell in cells if cell["fixed"] <= args.budget]
    for name in ("fixed", "random"):
        ratio = [np.log([cell[k] / cell[name] for k in ("median", "mean")]) for cell in within]
        median, mean = np.exp(np.mean(ratio, axis=0)) if within else (np.nan, np.nan)
        print(f"{len(within)} cells: labels over {name}: median {median:.2f}, mean {mean:.2f}")


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--measures", type=texts, default=["f1", "recall", "precision"])
    parser.add_argument("--margin", type=float, default=0.1)
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--interval", default="anytime")
    return parser.parse_args()


def _task(known: Known, args: argparse.Namespace) -> Task:
    pool = hs.Pool(**known.arguments)
    outputs, even = pool.outputs(np.arange(pool.size)), np.full(pool.size, 1 / pool.size)
    truths = {}
    for name in args.measures:
        bound = hs.measures.resolve(name).bind(pool.schema)
        truths[name] = float(bound.value(bound.risk(outputs, known.labels, even))[0])
    return Task(known, truths, args.margin, args.budget, args.interval)


def _run(task: Task, repeat: int) -> dict[str, Any]:
    """Of each measure: first passes and failures, passes of one look at each number of labels."""
    labels = task.known.labels
    pool = hs.Pool(**task.known.arguments)
    evaluation = hs.Evaluation(pool, next(iter(task.truths)), random_state=repeat)
    found = {name: {"first": {}, "once": [], "variance": np.nan} for name in task.truths}
    for n in range(BATCH, min(task.budget, pool.size // 2) + 1, BATCH):
        evaluation.run(lambda items: labels[np.asarray(items)], budget=n)
        for name in task.truths:
            _look(task, name, evaluation, n, found[name])
    return found


def _look(task: Task, name: str, evaluation: Any, n: int, found: dict[str, Any]) -> None:
    """Add what gates about one measure say after n labels."""
    truth, away = task.truths[name], task.truths[name] - task.margin_of(name)
    bounds = {"pass": truth + HAIR, "fail": truth - HAIR, "away": away}
    for what, bound in bounds.items():
        if not 0 <= bound <= 1:  # nothing is above a perfect system
            continue
        verdict = hs.gate(evaluation, f"{name}>={bound!r}", interval=task.interval)
        if verdict.state == ("fail" if what == "fail" else "pass"):
            found["first"].setdefault(what, n)
    found["once"].append(hs.gate(evaluation, f"{name}>={away!r}", interval="fixed").passed)
    variance = evaluation.estimate(name).details.get("item_variance", [np.nan])[0]
    found["variance"] = variance if np.isfinite(variance) else found["variance"]


def _show(task: Task, measure: str, found: list[dict[str, Any]]) -> dict[str, float]:
    """Print and return what the runs of a cell come to."""
    n, never = len(found), 2 * task.budget
    passed, failed = (sum(name in row["first"] for row in found) for name in ("pass", "fail"))
    labels = [row["first"].get("away", never) for row in found]
    enough = np.flatnonzero(np.mean([row["once"] for row in found], axis=0) >= POWER)
    cell = {
        "passed": passed / n,
        "failed": failed / n,
        "median": float(np.median(labels)),
        "mean": float(np.mean(labels)),
        "fixed": float(BATCH * (enough[0] + 1)) if len(enough) else float(never),
        "random": float(
            np.median([row["variance"] for row in found]) * (ERRORS / task.margin_of(measure)) ** 2
        ),
    }
    wrong = " above" if binom.sf(max(passed, failed) - 1, n, 0.05) < 0.01 else ""
    name = f"{task.known.kind} {task.known.name}"[:40]
    print(
        f"{name:40} {measure:9} {task.truths[measure]:6.3f} {passed / n:7.1%} {failed / n:7.1%} "
        f"{cell['median']:6.0f} {cell['mean']:6.0f} {cell['fixed']:6.0f} {cell['random']:7.0f}"
        f"{wrong}",
        flush=True,
    )
    return cell


if __name__ == "__main__":
    main()
