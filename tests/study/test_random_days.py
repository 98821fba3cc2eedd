"""Days of random work on tiny pools: whatever people do, the file tells the same story again."""

from __future__ import annotations

import random
import threading
from datetime import timedelta

import pytest

import haystat as hs
from haystat.designs import DESIGNS
from haystat.study import verify

PEOPLE = ("ann", "bob", None)


class Day:
    """People who ask, answer, skip, correct, give back and forget, in random order."""

    def __init__(self, case, rng):
        self.case, self.rng = case, rng
        self.held: dict = {}  # item -> who has it until when
        self.label: dict = {}
        self.asked: set = set()

    def ask(self, who):
        lease = self.rng.choice(["5m", "1h"])
        questions = self.case.study.ask(self.rng.randint(1, 5), who, lease, self.rng.randint(1, 6))
        for question in questions:
            holder, until = self.held.get(question.item, (None, self.case.clock.now))
            free = until <= self.case.clock.now or (who is not None and holder == who)
            assert free, f"{question.item} is held by {holder}"
            assert question.item not in self.label
            minutes = 5 if lease == "5m" else 60
            self.held[question.item] = who, self.case.clock.now + timedelta(minutes=minutes)
            self.asked.add(question.item)

    def tell(self, who):
        for item in self.rng.sample(sorted(self.asked), min(3, len(self.asked))):
            if self.label.get(item) is None:
                self.label[item] = self.case.label[item]
                self.case.study.tell({item: self.label[item]}, who)
                self.held.pop(item, None)

    def skip(self, who):
        waiting = sorted(self.asked - self.label.keys())
        if waiting:
            item = self.rng.choice(waiting)
            self.case.study.skip(item, "unclear", who)
            self.label[item] = None
            self.held.pop(item, None)

    def correct(self, who):
        if self.label:
            item = self.rng.choice(sorted(self.label))
            self.label[item] = self.rng.choice([0, 1, None])
            self.case.study.correct(item, self.label[item], "slip", who)

    def release(self, who):
        if who is not None:
            self.case.study.release(who)
            self.held = {item: held for item, held in self.held.items() if held[0] != who}

    def pause(self, who):
        self.case.clock.move(minutes=self.rng.choice([1, 10, 90]))

    def reopen(self, who):
        self.case.study.close()
        self.case.study = hs.Study.open(self.case.path, clock=self.case.clock)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("seed", range(2))
def test_whatever_people_do_the_file_tells_the_same_story_again(
    make_study, make_pool, same, design, seed
):
    rng = random.Random(f"{design} {seed}")
    case = make_study(make_pool(rng.choice([12, 60, 400]), seed=seed, strata=4), design=design)
    day = Day(case, rng)
    work = ["ask"] * 5 + ["tell"] * 8 + ["skip", "correct", "release", "pause", "reopen"]
    for _ in range(80):
        getattr(day, rng.choice(work))(rng.choice(PEOPLE))
    found = {answer.item: answer.label for answer in case.study.answers}
    assert found == day.label
    estimate = case.study.estimate()
    waiting = {question.item for question in case.study.pending}
    assert waiting >= day.asked - day.label.keys()  # and what was drawn, but not handed out
    assert not waiting & day.label.keys()
    case.study.close()
    verdict = verify(case.path)
    assert verdict.ok, verdict.findings
    assert same(verdict.estimate, estimate)
    with hs.Study.open(case.path) as again:
        assert same(again.estimate(), estimate)


def test_work_in_threads_is_a_serial_evaluation(make_study, make_pool, same):
    """The journal, told to hs.Evaluation line by line, gives the same draws and estimate."""
    case = make_study(make_pool(2000))

    def work(name):
        for _ in range(10):
            case.answer(3, name)

    threads = [threading.Thread(target=work, args=(f"t{k}",)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ev = hs.Evaluation(case.pool, "f1", "adaptive", random_state=1)
    for entry in case.study.entries:
        if entry.kind == "stage":
            items = [question.item for question in ev.ask(entry.data["labels"])]
            assert items == [row[0] for row in entry.data["new"]]
        elif entry.kind == "answer":
            ev.tell(dict(entry.data["labels"]))
    assert ev.n_labels == 120
    assert same(case.study.estimate(), ev.estimate())
