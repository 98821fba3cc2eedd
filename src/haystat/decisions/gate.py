"""May this version ship? Requirements that hold, fail, or are not decided yet.

A gate that is looked at after every batch gets many chances to pass by luck. What decides is
therefore an interval that allows for it. A gate passes when all requirements hold, so that none of
them needs more certainty because there are others; it fails when any of them fails, so that the
error of failing is shared among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from haystat.core.arguments import checked_choice
from haystat.core.wording import label_count
from haystat.decisions.requirements import Requirement, parsed
from haystat.display.card import Bar, Card
from haystat.display.plots import plot_intervals
from haystat.display.shown import Shown
from haystat.errors import BadOption
from haystat.inference.estimate import Estimate, checked_level
from haystat.measures.outputs import Schema
from haystat.pool.base import AnyPool

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"


class Labelled(Protocol):
    """An evaluation or a study."""

    @property
    def pool(self) -> AnyPool:
        """What it draws from."""

    def estimate(self, measure: Any = None, level: float = 0.95) -> Estimate:
        """A measure from the labels so far."""


@dataclass(frozen=True)
class Check:
    """One requirement: its state, the value and the ends that decide, labels that may be missing.

    low decides whether it passes, high whether it fails (turned round for <=).
    """

    requirement: str
    state: str
    value: float
    low: float
    high: float
    labels_left: int | None

    def __str__(self) -> str:
        ends = f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"
        more = ""
        if self.state == UNDECIDED and self.labels_left is not None:
            more = f", about {self.labels_left:,} more labels"
        return f"{self.state}: {self.requirement}, {ends}{more}"


@dataclass(frozen=True)
class Verdict(Shown):
    """What a gate says: pass, fail or undecided, and why."""

    state: str
    checks: tuple[Check, ...]
    level: float
    interval: str
    n_labels: int
    warnings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all requirements hold."""
        return self.state == PASS

    @property
    def failed(self) -> bool:
        """Whether one of them does not."""
        return self.state == FAIL

    @property
    def undecided(self) -> bool:
        """Whether more labels are needed."""
        return self.state == UNDECIDED

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)

    @property
    def _title(self) -> str:
        head = f"{self.state} at {self.level:.0%} from {label_count(self.n_labels)}"
        return f"{head} ({INTERVALS[self.interval][1]})"

    def __str__(self) -> str:
        return "\n".join([self._title, *map(str, self.checks)])

    def plot(self, ax: Any = None) -> Any:
        """Draw the value and the ends that decide of every requirement; returns the axes."""
        return plot_intervals(
            [f"{check.requirement}: {check.state}" for check in self.checks],
            [check.value for check in self.checks],
            [(check.low, check.high) for check in self.checks],
            title=self._title,
            x_title="measure",
            ax=ax,
        )

    def _card(self) -> Card:
        bars = [Bar(f"{c.requirement}: {c.state}", c.value, c.low, c.high) for c in self.checks]
        known = [end for bar in bars for end in (bar.low, bar.high) if np.isfinite(end)]
        ends = min([0.0, *known]), max([1.0, *known])
        facts = tuple(
            f"{c.requirement}: about {c.labels_left:,} more labels."
            for c in self.checks
            if c.labels_left is not None
        )
        return Card(self._title, bars=tuple(bars), ends=ends, facts=facts, warnings=self.warnings)

    def _columns(self) -> dict[str, list[Any]]:
        names = ("requirement", "state", "value", "low", "high", "labels_left")
        return {name: [getattr(check, name) for check in self.checks] for name in names}


