"""An alarm that is valid although somebody looks every day: a measure has fallen below a level.

Every day has items of its own. Bets on the day's draws (inference/growth.py) have an expected gain
of at most nothing if the measure of that day's items is not below the level, whatever was drawn and
learnt before: the wealth W of a day is an e-value. If the measure fell on day s, the wealth of the
days from s on, multiplied, grows, most of all that of bets that had a fall of this size in mind. A
mixture over s and over falls f,

    E_t = mean over f of sum over s <= t of v_s W_sf ... W_tf + sum over s > t of v_s,   sum of v 1,

is 1 on average at most as long as no day is below the level, and so it ever reaches 1 / alpha with
probability alpha at most (Ville's inequality). What the model of the labels says of the items
before the day's draws tells what to bet: good guesses make bets gain, none can make them wrong. A
day's wealth is capped at 1 / alpha: the measure of few items may lie below the level by chance,
and with little put on each day no day raises an alarm alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haystat import measures
from haystat.core.arguments import brief, checked_integer
from haystat.core.arrays import FloatArray
from haystat.designs.watch import fallen
from haystat.errors import BadOption, NoSupport
from haystat.inference.estimate import checked_level
from haystat.inference.fractions import linear_fractional
from haystat.inference.growth import wealth_below
from haystat.inference.guarantee import rates_between
from haystat.inference.guaranteed_interval import StageDraws, logical_bounds
from haystat.inference.sample import stage_rng
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs, Schema

FALLS = np.array([0.25, 0.5, 1.0])  # as shares of the way from the largest value to the level
AT_ONCE = 0.9  # share of the bets that is put on the days that are planned


@dataclass(frozen=True)
class Look:
    """What a day's labels say: the mean wealth of the bets, the evidence of all days, if enough."""

    day: int
    wealth: float
    evidence: float
    raised: bool


class Alarm:
    """Whether a measure of daily items has fallen below a level, looked at every day.

    below: the level. level: if no day was below it, an alarm is raised with probability 1 - level
    at most, over all days. days: how many days are looked at; later ones are still valid, only
    slower.

    `look` takes the evaluation of a day, its questions answered: one of the day's items alone, or
    the next version of one (`extend`), of which the items that are new are looked at. With
    design="watch" (and below=…) labels go where the alarm learns most from them.

    >>> import numpy as np, haystat as hs
    >>> rng = np.random.default_rng(0)
    >>> alarm = hs.Alarm("accuracy", below=0.9, days=10)
    >>> for day in range(4):
    ...     pool = hs.Pool(rng.random(200), ids=np.arange(200) + 200 * day, strata=4)
    ...     ev = hs.Evaluation(pool, "accuracy", random_state=day)
    ...     ev.tell({query.item: query.item % 2 for query in ev.ask(60)})
    ...     seen = alarm.look(ev)
    >>> seen.day, seen.raised
    (4, True)
    """

    def __init__(
        self, measure: Any = "recall", *, below: float, level: float = 0.95, days: int = 60
    ) -> None:
        self.measure: Measure = measures.resolve(measure)
        usable = isinstance(below, int | float) and not isinstance(below, bool)
        if not usable or not math.isfinite(below):
            raise BadOption(f"below is {brief(below)}; give a number, such as 0.8")
        self.below = float(below)
        self.level = checked_level(level)
        self.days = checked_integer("days", days, smallest=1)
        self.looks: list[Look] = []
        self._started = np.zeros(len(FALLS))  # wealth of what was put on the days so far

    @property
    def raised(self) -> bool:
        """Whether the alarm was ever raised."""
        return any(look.raised for look in self.looks)

    def look(self, loop: Any) -> Look:
        """Take a day into account."""
        day = len(self.looks) + 1
        wealth = self.wealth(loop)
        put = self._share(day)
        self._started = (self._started + put) * wealth
        left = 1.0 - sum(self._share(d) for d in range(1, day + 1))
        evidence = float(self._started.mean()) + max(left, 0.0)
        found = Look(day, float(wealth.mean()), evidence, evidence >= 1 / (1 - self.level))
        self.looks.append(found)
        return found

    def wealth(self, loop: Any) -> FloatArray:
        """What bets on "below" have made of 1 with a day's draws, one for each fall; capped."""
        if not hasattr(type(loop), "whole_pool"):
            raise BadOption(f"{brief(loop)} is no evaluation or study; give that of the day")
        state, nothing = loop.state, np.ones(len(FALLS))
        draws, example = new_draws(state.ledger)
        if len(draws.cell) == 0:
            return nothing
        target = _within(self.measure.bind(_unweighted(state.pool.schema)), state.measure)
        least, most = target.bounds
        if not least < self.below < most:
            raise BadOption(
                f"below is {self.below:g}, and {target.name} lies between {least:g} and {most:g}; "
                "give a level between them, such as 0.8"
            )
        totals = linear_fractional(target, 0, example, state.ledger.problem.n_classes)
        low, high = logical_bounds(
            replace(draws, cell=draws.cell[:0], label=draws.label[:0]), *totals
        )
        if not low < self.below < high:
            return nothing * (low <= self.below)
        aims = [max(fallen(self.below, high, fall), low) for fall in FALLS]
        given, enough = (draws, *totals, self.below), 1 / (1 - self.level)
        return np.minimum([wealth_below(*given, aim, enough) for aim in aims], enough)

    def _share(self, day: int) -> float:
        """What is put on a fall that comes on a day: alike on all days that are planned."""
        if day <= self.days:
            return AT_ONCE / self.days
        later = day - self.days
        return (1 - AT_ONCE) / (later * (later + 1))


