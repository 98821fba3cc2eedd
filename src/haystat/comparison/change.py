"""change: what became of a measure from one version to the next, and why.

All items of both versions are one pool that both models have scored, as far as they saw it. The
labels of both versions count in it with the probability that their items had to be drawn, and draws
of the missing labels give the measure of each model on each set of items, so that differences are
paired. With A before and B after, and C the items of both,

    after on B - before on A = (after on C - before on C) + what remains:

the first part is the model's, the rest is that of the items that came and went. Both scores are
signals of that pool: labels were drawn by one of them, and the other may know nothing.

Two versions of a system that answers have no item in common, even where ids are the same: every
answer is an item of its own. Then the two estimates are independent, and the interval of their
difference follows from the two intervals (MOVER: Zou and Donner, Statistics in Medicine, 2008).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from haystat import measures
from haystat.comparison.union import AFTER, BEFORE, BOTH, CAME, GONE, Union, systems_of, weigh_alike
from haystat.core.arguments import brief
from haystat.core.arrays import BoolArray, FloatArray
from haystat.core.wording import label_count
from haystat.display.card import Bar, Card, number
from haystat.display.plots import plot_intervals
from haystat.display.shown import Shown
from haystat.errors import BadOption
from haystat.loop.estimates import estimate_state
from haystat.loop.journal import Line
from haystat.loop.loop import Loop
from haystat.loop.state import Answer, State
from haystat.loop.versions import ancestors_of, carried, carried_data, version_seed
from haystat.measures.base import Measure
from haystat.measures.combine import Combination, Several
from haystat.measures.outputs import Schema
from haystat.measures.weighted import Weighted
from haystat.measures.within import Within
from haystat.pool.items import Items
from haystat.pool.permanent_numbers import keys_of
from haystat.pool.version import Drawn, VersionPool, order_seed

PARTS = ("before", "after", "change", "by the model", "by the data")
CHANGES = 2**20  # in place of the number of a version, for the randomness of a comparison


@dataclass(frozen=True)
class Effect:
    """A number with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"

    def minus(self, other: Effect) -> Effect:
        """The difference of two that are independent: squared distances to the ends add up."""
        value = self.value - other.value
        below = np.hypot(self.value - self.low, other.high - other.value)
        above = np.hypot(self.high - self.value, other.value - other.low)
        return Effect(value, float(value - below), float(value + above))


@dataclass(frozen=True)
class Change(Shown):
    """What became of a measure: after - before = model + data, each with an interval.

    before and after are the measure of each version on its own items; model is the difference of
    the two models on the n_common items that both versions have, data is what the n_new items that
    came and the n_gone that went add to it. Without common items the model's part is not defined.
    Each is the median of joint draws, so that the two parts add up to the change but for the skew
    of the draws.
    """

    measure: str
    level: float
    before: Effect
    after: Effect
    change: Effect
    model: Effect
    data: Effect
    n_common: int
    n_new: int
    n_gone: int
    n_labels: int
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return asdict(self)

    def __str__(self) -> str:
        values = (f"{one.value:.4f}" for one in (self.before, self.after))
        lines = [
            f"{self.measure}: {' -> '.join(values)} from {label_count(self.n_labels)}",
            f"  change        {self.change} at {self.level:.0%}",
        ]
        if self.n_common:
            lines += [
                f"  by the model  {self.model} on {self.n_common:,} items of both",
                f"  by the data   {self.data} from {self.n_new:,} new items, {self.n_gone:,} gone",
            ]
        return "\n".join([*lines, *(f"note: {warning}" for warning in self.warnings)])

    @property
    def _effects(self) -> dict[str, Effect]:
        """The change and, where it has two, its parts."""
        parts = {"by the model": self.model, "by the data": self.data}
        split = self.n_common and (self.n_new or self.n_gone)
        return {"change": self.change, **(parts if split else {})}

    def plot(self, ax: Any = None) -> Any:
        """Draw the change and its parts; returns the axes."""
        effects = self._effects
        return plot_intervals(
            list(effects),
            [one.value for one in effects.values()],
            [(one.low, one.high) for one in effects.values()],
            title=f"{label_count(self.n_labels)}, {self.level:.0%} intervals",
            x_title=f"change of {self.measure}",
            ax=ax,
        )

    def _card(self) -> Card:
        bars = [Bar(name, one.value, one.low, one.high) for name, one in self._effects.items()]
        end = float(np.nanmax(np.abs([(bar.low, bar.high) for bar in bars])))
        versions = {"before": self.before, "after": self.after}
        return Card(
            f"Change of {self.measure} from {label_count(self.n_labels)}",
            bars=tuple(bars),
            ends=(-end, end),
            heads=("version", self.measure, f"{self.level:.0%} interval"),
            rows=tuple(
                (name, number(one.value), f"{number(one.low)} to {number(one.high)}")
                for name, one in versions.items()
            ),
            facts=(
                f"{self.n_common:,} items of both, {self.n_new:,} new ones, {self.n_gone:,} gone.",
            ),
            warnings=self.warnings,
        )

    def _columns(self) -> dict[str, list[Any]]:
        rows = {"before": self.before, "after": self.after, **self._effects}
        numbers = {n: [getattr(one, n) for one in rows.values()] for n in ("value", "low", "high")}
        return {"part": list(rows), **numbers}


