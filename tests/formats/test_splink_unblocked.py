"""Pairs that Splink never compared: labelled in a study, and taken by Splink all the same."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import haystat as hs
from haystat.demo.people import two_tables
from haystat.engines import Unblocked
from haystat.errors import BadOption
from haystat.formats import FORMATS, splink

pd = pytest.importorskip("pandas")
pytest.importorskip("splink", reason="pip install 'haystat[splink]'")

SIZE, MATCHES = 80, 40
SHOWN = "first_l,first_r,last_l,last_r,born_l,born_r"
KINDS = [("link_only", int), ("link_only", str), ("dedupe_only", int), ("dedupe_only", str)]


@pytest.fixture(scope="module", params=KINDS, ids=[f"{kind}-{of.__name__}" for kind, of in KINDS])
def linked(request, tmp_path_factory):
    """Splink on two generated tables, or on both as one, whose blocking misses matches."""
    kind, of = request.param
    folder = tmp_path_factory.mktemp("linked")
    left, right, matches = two_tables(SIZE, SIZE, MATCHES, np.random.default_rng(0))
    frames = {}
    for start, (name, table) in enumerate((("clinic", left), ("office", right))):
        frame = pd.DataFrame({field: values.astype(object) for field, values in table.items()})
        first = start * SIZE if kind == "dedupe_only" else 0
        ids = [of(number) for number in range(first, first + SIZE)]
        frames[name] = frame.replace("", None).assign(unique_id=ids)
    shift = SIZE if kind == "dedupe_only" else 0
    true = {frozenset([("l", str(a)), ("r", str(b + shift))]) for a, b in matches.tolist()}
    if kind == "dedupe_only":
        frames = {"people": pd.concat(frames.values(), ignore_index=True)}
        true = {frozenset(id for _, id in pair) for pair in true}
    paths = []
    for name, frame in frames.items():
        paths.append(folder / f"{name}.parquet")
        frame.to_parquet(paths[-1])
    database, linker = make_linker(kind, frames)
    predictions = linker.inference.predict().as_pandas_dataframe()
    predictions.to_parquet(folder / "predictions.parquet")
    return SimpleNamespace(
        kind=kind,
        of=of,
        tables=paths,
        predictions=folder / "predictions.parquet",
        n_blocked=len(predictions),
        matches=true,
        database=database,
        linker=linker,
    )


def make_linker(kind, frames):
    import splink.comparison_library as compare
    from splink import Linker, SettingsCreator, block_on
    from splink.backends.duckdb import DuckDBAPI

    database = DuckDBAPI()
    tables = [database.register(f, dataset_display_name=name) for name, f in frames.items()]
    settings = SettingsCreator(
        link_type=kind,
        comparisons=[
            compare.JaroWinklerAtThresholds("first"),
            compare.JaroWinklerAtThresholds("last"),
            compare.LevenshteinAtThresholds("born", [1, 2]),
        ],
        blocking_rules_to_generate_predictions=[block_on("city", "last")],
    )
    linker = Linker(tables, settings, log_level=None)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e4, seed=1)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("last"))
    return database, linker


def is_match(linked, item):
    left, right = item.split("|")
    sides = [("l", left), ("r", right)] if linked.kind == "link_only" else [left, right]
    return frozenset(sides) in linked.matches


def new_arguments(linked, study):
    tables = [part for path in linked.tables for part in ("--unblocked", path)]
    columns = ("--id", "unique_id_l,unique_id_r", "--score", "match_probability")
    return "new", study, linked.predictions, *columns, "--show", SHOWN, *tables, "--seed", 1


@pytest.fixture
def study(linked, tmp_path, run):
    """A study of all pairs with 60 labels, made and filled on the command line."""
    first = linked.predictions.with_name("pairs.haystat")
    if not first.exists():
        made = run(*new_arguments(linked, first), "--strata", 8, "--measure", "recall", "--json")
        n = SIZE if linked.kind == "link_only" else 2 * SIZE
        assert made["size"] == (n * n if linked.kind == "link_only" else n * (n - 1) // 2)
        for _ in range(3):
            questions = run("ask", first, "-n", 20, "--json")
            answers = (f"{q['item']}={int(is_match(linked, q['item']))}" for q in questions)
            run("tell", first, *answers)
    return shutil.copy(first, tmp_path / "pairs.haystat")


def test_splink_takes_the_labels_of_unblocked_pairs(linked, study, run, tmp_path):
    labels = tmp_path / "labels.parquet"
    assert run("export", study, "--to", "splink", "-o", labels, "--json")["answers"] == 60
    frame = pd.read_parquet(labels)
    assert {type(value) for value in frame.unique_id_l.tolist()} == {linked.of}
    register = linked.linker.table_management.register_labels_table
    table = register(linked.database.register(frame))
    analyse = linked.linker.evaluation.accuracy_analysis_from_labels_table
    found = analyse(table, output_type="table", add_metrics=["f1"]).as_pandas_dataframe()
    with hs.Study.open(study) as opened:
        truth = [is_match(linked, answer.item) for answer in opened.answers]
    # Splink found every labelled pair among its records: none is lost in a join.
    assert found.p.max() == sum(truth)
    assert found.n.max() == len(truth) - sum(truth)


def test_unblocked_pairs_are_shown_with_what_the_tables_know(linked, study):
    blocked = pd.read_parquet(linked.predictions)
    known = {f"{a}|{b}" for a, b in zip(blocked.unique_id_l, blocked.unique_id_r, strict=True)}
    left = pd.read_parquet(linked.tables[0]).set_index("unique_id")
    right = pd.read_parquet(linked.tables[-1]).set_index("unique_id")
    n_unblocked = 0
    with hs.Study.open(study) as opened:
        for answer in opened.answers:
            record = opened.record_of(answer.item)
            n_unblocked += answer.item not in known
            for side, table in (("l", left), ("r", right)):
                of_record = table.loc[record[f"unique_id_{side}"]]
                for name in ("first", "last", "born"):
                    value = of_record[name]
                    assert record[f"{name}_{side}"] == (None if pd.isna(value) else value)
    assert 0 < n_unblocked < 60


def test_a_labels_table_can_be_told_again(linked, study, run, tmp_path):
    for name in ("labels.parquet", "labels.csv"):
        run("export", study, "--to", "splink", "-o", tmp_path / name)
        told = run("import", study, tmp_path / name, "--from", "splink", "--json")
        assert (told["known"], told["labels"]) == (60, 0)


def test_a_sketch_holds_the_unblocked_pairs_with_their_records(linked, run, tmp_path, study):
    sketch, other = tmp_path / "pairs.sketch", tmp_path / "other.haystat"
    _, _, pool, *options = new_arguments(linked, study)
    run("sketch", pool, "-o", sketch, *options, "--strata", 8)
    run("new", other, sketch, "--measure", "recall", "--seed", 1)
    with hs.Study.open(study) as whole, hs.Study.open(other) as kept:
        assert kept.pool.size == whole.pool.size
        for question in kept.ask(20):
            assert question.record["unique_id_l"] is not None
            assert set(question.record) >= {"unique_id_r", *SHOWN.split(",")}


def test_a_pool_from_python_is_taken_too(linked, tmp_path):
    """Without --show, and from ids alone: types and tables of the ids are known all the same."""
    ids = [pd.read_parquet(path).unique_id.tolist() for path in linked.tables]
    pool = hs.open_pool(
        linked.predictions,
        id=("unique_id_l", "unique_id_r"),
        score="match_probability",
        unblocked=Unblocked(*ids),
        strata=8,
    )
    with hs.Study.create(tmp_path / "s.haystat", pool, "recall", random_state=0) as made:
        made.tell({q.item: int(is_match(linked, q.item)) for q in made.ask(30)})
        rows = splink.label_rows(made)
    assert {type(row[name]) for row in rows for name in splink.IDS} == {linked.of}
    if linked.kind == "link_only":
        assert {(r["source_dataset_l"], r["source_dataset_r"]) for r in rows} == {
            ("clinic", "office")
        }
    else:
        assert "source_dataset_l" not in rows[0]


def test_tables_in_the_wrong_order_are_noticed(tmp_path, run):
    pool, left, right = (tmp_path / f"{n}.csv" for n in ("pool", "left", "right"))
    pool.write_text("unique_id_l,unique_id_r,score\na1,b1,0.9\na2,b2,0.2\n")
    left.write_text("unique_id\na1\na2\na3\n")
    right.write_text("unique_id\nb1\nb2\nb3\n")
    columns = ("--id", "unique_id_l,unique_id_r", "--score", "score")
    swapped = ("--unblocked", right, "--unblocked", left)
    arguments = ("new", tmp_path / "s.haystat", pool, *columns)
    assert "in the order of the ids" in run(*arguments, *swapped, code=2)
    three = ("--unblocked", left) * 3
    assert "3 unblocked tables" in run(*arguments, *three, code=2)
    assert "no column 'x'" in run(*arguments, "--unblocked", left, "--key", "x", code=2)
    assert "no file" in run(*arguments, "--unblocked", tmp_path / "none.csv", code=2)
    one_id = ("new", tmp_path / "s.haystat", pool, "--id", "unique_id_l", "--score", "score")
    assert "two ids" in run(*one_id, "--unblocked", left, code=2)
    assert not (tmp_path / "s.haystat").exists()


def test_a_study_finds_its_tables_when_it_needs_more_items(tmp_path, run):
    """Few candidates are kept; the tables have moved with the study."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    ids = "".join(f"{number}\n" for number in range(60))
    (old / "people.csv").write_text("id\n" + ids)
    pairs = "".join(f"{n},{n + 1},{n / 60}\n" for n in range(40))
    (old / "pool.csv").write_text("a,b,score\n" + pairs)
    columns = ("--id", "a,b", "--score", "score", "--strata", 2, "--candidates", 10)
    tables = ("--unblocked", old / "people.csv", "--design", "passive", "--seed", 2)
    run("new", old / "s.haystat", old / "pool.csv", *columns, *tables)
    old.rename(new)
    questions = run("ask", new / "s.haystat", "-n", 1500, "--json")
    assert len({question["item"] for question in questions}) == 1500


