"""haystat sketch: what a study needs of a pool too big for memory, as one file."""

from __future__ import annotations

from pathlib import Path

import typer

from haystat.cli.new import KEY, NEAR, NEAR_PAIRS, UNBLOCKED, id_columns, key_column, split, values
from haystat.cli.show import JSON, busy, say
from haystat.engines.open import SKETCH, open_pool
from haystat.errors import BadOption
from haystat.study.pool_source import unblocked_tables

ENGINE = typer.Option(
    None, help="For files too big for memory: duckdb, spark, or a master such as spark://host:7077."
)
TABLE = typer.Option(None, help="Table of a DuckDB file.")


def sketch(
    pool: str = typer.Argument(help="A Parquet or CSV file or pattern, or a DuckDB file."),
    out: Path = typer.Option(..., "--out", "-o", help=f"File to make, ending in {SKETCH}."),
    score: list[str] = typer.Option([], help="Column with a score; again for further systems."),
    id: str | None = typer.Option(None, help="Column with the id; two with a comma for pairs."),
    prediction: list[str] = typer.Option([], help="Column with predictions; one a --score."),
    show: list[str] = typer.Option([], help="Columns the labeller sees, with commas or again."),
    column: list[str] = typer.Option([], help="Columns with sub-populations."),
    signal: list[str] = typer.Option(
        [], help="Columns with other information: an old score, a verdict, a category."
    ),
    weight: str | None = typer.Option(None, help="Column with what an item counts: views, money."),
    engine: str | None = ENGINE,
    table: str | None = TABLE,
    threshold: float | None = typer.Option(None, help="Score from which a prediction is positive."),
    classes: str = typer.Option("0,1", help="Label values, the negative first, with commas."),
    strata: int = typer.Option(256, help="Strata to cut the scores into."),
    candidates: int = typer.Option(1024, help="Items of each cell to keep."),
    seed: int = typer.Option(0, help="Seed of the order of items."),
    unblocked: list[str] = UNBLOCKED,
    key: str | None = KEY,
    near: list[str] = NEAR,
    near_pairs: str | None = NEAR_PAIRS,
    as_json: bool = JSON,
) -> None:
    """Sketch a pool where it lies; the file goes to the laptop on which the study is made.

    Example: haystat sketch 'pairs/*.parquet' -o pairs.sketch --id id --score score --show text
    """
    if out.suffix != SKETCH:
        raise BadOption(f"--out is {out}; give a file ending in {SKETCH}")
    with busy(f"reading {pool}"):
        opened = open_pool(
            pool,
            id=id_columns(id),
            score=tuple(score),
            prediction=tuple(prediction) or None,
            columns=split(",".join(column)),
            show=split(",".join(show)),
            signals=split(",".join(signal)),
            weight=weight,
            table=table,
            engine=engine,
            unblocked=unblocked_tables(
                unblocked, key_column(key, id), split(",".join(near)), near_pairs
            ),
            threshold=threshold,
            classes=values(classes),
            strata=strata,
            candidates=candidates,
            seed=seed,
        )
        opened.save(out)
    kept = len(opened.held.sketch.items)
    size = out.stat().st_size
    say(
        as_json,
        {"sketch": str(out), "bytes": size, "items": opened.size, "candidates": kept},
        f"{out}: {opened.size:,} items, {kept:,} of them kept, {size / 1e6:.1f} MB. "
        f"Next: haystat new study.haystat {out}",
    )
