"""From the records of repeats to rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.experiments.best_variance import best_variance
from haystat.experiments.repeat import Experiment, Record

RESAMPLES = 1000  # of the bootstrap


def summarise(experiment: Experiment, records: Sequence[Record]) -> list[dict[str, Any]]:
    """One row for each budget."""
    resample = resamples(len(records), experiment.seed)
    return [
        _row(experiment, records, position, resample) for position in range(len(experiment.budgets))
    ]


def resamples(n_repeats: int, seed: int) -> IntArray:
    """How often each repeat is taken in each resample, (RESAMPLES, n_repeats)."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0)))
    shares = np.full(n_repeats, 1 / n_repeats)
    return np.asarray(rng.multinomial(n_repeats, shares, size=RESAMPLES))


def total_mse(square: FloatArray, n_defined: FloatArray, n_components: int) -> FloatArray:
    """Mean squared error of a defined component, times the number of components.

    square and n_defined (…,) are sums over repeats. With one component this is the mean over the
    repeats that were defined; with several, a component does not count as right for being 0/0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(n_components * square / n_defined)


def _row(
    experiment: Experiment, records: Sequence[Record], position: int, resample: IntArray
) -> dict[str, Any]:
    def column(name: str) -> FloatArray:
        return np.array([getattr(record, name)[position] for record in records], dtype=np.float64)

    truth = experiment.truth[np.isfinite(experiment.truth)]
    n_components = len(truth)
    square, undefined = column("square"), column("undefined")
    defined = n_components - undefined
    mse = total_mse(square.sum(), defined.sum(), n_components)
    again = total_mse(_sums(resample, square), _sums(resample, defined), n_components)
    again = again[np.isfinite(again)]  # a resample may hold no repeat that was defined
    low, high = np.quantile(again, [0.025, 0.975]) if len(again) else (np.nan, np.nan)
    budget = experiment.budgets[position]
    return {
        "design": experiment.name,
        "budget": budget,
        "mse": float(mse),
        "mse_low": float(low),
        "mse_high": float(high),
        "bias": _share(column("error").sum(), defined.sum()),
        "coverage": float(column("covered").mean()),
        "median_width": _median(column("width")),
        "seconds": float(column("seconds").mean()),
        "coverage_clt": float(column("covered_clt").mean()),
        "median_width_clt": _median(column("width_clt")),
        "kl": float(column("kl").mean()),
        "limit": best_variance(experiment.problem, experiment.truth_counts, budget)
        if experiment.has_optimum
        else float("nan"),
        "undefined": int(undefined.sum()),
        "n_labels": float(column("n_labels").mean()),
        "n_draws": float(column("n_draws").mean()),
        "truth": float(truth[0]) if n_components == 1 else float("nan"),
        "components": n_components,
        "repeats": len(records),
    }


def _sums(resample: IntArray, values: FloatArray) -> FloatArray:
    """Total of each resample. Not a matrix product, whose rounding depends on the machine."""
    return np.asarray(np.einsum("br,r->b", resample, values))


def _median(widths: FloatArray) -> float:
    """Median of the widths that are known."""
    known = widths[~np.isnan(widths)]
    return float(np.median(known)) if len(known) else float("nan")


def _share(total: float, count: float) -> float:
    return float(total / count) if count else float("nan")
