"""u in SQL: the network of pool/permanent_numbers.py, number for number.

Only additions, products below 2**63, remainders, shifts and exclusive ors of 64-bit integers,
which every engine computes alike.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import ibis

from haystat.errors import BadOption
from haystat.pool.permanent_numbers import HALF, MULTIPLIERS, PRIME, round_keys

WRAP = 2**64  # unsigned ids are keyed modulo this


@ibis.udf.scalar.builtin(name="md5")
def _md5(text: str) -> str:  # type: ignore[empty-body]
    """The function of that name of the engine."""


@ibis.udf.scalar.builtin(name="conv")
def _conv(text: str, from_base: int, to_base: int) -> str:  # type: ignore[empty-body]
    """The function of that name of the engine."""


def key_of(column: Any) -> Any:
    """64-bit key of an id, as pool/permanent_numbers.py keys it."""
    kind = column.type()
    if kind.is_string():
        return _key_of_text(column)
    if kind.is_decimal() or kind.is_uint64():
        wide = column.cast("decimal(38, 0)")
        return ibis.ifelse(wide >= _wide(2**63), wide - _wide(WRAP), wide).cast("int64")
    return column.cast("int64")


def _key_of_text(column: Any) -> Any:
    engine = column.get_backend().name
    digits = _md5(column).substr(0, 15)
    if engine == "duckdb":
        return (ibis.literal("0x") + digits).cast("int64")
    if engine in ("pyspark", "databricks"):
        return _conv(digits, 16, 10).cast("int64")
    raise BadOption(
        f"ids that are texts are known on DuckDB and Spark, not on {engine}; use ids that are "
        "whole numbers"
    )


def halves(key: Any) -> tuple[Any, Any]:
    """The upper and the lower 32 bits of a key."""
    return (key >> _integer(32)) & _integer(HALF), key & _integer(HALF)


def mixed(left: Any, right: Any, key: int, multiplier: int) -> Any:
    """One round of the network: what becomes the right half."""
    product = (right ^ _integer(key)) * _integer(multiplier)
    return (product % _integer(PRIME)) ^ left


def with_number(table: Any, id: str, seed: int, name: str) -> Any:
    """The table with u of each row in a column `name`."""
    left, right = halves(key_of(table[id]))
    table = table.mutate(hs_left=left, hs_right=right)
    for key, multiplier in zip(round_keys(seed), MULTIPLIERS, strict=True):
        right = mixed(table.hs_left, table.hs_right, key, multiplier)
        table = table.mutate(hs_left=table.hs_right, hs_right=right)
    u = table.hs_left * _integer(2**31) + (table.hs_right >> _integer(1))
    return table.mutate(**{name: u}).drop("hs_left", "hs_right")


def _wide(value: int) -> Any:
    return ibis.literal(Decimal(value), type="decimal(38, 0)")


def _integer(value: int) -> Any:
    return ibis.literal(value, type="int64")
