"""From columns and options to a pool behind an engine: three passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from haystat.core.arguments import brief, checked_integer
from haystat.core.arrays import FloatArray, IntArray
from haystat.core.progress import progress_bar
from haystat.engines.checks import Summary, check_duplicates, read_summary
from haystat.engines.columns import Columns
from haystat.engines.joined import Joined, find_rows
from haystat.engines.layout import Layout
from haystat.engines.near import near_pairs
from haystat.engines.pool import EnginePool
from haystat.engines.quantiles import values_of_ranks
from haystat.engines.records import make_lookup
from haystat.engines.settings import Settings
from haystat.engines.side_tables import Side, Unblocked
from haystat.engines.signal_cuts import read_signals
from haystat.engines.source import Source, find_source
from haystat.engines.strata import Cut, make_cut
from haystat.engines.unblocked import UnblockedPool, check_members, check_unblocked, make_space
from haystat.errors import BadOption, HaystatError
from haystat.pool import checks
from haystat.pool.predictions import checked_threshold


@dataclass(frozen=True)
class Options:
    """What hs.open_pool was given besides columns, checked. labels: the classes, () of numbers."""

    labels: tuple[Any, ...]
    threshold: float | None
    n_strata: int
    stratify: Any
    settings: Settings


def checked_options(
    classes: Sequence[Any] | None,
    threshold: float | None,
    strata: int | str,
    stratify: Any,
    branching: int,
    parents: Any,
    seed: int,
    candidates: int,
) -> Options:
    """The options; raises on one outside what is allowed."""
    labels = () if classes is None else checks.checked_classes(classes)
    if classes is None:
        checks.only_for_classes(threshold=threshold)
    threshold = checked_threshold(threshold)
    given = 1 if isinstance(strata, str) else checks.checked_cuts(strata)
    settings = Settings(
        labels,
        checks.checked_seed(seed),
        checked_integer("branching", branching, smallest=2),
        checked_integer("candidates", candidates, smallest=1),
        None if parents is None else tuple(checks.checked_parents(parents).tolist()),
    )
    return Options(labels, threshold, given, stratify, settings)


def check_columns(named: Columns, classes: Sequence[Any] | None) -> None:
    """Raise unless the columns that are named can be a pool."""
    scores, predictions, n_shares = named.scores, named.predictions, len(named.probabilities)
    if not named.id:
        raise BadOption(
            "name the column that holds the id: id=…; the rows of a table have no order, so that "
            "their positions cannot be ids"
        )
    if not named.systems:
        raise BadOption("name the columns that hold the score, the prediction or both: score=…")
    if scores and predictions and len(predictions) != len(scores):
        raise BadOption(
            f"{len(predictions)} prediction columns {list(predictions)} for {len(scores)} score "
            f"columns {list(scores)}; give one for each, in the same order"
        )
    if len(named.id) > 2 or len(set(named.systems)) < len(named.systems):
        raise BadOption("give one id column, or the two of a pair, and every score column once")
    if classes is None:
        checks.only_for_classes(prediction=predictions or None, probability=n_shares or None)
        return
    if named.deviation is not None:
        raise BadOption("`deviation` is of labels that are numbers; give classes=None")
    if len(classes) > 2 and not predictions:
        raise BadOption(f"a threshold cannot tell {len(classes)} classes apart; give `prediction`")
    if n_shares and n_shares != len(classes) and (n_shares, len(classes)) != (1, 2):
        raise BadOption(
            f"{n_shares} probability columns for {len(classes)} classes; give one for each class, "
            "or that of the second of two"
        )


def make_pool(
    source: Any,
    columns: Columns,
    options: Options,
    *,
    signals: Mapping[str, str],
    sides: Mapping[str, Side] | None,
    unblocked: Unblocked | None,
    table: str | None = None,
    engine: Any = None,
    window: Any = None,
    progress: bool = False,
) -> EnginePool:
    """Look at the rows once for their range and faults, once for their ids, then sketch them."""
    if unblocked is not None:
        if not isinstance(unblocked, Unblocked):
            raise BadOption(f"unblocked is {brief(unblocked)}; give Unblocked(left, right)")
        check_unblocked(columns, options.labels)
        if columns.weight is not None:
            raise BadOption(
                f"weight is column {columns.weight!r} of the blocked pairs, and pairs outside the "
                "blocks have none; leave out weight, or unblocked"
            )
        if signals:
            raise BadOption(
                f"signals {list(signals)} are columns of the blocked pairs, and pairs outside the "
                "blocks have none; leave out signals, or unblocked"
            )
    with progress_bar("passes", 3, shown=progress) as advance:
        names = [*columns.named, *signals.values(), *(sides or ())]
        rows = find_rows(source, table, engine, window, names)
        if unblocked is not None and isinstance(rows, Joined):
            raise BadOption("pairs that were not blocked are those of one table; name no further")
        summary = read_summary(rows, columns, options.labels)
        advance(1)
        check_duplicates(rows, columns, summary.size)
        advance(1)
        layout, cut = _layout(rows, summary, columns, options)
        told = read_signals(rows, columns, signals, options.labels, layout.thresholds)
        layout = replace(layout, signals=told, weight_range=summary.weight_range)
        lookup = make_lookup(rows, columns, sides, unblocked)
        parts = rows, summary, layout, cut, options.settings, lookup
        if unblocked is None:
            pool = EnginePool(*parts)
            if options.settings.parents is not None:
                _ = pool.tree  # or an error: it takes the strata
        else:
            space = make_space(unblocked, rows)
            check_members(space, rows, columns)
            near = near_pairs(unblocked, rows, layout, space)
            pool = UnblockedPool(*parts, space=space, missed=unblocked.missed, near=near)
        advance(1)
    return pool


def _layout(
    rows: Source, summary: Summary, columns: Columns, options: Options
) -> tuple[Layout, Cut]:
    """How rows are put into groups, and these into strata."""
    levels = _thresholds(summary, options.threshold)

    def ranked(column: str, ends: tuple[float, float], ranks: IntArray) -> FloatArray:
        plain = columns.plain(rows.table, options.labels, levels)
        return values_of_ranks(rows, plain, column, ends, ranks)

    if columns.stratum is not None:
        cut = Cut(())
    else:
        deviation = columns.deviation is not None
        cut = make_cut(summary, options.stratify, options.n_strata, deviation, ranked)
    return Layout(columns, options.labels, levels, cut.ladders, _probabilities(summary)), cut


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
