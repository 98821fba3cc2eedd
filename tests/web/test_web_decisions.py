"""Decisions on the page: cuts, gates, known labels and weights in the form."""

from __future__ import annotations

import numpy as np
import pytest
from web_case import calling, serving

import haystat as hs
from haystat.study import verify


def answered(path, labels, n):
    with hs.Study.open(path) as study:
        study.run(lambda items: labels[np.asarray(items)], n)


def test_a_cut_is_that_of_the_library(study_file):
    path, labels = study_file
    answered(path, labels, 200)
    with calling(path) as caller:
        found = caller.get("/api/threshold", params={"precision": 0.6}).json()
    with hs.Study.open(path) as study:
        choice = study.threshold(precision=0.6)
        in_use = study.in_use
    assert found["threshold"] == choice.threshold
    assert found["sentence"] == choice.sentence
    assert found["own"]["n_predicted"] == in_use[0].n_predicted
    assert found["curve"] == choice.curve
    assert f"{in_use[0].n_predicted:,} items predicted positive" in found["in_use"][0]["sentence"]


def test_without_a_requirement_it_is_the_best_f1(study_file):
    path, labels = study_file
    answered(path, labels, 100)
    with calling(path) as caller:
        assert caller.get("/api/threshold").json()["requirement"] == "best f1"
        both = {"precision": 0.6, "recall": 0.6}
        assert caller.get("/api/threshold", params=both).status_code == 422
        assert caller.get("/api/threshold", params={"precision": 1.5}).status_code == 400


def test_a_gate_says_pass_fail_or_undecided(study_file):
    path, labels = study_file
    answered(path, labels, 200)
    with calling(path) as caller:
        for need in ("recall>=0.01", "recall>=0.99"):
            found = caller.get("/api/gate", params={"require": need}).json()
            with hs.Study.open(path) as study:
                assert found["state"] == hs.gate(study, need).state
        assert caller.get("/api/gate", params={"require": "beauty>=1"}).status_code == 422


@pytest.fixture
def scored(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.beta(0.5, 3, 600).round(5)
    labels = (rng.random(600) < scores).astype(int)
    rows = [f"{i},{s},{1 + i % 7},text {i}" for i, s in enumerate(scores)]
    (tmp_path / "pool.csv").write_text("\n".join(["id,score,amount,text", *rows]))
    top = np.flatnonzero(scores >= 0.5)
    lines = [f"{i},{labels[i]}" for i in top]
    (tmp_path / "old.csv").write_text("\n".join(["item,label", *lines]))
    return tmp_path, labels, top


def test_the_form_takes_known_labels_and_weights(scored):
    folder, _, top = scored
    wish = {"file": "pool.csv", "score": "score", "id": "id", "show": ["text"], "weight": "amount"}
    known = {"known": "old.csv", "known_as": "census"}
    hs.Study.create(folder / "main.haystat", hs.Pool([0.1, 0.9], strata=1)).close()
    with calling(folder / "main.haystat") as caller:
        made = caller.post("/api/studies", {**wish, **known, "name": "new"})
        assert made.status_code == 201, made.text
        bad = caller.post(
            "/api/studies", {**wish, "known": "old.csv", "known_as": "x", "name": "b"}
        )
        assert bad.status_code == 422
        lost = caller.post("/api/studies", {**wish, "known": "../old.csv", "name": "c"})
        assert lost.status_code == 404
    with hs.Study.open(folder / "new.haystat") as study:
        assert study.status().known == len(top)
        assert study.measure.name == "f1 by amount"
        asked = {question.item for question in study.ask(50)}
        assert not asked & set(top.tolist())
    assert verify(folder / "new.haystat").ok


def test_a_person_finds_a_cut_and_asks_whether_it_may_ship(study_file, open_page):
    path, labels = study_file
    answered(path, labels, 150)
    with serving(path) as address:
        page = open_page(f"{address}/watch")
        page.select_option("#cut-need", "precision")
        page.fill("#cut-value", "0.5")
        page.click("#cut-show")
        page.wait_for_selector("#cuts canvas")
        assert "items predicted positive" in page.inner_text("#cut-own")
        page.fill("#gate-need", "recall>=0.01")
        page.click("#gate-show")
        page.locator("#gate-sentence", has_text="pass at 95%").wait_for()
