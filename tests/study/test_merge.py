"""Two studies of one pool, taken together."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.errors import ConflictingAnswer, NoSupport, StudyError
from haystat.study import merged_estimate

REPEATS = 60


def pool_with(order: int, size: int = 600):
    """One pool; `order` is the seed of the order inside its cells."""
    rng = np.random.default_rng(4)
    scores = 1 / (1 + np.exp(-rng.normal(-1.5, 1.5, size)))
    label = (rng.random(size) < scores).astype(int)
    return hs.Pool(scores, strata=8, seed=order), dict(enumerate(label.tolist()))


@pytest.fixture
def two(make_study):
    """Studies of one pool, each with 60 labels."""

    def make(seeds=(1, 2), orders=(1, 2), designs=("adaptive", "adaptive"), **options):
        cases = []
        for k in (0, 1):
            settings = {"design": designs[k], "random_state": seeds[k], **options}
            cases.append(make_study(pool_with(orders[k]), name=f"{k}.haystat", **settings))
            cases[-1].answer(60)
        return cases

    return make


@pytest.mark.parametrize("design", ["passive", "importance", "adaptive", "oasis"])
def test_draws_add_up(two, design):
    one, other = two(designs=(design, design))
    estimates = [case.study.estimate() for case in (one, other)]
    merged = merged_estimate([one.study, other.study])
    assert merged.n_draws == sum(estimate.n_draws for estimate in estimates)
    items = {answer.item for case in (one, other) for answer in case.study.answers}
    assert merged.n_labels == len(items)
    risks = [estimate.details["risk"] * estimate.n_draws for estimate in estimates]
    np.testing.assert_allclose(merged.details["risk"], sum(risks) / merged.n_draws)
    assert merged.std_error < max(estimate.std_error for estimate in estimates)
    assert merged_estimate([one.study, other.study], "precision").n_draws == merged.n_draws


def test_answers_of_a_stochastic_oracle_are_not_taken_together(make_study):
    settings = {"design": "adaptive", "oracle": "stochastic"}
    both = [
        make_study(pool_with(seed), name=f"{seed}.haystat", random_state=seed, **settings).study
        for seed in (1, 2)
    ]
    for study in both:
        study.tell({query: 0.5 for query in study.ask(20)})
    with pytest.raises(StudyError, match=r"stochastic oracle.*one study for everybody"):
        merged_estimate(both)


def test_the_model_of_the_assisted_design_takes_no_part_and_it_says_so(two):
    one, other = two(designs=("assisted", "assisted"))
    merged = merged_estimate([one.study, other.study])
    assert any("without the model" in warning for warning in merged.warnings)
    assert not any("without the model" in warning for warning in one.study.estimate().warnings)


@pytest.mark.parametrize("design", ["adaptive", "assisted"])
def test_the_error_of_independent_studies_is_what_the_interval_says(tmp_path, design):
    values, errors = [], []
    for k in range(REPEATS):
        studies = []
        for part in (0, 1):
            pool, label = pool_with(order=2 * k + part, size=2000)
            path = tmp_path / f"{k}-{part}"
            study = hs.Study.create(path, pool, "accuracy", design, random_state=2 * k + part)
            study.tell({question.item: label[question.item] for question in study.ask(100)})
            studies.append(study)
        merged = merged_estimate(studies)
        values.append(merged.value)
        errors.append(merged.std_error)
        for study in studies:
            study.close()
    predicted = 1 / (1 + np.exp(0)) <= pool.scores[:, 0]
    truth = np.mean([predicted[item] == label for item, label in label.items()])
    assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / np.sqrt(REPEATS))
    # The chi-square 99.9% range of a standard deviation from 60 values is 0.7 to 1.35.
    assert 0.7 < np.std(values) / np.mean(errors) < 1.35


def test_studies_that_do_not_add_up_are_refused(two, make_study, make_pool):
    one, _ = two()
    with pytest.raises(StudyError, match="at least two"):
        merged_estimate([one.study])
    elsewhere = make_study(make_pool(seed=9), name="elsewhere")
    with pytest.raises(StudyError, match="different pools"):
        merged_estimate([one.study, elsewhere.study])
    for name, options, expected in (
        ("design", {"design": "passive", "random_state": 3}, "differ in their design"),
        ("option", {"delta": 0.1, "random_state": 3}, "differ in their design"),
        ("measure", {"measure": "recall", "random_state": 3}, "differ in their measure"),
        ("seed", {"random_state": 1}, "share a seed"),
    ):
        odd = make_study(pool_with(3), name=name, **options)
        with pytest.raises(StudyError, match=expected):
            merged_estimate([one.study, odd.study])
    same_order = make_study(pool_with(1), name="order", random_state=3)
    with pytest.raises(StudyError, match="ask about the same items"):
        merged_estimate([one.study, same_order.study])


def test_stratified_studies_are_refused(two):
    one, other = two(designs=("stratified", "stratified"))
    with pytest.raises(StudyError, match="counts on one sample"):
        merged_estimate([one.study, other.study])


def test_contradicting_answers_are_refused_until_corrected(two):
    one, other = two()
    common = {a.item for a in one.study.answers} & {a.item for a in other.study.answers}
    item = min(common)
    one.study.correct(item, 1 - one.label[item])
    with pytest.raises(ConflictingAnswer, match="correct one of them first"):
        merged_estimate([one.study, other.study])
    one.study.correct(item, None)
    assert "skipped" in merged_estimate([one.study, other.study]).warnings[-1]


def test_another_measure_needs_support(two):
    one, other = two(measure="precision")
    with pytest.raises(NoSupport):
        merged_estimate([one.study, other.study], "recall")


def test_studies_without_answers_have_no_estimate_yet(make_study):
    cases = [make_study(pool_with(k), name=f"{k}", random_state=k) for k in (1, 2)]
    merged = merged_estimate([case.study for case in cases])
    assert np.isnan(merged.value)
    assert "No study has a label" in merged.warnings[0]
