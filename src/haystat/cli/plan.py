"""haystat plan: how many labels it will take."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from haystat import measures
from haystat.cli.new import MULTI_LABEL, id_columns, of_all_systems, own_engine, values
from haystat.cli.show import JSON, busy, say
from haystat.cli.sketch import ENGINE, TABLE
from haystat.planning.plan import CAP, INTERVALS, WORLDS
from haystat.planning.plan import plan as make_plan
from haystat.study import PoolFile


def plan(
    pool: Path = typer.Argument(
        help="Scored items: Parquet, CSV, Feather or JSON lines; a pattern, DuckDB file or sketch."
    ),
    score: list[str] = typer.Option([], help="Column with a score; again for further systems."),
    prediction: list[str] = typer.Option([], help="Column with predictions; one a --score."),
    id: str | None = typer.Option(
        None, help="Column with the id, of what does not fit into memory; two with a comma."
    ),
    multi_label: bool = MULTI_LABEL,
    measure: str = typer.Option("f1", help="What to estimate; of every system if several."),
    width: float = typer.Option(0.05, help="How wide the interval may be."),
    design: str = typer.Option("assisted", help="How items will be chosen."),
    level: float = typer.Option(0.95, help="Confidence level of the interval."),
    interval: str = typer.Option(
        "anytime", help=f"Which interval is to be narrow: {', '.join(INTERVALS)}."
    ),
    cap: int = typer.Option(CAP, help="Labels beyond which it does not look."),
    worlds: int = typer.Option(WORLDS, help="Worlds to rehearse in."),
    threshold: float | None = typer.Option(None, help="Score from which a prediction is positive."),
    classes: str = typer.Option("0,1", help="Label values, the negative first, with commas."),
    strata: int = typer.Option(256, help="Strata to cut the scores into."),
    engine: str | None = ENGINE,
    table: str | None = TABLE,
    seed: int = typer.Option(0, help="Seed of everything random."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Show no progress."),
    as_json: bool = JSON,
) -> None:
    """How many labels an interval of some width takes, before there is a label.

    Example: haystat plan pool.parquet --score score --measure f1 --width 0.05
    """
    wanted = measures.resolve(measure)  # a slip in a name should not wait for a large file
    options = {"strata": strata, "threshold": threshold, "classes": values(classes)}
    source = PoolFile(
        str(pool),
        tuple(score),
        id_columns(id),
        prediction=tuple(prediction),
        options=options,
        engine=engine or own_engine(pool, has_id=id is not None),
        table=table,
        multi_label=multi_label,
    )
    wanted = measures.PerLabel(wanted, score) if multi_label else wanted
    with busy(f"reading {pool}"):
        items, _ = source.read()
    found = make_plan(
        items,
        of_all_systems(wanted, items),
        width,
        design=design,
        level=level,
        interval=interval,
        cap=cap,
        worlds=worlds,
        random_state=seed,
        progress=not quiet,
    )
    say(as_json, {**asdict(found), "reachable": found.reachable}, str(found))
