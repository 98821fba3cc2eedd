"""The contract of a journal: two methods, the same in memory and in SQLite."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from haystat.errors import StudyError
from haystat.loop.journal import MemoryStore, moment, stamp
from haystat.study.store import Store

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def in_memory(path):
    return MemoryStore()


def in_sqlite(path):
    with Store.create(path / "a.haystat"):
        pass
    return Store(path / "a.haystat")


STORES = {"memory": in_memory, "sqlite": in_sqlite}


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    found = STORES[request.param](tmp_path)
    yield found
    found.close()


def fill(store, n, last=None):
    with store.write() as journal:
        for number in range(n):
            last = journal.append(last, "note", {"text": f"no. {number}"}, "ann", NOW)
    return last


def test_what_is_appended_is_read_in_order(store):
    fill(store, 3)
    with store.read() as journal:
        entries = list(journal.read())
    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert [entry.data for entry in entries] == [{"text": f"no. {k}"} for k in range(3)]
    assert {(entry.kind, entry.who, moment(entry.time)) for entry in entries} == {
        ("note", "ann", NOW)
    }


def test_reading_goes_on_after_the_entry_that_was_seen_last(store):
    last = fill(store, 2)
    with store.read() as journal:
        assert list(journal.read(last)) == []
    fill(store, 2, last)
    with store.read() as journal:
        assert [entry.seq for entry in journal.read(last)] == [3, 4]


def test_a_block_that_fails_leaves_nothing(store):
    last = fill(store, 1)

    def failing():
        with store.write() as journal:
            journal.append(last, "note", {"text": "lost"}, None, NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    with store.read() as journal:
        assert [entry.data["text"] for entry in journal.read()] == ["no. 0"]
    fill(store, 1, last)


def test_times_survive(store):
    assert moment(stamp(NOW)) == NOW


def test_a_journal_in_sqlite_is_read_along_its_chain(tmp_path):
    store = in_sqlite(tmp_path)
    last = fill(store, 2)
    with store.read() as journal, pytest.raises(StudyError, match="changed after"):
        list(journal.read(type(last)(1, last.time, "note", "ann", last.payload, "0" * 64)))
    store.close()
