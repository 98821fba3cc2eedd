"""The same labels and measure give the same number, to the last bit, whoever is asked."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

import haystat as hs
from haystat import cli
from haystat.report import collect
from haystat.web.app import make_app
from haystat.web.settings import Settings

SIZE = 800
MEASURES = ("f1", "precision", "recall", "accuracy", "mcc", "average_precision", "brier")
SETS = (*((name,) for name in MEASURES), ("f1", "average_precision"), ("recall", "f1", "brier"))


@pytest.fixture
def haystat(monkeypatch, capsys):
    """Run the command line in this process; what it prints as JSON."""

    def run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["haystat", *map(str, arguments), "--json"])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as error:
            code = error.code or 0
        out, err = capsys.readouterr()
        assert code == 0, err
        return json.loads(out)

    return run


class Page:
    """A client of the page, without a network."""

    def __init__(self, path, client):
        self.client = client
        self.csrf = client.get("/api/session").json()["csrf"]

    def post(self, path, given):
        found = self.client.post(path, json=given, headers={"x-haystat-csrf": self.csrf})
        assert found.status_code == 200, found.text
        return found.json()

    def get(self, path):
        found = self.client.get(path)
        assert found.status_code == 200, found.text
        return found.json()


@pytest.fixture
def page():
    clients = []

    def opened(path):
        settings = Settings(folder=path.parent, main=path.stem, main_path=path)
        client = TestClient(make_app(settings), base_url="http://localhost")
        clients.append(client.__enter__())
        return Page(path, client)

    yield opened
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    scores = (1 / (1 + np.exp(-rng.normal(-2, 2, SIZE)))).round(6)
    path = tmp_path / "pool.csv"
    pd.DataFrame({"id": np.arange(SIZE), "score": scores}).to_csv(path, index=False)
    return path, scores, (rng.random(SIZE) < scores).astype(int)


def numbers(estimate):
    """Every component: value and both ends, as JSON has them."""
    rows = zip(estimate.components, estimate.values, estimate.intervals, strict=True)
    return {name: (float(v), float(low), float(high)) for name, v, (low, high) in rows}


def told(components):
    return {c["name"]: (c["value"], c["low"], c["high"]) for c in components}


@pytest.mark.parametrize("design", ["assisted", "adaptive", "passive", "stratified"])
def test_every_number_is_the_same_everywhere(table, tmp_path, haystat, page, design):
    csv, scores, label = table
    path = tmp_path / "a.haystat"
    options = ("--design", design, "--seed", 5, "--strata", 16, "--threshold", 0.5)
    if design == "adaptive":  # else its labels cannot speak about all of these measures
        options += ("--option", "delta=0.1")
    haystat("new", path, csv, "--id", "id", "--score", "score", *options)
    pool = hs.Pool({"score": scores}, ids=np.arange(SIZE), strata=16, threshold=0.5, seed=5)
    given = {"delta": 0.1} if design == "adaptive" else {}
    ev = hs.Evaluation(pool, "f1", design, random_state=5, **given)
    with hs.Study.open(path) as study:
        for n in (60, 40, 30):
            queries = ev.ask(n)
            assert {q.item for q in study.ask(n, "ann")} == {q.item for q in queries}
            # Three answers of the last stage have not come yet.
            answers = {q.item: int(label[q.item]) for q in queries[: 27 if n == 30 else n]}
            ev.tell(answers, "ann")
            study.tell(answers, "ann")
        expected = {}
        for name in MEASURES:
            expected |= numbers(ev.estimate(name))
        for names in SETS:
            wanted = {name: expected[name] for name in names}
            together = ev.estimate(list(names))
            assert numbers(together) == wanted
            alone = [ev.estimate(name) for name in names]
            assert together.std_errors.tolist() == [e.std_error for e in alone]
            assert numbers(study.estimate(list(names))) == wanted
        report = collect(study)
    for names in SETS:
        wanted = {name: expected[name] for name in names}
        many = ",".join(names)
        assert told(haystat("estimate", path, "--measure", many)["components"]) == wanted
        shown = page(path).get(f"/api/estimate?measure={many}")
        assert told(shown["components"]) == wanted
    assert told(page(path).get("/api/status")["estimate"]["components"])["f1"] == expected["f1"]
    found = told([*report["estimate"]["components"], *report["also"]])
    assert found == {name: expected[name] for name in ("f1", "precision", "recall", "accuracy")}
    assert told(report["convergence"][-1]["components"]).keys() == {"f1"}


@pytest.mark.parametrize("design", ["adaptive", "passive", "oasis"])
def test_studies_taken_together_say_what_one_says_and_the_same_everywhere(
    table, tmp_path, haystat, design
):
    csv, _, label = table
    names = ("f1", "precision", "recall") if design == "oasis" else MEASURES
    paths = [tmp_path / f"{seed}.haystat" for seed in (5, 6)]
    options = ("--option", "delta=0.1") if design == "adaptive" else ()
    for path in paths:
        haystat(
            "new", path, csv, "--id", "id", "--score", "score", "--design", design, "--seed",
            path.stem, "--strata", 16, "--threshold", 0.5, *options,
        )  # fmt: skip
    with hs.Study.open(paths[0]) as one, hs.Study.open(paths[1]) as other:
        one.tell({q.item: int(label[q.item]) for q in one.ask(80)})
        for name in names:  # the other has no label yet
            assert numbers(hs.study.merged_estimate([one, other], name)) == numbers(
                one.estimate(name)
            )
        other.tell({q.item: int(label[q.item]) for q in other.ask(60)})
        alone = [hs.study.merged_estimate([one, other], name) for name in names]
        together = hs.study.merged_estimate([one, other], list(names))
    wanted = {name: numbers(found)[name] for name, found in zip(names, alone, strict=True)}
    assert numbers(together) == wanted
    assert told(haystat("merge", *paths, "--measure", ",".join(names))["components"]) == wanted


def test_a_point_of_the_curve_is_the_precision_and_recall_of_its_threshold(table, tmp_path):
    """A report shows one recall in its table and in its chart."""
    csv, _, label = table
    source = hs.study.PoolFile(str(csv), ("score",), "id", options={"strata": 64, "seed": 5})
    with hs.Study.create(tmp_path / "a.haystat", source, random_state=5) as study:
        study.tell({q.item: int(label[q.item]) for q in study.ask(120)})
        curve = collect(study)["curves"][0]
        for point in curve["points"][::15]:
            measure = hs.measures.PRCurve(thresholds=[point["threshold"]])
            precision, recall = study.estimate(measure).values
            assert point["recall"] == pytest.approx(recall, abs=0.05)
            assert point["precision"] == pytest.approx(precision, abs=0.05)


def test_a_study_without_its_pool_says_what_it_cannot_tell(table, tmp_path):
    _, scores, label = table
    pool = hs.Pool(scores, strata=16, threshold=0.5)
    path = tmp_path / "a.haystat"
    with hs.Study.create(path, pool, random_state=1, candidates=len(pool) // 2) as study:
        study.tell({q.item: int(label[q.item]) for q in study.ask(80)})
        there = study.estimate("average_precision")
    without = pytest.raises(hs.errors.NoSupport, match=r"Study\.open\(path, pool=pool\)")
    with hs.Study.open(path) as study, without:
        study.estimate("average_precision")
    with hs.Study.open(path, pool=pool) as study:
        assert numbers(study.estimate("average_precision")) == numbers(there)


def soft(value):
    """A soft answer: how sure somebody is of the second of two classes."""
    return {0: 0.2, 1: 0.9}[value]


KINDS = {
    "classes": ({}, "accuracy", "deterministic"),
    "texts": ({"classes": ("no", "yes")}, "accuracy", "deterministic"),
    "stochastic texts": ({"classes": ("no", "yes")}, "accuracy", "stochastic"),
    "numbers": ({"classes": None}, "mse", "deterministic"),
    "stochastic classes": ({}, "accuracy", "stochastic"),
    "stochastic numbers": ({"classes": None}, "mse", "stochastic"),
    "soft answers": ({}, "accuracy", "stochastic"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_oracle_and_label_goes_through_all(table, tmp_path, haystat, page, kind):
    csv, scores, label = table
    given, measure, oracle = KINDS[kind]
    answer = {
        "numbers": lambda i: float(scores[i] + 0.25),
        "answers": lambda i: soft(label[i]),
        "texts": lambda i: ("no", "yes")[label[i]],
    }
    right = answer.get(kind.split()[-1], lambda i: int(label[i]))
    pool = hs.Pool({"score": scores}, ids=np.arange(SIZE), strata=8, seed=2, **given)
    ev = hs.Evaluation(pool, measure, oracle=oracle, random_state=2)
    path = tmp_path / "a.haystat"
    flags = {"numbers": ("--numbers",), "texts": ("--classes", "no,yes")}
    haystat(
        "new", path, csv, "--id", "id", "--score", "score", "--measure", measure,
        *flags.get(kind.split()[-1], ()), "--oracle", oracle, "--seed", 2, "--strata", 8,
    )  # fmt: skip
    ways = {
        "library": lambda qs: hs_tell(path, {q: right(q.item) for q in qs}),
        "command line": lambda qs: haystat(
            "tell", path, "-", "--annotator", "ann", stdin=as_csv(qs, right)
        ),
        "page": lambda qs: page(path).post(
            "/api/tell",
            {
                "answers": [{"item": q.item, "key": q.key, "label": right(q.item)} for q in qs],
                "annotator": "ann",
            },
        ),
    }
    for tell in ways.values():
        queries = ev.ask(20)
        with hs.Study.open(path) as study:
            assert [q.key for q in study.ask(20, "ann")] == [q.key for q in queries]
        tell(queries)
        ev.tell({q: right(q.item) for q in queries}, "ann")
    alike_everywhere(ev, path, haystat, page)


def hs_tell(path, answers):
    with hs.Study.open(path) as study:
        study.tell(answers, "ann")


def as_csv(queries, right):
    rows = [{"item": q.item, "key": q.key, "label": right(q.item)} for q in queries]
    return pd.DataFrame(rows).to_csv(index=False)


def frame_of(table):
    """The pool with what an item counts, and a signal that misses some values."""
    csv, scores, label = table
    rng = np.random.default_rng(1)
    old = np.where(rng.random(SIZE) < 0.1, np.nan, (scores + rng.normal(0, 0.2, SIZE)).round(6))
    frame = pd.read_csv(csv).assign(amount=rng.integers(1, 50, SIZE), old=old)
    frame.to_csv(csv, index=False)
    return frame, label


def known_of(label, path):
    """Every eighth item, as a file and as the library takes it."""
    labels = {item: int(label[item]) for item in range(0, SIZE, 8)}
    rows = [(item, value, 1 / 8) for item, value in labels.items()]
    pd.DataFrame(rows, columns=["item", "label", "inclusion"]).to_csv(path, index=False)
    return hs.Known.sample(labels, inclusion=1 / 8)


#: design, what the command line and what the library is given
LATELY = {
    "known": ("assisted", ("--known", "known.csv"), {}),
    "weights": ("assisted", ("--weight", "amount"), {"weight": "amount"}),
    "signals": ("assisted", ("--signal", "old"), {"signals": ["old"]}),
    "weights, no model": ("passive", ("--weight", "amount"), {"weight": "amount"}),
}


@pytest.mark.parametrize("kind", LATELY)
def test_known_labels_weights_and_signals_count_alike_everywhere(
    table, tmp_path, haystat, page, kind, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    frame, label = frame_of(table)
    known = known_of(label, "known.csv")
    design, flags, options = LATELY[kind]
    cut = {"strata": 16, "threshold": 0.5, "seed": 5}
    pool = hs.Pool.from_frame(frame, id="id", score="score", **cut, **options)
    given = {"known": known} if kind == "known" else {}
    ev = hs.Evaluation(pool, "f1", design, random_state=5, **given)
    path, other = tmp_path / "a.haystat", tmp_path / "b.haystat"
    names = ("--id", "id", "--score", "score", "--strata", 16, "--threshold", 0.5)
    for file, seed in ((path, 5), (other, 6)):
        haystat("new", file, table[0], *names, "--design", design, "--seed", seed, *flags)
    answered(ev, path, lambda item: int(label[item]))
    alike_everywhere(ev, path, haystat, page)
    if design == "passive":  # the other has no label
        assert told(haystat("merge", path, other)["components"]) == numbers(ev.estimate())


def test_the_next_version_counts_alike_everywhere(table, tmp_path, haystat, page):
    csv, scores, label = table
    later = np.clip(scores + np.random.default_rng(2).normal(0, 0.1, SIZE), 0, 1).round(6)
    second = tmp_path / "later.csv"
    pd.DataFrame({"id": np.arange(SIZE), "score": later}).to_csv(second, index=False)
    path, after = tmp_path / "a.haystat", tmp_path / "b.haystat"
    names = ("--id", "id", "--score", "score", "--threshold", 0.5, "--strata", 16, "--seed", 5)
    haystat("new", path, csv, *names)
    options = {"ids": np.arange(SIZE), "strata": 16, "threshold": 0.5, "seed": 5}
    ev = hs.Evaluation(hs.Pool({"score": scores}, **options), random_state=5)
    answered(ev, path, lambda item: int(label[item]))
    haystat("next", path, second, "-o", after)
    ev = ev.next(hs.Pool({"score": later}, **options))
    answered(ev, after, lambda item: int(label[item]))
    alike_everywhere(ev, after, haystat, page)
    refused = pytest.raises(hs.errors.StudyError, match="carry over labels of an earlier version")
    with hs.Study.open(path) as one, hs.Study.open(after) as other, refused:
        hs.study.merged_estimate([one, other])


def test_many_labels_an_item_count_alike_everywhere(table, tmp_path, haystat, page):
    _, scores, label = table
    pool = hs.Pool.multi_label({"cat": scores, "dog": scores[::-1]}, strata=8, seed=5)
    truth = {"cat": label, "dog": label[::-1]}
    measure = hs.measures.PerLabel(hs.measures.F1(), ["cat", "dog"])
    path = tmp_path / "a.haystat"
    hs.Study.create(path, pool, measure, random_state=5).close()
    ev = hs.Evaluation(pool, measure, random_state=5)
    answered(ev, path, lambda item: int(truth[item.split("/")[1]][int(item.split("/")[0])]))
    alike_everywhere(ev, path, haystat, page)


def answered(ev, path, right):
    """The same questions from the evaluation and the study, and the same answers."""
    with hs.Study.open(path) as study:
        for n in (60, 30):
            queries = ev.ask(n)
            assert [q.item for q in study.ask(n, "ann")] == [q.item for q in queries]
            answers = {q.item: right(q.item) for q in queries}
            ev.tell(answers, "ann")
            study.tell(answers, "ann")


def alike_everywhere(ev, path, haystat, page):
    """The estimate of the evaluation, from a study, the command line, the page and the report."""
    expected = numbers(ev.estimate())
    with hs.Study.open(path) as study:
        assert numbers(study.estimate()) == expected
        assert told(collect(study)["estimate"]["components"]) == expected
    assert told(haystat("estimate", path)["components"]) == expected
    assert told(page(path).get("/api/estimate")["components"]) == expected
    assert haystat("verify", path)["findings"] == []