def _unweighted(schema: Schema) -> Schema:
    """What is known of a pool, or an error if its items have weights, which no bet knows of."""
    if schema.weight is None:
        return schema
    raise NoSupport(
        f"an alarm counts items alike, and those of this pool count by {schema.weight!r}; make the "
        "evaluation for the alarm from a pool without weights"
    )


def _within(wanted: Measure, asked: Measure) -> Measure:
    """The measure as the cells of an evaluation know it, or an error."""
    has, wants = asked.facts(), wanted.facts()
    if has is None or wants is None or not set(wants) <= set(has):
        raise NoSupport(
            f"the evaluation was made for {asked.name}, whose cells do not tell {wanted.name}; "
            "make it for the measure of the alarm"
        )
    return wanted


def new_draws(ledger: Any) -> tuple[StageDraws, Outputs]:
    """The draws of the finished stages among items that are new in this version.

    Those of a part of the cells, at the same rates, are draws without replacement from that part.
    """
    if not ledger.design.by_model:
        raise BadOption(
            f"an alarm looks at labels of design 'watch' or of the default, not of "
            f"{ledger.design}; make the evaluation with design='watch'"
        )
    problem, stages = ledger.problem, ledger.finished()
    before = problem.cells.before
    n_cells, n_classes = len(problem.cells), problem.n_classes
    fresh = np.ones(n_cells, bool) if before is None else before.inclusion == 0
    first = 0 if before is None else 1  # stage 0 is what was carried over
    new_cell = np.cumsum(fresh) - 1
    kept: list[tuple[Any, Any, Any]] = []
    inclusion = [np.zeros(n_cells)] if first == 0 else []
    for number, (stage, label) in enumerate(stages):
        inclusion.append(np.asarray(stage.inclusion))
        if number < first:
            continue
        cell = problem.cells.of_item[stage.item[: stage.n_new]].astype(np.int64)
        inside = fresh[cell]
        part = np.full(int(inside.sum()), number - first)
        kept.append((part, new_cell[cell[inside]], label[: stage.n_new][inside]))
    columns = [np.concatenate(part) for part in zip(*kept, strict=True)] if kept else []
    stage, cell, label = columns or (np.zeros(0, np.int64),) * 3
    rates = _rates(inclusion)[:, fresh]
    guess = shares_before(ledger, stages[:first])[fresh]
    shares = np.broadcast_to(guess, (len(rates), len(guess), n_classes))
    draws = StageDraws(problem.cells.size[fresh], stage, cell, label, rates, shares)
    return draws, problem.cells.example.take(np.flatnonzero(fresh))


def shares_before(ledger: Any, stages: list[Any]) -> FloatArray:
    """The model's label shares after these stages alone, the first of an evaluation, (K, C)."""
    problem, design = ledger.problem, ledger.design
    state = design.start(problem, stage_rng(ledger.seed, 0))
    labelled = state.labelled.copy()
    for stage, label in stages:
        cell, told = problem.cells.of_item[stage.item].astype(np.int64), label >= 0
        np.add.at(labelled, (cell[told], label[told]), 1)
    share: FloatArray = design.fitted(problem, replace(state, labelled=labelled)).share
    return share


def _rates(inclusion: list[Any]) -> Any:
    """Rates of the stages that lead from each of these probabilities to the next, (J, K)."""
    if len(inclusion) < 2:
        return np.zeros((0, len(inclusion[0]) if inclusion else 0))
    return rates_between(inclusion)[1:]
