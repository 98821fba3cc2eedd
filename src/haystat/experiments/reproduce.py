"""reproduce: the experiments of the paper, from its published pools to one folder of results."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haystat import __version__
from haystat.core.arrays import FloatArray
from haystat.experiments import figures
from haystat.experiments.page import write_page
from haystat.experiments.repeat import Experiment, Record
from haystat.experiments.simulate import plan, run, table
from haystat.experiments.tasks import N_STRATA, TASKS, Task, find_pools

if TYPE_CHECKING:
    from pandas import DataFrame

CURVE_DESIGNS = ("adaptive", "importance", "passive")  # Figure 4
VERSIONS = ("numpy", "scipy", "numba", "pandas", "matplotlib", "h5py")


def reproduce(
    pools: Path,
    out: Path,
    only: Sequence[str] = (),
    repeats: int = 1000,
    jobs: int = 1,
    budget: int | None = None,
    seed: int = 0,
    *,
    progress: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """Run the named experiments, all if none is named, and return the path of the page.

    Finished repeats are kept in out/store. Results of experiments that were run into the same
    folder before stay on the page.
    """
    chosen = [TASKS[name] for name in only or TASKS]
    for task in chosen:
        start = time.perf_counter()
        frame, files = _run_task(
            task, pools, out, task.repeats(repeats), jobs, budget, seed, progress, say
        )
        seconds = time.perf_counter() - start
        facts = _settings(task, frame, files, jobs, seed, seconds)
        _save_table(frame, facts, task, out)
        say(f"{task.title}: {seconds:.0f} s")
    return write_page(out)


def _run_task(
    task: Task,
    folder: Path,
    out: Path,
    repeats: int,
    jobs: int,
    budget: int | None,
    seed: int,
    progress: bool,
    say: Callable[[str], None],
) -> tuple[DataFrame, Mapping[str, str]]:
    """Simulate every pool, draw its figures, and return all rows with the pool's name."""
    import pandas as pd

    files = find_pools(folder, task.pools)
    frames = []
    for name, path in files.items():
        say(f"{task.title} on {name}")
        data = task.read(path)
        largest = min(budget or task.budgets[-1], data.pool.size)
        experiments = plan(
            data.pool,
            data.labels,
            task.measure,
            task.designs,
            task.budgets_up_to(largest),
            seed,
            keep_values=task.name == "pr",
        )
        records = run(experiments, repeats, jobs, store=out / "store", progress=progress)
        frame = table(experiments, records)
        frame.insert(0, "pool", name)
        frames.append(frame)
        _draw_pool(task, name, frame, experiments, records, out)
    everything = pd.concat(frames, ignore_index=True)
    _draw_summary(task, everything, list(files), out)
    return everything, {name: path.name for name, path in files.items()}


def _draw_pool(
    task: Task,
    pool: str,
    frame: DataFrame,
    experiments: Sequence[Experiment],
    records: Sequence[Sequence[Record]],
    out: Path,
) -> None:
    """KL and MSE against labels, as in Figure 2; for curves Figure 4 too."""
    with figures.new_figure(2, 1, 6.4, 6.4) as (figure, axes):
        figures.divergence(axes[0, 0], frame)
        figures.convergence(axes[1, 0], frame)
        axes[0, 0].set_title(f"{task.title}, {pool}, {frame.repeats[0]:,} repeats")
        figure.legend(**figures.legend_of(axes), loc="outside lower center", ncols=4, frameon=False)
        _save_both(figure, out, f"{task.name}-convergence-{pool}")
    if task.name == "pr":
        _draw_curves(pool, experiments, records, out)


def _draw_curves(
    pool: str, experiments: Sequence[Experiment], records: Sequence[Sequence[Record]], out: Path
) -> None:
    shown = [
        (experiment, of_design)
        for experiment, of_design in zip(experiments, records, strict=True)
        if experiment.name in CURVE_DESIGNS
    ]
    with figures.new_figure(1, len(shown), 3.3 * len(shown), 3.6) as (figure, axes):
        for axis, (experiment, of_design) in zip(axes[0], shown, strict=True):
            figures.curves(axis, _values(of_design), experiment.truth)
            axis.set_title(figures.look(experiment.name, [])[0])
        budget = experiments[0].budgets[-1]
        figure.suptitle(f"Precision-recall curves of {pool} from {budget:,} labels", fontsize=10)
        figure.legend(**figures.legend_of(axes), loc="outside lower center", ncols=2, frameon=False)
        _save_both(figure, out, f"pr-curves-{pool}")


def _values(records: Sequence[Record]) -> FloatArray:
    return np.array([record.values for record in records if record.values is not None])


def _draw_summary(task: Task, frame: DataFrame, pools: Sequence[str], out: Path) -> None:
    """The bar chart at one number of labels, as in Figure 3."""
    if task.summary is None:
        return
    budget = task.summary if task.summary in set(frame.budget) else int(frame.budget.max())
    with figures.new_figure(1, 1, 6.4, 1.2 + 1.2 * len(pools)) as (figure, axes):
        figures.bars(axes[0, 0], frame[frame.budget == budget], pools)
        axes[0, 0].set_title(f"{task.title} after {budget:,} labels")
        figure.legend(**figures.legend_of(axes), loc="outside lower center", ncols=3, frameon=False)
        _save_both(figure, out, f"{task.name}-summary")


def _save_both(figure: Any, out: Path, name: str) -> None:
    for ending in ("pdf", "png"):
        figures.save(figure, out / "figures" / f"{name}.{ending}")


def _save_table(frame: DataFrame, facts: Mapping[str, Any], task: Task, out: Path) -> None:
    folder = out / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / f"{task.name}.csv", index=False)
    for what in ("mse", "coverage", "coverage_clt"):
        wide = frame.pivot_table(
            index=["pool", "design"], columns="budget", values=what, sort=False
        )
        wide.to_csv(folder / f"{task.name}-{what}.csv")
    (folder / f"{task.name}.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _settings(
    task: Task, frame: DataFrame, files: Mapping[str, str], jobs: int, seed: int, seconds: float
) -> dict[str, Any]:
    """What a reader needs to run the experiment again."""
    last = frame[frame.budget == frame.groupby("pool").budget.transform("max")]
    return {
        "title": task.title,
        "measure": repr(task.measure),
        "pools": dict(files),
        "designs": list(task.designs),
        "budgets": sorted({int(budget) for budget in frame.budget}),
        "repeats": int(frame.repeats.max()),
        "seed": seed,
        "labels a stage": frame.attrs.get("batch_size", 50),
        "strata": f"{N_STRATA}, {'equal width' if task.name == 'pr' else 'CSF'}",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "wall seconds of the last start": round(seconds, 1),
        "seconds of all repeats together": round(float((last.seconds * last.repeats).sum()), 1),
        "peak memory of a process, MiB": _peak_memory(),
        "workers": jobs,
        "cores": os.cpu_count(),
        "versions": {
            "haystat": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in VERSIONS},
        },
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _peak_memory() -> int | None:
    """Largest resident memory of this process and its workers; None where it cannot be told."""
    if sys.platform == "win32":
        return None
    import resource

    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return max(resource.getrusage(kind).ru_maxrss for kind in kinds) // unit
