"""A sketch as one Parquet file: the candidates are its rows, all else is in its header.

Since format 3 it carries a checksum, and a file with a changed byte is refused.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from haystat.core.disk import existing_file, readable, whole_file
from haystat.engines import checksum
from haystat.engines.checks import Summary
from haystat.engines.columns import ID, WEIGHT, Columns, score_name
from haystat.engines.grid import Grid
from haystat.engines.layout import Layout
from haystat.engines.passes import ATOM, Groups, U, sorted_found
from haystat.engines.records import Lookup
from haystat.engines.signals import EngineSignal
from haystat.engines.sketch import Atoms, Sketch
from haystat.engines.strata import Cut
from haystat.errors import FileError

if TYPE_CHECKING:
    from haystat.engines.pool import EnginePool

FORMAT = 3
UNSEALED = 2  # the last format without a checksum; it can still be read
HEADER = b"haystat"
SHOWN = "show."  # before the names of columns to show


def write_pool(pool: EnginePool, path: Path) -> None:
    """Write the sketch of a pool, with the columns to show of its candidates."""
    held = pool.held
    items = held.sketch.items
    columns = {ATOM: pa.array(items.atom), U: pa.array(items.u), ID: _arrow(items.id)}
    columns |= {score_name(i): pa.array(s) for i, s in enumerate(items.scores.T)}
    columns |= {} if items.weight is None else {WEIGHT: pa.array(items.weight)}
    numbers = [held.run(atom)[0] for atom in range(len(held.sketch.atoms))]
    shown = pool.records(np.concatenate(numbers))
    columns |= {SHOWN + name: pa.array(list(values)) for name, values in shown.items()}
    digits = checksum.unused()
    metadata = {HEADER: json.dumps(_header(pool, list(shown))), checksum.KEY: digits}
    table = pa.table(columns).replace_schema_metadata(metadata)
    content = pa.BufferOutputStream()
    parquet.write_table(table, content, compression="zstd")
    with whole_file(path) as draft:
        draft.write_bytes(checksum.sealed(content.getvalue().to_pybytes(), digits))


def read_parts(path: Path) -> dict[str, Any]:
    """What `write_pool` wrote: summary, layout, cut, settings, lookup and sketch by name."""
    existing_file(path)
    with readable(path):
        content = path.read_bytes()
    intact = checksum.is_intact(content)
    if intact is False:
        raise _damaged(path, "its checksum is wrong")
    try:
        table = parquet.read_table(pa.BufferReader(content))
        header = json.loads((table.schema.metadata or {})[HEADER])
        if header["format"] not in (UNSEALED, FORMAT):
            raise FileError(
                f"{path} is a sketch of format {header['format']}, and this haystat reads "
                f"{UNSEALED} and {FORMAT}; make it again with haystat sketch"
            )
        if header["format"] != UNSEALED and intact is None:
            raise _damaged(path, "its checksum is missing")
        return _parts(header, table)
    except FileError:
        raise
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise _damaged(path, type(error).__name__) from None


def _damaged(path: Path, why: str) -> FileError:
    return FileError(
        f"{path} is no sketch, or is cut short or damaged ({why}); make it again with haystat "
        "sketch"
    )


def _header(pool: EnginePool, show: list[str]) -> dict[str, Any]:
    sketch, layout = pool.held.sketch, pool.layout
    source = pool.source
    return {
        "format": FORMAT,
        "settings": asdict(pool.settings),
        "fingerprint": pool.fingerprint,
        "source": None
        if source is None
        else {
            "name": source.name,
            "pattern": source.pattern,
            "engine": source.engine,
            "whole": pool.size == pool.summary.size,  # else there are pairs that were not blocked
        },
        "summary": asdict(replace(pool.summary, score_range=array_text(pool.summary.score_range))),  # type: ignore[arg-type]
        "show": show,
        **layout_text(layout),
        **_signals(pool),
        **_weights(pool),
        "cut": {
            "method": pool.cut.method,
            "n_strata": pool.cut.n_strata,
            "position": None if pool.cut.position is None else array_text(pool.cut.position),
        },
        "key": table_text(sketch.groups.key),
        "groups": {name: array_text(getattr(sketch.groups, name)) for name in GROUPS},
        "atom_of": array_text(sketch.atom_of),
        "atoms": {name: array_text(getattr(sketch.atoms, name)) for name in ATOMS},
        "facts": table_text(pa.table({n: _arrow(v) for n, v in sketch.atoms.facts.items()})),
    }


def layout_text(layout: Layout) -> dict[str, Any]:
    """How rows are put into groups, but for bins and signals."""
    return {
        "columns": asdict(layout.columns),
        "thresholds": layout.thresholds,
        "probabilities": layout.probabilities,
        "ladders": [[column, grid_text(grid)] for column, grid in layout.ladders],
        **({} if layout.weight_range is None else {"weight_range": layout.weight_range}),
    }


def layout_from(given: dict[str, Any], classes: tuple[Any, ...]) -> Layout:
    """The same again, with signals if there are any."""
    names: dict[str, Any] = given["columns"]
    names = {n: tuple(v) if isinstance(v, list) else v for n, v in names.items()}
    ladders = tuple((column, grid_from(grid)) for column, grid in given["ladders"])
    thresholds, probabilities = (tuple(given[name]) for name in ("thresholds", "probabilities"))
    weights = tuple(given.get("weight_range") or ()) or None
    rules = Columns(**names), classes, thresholds, ladders, probabilities
    return Layout(*rules, signals=signals_from(given), weight_range=weights)


def _signals(pool: EnginePool) -> dict[str, Any]:
    """What there is besides of a pool with signals."""
    groups, atoms = pool.held.sketch.groups, pool.held.sketch.atoms
    if groups.signal_sum is None or atoms.bands is None:
        return {}
    return {
        "signals": [asdict(one) for one in pool.layout.signals],
        "signal_sum": array_text(groups.signal_sum),
        "bands": array_text(atoms.bands),
    }


def _weights(pool: EnginePool) -> dict[str, Any]:
    """What there is besides of a pool with weights."""
    weight_sum = pool.held.sketch.groups.weight_sum
    return {} if weight_sum is None else {"weight_sum": array_text(weight_sum)}


def signals_from(header: dict[str, Any]) -> tuple[EngineSignal, ...]:
    """The signals of a header."""
    given: list[dict[str, Any]] = header.get("signals", [])
    found = []
    for one in given:
        fields: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in one.items()}
        found.append(EngineSignal(**fields))
    return tuple(found)


GROUPS = ("size", "score_sum", "prior_sum", "square_sum")
ATOMS = ("stratum", "size", "predictions", "bins", "limit")


def _parts(header: dict[str, Any], table: pa.Table) -> dict[str, Any]:
    cut = header["cut"]
    position = None if cut["position"] is None else array_from(cut["position"])
    given = header["summary"]
    numbers, ids = given["number_range"], given["id_range"]
    given |= {"score_range": array_from(given["score_range"]), "id_range": tuple(ids)}
    given["number_range"] = None if numbers is None else tuple(numbers)
    given["weight_range"] = tuple(given.get("weight_range") or ()) or None
    settings = header["settings"] | {"classes": tuple(header["settings"]["classes"])}
    layout = layout_from(header, settings["classes"])
    columns = layout.columns
    groups = Groups(
        table_from(header["key"]), **{n: array_from(header["groups"][n]) for n in GROUPS}
    )
    if layout.signals:
        groups = replace(groups, signal_sum=array_from(header["signal_sum"]))
    if layout.weight_range is not None:
        groups = replace(groups, weight_sum=array_from(header["weight_sum"]))
    facts = table_from(header["facts"])
    atoms = Atoms(
        **{name: array_from(header["atoms"][name]) for name in ATOMS},
        facts={n: facts[n].to_numpy(zero_copy_only=False) for n in facts.column_names},
        bands=array_from(header["bands"]) if layout.signals else None,
    )
    items = sorted_found(table, len(columns.systems))
    shown = [SHOWN + name for name in header["show"]]
    kept = table.select([ID, *shown]).rename_columns([ID, *header["show"]]) if shown else None
    return {
        "header": header,
        "summary": Summary(**given),
        "layout": layout,
        "cut": Cut(layout.ladders, cut["method"], cut["n_strata"], position),
        "settings": settings,
        "lookup": Lookup(None, replace(columns, show=tuple(header["show"])), {}, kept),
        "sketch": Sketch(atoms, groups, array_from(header["atom_of"]), items),
    }


def grid_text(grid: Grid) -> dict[str, Any]:
    """A grid as JSON."""
    return {**asdict(grid), "edges": array_text(grid.edges)}


def grid_from(given: dict[str, Any]) -> Grid:
    """The grid of `grid_text`."""
    return Grid(**{**given, "edges": array_from(given["edges"])})


def _arrow(values: NDArray[Any]) -> pa.Array:
    return pa.array(values.tolist() if values.dtype.kind == "O" else values)


def array_text(values: NDArray[Any]) -> dict[str, Any]:
    """An array bit for bit."""
    content = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
    return {"type": values.dtype.str, "shape": values.shape, "content": content}


def array_from(given: dict[str, Any]) -> NDArray[Any]:
    """The array of `array_text`."""
    values = np.frombuffer(base64.b64decode(given["content"]), dtype=given["type"])
    return values.reshape(given["shape"]).copy()


def table_text(table: pa.Table) -> str:
    """An Arrow table as text."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue().to_pybytes()).decode()


def table_from(text: str) -> pa.Table:
    """The table of `table_text`."""
    with pa.ipc.open_stream(base64.b64decode(text)) as reader:
        return reader.read_all()
