"""compare: which of several systems is better, by how much, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from haystat import measures
from haystat.comparison.duels import BETTER, INTERVALS, Decided, Duel, duels, n_rivals
from haystat.core.arguments import brief, checked_choice, checked_integer, several_names
from haystat.core.wording import label_count
from haystat.designs.base import Design
from haystat.display.card import Bar, Card
from haystat.display.plots import plot_intervals
from haystat.display.shown import Shown
from haystat.errors import BadOption
from haystat.inference.estimate import Estimate, checked_level
from haystat.loop.evaluation import Evaluation
from haystat.loop.loop import Loop, Oracle, RandomState
from haystat.measures.base import Measure
from haystat.measures.combine import Difference, ForSystems
from haystat.measures.differences import Differences, checked_rivals
from haystat.measures.outputs import Schema
from haystat.pool.base import AnyPool

NO_LABELS = "no labels yet, so nothing is known. Answer some questions first."


@dataclass(frozen=True)
class Standing:
    """A system, its measure and the interval of that on its own."""

    system: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Systems from the best to the worst, and every pair of them.

    against_best are the duels of the best with every other system, pairs all of them. Intervals
    of differences hold for all pairs at once.
    """

    measure: str
    level: float
    interval: str
    n_labels: int
    standings: tuple[Standing, ...]
    pairs: tuple[Duel, ...]
    warnings: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """The system with the best estimate, whether or not that is told from the others."""
        return self.standings[0].system

    @property
    def winner(self) -> str | None:
        """The system that is better than all others, once that is known."""
        won = all(duel.winner == self.best for duel in self.against_best)
        return self.best if won else None

    @property
    def against_best(self) -> tuple[Duel, ...]:
        """The best minus every other system, in the order of the standings."""
        return tuple(self.duel(self.best, row.system) for row in self.standings[1:])

    def duel(self, system: str, other: str) -> Duel:
        """One system against another."""
        for pair in self.pairs:
            if (pair.system, pair.other) == (system, other):
                return pair
            if (pair.other, pair.system) == (system, other):
                return pair.turned()
        names = [row.system for row in self.standings]
        raise BadOption(f"no pair {system!r} and {other!r}; the systems are {names}")

    def __str__(self) -> str:
        lines = [
            f"{self.measure} of {len(self.standings)} systems from {label_count(self.n_labels)}"
        ]
        if not self.n_labels:
            return f"{lines[0]}: {NO_LABELS}"
        wide = max(len(row.system) for row in self.standings)
        for row in self.standings:
            lines.append(f"  {row.system:<{wide}}  {row.value:.4f} [{row.low:.4f}, {row.high:.4f}]")
        for duel in self.against_best:
            found = f"{duel.difference:+.4f} [{duel.low:+.4f}, {duel.high:+.4f}]"
            lines.append(f"{duel.system} - {duel.other}: {found}: {duel.verdict(self.level)}")
        return "\n".join([*lines, *(f"note: {warning}" for warning in self.warnings)])

    __repr__ = __str__

    def plot(self, ax: Any = None) -> Any:
        """Draw the lead of the best system over every other one; returns the axes."""
        duels = self.against_best
        return plot_intervals(
            [f"{duel.system} - {duel.other}" for duel in duels],
            [duel.difference for duel in duels],
            [(duel.low, duel.high) for duel in duels],
            title=f"{label_count(self.n_labels)}, {self.level:.0%} intervals",
            x_title=f"difference in {self.measure}",
            ax=ax,
        )

    def _card(self) -> Card:
        duels = self.against_best
        bars = [Bar(f"{d.system} - {d.other}", d.difference, d.low, d.high) for d in duels]
        ends = np.abs([(bar.low, bar.high) for bar in bars]).max(initial=0.0)
        rows = [
            (row.system, f"{row.value:.4f}", f"{row.low:.4f} to {row.high:.4f}")
            for row in self.standings
        ]
        verdicts = tuple(
            f"{'' if d.told else f'{d.system} and {d.other}: '}{d.verdict(self.level)}."
            for d in duels
        )
        return Card(
            f"{self.measure} of {len(self.standings)} systems from {label_count(self.n_labels)}",
            bars=tuple(bars) if self.n_labels else (),
            ends=(-float(ends), float(ends)),
            heads=("system", self.measure, f"{self.level:.0%} interval"),
            rows=tuple(rows) if self.n_labels else (),
            facts=verdicts if self.n_labels else (),
            warnings=self.warnings if self.n_labels else (NO_LABELS.capitalize(),),
        )

    def _columns(self) -> dict[str, list[Any]]:
        names = ("system", "other", "difference", "low", "high", "winner", "labels_left")
        return {name: [getattr(duel, name) for duel in self.pairs] for name in names}