def test_an_older_study_without_shown_ids_gives_whole_numbers(tmp_path):
    pool = hs.Pool([0.1, 0.8, 0.3], ids=["1|2", "3|4", "5|6"], strata=1)
    with hs.Study.create(tmp_path / "s.haystat", pool, "accuracy", "passive") as made:
        made.tell({question.item: 0 for question in made.ask(3)})
        rows = splink.label_rows(made)
    assert sorted(row["unique_id_l"] for row in rows) == [1, 3, 5]


def test_a_source_that_cannot_be_told_is_an_error(tmp_path):
    show = {
        "unique_id_l": [1, 2, 3],
        "unique_id_r": [4, 5, 6],
        "source_dataset_l": ["a", "b", None],
        "source_dataset_r": ["b", "c", "c"],
    }
    pool = hs.Pool([0.1, 0.8, 0.3], ids=["1|4", "2|5", "3|6"], strata=1)
    path = tmp_path / "s.haystat"
    with hs.Study.create(path, pool, "accuracy", "passive", show=show) as made:
        made.tell({question.item: 0 for question in made.ask(3)})
        with pytest.raises(BadOption, match="source_dataset_l of item '3"):
            FORMATS["splink"].answers(made, tmp_path / "labels.csv")
    assert not (tmp_path / "labels.csv").exists()
