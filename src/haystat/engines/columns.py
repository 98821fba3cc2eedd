"""Which columns of a table are a pool, and the same rows under names of our own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis

from haystat.errors import BadOption, BadScore, PoolError, UnknownLabel, UnknownName
from haystat.pool.checks import LARGEST

ID, DEVIATION, MEAN = "hs_id", "hs_deviation", "hs_mean"
PAIR_SIGN = "|"  # between the two ids of a pair


@dataclass(frozen=True)
class Columns:
    """Columns by name. id: one, or two for a pair. Predictions: none, or one for each score.

    facts tell sub-populations apart; show is what the person who labels gets to see.
    """

    id: tuple[str, ...]
    scores: tuple[str, ...]
    predictions: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    deviation: str | None = None

    def check(self, schema: Any, classes: Sequence[Any]) -> None:
        """Raise unless all columns are there and of a type that fits."""
        wanted = [*self.id, *self.scores, *self.predictions, *self.facts, *self.show]
        for name in [*wanted, *([self.deviation] if self.deviation else [])]:
            if name not in schema.names:
                listed = ", ".join(schema.names[:20]) + (" …" if len(schema.names) > 20 else "")
                raise UnknownName(f"no column {name!r}; the table has {listed}")
        for name in (*self.scores, *([self.deviation] if self.deviation else [])):
            if not (schema[name].is_numeric() or schema[name].is_boolean()):
                raise BadScore(
                    f"column {name!r} must be numbers, not {schema[name]}; convert it to floats"
                )
        for name in self.id:
            check_id(name, schema[name], alone=len(self.id) == 1)
        for name in self.predictions:
            _check_predictions(name, schema[name], classes)

    def id_of(self, table: Any) -> Any:
        """The id: a whole number or a text; of a pair both ids as one text."""
        if len(self.id) == 2:
            left, right = (table[name].cast("string") for name in self.id)
            return left + PAIR_SIGN + right
        return table[self.id[0]]

    def score(self, table: Any, system: int) -> Any:
        """A score as a double."""
        return _number(table[self.scores[system]])

    def is_usable(self, number: Any) -> Any:
        """Whether a number is there and finite.

        `isinf` of Ibis is always false on Spark. And DuckDB believes the smallest and largest value
        that a Parquet file states, which leave out NaN: it answers `isnan` and `between` from
        those, without a look at the rows. A number minus itself is 0 just when it is finite.
        """
        return ((number - number == 0.0) & number.between(-LARGEST, LARGEST)).fill_null(False)

    def prediction(self, table: Any, system: int, classes: Sequence[Any], threshold: float) -> Any:
        """Index of the predicted class: as given, or 1 from the threshold on."""
        if not self.predictions:
            return (self.score(table, system) >= threshold).cast("int64")
        value = _without_booleans(table[self.predictions[system]])
        index = ibis.literal(0, type="int64")
        for position, label in enumerate(classes[1:], start=1):
            index = index + position * (value == _literal(label)).cast("int64")
        return index

    def is_class(self, table: Any, system: int, classes: Sequence[Any]) -> Any:
        """Whether a given prediction is one of the classes."""
        value = _without_booleans(table[self.predictions[system]])
        return value.isin([_literal(label) for label in classes]).fill_null(False)

    def plain(self, table: Any, classes: Sequence[Any], thresholds: Sequence[float]) -> Any:
        """The rows with columns of our own names: id, scores, predictions, facts, deviation."""
        systems = range(len(self.scores))
        columns = {ID: self.id_of(table)}
        columns |= {score_name(i): self.score(table, i) for i in systems}
        if classes:
            columns |= {
                prediction_name(i): self.prediction(table, i, classes, thresholds[i])
                for i in systems
            }
        columns |= {fact_name(i): table[name] for i, name in enumerate(self.facts)}
        if self.deviation is not None:
            columns[DEVIATION] = _number(table[self.deviation])
        elif not classes:
            columns[MEAN] = mean_of([self.score(table, i) for i in systems])
        return table.select(**columns)


def mean_of(columns: Sequence[Any]) -> Any:
    """Mean of several columns, added up from the first as numpy does."""
    total = columns[0]
    for column in columns[1:]:
        total = total + column
    return total / float(len(columns))


def score_name(system: int) -> str:
    """Our name of a system's score."""
    return f"hs_score{system}"


def prediction_name(system: int) -> str:
    """Our name of a system's prediction."""
    return f"hs_predicted{system}"


def fact_name(position: int) -> str:
    """Our name of a column with sub-populations."""
    return f"hs_fact{position}"


def check_id(name: str, kind: Any, alone: bool = True) -> None:
    """Raise unless a column can hold ids."""
    whole = kind.is_integer() or (kind.is_decimal() and kind.scale == 0)
    if not (whole or kind.is_string()):
        raise PoolError(
            f"ids in column {name!r} are of type {kind}; they must be whole numbers or texts: "
            "convert them, or name another column"
        )


def _check_predictions(name: str, kind: Any, classes: Sequence[Any]) -> None:
    if not classes:
        raise BadOption(
            "`prediction` is about classes, and classes=None says that labels are numbers; give "
            "predicted numbers as the scores"
        )
    of_text = all(isinstance(label, str) for label in classes)
    fits = kind.is_string() if of_text else kind.is_numeric() or kind.is_boolean()
    if not fits:
        raise UnknownLabel(
            f"predictions in column {name!r} are of type {kind}, which has none of "
            f"{list(classes)}; give them in terms of `classes`"
        )


def _number(column: Any) -> Any:
    return _without_booleans(column).cast("float64")


def _without_booleans(column: Any) -> Any:
    return column.cast("int64") if column.type().is_boolean() else column


def _literal(label: Any) -> Any:
    return int(label) if isinstance(label, bool) else label
