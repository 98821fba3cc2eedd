"""What a study file keeps of its pool: the sketch is written here, and its parts are read.

The digests cover every byte, so that a changed sketch is found.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.designs.base import Design
from haystat.errors import BadOption
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.pool.base import AnyPool
from haystat.pool.cells import Before, Cells
from haystat.pool.permanent_numbers import unit_numbers
from haystat.pool.problem import Problem
from haystat.pool.signals import CellSignals
from haystat.study.array_codec import PLAIN, decode_array, encode_array, pack, plain, plain_list

CHUNK = 256  # candidates that are read together
CHUNKS = "SELECT cell, first, content FROM candidates ORDER BY cell, first"
MOST_MOMENTS = 1 << 21  # loss moments that a study file keeps, 16 MiB
TREE = ("parent", "depth", "leaf")
CELLS = ("stratum", "size", "prior")
FURTHER = ("known", "apart", "far")
BEFORE = ("drawn", "inclusion")

#: columns to show to the person who labels, for the items at some positions
Records = Callable[[IntArray], Mapping[str, Sequence[Any]]]


def no_records(index: IntArray) -> Mapping[str, Sequence[Any]]:
    """Nothing to show but the id."""
    return {}


def first_shares(problem: Problem, design: Design, seed: int) -> FloatArray:
    """Share of the draws that a design begins with in each cell, (K,)."""
    size = problem.cells.size
    share = size / size.sum()
    drawn = design.first_rates(problem, np.random.default_rng(seed)) * size
    return np.asarray(drawn / drawn.sum() if drawn.sum() > 0 else share)


def allotment(size: IntArray, share: FloatArray, total: int) -> IntArray:
    """Candidates to keep of each cell, (K,).

    A third of `total` goes to all cells alike, a third by size, a third by the share of the
    draws that the design begins with; where that leads, nobody knows before the labels are in.
    """
    wanted = min(total, 2**53) / 3 * (1 / len(size) + size / size.sum() + share)
    kept: IntArray = np.minimum(size, np.maximum(np.ceil(wanted), 1)).astype(np.int64)
    return kept


def write_sketch(
    connection: sqlite3.Connection,
    pool: AnyPool,
    problem: Problem,
    share: FloatArray,
    total: int,
    records: Records,
) -> str:
    """Put the sketch of `pool` into a new study file; its digest.

    problem is what the study's measure makes of the pool, share (K,) as in `allotment`.
    """
    cells, losses = problem.cells, problem.losses
    order = pool.candidates(cells)
    parts = {"pool": _described(pool), "cells": _encode_cells(cells)}
    if losses.kept():
        parts["losses"] = _encode_losses(problem.measure, losses.kept())
    for name, value in parts.items():
        connection.execute("INSERT INTO sketch VALUES (?, ?)", (name, pack(value)))
    kept = np.where(problem.open, allotment(cells.size, share, total), cells.size)
    wanted = (kept if cells.before is None else np.maximum(kept, cells.before.drawn)).tolist()
    runs = [order.first(cell, n) for cell, n in enumerate(order.prepare(wanted))]
    write_chunks(connection, pool, records, dict.fromkeys(range(len(cells)), 0), runs)
    return sketch_digest(connection)


def write_chunks(
    connection: sqlite3.Connection,
    pool: AnyPool,
    records: Records,
    first_of: Mapping[int, int],
    runs: Sequence[tuple[IntArray, FloatArray]],
) -> None:
    """Add candidates of some cells: {cell: first rank}, and the items of each from there on.

    u of an item is kept where its id does not tell it.
    """
    everything = np.concatenate([item for item, _ in runs])
    outputs, shown = pool.outputs(everything), records(everything)
    done = 0
    for (cell, first), (run, u) in zip(first_of.items(), runs, strict=True):
        for start in range(0, len(run), CHUNK):
            part, numbers = run[start : start + CHUNK].tolist(), u[start : start + CHUNK]
            rows = slice(done + start, done + start + len(part))
            ids = [plain(pool.id_of(item)) for item in part]
            chunk = _encode_chunk(ids, outputs.take(rows), shown, rows)
            if not np.array_equal(unit_numbers(ids, pool.seed or 0), numbers):
                chunk["u"] = numbers.tolist()
            content = pack(chunk)
            row = (cell, first + start, len(part), content)
            connection.execute("INSERT INTO candidates VALUES (?, ?, ?, ?)", row)
        done += len(run)


def sketch_digest(connection: sqlite3.Connection, later: Collection[tuple[int, int]] = ()) -> str:
    """SHA-256 of the sketch, without the chunks (cell, first) that came `later`."""
    digest = hashlib.sha256()
    for name, content in connection.execute("SELECT name, content FROM sketch ORDER BY name"):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()} ".encode())
    for cell, first, content in connection.execute(CHUNKS):
        if (cell, first) not in later:
            digest.update(f"{cell} {first} {hashlib.sha256(content).hexdigest()} ".encode())
    return digest.hexdigest()


def chunk_digest(connection: sqlite3.Connection, cell: int, first: int) -> str:
    """SHA-256 of what was added to a cell from rank `first` on, up to where it ends."""
    query = "SELECT content FROM candidates WHERE cell = ? AND first = ?"
    row = connection.execute(query, (cell, first)).fetchone()
    return "" if row is None else hashlib.sha256(row[0]).hexdigest()


def _described(pool: AnyPool) -> dict[str, Any]:
    """The pool without its items."""
    if not all(isinstance(label, PLAIN) for label in pool.classes):
        raise BadOption(f"classes are {list(pool.classes)}; a study keeps numbers and texts")
    schema = pool.schema
    weight = {"weight": schema.weight, "light": schema.light}
    weighted = {} if schema.weight is None else {"weight": weight}
    return {
        "size": pool.size,
        "classes": list(pool.classes),
        "seed": pool.seed,
        "fingerprint": pool.fingerprint,
        "systems": list(schema.systems),
        "score_range": encode_array("score_range", schema.score_range),
        "columns": list(schema.columns),
        "class_names": list(schema.class_names),
        "scored": schema.scored,
        **weighted,
        "tree": {name: encode_array(name, getattr(pool.tree, name)) for name in TREE},
    }


def _encode_cells(cells: Cells) -> dict[str, Any]:
    names = [*CELLS, *(name for name in FURTHER if getattr(cells, name) is not None)]
    arrays = {name: encode_array(name, getattr(cells, name)) for name in names}
    kept: dict[str, Any] = {**arrays, "example": _encode_outputs(cells.example)}
    if cells.signals is not None:
        kept["signals"] = _encode_signals(cells.signals)
    if cells.before is not None:
        before = {name: encode_array(name, getattr(cells.before, name)) for name in BEFORE}
        kept["before"] = before
    return kept


def _encode_signals(signals: CellSignals) -> dict[str, Any]:
    known = {"place": np.nan_to_num(signals.place), "band": signals.band}
    parts = {name: encode_array(name, values) for name, values in known.items()}
    names = {"coordinates": list(signals.coordinates), "two_valued": list(signals.two_valued)}
    weights = {"n_weights": signals.n_weights} if signals.n_weights else {}
    return {**names, **weights, **parts}


def decode_cells(given: Mapping[str, Any], items: Any) -> Cells:
    """The cells of a sketch; items tells the cells of those that were read."""
    arrays = {name: decode_array(given[name]) for name in (*CELLS, *FURTHER) if name in given}
    before = None
    if "before" in given:
        before = Before(**{name: decode_array(given["before"][name]) for name in BEFORE})
    example, told = decode_outputs(given["example"]), given.get("signals")
    signals = None if told is None else _decode_signals(told)
    return Cells(**arrays, example=example, of_item=items, signals=signals, before=before)


def _decode_signals(given: Mapping[str, Any]) -> CellSignals:
    band = decode_array(given["band"])
    place = np.where(band == 0, np.nan, decode_array(given["place"]))
    names, two_valued = tuple(given["coordinates"]), tuple(given["two_valued"])
    return CellSignals(names, two_valued, place, band, given.get("n_weights", 0))


def _encode_losses(measure: Measure, kept: Mapping[str, Any]) -> dict[str, Any]:
    """The losses of cells; moments that are too many for a file, which only some designs need."""
    first = kept.get("first", np.zeros(0))
    if first.size > MOST_MOMENTS:
        raise BadOption(
            f"{measure.name} has losses of {first.size:.1e} moments, more than a "
            "study file keeps; evaluate fewer systems or thresholds together"
        )
    return {
        name: _encode_outputs(part) if name == "example" else encode_array(name, part)
        for name, part in kept.items()
        if name != "second" or part.size <= MOST_MOMENTS
    }


def _encode_chunk(
    ids: list[Any], outputs: Outputs, shown: Mapping[str, Sequence[Any]], rows: slice
) -> dict[str, Any]:
    # A list, because the columns are to be shown in the order in which they were given.
    records = [[name, plain_list(values[rows])] for name, values in shown.items()]
    return {"ids": ids, "records": records, **_encode_outputs(outputs)}


def _encode_outputs(outputs: Outputs) -> dict[str, Any]:
    arrays = {name: getattr(outputs, name) for name in ("index", "scores", "predictions")}
    columns = {name: encode_array(f"column {name!r}", v) for name, v in outputs.columns.items()}
    return {**{name: encode_array(name, v) for name, v in arrays.items()}, "columns": columns}


def decode_outputs(given: Mapping[str, Any]) -> Outputs:
    """What systems say about items."""
    return Outputs(
        decode_array(given["index"]),
        decode_array(given["scores"]),
        decode_array(given["predictions"]),
        {name: decode_array(values) for name, values in given["columns"].items()},
    )
