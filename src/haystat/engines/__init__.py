"""Pools too big for memory: one sketch, over Ibis (DuckDB in this process, Spark on a cluster)."""
