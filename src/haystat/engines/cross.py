"""hs.cross_pool: all pairs of two tables, scored in a stream and never stored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit

from haystat.core.arguments import brief, checked_integer
from haystat.core.arrays import IntArray
from haystat.core.progress import progress_bar
from haystat.engines.checks import Summary
from haystat.engines.columns import Columns, prediction_name
from haystat.engines.layout import PLACE, Layout
from haystat.engines.passes import Found, Groups
from haystat.engines.pool import EnginePool
from haystat.engines.records import Lookup
from haystat.engines.settings import Settings
from haystat.engines.sketch import Sketch, make_atoms, merged, take
from haystat.engines.strata import make_cut
from haystat.engines.stream import Bins, Reservoir, absorb, make_bins
from haystat.errors import BadOption, BadScore, EmptyPool
from haystat.pool import checks
from haystat.pool.cells import FIRST_CANDIDATES
from haystat.pool.permanent_numbers import permanent_numbers
from haystat.pool.predictions import checked_threshold

CHUNK = 1 << 20  # pairs that are scored at a time
COLUMNS = Columns(("pair",), ("score",))

#: scores of some rows of the left table with all of the right, (n, m)
Score = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Cross:
    """Two tables and the function that scores their pairs; pair i * m + j is row i with row j."""

    left: Any
    right: Any
    score: Score
    chunk: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of the left and of the right table."""
        return n_rows(self.left), n_rows(self.right)

    def chunks(self) -> Iterator[tuple[int, NDArray[np.floating[Any]]]]:
        """The first pair of each chunk, and the scores of its pairs, until the next but one.

        They are copied into one of two buffers: score() may use its memory again.
        """
        n_left, n_right = self.shape
        step = min(n_left, max(1, self.chunk // n_right))
        buffers: dict[Any, NDArray[np.floating[Any]]] = {}
        for number, start in enumerate(range(0, n_left, step)):
            stop = min(start + step, n_left)
            given = self.score(rows_of(self.left, start, stop), self.right)
            scores = checked(given, (stop - start, n_right))
            name = number % 2, scores.dtype
            if name not in buffers:
                buffers[name] = np.empty((step, n_right), dtype=scores.dtype)
            kept = buffers[name][: stop - start]
            kept[:] = scores
            del given, scores  # the next call finds their memory in the cache
            yield start * n_right, kept.reshape(-1)


def checked(given: Any, shape: tuple[int, int]) -> NDArray[np.floating[Any]]:
    """What score() gave for so many rows of both tables, as numbers."""
    scores = np.asarray(given)
    if scores.dtype not in (np.float32, np.float64):
        scores = checks.checked_numbers("scores", given, BadScore)
    if scores.shape != shape:
        raise BadScore(
            f"score() gave shape {scores.shape} for {shape[0]} rows and {shape[1]}; "
            f"give one score a pair, {shape}"
        )
    return scores


class CrossPool(EnginePool):
    """All pairs of two tables. Made by hs.cross_pool."""

    cross: Cross
    bins: Bins

    @property
    def has_more(self) -> bool:
        """Pairs are scored again."""
        return True

    def _sketched(self, layout: Layout) -> Sketch:
        raise BadOption(
            "the thresholds of a curve are not known while pairs are streamed; store the scores "
            "and use hs.open_pool"
        )

    def _fetched(
        self, layout: Layout, sketch: Sketch, limit: IntArray, n_wanted: IntArray, seed: int
    ) -> Sketch:
        """Score all pairs once more, and keep those up to a limit (A,) that are more than now."""
        more = limit > sketch.atoms.limit
        of_group = np.full(len(self.bins.edges) + 1, -1, dtype=np.int64)
        of_group[group_numbers(sketch.groups)] = sketch.atom_of
        found = []
        for first, scores in self.cross.chunks():
            atom = of_group[np.searchsorted(self.bins.edges, scores, side="right")]
            rows = np.flatnonzero(more[atom])
            u = permanent_numbers(first + rows, seed)
            small = u <= limit[atom[rows]]
            rows = rows[small]
            of_rows = atom[rows].astype(np.int32)
            kept = scores[rows].astype(np.float64)[:, None]
            found.append(Found(of_rows, u[small], first + rows, kept))
        old = take(sketch.items, np.flatnonzero(~more[sketch.items.atom]))
        items = merged(old, *found)
        atoms = replace(sketch.atoms, limit=np.where(more, limit, sketch.atoms.limit))
        return replace(sketch, atoms=atoms, items=items)

    def records(self, index: IntArray) -> Mapping[str, Sequence[Any]]:
        """What both tables say about some pairs."""
        held = self._of(index)
        pair = held.sketch.items.id[held.rows(index)].astype(np.int64)
        left, right = np.divmod(pair, self.cross.shape[1])
        sides = (("left", self.cross.left, left), ("right", self.cross.right, right))
        return {
            f"{side}.{name}": values
            for side, table, rows in sides
            for name, values in shown(table, rows).items()
        }


def cross_pool(
    left: Any,
    right: Any,
    score: Score,
    *,
    score_range: tuple[float, float] = (0.0, 1.0),
    threshold: float | None = None,
    strata: int = 256,
    branching: int = 2,
    classes: Sequence[Any] = (0, 1),
    seed: int = 0,
    candidates: int = FIRST_CANDIDATES,
    chunk: int = CHUNK,
    progress: bool = False,
) -> CrossPool:
    """A pool of all pairs of two tables; their scores are made, counted and forgotten.

    left, right: arrays, or pandas, Polars or Arrow tables. The id of a pair is i * m + j, row i of
        `left` with row j of the m rows of `right`.
    score: called with some rows of `left` and all of `right`; returns their scores, (n, m).
    score_range: between which the scores are cut into strata; those beyond are counted in the
        first and the last.
    chunk: about how many pairs to score at a time. Other options are those of hs.Pool.
    """
    low, high = _ends(score_range)
    seed = checks.checked_seed(seed)
    branching = checked_integer("branching", branching, smallest=2)
    if not callable(score):
        raise BadOption(f"score is {brief(score)}; give a function of rows of both tables")
    labels = checks.checked_classes(classes)
    if len(labels) != 2:
        raise BadOption(f"classes are {list(labels)}; a threshold tells two apart")
    checked_integer("candidates", candidates, smallest=1)
    cross = Cross(left, right, score, checked_integer("chunk", chunk, smallest=1))
    size = cross.shape[0] * cross.shape[1]
    if size == 0:
        raise EmptyPool(f"tables of {cross.shape} rows make no pairs")
    candidates = min(candidates, size)
    is_probability = low >= 0 and high <= 1
    cut_from = 0.5 if is_probability else 0.0
    given = checked_threshold(threshold)
    cut_from = cut_from if given is None else given
    summary = Summary(size, np.array([[low, high]]), None, None, 0.0, ("0", str(size - 1)))
    cut = make_cut(summary, "csf", checks.checked_cuts(strata), False)
    layout = Layout(COLUMNS, labels, (cut_from,), cut.ladders, (is_probability,))
    bins = make_bins(cut.ladders[0][1].edges, cut_from)
    reservoir = Reservoir.empty(len(bins.edges) + 1, candidates)
    _fill(reservoir, bins, cross, seed, progress)
    if is_probability and not (reservoir.extremes[0] >= 0 and reservoir.extremes[1] <= 1):
        raise BadScore(
            f"scores reach from {reservoir.extremes[0]:g} to {reservoir.extremes[1]:g}, and "
            f"score_range {(low, high)} says that they are probabilities; give score_range=(…, …)"
        )
    groups = _groups(reservoir, bins, is_probability)
    atoms, atom_of = make_atoms(layout, groups, cut)
    limit = np.full(len(atoms), np.iinfo(np.int64).max)
    np.minimum.at(limit, atom_of, reservoir.limit[reservoir.count > 0])
    items = _items(reservoir, atom_of, limit)
    sketch = Sketch(replace(atoms, limit=limit), groups, atom_of, items)
    settings = Settings(labels, seed, branching, candidates)
    summary = replace(summary, score_range=reservoir.extremes[None])
    pool = CrossPool(None, summary, layout, cut, settings, Lookup(None, COLUMNS), sketch)
    pool.cross, pool.bins = cross, bins
    return pool


def _ends(score_range: Any) -> tuple[float, float]:
    """The smallest and the largest score."""
    ends = checks.checked_numbers("score_range", score_range, BadOption)
    if ends.shape != (2,) or not -checks.LARGEST <= ends[0] < ends[1] <= checks.LARGEST:
        raise BadOption(
            f"score_range is {brief(score_range)}; give the smallest and the largest score"
        )
    return float(ends[0]), float(ends[1])


def _fill(reservoir: Reservoir, bins: Bins, cross: Cross, seed: int, progress: bool) -> None:
    """Take in all chunks: one is sketched while the next is scored."""

    def take_in(first: int, scores: NDArray[np.floating[Any]]) -> int:
        n_bad = absorb(reservoir, bins, scores, first, seed)
        if n_bad:
            row = int(np.flatnonzero(~(np.abs(scores) <= checks.LARGEST))[0])
            pair = divmod(first + row, cross.shape[1])
            raise BadScore(
                f"{n_bad} scores are NaN, infinite or beyond {checks.LARGEST:g}, such as "
                f"{scores[row]} of row {pair[0]} with row {pair[1]}; score() must give finite "
                "numbers"
            )
        return len(scores)

    size = cross.shape[0] * cross.shape[1]
    bar = progress_bar("pairs", size, shown=progress)
    with spare_core(), ThreadPoolExecutor(1) as worker, bar as advance:
        before = None
        for chunk in cross.chunks():
            if before is not None:
                advance(before.result())
            before = worker.submit(take_in, *chunk)
        if before is not None:
            advance(before.result())


@contextmanager
def spare_core() -> Iterator[None]:
    """Leave a core to the sketch.

    Threads of a matrix product share the work evenly and wait for the last of them; those that
    wait keep their cores busy. So one thread too many would slow down both score() and sketch.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        yield
        return
    most = max(1, (os.cpu_count() or 1) - 1)
    controller = ThreadpoolController()
    limits = {pool["prefix"]: min(pool["num_threads"], most) for pool in controller.info()}
    with controller.limit(limits=limits):
        yield


def _groups(reservoir: Reservoir, bins: Bins, is_probability: bool) -> Groups:
    used = np.flatnonzero(reservoir.count)
    size, total = reservoir.count[used], reservoir.total[used]
    above = bins.above[used].astype(np.int64)
    key = pa.table({PLACE: bins.place[used], prediction_name(0): above})
    prior = total if is_probability else size * expit(total / size)
    return Groups(key, size, total[:, None], prior[:, None], np.zeros(len(used)))


def group_numbers(groups: Groups) -> IntArray:
    """The number of each group in a reservoir, (G,)."""
    return np.asarray(groups.column(PLACE) + groups.column(prediction_name(0)))


def _items(reservoir: Reservoir, atom_of: IntArray, limit: IntArray) -> Found:
    """The candidates of all atoms, up to the limit that all bins of an atom share."""
    used = np.flatnonzero(reservoir.count)
    group = np.repeat(np.arange(len(used)), reservoir.n_kept[used])
    kept = np.arange(reservoir.u.shape[1]) < reservoir.n_kept[used][:, None]
    atom = atom_of[group].astype(np.int32)
    u = reservoir.u[used][kept]
    key, score = reservoir.key[used][kept], reservoir.score[used][kept]
    order = np.lexsort((u, atom))
    order = order[u[order] <= limit[atom[order]]]
    return Found(atom[order], u[order], key[order], score[order][:, None])


def n_rows(table: Any) -> int:
    """Rows of an array or table."""
    if not isinstance(table, pa.Table | Sequence | np.ndarray) and not hasattr(table, "columns"):
        raise BadOption(f"a table of pairs is {brief(table)}; give an array or a table")
    return int(table.num_rows) if isinstance(table, pa.Table) else len(table)


def rows_of(table: Any, start: int, stop: int) -> Any:
    """Some rows of an array or table, without a copy."""
    if isinstance(table, pa.Table):
        return table.slice(start, stop - start)
    return table.iloc[start:stop] if hasattr(table, "iloc") else table[start:stop]


def shown(table: Any, rows: NDArray[np.int64]) -> dict[str, list[Any]]:
    """The columns of a table at some rows; of an array there are none."""
    if isinstance(table, pa.Table):
        taken = table.take(pa.array(rows))
        return {name: taken[name].to_pylist() for name in table.column_names}
    if hasattr(table, "columns"):
        return {
            str(name): np.asarray(table[name].to_numpy())[rows].tolist() for name in table.columns
        }
    return {}
