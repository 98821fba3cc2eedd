"""Pools too big for memory: one sketch, over Ibis (DuckDB in this process, Spark on a cluster)."""

from haystat.engines.side_tables import Side, Unblocked

__all__ = ["Side", "Unblocked"]
