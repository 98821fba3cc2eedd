"""Looking back, guidelines, own keys, links, and what the estimate waits for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from web_case import calling, make_study, saved, serving

import haystat as hs
from haystat.errors import BadOption
from haystat.study import verify
from haystat.web.options import PageOptions

pytestmark = [pytest.mark.xdist_group("browser")]

OPTIONS = {
    "guidelines": "The same name is the same person.\n\nMore: https://example.org/guide",
    "keys": ("d", "k"),
    "names": ("Different", "Same"),
}


@pytest.fixture
def study_path(tmp_path):
    path = tmp_path / "pairs.haystat"
    make_study(path, **OPTIONS)[0].close()
    return path


def answers_of(path):
    with hs.Study.open(path, read_only=True) as study:
        return {answer.item: (answer.label, answer.reason) for answer in study.answers}


def ready(page):
    page.wait_for_selector("#record .item-id")


def next_question(page, action):
    before = page.text_content("#record")
    action()
    page.wait_for_function(
        "before => document.getElementById('record').textContent !== before", arg=before
    )


def test_own_keys_guidelines_and_an_answer_corrected_from_the_history(study_path, open_page):
    with serving(study_path) as address:
        page = open_page(f"{address}/label")
        ready(page)
        assert "The same name" in page.text_content("#guidelines-text")
        guide = page.get_attribute("#guidelines-text a", "href")
        assert guide == "https://example.org/guide"
        first = page.text_content(".item-id")
        for key in ("d", "k", "d"):
            next_question(page, lambda key=key: page.keyboard.press(key))
        saved(page)
        page.keyboard.press("o")
        page.wait_for_selector("#history-box[open]")
        rows = page.locator("#history-list button")
        assert [text.strip() for text in rows.locator("b").all_text_contents()] == [
            "Different",
            "Same",
            "Different",
        ]
        rows.last.click()
        assert page.text_content(".item-id") == first
        page.keyboard.press("k")
        saved(page)
    item = int(first.removeprefix("item "))
    assert answers_of(study_path)[item][0] == 1
    assert sorted(label for label, _ in answers_of(study_path).values()) == [0, 1, 1]


def test_a_typed_reason_is_kept_also_with_a_ready_one(study_path, open_page):
    with serving(study_path) as address:
        page = open_page(f"{address}/label")
        ready(page)
        page.keyboard.press("s")
        page.fill("#reason", "the photo is dark")
        page.keyboard.press("Escape")  # changed one's mind
        page.wait_for_selector("#skip-box", state="hidden")
        page.keyboard.press("s")
        assert page.input_value("#reason") == "the photo is dark"
        next_question(page, lambda: page.click("#reasons button >> nth=1"))
        saved(page)
    reasons = [reason for _, reason in answers_of(study_path).values()]
    assert reasons == ["the record is broken or empty: the photo is dark"]


def test_addresses_in_records_are_links_and_nothing_else_is(tmp_path, open_page):
    pool = hs.Pool([0.1, 0.4, 0.8, 0.9], strata=2)
    show = {"page": ["see https://example.org/a?b=1 <b>x</b>"] * 4, "code": ["javascript:x"] * 4}
    path = tmp_path / "links.haystat"
    hs.Study.create(path, pool, show=show, random_state=0).close()
    with serving(path) as address:
        page = open_page(f"{address}/label")
        ready(page)
        links = page.locator("#record a")
        assert links.count() == 1
        assert links.first.get_attribute("href") == "https://example.org/a?b=1"
        assert "noopener" in links.first.get_attribute("rel")
        assert page.locator("#record b").count() == 0


def test_the_list_of_studies_says_how_far_each_is(study_path, open_page):
    with hs.Study.open(study_path) as study:
        study.tell({question.item: 0 for question in study.ask(20)})
    with serving(study_path) as address:
        page = open_page(f"{address}/studies")
        page.wait_for_selector(".far:not([hidden])")
        assert page.text_content(".far").startswith("20 labels of 4,000 items")


def test_managers_see_who_holds_open_questions_and_take_them_back(study_path, open_page):
    with hs.Study.open(study_path) as study:
        held = {question.item for question in study.ask(7, "idle")}
    with serving(study_path) as address:
        page = open_page(f"{address}/watch")
        page.wait_for_selector("#open:not([hidden])")
        assert "idle holds 7" in page.text_content("#open-list")
        page.click("#free")
        page.wait_for_selector("#free", state="hidden")
    with hs.Study.open(study_path) as study:
        assert {question.item for question in study.ask(7, "ann")} == held


@pytest.fixture
def differing(study_path):
    """A study in which bob says otherwise about one item, and the item."""
    with calling(study_path) as caller:
        asked = caller.post("/api/ask", {"n": 3, "annotator": "ann"}).json()["questions"]
        items = [question["item"] for question in asked]
        for who, labels in (("ann", (0, 1, 0)), ("bob", (0, 0, 0))):
            answers = [{"item": i, "label": label} for i, label in zip(items, labels, strict=True)]
            caller.post("/api/tell", {"answers": answers, "annotator": who})
    return study_path, items[1]


@pytest.mark.parametrize("label", [0, 1])
def test_a_manager_decides_where_people_differ_and_agreement_stays(differing, label):
    path, item = differing
    with calling(path) as caller:
        (one,) = caller.get("/api/differences").json()["differences"]
        assert one["item"] == item
        assert {said["annotator"]: said["label"] for said in one["opinions"]} == {
            "ann": 1,
            "bob": 0,
        }
        given = {"item": item, "label": label, "annotator": "eve"}
        told = caller.post("/api/decide", given).json()
        assert told["outcome"] == ("known" if label else "corrected")
        assert caller.get("/api/differences").json() == {"differences": [], "total": 0}
        assert caller.get("/api/status").json()["agreement"]["share"] == pytest.approx(2 / 3)
        unknown = {"item": -1, "label": 0}
        assert caller.post("/api/decide", unknown).status_code in (404, 422)
    assert answers_of(path)[item][0] == label
    assert verify(path).ok
    with calling(path) as caller:  # a new server reads it from the journal
        assert caller.get("/api/differences").json()["total"] == 0
        assert caller.get("/api/status").json()["agreement"]["share"] == pytest.approx(2 / 3)


def test_of_two_managers_at_once_the_second_is_told(differing):
    path, item = differing
    with calling(path) as caller, ThreadPoolExecutor(2) as both:
        given = [{"item": item, "label": label, "annotator": f"m{label}"} for label in (0, 1)]
        found = list(both.map(lambda one: caller.post("/api/decide", one), given))
        assert sorted(one.status_code for one in found) == [200, 409]
        first = next(given for given, one in zip(given, found, strict=True) if one.is_success)
        refused = next(one for one in found if not one.is_success)
        assert f"{first['annotator']!r} says {first['label']}" in refused.json()["error"]
        changed = {**first, "label": 1 - first["label"]}
        assert caller.post("/api/decide", changed).status_code == 200
    assert answers_of(path)[item][0] == changed["label"]
    assert verify(path).ok


def test_annotators_decide_nothing(differing):
    path, item = differing
    secrets = {"secret": "a manager's secret", "annotator_secret": "an annotator's one"}
    with calling(path, **secrets) as caller:
        bearer = {"authorization": f"Bearer {secrets['annotator_secret']}"}
        given = {"item": item, "label": 0, "annotator": "ann"}
        assert caller.client.post("/api/decide", json=given, headers=bearer).status_code == 403
    assert answers_of(path)[item][0] == 1


def test_a_manager_decides_in_the_browser(differing, open_page):
    path, item = differing
    with serving(path) as address:
        page = open_page(f"{address}/watch")
        page.wait_for_selector(".difference")
        assert "ann says Same, bob says Different" in page.text_content(".difference")
        page.click("text=It is: Different")
        page.wait_for_selector("#differences", state="hidden")
    assert answers_of(path)[item][0] == 0


def test_history_and_open_questions_are_for_managers(study_path):
    secrets = {"secret": "a manager's secret", "annotator_secret": "an annotator's one"}
    with calling(study_path, **secrets) as caller:
        for role, status in (("secret", 200), ("annotator_secret", 403)):
            bearer = {"authorization": f"Bearer {secrets[role]}"}
            for path in ("/api/history?annotator=ann", "/api/open", "/api/differences"):
                assert caller.get(path, headers=bearer).status_code == status
            found = caller.client.post("/api/free", json={}, headers=bearer)
            assert found.status_code == status


def test_the_history_has_ones_own_answers_alone(study_path):
    with calling(study_path) as caller:
        for who in ("ann", "bob"):
            asked = caller.post("/api/ask", {"n": 2, "annotator": who}).json()["questions"]
            told = [{"item": one["item"], "label": 0} for one in asked]
            caller.post("/api/tell", {"answers": told, "annotator": who})
        skipped = caller.post("/api/ask", {"n": 1, "annotator": "ann"}).json()["questions"][0]
        caller.post("/api/skip", {"item": skipped["item"], "reason": "dark", "annotator": "ann"})
        found = caller.get("/api/history?annotator=ann").json()["answers"]
    assert [one["label"] for one in found] == [None, 0, 0]
    assert found[0]["reason"] == "dark"
    assert set(found[0]["record"]) == {"name_l", "name_r", "remark"}


@pytest.mark.parametrize("keys", [("u", "k"), ("o", "k"), ("d", "d"), ("", "k"), ("ab", "k")])
def test_keys_that_mean_something_else_are_refused(keys):
    with pytest.raises(BadOption, match="key"):
        PageOptions(keys=keys)


@pytest.mark.parametrize(
    "text",
    [
        '{"decided": 0, "was": 0, "by": "ann"}',
        '{"decided": 0, "was": [0], "by": {}}',
        '{"second opinion": [1]}',
    ],
)
def test_a_remark_passes_for_no_decision_and_breaks_nothing(differing, text):
    path, item = differing
    with calling(path) as caller:
        caller.post("/api/note", {"text": text, "item": item, "annotator": "mallory"})
    with calling(path) as caller:  # a new server reads the remark from the journal
        assert caller.get("/api/differences").json()["total"] == 1
        assert caller.get("/api/status").json()["agreement"]["share"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("labels", [([0.3, 0.7], 1), (1, [0.3, 0.7])])
def test_soft_second_opinions_are_no_difference(tmp_path, labels):
    path = tmp_path / "soft.haystat"
    pool = hs.Pool([0.1, 0.4, 0.8, 0.9], strata=2)
    hs.Study.create(path, pool, "accuracy", "passive", oracle="stochastic").close()
    with calling(path) as caller:
        (asked,) = caller.post("/api/ask", {"annotator": "ann"}).json()["questions"]
        for who, label in zip(("ann", "bob"), labels, strict=True):
            answer = {"item": asked["item"], "key": asked["key"], "label": label}
            caller.post("/api/tell", {"answers": [answer], "annotator": who})
    for _ in range(2):
        with calling(path) as caller:
            assert caller.get("/api/differences").json()["total"] == 0
            assert caller.get("/api/status").status_code == 200
