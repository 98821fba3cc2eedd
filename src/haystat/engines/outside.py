"""A sketch with the pairs outside the blocks: near ones in strata of their own, all others in one.

They are the last atoms of the sketch. Systems never compared them, so that they are predicted to be
no match and lie below every threshold. Strata are numbered by the share of matches that is expected
in them, so that near ones stand among the blocked.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.engines.layout import PLACE
from haystat.engines.near import Near
from haystat.engines.passes import Groups
from haystat.engines.sketch import Sketch, take

FAR = -1  # in place of the place of a group, of the pairs that are not near
NEAREST = -2  # of the first stratum of near ones; the others count down from it


def near_stratum(place: int) -> int:
    """The stratum of near pairs whose groups have this place."""
    return NEAREST - place


def near_and_far(sketch: Sketch) -> tuple[BoolArray, BoolArray] | None:
    """Atoms of near pairs, and those of far ones, (A,) each; None where none is near."""
    place = sketch.groups.column(PLACE)
    if place.min() > NEAREST:
        return None
    kinds = np.zeros((2, len(sketch.atoms)), dtype=bool)
    for kind, of_groups in zip(kinds, (place <= NEAREST, place == FAR), strict=True):
        kind[sketch.atom_of[of_groups]] = True
    return kinds[0], kinds[1]


def with_outside(sketch: Sketch, n: int, near: Near, missed: float, score: FloatArray) -> Sketch:
    """The sketch with n pairs outside the blocks, no item yet.

    missed: matches among them that are not near, for each that is blocked; score (S,) is theirs.
    """
    groups, atoms = sketch.groups, sketch.atoms
    n_far = n - len(near.number)
    size = np.append(near.size, n_far)
    place = np.append(NEAREST - np.arange(len(near.share)), FAR)
    claimed = np.minimum(missed * groups.prior_sum.sum(axis=0), n_far)
    prior = np.vstack([np.outer(near.size * near.share, np.ones_like(claimed)), claimed])
    if n_far == 0:
        size, place, prior = size[:-1], place[:-1], prior[:-1]
    names = groups.key.schema
    rows = {f.name: pa.array(place if f.name == PLACE else 0 * place, type=f.type) for f in names}
    n_new = len(size)
    groups = Groups(
        pa.concat_tables([groups.key, pa.table(rows, schema=names)]),
        np.append(groups.size, size),
        np.vstack([groups.score_sum, np.outer(size, score)]),
        np.vstack([groups.prior_sum, prior]),
        np.append(groups.square_sum, np.zeros(n_new)),
    )
    nothing = np.zeros((n_new, atoms.predictions.shape[1]), dtype=np.int64)
    atoms = replace(
        atoms,
        stratum=_strata(sketch, near.share, n_far > 0),
        size=np.append(atoms.size, size),
        predictions=np.vstack([atoms.predictions, nothing]),
        bins=np.vstack([atoms.bins, np.zeros((n_new, atoms.bins.shape[1]), dtype=np.int64)]),
        limit=np.append(atoms.limit, np.full(n_new, -1)),
    )
    atom_of = np.append(sketch.atom_of, np.arange(len(atoms) - n_new, len(atoms)))
    return Sketch(atoms, groups, atom_of, sketch.items)


def _strata(sketch: Sketch, near_share: FloatArray, any_far: bool) -> IntArray:
    """The stratum of each atom, those outside the blocks last, by the share that is expected."""
    blocked, groups = sketch.atoms.stratum, sketch.groups
    of_group = blocked[sketch.atom_of]
    claimed = np.bincount(of_group, groups.prior_sum.mean(axis=1))
    share = np.maximum.accumulate(claimed / np.bincount(of_group, groups.size))
    n_blocked, n_near = len(share), len(near_share)
    kind = np.repeat([1, 0], [n_blocked, n_near])
    order = np.lexsort((kind, np.concatenate([share, near_share])))  # stable within a kind
    number = np.empty(n_blocked + n_near, dtype=np.int64)
    number[order] = np.arange(n_blocked + n_near) + any_far
    return np.concatenate([number[blocked], number[n_blocked:], np.zeros(int(any_far), np.int64)])


def without_outside(sketch: Sketch, n_outside: int) -> Sketch:
    """The blocked pairs alone."""
    groups, atoms = sketch.groups, sketch.atoms
    n_groups, n_atoms = len(groups.size) - n_outside, len(atoms) - n_outside
    groups = Groups(
        groups.key.slice(0, n_groups),
        groups.size[:n_groups],
        groups.score_sum[:n_groups],
        groups.prior_sum[:n_groups],
        groups.square_sum[:n_groups],
    )
    atoms = replace(
        atoms,
        stratum=atoms.stratum[:n_atoms],
        size=atoms.size[:n_atoms],
        predictions=atoms.predictions[:n_atoms],
        bins=atoms.bins[:n_atoms],
        limit=atoms.limit[:n_atoms],
    )
    items = take(sketch.items, np.flatnonzero(sketch.items.atom < n_atoms))
    return Sketch(atoms, groups, sketch.atom_of[:n_groups], items)
