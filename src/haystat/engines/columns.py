"""Which columns of a table are a pool, and the same rows under names of our own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from haystat.errors import BadOption, BadScore, PoolError, UnknownLabel, UnknownName
from haystat.pool.checks import LARGEST

ID, DEVIATION, MEAN, STRATUM = "hs_id", "hs_deviation", "hs_mean", "hs_stratum"
WEIGHT = "hs_weight"
NO_SCORE = 0.5  # of every item where there are predictions alone, as hs.Pool has it
PAIR_SIGN = "|"  # between the two ids of a pair


@dataclass(frozen=True)
class Columns:
    """Columns by name. id: one, or two for a pair. Predictions: none, or one for each score.

    Without scores there are predictions alone. facts tell sub-populations apart; show is what the
    person who labels gets to see. probabilities: none, that of the second of two classes, or one
    for each class. stratum: of each item, where strata are given. weight: what an item counts.
    """

    id: tuple[str, ...]
    scores: tuple[str, ...]
    predictions: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    deviation: str | None = None
    probabilities: tuple[str, ...] = ()
    stratum: str | None = None
    weight: str | None = field(default=None, repr=False)  # old fingerprints are of the others

    @property
    def used(self) -> list[str]:
        """The columns that a pool is made of."""
        single = [self.deviation, self.stratum, self.weight]
        further = [name for name in single if name is not None]
        several = [*self.id, *self.scores, *self.predictions, *self.facts]
        return [*several, *self.probabilities, *further]

    @property
    def named(self) -> list[str]:
        """All columns, each once, with those to show."""
        return list(dict.fromkeys([*self.used, *self.show]))

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems: their columns of scores, or else of predictions."""
        return self.scores or self.predictions

    def check(self, schema: Any, classes: Sequence[Any]) -> None:
        """Raise unless all columns are there and of a type that fits."""
        single = [name for name in (self.deviation, self.weight) if name is not None]
        numbers = [*self.scores, *self.probabilities, *single]
        wanted = [*self.id, *numbers, *self.predictions, *self.facts, *self.show]
        for name in [*wanted, *([self.stratum] if self.stratum else [])]:
            check_present(name, schema)
        for name in numbers:
            if not (schema[name].is_numeric() or schema[name].is_boolean()):
                raise BadScore(
                    f"column {name!r} must be numbers, not {schema[name]}; convert it to floats"
                )
        for name in self.id:
            check_id(name, schema[name], alone=len(self.id) == 1)
        for name in self.predictions:
            check_labels("predictions", name, schema[name], classes)
        if self.stratum is not None and not schema[self.stratum].is_integer():
            raise BadOption(
                f"strata in column {self.stratum!r} are of type {schema[self.stratum]}; give the "
                "stratum of each item as a whole number from 0, or the number of strata to cut"
            )

    def id_of(self, table: Any) -> Any:
        """The id: a whole number or a text; of a pair both ids as one text."""
        if len(self.id) == 2:
            left, right = (table[name].cast("string") for name in self.id)
            return left + PAIR_SIGN + right
        return table[self.id[0]]

    def score(self, table: Any, system: int) -> Any:
        """A score as a double."""
        if not self.scores:  # a column all the same, so that an engine can add it up
            return table[self.predictions[system]].isnull().cast("float64") * 0.0 + NO_SCORE
        return _number(table[self.scores[system]])

    def shares(self, table: Any) -> list[Any]:
        """Prior probability of each class; none where none are given."""
        given = [_number(table[name]) for name in self.probabilities]
        return [1.0 - given[0], given[0]] if len(given) == 1 else given

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
        given = table[self.predictions[system]]
        index = is_label(given, classes[1]).cast("int64")
        for position, label in enumerate(classes[2:], start=2):
            index = index + position * is_label(given, label).cast("int64")
        return index

    def plain(
        self, table: Any, classes: Sequence[Any], thresholds: Sequence[float], **further: Any
    ) -> Any:
        """The rows with columns of our own names, and further ones."""
        systems = range(len(self.systems))
        columns = {ID: self.id_of(table), **further}
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
        if self.weight is not None:
            columns[WEIGHT] = _number(table[self.weight])
        columns |= {share_name(i): share for i, share in enumerate(self.shares(table))}
        if self.stratum is not None:
            columns[STRATUM] = table[self.stratum].cast("int64")
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


def share_name(position: int) -> str:
    """Our name of the prior probability of a class."""
    return f"hs_share{position}"


def has_label(column: Any, label: Any) -> Any:
    """Whether each value is this label; not if it is missing."""
    return is_label(column, label).fill_null(False)


def is_label(column: Any, label: Any) -> Any:
    """Whether each value is this label; of a column without missing values."""
    return _without_booleans(column) == _literal(label)


def is_class(column: Any, classes: Sequence[Any]) -> Any:
    """Whether each value is one of the classes."""
    return _without_booleans(column).isin([_literal(c) for c in classes]).fill_null(False)


def check_present(name: str, schema: Any, table: str = "the table") -> None:
    """Raise unless a table has the column."""
    if name not in schema.names:
        listed = ", ".join(schema.names[:20]) + (" …" if len(schema.names) > 20 else "")
        raise UnknownName(f"no column {name!r}; {table} has {listed}")


def check_id(name: str, kind: Any, alone: bool = True) -> None:
    """Raise unless a column can hold ids."""
    whole = kind.is_integer() or (kind.is_decimal() and kind.scale == 0)
    if not (whole or kind.is_string()):
        raise PoolError(
            f"ids in column {name!r} are of type {kind}; they must be whole numbers or texts: "
            "convert them, or name another column"
        )


def check_labels(what: str, name: str, kind: Any, classes: Sequence[Any]) -> None:
    """Raise unless a column can hold some of the classes."""
    of_text = all(isinstance(label, str) for label in classes)
    fits = kind.is_string() if of_text else kind.is_numeric() or kind.is_boolean()
    if not fits:
        raise UnknownLabel(
            f"{what} in column {name!r} are of type {kind}, which has none of "
            f"{list(classes)}; give them in terms of `classes`"
        )


def _number(column: Any) -> Any:
    return _without_booleans(column).cast("float64")


def _without_booleans(column: Any) -> Any:
    return column.cast("int64") if column.type().is_boolean() else column


def _literal(label: Any) -> Any:
    return int(label) if isinstance(label, bool) else label
