"""All that the model of the labels assumes, in one record that the log keeps with every study."""

from __future__ import annotations

from dataclasses import dataclass, fields

from haystat.errors import BadOption


@dataclass(frozen=True)
class ModelSettings:
    """The priors of the model; docs/method.md says what each means and how it was chosen.

    intercept_sd: of the logit at the decision threshold, around 0.
    slope, slope_sd: of the logit along t = -logit(rank).
    bend_sds: of the slopes of the curve about their common slope, within two units of the threshold
        (per unit of t); each value is as likely as the others beforehand.
    far_sd: the same further away.
    group_sd: of the offset of cells that are predicted otherwise.
    hidden, hidden_sd: hidden positives, for each positive in sight: median (times a factor that
        grows with the errors among the predicted positives) and standard deviation of the log.
    mass, mass_sd: the same in a mass of items that share their score.
    wrong, wrong_sd: share of wrong predictions that the score knows nothing of, among the items
        predicted positive: median and standard deviation of the log.
    trust: what a label counts for: a tempered likelihood, as no curve is exactly right.
    n_draws: joint draws of the posterior.
    """

    intercept_sd: float = 5.0
    slope: float = 2.0
    slope_sd: float = 1.5
    bend_sds: tuple[float, ...] = (0.9, 2.4)
    far_sd: float = 1.0
    group_sd: float = 2.0
    hidden: float = 0.03
    hidden_sd: float = 2.0
    mass: float = 0.2
    mass_sd: float = 2.5
    wrong: float = 0.005
    wrong_sd: float = 2.0
    trust: float = 0.75
    n_draws: int = 400

    def __post_init__(self) -> None:
        object.__setattr__(self, "bend_sds", tuple(self.bend_sds))  # a list, if from a file
        for field in fields(ModelSettings):
            value = getattr(self, field.name)
            for number in value if isinstance(value, tuple) else (value,):
                if not (isinstance(number, int | float) and 0 < number < float("inf")):
                    raise BadOption(f"{field.name} is {value!r}; give positive numbers")
        if not self.bend_sds:
            raise BadOption("bend_sds is empty; give at least one standard deviation")
