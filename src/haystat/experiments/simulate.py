"""simulate: how well designs estimate a measure on a pool whose labels are known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

import haystat
from haystat import __version__, designs, measures
from haystat.core.arguments import brief, checked_choice, checked_integer, is_listed
from haystat.core.progress import progress_bar
from haystat.designs.base import Design
from haystat.errors import BadOption, BudgetError
from haystat.experiments.counted import CountedExperiment, counted_facts
from haystat.experiments.repeat import Experiment, Record
from haystat.experiments.store import RepeatStore
from haystat.experiments.summary import summarise
from haystat.experiments.workers import Task, run_tasks
from haystat.inference.estimate import checked_level
from haystat.loop.loop import RandomState, seed_from
from haystat.loop.state import LEDGERS
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool, checked_pool
from haystat.pool.checks import (
    as_array,
    checked_numbers,
    checked_probabilities,
    same_length,
)
from haystat.pool.memory import Pool
from haystat.pool.predictions import class_indices
from haystat.pool.problem import pose

#: files and folders of the package that decide what a repeat finds
CODE = (
    "measures",
    "pool",
    "models",
    "designs",
    "inference",
    "loop",
    "experiments/counted.py",
    "experiments/repeat.py",
)

if TYPE_CHECKING:
    from pandas import DataFrame


def simulate(
    pool: AnyPool,
    labels: ArrayLike,
    measure: str | Measure | Sequence[str | Measure] = "f1",
    designs: Sequence[str | Design] | None = None,
    budgets: Sequence[int] = (500, 1000, 2000),
    repeats: int = 100,
    random_state: RandomState = 0,
    jobs: int = 1,
    *,
    oracle: str = "deterministic",
    batch_size: int = 50,
    level: float = 0.95,
    store: str | Path | None = None,
    progress: bool = False,
) -> DataFrame:
    """Evaluate the pool `repeats` times with each design, and compare with the truth.

    labels: the true label of every item, in terms of the pool's classes, or as a number. Of a
        pool of hs.open_pool the name of the column that holds them, which is counted in one pass.
    designs: names or objects; by default the one that Evaluation would take, "adaptive" and
        "passive".
    oracle: "stochastic" draws an answer whenever it is asked; labels are then the chances of the
        answers, (M, C), or those of the second of two classes, (M,).
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
        oracle=oracle,
        batch_size=batch_size,
        level=level,
    )
    all_records = run(experiments, repeats, jobs, store=store, progress=progress)
    return table(experiments, all_records)


def plan(
    pool: AnyPool,
    labels: ArrayLike,
    measure: str | Measure | Sequence[str | Measure],
    design_names: Sequence[str | Design] | None,
    budgets: Sequence[int],
    random_state: RandomState = 0,
    *,
    oracle: str = "deterministic",
    **options: Any,
) -> list[Experiment]:
    """The experiment of each design; the arguments are checked here. Options: of Experiment."""
    checked_pool(pool)
    if names := list(getattr(pool, "to_fit", ())):
        raise BadOption(
            f"signals {names} are fitted to labels as they come, and simulate() keeps its cells; "
            "leave them out, or run evaluations one by one"
        )
    checked_choice("oracle", oracle, LEDGERS)
    checked_integer("batch_size", options.get("batch_size", 50), smallest=1)
    if design_names is None:
        design_names = designs.default_names(pool.schema, oracle)
    chosen = _named_designs(design_names)
    bound = measures.bound(measure, pool.schema)
    asks_again = oracle == "stochastic"
    checked_level(options.get("level", 0.95))
    kind: type[Experiment] = CountedExperiment
    if pool.complete:
        kind, facts = Experiment, _facts(cast(Pool, pool), labels, bound, oracle)
    else:
        facts = counted_facts(pool, labels, bound, oracle)
    name, design = next(iter(chosen.items()))
    asked = _checked_budgets(budgets, None if asks_again else pool.size)
    seed = seed_from(random_state)
    first = kind(name=name, design=design, budgets=asked, seed=seed, **facts, **options)
    rng = np.random.default_rng(0)
    for design in chosen.values():  # one that cannot work on this measure or oracle says so
        design.start(first.problem, rng)
        LEDGERS[oracle].checked(design)
    experiments = [replace(first, name=name, design=design) for name, design in chosen.items()]
    # The truth is worked out once, and shared with the workers.
    for experiment in experiments:
        for name in ("truth", "truth_counts", "optimum") if first.has_optimum else ("truth",):
            experiment.__dict__[name] = getattr(first, name)
    return experiments


