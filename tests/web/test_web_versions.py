"""A study that goes on from an earlier version, on the page."""

from __future__ import annotations

import pytest
from web_case import calling, make_pool, make_study, serving

import haystat as hs
from haystat.errors import StorageFull
from haystat.study import PoolFile, verify
from haystat.web.options import PageOptions, keep_options, kept_options

pytestmark = [pytest.mark.xdist_group("browser")]


@pytest.fixture
def versions(tmp_path):
    """Studies of two versions, each with answers."""
    first, labels = make_study(tmp_path / "pairs.haystat")
    with first:
        first.tell({question: int(labels[question.item]) for question in first.ask(60)})
        pool, path = make_pool(seed=1)[0], tmp_path / "later.haystat"
        with first.next(pool, "march <1>", path=path) as later:
            later.tell({question: int(labels[question.item]) for question in later.ask(20)})
            return first.path, later.path


def test_the_page_has_a_line_over_the_versions(versions, open_page):
    first, later = versions
    with calling(first) as caller:
        assert "From version to version" not in caller.get("/watch").text
    with serving(later) as address:
        page = open_page(f"{address}/watch")
        page.wait_for_selector("#versions canvas")
        rows = page.locator("#versions ~ .table tbody tr").all_text_contents()
        page.goto("about:blank")  # or it would miss its server
    assert [row[:9] for row in rows] == ["v1" + rows[0][2:9], "march <1>"]
    assert "to" in rows[0]


@pytest.fixture
def tabled(tmp_path):
    """A study of a table, with answers, and the table of the next month."""
    rows = [
        f"p{i},{(i * 37 % 1000) / 1000},{int(i * 37 % 1000 > 600)},text {i}" for i in range(900)
    ]
    lines = ["id,score,pred,text", *rows]
    (tmp_path / "january.csv").write_text("\n".join(lines))
    later = [row.replace(f"text {i}", f"later {i}") for i, row in enumerate(rows) if i % 9]
    (tmp_path / "february.csv").write_text("\n".join([lines[0], *later]))
    path = tmp_path / "cats.haystat"
    source = PoolFile(str(tmp_path / "january.csv"), ("score",), "id", ("pred",), show=("text",))
    with hs.Study.create(path, source, random_state=1) as study:
        keep_options(study, PageOptions(prompt="A cat?", names=("no cat", "cat")))
        study.tell({question: int(question.item[1:]) % 2 for question in study.ask(90)})
        return path, sum(int(q.item[1:]) % 9 > 0 for q in study.answers)


def test_a_version_is_that_of_the_library_and_asks_as_before(tabled):
    path, kept = tabled
    with calling(path) as caller:
        made = caller.post("/api/next", {"file": "february.csv", "name": "v2"})
        assert made.status_code == 201, made.text
        assert made.json() == {"study": "cats-v2", "items": 800}
        about = caller.get("/api/study?study=cats-v2").json()
        assert (about["prompt"], about["names"]) == ("A cat?", ["no cat", "cat"])
        asked = caller.post("/api/ask?study=cats-v2", {"n": 9}).json()["questions"]
        change = caller.get("/api/change?study=cats-v2").json()
        first = caller.get("/api/change?study=cats")
        assert (first.status_code, "first version" in first.json()["error"]) == (422, True)
        again = caller.post("/api/next?study=cats-v2", {"file": "january.csv", "name": "v3"})
        assert again.json()["study"] == "cats-v3"
    with hs.Study.open(path) as study:
        source = PoolFile.recorded(study.settings["source"], path).anew(
            str(path.parent / "february.csv")
        )
        with study.next(source, "v2", path=path.parent / "hand.haystat") as hand:
            assert hand.n_carried == kept
            expected = sorted((q.item, q.record["text"]) for q in hand.ask(9))
            assert change["sentence"] == str(hs.change(study, hand))
    assert sorted((q["item"], q["record"]["text"]) for q in asked) == expected
    assert verify(path.parent / "cats-v3.haystat").ok


def refused(*given, **options):
    raise StorageFull("the disk is full")


