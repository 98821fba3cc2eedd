"""What is wrong with the input is said: what was given, what is allowed, what to do."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from haystat import Pool
from haystat.errors import (
    BadOption,
    BadScore,
    DuplicateId,
    EmptyPool,
    HaystatError,
    LengthMismatch,
    PoolError,
    UnknownLabel,
    UnknownName,
)

S = [0.1, 0.4, 0.8]
TWO = {"a": S, "b": S}


def refused(error: type[HaystatError], message: str, *arguments, **options) -> None:
    with pytest.raises(error, match=message) as caught:
        Pool(*arguments, **options)
    assert caught.type is error


class TestScores:
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e301, -1e308])
    def test_not_finite(self, bad):
        message = r"1 scores of 'system' are NaN, infinite or .* at position 2; drop these items"
        refused(BadScore, message, [0.1, 0.2, bad])

    def test_not_finite_in_a_second_system_or_class(self):
        refused(BadScore, "2 scores of 'b'.* position 0", {"a": S, "b": [np.nan, 1, np.inf]})
        refused(
            BadScore, "1 scores.* position 1", [[0, 1, 2], [0, np.nan, 1]], classes=("a", "b", "c")
        )

    @pytest.mark.parametrize(
        "text",
        [["0.1", "0.2"], ["a", "b"], [0.1, "0.2"], np.array(["0.1", 0.2], dtype=object), [b"1"]],
    )
    def test_text(self, text):
        refused(BadScore, "scores of 'system' must be numbers, not .*convert them to floats", text)

    @pytest.mark.parametrize("bad", [[0.1, None], pd.Series([0.1, None], dtype="Float64")])
    def test_missing(self, bad):
        refused(BadScore, "1 scores of 'system' are NaN.* at position 1; drop", bad)

    @pytest.mark.parametrize("bad", [[[1, 2], [3]], [{}, {}], [0.1, pd.NA]])
    def test_what_is_no_number(self, bad):
        refused(BadScore, "scores of 'system' (must be numbers: |cannot be an array)", bad)

    @pytest.mark.parametrize("bad", [[1j, 2], np.array(["2020-01-01"], dtype="datetime64[D]")])
    def test_complex_numbers_and_dates(self, bad):
        refused(BadScore, "must be numbers, not (complex|datetime)", bad)

    @pytest.mark.parametrize("bad", [0.5, np.zeros((2, 2, 2)), np.zeros((4, 3)), np.zeros((4, 1))])
    def test_shape(self, bad):
        refused(
            BadScore, r"have shape \(.*one score an item.*\(M, 2\); several systems.*classes=", bad
        )

    @pytest.mark.parametrize("empty", [[], np.zeros((0, 2)), {"a": []}])
    def test_no_items(self, empty):
        refused(EmptyPool, "no items; give at least one score", empty)

    def test_no_systems(self):
        refused(BadOption, "no system has scores; give at least one", {})

    def test_decimals_are_fine(self):
        assert Pool([Decimal("0.25"), Decimal("0.5")]).scores[:, 0].tolist() == [0.25, 0.5]


class TestLengths:
    def test_scores_of_systems(self):
        message = "scores of 'b' have 2 entries, those of 'a' 3; give every"
        refused(LengthMismatch, message, {"a": S, "b": [0.1, 0.2]})

    @pytest.mark.parametrize("length", [2, 4])
    def test_predictions(self, length):
        message = rf"predictions of 'system' has {length} entries; the pool has 3 scores, give one"
        refused(LengthMismatch, message, S, [0] * length)

    def test_predictions_of_shape(self):
        refused(LengthMismatch, r"has shape \(3, 2\); the pool has 3", S, np.zeros((3, 2)))
        refused(LengthMismatch, r"has shape \(\); the pool has 3", S, 1)

    @pytest.mark.parametrize("ids", [[1, 2], ["a"] * 4, [[1], [2], [3]], "abc"])
    def test_ids(self, ids):
        refused(LengthMismatch, "ids have shape .*; give one for each of 3 scores", S, ids=ids)

    @pytest.mark.parametrize("given", [[0.1, 0.2], np.full((3, 3), 1 / 3), np.full((2, 2), 0.5)])
    def test_probabilities(self, given):
        message = r"probabilities have shape \(.*3 scores and 2 classes, give \(3, 2\)"
        refused(LengthMismatch, message, S, probabilities=given)

    def test_probabilities_of_one_class_of_three(self):
        message = r"shape \(3,\); .* 3 classes, give \(3, 3\)"
        refused(LengthMismatch, message, S, [0, 1, 2], probabilities=S, classes=(0, 1, 2))

    @pytest.mark.parametrize("column", [[1, 2], np.zeros((3, 2)), "xyz"])
    def test_columns(self, column):
        message = "column 'c' has .*; the pool has 3 scores, give one for each"
        refused(LengthMismatch, message, S, columns={"c": column})

    @pytest.mark.parametrize(
        "option",
        [
            {"ids": [(1,), "a", 2]},
            {"predictions": [[0], 1, 1]},
            {"strata": [[0], 1, 1]},
            {"columns": {"c": [[], 1]}},
        ],
    )
    def test_ragged(self, option):
        refused(PoolError, "cannot be an array .*; give one value for each", S, **option)

    def test_strata(self):
        refused(LengthMismatch, "strata has 2 entries; the pool has 3 scores", S, strata=[0, 1])


class TestIds:
    @pytest.mark.parametrize("ids", [[7, 5, 7], ["7", "5", "7"], np.array(["7", "5", "7"], object)])
    def test_duplicates(self, ids):
        message = r"id '?7'? is given at positions 0 and 2, and 1 ids repeat.*unique: drop"
        refused(DuplicateId, message, S, ids=ids)

    def test_duplicates_side_by_side(self):
        refused(DuplicateId, "id 5 is given at positions 0 and 1, and 2 ids", S, ids=[5, 5, 5])

    @pytest.mark.parametrize(
        "ids",
        [
            [1.0, 2.0, 3.0],
            [1, 2, np.nan],
            [1, 2, None],
            ["a", "b", None],
            ["a", "b", np.nan],
            ["a", "b", 3],
            np.array([1, 2, "3"], dtype=object),
            pd.Series([1, 2, None], dtype="Int64"),
            pd.Series(["a", "b", None]),
            pl.Series([1, None, 3]),
            [True, False, True],
            [b"a", b"b", b"c"],
            np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]"),
            np.array([None, (1,), "a"], dtype=object),
            [1, 2, 2**70],
            [True, 5, "x"],
        ],
        ids=str,
    )
    def test_what_is_no_id(self, ids):
        message = "; ids must be all integers or all strings, with none missing: convert them"
        refused(PoolError, message, S, ids=ids)

    def test_the_missing_one_is_named(self):
        refused(PoolError, "the id at position 1 is None, a NoneType", S, ids=["a", None, "b"])


class TestPredictions:
    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ([0, 1, 2], "2"),
            ([0, 1, np.nan], "nan"),
            (["0", "1", "1"], "'0'"),
            (np.array([0, 1, "x"], dtype=object), "'x'"),
            ([0, 1, 0.5], "0.5"),
            ([0, 1, -1], "-1"),
        ],
    )
    def test_outside_the_classes(self, given, shown):
        message = rf"predictions of 'system' has {shown} at position \d, .* one of \[0, 1\]; add it"
        refused(UnknownLabel, message, S, given)

    def test_outside_text_classes(self):
        message = r"has 'maybe' at position 2, which is not one of \['no', 'yes'\]"
        refused(UnknownLabel, message, S, ["no", "yes", "maybe"], classes=("no", "yes"))

    def test_of_a_system_without_scores(self):
        message = r"predictions names the system 'c'; scores are given for \['a', 'b'\]"
        refused(UnknownName, message, TWO, {"c": [0, 0, 0]})

    def test_one_array_for_two_systems(self):
        message = r"one array and there are 2 systems; give a dict .* \['a', 'b'\]"
        refused(BadOption, message, TWO, [0, 0, 0])

    def test_one_score_cannot_predict_one_of_three_classes(self):
        message = r"threshold cannot tell 3 classes apart; give `predictions` of 'system'"
        refused(BadOption, message, S, classes=(0, 1, 2))

    def test_a_threshold_is_not_for_three_classes(self):
        scores = np.eye(3)
        refused(BadOption, "without a threshold", scores, classes=(0, 1, 2), threshold=0.5)

    @pytest.mark.parametrize("threshold", [np.nan, np.inf, [0.5, 0.6]])
    def test_threshold(self, threshold):
        refused(BadOption, "threshold is .*; give one finite number", S, threshold=threshold)

    def test_threshold_as_text(self):
        refused(BadOption, "threshold must be numbers, not", S, threshold="0.5")


class TestOptions:
    @pytest.mark.parametrize(
        "classes", [(), (1,), (0, 0), ("a", "b", "a"), (1, True), range(40_000)]
    )
    def test_classes(self, classes):
        refused(BadOption, "classes are .*; give from 2 to 32767 different", S, classes=classes)

    @pytest.mark.parametrize(
        "given", [[0.5, 0.5, 1.5], [0.5, -0.5, 0.5], [0.5, np.nan, 0.5], [[0.5, 0.6]] * 3]
    )
    def test_probabilities(self, given):
        message = r"probabilities are \[.*\] at position \d; they must be at least 0 and sum to 1"
        refused(PoolError, message, S, probabilities=given)

    def test_probabilities_as_text(self):
        refused(PoolError, "probabilities must be numbers, not", S, probabilities=["a", "b", "c"])

    def test_unknown_stratify(self):
        message = r"stratify is 'cfs'; it can be \['csf', .*\] or edges"
        refused(UnknownName, message, S, stratify="cfs")

    @pytest.mark.parametrize(
        "edges",
        [[0.5, 0.2], [0.5, 0.5], [0.1, np.nan], [np.nan], [0.1, np.inf], [[0.1], [0.2]], 0.5],
    )
    def test_edges(self, edges):
        message = "edges given as `stratify` are .*; give finite numbers in a list, each larger"
        refused(BadOption, message, S, stratify=edges)

    def test_edges_as_text(self):
        message = "edges given as `stratify` must be numbers, not"
        refused(BadOption, message, S, stratify=["a", "b"])

    def test_geometric_strata_of_negative_scores(self):
        message = "geometric strata need scores of at least 0, the smallest is -2; use"
        refused(BadOption, message, [-2.0, 1.0], stratify="geometric")

    @pytest.mark.parametrize("strata", [0, -3, 2.5, 4.0, True, "8", None])
    def test_number_of_strata(self, strata):
        refused(BadOption, r"strata is .*; give a whole number of at least 1", S, strata=strata)

    @pytest.mark.parametrize("strata", [[0, 1, -1], [0.0, 1.0, 2.0], ["a", "b", "c"]])
    def test_stratum_of_each_item(self, strata):
        message = "strata are .*; give a whole number of strata, or the stratum of each item"
        refused(BadOption, message, S, strata=strata)

    @pytest.mark.parametrize("branching", [1, 0, -2, 2.0, "2", None])
    def test_branching(self, branching):
        message = "branching is .*; give a whole number of at least 2"
        refused(BadOption, message, S, branching=branching)

    @pytest.mark.parametrize("parents", [[-1.0, 0.0], "tree", [[-1], [0]], 3])
    def test_parents(self, parents):
        refused(BadOption, "parents have shape .*; give one integer a node", S, parents=parents)

    def test_parents_that_do_not_fit_the_strata(self):
        message = "the tree has 2 leaves, the pool has 3 strata"
        refused(BadOption, message, S, strata=[0, 1, 2], parents=[-1, 0, 0])

    @pytest.mark.parametrize("seed", [1.5, "0", True])
    def test_seed(self, seed):
        refused(BadOption, "seed is .*; give a whole number", S, seed=seed)


class TestFrames:
    FRAME = pl.DataFrame(
        {"p": S, "q": S, "id": [1, 2, 3], "gap": [0.1, None, 0.3], "t": list("abc")}
    )

    def test_no_such_column(self):
        with pytest.raises(UnknownName, match=r"no column 'score'; the table has \['p', 'q'"):
            Pool.from_frame(self.FRAME, score="score")

    @pytest.mark.parametrize("frame", [FRAME.lazy(), [1, 2], {"p": S}, None])
    def test_no_table_in_memory(self, frame):
        with pytest.raises(
            BadOption, match="is no table in memory; give a pandas, Polars or Arrow"
        ):
            Pool.from_frame(frame, score="p")

    def test_one_prediction_column_for_two_scores(self):
        with pytest.raises(BadOption, match=r"1 prediction columns \['id'\] for 2 score columns"):
            Pool.from_frame(self.FRAME, score=["p", "q"], prediction="id")

    def test_missing_values(self):
        with pytest.raises(BadScore, match="1 scores of 'gap' are NaN"):
            Pool.from_frame(self.FRAME, score="gap")
        with pytest.raises(PoolError, match="ids are of type float64"):
            Pool.from_frame(self.FRAME, score="p", id="gap")

    def test_text_scores(self):
        with pytest.raises(BadScore, match="scores of 't' must be numbers"):
            Pool.from_frame(self.FRAME, score="t")
