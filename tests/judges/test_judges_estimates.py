"""Questions about judges: failure rates, grades, verdicts that are unsure."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import haystat as hs
from haystat.errors import BadOption
from haystat.formats import FORMATS, Target, judged
from haystat.formats.conversation import conversation, message
from haystat.formats.traces import Trace, Verdict


def graded(n=200, seed=0):
    """Traces that a judge grades from 1 to 5, and the true grades."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, n)
    said = np.clip(truth + rng.choice([-1, 0, 0, 0, 1], n), 1, 5)
    traces = [Trace(f"t{k}", [], {"rubric": Verdict(float(said[k]))}) for k in range(n)]
    return traces, {f"t{k}": int(truth[k]) for k in range(n)}, truth, said


def test_grades_are_classes():
    traces, truth, true, said = graded()
    pool = judged(traces, "it", fails="<3").pool(classes=(1, 2, 3, 4, 5), strata=8)
    ev = hs.Evaluation(pool, "accuracy", random_state=0)
    ev.run(lambda items: [truth[item] for item in items], budget=200)
    assert ev.estimate().value == pytest.approx(np.mean(true == said))


def test_grades_are_numbers():
    traces, truth, true, said = graded()
    pool = judged(traces, "it", fails="<3").pool(classes=None, strata=8)
    ev = hs.Evaluation(pool, "mae", random_state=0)
    ev.run(lambda items: [truth[item] for item in items], budget=200)
    assert ev.estimate().value == pytest.approx(np.mean(np.abs(true - said)), abs=0.08)


def test_unsure_is_a_class_or_a_skip():
    words = ["no", "unsure", "yes"] * 20
    traces = [Trace(f"t{k}", [], {"j": Verdict(word=word)}) for k, word in enumerate(words)]
    log = judged(traces, "it")
    ev = hs.Evaluation(log.pool(classes=("no", "unsure", "yes"), strata=4), "accuracy")
    ev.run(lambda items: [words[int(item[1:])] for item in items], budget=60)
    assert ev.estimate().value == 1.0
    two = hs.Evaluation(log.pool(strata=4), "prevalence", random_state=0)
    for query in two.ask(30):
        word = words[int(query.item[1:])]
        if word == "unsure":
            two.skip(query.item, "unsure")
        else:
            two.tell({query.item: int(word == "no")})
    estimate = two.estimate()
    assert 0 <= estimate.interval[0] <= estimate.value <= estimate.interval[1] <= 1


def test_a_study_that_holds_all_its_items_needs_no_pool_for_sub_populations(tmp_path):
    rng = np.random.default_rng(4)
    score = rng.random(300)
    topic = np.where(rng.random(300) < 0.5, "law", "geo")
    pool = hs.Pool(score, columns={"topic": topic}, strata=8)
    path = tmp_path / "s.haystat"
    measure = hs.measures.Within(hs.measures.Recall(), column="topic", equals="law")
    truth = (rng.random(300) < score).astype(int)
    with hs.Study.create(path, pool, "prevalence", random_state=0) as study:
        study.tell({q.item: int(truth[q.item]) for q in study.ask(60)})
        known = study.estimate(measure)
    with hs.Study.open(path) as study:
        found = study.estimate(measure)
    assert found.value == pytest.approx(known.value)
    assert found.interval == pytest.approx(known.interval)
    few = tmp_path / "few.haystat"
    with hs.Study.create(few, pool, "prevalence", random_state=0, candidates=30) as study:
        study.tell({q.item: int(truth[q.item]) for q in study.ask(10)})
    with hs.Study.open(few) as study, pytest.raises(hs.errors.NoSupport, match="with the pool"):
        study.estimate(measure)


def test_a_verdict_that_names_no_class_is_refused():
    traces = [Trace("a", [], {"j": Verdict(word="meh")}), Trace("b", [], {"j": Verdict(word="ok")})]
    log = judged(traces, "it", fails="meh")
    with pytest.raises(BadOption, match="'meh', which is not one of"):
        log.pool(classes=("bad", "fair", "ok"))
    with pytest.raises(BadOption, match="no number"):
        log.pool(classes=None)
    assert log.pool(classes=("fine", "failure"), strata=1).classes == ("fine", "failure")


