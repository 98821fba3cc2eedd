"""plan: how many labels a width takes, from scores alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from haystat import designs, measures
from haystat.core.arguments import checked_choice, checked_integer, checked_number
from haystat.core.arrays import FloatArray
from haystat.core.progress import progress_bar
from haystat.designs.base import Design
from haystat.display.card import Card
from haystat.display.plots import plot_labels_needed
from haystat.display.shown import Shown
from haystat.errors import BadOption
from haystat.inference.confidence_sequences import sequence_multiplier
from haystat.inference.estimate import Estimate, checked_level
from haystat.loop.loop import RandomState, seed_from
from haystat.measures.base import Measure
from haystat.planning.causes import Cause, causes, widest_components
from haystat.planning.passive import passive_labels
from haystat.planning.rehearsal import rehearse
from haystat.planning.worlds import World, draw_worlds
from haystat.pool.base import AnyPool, checked_pool
from haystat.pool.problem import Problem, pose

#: which interval is to be narrow -> the property of an estimate
INTERVALS = {
    "anytime": "anytime_intervals",
    "fixed": "intervals",
}
CAP = 20_000
WORLDS = 25
HARD = "What makes it hard, by share of the error:"


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """How many labels an interval of some width takes, over the worlds that the scores allow.

    labels is the median, low and high the 10% and 90% quantiles; None means more than `cap`.
    passive is the median for passive sampling. reached is the share of the worlds in which `cap`
    labels were enough. hard says where the error comes from, components which interval is last to
    be narrow enough. expected is the measure in those worlds: 10%, 50%, 90%.
    """

    measure: str
    width: float
    level: float
    interval: str
    design: str
    size: int
    cap: int
    labels: int | None
    low: int | None
    high: int | None
    passive: int
    reached: float
    expected: tuple[float, float, float]
    hard: tuple[Cause, ...]
    components: dict[str, float]

    @property
    def reachable(self) -> bool:
        """Whether `cap` labels are enough in at least half of the worlds."""
        return self.labels is not None

    def __str__(self) -> str:
        whole = ", all there are" if self.passive >= self.size else ""
        lines = [self._headline(), f"Passive sampling: about {self.passive:,} labels{whole}."]
        lines.append("Expected {} {:.2f}, likely {:.2f} to {:.2f}.".format(*self._expected()))
        if self.hard:
            lines.append(HARD)
            lines += [f"  {cause}" for cause in self.hard]
        if len(self.components) > 1:
            named = ", ".join(f"{name} ({share:.0%})" for name, share in self.components.items())
            lines.append(f"Last to be narrow enough: {named}.")
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self, ax: Any = None) -> Any:
        """Labels that the design and passive sampling need; returns the axes."""
        middle, low, high = (
            float(self.cap if n is None else n) for n in (self.labels, self.low, self.high)
        )
        passive = float(self.passive)
        rows = [(self.design, middle, low, high), ("passive", passive, passive, passive)]
        title = f"{self.measure}: labels for an interval {self.width:g} wide at {self.level:.0%}"
        return plot_labels_needed(rows, title=title, ax=ax)

    def _card(self) -> Card:
        low, middle, high = self.expected
        rows = [
            ("labels", _count(self.labels, self.cap)),
            ("likely", f"{_count(self.low, self.cap)} to {_count(self.high, self.cap)}"),
            ("passive sampling", f"{self.passive:,}"),
            (f"expected {self.measure}", f"{middle:.2f} ({low:.2f} to {high:.2f})"),
        ]
        return Card(
            f"{self.measure} with an interval {self.width:g} wide at {self.level:.0%}",
            _count(self.labels, self.cap),
            "labels",
            rows=tuple(rows),
            facts=tuple(map(str, [HARD, *self.hard] if self.hard else [])),
        )

    def _columns(self) -> dict[str, list[Any]]:
        names = ("measure", "design", "width", "level", "labels", "low", "high", "passive")
        return {name: [getattr(self, name)] for name in names}

    def _headline(self) -> str:
        what = f"{self.measure} with an interval {self.width:g} wide at {self.level:.0%}"
        if self.labels is None:
            share = f"{self.reached:.0%} of the possible worlds"
            return f"{what}: not with {self.cap:,} labels, which are enough in {share}."
        low = f"{self.low:,}" if self.low is not None else "?"
        high = f"{self.high:,}" if self.high is not None else f"more than {self.cap:,}"
        return f"{what}: about {self.labels:,} labels, likely {low} to {high}."

    def _expected(self) -> tuple[str, float, float, float]:
        low, middle, high = self.expected
        return self.measure, middle, low, high


def _count(n: int | None, cap: int) -> str:
    return f"more than {cap:,}" if n is None else f"{n:,}"


def plan(
    pool: AnyPool,
    measure: str | Measure = "f1",
    width: float = 0.05,
    *,
    design: str | Design = "assisted",
    level: float = 0.95,
    interval: str = "anytime",
    cap: int = CAP,
    worlds: int = WORLDS,
    random_state: RandomState = 0,
    progress: bool = False,
    **options: Any,
) -> Plan:
    """How many labels it takes until the interval of every component is at most `width` wide.

    No label is needed: the design is rehearsed in `worlds` that the scores and predictions leave
    possible, well calibrated and not. interval: "anytime", which `hs.Width` looks at; "fixed",
    the ordinary one for a budget set beforehand; the default design has one for both. progress:
    show a bar. `options` are those of the named design.

    >>> import numpy as np, haystat as hs
    >>> scores = np.random.default_rng(0).normal(-2, 1.5, 5000)
    >>> hs.plan(hs.Pool(scores), "f1", width=0.3, worlds=5).reachable
    True
    """
    checked_pool(pool)
    _check(width, interval, cap, worlds)
    level = checked_level(level)
    chosen = designs.resolve(design, **options)
    problem = pose(pool, _narrower(measures.bound(measure, pool.schema), width))
    rng = np.random.default_rng(seed_from(random_state))
    made = draw_worlds(problem, worlds, rng)
    widths = partial(interval_widths, interval=interval)
    most = min(cap, problem.size)
    runs = []
    with progress_bar("worlds rehearsed", worlds, shown=progress) as advance:
        for world in made:
            seed = int(rng.integers(2**62))
            rehearsed = partial(rehearse, problem, chosen, world, seed, level=level)
            runs.append(rehearsed(width=width, most=most, widths=widths))
            advance(1)
    n_passive = [passive_labels(problem, w, width, multiplier(level, interval)) for w in made]
    found = np.array([run.labels_for(width) for run in runs])
    return Plan(
        **_facts(problem, width, level, interval, chosen, cap),
        labels=_quantile(found, 0.5),
        low=_quantile(found, 0.1),
        high=_quantile(found, 0.9),
        passive=int(np.median(n_passive)),
        reached=float(np.isfinite(found).mean()),
        expected=_expected(made),
        hard=causes(problem, made, runs),
        components=widest_components(problem, runs),
    )


def interval_widths(estimate: Estimate, interval: str) -> FloatArray:
    """Width of the interval of each component, (m,)."""
    ends: FloatArray = getattr(estimate, INTERVALS[interval])
    return np.asarray(ends[:, 1] - ends[:, 0])


def multiplier(level: float, interval: str) -> Callable[[int], float]:
    """Standard errors on either side of a passive estimate after n labels."""
    if interval == "anytime":
        return partial(sequence_multiplier, level)
    return lambda n: float(ndtri((1 + level) / 2))


def _facts(
    problem: Problem, width: float, level: float, interval: str, design: Design, cap: int
) -> dict[str, Any]:
    return {
        "measure": problem.measure.name,
        "width": float(width),
        "level": level,
        "interval": interval,
        "design": str(design),
        "size": problem.size,
        "cap": cap,
    }


def _expected(worlds: list[World]) -> tuple[float, float, float]:
    low, middle, high = np.quantile([world.values.mean() for world in worlds], [0.1, 0.5, 0.9])
    return float(low), float(middle), float(high)


def _quantile(found: FloatArray, share: float) -> int | None:
    value = float(np.quantile(found, share, method="inverted_cdf"))
    return int(np.ceil(value)) if np.isfinite(value) else None


def _narrower(measure: Measure, width: float) -> Measure:
    """The measure; raises if an interval of that width says nothing about it."""
    low, high = measure.bounds
    if width >= high - low:
        raise BadOption(
            f"width is {width:g}, and {measure.name} goes from {low:g} to {high:g}; give a "
            f"narrower one, such as {(high - low) / 10:g}"
        )
    return measure


def _check(width: float, interval: str, cap: int, worlds: int) -> None:
    checked_number("width", width, 0.05)
    checked_choice("interval", interval, INTERVALS)
    checked_integer("cap", cap, smallest=50)
    checked_integer("worlds", worlds, smallest=1)
