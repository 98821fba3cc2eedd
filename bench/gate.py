"""A gate at a true value on its boundary, looked at after every batch; and away from it.

    python bench/gate.py --repeats 200
    python bench/gate.py --repeats 20 --kinds shared --only mammography --interval guaranteed

On the boundary (`recall >= truth`, a hair above) a pass is an error, which may happen in 5% of the
runs. Away from it (`recall >= truth - margin`) the labels until it passes are compared with those
of a fixed sample that would pass in 90% of the runs: the number at which the standard error is the
margin over 1.645 + 1.282.
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
POWER = (1.645 + 1.282) / 1.645  # half-widths to the margin, for nine passes in ten


@dataclass(frozen=True)
class Task:
    """A measure of a pool, required to reach its truth or a margin below it."""

    known: Known
    measure: str
    truth: float
    margin: float
    budget: int
    interval: str


def main() -> None:
    """Measure and print."""
    args = _arguments()
    heads = ("pool", "measure", "truth", "passed", "failed", "away", "plan")
    print("{:40} {:9} {:>6} {:>7} {:>7} {:>6} {:>6}".format(*heads))
    for known in two_class_pools(args):
        for measure in args.measures:
            task = _task(known, measure, args)
            _show(task, repeated(_run, task, args))


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--measures", type=texts, default=["f1", "recall"])
    parser.add_argument("--margin", type=float, default=0.1)
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--interval", default="anytime")
    return parser.parse_args()


def _task(known: Known, measure: str, args: argparse.Namespace) -> Task:
    pool = hs.Pool(**known.arguments)
    bound = hs.measures.resolve(measure).bind(pool.schema)
    outputs = pool.outputs(np.arange(pool.size))
    risk = bound.risk(outputs, known.labels, np.full(pool.size, 1 / pool.size))
    truth = float(bound.value(risk)[0])
    return Task(known, measure, truth, args.margin, args.budget, args.interval)


def _run(task: Task, repeat: int) -> dict[str, Any]:
    """Whether it ever passes or fails on the boundary, and when it passes away from it."""
    labels = task.known.labels
    pool = hs.Pool(**task.known.arguments)
    evaluation = hs.Evaluation(pool, task.measure, random_state=repeat)
    on = {"boundary": None, "away": None}
    planned = None
    for n in range(BATCH, min(task.budget, pool.size // 2) + 1, BATCH):
        estimate = evaluation.run(lambda items: labels[np.asarray(items)], budget=n)
        bounds = {"boundary": task.truth + HAIR, "away": task.truth - task.margin}
        for name, bound in bounds.items():
            if on[name] is None:
                need = f"{task.measure}>={bound!r}"
                verdict = hs.gate(evaluation, need, interval=task.interval)
                on[name] = None if verdict.undecided else (verdict.state, n)
        low, high = estimate.at(0.9).intervals[0]
        if planned is None and (high - low) / 2 * POWER <= task.margin:
            planned = n
        if all(on.values()) and planned is not None:
            break
    return {**on, "plan": planned}


def _show(task: Task, found: list[dict[str, Any]]) -> None:
    states = [row["boundary"][0] if row["boundary"] else "" for row in found]
    passed, failed = states.count("pass"), states.count("fail")
    away = [row["away"][1] if row["away"] else np.inf for row in found]
    plan = [np.inf if row["plan"] is None else row["plan"] for row in found]
    wrong = " above" if binom.sf(passed - 1, len(found), 0.05) < 0.01 else ""
    n = len(found)
    name = f"{task.known.kind} {task.known.name}"[:40]
    print(
        f"{name:40} {task.measure:9} {task.truth:6.3f} {passed / n:7.1%} {failed / n:7.1%} "
        f"{np.median(away):6.0f} {np.median(plan):6.0f}{wrong}",
        flush=True,
    )


if __name__ == "__main__":
    main()
