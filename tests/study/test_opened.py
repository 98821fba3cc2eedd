"""One process, several descriptors, forks: locks that SQLite believes in are real."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.errors import BadOption, StudyError
from haystat.study import verify
from haystat.study.open_files import is_open_here

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="locks and forks of POSIX")

LOOK = "import sys, haystat as hs; hs.Study.open(sys.argv[1]).close()"


def look_from_outside(path):
    subprocess.run([sys.executable, "-c", LOOK, str(path)], check=True, timeout=60)


def in_child(action):
    """Run an action in a forked process, which then dies at once; whether it succeeded."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_a_second_look_in_the_process_leaves_its_locks(case):
    def work():
        with hs.Study.open(case.path) as study:
            hs.Study.open(case.path, read_only=True).close()
            verify(case.path)
            look_from_outside(case.path)
            study.tell({q.item: case.label[q.item] for q in study.ask(20)})
            os._exit(0)  # sudden death

    case.answer(10)
    case.study.close()
    assert in_child(work)
    with hs.Study.open(case.path) as study:
        assert study.n_labels == 30
    assert verify(case.path).ok


def test_a_study_that_was_open_before_a_fork_loses_nothing_after_it(case):
    gone, close = os.pipe()

    def work():
        os.read(gone, 1)  # until the parent has closed the file
        case.study.tell({q.item: case.label[q.item] for q in case.study.ask(5)}, "child")
        look_from_outside(case.path)
        case.study.tell({q.item: case.label[q.item] for q in case.study.ask(15)}, "child")

    case.answer(10)
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    case.answer(3)
    case.study.close()
    os.write(close, b"x")
    os.waitpid(child, 0)
    with hs.Study.open(case.path) as study:
        assert study.n_labels == 33
    assert verify(case.path).ok


def test_a_child_of_a_transaction_may_not_touch_the_file(case):
    def refused():
        with pytest.raises(StudyError, match=r"forked inside a transaction.*spawn"):
            case.study.ask(1)
        with pytest.raises(StudyError, match=r"forked inside a transaction.*spawn"):
            hs.Study.open(case.path)

    with case.study.together():
        case.answer(5)
        assert in_child(refused)
        case.answer(5)
    assert case.study.n_labels == 10
    assert verify(case.path).ok


def test_what_is_no_study_is_left_as_it_is(tmp_path):
    (tmp_path / "empty").touch()
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path in before:
        with pytest.raises(StudyError, match="not a haystat study"):
            hs.Study.open(path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_closed_study_says_so(case):
    case.study.close()
    assert not is_open_here(case.path)
    with pytest.raises(StudyError, match="was closed; open it again"):
        case.study.ask(1)


def test_a_report_does_not_take_the_place_of_its_study(case):
    case.answer(5)
    for name in (case.path, case.path.with_name("link.md")):
        if not name.exists():
            name.symlink_to(case.path)
        command = ["report", str(case.path), "--format", "md", "--out", str(name)]
        result = CliRunner().invoke(app, command)
        assert isinstance(result.exception, BadOption)
    assert verify(case.path).ok
