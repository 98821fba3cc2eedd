"""A study made on the page: files, preview, columns, options."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from web_case import calling

import haystat as hs
from haystat import designs
from haystat.web.routes import manage
from haystat.web.uploads import guess

ROWS = [f"p{i},{(i * 37 % 1000) / 1000},{int(i * 37 % 1000 > 500)},name {i}" for i in range(800)]


@pytest.fixture
def folder(study_file):
    """A folder with a study and a table."""
    found = study_file[0].parent
    (found / "pool.csv").write_text("\n".join(["pair,score,pred,name", *ROWS]))
    return found


@pytest.fixture
def manager(folder, study_file):
    with calling(study_file[0]) as found:
        yield found


WISH = {"file": "pool.csv", "score": "score", "id": "pair", "show": ["name"]}


def test_files_and_columns_are_listed(manager):
    assert manager.get("/api/files").json() == {"files": ["pool.csv"]}
    found = manager.get("/api/preview?file=pool.csv").json()
    assert [column["name"] for column in found["columns"]] == ["pair", "score", "pred", "name"]
    assert found["columns"][1]["type"] == "number"
    assert found["columns"][0]["values"][0] == "p0"
    assert found["guess"] == {
        "id": "pair",
        "score": "score",
        "prediction": "pred",
        "show": ["name"],
        "images": [],
    }


def test_an_open_study_by_another_name_is_no_table(manager, folder, study_file):
    """Reading it as one would drop the locks of the server."""
    (folder / "linked.csv").symlink_to(study_file[0])
    (folder / "same.csv").hardlink_to(study_file[0])
    assert manager.get("/api/files").json() == {"files": ["pool.csv"]}
    for name in ("linked.csv", "same.csv"):
        assert manager.get(f"/api/preview?file={name}").status_code == 404


def test_columns_that_give_the_answer_away_are_not_shown():
    names = ("id", "score", "label", "text", "truth", "is_match", "gold_2", "year")
    names += ("score_february", "pred", "prediction_february")
    columns = [{"name": n, "type": "number"} for n in names]
    assert guess(columns)["show"] == ["text", "year"]


def test_columns_of_pictures_are_recognised():
    values = {"photo": ["a.png", None, "b/c.JPG"], "text": ["a.png", "b"], "score": [0.1, 0.2]}
    columns = [{"name": n, "type": "text", "values": v} for n, v in values.items()]
    assert guess(columns)["images"] == ["photo"]


@pytest.mark.parametrize("prediction", ["", "pred"])
def test_the_study_is_that_of_the_library(manager, folder, prediction):
    wish = {**WISH, "name": "made", "measure": "precision", "prediction": prediction, "seed": 5}
    wish |= {"threshold": 0.5} if not prediction else {}
    wish |= {"prompt": "Good?", "names": ["bad", "good"], "wanted": 0.3}
    made = manager.post("/api/studies", wish)
    assert made.json() == {"study": "made", "items": 800}
    about = manager.get("/api/study?study=made").json()
    assert about["names"] == ["bad", "good"]
    assert about["wanted"] == 0.3
    source = hs.study.PoolFile(
        str(folder / "pool.csv"),
        ("score",),
        "pair",
        (prediction,) if prediction else (),
        show=("name",),
        options={"classes": [0, 1], "seed": 5, **({} if prediction else {"threshold": 0.5})},
    )
    with hs.Study.create(folder / "hand.haystat", source, "precision", random_state=5) as study:
        expected = sorted(question.item for question in study.ask(20))
    asked = manager.post("/api/ask?study=made", {"n": 20}).json()["questions"]
    assert sorted(question["item"] for question in asked) == expected


def test_a_name_that_is_taken_is_refused(manager):
    wish = {**WISH, "name": "pairs"}
    found = manager.post("/api/studies", wish)
    assert found.status_code == 409
    assert "exists already" in found.json()["error"]


@pytest.mark.parametrize(
    ("change", "status", "part"),
    [
        ({"measure": "f2000"}, 400, "no measure"),
        ({"design": "magic"}, 400, "no design"),
        ({"score": "nothing"}, 422, "no column"),
        ({"wanted": -1}, 400, "wanted: Expected `float` > 0.0"),
        ({"score": 3}, 400, "score: Expected `str`, got `int`"),
        ({"show": "name"}, 400, "show: Expected `array`"),
        ({"second": 2}, 400, "second: Expected `float` <= 0.5"),
        ({"classes": ["yes", "yes"]}, 422, "classes"),
        ({"signals": ["name"]}, 422, "['name'] are signals"),
    ],
)
def test_a_wrong_wish_says_what_is_allowed(manager, change, status, part):
    found = manager.post("/api/studies", {**WISH, "name": "made", **change})
    assert found.status_code == status
    assert part in found.json()["error"]
    assert manager.get("/api/studies").json()["studies"] == ["pairs"]


def test_measures_and_designs_come_from_the_tables(manager):
    page = manager.get("/new").text
    for name in designs.DESIGNS:
        assert f">{name}</option>" in page
    for name in manage.measure_names():
        assert f">{name}</option>" in page
    assert ">mse</option>" not in page


def test_a_plan_is_a_number_of_labels(manager):
    wish = {**WISH, "wanted": 0.4, "threshold": 0.5, "measure": "accuracy"}
    found = manager.post("/api/plan", wish).json()
    assert 0 < found["low"] <= found["labels"] <= found["high"]
    assert found["width"] == 0.4
    assert found["passive"] > 0


def test_a_study_does_not_wait_for_plans(manager, monkeypatch):
    """Those of a form that was changed meanwhile may go on for a while."""
    made, found, make_plan = threading.Event(), [], manage.make_plan

    def slow(*arguments, **options):
        found.append(made.wait(20))
        return make_plan(*arguments, **options)

    monkeypatch.setattr(manage, "make_plan", slow)
    wish = {**WISH, "wanted": 0.4, "threshold": 0.5, "measure": "accuracy"}
    plan = threading.Thread(target=lambda: manager.post("/api/plan", wish))
    plan.start()
    time.sleep(0.5)
    assert manager.post("/api/studies", {**WISH, "name": "soon"}).status_code == 201
    made.set()
    plan.join()
    assert found == [True]


def test_a_design_can_be_named(manager):
    made = manager.post("/api/studies", {**WISH, "name": "made", "design": "passive"})
    assert made.status_code == 201
    assert manager.get("/api/study?study=made").json()["design"] == "passive"


def test_several_systems_are_evaluated_beside_each_other(manager, folder):
    rows = [f"{row},{1 - i / 800},{int(i < 300)}" for i, row in enumerate(ROWS)]
    (folder / "two.csv").write_text("\n".join(["pair,score,pred,name,other,its", *rows]))
    wish = {**WISH, "file": "two.csv", "prediction": "pred", "name": "two"}
    lacking = manager.post("/api/studies", {**wish, "systems": [{"score": "other"}]})
    assert lacking.status_code == 422
    assert "1 prediction columns for 2 score columns" in lacking.json()["error"]
    wish["systems"] = [{"score": "other", "prediction": "its"}]
    assert manager.post("/api/plan", {**wish, "wanted": 0.5}).json()["labels"] > 0
    assert manager.post("/api/studies", wish).status_code == 201
    with hs.Study.open(folder / "two.haystat") as study:
        assert study.estimate().components == ("score:f1", "other:f1")
        assert study.settings["source"]["prediction"] == ["pred", "its"]


@pytest.fixture
def pictures(folder):
    """A table of pictures with a score for each tag."""
    rng = np.random.default_rng(0)
    columns = {tag: rng.beta(0.3, 1.5, 400).round(6) for tag in ("cat", "dog", "bird")}
    lines = [f"p{i},{','.join(str(c[i]) for c in columns.values())},text {i}" for i in range(400)]
    (folder / "pictures.csv").write_text("\n".join(["id,cat,dog,bird,text", *lines]))
    return columns


TAGS = {"file": "pictures.csv", "id": "id", "score": "cat", "show": ["text"], "multi_label": True}
TAGS |= {"systems": [{"score": "dog"}, {"score": "bird"}], "name": "tags", "threshold": 0.4}


def test_items_with_several_labels_have_an_estimate_for_each(manager, folder, pictures):
    """The same as in the library, with the mean over the labels before all others."""
    assert manager.post("/api/plan", {**TAGS, "wanted": 0.5}).json()["labels"] > 0
    made = manager.post("/api/studies", {**TAGS, "seed": 1})
    assert made.json() == {"study": "tags", "items": 1200}
    asked = manager.post("/api/ask?study=tags", {"n": 200}).json()["questions"]
    question = asked[0]
    number, tag = question["item"].removeprefix("p").split("/")
    assert question["record"]["label"] == tag
    assert question["record"]["text"] == f"text {number}"
    answers = [{"item": q["item"], "label": k % 2} for k, q in enumerate(asked)]
    assert manager.post("/api/tell?study=tags", {"answers": answers}).status_code == 200
    found = manager.get("/api/status?study=tags").json()["estimate"]
    with hs.Study.open(folder / "tags.haystat") as study:
        estimate = study.estimate()
    assert [one["name"] for one in found["components"]] == list(estimate.components)
    assert [one["value"] for one in found["components"]] == list(estimate.values)
    assert found["lead"]["name"] == "f1 macro"


@pytest.mark.parametrize(
    ("change", "status", "part"),
    [
        ({"weight": "bird"}, 422, "leave out weight"),
        ({"classes": ["a", "b", "c"]}, 422, "has a label or not"),
        ({"systems": [{"score": "cat"}]}, 422, "each once"),
        ({"measure": "pr_curve"}, 422, "a measure of one value"),
        ({"prediction": "dog"}, 422, "give one for each"),
        ({"multi_label": "yes"}, 400, "multi_label: Expected `bool`"),
    ],
    ids=str,
)
def test_what_does_not_go_with_several_labels_is_refused(manager, pictures, change, status, part):
    for address in ("/api/studies", "/api/plan"):
        wish = {**TAGS, **change}
        wish = wish if address == "/api/studies" else {k: wish[k] for k in wish if k != "name"}
        found = manager.post(address, wish)
        assert found.status_code == status, found.text
        assert part in found.json()["error"]