def compare(
    source: Any,
    measure: str | Measure | None = None,
    *,
    systems: tuple[str, ...] | None = None,
    level: float = 0.95,
    interval: str = "anytime",
    better: str | None = None,
    oracle: Oracle | None = None,
    budget: int = 1000,
    batch_size: int = 50,
    design: str | Design | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> Comparison:
    """Which system is better, from an evaluation or study, or from a pool and an oracle.

    An evaluation or study is read as it stands. With a pool, `oracle` is asked until one system
    is better than all others or `budget` labels are in; `design` then chooses items that tell the
    systems apart, and `design`, `random_state`, `options` are those of hs.Evaluation.

    measure: one number a system; by default what is evaluated, "f1" for a pool. interval: the
    one that decides, "anytime" (look as often as you like) or "fixed" (look once). better:
    "higher" or "lower", by default what suits the measure.

    >>> import numpy as np, haystat as hs
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.normal(-2, 2, 2000)
    >>> label = (signal + rng.normal(0, 0.5, 2000) > 0).astype(int)
    >>> pool = hs.Pool({"good": signal, "bad": signal + rng.normal(0, 3, 2000)})
    >>> hs.compare(pool, oracle=lambda items: label[items], random_state=0).winner
    'good'
    """
    level = checked_level(level)
    checked_choice("interval", interval, INTERVALS)
    budget = checked_integer("budget", budget, smallest=0)
    target = _target(source, measure)
    side = _better(target) if better is None else checked_choice("better", better, BETTER)
    rivals = checked_rivals(
        _pool(source).schema.systems if systems is None else several_names("systems", systems)
    )
    wanted = Differences(target, rivals)
    if hasattr(source, "estimate"):
        if oracle is not None:
            raise BadOption(
                "an evaluation asks its own questions: run it, then compare without `oracle`"
            )
        return from_labels(source, wanted, level, interval, side)
    if oracle is None:
        raise BadOption(
            "a pool has no labels yet; give `oracle`, a function of a list of items, or an "
            "hs.Evaluation(pool, hs.measures.Differences(…)) that was told some"
        )
    if design is not None:
        options["design"] = design
    evaluation = Evaluation(source, wanted, random_state=random_state, **options)
    rule = Decided(side, interval)
    most = min(budget, evaluation.pool.size)
    evaluation.run(oracle, most, batch_size, until=lambda found: rule(found.at(level)))
    return from_labels(evaluation, wanted, level, interval, side)


def from_labels(
    labelled: Loop, wanted: Differences, level: float, interval: str, better: str
) -> Comparison:
    """The comparison that the labels so far support."""
    found = labelled.estimate(wanted, level)
    n_rivals(found)
    rivals = tuple(wanted.systems or ())
    each = labelled.estimate(ForSystems(wanted.measure, rivals), level)
    standings = _standings(each, rivals, interval)
    sign = 1.0 if better == "higher" else -1.0
    order = _order(found, len(rivals), sign)
    return Comparison(
        getattr(wanted.measure, "name", "measure"),
        level,
        interval,
        found.n_labels,
        tuple(standings[i] for i in order),
        duels(found, rivals, better, interval, labelled.pool.size),
        tuple(dict.fromkeys([*found.warnings, *each.warnings])),
    )


def _standings(each: Estimate, rivals: tuple[str, ...], interval: str) -> list[Standing]:
    """Each system on its own."""
    ends = getattr(each, INTERVALS[interval]).tolist()
    rows = zip(rivals, each.values.tolist(), ends, strict=True)
    return [Standing(system, value, *pair) for system, value, pair in rows]


def _order(found: Estimate, n_systems: int, sign: float) -> list[int]:
    """Systems from the best: by the mean of their differences, which are known best."""
    lead = np.zeros((n_systems, n_systems))
    first, second = np.triu_indices(n_systems, 1)
    lead[first, second], lead[second, first] = found.values, -found.values
    return [int(i) for i in np.argsort(-sign * np.nan_to_num(lead).sum(axis=1), kind="stable")]


def _better(target: Any) -> str:
    """Which side suits the measure; in a sub-population it is the same as in the pool."""
    return "lower" if getattr(target, "lower_is_better", False) else "higher"


def _pool(source: Any) -> AnyPool:
    pool: AnyPool = getattr(source, "pool", source)
    if not isinstance(getattr(pool, "schema", None), Schema):
        raise BadOption(f"{brief(source)} is no pool, evaluation or study; give one")
    return pool


def _target(source: Any, measure: str | Measure | None) -> Any:
    """The measure of one system: what is asked for, or what the evaluation is about."""
    if measure is None:
        measure = getattr(source, "measure", "f1")
    if isinstance(measure, Difference | Differences | ForSystems):
        return measure.measure
    return measures.resolve(measure)