def gate(
    labelled: Labelled,
    *requirements: str,
    level: float = 0.95,
    interval: str = "anytime",
    baseline: str | None = None,
) -> Verdict:
    """Whether the labels of an evaluation or a study show that requirements hold.

    requirements: such as "recall>=0.8", "new:precision>=0.9", "f1>=baseline-0.01".
    level: a system that does not meet them passes with probability 1 - level at most.
    interval: "anytime", the posterior's, widened so that one may look after every batch; "fixed",
        as it is, for one look; "guaranteed", without the model, valid at every look and wide.
    baseline: the system that "baseline" stands for, if there are more than two.

    >>> import haystat as hs
    >>> ev = hs.Evaluation(hs.Pool([0.1, 0.2, 0.7, 0.9], strata=2), random_state=0)
    >>> ev.tell({query.item: int(query.item >= 2) for query in ev.ask(4)})
    >>> gate(ev, "f1>=0.9").passed
    True
    """
    level = checked_level(level)
    checked_choice("interval", interval, INTERVALS)
    if not level > 0.5:
        raise BadOption(f"level is {level:g}; a gate needs more than 0.5, such as 0.95")
    if not requirements:
        raise BadOption("a gate needs a requirement; give one such as 'recall>=0.8'")
    schema: Schema = labelled.pool.schema
    wanted = [parsed(text, schema, baseline) for text in requirements]
    found = [(one, labelled.estimate(one.measure, level)) for one in wanted]
    size = labelled.pool.size
    checks = tuple(_check(one, est, level, interval, len(wanted), size) for one, est in found)
    states = {check.state for check in checks}
    state = FAIL if FAIL in states else UNDECIDED if UNDECIDED in states else PASS
    warnings = tuple(dict.fromkeys(text for _, est in found for text in est.warnings))
    n_labels = max(est.n_labels for _, est in found)
    return Verdict(state, checks, level, interval, n_labels, warnings)


def _check(
    requirement: Requirement, estimate: Estimate, level: float, interval: str, n: int, size: int
) -> Check:
    """One requirement; errors are one-sided, that of failing is shared by n of them."""
    value = float(estimate.values[0])
    if not np.isfinite(value):
        return Check(requirement.text, UNDECIDED, value, np.nan, np.nan, None)
    ends = INTERVALS[interval][0]
    error = 1 - level
    to_pass, to_fail = (ends(estimate.at(1 - 2 * part)) for part in (error, error / n))
    bound = requirement.bound
    if requirement.at_least:
        low, high = to_pass[0], to_fail[1]
        state = PASS if low >= bound else FAIL if high < bound else UNDECIDED
        reach, slack = (
            (value - low, value - bound) if value >= bound else (high - value, bound - value)
        )
    else:
        low, high = to_fail[0], to_pass[1]
        state = PASS if high <= bound else FAIL if low > bound else UNDECIDED
        reach, slack = (
            (high - value, bound - value) if value <= bound else (value - low, value - bound)
        )
    n_labels = estimate.n_labels + estimate.n_known
    left = None if state != UNDECIDED else _labels_left(reach, slack, n_labels, size)
    low, high = np.clip([low, high], *estimate.bounds).tolist()  # stretched ends may go beyond
    return Check(requirement.text, state, value, low, high, left)


def _labels_left(reach: float, slack: float, n_labels: int, size: int) -> int | None:
    """About how many more labels decide it: an interval narrows like one over their root."""
    if not slack > 0 or n_labels == 0:
        return None
    needed = n_labels * (reach / slack) ** 2
    return None if not needed <= size else max(int(np.ceil(needed)) - n_labels, 1)


def _anytime(estimate: Estimate) -> tuple[float, float]:
    low, high = estimate.watched_intervals[0]
    return float(low), float(high)


def _fixed(estimate: Estimate) -> tuple[float, float]:
    low, high = estimate.intervals[0]
    return float(low), float(high)


def _guaranteed(estimate: Estimate) -> tuple[float, float]:
    low, high = estimate.guaranteed_intervals[0]
    return float(low), float(high)


#: which interval decides -> its two ends, and how to say it
INTERVALS: dict[str, tuple[Callable[[Estimate], tuple[float, float]], str]] = {
    "anytime": (_anytime, "by the model, however often one looks"),
    "fixed": (_fixed, "by the model, for one look"),
    "guaranteed": (_guaranteed, "without the model, however often one looks"),
}
