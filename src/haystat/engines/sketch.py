"""The sketch of a pool: its groups and atoms with their counts, and the first items of each by u.

An atom is what every measure of a pool may treat alike: one stratum, one prediction by each
system, one value of each fact, one bin of each set of thresholds, one band of each signal. A cell
of a measure is one or more atoms, and its order of items is theirs, merged by u.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.checks import refuse_duplicates
from haystat.engines.columns import Columns, fact_name, prediction_name
from haystat.engines.layout import LEVEL, PLACE, Layout, band_names, bin_names
from haystat.engines.passes import Found, Groups, RowOrder, read_smallest
from haystat.engines.signals import EngineSignal
from haystat.engines.source import Source
from haystat.engines.strata import Cut
from haystat.errors import PoolChanged
from haystat.pool import prior
from haystat.pool.cells import thresholds
from haystat.pool.signal_places import PARTS
from haystat.pool.signals import CellSignals

FACTOR = 4  # by which more is fetched where a cell got too few


@dataclass(frozen=True)
class Atoms:
    """A atoms: stratum (A,), size (A,), predictions (A, S), facts by name (A,), bins (A, B).

    bands (A, J) are those of signals. limit (A,) is the u up to which all items of the atom are
    among the candidates.
    """

    stratum: IntArray
    size: IntArray
    predictions: IntArray
    facts: Mapping[str, NDArray[Any]]
    bins: IntArray
    limit: IntArray
    bands: IntArray | None = None

    def __len__(self) -> int:
        return len(self.size)


@dataclass(frozen=True)
class Sketch:
    """All that an evaluation needs of a pool.

    atom_of (G,) is the atom of each group; items are the candidates in the order of atom and u.
    """

    atoms: Atoms
    groups: Groups
    atom_of: IntArray
    items: Found

    def levels(self) -> IntArray:
        """The level of each atom, (A,), of a layout that has them."""
        level = np.zeros(len(self.atoms), dtype=np.int64)
        level[self.atom_of] = self.groups.column(LEVEL)
        return level

    def start(self) -> IntArray:
        """Where the candidates of each atom begin, and the end of the last, (A + 1,)."""
        return np.searchsorted(self.items.atom, np.arange(len(self.atoms) + 1))


def make_atoms(layout: Layout, groups: Groups, cut: Cut) -> tuple[Atoms, IntArray]:
    """The atoms of the groups, and the atom of each group, (G,)."""
    stratum = cut.strata(groups.column(PLACE).astype(np.int64), groups.size).astype(np.int64)
    codes = [stratum]
    predicted = [prediction_name(i) for i in layout.systems] if layout.classes else []
    facts = [fact_name(i) for i in range(len(layout.columns.facts))]
    level = [LEVEL] if layout.levels else []
    if layout.weight_range is not None:
        codes.append(groups.heavy())
    for name in [*predicted, *facts, *bin_names(layout), *band_names(layout), *level]:
        codes.append(np.unique(groups.column(name), return_inverse=True)[1].astype(np.int64))
    _, example, atom_of = np.unique(
        np.stack(codes, axis=1), axis=0, return_index=True, return_inverse=True
    )
    atom_of = atom_of.ravel().astype(np.int64)

    def stacked(names: list[str]) -> IntArray:
        columns = [groups.column(name)[example].astype(np.int64) for name in names]
        return np.stack(columns, axis=1) if columns else np.zeros((len(example), 0), np.int64)

    size = np.zeros(len(example), dtype=np.int64)
    np.add.at(size, atom_of, groups.size)
    no_class = np.zeros((len(example), len(layout.systems)), dtype=np.int64)
    atoms = Atoms(
        stratum[example],
        size,
        stacked(predicted) if predicted else no_class,
        {
            name: groups.column(ours)[example]
            for name, ours in zip(layout.columns.facts, facts, strict=True)
        },
        stacked(bin_names(layout)),
        np.full(len(example), -1, dtype=np.int64),
        stacked(band_names(layout)) if layout.signals else None,
    )
    return atoms, atom_of


def fetched(
    source: Source,
    layout: Layout,
    sketch: Sketch,
    limit: IntArray,
    n_wanted: IntArray,
    order: RowOrder,
    factor: int = FACTOR,
) -> Sketch:
    """The sketch with all items up to `limit` (A,), where that is more than it has.

    n_wanted (A,): so many items of an atom were hoped for.
    """
    atoms = sketch.atoms
    more = limit > atoms.limit
    wanted = np.where(more, limit, -1)
    found = read_smallest(
        source, layout, sketch.groups, sketch.atom_of, wanted[sketch.atom_of], order
    )
    check_complete(source, atoms, found, wanted)
    old = sketch.items
    kept = ~more[old.atom]
    items = merged(take(old, np.flatnonzero(kept)), found) if len(old) else found
    refuse_repeated(layout.columns, items)
    atoms = replace(atoms, limit=np.where(more, limit, atoms.limit))
    result = replace(sketch, atoms=atoms, items=items)
    got = np.diff(result.start())
    short = got < np.minimum(n_wanted, atoms.size)
    if short.any():  # one time in a thousand million: ask for more of these
        again = np.where(short, thresholds(atoms.size, factor * int(n_wanted.max())), atoms.limit)
        return fetched(source, layout, result, again, n_wanted, order, FACTOR * factor)
    return result


def check_complete(source: Source, atoms: Atoms, found: Found, limit: IntArray) -> None:
    """Raise where an atom that was fetched whole has not the number of items counted before."""
    got = np.bincount(found.atom, minlength=len(atoms))
    whole = limit == np.iinfo(np.int64).max
    wrong = np.flatnonzero((whole & (got != atoms.size)) | (got > atoms.size))
    if len(wrong):
        raise PoolChanged(
            f"{source.name} changed between two passes: {atoms.size[wrong[0]]} rows of one kind "
            f"were counted and {got[wrong[0]]} are there now; open the pool again"
        )


def refuse_repeated(columns: Columns, items: Found) -> None:
    """Raise if two candidates have one id."""
    order = np.argsort(items.u, kind="stable")
    same = np.flatnonzero(np.diff(items.u[order]) == 0)
    repeated = [row for row in same if items.id[order[row]] == items.id[order[row + 1]]]
    if repeated:
        example = items.id[order[repeated[0]]]
        refuse_duplicates(columns, len(repeated), plain_id(example))


def plain_id(value: Any) -> Any:
    """An id as a Python object."""
    return value.item() if isinstance(value, np.generic) else value


def take(items: Found, rows: IntArray) -> Found:
    """Some of the items, in the order of `rows`."""
    weight = None if items.weight is None else items.weight[rows]
    return Found(items.atom[rows], items.u[rows], items.id[rows], items.scores[rows], weight)


def merged(*parts: Found) -> Found:
    """Items of several passes in the order of atom and u."""
    known = [part.weight for part in parts if part.weight is not None]
    weights = known if len(known) == len(parts) else None
    both = Found(
        np.concatenate([part.atom for part in parts]),
        np.concatenate([part.u for part in parts]),
        np.concatenate([part.id for part in parts]),
        np.concatenate([part.scores for part in parts]),
        None if weights is None else np.concatenate(weights),
    )
    return take(both, np.lexsort((both.u, both.atom)))


def empty_items(n_systems: int) -> Found:
    """No items yet."""
    return Found(
        np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, object), np.zeros((0, n_systems))
    )


def atom_sums(values: FloatArray, atom_of: IntArray, n_atoms: int) -> FloatArray:
    """Totals of the groups' values (G, S) in each atom, (A, S)."""
    result = np.zeros((n_atoms, *values.shape[1:]))
    np.add.at(result, atom_of, values)
    return result


