"""A study made on the page: files, preview, columns, options."""

from __future__ import annotations

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
