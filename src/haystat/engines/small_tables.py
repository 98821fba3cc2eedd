"""Small tables that rows are joined with, put where the rows are.

DuckDB looks up whole numbers without hashing them in a table of its own, but not in one that it
reads from Arrow. Such a table is temporary, named by its contents, and made once a connection.
"""

from __future__ import annotations

import hashlib
from typing import Any

import ibis
import pyarrow as pa


def small_table(rows: Any, table: pa.Table) -> Any:
    """The table for a join with these rows."""
    backend = rows.get_backend()
    if backend.name != "duckdb":
        return ibis.memtable(table)
    name = f"haystat_{_digest(table)}"
    backend.con.register(f"{name}_given", table)
    backend.con.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name} AS SELECT * FROM {name}_given")
    backend.con.unregister(f"{name}_given")
    return backend.table(name)


def _digest(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()[:24]