def change(
    old: Loop,
    new: Loop,
    measure: Any = None,
    *,
    level: float = 0.95,
    systems: tuple[str, str] | None = None,
    items: str = "same",
) -> Change:
    """How a measure changed from one version to another, by the model and by the data.

    old, new: evaluations or studies, of which the second may go on from the first (`next`) or not.
    measure: one with a single number; by default that of the second. systems: which system of the
    first and which of the second, where they have several. items: "same", those of one id are one
    item, whose label counts for both; "apart", no item is in both, whatever the ids say, such as
    the answers of two versions of an assistant to the same prompts.

    >>> import haystat as hs
    >>> pool = hs.Pool([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], strata=2)
    >>> ev = hs.Evaluation(pool, "accuracy", random_state=0)
    >>> ev.tell({query.item: int(query.item >= 3) for query in ev.ask(6)})
    >>> later = ev.next(hs.Pool([0.1, 0.2, 0.6, 0.7, 0.8, 0.9], strata=2))
    >>> found = hs.change(ev, later)
    >>> round(found.before.value, 3), round(found.after.value, 3), round(found.model.value, 3)
    (1.0, 0.833, -0.167)
    """
    for loop in (old, new):
        if not isinstance(loop, Loop):
            raise BadOption(f"{brief(loop)} is no evaluation or study; give the two versions")
    target = new.given_measure if measure is None else measures.resolve(measure)
    if items not in ("same", "apart"):
        raise BadOption(f"items is {brief(items)}; give 'same' or 'apart'")
    weight = weigh_alike(old.pool.schema, new.pool.schema)
    if items == "apart":
        return _apart(old, new, target, level, systems)
    told = Told.of(old), Told.of(new)
    union = Union.of(told[0].items, told[1].items, systems)
    parts = Parts(target, union.kind != CAME, union.kind != GONE, union.weights)
    state = _state(old, new, told, union, parts)
    estimate = estimate_state(state, None, level)
    ends = np.column_stack([estimate.values, estimate.intervals])
    effects = [Effect(*(float(number) for number in row)) for row in ends]
    common, came, gone = (int(np.sum(union.kind == kind)) for kind in (BOTH, CAME, GONE))
    before, after, total, model, data = effects
    return Change(
        _name(target, weight),
        level,
        before,
        after,
        total,
        model,
        data,
        common,
        came,
        gone,
        estimate.n_labels,
        estimate.warnings,
    )


def _apart(
    old: Loop, new: Loop, measure: Measure, level: float, given: tuple[str, str] | None
) -> Change:
    """The change between versions that have no item in common."""
    systems = systems_of(old.pool.schema.systems, new.pool.schema.systems, given)
    estimates = [
        loop.estimate(measure.for_system(system), level)
        for loop, system in zip((old, new), systems, strict=True)
    ]
    if not all(estimate.scalar for estimate in estimates):
        raise BadOption(_several_numbers(measure))
    before, after = (
        Effect(float(one.values[0]), *map(float, one.intervals[0])) for one in estimates
    )
    total = after.minus(before)
    unknown = Effect(np.nan, np.nan, np.nan)
    sizes = 0, new.pool.schema.size, old.pool.schema.size
    n_labels = sum(estimate.n_labels for estimate in estimates)
    notes = tuple(dict.fromkeys(note for estimate in estimates for note in estimate.warnings))
    effects = before, after, total, unknown, total
    name = _name(measure, new.pool.schema.weight)
    return Change(name, level, *effects, *sizes, n_labels, notes)


def _name(measure: Measure, weight: str | None) -> str:
    """What the measure is called where items count by a weight."""
    return measure.name if weight is None else _weighed(measure, weight).name


def _weighed(measure: Measure, column: str) -> Measure:
    """The measure in which items count by a column."""
    return measure.weighted_by(partial(Weighted, column=column))


