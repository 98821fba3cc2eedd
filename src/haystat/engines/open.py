"""hs.open_pool: a pool that need not fit into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haystat.core.arguments import checked_text, several_names
from haystat.engines.extras import needed
from haystat.errors import BadOption, PoolChanged
from haystat.pool.cells import FIRST_CANDIDATES

if TYPE_CHECKING:
    from haystat.engines.cross import CrossPool
    from haystat.engines.pool import EnginePool
    from haystat.engines.side_tables import Side, Unblocked

SKETCH = ".sketch"


def open_pool(
    source: Any,
    *,
    id: str | tuple[str, str] | None = None,
    score: str | Sequence[str] | None = None,
    prediction: str | Sequence[str] | None = None,
    probability: str | Sequence[str] | None = None,
    columns: Sequence[str] = (),
    show: Sequence[str] = (),
    sides: Mapping[str, Side] | None = None,
    unblocked: Unblocked | None = None,
    deviation: str | None = None,
    signals: Sequence[str] | Mapping[str, str] = (),
    weight: str | None = None,
    table: str | None = None,
    window: tuple[str, Any] | None = None,
    engine: Any = None,
    threshold: float | None = None,
    strata: int | str = 256,
    stratify: Any = "csf",
    branching: int = 2,
    parents: Any = None,
    classes: Sequence[Any] | None = (0, 1),
    seed: int = 0,
    candidates: int = FIRST_CANDIDATES,
    progress: bool = False,
) -> EnginePool:
    """A pool behind an engine: nothing as long as the pool is held in memory.

    source: a Parquet or CSV file, a pattern such as "dir/*.parquet", a DuckDB file and its
        `table`, an Ibis table of any backend, a Spark data frame, or a sketch that
        `EnginePool.save` or `haystat sketch` wrote; or a list of files, whose rows make one pool.
    id: column of whole numbers or texts, all different; two columns are the two ids of a pair.
    score, prediction: a column, or one for each of several systems, named like their scores, or
        like their predictions if there are no scores.
    probability: columns with the prior p(y|x), one a class, or that of the second of two.
    columns: with sub-populations. show: for the person who labels; sides: {column: Side(…)} looks
        up more of them by the value of that column.
    unblocked: Unblocked(left, right), the tables whose pairs were blocked; the pairs that are not
        in the source then make a stratum of their own, predicted to be no match.
    signals: columns with other information about the items, or {name: column}, 3 at most; those
        that are fitted to labels are for hs.Pool.
    weight: column with what each item counts (views, money), at least 0; all measures are then
        weighted.
    deviation: column with the standard deviation of each predicted number.
    window: a column and a length, such as ("day", 30), to leave out rows whose column is that far
        below the largest.
    engine: "duckdb" in this process; "spark", a Spark session or master for files on a cluster.
    strata: how many strata to cut, or the column with the stratum of each item.
    candidates: about how many items of each cell to fetch at once.
    All other options are those of hs.Pool, and so are the draws and estimates.
    """
    needed("pyarrow", "a pool too big for memory")
    needed("ibis", "a pool too big for memory")
    if isinstance(source, str | Path) and str(source).endswith(SKETCH):
        if window is not None:
            raise BadOption("a window is laid over rows, not over a sketch; open the table itself")
        return _from_sketch(Path(source))
    from haystat.engines.build import check_columns, checked_options, make_pool
    from haystat.engines.columns import Columns
    from haystat.engines.signals import checked_signal_columns

    further = checked_signal_columns(signals)
    named = Columns(
        id=several_names("id", id),
        scores=several_names("score", score),
        predictions=several_names("prediction", prediction),
        facts=several_names("columns", columns),
        show=several_names("show", show),
        deviation=deviation,
        probabilities=several_names("probability", probability),
        stratum=strata if isinstance(strata, str) else None,
        weight=None if weight is None else checked_text("weight", weight),
    )
    options = checked_options(
        classes, threshold, strata, stratify, branching, parents, seed, candidates
    )
    check_columns(named, None if classes is None else options.labels)
    return make_pool(
        source,
        named,
        options,
        signals=further,
        sides=sides,
        unblocked=unblocked,
        table=table,
        engine=engine,
        window=window,
        progress=progress,
    )


def cross_pool(left: Any, right: Any, score: Any, **options: Any) -> CrossPool:
    """A pool of all pairs of two tables, scored in a stream and never stored.

    left, right: arrays, or pandas, Polars or Arrow tables. score: called with some rows of `left`
    and all of `right`; returns their scores, (n, m). Options are those of
    haystat.engines.cross.cross_pool.
    """
    needed("pyarrow", "a pool of pairs")
    needed("ibis", "a pool of pairs")
    from haystat.engines import cross

    return cross.cross_pool(left, right, score, **options)


def _from_sketch(path: Path) -> EnginePool:
    from haystat.engines.build import find_again
    from haystat.engines.pool import EnginePool
    from haystat.engines.settings import Settings
    from haystat.engines.sketch_file import read_parts

    parts = read_parts(path)
    header = parts["header"]
    pool = EnginePool(
        find_again(header["source"]),
        parts["summary"],
        parts["layout"],
        parts["cut"],
        Settings(**parts["settings"]),
        parts["lookup"],
        parts["sketch"],
    )
    if pool.fingerprint != header["fingerprint"]:
        raise PoolChanged(f"{path} does not hold what it was made from; make it again")
    return pool
