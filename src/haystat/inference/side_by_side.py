"""Estimates of several measures side by side: each what it is on its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.inference.credible import credible_band
from haystat.inference.estimate import Estimate
from haystat.inference.intervals import band_multiplier
from haystat.inference.tails import Tails
from haystat.measures.base import Measure

SUMS = ("square", "cube", "possible")


@dataclass(frozen=True, repr=False)
class SideBySide(Estimate):
    """Estimates of several measures; the terms are those of all, for their covariance."""

    parts: tuple[Estimate, ...] = ()

    @cached_property
    def std_errors(self) -> FloatArray:
        return np.concatenate([part.std_errors for part in self.parts])

    @property
    def intervals(self) -> FloatArray:
        return self._of_parts(lambda part: part.intervals)

    @property
    def clt_intervals(self) -> FloatArray:
        """The paper's, (m, 2)."""
        return self._of_parts(lambda part: part.clt_intervals)

    @property
    def anytime_intervals(self) -> FloatArray:
        return self._of_parts(lambda part: part.anytime_intervals)

    @property
    def watched_intervals(self) -> FloatArray:
        return self._of_parts(lambda part: part.watched_intervals)

    @property
    def worth(self) -> FloatArray:
        return np.concatenate([part.at(self.level).worth for part in self.parts])

    @cached_property
    def guaranteed_intervals(self) -> FloatArray:
        return self._of_parts(lambda part: part.guaranteed_intervals)

    @cached_property
    def draws(self) -> FloatArray:
        """Draws of all components from a posterior, (S, m); none where some have no model."""
        rows = max(len(part.sampled) for part in self.parts)
        known = [
            np.tile(part.values, (rows, 1)) if len(part.terms) == 0 else part.sampled
            for part in self.parts
        ]
        same = all(len(part) == rows for part in known)
        return np.concatenate(known, axis=1) if same else np.zeros((0, len(self.values)))

    def band(self, random_state: int = 0) -> FloatArray:
        if len(self.draws):
            ends = self.values, self.intervals, self.draws
            return credible_band(*ends, self.level, self._of_bounds())
        if self.n_draws < 2:
            return self.intervals
        multiplier = band_multiplier(self.terms, self.level, random_state)
        return np.concatenate([part.around(multiplier) for part in self.parts])

    def _of_bounds(self) -> FloatArray:
        """Smallest and largest value of each component, (m, 2)."""
        return np.concatenate([np.tile(p.bounds, (len(p.values), 1)) for p in self.parts])

    def _of_parts(self, ends: Callable[[Estimate], FloatArray]) -> FloatArray:
        return np.concatenate([ends(part.at(self.level)) for part in self.parts])


def side_by_side(
    measure: Measure, parts: Sequence[Estimate], joint: Callable[[], Estimate]
) -> Estimate:
    """The estimate of a measure that puts others side by side, from estimates of these.

    joint estimates it as one, for how its components vary together, where the terms of the parts
    are not about the same draws.
    """
    warnings = _warnings(parts)
    uncertain = [part.by_draw for part in parts if len(part.terms)]
    if all(uncertain):
        rows = max(len(part.terms) for part in parts)
        terms = np.concatenate([_padded(part.terms, rows) for part in parts], axis=1)
    elif not any(uncertain):
        exact = [np.full(len(part.values), len(part.terms) == 0) for part in parts]
        terms = np.where(np.concatenate(exact), 0.0, joint().terms)
    else:
        from scipy.linalg import block_diag  # seldom needed, and slow to import

        terms = block_diag(*(part.terms for part in parts))
        warnings = (
            *warnings,
            "Some of the measures are estimated by a model and others from weighted labels, so "
            "that how they vary together is not known. Do not use the covariance between them.",
        )
    return SideBySide(
        measure.name,
        measure.components,
        np.concatenate([part.values for part in parts]),
        terms,
        parts[0].level,
        max(part.n_labels for part in parts),
        max(part.n_draws for part in parts),
        measure.bounds,
        warnings,
        {"risk": np.concatenate([part.details["risk"] for part in parts])}
        if all("risk" in part.details for part in parts)
        else {},
        parts=tuple(parts),
        tails=_joined([part.tails for part in parts]),
        by_draw=all(uncertain),
    )


def _warnings(parts: Sequence[Estimate]) -> tuple[str, ...]:
    """What is said of any of them, each text once, with the measures unless it is about all."""
    about: dict[str, list[str]] = {}
    for part in parts:
        for text in dict.fromkeys(part.warnings):
            about.setdefault(text, []).append(part.measure)
    return tuple(
        text if len(names) == len(parts) else f"{', '.join(names)}: {text}"
        for text, names in about.items()
    )


def _joined(tails: Sequence[Tails | None]) -> Tails | None:
    """What carries the error of all components, if it is known of each."""
    known = [part for part in tails if part is not None]
    if len(known) < len(tails):
        return None
    sums = {n: np.concatenate([getattr(part, n) for part in known], axis=1) for n in SUMS}
    bounds = np.concatenate([part.bounds for part in known])
    return Tails(**sums, bounds=bounds, ratio=np.concatenate([part.ratio for part in known]))


def _padded(terms: FloatArray, rows: int) -> FloatArray:
    """Terms of a part that is exact are none: it does not vary."""
    return terms if len(terms) else np.zeros((rows, terms.shape[1]))
