"""A part of one's own is one class and one entry of a table: it goes through everything."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import haystat as hs
from haystat import cli, designs, measures, models
from haystat.comparison.compare import compare
from haystat.core import tables
from haystat.designs import Passive
from haystat.report import collect, html_page
from haystat.study import verify
from haystat.study.answer_files import read_rows, take_rows
from haystat.web import operations
from haystat.web.models import Noted


@dataclass(frozen=True)
class Doubled(Passive):
    """Passive sampling whose estimator is wrong in a way that can be seen."""

    factor: float = 2.0
    name = "doubled"

    def estimate(self, pool, sample, measure, level, **options):
        found = super().estimate(pool, sample, measure, level, **options)
        return replace(found, values=self.factor * found.values, warnings=("twice as much",))


@pytest.fixture
def case():
    rng = np.random.default_rng(3)
    scores = rng.random(200)
    return hs.Pool(scores, strata=4, seed=1), (rng.random(200) < scores).astype(int)


def test_a_design_with_its_own_estimator(case, tmp_path, monkeypatch):
    monkeypatch.setitem(designs.DESIGNS, "doubled", Doubled)
    pool, label = case
    ev = hs.Evaluation(pool, "prevalence", "doubled", random_state=1, factor=3.0)
    plain = hs.Evaluation(pool, "prevalence", "passive", random_state=1)
    path = tmp_path / "a.haystat"
    study = hs.Study.create(path, pool, "prevalence", "doubled", random_state=1, factor=3.0)
    with study:
        for one in (ev, plain, study):
            for _ in range(2):
                one.tell({q: int(label[q.item]) for q in one.ask(20)})
        expected = 3.0 * plain.estimate().value
        assert ev.estimate().value == study.estimate().value == expected
        report = collect(study)
        assert report["estimate"]["components"][0]["value"] == expected
        assert "twice as much" in html_page(report)
    with hs.Study.open(path) as again:
        assert str(again.design) == "doubled"
        assert again.estimate().value == expected
    verdict = verify(path)
    assert verdict.ok
    assert verdict.estimate.value == expected
    ev.save(tmp_path / "log.jsonl")
    assert hs.Evaluation.load(tmp_path / "log.jsonl", pool).estimate().value == expected


@dataclass(frozen=True)
class OneShare:
    """A model of the oracle in which all strata are alike."""

    prior: np.ndarray

    def start(self):
        return self.prior.sum(axis=0)

    def observe(self, seen, stratum, label, weight):
        return seen + np.bincount(label, weights=weight, minlength=len(seen))

    def label_share(self, seen):
        return np.tile(seen / seen.sum(), (len(self.prior), 1))


def test_a_model_of_the_oracle(case, tmp_path, monkeypatch):
    monkeypatch.setitem(models.MODELS, "one_share", lambda tree, prior, *_: OneShare(prior))
    pool, label = case
    ev = hs.Evaluation(pool, "f1", "adaptive", random_state=1, model="one_share")
    path = tmp_path / "a.haystat"
    study = hs.Study.create(path, pool, "f1", "adaptive", random_state=1, model="one_share")
    usual = hs.Evaluation(pool, "f1", "adaptive", random_state=1)
    with study:
        for one in (ev, study, usual):
            for _ in range(3):
                one.tell({q: int(label[q.item]) for q in one.ask(20)})
        expected = ev.estimate().value
        assert study.estimate().value == expected != usual.estimate().value
        report = collect(study)
    assert report["estimate"]["components"][0]["value"] == expected
    with hs.Study.open(path) as again:
        assert again.design.model == "one_share"
        assert again.estimate().value == expected
    assert verify(path).estimate.value == expected
    ev.save(tmp_path / "log.jsonl")
    assert hs.Evaluation.load(tmp_path / "log.jsonl", pool).estimate().value == expected


def test_a_model_that_is_not_there_is_refused_with_those_that_are(case):
    with pytest.raises(hs.errors.BadOption, match=r"model is 'oracle'; .*dirichlet_tree"):
        hs.Evaluation(case[0], "f1", "adaptive", model="oracle")


@dataclass(frozen=True, kw_only=True)
class ErrorRate(measures.Accuracy):
    """One minus accuracy."""

    name = "error_rate"
    components = ("error_rate",)
    lower_is_better = True
    meaning = "Of 100 items the system gets about {value} wrong."

    def value(self, risk):
        return 1 - super().value(risk)

    def jacobian(self, risk):
        return -super().jacobian(risk)


@pytest.fixture
def own_measure(monkeypatch):
    monkeypatch.setitem(measures.MEASURES, "error_rate", ErrorRate)


def test_a_measure(case, tmp_path, own_measure, capsys, monkeypatch):
    pool, label = case
    path = tmp_path / "a.haystat"
    with hs.Study.create(path, pool, "error_rate", random_state=1) as study:
        study.tell({q: int(label[q.item]) for q in study.ask(60)})
        both = study.estimate(["error_rate", "accuracy"])
        assert both.values[0] == pytest.approx(1 - both.values[1], abs=1e-12)
        page = html_page(collect(study))
    assert "gets about" in page
    assert verify(path).ok
    monkeypatch.setattr("sys.argv", ["haystat", "estimate", str(path), "--measure", "error_rate"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    assert "error_rate" in capsys.readouterr().out


def test_which_way_is_better_is_told_by_the_measure(own_measure):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    good = np.where(rng.random(300) < 0.9, truth, 1 - truth)
    bad = np.where(rng.random(300) < 0.6, truth, 1 - truth)
    pool = hs.Pool({"good": good * 0.8 + 0.1, "bad": bad * 0.8 + 0.1}, threshold=0.5, strata=4)
    ev = hs.Evaluation(pool, measures.Differences(ErrorRate), "passive", random_state=0)
    ev.run(lambda items: truth[items].tolist(), 300, 100)
    assert compare(ev, "error_rate").standings[0].system == "good"


def test_a_format_of_tables(case, tmp_path, monkeypatch):
    """Lines with blanks between; the first has the names. The pool and the answers come in it."""

    def read_blank(path, names, optional):
        head, *rows = (line.split(" ") for line in path.read_text().splitlines())
        columns = dict(zip(head, np.array(rows).T, strict=True))
        kinds = {"id": int, "score": float}
        return {name: columns[name].astype(kinds.get(name, str)) for name in names}

    def write_blank(path, **columns):
        rows = zip(*columns.values(), strict=True)
        path.write_text("\n".join(" ".join(map(str, row)) for row in (list(columns), *rows)))
        return path

    monkeypatch.setitem(tables.READERS, ".blank", read_blank)
    pool, label = case
    scores = pool.scores[:, 0].tolist()
    file = write_blank(tmp_path / "pool.blank", id=range(200), score=scores)
    source = hs.study.PoolFile(str(file), ("score",), "id", options={"strata": 4, "seed": 1})
    ev = hs.Evaluation(hs.Pool({"score": scores}, strata=4, seed=1), random_state=1)
    with hs.Study.create(tmp_path / "a.haystat", source, random_state=1) as study:
        asked = [q.item for q in study.ask(30)]
        assert asked == [q.item for q in ev.ask(30)]
        path = write_blank(tmp_path / "answers.blank", item=asked, label=label[asked])
        assert take_rows(study, read_rows(path)).labels == 30
        ev.tell({item: int(label[item]) for item in asked})
        assert study.estimate().value == ev.estimate().value


def test_a_route_of_the_page(case, tmp_path, monkeypatch):
    from starlette.testclient import TestClient

    from haystat.web.app import make_app
    from haystat.web.openapi import document
    from haystat.web.settings import Settings

    async def hello(request, given: None) -> Noted:
        """Say that all is well."""
        return Noted()

    own = operations.Operation("GET", "/api/hello", hello)
    monkeypatch.setitem(operations.OPERATIONS, ("GET", "/api/hello"), own)
    document.cache_clear()
    path = tmp_path / "a.haystat"
    hs.Study.create(path, case[0], random_state=1).close()
    app = make_app(Settings(folder=tmp_path, main="a", main_path=path))
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/api/hello").json() == {"noted": True}
    assert "/api/hello" in document()["paths"]
    document.cache_clear()
