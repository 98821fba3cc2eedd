"""Weights behind an engine: the cells, draws and estimates of hs.Pool with the same weights."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.engines import Unblocked
from haystat.errors import BadOption, UnknownName
from haystat.measures import F1
from haystat.study import PoolFile

SIZE = 6000


@pytest.fixture(scope="module")
def rows(make_rows):
    rows = make_rows(SIZE, seed=4)
    rng = np.random.default_rng(2)
    amount = rng.lognormal(2 + rows["label"], 1.5)
    rows["amount"] = np.where(rng.random(SIZE) < 0.05, 0.0, amount)
    rows["old"] = np.log(rows["score"]) + rng.normal(0, 1, SIZE)
    rows["later"] = np.clip(rows["score"] * rng.uniform(0.7, 1.3, SIZE), 0, 1)
    rows["views"] = rng.integers(1, 4, SIZE)
    return rows


@pytest.fixture
def path(rows, write_rows, tmp_path):
    return write_rows(tmp_path / "pool.parquet", rows)


def in_memory(rows, score="score", signals=(), weight="amount"):
    given = {name: rows[name] for name in signals}
    columns = {weight: rows[weight].astype(float)}
    return hs.Pool(
        {score: rows[score]},
        ids=rows["id"],
        columns=columns,
        weight=weight,
        signals=given or None,
        seed=0,
    )


def labels(rows):
    return dict(zip(rows["id"].tolist(), rows["label"].tolist(), strict=True))


@pytest.mark.parametrize("measure", ["f1", "prevalence", ["f1", "precision"]], ids=str)
@pytest.mark.parametrize("signals", [(), ("old",)], ids=["", "old"])
def test_cells_draws_and_estimates_are_those_of_memory(rows, path, run_draws, measure, signals):
    pool = hs.open_pool(path, id="id", score="score", weight="amount", signals=signals)
    memory = in_memory(rows, signals=signals)
    assert pool.schema.light == memory.schema.light
    bound = hs.Evaluation(memory, measure).state.measure
    a, b = (one.cells(bound) for one in (memory, pool))
    np.testing.assert_array_equal(a.size, b.size)
    np.testing.assert_array_equal(a.signals.place, b.signals.place)
    np.testing.assert_allclose(memory.losses(bound, a).mean, pool.losses(bound, b).mean)
    found = [run_draws(one, measure, labels(rows), 3, 50, "assisted") for one in (memory, pool)]
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9)


def test_the_paper_s_design_draws_alike(rows, path, run_draws):
    pools = in_memory(rows), hs.open_pool(path, id="id", score="score", weight="amount")
    one, other = (run_draws(pool, "recall", labels(rows), 3, 50, "adaptive") for pool in pools)
    assert one[0] == other[0]


def test_scores_that_equal_a_threshold_reach_it_however_their_sum_is_rounded(
    rows, write_rows, tmp_path
):
    rows = {**rows, "score": np.where(rows["score"] < 0.5, 0.1, 0.7)}
    path = write_rows(tmp_path / "ties.parquet", rows)
    measure = hs.measures.PRCurve(thresholds=(0.1, 0.7))
    found = []
    for pool in (in_memory(rows), hs.open_pool(path, id="id", score="score", weight="amount")):
        bound = hs.Evaluation(pool, measure).state.measure
        found.append(pool.losses(bound, pool.cells(bound)))
    np.testing.assert_array_equal(found[0].support, found[1].support)
    np.testing.assert_allclose(found[0].mean, found[1].mean)


@pytest.mark.xdist_group("spark")
def test_spark_does_the_same(path, spark):
    given = {"id": "id", "score": "score", "weight": "amount", "candidates": 50}
    pool, other = (hs.open_pool(path, engine=e, **given) for e in ("duckdb", spark))
    np.testing.assert_array_equal(pool.held.sketch.items.id, other.held.sketch.items.id)
    np.testing.assert_array_equal(pool.held.sketch.items.weight, other.held.sketch.items.weight)
    groups = [one.held.sketch.groups for one in (pool, other)]
    assert groups[0].key.equals(groups[1].key)
    np.testing.assert_allclose(groups[0].weight_sum, groups[1].weight_sum)


def test_other_measures_are_estimated_from_the_same_labels(rows, path):
    truth, values = labels(rows), []
    for pool in (in_memory(rows), hs.open_pool(path, id="id", score="score", weight="amount")):
        evaluation = hs.Evaluation(pool, "f1", random_state=0)
        evaluation.run(lambda items: [truth[item] for item in items], budget=200)
        found = [evaluation.estimate(name) for name in ("precision", "accuracy", "prevalence")]
        values.append([[one.value, *one.interval] for one in found])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9)


def test_a_sketch_and_a_study_keep_weights(rows, path, tmp_path):
    given = {"id": "id", "score": "score", "weight": "amount"}
    pool = hs.open_pool(path, candidates=60, **given)
    pool.save(tmp_path / "p.sketch")
    again = hs.open_pool(tmp_path / "p.sketch")
    assert again.fingerprint == pool.fingerprint
    measure = hs.Evaluation(pool, "f1").state.measure
    a, b = (one.losses(measure, one.cells(measure)).mean for one in (pool, again))
    np.testing.assert_array_equal(a, b)
    truth, values = labels(rows), []
    for name, engine in (("e", "duckdb"), ("m", None)):
        file = PoolFile(path, ("score",), "id", engine=engine, weight="amount", options={"seed": 1})
        with hs.Study.create(tmp_path / f"{name}.haystat", file, random_state=1) as study:
            study.tell({query.item: truth[query.item] for query in study.ask(60)})
            estimate = study.estimate()
            assert estimate.components == ("f1 by amount",)
            values.append([estimate.value, *estimate.interval, study.estimate("recall").value])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9)


def test_the_next_version_is_weighted(rows, path):
    truth, values = labels(rows), []
    memory = [in_memory(rows, score) for score in ("score", "later")]
    opened = [
        hs.open_pool(path, id="id", score=score, weight="amount") for score in ("score", "later")
    ]
    for first, second in (memory, opened):
        evaluation = hs.Evaluation(first, "f1", random_state=0)
        evaluation.tell({query.item: truth[query.item] for query in evaluation.ask(150)})
        later = evaluation.next(second)
        asked = [query.item for query in later.ask(50)]
        later.tell({item: truth[item] for item in asked})
        changed = hs.change(evaluation, later)
        parts = [changed.before, changed.after, changed.model]
        values.append((asked, later.estimate().interval, [(p.value, p.low, p.high) for p in parts]))
    assert values[0][0] == values[1][0]
    np.testing.assert_allclose(values[0][1], values[1][1], rtol=1e-9)
    np.testing.assert_allclose(values[0][2], values[1][2], atol=0.02)  # rows are in another order


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("negative", lambda w: -w - 1, "weights in column 'bad' are negative"),
        ("missing", lambda w: np.where(np.arange(SIZE) == 7, np.nan, w), "missing or not finite"),
        ("endless", lambda w: np.where(np.arange(SIZE) == 7, np.inf, w), "missing or not finite"),
        ("none", lambda w: w * 0, "are all 0"),
        ("texts", lambda w: w.astype(str), "must be numbers"),
    ],
)  # fmt: skip
def test_columns_that_are_no_weights_are_refused(rows, write_rows, tmp_path, name, values, message):
    bad = write_rows(tmp_path / f"{name}.parquet", {**rows, "bad": values(rows["amount"])})
    with pytest.raises(hs.HaystatError, match=message):
        hs.open_pool(bad, id="id", score="score", weight="bad")


def test_what_does_not_go_with_weights_says_so(rows, path):
    with pytest.raises(BadOption, match="weight is column 'amount' of the blocked pairs"):
        hs.open_pool(
            path, id=("id", "label"), score="score", weight="amount", unblocked=Unblocked(path)
        )
    pool = hs.open_pool(path, id="id", score="score", weight="amount", columns=["views"])
    with pytest.raises(BadOption, match="weighted by column 'views'"):
        hs.Evaluation(pool, hs.measures.Weighted(F1(), "views"))
    with pytest.raises(BadOption, match="read its columns into memory"):
        hs.simulate(pool, "label", budgets=[50], repeats=2)
    with pytest.raises(UnknownName, match="no column"):
        hs.open_pool(path, id="id", score="score", weight="nothing")
