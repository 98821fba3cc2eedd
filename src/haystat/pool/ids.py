"""The users' ids: their keys, and the way from an id to a position and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.core.arguments import brief, is_unicode
from haystat.core.arrays import IntArray
from haystat.errors import DuplicateId, LengthMismatch, PoolError
from haystat.pool.checks import as_array
from haystat.pool.permanent_numbers import keys_of


class Ids(Protocol):
    """Ids of the items of a pool, all different."""

    @property
    def values(self) -> NDArray[Any]:
        """The id of each item, (M,)."""

    def keys(self, start: int, stop: int) -> NDArray[np.int64]:
        """The 64-bit keys of the items from position `start` to `stop`."""

    def index_of(self, item: Any) -> int | None:
        """Position of the item with this id; None if there is none."""

    def id_of(self, index: int) -> Any:
        """The id of the item at a position, as a Python object."""


class Positions:
    """Positions 0 … size - 1 as ids: nothing as long as the pool is stored."""

    def __init__(self, size: int) -> None:
        self._size = size

    @property
    def values(self) -> IntArray:
        return np.arange(self._size)

    def keys(self, start: int, stop: int) -> NDArray[np.int64]:
        return np.arange(start, min(stop, self._size))

    def index_of(self, item: Any) -> int | None:
        item = item.item() if isinstance(item, np.generic) else item
        return item if type(item) is int and 0 <= item < self._size else None

    def id_of(self, index: int) -> int:
        return int(index)


class GivenIds:
    """Integers or strings that the user gave; looked up in the order of their keys."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values
        self._keys = keys_of(values)
        self._order = _order(self._keys)
        self._refuse_duplicates()

    def keys(self, start: int, stop: int) -> NDArray[np.int64]:
        return self._keys[start:stop]

    def index_of(self, item: Any) -> int | None:
        item = item.item() if isinstance(item, np.generic) else item
        if type(item) not in (int, str) or (isinstance(item, str) and not is_unicode(item)):
            return None
        key = keys_of(np.array([item]))[0]
        rank = int(np.searchsorted(self._keys, key, sorter=self._order))
        # Two texts can share a key: once in a thousand pools of 50 million items.
        while rank < len(self._keys) and self._keys[position := self._position(rank)] == key:
            if self.id_of(position) == item:
                return position
            rank += 1
        return None

    def id_of(self, index: int) -> Any:
        value = self.values[index]
        return value.item() if isinstance(value, np.generic) else value

    def _position(self, rank: int) -> int:
        return rank if self._order is None else int(self._order[rank])

    def _refuse_duplicates(self) -> None:
        if self._order is None:
            return
        ordered = self._keys[self._order]
        equal = np.flatnonzero(ordered[1:] == ordered[:-1]).tolist()
        pairs = [(self._position(rank), self._position(rank + 1)) for rank in equal]
        repeated = [pair for pair in pairs if self.id_of(pair[0]) == self.id_of(pair[1])]
        if repeated:
            first, second = min(repeated)
            raise DuplicateId(
                f"id {self.id_of(first)!r} is given at positions {first} and {second}, and "
                f"{len(repeated)} ids repeat an earlier one; ids must be unique: drop repeated "
                "items, or leave out `ids` to use positions"
            )


def checked_ids(ids: ArrayLike | None, size: int) -> Ids:
    """The users' ids, integers or strings, one for each item; positions if none are given."""
    if ids is None:
        return Positions(size)
    given = as_array("ids", ids)
    if given.dtype.kind == "U" and isinstance(ids, Sequence):
        given = np.asarray(ids, dtype=object)  # numpy turns 1 and NaN beside a text into texts
    if given.shape != (size,):
        raise LengthMismatch(f"ids have shape {given.shape}; give one for each of {size} scores")
    if given.dtype.kind == "O":
        given = _from_objects(given)
    if given.dtype.kind not in "iuUTO":
        _refuse(f"ids are of type {given.dtype}")
    try:
        return GivenIds(given)
    except UnicodeEncodeError as error:
        _refuse(f"the id {brief(error.object)} is not Unicode")


def _from_objects(ids: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all strings, or all integers that fit 64 bits."""
    values = ids.tolist()
    wanted = str if isinstance(values[0], str) else int | np.integer
    for position, value in enumerate(values):
        if not isinstance(value, wanted) or isinstance(value, bool):
            _refuse(f"the id at position {position} is {brief(value)}, a {type(value).__name__}")
    if wanted is str:
        return ids
    integers = np.array(values)
    if integers.dtype.kind not in "iu":
        _refuse("ids are integers of more than 64 bits")
    return integers


def _refuse(what: str) -> NoReturn:
    raise PoolError(
        f"{what}; ids must be all integers or all strings, with none missing: convert them, "
        "or leave out `ids` to use positions"
    )


def _order(keys: NDArray[np.int64]) -> IntArray | None:
    """Positions in the order of their keys; None where the keys increase as they stand."""
    return None if np.all(keys[1:] > keys[:-1]) else np.argsort(keys, kind="stable")
