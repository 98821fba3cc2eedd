"""Labels from before: who is asked, what the estimate makes of them, and what is refused."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat.errors import AnswerError, BadOption, UnknownItem, UnknownLabel
from haystat.inference.sample import stage_rng
from haystat.models.known_view import KnownView, view_of
from haystat.models.label_view import LabelView
from haystat.pool.known import checked_known

SIZE = 3000


@pytest.fixture(scope="module")
def scored():
    """Scores, and the label of every item."""
    rng = np.random.default_rng(3)
    scores = rng.beta(0.4, 3, SIZE).round(6)
    return scores, (rng.random(SIZE) < scores**1.5).astype(int)


def labels_of(truth, index):
    return {int(i): int(truth[i]) for i in index}


def answered(evaluation, truth, budget, batch_size=50):
    return evaluation.run(lambda items: truth[np.asarray(items)], budget, batch_size)


def f1_of(scores, truth):
    both = np.sum(truth * (scores >= 0.5))
    return 2 * both / (truth.sum() + np.sum(scores >= 0.5))


@pytest.mark.parametrize("design", ["assisted", "adaptive", "importance", "passive", "oasis"])
def test_an_item_whose_label_is_known_is_never_asked_about(scored, design):
    scores, truth = scored
    known = labels_of(truth, np.flatnonzero(scores >= 0.4))
    evaluation = hs.Evaluation(hs.Pool(scores), design=design, known=known, random_state=0)
    estimate = answered(evaluation, truth, 100)
    assert estimate.n_labels == evaluation.n_labels == 100
    assert not known.keys() & {answer.item for answer in evaluation.answers}


@pytest.mark.parametrize("kind", ["census", "found"])
@pytest.mark.parametrize("design", ["assisted", "adaptive"])
def test_a_pool_whose_labels_are_all_known_needs_no_question(scored, kind, design):
    scores, truth = scored
    known = hs.Known(kind, labels_of(truth, range(SIZE)))
    evaluation = hs.Evaluation(hs.Pool(scores), design=design, known=known, random_state=0)
    assert evaluation.ask(10) == []
    estimate = evaluation.estimate()
    assert estimate.value == pytest.approx(f1_of(scores, truth), abs=1e-12)
    assert estimate.interval == pytest.approx((estimate.value, estimate.value))


def test_estimates_without_a_model_stay_unbiased_when_positives_alone_were_found():
    """Weighted labels: a mean over repeats within four standard errors of the truth."""
    rng = np.random.default_rng(0)
    scores = rng.random(200)
    truth = (rng.random(200) < scores).astype(int)
    known = labels_of(truth, np.flatnonzero(truth)[:40])
    for design, measure in (("assisted", "brier"), ("adaptive", "accuracy")):
        values = []
        for seed in range(60):
            pool = hs.Pool(scores, strata=8)
            evaluation = hs.Evaluation(pool, measure, design, known=known, random_state=seed)
            values.append(answered(evaluation, truth, 30, 15).value)
        loss = (scores - truth) ** 2 if measure == "brier" else (scores >= 0.5) == truth
        right = np.mean(loss)
        error = np.std(values) / np.sqrt(len(values))
        assert abs(np.mean(values) - right) < 4 * error, design


def test_the_model_covers_the_truth_when_positives_alone_were_found(scored):
    """Given as a random sample, the same labels would make recall look far too high."""
    scores, truth = scored
    right = f1_of(scores, truth)
    covered = {"found": 0, "sample": 0}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        positive = rng.choice(np.flatnonzero(truth), truth.sum() // 3, replace=False)
        labels = labels_of(truth, positive)
        parts = {"found": hs.Known.found(labels), "sample": hs.Known.sample(labels, 0.01)}
        for kind, known in parts.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                evaluation = hs.Evaluation(hs.Pool(scores), known=known, random_state=seed)
            low, high = answered(evaluation, truth, 150).interval
            covered[kind] += low <= right <= high
    assert covered["found"] >= 7
    assert covered["sample"] <= 4


def test_with_a_census_of_the_top_fewer_labels_are_needed(scored):
    scores, truth = scored
    top = np.flatnonzero(scores >= 0.5)
    needed = {None: [], "census": []}
    right = f1_of(scores, truth)
    n_covered = 0
    for seed in range(5):
        for kind in needed:
            known = None if kind is None else hs.Known.census(labels_of(truth, top))
            evaluation = hs.Evaluation(hs.Pool(scores), known=known, random_state=seed)
            while np.ptp(answered(evaluation, truth, evaluation.n_labels + 50).interval) > 0.2:
                pass
            needed[kind].append(evaluation.n_labels)
            low, high = evaluation.estimate().interval
            n_covered += low <= right <= high
    assert np.sum(needed["census"]) < 0.9 * np.sum(needed[None])
    assert n_covered >= 8


def test_the_guaranteed_interval_takes_known_labels_for_certain(scored):
    """Of all that is known it is left with what the other items allow, and it holds the truth."""
    scores, truth = scored
    known = hs.Known.census(labels_of(truth, np.flatnonzero(scores >= 0.2)))
    widths = []
    for part in (None, known):
        evaluation = hs.Evaluation(hs.Pool(scores), "recall", known=part, random_state=1)
        low, high = answered(evaluation, truth, 100).guaranteed_interval
        assert low <= truth[scores >= 0.5].sum() / truth.sum() <= high
        widths.append(high - low)
    assert widths[1] < 0.8 * widths[0]


def posed(pool, known):
    evaluation = hs.Evaluation(pool, known=known, random_state=0)
    ledger = evaluation.state.ledger
    return ledger.problem, view_of(ledger.problem, ledger.design), ledger.state.labelled


def test_labels_of_a_sample_count_by_their_inclusion_probabilities(scored):
    """Region by region: Kish's effective number, Hájek's share, worked out by hand."""
    scores, truth = scored
    rng = np.random.default_rng(1)
    chance = np.where(scores > np.quantile(scores, 0.9), 0.2, 0.04)
    drawn = np.flatnonzero(rng.random(SIZE) < chance)
    known = hs.Known.sample(labels_of(truth, drawn), {int(i): chance[i] for i in drawn})
    problem, view, labelled = posed(hs.Pool(scores), known)
    n, events = view.events(labelled)
    region = view.regions.of_cell[problem.cells.of_item[drawn]]
    for r in np.unique(region):
        w, y = 1 / chance[drawn][region == r], truth[drawn][region == r]
        effective = w.sum() ** 2 / np.sum(w**2)
        assert n[r] == pytest.approx(effective)
        assert events[r] == pytest.approx(effective * (w @ y) / w.sum())


def test_a_census_of_a_sub_population_says_nothing_about_items_unlike_it():
    """The score is right about all but a twentieth, whose labels are known and random."""
    rng = np.random.default_rng(5)
    truth = (rng.random(6000) < 0.05).astype(int)
    odd = rng.random(6000) < 0.05
    scores = rng.normal(-3, 1.2, 6000) + 5 * truth * ~odd
    true = 2 * truth[scores >= 0].sum() / (truth.sum() + (scores >= 0).sum())
    known = hs.Known.census(labels_of(truth, np.flatnonzero(odd)))
    for seed in range(3):
        pool = hs.Pool(scores, threshold=0.0, columns={"odd": odd})
        evaluation = hs.Evaluation(pool, known=known, random_state=seed)
        low, high = answered(evaluation, truth, 200).interval
        assert low <= true <= high


def test_labels_of_a_census_count_like_labels_that_were_asked_for(scored):
    scores, truth = scored
    pool = hs.Pool(scores)
    stratum = pool.stratum[np.argmin(np.abs(scores - 0.3))]
    top = pool.stratum >= stratum
    known = hs.Known.census(labels_of(truth, np.flatnonzero(top)))
    _, view, labelled = posed(pool, known)
    assert isinstance(view, KnownView)
    plain = LabelView.events(view, labelled)
    assert np.array_equal(np.stack(view.events(labelled)), np.stack(plain))
    assert plain[0].sum() == np.sum(top)


def test_labels_of_a_census_that_ends_inside_a_stratum_count_as_found_there(scored):
    scores, truth = scored
    pool = hs.Pool(scores)
    inside = pool.stratum == pool.stratum[np.argmin(np.abs(scores - 0.3))]
    top = scores > np.median(scores[inside])
    _, view, labelled = posed(pool, hs.Known.census(labels_of(truth, np.flatnonzero(top))))
    assert view.events(labelled)[0].sum() == np.sum(top & ~inside)
    assert view.model.size.sum() == SIZE - np.sum(top & inside)


def test_labels_that_were_found_are_no_part_of_what_the_model_describes(scored):
    scores, truth = scored
    known = labels_of(truth, np.flatnonzero(truth)[:60])
    problem, view, labelled = posed(hs.Pool(scores), known)
    n, events = view.events(labelled)
    assert n.sum() == events.sum() == 0
    assert labelled.sum() == 60
    assert view.model.size.sum() == SIZE - 60
    assert not problem.open.all()


@pytest.mark.parametrize("design", ["assisted", "adaptive"])
def test_a_saved_log_begins_with_what_was_known(scored, tmp_path, design):
    scores, truth = scored
    known = [
        hs.Known.census(labels_of(truth, np.flatnonzero(scores >= 0.6))),
        hs.Known.found(labels_of(truth, np.flatnonzero(scores < 0.01)[:20])),
    ]
    pool = hs.Pool(scores)
    evaluation = hs.Evaluation(pool, design=design, known=known, random_state=4)
    answered(evaluation, truth, 90)
    evaluation.save(tmp_path / "log.jsonl")
    again = hs.Evaluation.load(tmp_path / "log.jsonl", pool)
    assert again.estimate().interval == evaluation.estimate().interval
    assert again.ask(5) == evaluation.ask(5)
    assert sum(record["new_labels"] for record in evaluation.history) == 95


def test_a_correction_keeps_what_was_known(scored):
    scores, truth = scored
    known = hs.Known.census(labels_of(truth, np.flatnonzero(scores >= 0.6)))
    one, other = (hs.Evaluation(hs.Pool(scores), known=known, random_state=4) for _ in range(2))
    for evaluation in (one, other):
        answered(evaluation, truth, 60, 20)
    first = one.answers[0].item
    one.correct(first, 1 - int(truth[first]))
    one.correct(first, int(truth[first]))
    assert one.estimate().interval == other.estimate().interval


def test_known_labels_come_as_a_dict_a_table_or_a_list(scored):
    scores, truth = scored
    pool = hs.Pool(scores)
    drawn = stage_rng(1, 1).choice(SIZE, 60, replace=False)
    table = pd.DataFrame({"id": drawn, "label": truth[drawn], "inclusion": 60 / SIZE})
    mixed = [hs.Known.sample(labels_of(truth, drawn[:30]), 60 / SIZE), labels_of(truth, drawn[30:])]
    kinds = {"dict": ["found"], "table": ["sample"], "list": ["sample", "found"]}
    given = {"dict": labels_of(truth, drawn), "table": table, "list": mixed}
    for name, known in given.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluation = hs.Evaluation(pool, known=known, random_state=0)
        assert [part["kind"] for part in evaluation.settings["known"]["parts"]] == kinds[name]
        assert evaluation.state.ledger.n_known == 60


def test_an_item_that_is_known_twice_counts_by_how_it_is_known_best(scored):
    """All orders of a census, a sample and reports that overlap are the same evaluation."""
    scores, labels = scored
    told = {item: int(labels[item]) for item in range(60)}
    parts = [
        hs.Known.found({item: told[item] for item in range(0, 60, 2)}),
        hs.Known.sample({item: told[item] for item in range(20, 60)}, inclusion=0.3),
        hs.Known.census({item: told[item] for item in range(30)}),
    ]
    pool = hs.Pool(scores, threshold=0.0)
    for order in itertools.permutations(range(3)):
        found = checked_known([parts[k] for k in order], (0, 1), 0)
        by_kind = {part.kind: set(part.labels) for part in found}
        assert by_kind == {"census": set(range(30)), "sample": set(range(30, 60))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = hs.Evaluation(pool, known=parts, random_state=0)
    assert evaluation.state.ledger.n_known == 60


@pytest.mark.parametrize(
    ("known", "error", "says"),
    [
        ({SIZE + 5: 1}, UnknownItem, "no item 3005"),
        ({0: 7}, UnknownLabel, "the known label 7 of item 0"),
        ([{0: 1}, {0: 0}], AnswerError, "item 0 has two known labels, 1 and 0"),
        ([hs.Known.sample({k: 0}, 0.5) for k in (0, 0)], AnswerError, "is in two known samples"),
        (3, BadOption, "known is 3"),
        (pd.DataFrame({"item": [1, 1], "label": [0, 1]}), AnswerError, "item 1 is in the table"),
        (pd.DataFrame({"thing": [1], "label": [0]}), BadOption, "need item and label"),
    ],
)
def test_known_labels_that_make_no_sense_are_refused(scored, known, error, says):
    with pytest.raises(error, match=says):
        hs.Evaluation(hs.Pool(scored[0]), known=known)


def test_a_sample_needs_inclusion_probabilities_between_zero_and_one():
    for chance in (0, 1.5, "many", None):
        with pytest.raises(BadOption, match="inclusion probability of item 3"):
            hs.Known.sample({3: 1}, inclusion=chance)
    with pytest.raises(BadOption, match="item 4 of the sample has no inclusion probability"):
        hs.Known.sample({3: 1, 4: 0}, inclusion={3: 0.5})
    with pytest.raises(BadOption, match="they can be"):
        hs.Known("hearsay", {3: 1})


def test_what_cannot_take_known_labels_says_so(scored):
    pool = hs.Pool(scored[0])
    with pytest.raises(BadOption, match="takes no known labels"):
        hs.Evaluation(pool, design="stratified", known={0: 0})
    with pytest.raises(BadOption, match="stochastic oracle"):
        hs.Evaluation(pool, oracle="stochastic", known={0: 0})


def test_a_known_label_is_not_told_again(scored):
    evaluation = hs.Evaluation(hs.Pool(scored[0]), known={0: 0}, random_state=0)
    with pytest.raises(UnknownItem, match="was known beforehand"):
        evaluation.tell({0: 1})


def test_numbers_may_be_known_too():
    rng = np.random.default_rng(2)
    scores = rng.normal(10, 3, 300)
    truth = scores + rng.normal(0, 1, 300)
    known = {int(i): float(truth[i]) for i in range(50)}
    pool = hs.Pool(scores, classes=None, strata=8)
    evaluation = hs.Evaluation(pool, "mae", known=known, random_state=0)
    estimate = evaluation.run(lambda items: truth[np.asarray(items)], 100)
    assert abs(estimate.value - np.abs(scores - truth).mean()) < 0.3
    assert all(answer.item >= 50 for answer in evaluation.answers)


def test_an_estimate_at_a_level_of_next_to_nothing_has_a_worth(scored):
    """A RuntimeWarning would be an error here, and in the page an answer of 500."""
    scores, truth = scored
    estimate = answered(hs.Evaluation(hs.Pool(scores), random_state=0), truth, 50)
    assert estimate.at(1e-300).worth.shape == (1,)


@pytest.mark.parametrize("kind", ["found", "census", "sample"])
def test_groups_are_estimated_with_known_labels_too(scored, kind):
    """Cells are cut by group after those of known labels are taken out of the model."""
    scores, truth = scored
    group = np.arange(len(scores)) % 2
    top = np.flatnonzero(scores >= np.quantile(scores, 0.99))
    items = np.arange(0, len(scores), 50) if kind == "sample" else top
    chance = {"inclusion": 0.02} if kind == "sample" else {}
    known = getattr(hs.Known, kind)(labels_of(truth, items), **chance)
    pool = hs.Pool(scores, columns={"group": group}, seed=1)
    evaluation = hs.Evaluation(pool, known=known, random_state=2)
    answered(evaluation, truth, 400)
    found = evaluation.estimate("prevalence", by="group")
    shares = [truth[group == one].mean() for one in (0, 1)]
    low, high = found.intervals.T
    assert np.all((low <= shares) & (shares <= high))