def _several_numbers(measure: Measure) -> str:
    return f"{measure.name} has several numbers; give a measure with one, such as 'f1'"


@dataclass(frozen=True)
class Parts(Combination):
    """A measure before and after, its change, and what of it the model and the data did.

    weights has the column by which items count before and after, if they do.
    """

    measure: Measure
    in_old: BoolArray
    in_new: BoolArray
    weights: Mapping[str, str]

    components = PARTS
    lower_is_better = None  # of a difference the median is shown

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"{self.measure.name} change")

    def bind(self, schema: Schema) -> Measure:
        """The same with everything resolved that depends on the pool."""
        both = self.in_old & self.in_new
        if not both.any():
            raise BadOption(
                "the two versions have no item in common; compare them with items='apart' "
                "(--items apart)"
            )
        of_model = [(BEFORE, self.in_old), (AFTER, self.in_new), (BEFORE, both), (AFTER, both)]
        joint = Several([Within(self._of(name), mask).bind(schema) for name, mask in of_model])
        if len(joint.components) != len(of_model):
            raise BadOption(_several_numbers(self.measure))
        width = joint.bounds[1] - joint.bounds[0]
        bounds = min(joint.bounds[0], -width), max(joint.bounds[1], width)
        return self._resolved(**self._over(joint), bounds=bounds)

    def _of(self, name: str) -> Measure:
        """The measure of the version called so, by its weights."""
        measure = self.measure.for_system(name)
        return _weighed(measure, self.weights[name]) if self.weights else measure

    def mixed(self, components: FloatArray) -> FloatArray:
        """Before, after, after - before, the same on the common items, and the rest."""
        before, after, before_common, after_common = np.moveaxis(components, -1, 0)
        total, model = after - before, after_common - before_common
        return np.stack([before, after, total, model, total - model], axis=-1)


@dataclass(frozen=True)
class Told:
    """The items of a version, how likely each was to have an answer (M,), and those there are."""

    items: Items
    inclusion: FloatArray
    answers: Mapping[int, Answer]

    @classmethod
    def of(cls, loop: Loop) -> Told:
        """Those of an evaluation or a study."""
        state = loop.state
        what = "tell which items another version has, too (items='apart' does not ask),"
        pool: Any = loop.whole_pool(what)
        items = pool.items(state.measure)
        inclusion, answers = carried(state, None)
        place = items.positions([answer.item for answer in answers.values()])
        told = {place[answer.item]: answer for answer in answers.values()}
        return cls(items, inclusion[items.cell], told)


def _state(old: Loop, new: Loop, told: tuple[Told, Told], union: Union, measure: Measure) -> State:
    """The labels of both versions as those of one pool, with nothing asked beyond."""
    inclusion, answers = _joined(old, new, *told, union)
    seed = version_seed(new.seed, CHANGES)
    drawn = np.zeros(union.pool.size, dtype=bool)
    drawn[list(answers)] = True
    before = Drawn.of(inclusion, drawn, keys_of(union.pool.ids), seed)
    pool = VersionPool.following(union.pool, before, order_seed(seed, CHANGES), union.kind)
    state = State(pool, measure.bind(pool.schema), new.design, seed)
    by_id = {pool.id_of(item): answer for item, answer in answers.items()}
    data = carried_data(pool, state.ledger.problem.cells, by_id)
    state.apply(Line(1, "", "carried", None, {"name": "", **data}))
    return state


def _joined(
    old: Loop, new: Loop, before: Told, after: Told, union: Union
) -> tuple[FloatArray, Mapping[int, Answer]]:
    """How likely each item was to have an answer in either version, (M,), and the answers.

    What the second carried over from the first is in its probabilities already. Draws in the same
    order of items go together, others are independent.
    """
    one = np.where(union.place_old < 0, 0.0, before.inclusion[union.place_old])
    other = np.where(union.place_new < 0, 0.0, after.inclusion[union.place_new])
    derived = old.seed in ancestors_of(new.settings)
    if derived:
        inclusion = np.where(union.place_new < 0, one, other)
    elif old.pool.seed == new.pool.seed:
        inclusion = np.maximum(one, other)
    else:
        inclusion = 1 - (1 - one) * (1 - other)
    place = np.full(len(before.items), -1)
    place[union.place_old[union.place_old >= 0]] = np.flatnonzero(union.place_old >= 0)
    told = {int(place[there]): answer for there, answer in before.answers.items()}
    if derived:  # what the second left out, it had reasons for
        told = {item: answer for item, answer in told.items() if union.place_new[item] < 0}
    # The items of the second come first, in its order.
    return inclusion, told | dict(after.answers)