def test_a_terminal_obeys_nothing_in_a_trace(tmp_path, run, monkeypatch):
    text = conversation(
        [message("user", "Hi \x1b[2J\x1b]0;owned\x07 there"), message("tool", "ok")]
    )
    path = tmp_path / "s.haystat"
    show = {"chat": [text] * 4, "why": ["\x1b[31mbecause"] * 4}
    pool = hs.Pool([0.1, 0.4, 0.6, 0.9], strata=2)
    hs.Study.create(path, pool, random_state=0, show=show, after=["why"]).close()
    monkeypatch.setattr("sys.stdin", io.StringIO("1\nq\n"))
    out = run("label", path, "-n", 2)
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[user] Hi" in out
    assert out.index("[user] Hi") < out.index("because")


def test_numbers_go_to_a_file(tmp_path, run):
    path, out = tmp_path / "s.haystat", tmp_path / "estimate.json"
    traces = [Trace(f"t{k}", [], {"j": Verdict(k / 50)}) for k in range(50)]
    log = judged(traces, "it")
    with hs.Study.create(path, log.pool(strata=4), "prevalence", random_state=0) as study:
        study.tell({q.item: int(q.item < "t3") for q in study.ask(20, "ann")}, "ann")
        estimate = study.estimate()
    done = run("export", path, "--to", "mlflow", "-o", out, "--json")
    assert done["answers"] == 20
    found = json.loads(out.read_text())
    low, high = estimate.interval
    wanted = {"prevalence": estimate.value, "prevalence_low": low, "prevalence_high": high}
    assert found["metrics"] == {**wanted, "n_labels": 20}
    assert (found["level"], found["haystat.items"]) == (0.95, "50")


def test_before_the_first_label_there_is_nothing_but_the_count(tmp_path):
    path = tmp_path / "s.haystat"
    with hs.Study.create(path, hs.Pool([0.1, 0.9], strata=1), "precision") as study:
        FORMATS["phoenix"].summary(study, tmp_path / "e.json")
    metrics = json.loads((tmp_path / "e.json").read_text())["metrics"]
    assert metrics["n_labels"] == 0
    assert all(np.isfinite(value) for value in metrics.values())


@pytest.mark.parametrize(
    "url", ["ftp://x", "localhost:5000", "http://", "http://a b", "http://x?y"]
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(BadOption, match="the address is"):
        Target("MLflow", url)


def test_a_server_that_is_away_is_one_line_and_exit_one(tmp_path, run):
    path = tmp_path / "s.haystat"
    hs.Study.create(path, hs.Pool([0.1, 0.9], strata=1)).close()
    away = "http://127.0.0.1:9"
    error = run("export", path, "--to", "mlflow", "--url", away, code=1)
    assert "is MLflow running there?" in error
    assert "not sent to" in run("export", path, "--to", "trec", "--url", away, code=2)


def test_every_rival_of_the_bench_is_unbiased_and_the_weight_lies_within_bounds():
    """PPI++ with all labels is the mean; with a useless judge it is the sample's mean."""
    import importlib.util

    place = Path(__file__).parents[2] / "bench" / "judges.py"
    spec = importlib.util.spec_from_file_location("bench_judges", place)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    rng = np.random.default_rng(1)
    score = rng.random(4000)
    y = (rng.random(4000) < score**3).astype(int)
    assert bench.powered(y.astype(float), score, score)[0] == pytest.approx(y.mean())
    constant = np.full(4000, 0.5)
    assert bench.powered(y[:50].astype(float), constant[:50], constant)[0] == y[:50].mean()
    for rival in (*bench.RIVALS.values(),):
        values = [rival(y, score, 200, rng)[0] for _ in range(400)]
        error = np.std(values) / np.sqrt(len(values))
        assert abs(np.mean(values) - y.mean()) < 4 * error
    plain, ppi, strata = (
        np.std([rival(y, score, 200, rng)[0] for _ in range(200)])
        for rival in bench.RIVALS.values()
    )
    assert strata < ppi < plain
