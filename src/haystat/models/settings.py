"""All that the model of the labels assumes, in one record that the log keeps with every study."""

from __future__ import annotations

from dataclasses import dataclass, fields

from haystat.errors import BadOption

OF_STATES = ("bend_sds", "shapes", "concentrations")
SEVERAL = (*OF_STATES, "group_slope_sds")


@dataclass(frozen=True)
class ModelSettings:
    """The priors of the model; docs/method.md says what each means and how it was chosen.

    intercept_sd: of the logit at the decision threshold, around 0.
    slope, slope_sd: of the logit along t = -logit(rank).
    group_sd: of the offset of cells that are predicted otherwise or belong to another group.
    group_slope_sds: of the difference of a group's slope, where groups are alike and where they are
        not; which of both they are is equally likely beforehand, in every state of the curve.
    far_sd: of the slopes of the curve about their common slope (per unit of t), two units of t and
        more from the threshold.
    bend_sds, shapes, concentrations: a value for each state of the curve, calm, erratic or
        restless; states are equally likely beforehand. Standard deviation of the slopes nearer to
        the threshold. Shares of regions scatter about the curve p by a beta distribution, as if
        shape / (p (1 - p)) + concentration items had been seen at that share.
    hidden, hidden_sd, hidden_power: hidden positives, for each positive in sight: median (times a
        power of the errors among the predicted positives) and standard deviation of the log.
    mass, mass_sd, mass_power: the same in a mass of items that share their score.
    wrong, wrong_sd: share of wrong predictions that the score knows nothing of, among the items
        predicted positive: median and standard deviation of the log.
    flawless: probability that there is no error on a side of the threshold where none was found.
    signal_slope, signal_slope_sd, signal_bend_sd: of the logit along a signal, and of the change
        of its slope.
    signal_hidden: how many times more hidden positives there are where signals point at them.
    point: the estimate is this quantile of the draws, counted from the worst: undetected errors are
        allowed for beyond what most systems have, so that intervals cover those that have more.
    tail_share: an interval of level 95% leaves out this share of 5% of the draws, since no model is
        exactly right, least of all about what is rare.
    n_draws: joint draws of the posterior.
    """

    intercept_sd: float = 5.0
    slope: float = 2.0
    slope_sd: float = 1.5
    group_sd: float = 4.0
    group_slope_sds: tuple[float, ...] = (0.5, 2.0)
    far_sd: float = 1.0
    bend_sds: tuple[float, ...] = (0.9, 2.4, 2.4)
    shapes: tuple[float, ...] = (1.0, 0.02, 0.02)
    concentrations: tuple[float, ...] = (100.0, 2.0, 20.0)
    hidden: float = 0.015
    hidden_sd: float = 2.5
    hidden_power: float = 0.25
    mass: float = 0.15
    mass_sd: float = 2.5
    mass_power: float = 1.0
    wrong: float = 0.005
    wrong_sd: float = 2.0
    flawless: float = 0.02
    signal_slope: float = 0.5
    signal_slope_sd: float = 1.5
    signal_bend_sd: float = 1.0
    signal_hidden: float = 10.0
    point: float = 0.55
    tail_share: float = 0.2
    n_draws: int = 400

    def __post_init__(self) -> None:
        for name in SEVERAL:  # a list, if from a file
            given = getattr(self, name)
            if not (isinstance(given, tuple | list) and len(given)):
                raise BadOption(f"{name} is {given!r}; give a number for each state, one at least")
            object.__setattr__(self, name, tuple(given))
        for field in fields(ModelSettings):
            value = getattr(self, field.name)
            for number in value if isinstance(value, tuple) else (value,):
                if not (isinstance(number, int | float) and 0 < number < float("inf")):
                    raise BadOption(f"{field.name} is {value!r}; give positive numbers")
        if self.point >= 1:
            raise BadOption(f"point is {self.point}; give a quantile between 0 and 1")
        for name in ("tail_share", "flawless"):
            if getattr(self, name) > 1:
                raise BadOption(f"{name} is {getattr(self, name)}; give a share between 0 and 1")
        lengths = {len(getattr(self, name)) for name in OF_STATES}
        if len(lengths) > 1:
            raise BadOption(f"{', '.join(OF_STATES)} need a value for each state, one at least")
