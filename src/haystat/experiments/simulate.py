"""simulate: how well designs estimate a measure on a pool whose labels are known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from haystat import __version__, designs, measures
from haystat.designs.base import Design
from haystat.errors import BadOption, BudgetError
from haystat.estimation.result import checked_level
from haystat.evaluation import RandomState, seed_from
from haystat.experiments.repeat import Experiment, Record
from haystat.experiments.store import Store
from haystat.experiments.summary import summarise
from haystat.experiments.workers import Task, run_tasks
from haystat.ledger import pose
from haystat.measures.base import Measure
from haystat.pool.checks import as_array, checked_integer, same_length
from haystat.pool.memory import Pool
from haystat.pool.predictions import class_indices
from haystat.progress import progress_bar

if TYPE_CHECKING:
    from pandas import DataFrame


def simulate(
    pool: Pool,
    labels: ArrayLike,
    measure: str | Measure | Sequence[str | Measure] = "f1",
    designs: Sequence[str | Design] = ("adaptive", "passive"),
    budgets: Sequence[int] = (500, 1000, 2000),
    repeats: int = 100,
    random_state: RandomState = 0,
    jobs: int = 1,
    *,
    batch_size: int = 50,
    level: float = 0.95,
    store: str | Path | None = None,
    progress: bool = False,
) -> DataFrame:
    """Evaluate the pool `repeats` times with each design, and compare with the truth.

    labels: the true label of every item, in terms of the pool's classes.
    random_state: one seed for all; every repeat has its own streams, so that the numbers (but
        for `seconds`) are the same for any number of `jobs`.
    batch_size: labels of a stage; the last stage before a budget may be smaller.
    store: a folder in which finished repeats are kept; the same call goes on from there.

    Returns one row for each design and budget. Repeats whose estimate is 0/0 are counted in
    `undefined`, left out of `mse` and `bias`, and count as not covered.

    >>> import haystat as hs
    >>> pool = hs.Pool([0.1, 0.2, 0.3, 0.6, 0.7, 0.9], strata=2)
    >>> frame = hs.simulate(pool, [0, 0, 1, 0, 1, 1], "accuracy", ["passive"], [6], repeats=3)
    >>> float(frame.mse[0]), float(frame.coverage[0])
    (0.0, 1.0)
    """
    experiments = plan(
        pool,
        labels,
        measure,
        designs,
        budgets,
        random_state,
        batch_size=batch_size,
        level=level,
    )
    all_records = run(experiments, repeats, jobs, store=store, progress=progress)
    return table(experiments, all_records)


def plan(
    pool: Pool,
    labels: ArrayLike,
    measure: str | Measure | Sequence[str | Measure],
    design_names: Sequence[str | Design],
    budgets: Sequence[int],
    random_state: RandomState = 0,
    **options: Any,
) -> list[Experiment]:
    """The experiment of each design; the arguments are checked here. Options: of Experiment."""
    chosen = _named_designs(design_names)
    bound = measures.resolve(measure).bind(pool.schema)
    label = _checked_labels(pool, labels)
    if options.get("batch_size", 50) < 1:
        raise BadOption(f"batch_size is {options['batch_size']}; it must be at least 1")
    checked_level(options.get("level", 0.95))
    name, design = next(iter(chosen.items()))
    first = Experiment(
        name,
        pool,
        pose(pool, bound),
        label,
        design,
        _checked_budgets(budgets, pool.size),
        seed=seed_from(random_state),
        **options,
    )
    rng = np.random.default_rng(0)
    for design in chosen.values():  # one that cannot work on this measure says so
        design.start(first.problem, rng)
    experiments = [replace(first, name=name, design=design) for name, design in chosen.items()]
    # The truth is worked out once, and shared with the workers.
    for experiment in experiments:
        experiment.__dict__.update(truth=first.truth, truth_counts=first.truth_counts)
    return experiments


def run(
    experiments: Sequence[Experiment],
    repeats: int,
    jobs: int = 1,
    *,
    store: str | Path | None = None,
    progress: bool = False,
) -> list[list[Record]]:
    """All repeats of all experiments, those of each in order."""
    repeats = checked_integer("repeats", repeats, smallest=1)
    jobs = checked_integer("jobs", jobs, smallest=1)
    with ExitStack() as stack:
        stores = None
        done: list[dict[int, Record]] = [{} for _ in experiments]
        if store is not None:
            stores = [stack.enter_context(Store(store, settings(e))) for e in experiments]
            done = [opened.records for opened in stores]
        tasks: list[Task] = [
            (position, repeat)
            for position, records in enumerate(done)
            for repeat in range(repeats)
            if repeat not in records
        ]
        advance = stack.enter_context(progress_bar("repeats", len(tasks), shown=progress))
        for position, record in run_tasks(experiments, tasks, jobs):
            if stores is None:
                done[position][record.repeat] = record
            else:
                stores[position].add(record)
            advance(1)
    return [[records[repeat] for repeat in range(repeats)] for records in done]


def table(experiments: Sequence[Experiment], all_records: Sequence[Sequence[Record]]) -> DataFrame:
    """One row for each design and budget."""
    from pandas import DataFrame

    rows = [
        row
        for experiment, records in zip(experiments, all_records, strict=True)
        for row in summarise(experiment, records)
    ]
    frame = DataFrame(rows)
    first = experiments[0]
    frame.attrs = {
        "measure": first.problem.measure.name,
        "seed": first.seed,
        "batch_size": first.batch_size,
        "level": first.level,
        "haystat": __version__,
    }
    return frame


def settings(experiment: Experiment) -> Mapping[str, Any]:
    """All that the numbers of a repeat depend on."""
    return {
        "haystat": __version__,
        "pool": experiment.pool.fingerprint,
        "labels": hashlib.sha256(experiment.label.tobytes()).hexdigest()[:16],
        "measure": _description(experiment.problem.measure),
        "components": len(experiment.truth),
        "design_name": str(experiment.design),
        "design": repr(experiment.design),
        "budgets": list(experiment.budgets),
        "batch_size": experiment.batch_size,
        "level": experiment.level,
        "seed": experiment.seed,
        "keep_values": experiment.keep_values,
    }


def _description(measure: Measure) -> str:
    """A measure with its options; one of your own may show nothing but its address."""
    text = repr(measure)
    return f"{type(measure).__qualname__} {measure.name}" if " object at 0x" in text else text


def _named_designs(given: Sequence[str | Design]) -> dict[str, Design]:
    """Designs by name; those that share a name are called by their options too."""
    given = [given] if isinstance(given, str | Design) else list(given)
    chosen = [designs.resolve(design) for design in given]
    names = [str(design) for design in chosen]
    named = {
        name if names.count(name) == 1 else repr(design): design
        for name, design in zip(names, chosen, strict=True)
    }
    if not named or len(named) < len(chosen):
        raise BadOption(f"designs are {names}; give at least one, and none of them twice")
    return named


def _checked_labels(pool: Pool, labels: ArrayLike) -> Any:
    given = as_array("labels", labels)
    same_length("labels", given, pool.size)
    return class_indices("labels", given, pool.classes).astype(np.int64)


def _checked_budgets(budgets: Sequence[int], size: int) -> tuple[int, ...]:
    given = [budgets] if isinstance(budgets, int | np.integer) else list(budgets)
    if not given:
        raise BadOption("give at least one budget, such as budgets=[500, 1000]")
    checked = sorted({checked_integer("a budget", budget, smallest=1) for budget in given})
    if checked[-1] > size:
        raise BudgetError(
            f"a budget of {checked[-1]} labels, but the pool has {size} items; give at most {size}"
        )
    return tuple(checked)
