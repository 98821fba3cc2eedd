"""A running server and others who look at its file: nothing that was acknowledged is lost."""

from __future__ import annotations

import csv
import io
import shutil

import pytest
from live_server import Server, haystat

import haystat as hs
from haystat.study import verify

pytestmark = pytest.mark.skipif("os.name == 'nt'", reason="signals of POSIX")


def label_of(item):
    return int(item % 3 == 0)


@pytest.fixture
def server(study_file):
    found = Server(study_file[0])
    yield found
    if found.process.poll() is None:
        found.kill()


def on_disk(path):
    verdict = verify(path)
    assert verdict.ok, verdict.findings
    with hs.Study.open(path) as study:
        assert repr(study.estimate().values) == repr(verdict.estimate.values)
        return {answer.item: answer.label for answer in study.answers}


def test_a_look_from_outside_costs_no_answer_when_the_server_is_killed(server, study_file):
    told = server.answer(10, "ann", label_of)
    server.first_event()
    for look in ("/report", "/study.haystat", "/answers.csv"):
        assert server.call(look)[0] == 200
    haystat("status", study_file[0])
    told |= server.answer(20, "ann", label_of)
    server.kill()
    assert on_disk(study_file[0]) == told


def test_answers_of_the_command_line_survive_the_end_of_the_server(server, study_file, tmp_path):
    path = study_file[0]
    told = server.answer(10, "ann", label_of)
    server.call("/report")
    haystat("status", path)
    told |= server.answer(10, "ann", label_of)
    asked = csv.DictReader(io.StringIO(haystat("ask", path, "-n", 5, "--annotator", "bob").stdout))
    mine = {int(row["item"]): label_of(int(row["item"])) for row in asked}
    answers = tmp_path / "mine.csv"
    answers.write_text("item,label\n" + "".join(f"{i},{v}\n" for i, v in mine.items()))
    haystat("tell", path, answers, "--annotator", "bob")
    server.stop()
    assert mine.keys().isdisjoint(told)
    assert on_disk(path) == told | mine


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_server_says_recorded_after_the_log_is_on_disk(study_file, tmp_path):
    seen = tmp_path / "calls"
    kinds = "trace=fdatasync,fsync,write,writev,sendto,sendmsg"
    before = ["strace", "-D", "-f", "-y", "-s", "4096", "-e", kinds, "-o", str(seen)]
    try:
        server = Server(study_file[0], before)
    except AssertionError as error:
        pytest.skip(f"no right to trace: {error}")
    told = server.answer(15, "ann", label_of)
    server.stop()
    n_recorded, synced = 0, False
    for line in seen.read_text().splitlines():
        synced |= "sync" in line and "-wal" in line
        if '\\"recorded\\"' in line:
            assert synced, "acknowledged before it was on disk"
            n_recorded, synced = n_recorded + 1, False
    assert n_recorded == 15
    assert on_disk(study_file[0]) == told
