"""Long queries as views, so that what is built on them stays short enough to be put together."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from ibis.expr import operations


def as_view(rows: Any) -> Any:
    """The same rows by the name of a view, which goes with the connection.

    The small tables that the rows are joined with are there as long as `rows` are.
    """
    backend, name = rows.get_backend(), f"haystat_{uuid4().hex}"
    if backend.name != "duckdb":
        return backend.create_view(name, rows)
    # That of Ibis is not temporary, and a database may be open for reading alone.
    backend.raw_sql(f"CREATE TEMPORARY VIEW {name} AS {backend.compile(rows)}")
    return operations.DatabaseTable(name=name, schema=rows.schema(), source=backend).to_expr()
