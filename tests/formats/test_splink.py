"""The bridge to Splink, against the real one on DuckDB."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.demo.people import two_tables
from haystat.errors import BadOption, UnknownName
from haystat.formats import FORMATS, splink, take_replies

SIZE, MATCHES = 300, 120


def test_a_pair_id_can_be_taken_apart_again():
    parts = ["a|b", "17", "back\\slash", "x"]
    assert splink.pair_parts(splink.pair_id(parts)) == parts


def test_match_weight_alone_gives_the_probability():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"match_weight": [0.0, 3.0], "unique_id_l": [1, 2], "unique_id_r": [3, 4]})
    table = splink.read_predictions(frame)
    np.testing.assert_allclose(table.score, [0.5, 8 / 9])
    assert table.ids.tolist() == ["1|3", "2|4"]


def test_what_tells_the_score_is_not_shown():
    pd = pytest.importorskip("pandas")
    pairs = [
        f"{name}_{side}" for name in ("unique_id", "first", "gamma_a", "tf_x") for side in "lr"
    ]
    frame = pd.DataFrame({name: [0.5, 0.25] for name in ("match_probability", *pairs)})
    frame["unique_id_l"] = [1, 2]
    assert set(splink.read_predictions(frame).show) == set(
        "unique_id_l unique_id_r first_l first_r".split()
    )


def test_a_table_without_scores_or_ids_is_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(UnknownName, match="unique_id_l"):
        splink.read_predictions(pd.DataFrame({"match_weight": [1.0]}))
    with pytest.raises(UnknownName, match="match_probability"):
        splink.read_predictions(pd.DataFrame({"unique_id_l": [1], "unique_id_r": [2]}))
    with pytest.raises(BadOption, match="no table"):
        splink.read_predictions(17)


@pytest.fixture(scope="module")
def linked():
    """A linker that has learnt from two generated tables, its predictions, and the true pairs."""
    pytest.importorskip("splink", reason="pip install 'haystat[splink]'")
    import pandas as pd
    import splink.comparison_library as compare
    from splink import Linker, SettingsCreator, block_on
    from splink.backends.duckdb import DuckDBAPI

    left, right, matches = two_tables(SIZE, SIZE, MATCHES, np.random.default_rng(0))
    database = DuckDBAPI()
    tables = []
    for name, table in (("clinic", left), ("office", right)):
        frame = pd.DataFrame({field: values.astype(object) for field, values in table.items()})
        frame = frame.replace("", None).assign(unique_id=np.arange(SIZE))
        tables.append(database.register(frame, dataset_display_name=name))
    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[
            compare.JaroWinklerAtThresholds("first"),
            compare.JaroWinklerAtThresholds("last"),
            compare.LevenshteinAtThresholds("born", [1, 2]),
            compare.ExactMatch("phone"),
            compare.ExactMatch("street"),
        ],
        blocking_rules_to_generate_predictions=[
            block_on("city"),
            block_on("last"),
            block_on("born"),
            block_on("phone"),
        ],
    )
    linker = Linker(tables, settings, log_level=None)
    linker.training.estimate_u_using_random_sampling(max_pairs=2e5, seed=1)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("phone"))
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("last"))
    predictions = linker.inference.predict().as_pandas_dataframe()
    assert set(predictions.source_dataset_l) == {"clinic"}
    return database, linker, predictions, set(map(tuple, matches.tolist()))


@pytest.fixture
def study(linked, tmp_path):
    """A study of Splink's predictions with 200 labels; it was made from a file."""
    _, _, frame, matches = linked
    path = tmp_path / "predictions.parquet"
    frame.to_parquet(path)
    table = FORMATS["splink"].pool(path)
    pool = table.pool(strata=16)
    path = tmp_path / "s.haystat"
    with hs.Study.create(path, pool, "f1", "adaptive", show=table.show, random_state=0) as study:
        for _ in range(4):
            study.tell({q.item: int(is_match(q.item, matches)) for q in study.ask(50)})
        yield study


def is_match(item, matches):
    _, left, _, right = splink.pair_parts(item)
    return (int(left), int(right)) in matches


def test_the_study_evaluates_the_f1_of_splink(study, linked):
    *_, frame, matches = linked
    pairs = zip(frame.unique_id_l, frame.unique_id_r, strict=True)
    actual = np.array([(left, right) in matches for left, right in pairs])
    predicted = frame.match_probability.to_numpy() >= 0.5
    f1 = 2 * (actual & predicted).sum() / (actual.sum() + predicted.sum())
    low, high = study.estimate().interval
    assert f1 > 0.5
    assert low <= f1 <= high
    assert high - low < 0.2


def test_the_labels_go_back_into_the_accuracy_chart_of_splink(study, linked, tmp_path):
    import pandas as pd

    database, linker, frame, matches = linked
    path = tmp_path / "labels.parquet"
    n = FORMATS["splink"].answers(study, path)
    labels = pd.read_parquet(path)
    assert n == len(labels) == study.n_labels
    assert labels.unique_id_l.dtype == frame.unique_id_l.dtype
    table = linker.table_management.register_labels_table(database.register(labels))
    analyse = linker.evaluation.accuracy_analysis_from_labels_table
    chart = analyse(table, output_type="accuracy", add_metrics=["f1"])
    chart.save(tmp_path / "accuracy.html")
    assert "recall" in (tmp_path / "accuracy.html").read_text()
    found = analyse(table, output_type="table", add_metrics=["f1"]).as_pandas_dataframe()
    assert found.p.max() == sum(is_match(answer.item, matches) for answer in study.answers)


def test_our_weights_in_the_labels_give_the_estimate_again(study):
    rows = splink.label_rows(study)
    with study.reading() as fold:
        predicted = {
            answer.item: fold.pool.outputs(np.array([index])).predictions[0, 0]
            for index, answer in fold.answers()
        }
    weight = np.array([row["haystat_weight"] for row in rows])
    actual = np.array([row["clerical_match_score"] for row in rows])
    says = np.array([predicted[answer.item] for answer in study.answers])
    f1 = 2 * (weight * actual * says).sum() / (weight * (actual + says)).sum()
    assert f1 == pytest.approx(study.estimate().value)


def test_a_labels_table_can_be_told(study, tmp_path):
    path = tmp_path / "labels.csv"
    FORMATS["splink"].answers(study, path)
    replies = FORMATS["splink"].replies(path, study.pool.classes)
    taken = take_replies(study, replies)
    assert taken.known == study.n_labels
    assert taken.labels == 0
