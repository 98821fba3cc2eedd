"""haystat demo: a whole evaluation on generated records, with the truth beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from haystat.demo import LinkagePool, make_linkage_pool
from haystat.display.extras import needed
from haystat.errors import BadOption
from haystat.inference.estimate import Estimate, worth_sentence
from haystat.loop.evaluation import Evaluation
from haystat.measures import resolve
from haystat.pool.memory import Pool

MEASURES = ["f1", "precision", "recall"]
DESIGNS = ("assisted", "adaptive", "passive")
BATCH = 50
#: design -> what it is
WORDS = {
    "assisted": "the default of haystat",
    "adaptive": "the paper's design. Its estimate can be far off until a heavy item is drawn, "
    "and its interval is as wide as that allows",
    "passive": "labels drawn at random, of which hardly any is a match",
}


@dataclass(frozen=True)
class Run:
    """One design's estimates after every batch of labels."""

    design: str
    estimates: list[Estimate]


def demo(
    labels: int = typer.Option(1000, help="How many questions to ask."),
    picture: Path = typer.Option(Path("haystat-demo.png"), help="Where to save the picture."),
    seed: int = typer.Option(1, help="Seed of the records and of the draws."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Evaluate a record matcher on a million generated pairs, and compare with the truth.

    Example: haystat demo --labels 500
    """
    console = Console(stderr=as_json, markup=False)
    console.print("Making two tables of people and scoring every pair of them …")
    pairs = make_linkage_pool(seed=seed)
    pool = Pool(pairs.scores, pairs.predictions)
    truth = _truth(pool, pairs)
    console.print(
        f"{len(pool):,} pairs, {int(pairs.labels.sum())} of them matches: "
        f"1 in {len(pool) // int(pairs.labels.sum()):,}.\n"
    )
    runs = [_run(pool, pairs, design, labels, seed, console) for design in DESIGNS]
    if as_json:
        typer.echo(json.dumps(_as_dict(runs, truth), indent=2))
    else:
        _show(console, runs, truth, labels)
    console.print(f"\n{_picture(runs, truth, picture)}")
    first = "" if find_spec("starlette") else "pip install 'haystat[web]', then "
    console.print(f"Now answer some questions yourself: {first}haystat serve --demo")


def _truth(pool: Pool, pairs: LinkagePool) -> np.ndarray:
    measure = resolve(MEASURES).bind(pool.schema)
    everything = pool.outputs(np.arange(len(pool)))
    share = np.full(len(pool), 1 / len(pool))
    return measure.value(measure.risk(everything, pairs.labels.astype(np.int64), share))


def _run(
    pool: Pool, pairs: LinkagePool, design: str, labels: int, seed: int, console: Console
) -> Run:
    evaluation = Evaluation(pool, resolve(MEASURES), design, random_state=seed)
    first: list[int] = []
    estimates: list[Estimate] = []

    def answer(items: list[int]) -> list[int]:
        first.extend(items[:1])
        return [int(label) for label in pairs.labels[items]]

    def note(estimate: Estimate) -> bool:
        estimates.append(estimate)
        return False

    evaluation.run(answer, labels, BATCH, until=note, progress=console.is_terminal)
    if design == DESIGNS[0]:
        console.print("A question looks like this. Is it the same person?")
        console.print(pairs.describe(first[0]) + "\n", highlight=False)
    return Run(design, estimates)


def _picture(runs: list[Run], truth: np.ndarray, path: Path) -> str:
    """Save the picture, if there is matplotlib; what to say about it."""
    try:
        with needed("the picture", "matplotlib", "plots"):
            from haystat.demo.picture import save_picture
    except BadOption as error:
        return f"No picture: {error}"
    save_picture([(run.design, run.estimates) for run in runs], MEASURES, truth, path)
    return f"Picture saved as {path}."


def _as_dict(runs: list[Run], truth: np.ndarray) -> dict[str, Any]:
    result: dict[str, Any] = {"truth": dict(zip(MEASURES, truth.tolist(), strict=True))}
    for run in runs:
        last = run.estimates[-1]
        result[run.design] = {
            name: {"value": value, "low": low, "high": high}
            for name, value, (low, high) in zip(
                MEASURES, last.values.tolist(), last.intervals.tolist(), strict=True
            )
        }
    return result


def _show(console: Console, runs: list[Run], truth: np.ndarray, labels: int) -> None:
    table = Table(title=f"After {labels:,} labels, 95% intervals")
    for column in ("", "truth", *(run.design for run in runs)):
        table.add_column(column, justify="left" if not column else "right")
    for index, name in enumerate(MEASURES):
        cells = [_cell(run.estimates[-1], index) for run in runs]
        table.add_row(name, f"{truth[index]:.3f}", *cells)
    console.print(table)
    last = runs[0].estimates[-1]
    if worth := worth_sentence(last.n_labels, float(last.worth[0])):
        console.print(f"{MEASURES[0]}: {worth}")
    for run in runs:
        for warning in run.estimates[-1].warnings:
            console.print(f"{run.design}: {warning}")
    for name, text in WORDS.items():
        console.print(f"{name}: {text}.")


def _cell(estimate: Estimate, index: int) -> str:
    value, (low, high) = estimate.values[index], estimate.intervals[index]
    return "unknown" if np.isnan(value) else f"{value:.3f} [{low:.3f}, {high:.3f}]"
