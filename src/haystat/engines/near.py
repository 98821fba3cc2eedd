"""Pairs outside the blocks that lie near: they share a rare token, or somebody lists them.

Nearly all matches that blocking lost agree in something: a phone number, a street, a birth date. A
token is a word of a column, the whole of it, or two columns together; the rarest are taken, as long
as the pairs that share one are few enough to be listed. The nearness of a pair is the sum of
-log(share of all pairs that share the token) over its tokens. Near pairs are cut into strata by
nearness. For each match that the scores claim among blocked pairs some are expected among near
pairs of the same nearness, which gives their strata a place among the blocked ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from haystat.core.arguments import several_names
from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.columns import mean_of
from haystat.engines.layout import Layout
from haystat.engines.passes import claimed_shares
from haystat.engines.side_tables import Unblocked
from haystat.engines.source import Source, find_source
from haystat.errors import BadOption, PoolError

if TYPE_CHECKING:
    from haystat.engines.unblocked import PairSpace

MOST = 1 << 18  # pairs that share a rare token
MOST_GIVEN = 1 << 22  # that somebody lists
NEARNESS = "nearness"  # column of a table of candidate pairs
BETWEEN = " & "  # the columns of a token
SPLIT = r"[^\p{L}\p{N}]+"  # between words
GROWTH = np.sqrt(2.0)  # of the number of pairs from one stratum to the next
SMALLEST_STRATUM = 16
MOST_EXPECTED = 0.9  # share of matches among near pairs
ROW, TOKEN, LEFT, RIGHT = "hs_row", "hs_token", "hs_left", "hs_right"


@dataclass(frozen=True)
class Near:
    """Near pairs: number (n,) in the space of pairs, stratum (n,); share (J,) that is claimed.

    Strata ascend with nearness, and so do the shares.
    """

    number: IntArray
    stratum: IntArray
    share: FloatArray

    @property
    def size(self) -> IntArray:
        """Pairs of each stratum, (J,)."""
        return np.bincount(self.stratum, minlength=len(self.share))

    def among(self, number: IntArray) -> NDArray[np.bool_]:
        """Which pairs (m,) are near."""
        if not len(self.number):
            return np.zeros(len(number), dtype=bool)
        at = np.minimum(np.searchsorted(self.number, number), len(self.number) - 1)
        return np.asarray(self.number[at] == number)


NONE = Near(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def near_pairs(given: Unblocked, source: Source, layout: Layout, space: PairSpace) -> Near:
    """The pairs outside the blocks that lie near; none where nobody asks for them."""
    columns = several_names("near", given.near)
    if not columns and given.pairs is None:
        return NONE
    if columns and given.pairs is not None:
        raise BadOption("near pairs are found by columns or listed, not both: give near or pairs")
    given = replace(given, near=columns)
    left = _places(space.left)
    places = [left, left if space.right is None else _places(space.right)]
    with source.reading():
        listed = (
            _sharing(given, source, space, places)
            if given.near
            else _listed(given.pairs, source, layout, places)
        )
        table = _beside_blocked(listed, source, layout, places).to_pyarrow()
    i, j = (table[name].to_numpy().astype(np.int64) for name in (LEFT, RIGHT))
    nearness = table[NEARNESS].to_numpy().astype(np.float64)
    if not np.isfinite(nearness).all():
        raise BadOption(f"{NEARNESS!r} of a near pair is missing or infinite; give finite numbers")
    claimed = table["hs_claimed"].to_numpy(zero_copy_only=False).astype(np.float64)
    free = np.isnan(claimed)
    number = space.numbers(i[free], j[free])
    stratum, share = _strata(nearness[free], nearness[~free], claimed[~free], given.missed)
    order = np.argsort(number)
    return Near(number[order], stratum[order], share)


def _places(ids: NDArray[Any]) -> Any:
    """The row of each id in the space of pairs, as a table of the engine."""
    texts = pa.array([str(id) for id in ids.tolist()], type=pa.string())
    return ibis.memtable(pa.table({"hs_id_text": texts, ROW: np.arange(len(ids))}))


def _sharing(given: Unblocked, source: Source, space: PairSpace, places: list[Any]) -> Any:
    """Pairs that share a rare token, with their nearness."""
    left = _tokens(given.left, given, source, places[0])
    right = left if given.right is None else _tokens(given.right, given, source, places[1])
    one = left.group_by(TOKEN).agg(hs_n=left.count())
    other = right.group_by(TOKEN).agg(hs_m=right.count()).rename(hs_same=TOKEN)
    both = one.join(other, [(TOKEN, "hs_same")])
    n_pairs = both.hs_n * (both.hs_n - 1) / 2 if given.right is None else both.hs_n * both.hs_m
    both = both.select(hs_of=TOKEN, hs_pairs=n_pairs.cast("float64"))
    both = both.filter((both.hs_pairs > 0) & (both.hs_pairs <= _rarest(both)))
    weighed = both.select("hs_of", hs_weight=-(both.hs_pairs / float(space.size)).ln())
    rare = left.join(weighed, [(TOKEN, "hs_of")]).select(TOKEN, "hs_weight", **{LEFT: ROW})
    shared = rare.join(right.select(hs_same=TOKEN, **{RIGHT: ROW}), [(TOKEN, "hs_same")])
    if given.right is None:
        shared = shared.filter(shared[LEFT] < shared[RIGHT])
    return shared.group_by([LEFT, RIGHT]).agg(**{NEARNESS: shared.hs_weight.sum()})


def _tokens(table: Any, given: Unblocked, source: Source, place: Any) -> Any:
    """The tokens of each record, once each: words, whole columns, and two columns together."""
    if isinstance(table, list | tuple | np.ndarray):
        raise BadOption("near pairs are found from columns of the records; give tables, not ids")
    rows = find_source(table, None, source.table.get_backend()).table
    for name in given.near:
        if name not in rows.schema().names:
            raise BadOption(
                f"no column {name!r} of the records to find near pairs by; they have "
                f"{', '.join(rows.schema().names)}"
            )
    rows = rows.mutate(hs_text=rows[given.key].cast("string"))
    rows = rows.join(place, [("hs_text", "hs_id_text")])
    words = {name: rows[name].cast("string").lower().re_split(SPLIT) for name in given.near}
    whole = {name: one.join(" ").strip().nullif("") for name, one in words.items()}
    of_two = [whole[a] + BETWEEN + whole[b] for a, b in combinations(given.near, 2)]
    of_one = [*whole.values(), *(one.unnest() for one in words.values())]
    parts = [rows.select(ROW, **{TOKEN: token}) for token in (*of_one, *of_two)]
    found = ibis.union(*parts).filter(lambda t: t[TOKEN].length() > 0)
    hashed = found.select(ROW, **{TOKEN: found[TOKEN].hash().cast("int64")}).distinct()
    return ibis.memtable(hashed.to_pyarrow())  # it is read several times


def _rarest(both: Any) -> float:
    """The largest number of pairs that a token may have so that all of them are MOST at most."""
    sizes = both.group_by("hs_pairs").agg(n=both.hs_pairs.sum()).order_by("hs_pairs")
    table = sizes.to_pyarrow()
    n = table["hs_pairs"].to_numpy()
    allowed = np.cumsum(table["n"].to_numpy()) <= MOST
    return float(n[allowed].max()) if allowed.any() else 0.0


def _listed(pairs: Any, source: Source, layout: Layout, places: list[Any]) -> Any:
    """Candidate pairs that somebody lists, with their nearness."""
    rows = find_source(pairs, None, source.table.get_backend()).table
    for name in (*layout.columns.id, NEARNESS):
        if name not in rows.schema().names:
            raise BadOption(
                f"no column {name!r} in the table of near pairs; it needs the two ids of a pair, "
                f"named as in the pool, and {NEARNESS!r}: larger is nearer"
            )
    nearness = rows[NEARNESS].cast("float64")
    placed = _placed(rows, layout.columns.id, places, **{NEARNESS: nearness})
    n, n_found = int(rows.count().to_pyarrow().as_py()), int(placed.count().to_pyarrow().as_py())
    if n_found < n:
        raise PoolError(
            f"{n - n_found} near pairs have an id that is in no table; are the tables whole, and "
            "in the order of the ids: left, right?"
        )
    if n > MOST_GIVEN:
        raise BadOption(f"{n} near pairs; give the nearest, {MOST_GIVEN} at most")
    if places[0] is places[1]:
        placed = _turned(placed).filter(lambda t: t[LEFT] < t[RIGHT])
    return placed.group_by([LEFT, RIGHT]).agg(**{NEARNESS: placed[NEARNESS].max()})


def _placed(rows: Any, names: Sequence[str], places: list[Any], **further: Any) -> Any:
    """Pairs by the rows of their records; names are the columns of the two ids."""
    ids = {f"hs_id{i}": rows[name].cast("string") for i, name in enumerate(names)}
    rows = rows.select(**ids, **further)
    for i, (name, place) in enumerate(zip((LEFT, RIGHT), places, strict=True)):
        place = place.select(**{f"hs_text{i}": "hs_id_text", name: ROW})
        rows = rows.join(place, [(f"hs_id{i}", f"hs_text{i}")])
    return rows.select(LEFT, RIGHT, *further)


def _turned(pairs: Any) -> Any:
    """Pairs of one table, the record with the smaller row on the left."""
    low, high = ibis.least(pairs[LEFT], pairs[RIGHT]), ibis.greatest(pairs[LEFT], pairs[RIGHT])
    return pairs.mutate(**{LEFT: low, RIGHT: high})


def _beside_blocked(listed: Any, source: Source, layout: Layout, places: list[Any]) -> Any:
    """Listed pairs with what the scores claim of them, null where they are not blocked."""
    columns = layout.columns
    ids = {f"hs_given{i}": source.table[name] for i, name in enumerate(columns.id)}
    rows = columns.plain(source.table, layout.classes, layout.thresholds, **ids)
    blocked = _placed(rows, list(ids), places, hs_claimed=mean_of(claimed_shares(rows, layout)))
    if places[0] is places[1]:
        blocked = _turned(blocked)
    blocked = blocked.select("hs_claimed", hs_i=LEFT, hs_j=RIGHT)
    joined = listed.join(blocked, [(LEFT, "hs_i"), (RIGHT, "hs_j")], how="left")
    return joined.select(LEFT, RIGHT, NEARNESS, "hs_claimed")


def _strata(
    nearness: FloatArray, of_blocked: FloatArray, claimed: FloatArray, missed: float
) -> tuple[IntArray, FloatArray]:
    """The stratum of each pair by its nearness (n,), and the share of matches expected, (J,).

    of_blocked and claimed (m,) are nearness and share of blocked pairs: for each match that these
    claim, `missed` are expected outside the blocks with about the same nearness. Shares never fall.
    """
    n = len(nearness)
    if n == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    n_steps = int(np.log(max(n / SMALLEST_STRATUM, 1.0)) / np.log(GROWTH))
    above = (n / GROWTH ** np.arange(1, n_steps + 1)).astype(np.int64)  # pairs nearer than an edge
    edges = np.unique(np.sort(nearness)[n - above])
    stratum = np.unique(np.searchsorted(edges, nearness, side="right"), return_inverse=True)[1]
    size = np.bincount(stratum)
    lowest = np.full(len(size), np.inf)
    np.minimum.at(lowest, stratum, nearness)
    of = np.searchsorted(lowest[1:], of_blocked, side="right")
    share = missed * np.bincount(of, claimed, minlength=len(size)) / size
    return stratum.astype(np.int64), np.maximum.accumulate(np.minimum(share, MOST_EXPECTED))
