"""From columns and options to a pool behind an engine: three passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from haystat.engines.checks import Summary, check_duplicates, read_summary
from haystat.engines.columns import Columns
from haystat.engines.cut import make_cut
from haystat.engines.open import checked_options
from haystat.engines.passes import Layout
from haystat.engines.pool import EnginePool, Settings
from haystat.engines.records import make_lookup
from haystat.engines.source import Source, find_source
from haystat.engines.tables import Side, Unblocked
from haystat.engines.unblocked import UnblockedPool, check_unblocked, make_space
from haystat.errors import HaystatError
from haystat.pool import checks
from haystat.progress import progress_bar


def make_pool(
    source: Any,
    names: Mapping[str, Any],
    classes: Sequence[Any] | None,
    *,
    sides: Mapping[str, Side] | None,
    unblocked: Unblocked | None,
    table: str | None,
    engine: Any,
    progress: bool,
    stratify: Any,
    threshold: float | None,
    strata: int,
    branching: int,
    seed: int,
    candidates: int,
) -> EnginePool:
    """Look at the rows once for their range and faults, once for their ids, then sketch them."""
    checked_options(threshold, strata, branching, seed, candidates)
    labels = () if classes is None else checks.checked_classes(classes)
    if classes is None:
        checks.only_for_classes(threshold=threshold)
    columns = Columns(**names)
    if unblocked is not None:
        check_unblocked(columns, labels)
    with progress_bar("passes", 3, shown=progress) as advance:
        rows = find_source(source, table, engine)
        summary = read_summary(rows, columns, labels)
        advance(1)
        check_duplicates(rows, columns, summary.size)
        advance(1)
        cut = make_cut(summary, stratify, strata, columns.deviation is not None)
        layout = Layout(
            columns, labels, _thresholds(summary, threshold), cut.ladders, _probabilities(summary)
        )
        settings = Settings(labels, seed, branching, candidates)
        parts = rows, summary, layout, cut, settings, make_lookup(rows, columns, sides)
        if unblocked is None:
            pool = EnginePool(*parts)
        else:
            space = make_space(unblocked, rows)
            pool = UnblockedPool(*parts, space=space, missed=unblocked.missed)
        advance(1)
    return pool


def find_again(given: Mapping[str, Any] | None) -> Source | None:
    """The source that a sketch was made from, if it is a file that is still here."""
    if given is None or given["pattern"] is None or not given["whole"]:
        return None
    if given["engine"] != "duckdb":
        return None
    try:
        return find_source(given["pattern"])
    except (HaystatError, FileNotFoundError):
        return None


def _probabilities(summary: Summary) -> tuple[bool, ...]:
    return tuple(bool(low >= 0 and high <= 1) for low, high in summary.score_range)


def _thresholds(summary: Summary, threshold: float | None) -> tuple[float, ...]:
    """From which score each system predicts class 1, as hs.Pool has it."""
    if threshold is not None:
        return (float(threshold),) * len(summary.score_range)
    return tuple(0.5 if probability else 0.0 for probability in _probabilities(summary))
