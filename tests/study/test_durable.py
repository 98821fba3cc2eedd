"""An answer is acknowledged after it is on disk, not before."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import haystat as hs

TELL = """
import os, sys, haystat as hs
with hs.Study.open(sys.argv[1]) as study:
    for question in study.ask(12, "ann"):
        study.tell({question.item: 1}, "ann")
        os.write(1, b"acknowledged\\n")
    with study.together():
        study.tell({question.item: 0 for question in study.ask(5, "ann")}, "ann")
    os.write(1, b"acknowledged\\n")
"""


@pytest.fixture
def calls(case):
    """Every call that writes to the study, each as one transaction."""
    first, second, third = (question.item for question in case.study.ask(3, "ann"))
    return {
        "tell": lambda: case.study.tell({first: 1}, "ann"),
        "correct": lambda: case.study.correct(first, 0, "a slip", "ann"),
        "skip": lambda: case.study.skip(second, "torn", "ann"),
        "note": lambda: case.study.note("a remark", "ann"),
        "release": lambda: case.study.release("ann", [third]),
        "ask": lambda: case.study.ask(2, "ann"),
    }


def test_every_call_ends_with_a_commit_that_waits_for_the_disk(case, calls):
    for name, call in calls.items():
        connection = case.study._store.connection()
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,), name  # FULL
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",), name
        seen = []
        connection.set_trace_callback(seen.append)
        call()
        connection.set_trace_callback(None)
        writing = seen[seen.index("BEGIN IMMEDIATE") :]
        inserted = max(i for i, text in enumerate(writing) if text.startswith("INSERT"))
        assert "COMMIT" in writing[inserted:], name
        assert not connection.in_transaction


def test_a_connection_that_is_opened_again_waits_for_the_disk_too(case):
    assert case.study._store.hang_up()
    connection = case.study._store.connection()
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_kernel_has_written_the_log_before_each_acknowledgement(case, tmp_path):
    case.study.close()
    seen = tmp_path / "calls"
    watched = ["strace", "-f", "-y", "-e", "trace=fdatasync,fsync,write", "-o", str(seen)]
    command = [*watched, sys.executable, "-c", TELL, str(case.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("no right to trace")
    assert done.returncode == 0, done.stderr
    n_acknowledged, synced = 0, False
    for line in seen.read_text().splitlines():
        if "sync(" in line and f"{case.path.name}-wal" in line and line.endswith("= 0"):
            synced = True
        elif '"acknowledged' in line:
            assert synced, "acknowledged before it was on disk"
            n_acknowledged, synced = n_acknowledged + 1, False
    assert n_acknowledged == 13
    with hs.Study.open(case.path) as study:
        assert study.n_labels == 17
