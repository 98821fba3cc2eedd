"""Pools from fitted estimators."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs

linear_model = pytest.importorskip("sklearn.linear_model")
svm = pytest.importorskip("sklearn.svm")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    return X, (X[:, 0] + 0.3 * rng.normal(size=300) > 0.8).astype(int)


def test_the_pool_has_the_probabilities_and_predictions_of_the_classifier(data):
    X, y = data
    model = linear_model.LogisticRegression().fit(X, y)
    pool = hs.from_estimator(model, X, strata=8)
    everything = pool.outputs(np.arange(len(pool)))
    np.testing.assert_allclose(everything.scores[:, 0], model.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(everything.predictions[:, 0], model.predict(X))


def test_all_labels_give_the_f1_of_scikit_learn(data):
    from sklearn.metrics import f1_score

    X, y = data
    model = linear_model.LogisticRegression().fit(X, y)
    ids = [f"row {n}" for n in range(len(X))]
    evaluation = hs.Evaluation(hs.from_estimator(model, X, ids=ids, strata=8), random_state=0)
    found = evaluation.run(lambda items: [y[ids.index(item)] for item in items], budget=300)
    assert found.value == pytest.approx(f1_score(y, model.predict(X)))


def test_a_classifier_without_probabilities_gives_its_decision_function(data):
    X, y = data
    model = svm.LinearSVC().fit(X, y)
    pool = hs.from_estimator(model, X, name="svm")
    assert pool.systems == ("svm",)
    np.testing.assert_allclose(pool.scores[:, 0], model.decision_function(X))


def test_a_threshold_replaces_the_predictions_of_the_classifier(data):
    X, y = data
    model = linear_model.LogisticRegression().fit(X, y)
    pool = hs.from_estimator(model, X, threshold=0.9)
    predicted = pool.outputs(np.arange(len(pool))).predictions[:, 0]
    np.testing.assert_array_equal(predicted, model.predict_proba(X)[:, 1] >= 0.9)


@pytest.mark.parametrize("kind", [linear_model.LogisticRegression, svm.LinearSVC])
def test_several_classes_keep_their_names(data, kind):
    X, y = data
    names = np.array(["cat", "dog", "emu"])[y + (X[:, 1] > 0.5)]
    pool = hs.from_estimator(kind().fit(X, names), X, strata=8)
    assert pool.classes == ("cat", "dog", "emu")
    evaluation = hs.Evaluation(pool, "accuracy", random_state=0)
    estimate = evaluation.run(lambda items: names[items], budget=300)
    assert estimate.value == pytest.approx(np.mean(kind().fit(X, names).predict(X) == names))


def test_a_regressor_makes_a_pool_of_numbers(data):
    X, _ = data
    pool = hs.from_estimator(linear_model.LinearRegression().fit(X, X[:, 0]), X)
    assert pool.classes == ()


def test_a_pipeline_and_a_frame_will_do(data):
    pd = pytest.importorskip("pandas")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = make_pipeline(StandardScaler(), linear_model.LogisticRegression()).fit(frame, y)
    assert len(hs.from_estimator(model, frame)) == 300


def test_what_cannot_be_scored_is_refused(data):
    X, y = data
    with pytest.raises(hs.HaystatError, match="fitted"):
        hs.from_estimator(linear_model.LogisticRegression(), X)
    with pytest.raises(hs.HaystatError, match="predict"):
        hs.from_estimator("model.pkl", X)
    names = np.array(["a", "b", "c"])[y + (X[:, 1] > 0.5)]
    model = linear_model.LogisticRegression().fit(X, names)
    with pytest.raises(hs.HaystatError, match="two classes"):
        hs.from_estimator(model, X, threshold=0.5)
