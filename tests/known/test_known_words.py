"""Labels that were known before the first question, in words and decisions."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.inference.estimate import worth_sentence
from haystat.report.collect import collect
from haystat.report.page import html_page
from haystat.study import Study


@pytest.fixture(scope="module")
def pool_and_known():
    rng = np.random.default_rng(0)
    scores = rng.normal(-3, 2, 6000)
    labels = (rng.random(6000) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    top = {int(i): int(labels[i]) for i in np.flatnonzero(scores > -1)}
    return hs.Pool(scores, threshold=0.0, strata=64), hs.Known.census(top)


def test_known_labels_decide_before_a_question_is_asked(pool_and_known):
    pool, known = pool_and_known
    evaluation = hs.Evaluation(pool, "f1", known=known, random_state=0)
    estimate = evaluation.estimate()
    assert (estimate.n_labels, estimate.n_known) == (0, len(known.labels))
    assert hs.gate(evaluation, "precision>=0.1").passed
    check = hs.gate(evaluation, "recall>=0.5").checks[0]
    assert 0 < check.low < check.value < check.high < 1
    assert "There are no labels yet" not in evaluation.threshold(precision=0.999).sentence


def test_what_labels_are_worth_names_the_known_ones(pool_and_known, tmp_path):
    assert worth_sentence(0, 900.0, 50) == (
        "The 50 labels known before say as much as about 900 drawn at random."
    )
    pool, census = pool_and_known
    some = hs.Known.found(dict(list(census.labels.items())[:30]))
    given = {"measure": "f1", "known": some, "random_state": 0}
    with Study.create(tmp_path / "known.haystat", pool, **given) as study:
        for _ in range(4):
            asked = study.ask(50)
            study.tell({one.item: int(pool.scores[one.item, 0] > 0.5) for one in asked})
        page = html_page(collect(study))
    assert "These 200 labels and the 30 that were known before say as much as about" in page
