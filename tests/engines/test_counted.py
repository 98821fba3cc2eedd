"""Known labels in a column: repeats from counts are like repeats on the items in memory."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.errors import BadOption, StudyError, UnknownLabel, UnknownName
from haystat.experiments.counted import CountedLabels, Shuffle
from haystat.experiments.simulate import plan, run, table
from haystat.measures import F1, ForSystems, Within

SIZE = 8000
DESIGNS = ["assisted", "adaptive", "stratified", "passive"]


@pytest.fixture(scope="module")
def rows(make_rows):
    rows = make_rows(SIZE, seed=4)
    rows["answer"] = np.where(rows["label"] == 1, "yes", "no").astype(object)
    return rows


@pytest.fixture(scope="module")
def path(rows, write_rows, tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("labelled") / "pool.parquet", rows)


def in_memory(rows, names=("score",), **options):
    return hs.Pool({name: rows[name] for name in names}, ids=rows["id"], seed=0, **options)


def test_a_shuffle_gives_every_order_equally_often():
    orders = []
    for seed in range(2400):
        shuffle = Shuffle(4, np.random.default_rng(seed))
        shuffle.take(1)
        orders.append(tuple(shuffle.take(rank) for rank in range(4)))
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 1e-4


def test_labels_follow_from_counts():
    labels = CountedLabels(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]]))
    assert labels[np.arange(6)].tolist() == [0, 0, 2, 1, 1, 1]


@pytest.mark.parametrize(
    "measure", ["f1", "pr_curve", Within(F1(), column="country", equals="nz")], ids=str
)
def test_truth_counts_and_limit_are_those_of_the_items(measure, rows, path):
    pool = hs.open_pool(path, id="id", score="score", columns=["country"])
    memory = in_memory(rows, columns={"country": rows["country"]})
    one, other = (
        plan(p, known, measure, ["passive"], [50])[0]
        for p, known in ((memory, rows["label"]), (pool, "label"))
    )
    np.testing.assert_array_equal(one.truth_counts, other.truth_counts)
    np.testing.assert_allclose(one.truth, other.truth, rtol=1e-12)


def test_errors_and_coverage_are_those_in_memory(rows, path):
    pool, memory = hs.open_pool(path, id="id", score="score"), in_memory(rows)
    records = {}
    for name, p, known in (("memory", memory, rows["label"]), ("engine", pool, "label")):
        experiments = plan(p, known, "f1", DESIGNS, [200], keep_values=True)
        found = run(experiments, 40)
        records[name] = np.array([[record.values[0] for record in each] for each in found])
        frame = table(experiments, found)
    assert frame.limit.tolist() == pytest.approx([frame.limit[0]] * len(DESIGNS))
    for one, other in zip(records["memory"], records["engine"], strict=True):
        assert not np.array_equal(one, other)  # another sample of the same distribution
        assert stats.ks_2samp(one, other).pvalue > 1e-3


def test_all_labels_give_the_truth(make_rows, write_rows, tmp_path):
    rows = make_rows(400)
    path = write_rows(tmp_path / "few.parquet", rows)
    pool = hs.open_pool(path, id="id", score="score", strata=8)
    frame = hs.simulate(pool, "label", "accuracy", ["passive"], [400], repeats=2)
    accuracy = np.mean((rows["score"] >= 0.5) == rows["label"])
    assert frame.truth[0] == pytest.approx(accuracy)
    assert frame.mse[0] == pytest.approx(0, abs=1e-25)
    assert frame.coverage[0] == 1


def test_the_same_for_any_number_of_jobs_and_from_a_store(path, tmp_path):
    pool = hs.open_pool(path, id="id", score="score")
    options = {"budgets": [100], "repeats": 6, "random_state": 3}
    frames = [
        hs.simulate(pool, "label", **options),
        hs.simulate(pool, "label", **options, jobs=2, store=tmp_path),
        hs.simulate(pool, "label", **options, store=tmp_path),
    ]
    for frame in frames[1:]:
        assert frame.drop(columns="seconds").equals(frames[0].drop(columns="seconds"))


@pytest.mark.xdist_group("spark")
def test_labels_are_counted_by_spark(rows, path, spark):
    options = {"id": "id", "score": "score", "classes": ("no", "yes")}
    pools = [hs.open_pool(path, engine=engine, **options) for engine in ("duckdb", spark)]
    one, other = (plan(p, "answer", "f1", ["passive"], [50])[0] for p in pools)
    np.testing.assert_array_equal(one.truth_counts, other.truth_counts)
    assert one.truth_counts[:, 1].sum() == rows["label"].sum()


def test_what_cannot_be_simulated_says_why(rows, path, write_rows, tmp_path):
    pool = hs.open_pool(path, id="id", score="score")
    with pytest.raises(BadOption, match="named by their column"):
        hs.simulate(pool, rows["label"])
    with pytest.raises(UnknownName, match="no column 'truth'; the table has id"):
        hs.simulate(pool, "truth")
    with pytest.raises(UnknownLabel, match="labels in column 'country' are of type string"):
        hs.simulate(pool, "country")
    with pytest.raises(BadOption, match=r"brier looks at every item's own score.*hs.Pool"):
        hs.simulate(pool, "label", "brier")
    with pytest.raises(BadOption, match=r"chances of answers.*hs.Pool"):
        hs.simulate(pool, "label", oracle="stochastic")
    numbers = hs.open_pool(path, id="id", score="other", classes=None)
    with pytest.raises(BadOption, match=r"labels that are numbers.*hs.Pool"):
        hs.simulate(numbers, "score", "mse")
    pool.save(tmp_path / "pool.sketch")
    moved = {**rows, "label": rows["label"] + 2 * (rows["id"] == rows["id"][7])}
    pool = hs.open_pool(write_rows(tmp_path / "bad.parquet", moved), id="id", score="score")
    with pytest.raises(UnknownLabel, match=r"1 labels in column 'label'.*\[0, 1\], such as"):
        hs.simulate(pool, "label")
    streamed = hs.cross_pool(np.arange(50.0), np.arange(40.0), lambda a, b: a[:, None] * b / 2000)
    with pytest.raises(BadOption, match="no column 'label' holds the labels of all items"):
        hs.simulate(streamed, "label", budgets=[50])


@pytest.fixture
def command(path):
    def call(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return call


QUICK = ("--budgets", "50,100", "--repeats", "3", "--designs", "passive,assisted", "--json", "-")


def test_bench_on_what_does_not_fit_into_memory(path, tmp_path, rows, command):
    pool = hs.open_pool(path, id="id", score=["score", "other"])
    pool.save(tmp_path / "pool.sketch")
    columns = ("--id", "id", "--label", "label", "--score", "score", "--score", "other")
    pattern = path.replace("pool.parquet", "*.parquet")
    expected = None
    for source, named in (
        (path, (*columns, "--engine", "duckdb")),
        (pattern, columns),
        (tmp_path / "pool.sketch", ("--label", "label")),
    ):
        done = command("bench", source, *named, *QUICK)
        assert done.exit_code == 0, done.output
        found = [row["mse"] for row in json.loads(done.stdout)]
        expected = expected or found
        assert found == expected
    measure = ForSystems(F1(), ("score", "other"))
    frame = hs.simulate(pool, "label", measure, ["passive", "assisted"], [50, 100], repeats=3)
    assert frame.mse.tolist() == expected


def test_bench_says_what_is_missing(path, command):
    pattern = path.replace("pool.parquet", "*.parquet")
    done = command("bench", pattern, "--label", "label", "--score", "score")
    assert isinstance(done.exception, BadOption)
    assert "name the column that holds the id" in str(done.exception)
    done = command("bench", pattern, "--id", "id", "--score", "score")
    assert isinstance(done.exception, BadOption)
    assert "--label" in str(done.exception)


def test_serve_and_compare_take_studies_alone(path, command):
    for name in ("serve", "compare"):
        done = command(name, path)
        assert isinstance(done.exception, StudyError)
        assert "not a haystat study" in str(done.exception)


def test_plan_reads_patterns_and_sketches(path, tmp_path, command):
    hs.open_pool(path, id="id", score="score").save(tmp_path / "pool.sketch")
    pattern = path.replace("pool.parquet", "*.parquet")
    quick = ("--width", "0.4", "--worlds", "3", "--json")
    answers = []
    for source, named in (
        (path, ("--score", "score", "--id", "id")),
        (pattern, ("--score", "score", "--id", "id")),
        (tmp_path / "pool.sketch", ()),
    ):
        done = command("plan", source, *named, *quick)
        assert done.exit_code == 0, done.output
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1] == answers[2]