def mean_prior(
    classes: Sequence[Any], layout: Layout, sketch: Sketch, of_atom: IntArray, size: IntArray
) -> FloatArray:
    """Mean prior p(y|x) of each cell, (K, C), from the cell of each atom."""
    n_classes, columns = len(classes), layout.columns
    if not n_classes:
        return np.ones((len(size), 1))
    totals = atom_sums(sketch.groups.prior_sum, of_atom[sketch.atom_of], len(size))
    if columns.probabilities:
        shares = totals / size[:, None]
    elif not columns.scores:
        trusted = prior.trusted(sketch.atoms.predictions.astype(np.int16), n_classes)
        total = atom_sums(trusted * sketch.atoms.size[:, None], of_atom, len(size))
        shares = total / size[:, None]
    elif n_classes > 2:
        shares = np.full((len(size), n_classes), 1 / n_classes)
    else:
        positive = prior.rounded(totals / size[:, None])
        means = [np.stack([1 - share, share], axis=1) for share in positive.T]
        shares = np.asarray(np.mean(means, axis=0))
    return prior.kept_possible(shares)


def cell_signals(
    signals: Sequence[EngineSignal],
    sketch: Sketch,
    of_atom: IntArray,
    size: IntArray,
    first: IntArray,
) -> CellSignals | None:
    """What signals say about cells, of which `first` (K,) is an atom of each."""
    total, bands = sketch.groups.signal_sum, sketch.atoms.bands
    if total is None or bands is None:
        return None
    whole = np.zeros((len(size), len(signals)), dtype=np.int64)
    np.add.at(whole, of_atom[sketch.atom_of], total)
    band = bands[first]
    place = np.where(band == 0, np.nan, whole / PARTS / size[:, None])
    two_valued = tuple(one.two_valued for one in signals)
    return CellSignals(tuple(one.name for one in signals), two_valued, place, band)
