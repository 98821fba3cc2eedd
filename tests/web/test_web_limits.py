"""What is too much is refused before the work, and nobody waits for what takes long."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from web_case import calling, in_a_thread

import haystat as hs
from haystat.core.drafts import draft_of, remove_dead_drafts
from haystat.errors import StorageFull
from haystat.web import upload_limits
from haystat.web.fields import MOST_COLUMNS, MOST_MEASURES
from haystat.web.uploads import receive

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

WISH = {"score": "score", "id": "id", "name": "made"}


@pytest.fixture
def unread(monkeypatch):
    """Whoever reads a whole table fails."""

    def refuse(*_, **__):
        raise AssertionError("the file was read before it was measured")

    monkeypatch.setattr("haystat.core.tables._read", refuse)
    monkeypatch.setattr("pyarrow.dataset.dataset", refuse)


def wide_csv(path):
    names = ["id", "score", *(f"c{k}" for k in range(50_000))]
    path.write_text(",".join(names) + "\n" + ",".join("0" for _ in names) + "\n")


def long_csv(path):
    path.write_bytes(b"id,score\n" + b"1,0\n" * (upload_limits.MOST_ROWS + 10))


def old_mac_csv(path):
    path.write_bytes(b"id,score\n" + b"1,0\r" * (upload_limits.MOST_ROWS + 10))


def one_line_csv(path):
    path.write_bytes(b"id,score," + b"x" * upload_limits.LONGEST_LINE + b"\n1,0,1\n")


def long_parquet(path):
    zeros = pa.array(np.zeros(upload_limits.MOST_ROWS + 1, dtype=np.int8))
    parquet.write_table(pa.table({"id": zeros, "score": zeros}), path)


def wide_parquet(path):
    parquet.write_table(pa.table({f"c{k}": [1] for k in range(MOST_COLUMNS + 1)}), path)


def repeated_text(path):
    ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(6000, dtype=np.int32)), ["x" * 100_000])
    scores = pa.array(np.linspace(0, 1, 6000))
    parquet.write_table(pa.table({"id": ids, "score": scores}), path, store_schema=False)


def shared_prefix(path):
    texts = ["x" * 100_000 + str(k) for k in range(600)]
    table = pa.table({"id": texts, "score": np.linspace(0, 1, 600)})
    encoding = {"id": "DELTA_BYTE_ARRAY", "score": "PLAIN"}
    parquet.write_table(table, path, use_dictionary=False, column_encoding=encoding)


def long_lists(path):
    values = pa.array(np.zeros(upload_limits.MOST_CELLS + 1, dtype=np.int8))
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, upload_limits.MOST_CELLS + 1], pa.int32()), values
    )
    parquet.write_table(pa.table({"id": lists, "score": [0.1, 0.2]}), path)


BOMBS = {
    "wide.csv": wide_csv,
    "long.csv": long_csv,
    "mac.csv": old_mac_csv,
    "line.csv": one_line_csv,
    "long.parquet": long_parquet,
    "wide.parquet": wide_parquet,
    "texts.parquet": repeated_text,
    "prefix.parquet": shared_prefix,
    "lists.parquet": long_lists,
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_would_fill_the_memory_is_refused_before_it_is_read(
    study_file, unread, monkeypatch, name
):
    monkeypatch.setattr(upload_limits, "LARGEST_TEXT", 1 << 25)
    folder = study_file[0].parent
    BOMBS[name](folder / name)
    (folder / "small.csv").write_text("id,score\n1,0.5\n2,0.7\n")
    with calling(study_file[0]) as caller:
        for path, given in (
            ("/api/studies", {"file": name}),
            ("/api/plan", {"file": name}),
            ("/api/studies", {"file": "small.csv", "known": name}),
        ):
            found = caller.post(path, {**WISH, **given})
            assert found.status_code == 422, found.text
            assert name in found.json()["error"]
            assert str(folder) not in found.text
    assert not (folder / "made.haystat").exists()


@pytest.mark.parametrize("name", ["wide.csv", "line.csv", "wide.parquet"])
def test_a_preview_of_too_many_columns_is_refused(study_file, unread, name):
    BOMBS[name](study_file[0].parent / name)
    with calling(study_file[0]) as caller:
        assert caller.get("/api/preview", params={"file": name}).status_code == 422


def test_a_small_file_takes_little_memory_however_much_it_unpacks_to(tmp_path):
    long_parquet(tmp_path / "long.parquet")
    repeated_text(tmp_path / "texts.parquet")
    code = (
        "import resource, pyarrow.parquet, pyarrow.compute, pathlib\n"
        "from haystat.errors import FileError\n"
        "from haystat.web.upload_limits import check_table\n"
        "from haystat.web.uploads import preview\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"for path in pathlib.Path({str(tmp_path)!r}).iterdir():\n"
        "    try: preview(path), check_table(path, ['id', 'score'])\n"
        "    except FileError as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert not done.returncode, done.stderr
    *refusals, kilobytes = done.stdout.splitlines()
    assert len(refusals) == 2, done.stderr
    assert int(kilobytes) < 200_000  # unpacked they are 600 MB


def test_what_fits_is_read(study_file):
    folder = study_file[0].parent
    texts = ["a text that comes again"] * 3000
    columns = {"id": np.arange(3000), "score": np.linspace(0, 1, 3000), "text": texts}
    parquet.write_table(pa.table(columns), folder / "ok.parquet")
    with calling(study_file[0]) as caller:
        made = caller.post("/api/studies", {**WISH, "file": "ok.parquet", "show": ["text"]})
        assert made.status_code == 201, made.text
        (question,) = caller.post("/api/ask?study=made", {}).json()["questions"]
    assert question["record"] == {"text": texts[0]}


def test_replies_are_limited_and_every_question_is_reached(tmp_path):
    pool = hs.Pool(np.linspace(0, 1, 40), strata=4)
    show = {f"text{k}": [f"{i} " + "x" * 30_000 for i in range(40)] for k in range(12)}
    hs.Study.create(tmp_path / "s.haystat", pool, random_state=0, show=show).close()
    seen = set()
    with calling(tmp_path / "s.haystat") as caller:
        for _ in range(40):
            found = caller.post("/api/ask", {"n": 40, "annotator": "ann"})
            assert len(found.content) < 1.1 * upload_limits.LARGEST_REPLY
            questions = found.json()["questions"]
            if not questions:
                break
            record = questions[0]["record"]
            assert record["text0"].endswith("letters in all)")
            assert sum(len(text) for text in record.values()) < 1.1 * upload_limits.LARGEST_RECORD
            answers = [{"item": q["item"], "label": 0} for q in questions]
            given = {"answers": answers, "annotator": "ann"}
            assert caller.post("/api/tell", given).status_code == 200
            seen |= {q["item"] for q in questions}
    assert seen == set(range(40))


def test_measures_are_counted_before_they_are_estimated(caller):
    many = caller.get("/api/estimate", params={"measure": ",".join(["f1"] * 3000)})
    assert many.status_code == 400
    assert f"<= {MOST_MEASURES}" in many.json()["error"]
    twice = caller.get("/api/estimate", params={"measure": "f1,f1,recall"}).json()
    assert [part["name"] for part in twice["components"]] == ["f1", "recall"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/estimate?measure=precision",
        "/api/status",
        "/answers.csv",
        "/report?format=json",
        "/study.haystat",
    ],
)
def test_reading_does_not_wait_for_writing_nor_writing_for_it(caller, path):
    caller.get("/api/study")
    room = caller.client.app.state.study_folder._rooms["pairs"]
    release, waited = threading.Event(), []
    room.queue._thread.submit(lambda: waited.append(release.wait(60)))
    found = caller.get(path)
    assert (found.status_code, waited) == (200, [])  # the thread that writes is still busy
    release.set()


# --- ids


NASTY_IDS = [
    "tab\there",
    "line\nend",
    "bell\x07",
    "nul\x00end",
    "\x1b[31mred",
    "x" * 3000,
    "\x7f",
    "\u2028",
]


def test_every_id_that_is_handed_out_can_be_answered(tmp_path):
    ids = NASTY_IDS + [f"plain {k}" for k in range(40)]
    pool = hs.Pool(np.linspace(0, 1, len(ids)), ids=ids, strata=4)
    hs.Study.create(tmp_path / "s.haystat", pool, random_state=0).close()
    with calling(tmp_path / "s.haystat") as caller:
        asked = caller.post("/api/ask", {"n": 200, "annotator": "ann"}).json()["questions"]
        items = [question["item"] for question in asked]
        assert set(NASTY_IDS) <= set(items)
        for item in items[::2]:
            answers = [{"item": item, "label": 1}]
            found = caller.post("/api/tell", {"answers": answers, "annotator": "ann"})
            assert found.json() == {"taken": [{"item": item, "outcome": "recorded"}]}
        for item in items[1::2]:
            given = {"item": item, "annotator": "ann", "text": "look again"}
            assert caller.post("/api/note", given).status_code == 200
            assert caller.post("/api/skip", given).status_code == 200
    assert hs.study.verify(tmp_path / "s.haystat").ok


def test_ids_that_browsers_cannot_hold_as_numbers_come_as_texts(tmp_path):
    ids = [2**53 + 1 + k for k in range(40)]
    pool = hs.Pool(np.linspace(0, 1, 40), ids=ids, strata=4)
    hs.Study.create(tmp_path / "s.haystat", pool, random_state=0).close()
    with calling(tmp_path / "s.haystat") as caller:
        (question,) = caller.post("/api/ask", {}).json()["questions"]
        assert int(question["item"]) in ids
        assert isinstance(question["item"], str)
        answers = [{"item": question["item"], "label": 1}]
        assert caller.post("/api/tell", {"answers": answers}).status_code == 200


def test_a_whole_number_may_be_written_as_one_point_zero(caller):
    asked = caller.client.post(
        "/api/ask",
        content=b'{"n": 2.0}',
        headers={"content-type": "application/json", "x-haystat-csrf": caller.csrf},
    )
    assert len(asked.json()["questions"]) == 2
    assert caller.post("/api/ask", {"n": 2.5}).status_code == 400
    assert caller.post("/api/ask", {"n": "2"}).status_code == 400


# --- drafts


def dead_process():
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_what_a_killed_server_left_is_removed_at_the_next_start(study_file):
    path, folder, dead = study_file[0], study_file[0].parent, dead_process()
    left = [f".upload-{'0' * 16}.{dead}.part", f".x.haystat.{dead}.part"]
    left += [f".x.haystat.{dead}.part-journal", f".y.haystat.{os.getpid()}.part"]
    kept = [f".upload-{'1' * 16}.{os.getppid()}.part", f".z.{dead}.part", ".hidden.part"]
    for name in left + kept:
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (1, 1))  # a container's new server has the number of the old one
    with calling(path) as caller:
        assert caller.get("/api/study").status_code == 200
    assert sorted(p.name for p in folder.glob(".*")) == sorted(kept)


def test_an_upload_that_dies_leaves_a_draft_that_can_be_told(tmp_path):
    code = (
        "import asyncio, os, pathlib, sys\n"
        "from haystat.web.uploads import receive\n"
        "async def parts():\n"
        "    yield b'id,score\\n'\n"
        "    os.kill(os.getpid(), 9)\n"
        f"asyncio.run(receive(pathlib.Path({str(tmp_path)!r}), 'pool.csv', parts(), 1000))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == -9
    assert len(list(tmp_path.iterdir())) == 1
    remove_dead_drafts(tmp_path, "upload-.*")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["answers.csv", "pool.sketch"])
def test_a_file_written_again_removes_the_draft_of_a_dead_process(tmp_path, name):
    left = tmp_path / f".{name}.{dead_process()}.part"
    left.write_bytes(b"x")
    other = tmp_path / f".{name}.{os.getppid()}.part"
    other.write_bytes(b"x")
    assert draft_of(tmp_path / name).parent == tmp_path
    assert not left.exists()
    assert other.exists()


def test_drafts_of_one_name_are_apart_and_a_name_may_be_as_long_as_can_be(tmp_path):
    path = tmp_path / ("é" * 125 + ".csv")
    drafts = [draft_of(path) for _ in range(2)]
    for draft in drafts:
        draft.write_bytes(b"x")
    assert len(set(drafts)) == 2
    left = drafts[0].rename(str(drafts[0]).replace(f".{os.getpid()}-", f".{dead_process()}-"))
    draft_of(path)
    assert not left.exists()
    assert drafts[1].exists()


def test_an_upload_that_finds_no_room_is_a_full_disk_and_leaves_nothing(tmp_path):
    async def parts():
        yield b"id,score\n"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StorageFull, match=r"pool\.csv cannot be written: No space left"):
        in_a_thread(asyncio.run, receive(tmp_path, "pool.csv", parts(), 1000))
    assert list(tmp_path.iterdir()) == []
