"""Items that arrive daily: more of them, windows over the newest, and an alarm."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import haystat as hs
from haystat.decisions.alarm import FALLS, new_draws
from haystat.errors import BadOption, DuplicateId, NoSupport, PoolError, UnknownName
from haystat.study import Study, verify

PER_DAY = 1500


class Stream:
    """Days of items, two in a hundred positive; recall falls on the day `fall`."""

    def __init__(self, seed, fall=99, recall=(0.85, 0.6)):
        self.rng = np.random.default_rng(seed)
        self.fall, self.recall, self.label = fall, recall, {}

    def day(self, number):
        """The pool of a day."""
        ids = number * PER_DAY + np.arange(PER_DAY)
        label = (self.rng.random(PER_DAY) < 0.02).astype(int)
        at = norm.ppf(self.recall[number >= self.fall])
        scores = self.rng.normal(np.where(label == 1, at, -3.6), 1.0)
        self.label.update(zip(ids.tolist(), label.tolist(), strict=True))
        options = {"threshold": 0.0, "columns": {"day": np.full(PER_DAY, number)}}
        return hs.Pool(scores, ids=ids, strata=24, **options)

    def answer(self, loop, n):
        queries = loop.ask(n)
        loop.tell({query: self.label[query.item] for query in queries})
        return [query.item for query in queries]


def of_day(number):
    return hs.measures.Within(hs.measures.Recall(), column="day", equals=number)


def test_further_items_make_the_next_version_and_windows_leave_out_old_ones():
    stream = Stream(0)
    now = hs.Evaluation(stream.day(0), "recall", random_state=0)
    stream.answer(now, 60)
    now = now.extend(stream.day(1), strata=24)
    assert (now.pool.size, now.n_carried) == (2 * PER_DAY, 60)
    asked = stream.answer(now, 60)
    # What was drawn on the first day is drawn already: labels go to the items that came.
    assert np.mean(np.array(asked) >= PER_DAY) > 0.6
    now = now.extend(stream.day(2), window=("day", 2), strata=24)
    assert now.pool.size == 2 * PER_DAY
    assert min(answer.item for answer in now.answers) >= PER_DAY
    assert now.settings["version"]["number"] == 3


def test_labels_of_a_day_go_to_the_day_and_the_window_is_estimated_too():
    stream = Stream(1)
    now = hs.Evaluation(stream.day(0), "recall", random_state=0)
    stream.answer(now, 60)
    now = now.extend(stream.day(1), measure=of_day(1), strata=24)
    asked = stream.answer(now, 40)
    assert min(asked) >= PER_DAY
    window = now.estimate("recall")
    assert window.n_labels == 100
    assert 0 < window.interval[0] < window.value < window.interval[1] < 1


def test_a_study_is_extended_with_its_columns_to_show(tmp_path):
    stream = Stream(2)
    first, second = stream.day(0), stream.day(1)
    shown = [{"name": [f"item {i}" for i in pool.ids.tolist()]} for pool in (first, second)]
    with Study.create(tmp_path / "s.haystat", first, "recall", show=shown[0]) as study:
        stream.answer(study, 40)
        later = study.extend(second, show=shown[1], window=("day", 5), strata=24)
    for question in later.ask(60):
        assert question.record == {"name": f"item {question.item}"}
        later.tell({question: stream.label[question.item]})
    assert later.n_labels == 100
    assert verify(later.path).ok


def test_rows_that_do_not_fit_are_refused():
    stream = Stream(3)
    first = hs.Evaluation(stream.day(0), "recall")
    with pytest.raises(DuplicateId, match="repeat ids"):
        first.extend(stream.day(0))
    with pytest.raises(PoolError, match="columns"):
        first.extend(hs.Pool([0.1], ids=[10**6]))
    with pytest.raises(PoolError, match="classes"):
        first.extend(hs.Pool([0.1], ids=[10**6], classes=("a", "b")))
    with pytest.raises(UnknownName, match="no column 'week'"):
        first.extend(stream.day(1), window=("week", 3))
    with pytest.raises(BadOption, match="window"):
        first.extend(stream.day(1), window="day")
    for length in (0, -1, float("nan")):
        with pytest.raises(BadOption, match="the window has length"):
            first.extend(stream.day(1), window=("day", length))
    with pytest.raises(BadOption, match=r"hs\.Pool"):
        first.extend([0.1, 0.2])


def days(stream, n, n_labels, seed, design=None):
    """Evaluations of successive days, each with its labels."""
    now = None
    for number in range(n):
        pool = stream.day(number)
        if now is None:
            now = hs.Evaluation(pool, of_day(number), design, random_state=seed)
        else:
            now = now.extend(pool, window=("day", 5), measure=of_day(number), strata=24)
        stream.answer(now, n_labels)
        yield now


def test_an_alarm_is_raised_after_a_fall_and_not_before():
    alarm = hs.Alarm("recall", below=0.8, days=20)
    for now in days(Stream(4, fall=6), 14, 60, seed=4):
        seen = alarm.look(now)
        assert not (seen.raised and seen.day <= 6)
    assert alarm.raised
    assert len(alarm.looks) == 14
    assert 5 < max(look.wealth for look in alarm.looks) <= 1 / (1 - alarm.level)


def test_labels_for_an_alarm_go_where_they_tell_most_and_everywhere_at_times():
    near = {}
    for design in ("watch", "assisted"):
        *_, now = days(Stream(4), 3, 40, 4, design)
        score = now.pool.scores[[now.pool.index_of(answer.item) for answer in now.answers], 0]
        near[design] = np.mean((score > -1.5) & (score < 0))
        stages = now.state.ledger.finished()
        assert np.all(stages[-1][0].inclusion[now.state.ledger.problem.losses.support.any(1)] > 0)
    assert near["watch"] > near["assisted"]


def test_bets_on_a_day_gain_nothing_on_average_where_nothing_has_fallen():
    # At the level itself: the true recall of the day is what bets are held against.
    wealth = []
    for seed in range(16):
        stream = Stream(100 + seed)
        *_, now = days(stream, 2, 60, seed)
        positives = [item for item in range(PER_DAY, 2 * PER_DAY) if stream.label[item]]
        scores = dict(zip(now.pool.ids.tolist(), now.pool.scores[:, 0].tolist(), strict=True))
        recall = np.mean([scores[item] >= 0 for item in positives])
        wealth.append(hs.Alarm("recall", below=recall).wealth(now).mean())
    error = np.std(wealth) / np.sqrt(len(wealth))
    assert np.mean(wealth) < 1 + 3 * error
    assert np.std(wealth) > 0.1  # bets were made


def test_evidence_is_a_mixture_over_the_day_and_the_size_of_the_fall(monkeypatch):
    alarm = hs.Alarm("recall", below=0.8, days=3)
    gains = np.outer([0.5, 2.0, 3.0, 3.0], np.linspace(0.5, 1.5, len(FALLS)))
    monkeypatch.setattr(alarm, "wealth", lambda loop: gains[len(alarm.looks)])
    share = [0.3, 0.3, 0.3, 0.05]
    for day in range(1, 5):
        seen = alarm.look(None)
        started = sum(share[s] * np.prod(gains[s:day], axis=0).mean() for s in range(day))
        assert seen.evidence == pytest.approx(started + 1 - sum(share[:day]))
    assert not seen.raised


def test_only_draws_of_new_items_count_for_a_day():
    stream = Stream(5)
    first, second = days(stream, 2, 50, 5)
    draws, example = new_draws(second.state.ledger)
    assert len(draws.cell) == 50
    assert draws.size.sum() == PER_DAY
    assert set(example.columns["day"].tolist()) == {1}
    assert new_draws(first.state.ledger)[0].size.sum() == PER_DAY


def test_an_alarm_says_what_it_needs():
    evaluation = hs.Evaluation(Stream(6).day(0), "precision")
    assert hs.Alarm("precision", below=0.5).wealth(evaluation).tolist() == [1.0] * len(FALLS)
    stream = Stream(6)
    evaluation = hs.Evaluation(stream.day(0), hs.measures.Accuracy(), random_state=0)
    stream.answer(evaluation, 30)
    with pytest.raises(NoSupport, match="measure of the alarm"):
        hs.Alarm(hs.measures.Within(hs.measures.Recall(), column="day", equals=0), below=0.5).look(
            evaluation
        )
    passive = hs.Evaluation(Stream(6).day(0), "recall", "passive", random_state=0)
    stream.answer(passive, 5)
    with pytest.raises(BadOption, match="design='watch'"):
        hs.Alarm("recall", below=0.5).look(passive)
    with pytest.raises(BadOption, match="below is 1"):
        hs.Evaluation(Stream(6).day(0), "recall", "watch", below=1.0)
    for wrong in ({"below": "0.8"}, {"below": True}, {"below": 0.8, "days": 0}):
        with pytest.raises(BadOption):
            hs.Alarm("recall", **wrong)


def test_there_is_no_alarm_about_items_with_weights():
    rng = np.random.default_rng(0)
    pool = hs.Pool(rng.normal(-2, 1, 400), threshold=0.0, weight=rng.lognormal(0, 1, 400), strata=8)
    evaluation = hs.Evaluation(pool, "recall", random_state=0)
    evaluation.tell({query.item: int(query.item % 9 == 0) for query in evaluation.ask(60)})
    with pytest.raises(NoSupport, match="count by 'weight'; make"):
        hs.Alarm("recall", below=0.8).look(evaluation)


def test_items_that_are_added_keep_their_weights():
    rng = np.random.default_rng(0)
    scores, amount = rng.normal(-1, 2, 600), rng.lognormal(0, 1, 600)
    label = (rng.random(600) < 1 / (1 + np.exp(-scores))).astype(int)

    def rows(first, last, **options):
        part = slice(first, last)
        ids, options = np.arange(first, last), {"weight": amount[part], "strata": 8, **options}
        return hs.Pool(scores[part], ids=ids, threshold=0.0, **options)

    first = hs.Evaluation(rows(0, 300), "recall", random_state=0)
    first.run(lambda items: label[items], 300)
    later = first.extend(rows(300, 600), strata=8)
    estimate = later.run(lambda items: label[items], 300)
    expected = np.sum(amount * label * (scores >= 0)) / np.sum(amount * label)
    assert estimate.measure == "recall by weight"
    assert estimate.value == pytest.approx(expected)
    with pytest.raises(PoolError, match="count by 'weight' and the rows by None"):
        first.extend(rows(300, 600, weight=None))


@pytest.mark.parametrize("length", [0, -3, float("nan")])
def test_a_window_has_a_length(length):
    stream = Stream(0)
    with pytest.raises(BadOption, match="the window has length"):
        hs.Evaluation(stream.day(0)).extend(stream.day(1), window=("day", length))


def test_an_alarm_at_a_level_that_the_measure_cannot_have_is_refused():
    stream = Stream(2)
    evaluation = hs.Evaluation(stream.day(0), "recall", random_state=0)
    stream.answer(evaluation, 20)
    with pytest.raises(BadOption, match="below is 80, and recall lies between 0 and 1"):
        hs.Alarm("recall", below=80).look(evaluation)
