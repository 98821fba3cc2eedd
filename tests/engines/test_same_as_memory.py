"""hs.Pool and hs.open_pool of the same data: the same cells, order, draws and estimates."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.measures import F1, Difference, ForSystems, Within

SIZE = 20_000


@pytest.fixture(scope="module")
def rows(make_rows):
    return make_rows(SIZE)


@pytest.fixture
def path(rows, write_rows, tmp_path):
    return write_rows(tmp_path / "pool.parquet", rows)


def labels_of(rows):
    return dict(zip(rows["id"].tolist(), rows["label"].tolist(), strict=True))


def in_memory(rows, scores, predictions=None, columns=(), seed=0, **options):
    return hs.Pool(
        {name: rows[name] for name in scores},
        None
        if predictions is None
        else {s: rows[p] for s, p in zip(scores, predictions, strict=True)},
        ids=rows["id"],
        columns={name: rows[name] for name in columns},
        seed=seed,
        **options,
    )


def assert_same_cells(one, other, measure):
    """Cells alike, and the same items in the same order in each of them."""
    a, b = (pool.cells(measure.bind(pool.schema)) for pool in (one, other))
    np.testing.assert_array_equal(a.size, b.size)
    np.testing.assert_array_equal(a.stratum, b.stratum)
    np.testing.assert_array_equal(a.prior, b.prior)
    orders = one.candidates(a), other.candidates(b)
    for cell, size in enumerate(a.size.tolist()):
        n = min(size, 50)
        (item, u), (item_b, u_b) = (order.first(cell, n) for order in orders)
        assert [one.id_of(i) for i in item.tolist()] == [other.id_of(i) for i in item_b.tolist()]
        np.testing.assert_array_equal(u, u_b)
        if n:
            assert orders[1].take(cell, n - 1) == item_b[-1]


CASES = {
    "probabilities": ({"score": "score"}, ["score"], None, {}),
    "margins": ({"score": "other"}, ["other"], None, {"strata": 64}),
    "threshold": ({"score": "score"}, ["score"], None, {"threshold": 0.2}),
    "predictions": (
        {"score": "score", "prediction": "prediction"},
        ["score"],
        ["prediction"],
        {"seed": 2**70, "branching": 3},
    ),
    "several": (
        {"score": ("score", "other"), "prediction": ("prediction", "other_prediction")},
        ["score", "other"],
        ["prediction", "other_prediction"],
        {"strata": 100},
    ),
    "equal width": ({"score": "score"}, ["score"], None, {"stratify": "equal_width"}),
    "geometric": ({"score": "score"}, ["score"], None, {"stratify": "geometric"}),
    "edges": ({"score": "other"}, ["other"], None, {"stratify": [-3.0, -1.0, 0.5]}),
}


@pytest.mark.parametrize("case", CASES)
def test_cells_order_draws_and_estimates(case, rows, path, run_draws):
    check_case(case, rows, path, "duckdb", run_draws)


@pytest.mark.xdist_group("spark")
def test_several_systems_on_spark(rows, path, spark, run_draws):
    check_case("several", rows, path, spark, run_draws)


def check_case(case, rows, path, engine, run_draws):
    given, scores, predictions, options = CASES[case]
    pool = hs.open_pool(path, id="id", engine=engine, **given, **options)
    memory = in_memory(rows, scores, predictions, **options)
    measure = ForSystems(F1(), scores) if len(scores) > 1 else F1()
    assert pool.n_strata == memory.n_strata
    np.testing.assert_array_equal(pool.schema.score_range, memory.schema.score_range)
    assert_same_cells(memory, pool, measure)
    label = labels_of(rows)
    items, values = run_draws(memory, measure, label)
    engine_items, engine_values = run_draws(pool, measure, label)
    assert items == engine_items
    np.testing.assert_array_equal(values, engine_values)


@pytest.mark.parametrize(
    "measure",
    [
        "recall",
        "accuracy",
        "pr_curve",
        Within(F1(), column="country", equals="nz"),
        Difference(F1, "score", "other"),
    ],
    ids=str,
)
def test_measures_of_every_kind(measure, rows, path, run_draws):
    scores, predictions = ["score", "other"], ["prediction", "other_prediction"]
    pool = hs.open_pool(
        path, id="id", score=scores, prediction=predictions, columns=["country"], seed=4
    )
    memory = in_memory(rows, scores, predictions, ["country"], seed=4)
    label = labels_of(rows)
    items, values = run_draws(memory, measure, label)
    engine_items, engine_values = run_draws(pool, measure, label)
    assert items == engine_items
    np.testing.assert_array_equal(values, engine_values)


@pytest.mark.parametrize("design", sorted(hs.designs.DESIGNS))
def test_every_design(design, rows, path, run_draws):
    pool = hs.open_pool(path, id="id", score="score")
    memory = in_memory(rows, ["score"])
    label = labels_of(rows)
    one = run_draws(memory, "f1", label, design=design)
    other = run_draws(pool, "f1", label, design=design)
    assert one[0] == other[0]
    np.testing.assert_array_equal(one[1], other[1])


def test_losses_that_differ_inside_a_cell_shape_nearly_the_same_proposal(rows, path):
    pool, memory = hs.open_pool(path, id="id", score="score"), in_memory(rows, ["score"])
    brier = hs.measures.resolve("brier")
    moments = []
    for one in (memory, pool):
        bound = brier.bind(one.schema)
        moments.append(one.losses(bound, one.cells(bound)))
    np.testing.assert_allclose(moments[1].first, moments[0].first, rtol=2e-2)
    np.testing.assert_allclose(moments[1].second, moments[0].second, rtol=5e-2)


@pytest.mark.parametrize("deviation", [None, "wide"])
def test_predicted_numbers(deviation, make_rows, write_rows, tmp_path, run_draws):
    rows = make_rows(5000)
    rows["wide"] = np.abs(rows["other"]) + 0.1
    path = write_rows(tmp_path / "numbers.parquet", rows)
    pool = hs.open_pool(path, id="id", score="other", classes=None, deviation=deviation, strata=40)
    memory = in_memory(
        rows, ["other"], classes=None, strata=40, deviations=rows[deviation] if deviation else None
    )
    rng = np.random.default_rng(3)
    truth = rows["other"] + rows["wide"] * rng.normal(size=5000)
    label = dict(zip(rows["id"].tolist(), truth.tolist(), strict=True))
    for measure in ("mse", "r2"):
        items, values = run_draws(memory, measure, label)
        engine_items, engine_values = run_draws(pool, measure, label)
        assert items == engine_items
        np.testing.assert_allclose(values, engine_values, rtol=1e-12)


@pytest.mark.parametrize("kind", ["text", "unsigned", "extreme"])
def test_ids_of_every_kind(kind, make_rows, write_rows, tmp_path, engine):
    rows = make_rows(3000)
    rng = np.random.default_rng(1)
    whole = rng.integers(0, 2**63, 3000, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    rows["id"] = {
        "text": np.array([f"Ä-{i}|x" for i in range(3000)], dtype=object),
        "unsigned": whole,
        "extreme": np.concatenate([[-(2**63), 2**63 - 1, -1], rng.permutation(2997)]),
    }[kind]
    path = write_rows(tmp_path / "ids.parquet", rows)
    pool = hs.open_pool(path, id="id", score="score", engine=engine, seed=7, strata=16)
    memory = in_memory(rows, ["score"], seed=7, strata=16)
    assert_same_cells(memory, pool, F1())


def test_scores_that_lie_on_the_edges(write_rows, tmp_path, engine):
    score = np.concatenate([np.linspace(0, 1, 1025), np.full(500, 0.5), [0.0, 1.0] * 50])
    rows = {"id": np.arange(len(score)), "score": score}
    path = write_rows(tmp_path / "edges.parquet", rows)
    for shift in (0.0, -0.5):  # probabilities, and margins with an edge at 0
        moved = {**rows, "score": score + shift}
        path = write_rows(tmp_path / f"edges{shift}.parquet", moved)
        pool = hs.open_pool(path, id="id", score="score", engine=engine)
        assert_same_cells(in_memory(moved, ["score"]), pool, F1())


def test_equal_scores_make_one_stratum(write_rows, tmp_path):
    rows = {"id": np.arange(300), "score": np.full(300, 0.7)}
    path = write_rows(tmp_path / "equal.parquet", rows)
    pool = hs.open_pool(path, id="id", score="score")
    assert pool.n_strata == 1
    assert_same_cells(in_memory(rows, ["score"]), pool, F1())


def test_reuse_and_replay(rows, path, tmp_path):
    label = labels_of(rows)
    pool, memory = hs.open_pool(path, id="id", score="score"), in_memory(rows, ["score"])
    estimates = []
    for one in (memory, pool):
        evaluation = hs.Evaluation(one, "f1", "adaptive", delta=0.1, random_state=3)
        evaluation.run(lambda items: [label[item] for item in items], budget=200)
        estimates.append(evaluation.estimate("recall").value)
    assert estimates[0] == estimates[1]
    other = hs.Evaluation(pool, "precision", "adaptive", random_state=3)
    other.run(lambda items: [label[item] for item in items], budget=100)
    with pytest.raises(hs.errors.NoSupport):
        other.estimate("accuracy")
    evaluation.save(tmp_path / "log")
    again = hs.Evaluation.load(tmp_path / "log", hs.open_pool(path, id="id", score="score"))
    assert again.estimate().value == evaluation.estimate().value


def test_one_pool_serves_evaluations_of_different_measures(rows, path):
    pool = hs.open_pool(path, id="id", score="score")
    label = labels_of(rows)
    both = [hs.Evaluation(pool, measure, random_state=1) for measure in ("f1", "pr_curve")]
    asked = [evaluation.ask(200) for evaluation in both]
    for evaluation, queries in zip(both, asked, strict=True):
        evaluation.tell({query.item: label[query.item] for query in queries})
        assert evaluation.n_labels == 200


def test_stochastic_oracles(rows, path):
    pool, memory = hs.open_pool(path, id="id", score="score"), in_memory(rows, ["score"])
    items = [
        [
            query.item
            for query in hs.Evaluation(
                p, "f1", "adaptive", oracle="stochastic", random_state=2
            ).ask(300)
        ]
        for p in (memory, pool)
    ]
    assert items[0] == items[1]


@pytest.mark.compiled
@pytest.mark.xdist_group("spark")
def test_many_rows_on_spark(make_rows, write_rows, tmp_path, spark, run_draws):
    rows = make_rows(200_000, seed=1)
    del rows["country"]
    path = write_rows(tmp_path / "many.parquet", rows)
    options = {"id": "id", "score": "score", "prediction": "prediction", "seed": 11}
    memory = in_memory(rows, ["score"], ["prediction"], seed=11)
    pools = [hs.open_pool(path, engine=engine, **options) for engine in ("duckdb", spark)]
    duckdb_items, spark_items = (pool.held.sketch.items for pool in pools)
    for name in ("atom", "u", "id", "scores"):
        np.testing.assert_array_equal(getattr(duckdb_items, name), getattr(spark_items, name))
    assert pools[0].fingerprint == pools[1].fingerprint
    label = labels_of(rows)
    expected = run_draws(memory, "f1", label)
    for pool in pools:
        assert_same_cells(memory, pool, F1())
        found = run_draws(pool, "f1", label)
        assert found[0] == expected[0]
        np.testing.assert_array_equal(found[1], expected[1])