def test_a_study_is_blind_from_the_moment_its_file_is_there(tabled, monkeypatch):
    """Nothing is left to be written after the file has its name: a kill there would undo it."""
    path, _ = tabled
    wish = {"name": "dogs", "file": "january.csv", "score": "score", "id": "id"}
    with calling(path) as caller:
        monkeypatch.setattr(hs.Study, "note", refused)
        assert caller.post("/api/studies", {**wish, "blind": True}).status_code == 201
        later = {"file": "february.csv", "name": "v2"}
        assert caller.post("/api/next?study=dogs", later).status_code == 201
        assert caller.get("/api/study?study=dogs-v2").json()["blind"]
    with hs.Study.open(path.parent / "dogs-v2.haystat") as study:
        assert [entry.kind for entry in study.entries] == ["created", "carried", "note"]
        source = PoolFile.recorded(study.settings["source"], path)
        with study.next(source, "v3") as hand:  # of the library too
            assert kept_options(hand.entries).blind
    assert verify(path.parent / "dogs-v3.haystat").ok


@pytest.mark.parametrize(
    ("change", "status", "part"),
    [
        ({"file": "march.csv"}, 404, "no such file"),
        ({"file": "other.csv"}, 422, "no column"),
        ({"name": ""}, 400, "name"),
        ({"name": "a/b"}, 422, "letters, digits, spaces"),
        ({"name": "taken"}, 409, "exists already"),
        ({"ask_again": 0.7}, 400, "ask_again"),
    ],
    ids=str,
)
def test_a_version_that_cannot_be_made_says_why(tabled, change, status, part):
    path, _ = tabled
    (path.parent / "other.csv").write_text("id,points\n1,0.5\n")
    (path.parent / "cats-taken.haystat").write_bytes(path.read_bytes())
    with calling(path) as caller:
        found = caller.post("/api/next", {"file": "february.csv", "name": "v2", **change})
        assert (found.status_code, part in found.json()["error"]) == (status, True), found.text


def test_a_pool_that_is_in_no_file_or_gone_is_named(tabled, study_file):
    given = {"file": "february.csv", "name": "v2"}
    path, _ = tabled
    (path.parent / "january.csv").unlink()
    with calling(path) as caller:
        found = caller.post("/api/next", given)
        assert (found.status_code, "put the file back" in found.json()["error"]) == (422, True)
    in_memory = study_file[0]
    (in_memory.parent / "february.csv").write_text("id,score\n1,0.5\n")
    with calling(in_memory) as caller:
        found = caller.post("/api/next", given)
        assert (found.status_code, "Study.next" in found.json()["error"]) == (422, True)
    source = PoolFile(str(path.parent / "february.csv"), ("score",), "id", engine="duckdb")
    hs.Study.create(path.parent / "large.haystat", source).close()
    with calling(path.parent / "large.haystat") as caller:
        found = caller.post("/api/next", given)
        assert (found.status_code, "use haystat next" in found.json()["error"]) == (422, True)


def test_a_judges_reasons_wait_for_the_answer_in_a_version_too(tmp_path):
    pool, _ = make_pool(size=200)
    show = {"text": ["t"] * 200, "reason": ["r"] * 200}
    path = tmp_path / "judged.haystat"
    with hs.Study.create(path, pool, random_state=1, show=show, after=["reason"]) as study:
        study.tell({question: 0 for question in study.ask(5)})
        with study.next(make_pool(size=200, seed=2)[0], "v2", show=show) as later:
            assert set(later.ask(1)[0].record) == {"text"}


def test_a_manager_goes_on_from_the_page(tabled, open_page):
    path, kept = tabled
    with serving(path) as address:
        page = open_page(f"{address}/watch")
        page.click("#next-make")
        page.wait_for_selector("#next-error:not([hidden])")
        assert "Choose the file" in page.inner_text("#next-error")
        assert page.input_value("#next-name") == "v2"
        page.set_input_files("#next-upload", path.parent / "february.csv")
        page.wait_for_function("() => document.getElementById('next-file').value !== ''")
        page.click("#next-make")
        page.wait_for_url("**/watch?study=cats-v2")
        page.wait_for_selector("#versions canvas")
        rows = page.locator("#versions ~ .table tbody tr").all_inner_texts()
        assert [row.split()[0] for row in rows] == ["v1", "v2"]
        assert rows[1].split()[-1] == str(kept)
        page.click("#change-show")
        page.locator("#change", has_text="by the data").wait_for()
        page.goto("about:blank")
