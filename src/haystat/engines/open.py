"""hs.open_pool: a pool that need not fit into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haystat.engines.extras import needed
from haystat.errors import BadOption, PoolChanged
from haystat.pool import checks
from haystat.pool.cells import FIRST_CANDIDATES

if TYPE_CHECKING:
    from haystat.engines.cross import CrossPool
    from haystat.engines.pool import EnginePool
    from haystat.engines.tables import Side, Unblocked

SKETCH = ".sketch"


def open_pool(
    source: Any,
    *,
    id: str | tuple[str, str] | None = None,
    score: str | Sequence[str] | None = None,
    prediction: str | Sequence[str] | None = None,
    columns: Sequence[str] = (),
    show: Sequence[str] = (),
    sides: Mapping[str, Side] | None = None,
    unblocked: Unblocked | None = None,
    deviation: str | None = None,
    table: str | None = None,
    engine: Any = None,
    threshold: float | None = None,
    strata: int = 256,
    stratify: Any = "csf",
    branching: int = 2,
    classes: Sequence[Any] | None = (0, 1),
    seed: int = 0,
    candidates: int = FIRST_CANDIDATES,
    progress: bool = False,
) -> EnginePool:
    """A pool behind an engine: nothing as long as the pool is held in memory.

    source: a Parquet or CSV file, a pattern such as "dir/*.parquet", a DuckDB file and its
        `table`, an Ibis table of any backend, a Spark data frame, or a sketch that
        `EnginePool.save` or `haystat sketch` wrote.
    id: column of whole numbers or texts, all different; two columns are the two ids of a pair.
    score, prediction: a column, or one for each of several systems, named like their scores.
    columns: with sub-populations. show: for the person who labels; sides: {column: Side(…)} looks
        up more of them by the value of that column.
    unblocked: Unblocked(left, right), the tables whose pairs were blocked; the pairs that are not
        in the source then make a stratum of their own, predicted to be no match.
    deviation: column with the standard deviation of each predicted number.
    engine: "duckdb" in this process; "spark", a Spark session or master for files on a cluster.
    candidates: about how many items of each cell to fetch at once.
    All other options are those of hs.Pool, and so are the draws and estimates.
    """
    needed("pyarrow", "a pool too big for memory")
    needed("ibis", "a pool too big for memory")
    given = {"threshold": threshold, "strata": strata, "stratify": stratify}
    given |= {"branching": branching, "seed": seed, "candidates": candidates}
    if isinstance(source, str | Path) and str(source).endswith(SKETCH):
        return _from_sketch(Path(source))
    if id is None or not score:
        raise BadOption("name the columns that hold the id and the score: id=…, score=…")
    names = {
        "id": _names(id),
        "scores": _names(score),
        "predictions": _names(prediction),
        "facts": tuple(columns),
        "show": tuple(show),
        "deviation": deviation,
    }
    _check_names(names, classes)
    from haystat.engines.make import make_pool

    return make_pool(
        source,
        names,
        classes,
        sides=sides,
        unblocked=unblocked,
        table=table,
        engine=engine,
        progress=progress,
        **given,
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
    from haystat.engines.file import read_parts
    from haystat.engines.make import find_again
    from haystat.engines.pool import EnginePool, Settings

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


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def _check_names(names: Mapping[str, Any], classes: Sequence[Any] | None) -> None:
    scores, predictions = names["scores"], names["predictions"]
    if predictions and len(predictions) != len(scores):
        raise BadOption(
            f"{len(predictions)} prediction columns {list(predictions)} for {len(scores)} score "
            f"columns {list(scores)}; give one for each, in the same order"
        )
    if len(names["id"]) > 2 or len(set(scores)) < len(scores):
        raise BadOption("give one id column, or the two of a pair, and every score column once")
    if names["deviation"] is not None and classes is not None:
        raise BadOption("`deviation` is of labels that are numbers; give classes=None")
    if classes is not None and len(classes) > 2 and not predictions:
        raise BadOption(f"a threshold cannot tell {len(classes)} classes apart; give `prediction`")


def checked_options(
    threshold: float | None, strata: Any, branching: Any, seed: Any, candidates: Any
) -> None:
    """Raise on an option outside what is allowed."""
    checks.checked_integer("strata", strata, smallest=1)
    checks.checked_integer("branching", branching, smallest=2)
    checks.checked_integer("seed", seed)
    checks.checked_integer("candidates", candidates, smallest=1)
    if threshold is not None and not np.isfinite(
        checks.checked_numbers("threshold", threshold, BadOption)
    ):
        raise BadOption(f"threshold is {threshold!r}; give one finite number")
