"""Parts of the page on their own."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from web_case import in_a_thread, make_study

import haystat as hs
from haystat.errors import BadOption, StorageError, UnknownItem
from haystat.web import labelling
from haystat.web.keys import RESERVED, label_keys
from haystat.web.live_updates import LiveUpdates
from haystat.web.options import PageOptions, keep_options, kept_options
from haystat.web.progress import LEAST_LABELS, progress
from haystat.web.reader import Reader
from haystat.web.snapshot import along_score, n_open
from haystat.web.write_queue import WriteQueue


@pytest.fixture
def study(tmp_path):
    with make_study(tmp_path / "s.haystat")[0] as found:
        yield found


def answered(study, n, labels=None):
    questions = study.ask(n, "ann")
    study.tell({q.item: 0 if labels is None else int(labels[q.item]) for q in questions}, "ann")


def test_where_many_hold_questions_a_stage_is_drawn_for_several(study):
    for k in range(40):
        assert len(labelling.hand_out(study, 10, "ann", f"seat {k}")) == 10
    assert len({question.item for question in study.pending}) == len(study.pending) >= 400
    n_stages = study.status().stages
    assert n_stages < 25
    study.release("seat 0")
    assert len(labelling.hand_out(study, 10, "ann", "seat 41")) == 10
    assert study.status().stages == n_stages


def test_who_labels_alone_gets_stages_of_what_was_asked_for(study):
    for stage in range(1, 4):
        questions = labelling.hand_out(study, 10, "ann", "seat")
        assert study.status().stages == stage
        study.tell({question.item: 0 for question in questions}, "ann")


@pytest.mark.parametrize("n", range(2, 31))
def test_every_label_has_a_key_of_its_own(n):
    keys = label_keys(n)
    assert len(set(keys)) == n
    assert RESERVED.isdisjoint(keys)


def test_options_are_kept_in_the_journal_and_the_newest_count(study):
    first = PageOptions(prompt="A?", names=("x", "y"), wanted=0.2)
    keep_options(study, first)
    second = PageOptions(prompt="B?", images=("photo",), reveal=True, second=0.1)
    keep_options(study, second)
    study.note('{"haystat page": {"prompt": 3, "nothing": []}}')
    study.note('{"haystat page": ')
    assert kept_options(study.entries) == second


@pytest.mark.parametrize("wrong", [{"wanted": 0}, {"wanted": float("nan")}, {"second": 0.9}])
def test_options_outside_what_is_allowed_are_refused(wrong):
    with pytest.raises(BadOption):
        PageOptions(**wrong)


def test_progress_counts_down_with_the_square_of_the_width(tmp_path):
    study, labels = make_study(tmp_path / "p.haystat", measure="accuracy")
    with study:
        assert not progress(study.estimate(), 0.1).reached
        answered(study, 200, labels)
        estimate = study.estimate()
    found = progress(estimate, 0.02)
    width = estimate.anytime_interval[1] - estimate.anytime_interval[0]
    assert found.width == width
    assert found.expected == int(np.ceil(200 * ((width / 0.02) ** 2 - 1)))
    assert found.share == pytest.approx(min(200 / (200 + found.expected), 0.99))
    done = progress(estimate, width + 0.01)
    assert done.reached
    assert done.expected == 0
    assert done.share == 1


def test_few_labels_are_never_enough_however_narrow_the_interval(study):
    answered(study, LEAST_LABELS - 1)
    estimate = study.estimate()
    found = progress(estimate, 1e9)
    assert not found.reached
    assert found.expected >= 1


def test_no_more_labels_are_expected_than_there_are_items_that_matter(tmp_path):
    study, labels = make_study(tmp_path / "p.haystat", measure="precision", size=1500)
    with study:
        answered(study, 30, labels)
        with study.reading() as fold:
            left = n_open(fold)
        estimate = study.estimate()
        assert progress(estimate, 1e-6, left).expected == left
        while questions := study.ask(50):
            study.tell({q.item: int(labels[q.item]) for q in questions})
        with study.reading() as fold:
            assert n_open(fold) == 0
        done = progress(study.estimate(), 1e-6, 0)
    assert done.reached
    assert "exact" in done.why


def test_labels_along_the_score_add_up(study):
    answered(study, 50)
    with study.reading() as fold:
        bars = along_score(fold)
    assert sum(bar["items"] for bar in bars) == study.pool.size
    assert sum(bar["labels"] for bar in bars) == 50
    assert [bar["to"] for bar in bars] == sorted(bar["to"] for bar in bars)


def test_actions_that_come_together_share_one_transaction(study):
    async def run():
        queue = WriteQueue(study)
        items = [q.item for q in study.ask(40, "ann")]
        actions = [queue.write(lambda s, i=i: labelling.tell(s, [(i, 0)], "ann")) for i in items]
        return await asyncio.gather(*actions)

    before = study.estimate().n_labels
    told = in_a_thread(asyncio.run, run())
    assert before == 0
    assert [one[0].outcome for one in told] == ["recorded"] * 40
    assert study.n_labels == 40
    times = {entry.time for entry in study.entries if entry.kind == "answer"}
    assert len(times) <= 3  # a transaction has one time


def test_a_refusal_or_a_crash_hurts_nobody_else(study):
    def crash(study):
        study.note("half done")
        raise RuntimeError("a bug")

    async def run():
        queue = WriteQueue(study)
        item = study.ask(1, "ann")[0].item
        actions = [
            queue.write(lambda s: labelling.tell(s, [(10**9, 0)], "ann")),
            queue.write(crash),
            queue.write(lambda s: labelling.tell(s, [(item, 1)], "ann")),
        ]
        return await asyncio.gather(*actions, return_exceptions=True)

    refused, crashed, told = in_a_thread(asyncio.run, run())
    assert isinstance(refused, UnknownItem)
    assert isinstance(crashed, RuntimeError)
    assert told[0].outcome == "recorded"
    assert study.n_labels == 1
    assert "half done" not in [e.data.get("text") for e in study.entries if e.kind == "note"]


def test_a_study_that_cannot_be_written_says_so_to_everybody(study, tmp_path):
    copy = tmp_path / "copy.haystat"
    answered(study, 3)
    study.copy_to(copy)
    with hs.Study.open(copy, read_only=True) as locked:

        async def run():
            queue = WriteQueue(locked)
            both = [queue.write(lambda s: labelling.hand_out(s, 1, "a", "a")) for _ in range(2)]
            return await asyncio.gather(*both, return_exceptions=True)

        assert all(isinstance(error, StorageError) for error in in_a_thread(asyncio.run, run()))


def test_everybody_who_watches_gets_every_change(study):
    async def run():
        queue = WriteQueue(study)
        watch = LiveUpdates(queue, Reader(study.path), 0.1)
        streams = [watch.stream() for _ in range(3)]
        first = [await anext(stream) for stream in streams]
        await queue.write(lambda s: answered(s, 5))
        watch.changed()
        second = [await asyncio.wait_for(anext(stream), 5) for stream in streams]
        await watch.close()
        return first, second

    first, second = in_a_thread(asyncio.run, run())
    assert len(set(first)) == len(set(second)) == 1
    assert b'"labels":5' not in first[0]
    assert b'"labels":5' in second[0]
    assert second[0].startswith(b"event: snapshot\ndata: ")
    assert second[0].count(b"\n") == 3
