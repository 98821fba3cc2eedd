"""Options of hs.Pool in hs.open_pool: the same cells, order and draws, or one clear line."""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import haystat as hs
from haystat.engines import quantiles
from haystat.errors import BadOption, PoolError
from haystat.measures import F1, ForSystems, Recall, Within
from haystat.measures.facts import ScoreBin

SIZE = 6000


@pytest.fixture(scope="module")
def rows(make_rows):
    rows = make_rows(SIZE)
    rng = np.random.default_rng(8)
    rows["group"] = rng.integers(0, 40, SIZE) * 3
    rows["prior"] = np.clip(rows["score"] * 0.8 + 0.02, 0, 1)
    rows["coarse"] = np.round(rows["score"], 2)  # with many ties
    three = rng.dirichlet([8.0, 1.0, 1.0], SIZE)
    rows |= {f"p{i}": share for i, share in enumerate(three.T)}
    rows["kind"] = three.argmax(axis=1)
    rows["deviation"] = np.abs(rows["other"]) + 0.1
    return rows


@pytest.fixture
def path(rows, write_rows, tmp_path):
    return write_rows(tmp_path / "pool.parquet", rows)


#: given to hs.open_pool, and the same for hs.Pool
CASES = {
    "equal size": (
        {"score": "score", "stratify": "equal_size"},
        lambda r: {"scores": {"score": r["score"]}, "stratify": "equal_size"},
    ),
    "equal size, margins": (
        {"score": "other", "stratify": "equal_size", "strata": 7},
        lambda r: {"scores": {"other": r["other"]}, "stratify": "equal_size", "strata": 7},
    ),
    "equal size, ties": (
        {"score": "coarse", "stratify": "equal_size", "strata": 50},
        lambda r: {"scores": {"coarse": r["coarse"]}, "stratify": "equal_size", "strata": 50},
    ),
    "equal size, several": (
        {"score": ("score", "other"), "stratify": "equal_size", "strata": 50},
        lambda r: {
            "scores": {"score": r["score"], "other": r["other"]},
            "stratify": "equal_size",
            "strata": 50,
        },
    ),
    "given strata": (
        {"score": "score", "strata": "group"},
        lambda r: {"scores": {"score": r["score"]}, "strata": r["group"]},
    ),
    "given tree": (
        {"score": "score", "stratify": [0.01, 0.1], "parents": [-1, 0, 0, 1, 1]},
        lambda r: {
            "scores": {"score": r["score"]},
            "stratify": [0.01, 0.1],
            "parents": [-1, 0, 0, 1, 1],
        },
    ),
    "prior": (
        {"score": "other", "probability": "prior"},
        lambda r: {"scores": {"other": r["other"]}, "probabilities": r["prior"]},
    ),
    "prior of three classes": (
        {
            "score": "other",
            "prediction": "kind",
            "probability": ("p0", "p1", "p2"),
            "classes": (0, 1, 2),
        },
        lambda r: {
            "scores": {"other": r["other"]},
            "predictions": {"other": r["kind"]},
            "probabilities": np.stack([r["p0"], r["p1"], r["p2"]], axis=1),
            "classes": (0, 1, 2),
        },
    ),
    "predictions alone": (
        {"prediction": ("prediction", "other_prediction"), "columns": ["country"]},
        lambda r: {
            "predictions": {n: r[n] for n in ("prediction", "other_prediction")},
            "columns": {"country": r["country"]},
        },
    ),
    "predictions alone, given strata": (
        {"prediction": "prediction", "strata": "group"},
        lambda r: {"predictions": {"prediction": r["prediction"]}, "strata": r["group"]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_and_estimates_are_those_of_a_pool_in_memory(case, rows, path, run_draws):
    check_case(case, rows, path, "duckdb", run_draws)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("case", ["equal size", "given strata", "prior", "predictions alone"])
def test_the_same_on_spark(case, rows, path, spark, run_draws):
    check_case(case, rows, path, spark, run_draws)


def check_case(case, rows, path, engine, run_draws):
    given, in_memory = CASES[case]
    pool = hs.open_pool(path, id="id", engine=engine, seed=3, **given)
    memory = hs.Pool(**in_memory(rows), ids=rows["id"], seed=3)
    assert pool.n_strata == memory.n_strata
    assert pool.systems == memory.systems
    assert pool.schema.scored == memory.schema.scored
    measure = {
        "prior of three classes": "accuracy",
        "predictions alone": Within(Recall(), column="country", equals="nz"),
        "equal size, several": ForSystems(F1(), ("score", "other")),
    }.get(case, F1())
    bound = hs.measures.resolve(measure).bind(pool.schema)
    one, other = memory.cells(bound), pool.cells(bound)
    np.testing.assert_array_equal(one.size, other.size)
    np.testing.assert_array_equal(one.stratum, other.stratum)
    # Sums of given probabilities are not rounded, so that the last digits may differ.
    np.testing.assert_allclose(one.prior, other.prior, rtol=1e-12)
    np.testing.assert_array_equal(memory.tree.parent, pool.tree.parent)
    label = dict(zip(rows["id"].tolist(), rows["label"].tolist(), strict=True))
    items, values = run_draws(memory, measure, label)
    engine_items, engine_values = run_draws(pool, measure, label)
    assert items == engine_items
    np.testing.assert_allclose(values, engine_values, rtol=1e-9)


@pytest.mark.parametrize("deviation", [None, "deviation"])
def test_strata_of_equal_size_for_predicted_numbers(deviation, rows, path):
    options = {"classes": None, "stratify": "equal_size", "strata": 30}
    pool = hs.open_pool(path, id="id", score=("other", "score"), deviation=deviation, **options)
    scores = {name: rows[name] for name in ("other", "score")}
    memory = hs.Pool(
        scores, ids=rows["id"], deviations=rows[deviation] if deviation else None, **options
    )
    bound = hs.measures.resolve("mse").bind(pool.schema)
    np.testing.assert_array_equal(memory.cells(bound).size, pool.cells(bound).size)


@pytest.mark.parametrize("bins", [16, 1 << 18])
def test_quantiles_are_exact_however_few_bins_a_pass_has(bins, write_rows, tmp_path, monkeypatch):
    monkeypatch.setattr(quantiles, "BINS", bins)
    rng = np.random.default_rng(2)
    values = np.concatenate(
        [rng.normal(0, 1e-300, 400), rng.normal(5, 3, 400), np.full(300, 5.0), [-1e300, 1e300, 0]]
    )
    rows = {"id": np.arange(len(values)), "score": values}
    path = write_rows(tmp_path / "wild.parquet", rows)
    from haystat.engines.source import find_source

    source = find_source(path)
    ranks = quantiles.quantile_ranks(len(values), 20)
    found = quantiles.values_of_ranks(source, source.table, "score", (-1e300, 1e300), ranks)
    np.testing.assert_array_equal(found, np.sort(values)[ranks])
    higher = np.quantile(values, np.arange(1, 20) / 20, method="higher")
    np.testing.assert_array_equal(found, higher)


def test_a_sketch_keeps_what_it_was_given(rows, path, tmp_path):
    pool = hs.open_pool(
        path,
        id="id",
        prediction="prediction",
        strata="group",
        parents=[-1] + [0] * 40,
        probability="prior",
    )
    pool.save(tmp_path / "pool.sketch")
    (tmp_path / "pool.parquet").unlink()
    kept = hs.open_pool(tmp_path / "pool.sketch")
    assert kept.fingerprint == pool.fingerprint
    assert kept.tree.height == 1
    asked = [[q.item for q in hs.Evaluation(p, random_state=1).ask(50)] for p in (pool, kept)]
    assert asked[0] == asked[1]


def test_another_tree_is_another_pool(path):
    pools = [hs.open_pool(path, id="id", score="score", branching=b) for b in (2, 4)]
    assert pools[0].fingerprint != pools[1].fingerprint


WRONG = {
    "no id": ({"score": "score"}, BadOption, "id=…; the rows of a table have no order"),
    "nothing": ({"id": "id"}, BadOption, "score, the prediction or both"),
    "two shares": (
        {"probability": ("prior",), "prediction": "kind", "classes": (0, 1, 2)},
        BadOption,
        "1 probability columns for 3 classes",
    ),
    "shares beyond one": ({"probability": "id"}, PoolError, "rows have no probabilities in"),
    "shares that do not add up": (
        {"probability": ("p0", "p1")},
        PoolError,
        r"\d+ rows have no probabilities in \['p0', 'p1'\], such as .* sum to 1",
    ),
    "strata of texts": ({"strata": "country"}, BadOption, "'country' are of type string"),
    "strata below zero": ({"strata": "id"}, BadOption, r"strata in column 'id' are negative"),
    "a tree of other strata": (
        {"strata": "group", "parents": [-1, 0, 0]},
        BadOption,
        "2 leaves|40 strata",
    ),
    "numbers with a prior": (
        {"probability": "prior", "classes": None},
        BadOption,
        "`probability` are about classes",
    ),
    "unknown method": ({"stratify": "equal"}, hs.errors.UnknownName, "equal_size"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_clear_line(case, path):
    given, error, text = WRONG[case]
    own = {} if case in ("no id", "nothing") else {"id": "id", "score": "score"}
    with pytest.raises(error, match=text) as raised:
        hs.open_pool(path, **{**own, **given})
    assert "\n" not in str(raised.value)


def test_curves_need_scores(path):
    pool = hs.open_pool(path, id="id", prediction="prediction")
    with pytest.raises(BadOption, match="scores"):
        hs.Evaluation(pool, "pr_curve")


def test_two_curves_whose_tags_collide_keep_their_items(tmp_path):
    """Items are numbered by a tag of the thresholds, of which there are only 255."""
    rng = np.random.default_rng(0)
    scores = rng.random(400)
    path = tmp_path / "pool.parquet"
    parquet.write_table(pa.table({"id": np.arange(400), "score": scores}), path)
    pool = hs.open_pool(path, id="id", score="score", strata=4, seed=1, candidates=8)
    first, second = _colliding()

    def ids(thresholds):
        cells = pool.cells(hs.measures.PRCurve(thresholds=thresholds).bind(pool.schema))
        order = pool.candidates(cells)
        return [pool.id_of(order.take(cell, 0)) for cell in range(len(cells))]

    before = ids(first)
    assert ids(second) != before
    assert ids(first) == before


def _colliding():
    """Two lists of thresholds whose facts have the same tag."""
    seen = {}
    rng = np.random.default_rng(1)
    for _ in range(1000):
        thresholds = np.sort(rng.random(3)).tolist()
        bins = (ScoreBin(0, tuple(thresholds)),)
        tag = zlib.crc32(repr(bins).encode()) % 255
        if tag in seen:
            return seen[tag], thresholds
        seen[tag] = thresholds
    raise AssertionError("no two are alike")