def _facts(pool: Pool, labels: ArrayLike, measure: Measure, oracle: str) -> dict[str, Any]:
    """Pool, problem and labels of an experiment in memory."""
    share = _checked_chances(pool, labels) if oracle == "stochastic" and pool.classes else None
    label = _checked_labels(pool, labels) if share is None else share.argmax(axis=1)
    problem = pose(pool, measure, oracle)
    return {"pool": pool, "problem": problem, "label": label, "share": share}


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
            stores = [stack.enter_context(RepeatStore(store, settings(e))) for e in experiments]
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
        "code": code_digest(),
        "pool": experiment.pool.fingerprint,
        "oracle": experiment.problem.oracle,
        "labels": hashlib.sha256(_known(experiment).tobytes()).hexdigest()[:16],
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


@cache
def code_digest() -> str:
    """Digest of the code that the numbers come from, so that none outlives a change of it."""
    root = Path(haystat.__file__).parent
    digest = hashlib.sha256()
    for room in CODE:
        for path in sorted((root / room).rglob("*.py")) or [root / room]:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _description(measure: Measure) -> str:
    """A measure with its options; one of your own may show nothing but its address."""
    text = repr(measure)
    return f"{type(measure).__qualname__} {measure.name}" if " object at 0x" in text else text


def _named_designs(given: Sequence[str | Design]) -> dict[str, Design]:
    """Designs by name; those that share a name are called by their options too."""
    given = [given] if isinstance(given, str | Design) else given
    if not is_listed(given):
        raise BadOption(f"designs are {brief(given)}; give a list of names")
    chosen = [designs.resolve(design) for design in given]
    names = [str(design) for design in chosen]
    named = {
        name if names.count(name) == 1 else repr(design): design
        for name, design in zip(names, chosen, strict=True)
    }
    if not named or len(named) < len(chosen):
        raise BadOption(f"designs are {names}; give at least one, and none of them twice")
    return named


def _known(experiment: Experiment) -> Any:
    """What is known of the truth: labels, or the chances of the answers."""
    return experiment.label if experiment.share is None else experiment.share


def _checked_chances(pool: Pool, labels: ArrayLike) -> Any:
    """Chance of each answer, (M, C); hard labels are certain."""
    given = as_array("labels", labels)
    if given.ndim == 1 and (given.dtype.kind != "f" or len(pool.classes) > 2):
        return np.eye(len(pool.classes))[_checked_labels(pool, labels)]
    return checked_probabilities(given, pool.size, len(pool.classes))


def _checked_labels(pool: Pool, labels: ArrayLike) -> Any:
    given = as_array("labels", labels)
    same_length("labels", given, pool.size)
    if not pool.classes:
        numbers = checked_numbers("labels", given)
        if not np.isfinite(numbers).all():
            row = int(np.argmin(np.isfinite(numbers)))
            raise BadOption(f"labels have {numbers[row]} at position {row}; give finite numbers")
        return numbers
    return class_indices("labels", given, pool.classes).astype(np.int64)


def _checked_budgets(budgets: Sequence[int], size: int | None) -> tuple[int, ...]:
    given = list(budgets) if is_listed(budgets) else [budgets]
    if not given:
        raise BadOption("give at least one budget, such as budgets=[500, 1000]")
    checked = sorted({checked_integer("a budget", budget, smallest=1) for budget in given})
    if size is not None and checked[-1] > size:
        raise BudgetError(
            f"a budget of {checked[-1]} labels, but the pool has {size} items; give at most {size}"
        )
    return tuple(checked)
