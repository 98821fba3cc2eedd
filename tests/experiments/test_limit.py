"""The best variance that a design could have: against brute force, and on real pools."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.experiments.best_variance import best_variance, inclusion_probabilities
from haystat.experiments.labelled_pool import read_pool
from haystat.experiments.simulate import plan

#: F1 with 500, 1,000 and 2,000 labels, worked out by others with the same formula. Where scores
#: are probabilities it depends on how near to 0 and 1 the logit is cut off when strata are made:
#: kdd-smtp and covtype of logreg do, and are left out.
KNOWN = {
    "abt-buy-svm.h5": (0, 0, 0),
    "dblp-acm-svm-small.h5": (0, 0, 0),
    "restaurant-svm.h5": (0, 0, 0),
    "tweets100k-svm.h5": (3.0e-4, 1.4e-4, 6.8e-5),
    "mammography.parquet logreg": (1.1e-3, 3.3e-4, 5.3e-5),
    "mammography.parquet gbm": (1.1e-3, 3.6e-4, 9.7e-5),
    "kdd-smtp.parquet gbm": (5.2e-5, 1.7e-5, 2.8e-6),
    "covtype-cottonwood.parquet gbm": (7.4e-4, 3.7e-4, 1.8e-4),
}


@pytest.mark.parametrize("name", KNOWN)
def test_limit_on_real_pools(published, name):
    file, *system = name.split()
    columns = (
        {
            "label": "label",
            "scores": [f"score_{system[0]}"],
            "predictions": [f"pred_{system[0]}"],
        }
        if system
        else {}
    )
    data = read_pool(published(file), **columns)
    experiment = plan(data.pool, data.labels, "f1", ["passive"], [1])[0]
    for n_labels, known in zip((500, 1000, 2000), KNOWN[name], strict=True):
        found = best_variance(experiment.problem, experiment.truth_counts, n_labels)
        assert found == pytest.approx(known, rel=0.04)


def test_no_other_allocation_is_better():
    rng = np.random.default_rng(0)
    size, spread = rng.integers(5, 50, 6).astype(float), rng.random(6)
    best = inclusion_probabilities(size, spread, 40)
    assert size @ best == pytest.approx(40)

    def variance(probability):
        return np.sum(size * (1 / probability - 1) * spread**2)

    for _ in range(500):
        other = np.clip(best * np.exp(rng.normal(0, 0.3, 6)), 1e-6, 1)
        other *= min(40 / (size @ other), 1)
        assert variance(best) <= variance(other) * (1 + 1e-9)


def test_slope_is_the_change_of_the_measure_by_one_positive(data):
    pool = hs.Pool(data.scores, strata=1)
    experiment = plan(pool, data.labels, "recall", ["passive"], [100])[0]
    truth = experiment.truth_counts
    # One stratum: cells are predicted negative (0) and predicted positive (1).
    missed, hit = truth[:, 1]
    size = truth.sum(axis=1)
    share = truth[:, 1] / size
    slope = np.array([hit, missed]) / (hit + missed) ** 2
    spread = np.sqrt(share * (1 - share)) * slope
    probability = inclusion_probabilities(size.astype(float), spread, 100)
    expected = np.sum(size * (1 / probability - 1) * spread**2)
    assert best_variance(experiment.problem, truth, 100) == pytest.approx(expected)


def test_the_limit_is_zero_once_all_uncertain_items_are_labelled(data):
    experiment = plan(data.pool, data.labels, "f1", ["passive"], [1])[0]
    limits = [best_variance(experiment.problem, experiment.truth_counts, n) for n in (50, 200, 600)]
    assert limits[0] > limits[1] > limits[2] == 0


def test_there_is_no_limit_for_many_classes_or_unequal_losses(data):
    many = hs.Pool(np.eye(3)[[0, 1, 2, 0]], classes=(0, 1, 2), strata=1)
    experiment = plan(many, [0, 1, 2, 1], "accuracy", ["passive"], [2])[0]
    assert np.isnan(best_variance(experiment.problem, experiment.truth_counts, 2))
    pool = hs.Pool(1 / (1 + np.exp(-data.scores)), strata=4)
    experiment = plan(pool, data.labels, "brier", ["passive"], [50])[0]
    assert np.isnan(best_variance(experiment.problem, experiment.truth_counts, 50))
