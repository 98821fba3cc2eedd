"""Pools from arrays and tables: ids, systems, classes, predictions, fingerprints."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from haystat import Pool, measures
from haystat.errors import UnknownItem

SCORES = np.array([0.1, 0.9, 0.4, 0.6, 0.5])


def predictions_of(pool: Pool) -> list:
    return pool.outputs(np.arange(len(pool))).predictions.tolist()


class TestIds:
    @pytest.mark.parametrize(
        "ids",
        [
            [3, 1, 4, 15, 9],
            [1, 3, 4, 9, 15],
            [-7, 0, 2**62, -(2**63), 5],
            np.array([2**64 - 1, 0, 1, 2**63, 7], dtype=np.uint64),
            np.array([1, 2, 3, 4, 5], dtype=np.int8),
            ["a", "b", "", "é", "e"],
            np.array(["x1", "x2", "x3", "x4", "x5"]),
            np.array(["x1", "x2", "x3", "x4", "y" * 99], dtype=object),
            np.array([5, np.int64(4), 3, 2, 1], dtype=object),
            pd.Series(["p", "q", "r", "s", "t"]),
            pd.Series([9, 8, 7, 6, 5], dtype="Int64"),
            pd.Index([10, 30, 20, 50, 40]),
        ],
        ids=lambda ids: f"{type(ids).__name__} {np.asarray(ids).dtype} {ids[0]}",
    )
    def test_round_trip(self, ids):
        pool = Pool(SCORES, ids=ids)
        for position, item in enumerate(list(ids)):
            back = pool.id_of(position)
            assert type(back) in (int, str)
            assert back == item
            assert pool.index_of(back) == pool.index_of(item) == position

    def test_positions_by_default(self):
        pool = Pool(SCORES)
        assert pool.ids.tolist() == [0, 1, 2, 3, 4]
        assert [pool.id_of(i) for i in range(5)] == [pool.index_of(i) for i in range(5)]
        assert pool.index_of(np.int32(3)) == 3

    @pytest.mark.parametrize("ids", [None, [3, 1, 4, 15, 9], ["3", "1", "4", "15", "x"]])
    @pytest.mark.parametrize("item", [77, -1, "7", "", 1.0, True, None, [3], (3,), 2**70, np.nan])
    def test_an_unknown_item_is_refused(self, ids, item):
        pool = Pool(SCORES, ids=ids)
        with pytest.raises(UnknownItem, match=r"no item .* in the pool of 5; ids look like"):
            pool.index_of(item)

    def test_a_number_and_its_text_are_different_ids(self):
        with pytest.raises(UnknownItem):
            Pool(SCORES, ids=[1, 2, 3, 4, 5]).index_of("1")
        with pytest.raises(UnknownItem):
            Pool(SCORES, ids=list("12345")).index_of(1)

    def test_ids_with_one_key_are_told_apart(self, monkeypatch):
        monkeypatch.setattr("haystat.pool.ids.keys_of", lambda ids: np.zeros(len(ids), dtype=int))
        pool = Pool(SCORES, ids=list("abcde"))
        assert [pool.index_of(item) for item in "abcde"] == [0, 1, 2, 3, 4]

    def test_order_depends_on_ids_not_on_positions(self):
        ids = np.array([40, 10, 30, 20, 50])
        flip = np.array([4, 2, 0, 1, 3])
        orders = []
        for rows in (np.arange(5), flip):
            pool = Pool(np.full(5, 0.5), ids=ids[rows])
            cells = pool.cells(measures.F1().bind(pool.schema))
            candidates = pool.candidates(cells, 7)
            orders.append([pool.id_of(candidates.take(0, rank)) for rank in range(5)])
        assert orders[0] == orders[1]


class TestPredictions:
    def test_default_threshold_of_probabilities_is_one_half(self):
        assert predictions_of(Pool(SCORES)) == [[0], [1], [0], [1], [1]]

    def test_default_threshold_of_other_scores_is_zero(self):
        assert predictions_of(Pool([-3.0, 0.0, 0.2, 1.1])) == [[0], [1], [1], [1]]

    def test_given_threshold(self):
        assert predictions_of(Pool(SCORES, threshold=0.4)) == [[0], [1], [1], [1], [1]]

    @pytest.mark.parametrize(
        "given",
        [
            [0, 1, 1, 0, 0],
            [0.0, 1.0, 1.0, 0.0, 0.0],
            [False, True, True, False, False],
            pd.Series([0, 1, 1, 0, 0], index=[9, 8, 7, 6, 5]),
        ],
    )
    def test_given_predictions(self, given):
        assert predictions_of(Pool(SCORES, given)) == [[0], [1], [1], [0], [0]]

    @pytest.mark.parametrize("dtype", [None, object])
    def test_classes_can_be_texts(self, dtype):
        given = np.array(["no", "yes", "yes", "no", "no"], dtype=dtype)
        pool = Pool(SCORES, given, classes=("no", "yes"))
        assert predictions_of(pool) == [[0], [1], [1], [0], [0]]
        assert pool.schema.class_names == ("no", "yes")

    def test_all_predictions_can_be_zero(self):
        pool = Pool(SCORES, np.zeros(5, dtype=int))
        assert predictions_of(pool) == [[0]] * 5

    def test_scores_of_many_classes_predict_the_largest(self):
        pool = Pool([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [2.0, 9.0, -1.0]], classes=("a", "b", "c"))
        assert predictions_of(pool) == [[2], [0], [1]]
        assert pool.scores.tolist() == [[0.7], [0.5], [9.0]]

    def test_two_columns_are_the_probability_of_the_second_class(self):
        pairs = np.stack([1 - SCORES, SCORES], axis=1)
        pool, single = Pool(pairs), Pool(SCORES)
        np.testing.assert_array_equal(pool.scores, single.scores)
        np.testing.assert_array_equal(pool.stratum, single.stratum)
        assert predictions_of(Pool(pairs, threshold=0.4)) == [[0], [1], [1], [1], [1]]
        cells = pool.cells(measures.Accuracy().bind(pool.schema))
        np.testing.assert_allclose(cells.prior[cells.of_item, 1], SCORES)

    def test_two_columns_of_other_scores_are_a_margin(self):
        pool = Pool([[1.0, 3.0], [0.5, 0.4], [-2.0, -2.5]])
        np.testing.assert_allclose(pool.scores[:, 0], [2.0, -0.1, -0.5])
        assert predictions_of(pool) == [[1], [0], [0]]


class TestSystems:
    def test_each_system_has_its_own_predictions(self):
        pool = Pool({"a": SCORES, "b": SCORES - 0.45}, {"a": [1, 1, 1, 1, 1]})
        assert pool.systems == ("a", "b")
        assert predictions_of(pool) == [[1, 0], [1, 1], [1, 0], [1, 1], [1, 1]]
        np.testing.assert_allclose(pool.schema.score_range, [[0.1, 0.9], [-0.35, 0.45]])

    def test_one_named_system_takes_bare_predictions(self):
        assert predictions_of(Pool({"a": SCORES}, [1, 0, 0, 0, 0])) == [[1], [0], [0], [0], [0]]

    def test_outputs_are_those_of_the_items_asked_for(self):
        pool = Pool({"a": SCORES, "b": -SCORES}, columns={"country": list("ABABA")})
        outputs = pool.outputs(np.array([3, 0]))
        assert outputs.index.tolist() == [3, 0]
        assert outputs.scores.tolist() == [[0.6, -0.6], [0.1, -0.1]]
        assert outputs.columns["country"].tolist() == ["B", "A"]
        assert outputs.predictions.dtype == np.int64


TABLE = {
    "id": ["u", "v", "w", "x", "y"],
    "number": [5, 4, 3, 2, 1],
    "p": SCORES.tolist(),
    "q": [3.0, -1.0, 0.0, 2.0, -4.0],
    "said": [0, 1, 1, 0, 1],
    "group": ["m", "f", "m", "f", "m"],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
class TestFromFrame:
    def test_equals_the_pool_of_the_arrays(self, make):
        pool = Pool.from_frame(
            make(TABLE), id="id", score="p", prediction="said", columns=["group"], seed=3
        )
        expected = Pool(
            {"p": SCORES},
            TABLE["said"],
            ids=TABLE["id"],
            columns={"group": np.array(TABLE["group"], dtype=object)},
            seed=3,
        )
        assert pool.seed == 3
        assert pool.systems == ("p",)
        assert pool.ids.tolist() == TABLE["id"]
        assert pool.columns["group"].tolist() == TABLE["group"]
        assert predictions_of(pool) == predictions_of(expected)
        np.testing.assert_array_equal(pool.scores, expected.scores)
        np.testing.assert_array_equal(pool.stratum, expected.stratum)

    def test_several_systems(self, make):
        pool = Pool.from_frame(make(TABLE), score=["p", "q"], prediction=["said", "said"])
        assert pool.systems == ("p", "q")
        assert predictions_of(pool) == [[0, 0], [1, 1], [1, 1], [0, 0], [1, 1]]

    def test_integer_ids_and_default_ids(self, make):
        assert Pool.from_frame(make(TABLE), score="p", id="number").index_of(5) == 0
        assert Pool.from_frame(make(TABLE), score="p").index_of(4) == 4

    def test_text_classes(self, make):
        pool = Pool.from_frame(make(TABLE), score="p", prediction="group", classes=("m", "f"))
        assert predictions_of(pool) == [[0], [1], [0], [1], [0]]


OPTIONS = {
    "scores": {"a": SCORES, "b": SCORES[::-1]},
    "predictions": {"a": [0, 1, 1, 0, 0]},
    "probabilities": [0.1, 0.2, 0.3, 0.4, 0.5],
    "ids": ["a", "b", "c", "d", "e"],
    "strata": 4,
    "columns": {"c": np.array(["x", "y", "x", "y", "x"], dtype=object), "d": [1, 2, 3, 4, 5]},
}


class TestFingerprint:
    @pytest.mark.parametrize(
        "change",
        [
            {"scores": {"a": SCORES, "b": SCORES}},
            {"scores": {"a": SCORES, "c": SCORES[::-1]}},
            {"scores": {"a": np.nextafter(SCORES, 1), "b": SCORES[::-1]}},
            {"predictions": {"a": [0, 1, 1, 1, 0]}},
            {"predictions": None, "threshold": 0.05},
            {"probabilities": None},
            {"probabilities": [0.1, 0.2, 0.3, 0.4, 0.6]},
            {"ids": ["a", "b", "c", "e", "d"]},
            {"ids": None},
            {"strata": 2},
            {"strata": [0, 0, 1, 1, 2]},
            {"stratify": [0.45]},
            {"branching": 4},
            {"classes": (1, 0)},
            {"columns": {"c": np.array(["x", "y", "x", "y", "y"], dtype=object)}},
            {"columns": {"c": list("xyxyx"), "d": [1, 2, 3, 4, 6]}},
            {"columns": {"e": np.array(list("xyxyx"), dtype=object), "d": [1, 2, 3, 4, 5]}},
            {"columns": None},
        ],
        ids=lambda change: " ".join(change),
    )
    def test_changes_with_what_the_draws_depend_on(self, change):
        assert Pool(**OPTIONS).fingerprint != Pool(**OPTIONS | change).fingerprint

    def test_is_the_same_for_the_same_pool(self):
        copies = {"scores": {k: v.tolist() for k, v in OPTIONS["scores"].items()}}
        assert Pool(**OPTIONS).fingerprint == Pool(**OPTIONS | copies).fingerprint

    def test_sees_scores_of_classes_that_are_not_the_largest(self):
        one = Pool([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], classes=("a", "b", "c"))
        two = Pool([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]], classes=("a", "b", "c"))
        assert one.fingerprint != two.fingerprint


@pytest.mark.parametrize("size", [1, 2, 20])
def test_small_pools(size):
    pool = Pool(np.linspace(0, 1, size))
    cells = pool.cells(measures.F1().bind(pool.schema))
    assert cells.size.sum() == len(pool) == size
    assert 1 <= pool.n_strata <= size
    candidates = pool.candidates(cells)
    taken = {candidates.take(c, r) for c in range(len(cells)) for r in range(cells.size[c])}
    assert taken == set(range(size))


def test_integer_and_boolean_scores_are_numbers():
    assert Pool([0, 1, 1]).scores.tolist() == [[0.0], [1.0], [1.0]]
    assert Pool(np.array([True, False])).scores.tolist() == [[1.0], [0.0]]


def test_repr_says_what_is_in_it():
    assert repr(Pool(SCORES, strata=2)) == "Pool(5 items, systems ['system'], 2 strata)"
