"""Sudden death, full disks, read-only files, flipped bytes, files of others and of the future."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import haystat as hs
from haystat.errors import StorageError, StorageFull, StudyError
from haystat.study import store, verify

ROUNDS = 20


@pytest.mark.slow
def test_killed_in_the_middle_by_four_processes_nothing_acknowledged_is_lost(
    tmp_path, make_study, make_pool
):
    case = make_study(make_pool(20_000), candidates=5000)
    case.study.close()
    logs = tmp_path / "logs"
    logs.mkdir()
    script = Path(__file__).with_name("crash.py")
    command = [sys.executable, str(script), str(case.path), str(logs), str(ROUNDS), "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) == ROUNDS
    assert rounds[-1]["acknowledged"] > 4 * ROUNDS  # something was going on


def until_it_fails(action):
    for _ in range(500):
        action()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte; needs the right to mount."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_one_clear_error_and_the_file_stays_intact(small_disk, make_pool, same):
    pool, label = make_pool(5000)
    path = small_disk / "study.haystat"
    with hs.Study.create(path, pool, random_state=0) as study:
        items = [question.item for question in study.ask(40)]
        study.tell({item: label[item] for item in items[:20]})
        room = os.statvfs(small_disk)
        (small_disk / "filler").write_bytes(bytes(room.f_bavail * room.f_bsize))
        n_entries = len(study.entries)
        with pytest.raises(StorageFull, match=r"disk is full.*what was recorded before is intact"):
            until_it_fails(lambda: study.note("x" * 3000))
        assert study.n_labels == 20
        assert len(study.entries) >= n_entries
        (small_disk / "filler").unlink()
        study.tell({item: label[item] for item in items})
        assert study.n_labels == 40
    assert verify(path).ok
    room = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes(room.f_bavail * room.f_bsize))
    with pytest.raises(StorageFull, match="disk is full"):
        hs.Study.create(small_disk / "second.haystat", pool)
    assert {file.name for file in small_disk.iterdir()} == {"filler", "study.haystat"}


def test_a_file_that_may_not_grow_is_one_clear_error(case, same):
    case.answer(20)
    before = case.study.estimate()
    items = [question.item for question in case.study.ask(5)]
    connection = case.study._store.connection()
    (n_pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {n_pages}")
    with pytest.raises(StorageFull, match="disk is full"):
        until_it_fails(lambda: case.study.note("x" * 2000))
    assert same(case.study.estimate(), before)
    connection.execute("PRAGMA max_page_count = 1000000")
    case.study.tell({item: case.label[item] for item in items})
    assert verify(case.path).ok


def test_a_read_only_disk_can_be_read_and_not_written(small_disk, make_pool):
    pool, label = make_pool()
    path = small_disk / "study.haystat"
    with hs.Study.create(path, pool, random_state=0) as study:
        study.tell({question.item: label[question.item] for question in study.ask(20)})
        value = study.estimate().value
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with hs.Study.open(path) as study:
        assert study.estimate().value == value
        with pytest.raises(StorageError, match="read-only; copy it"):
            study.ask(1)
    assert verify(path).ok


def test_a_study_opened_read_only_refuses_to_write(case):
    case.answer(10)
    with hs.Study.open(case.path, read_only=True) as study:
        assert study.n_labels == 10
        case.answer(5)
        assert study.n_labels == 15
        with pytest.raises(StorageError, match="read-only"):
            study.note("x")


def flipped(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x04
    path.write_bytes(content)


def test_verify_says_which_entry_was_changed(case):
    for _ in range(6):
        case.answer(10)
    case.study.close()
    entries = None
    with hs.Study.open(case.path) as study:
        entries = study.entries
    content = case.path.read_bytes()
    for entry in entries[1:]:
        place = content.index(entry.payload.encode()) + len(entry.payload) // 2
        flipped(case.path, place)
        verdict = verify(case.path)
        assert not verdict.ok
        assert verdict.findings[0].entry == entry.seq, verdict.findings
        with pytest.raises(StudyError, match=f"entry {entry.seq} "):
            hs.Study.open(case.path)
        flipped(case.path, place)
    assert verify(case.path).ok


def test_any_flipped_byte_is_found_or_harmless(case, same):
    for _ in range(3):
        case.answer(10)
    case.study.close()
    content = case.path.read_bytes()
    with hs.Study.open(case.path) as study:
        right = study.estimate()
    rng = np.random.default_rng(0)
    filled = np.flatnonzero(np.frombuffer(content, dtype=np.uint8))  # two thirds are empty space
    found = 0
    for position in rng.choice(filled, 200, replace=False).tolist():
        case.path.write_bytes(content)
        flipped(case.path, position)
        try:
            verdict = verify(case.path)
        except StudyError:
            found += 1
            continue
        found += not verdict.ok
        if verdict.ok:  # a byte that carries nothing, such as a letter of the table's definition
            assert same(verdict.estimate, right)
        for suffix in ("-wal", "-shm"):
            case.path.with_name(case.path.name + suffix).unlink(missing_ok=True)
    assert found > 190


def test_candidates_that_cannot_be_read_any_more_are_one_error(case, monkeypatch):
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorname = "SQLITE_CORRUPT"
    broken = Mock(execute=Mock(side_effect=error))
    monkeypatch.setattr(case.study.pool.items, "_connect", lambda: broken)
    with pytest.raises(StudyError, match="are damaged"):
        case.study.pool.items.take(0, 1)


def test_an_edit_that_mends_the_chain_is_found_by_the_replay(case):
    """Somebody drops the triggers, changes a weight and writes all hashes anew."""
    case.answer(10)
    case.answer(10)
    case.study.close()
    from haystat.study import sqlite_journal

    with sqlite3.connect(case.path) as connection:
        entries = list(sqlite_journal.entries(connection))
        stage = next(entry for entry in entries if entry.kind == "stage")
        stage.data["new"][0][3] *= 2
        connection.execute("DROP TRIGGER journal_keeps_entries")
        last = None
        for entry in entries:
            payload = sqlite_journal.canonical(entry.data)
            mended = sqlite_journal.chained(
                "" if last is None else last, entry.seq, entry.time, entry.kind, entry.who, payload
            )
            row = (payload, mended, entry.seq)
            connection.execute("UPDATE journal SET payload = ?, hash = ? WHERE seq = ?", row)
            last = mended
    verdict = verify(case.path)
    assert str(verdict.findings[0]).startswith(f"entry {stage.seq}: the weight of item")


def test_a_changed_sketch_and_a_missing_entry_are_found(case):
    case.answer(10)
    case.study.close()
    original = case.path.read_bytes()
    changes = {
        "sketch was changed": "UPDATE candidates SET content = zeroblob(9)",
        "journal has no beginning": "DELETE FROM journal WHERE seq = 1",
        "entry 3 is missing": "DELETE FROM journal WHERE seq = 3",
    }
    for expected, change in changes.items():
        case.path.write_bytes(original)
        with sqlite3.connect(case.path) as connection:
            connection.execute("DROP TRIGGER journal_loses_nothing")
            connection.execute(change)
        connection.close()
        assert any(expected in str(finding) for finding in verify(case.path).findings), expected


def test_the_journal_refuses_updates_and_deletions(case):
    case.answer(5)
    with sqlite3.connect(case.path) as connection:
        for change in ("UPDATE journal SET who = 'x'", "DELETE FROM journal"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(change)


def test_files_that_are_no_studies_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no study"):
        hs.Study.open(tmp_path / "nothing")
    for name, content in {"empty": b"", "text": b"hello", "folder.csv": b"a,b\n" * 1000}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StudyError, match="not a haystat study"):
            hs.Study.open(tmp_path / name)
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(StudyError, match="not a haystat study"):
        hs.Study.open(tmp_path / "other.db")
    (tmp_path / "cut").write_bytes(b"SQLite format 3\x00" + b"\x00" * 5)
    with pytest.raises(StudyError):
        hs.Study.open(tmp_path / "cut")


def test_a_newer_format_is_refused_and_an_older_one_is_brought_up_to_date(case, monkeypatch):
    case.answer(10)
    value = case.study.estimate().value
    case.study.close()
    newer = (*store.MIGRATIONS, "CREATE TABLE extra (x);")
    with monkeypatch.context() as patch:
        patch.setattr(store, "MIGRATIONS", newer)
        with hs.Study.open(case.path) as study:
            assert study.estimate().value == value
    with pytest.raises(StudyError, match=r"format is 2, this one reads up to 1; pip install -U"):
        hs.Study.open(case.path)


def test_a_study_left_open_by_the_dead_is_whole(case, same):
    """The write-ahead log of a killed process is folded in by the next one."""
    case.answer(20)
    copy = case.path.with_name("left.haystat")
    for suffix in ("", "-wal"):
        shutil.copy(f"{case.path}{suffix}", f"{copy}{suffix}")
    with hs.Study.open(copy) as study:
        assert same(study.estimate(), case.study.estimate())
